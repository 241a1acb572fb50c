import type { FileContent, OpenRequest, OverlayText, Request, SceneRequest } from "./door";

export type { FileContent, OpenRequest, OverlayText, PackContent, Request, SceneRequest } from "./door";

/** The path of a file, a handle of `put`, or the file itself. */
export type SceneFile = string | FileContent;

/** What a prompt is made of; files may be paths. */
export type Scene = Partial<Omit<SceneRequest, "character" | "chat" | "persona_file" | "preset" | "lorebooks">> & {
  character?: SceneFile | null;
  chat?: SceneFile | null;
  persona_file?: SceneFile | null;
  preset?: SceneFile | SceneFile[];
  lorebooks?: SceneFile | SceneFile[];
};

/** An error or a warning. */
export interface Diagnostic {
  severity: "error" | "warning" | "note";
  code: string;
  message: string;
  place: string | null;
  help: string | null;
  [key: string]: unknown;
}

/** The answer to a request: a result if `ok`. */
export interface Answer {
  ok: boolean;
  id?: unknown;
  result?: any;
  diagnostics: Diagnostic[];
}

/** A built prompt. */
export interface Prompt {
  dialect: string;
  /** What the provider receives. */
  payload: any;
  /** Where to send it: `url`, `headers`. */
  request: any;
  /** What the chat has to remember. */
  patch: any;
  plan?: any;
  trace?: any;
  diagnostics: Diagnostic[];
}

export interface OpenOptions {
  /** The name of a pack. Default: `base`. */
  pack?: string;
  /** Rule files that are merged over the pack: paths, or texts. */
  overlays?: (string | OverlayText)[];
  /** Packs that are given as files. */
  packs?: OpenRequest["packs"];
}

/** Why there is no result. */
export class TapsterError extends Error {
  constructor(diagnostics: Diagnostic[]);
  diagnostics: Diagnostic[];
}

/** A compiled pack with overlays. */
export class Rules {
  private constructor();
  readonly pack: string;
  readonly release: string | null;
  readonly fingerprint: string;
  readonly dialects: string[];
  /** Warnings about the rules. */
  readonly diagnostics: Diagnostic[];
  /** Builds a prompt. */
  build(scene?: Scene, more?: { plan?: boolean; trace?: boolean }): Prompt;
  /** Builds a prompt once, and writes it in several dialects. */
  emit(scene?: Scene, dialects?: string[]): Record<string, { payload: any; request: any }>;
  /** Says why a prompt is as it is. */
  explain(scene?: Scene, about?: Extract<Request, { call: "explain" }>["about"]): any;
  /** The errors and warnings of the rules with a scene. */
  check(scene?: Scene): Diagnostic[];
  /** The options of the rules with their values. */
  options(option?: Record<string, unknown>): any;
  /** Compares with other rules, and the prompts of a scene with both. */
  diff(other: Rules | string, scene?: Scene): any;
  /** Asks anything else about these rules. */
  call(name: Request["call"], args?: Record<string, unknown>): any;
  /** Forgets the rules. */
  close(): void;
}

/** Keeps what was opened. Packs are also found by name in these folders. */
export class Door {
  constructor(folders?: string[]);
  /** Answers a request that is a text of JSON with such a text. */
  callText(request: string | Uint8Array): string;
  call(request: Request): Answer;
  /** Answers on another thread. */
  callAsync(request: Request): Promise<Answer>;
  open(options?: OpenOptions): Rules;
  /** Keeps a file for scenes; returns its handle. */
  put(file: SceneFile): string;
}

export const version: string;
export function call(request: Request): Answer;
export function callAsync(request: Request): Promise<Answer>;
export function put(file: SceneFile): string;
export function open(options?: OpenOptions & { folders?: string[] }): Rules;
