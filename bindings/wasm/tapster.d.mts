import type { Answer, Request } from "../node/index.js";

/** An address, what it answered, or the bytes themselves; they may be compressed by gzip. */
export type ByteSource = string | URL | Response | ArrayBuffer | Uint8Array<ArrayBuffer>;

export interface DoorOptions {
  /** The engine. Default: `tapster.wasm.gz` beside this file. */
  wasm?: ByteSource | WebAssembly.Module;
  /** Tables of tokens: `cl100k.tokens`, `o200k.tokens`, `claude.tokens`. What needs one that is not given is refused. */
  tables?: ByteSource[];
  /** The time of scenes without `now`, such as `2026-01-31T20:15:00Z`. Default: the clock here. */
  clock?: () => string;
}

/** The engine has stopped in the middle of a call, and what it kept is lost: open another. */
export class TapsterFault extends Error {}

/** Keeps what was opened. */
export class Door {
  constructor(instance: WebAssembly.Instance, clock?: () => string);
  /** Answers a request that is a text of JSON, or its bytes, with such a text. Its scenes have no time but their own. */
  callText(request: string | Uint8Array): string;
  call(request: Request): Answer;
  addTable(table: Uint8Array): void;
  /** Forgets everything. */
  close(): void;
}

/** Compiles the engine, for `open` in this thread or in workers. */
export function compile(wasm?: ByteSource): Promise<WebAssembly.Module>;
export function open(options?: DoorOptions): Promise<Door>;
