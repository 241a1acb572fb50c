// The door in a page or in Node: loads `tapster.wasm.gz`, which imports nothing, and gives it texts of JSON.

const SHIPPED = new URL("tapster.wasm.gz", import.meta.url);
/** The door refuses longer requests, so that one byte more says as much as all. */
const LONGEST = (64 << 20) + 1;

/** The engine has stopped in the middle of a call, and what it kept is lost: open another. */
export class TapsterFault extends Error {
  name = "TapsterFault";
}

/** The bytes at an address or of a response; those that are compressed by gzip are unpacked. */
async function readBytes(source) {
  let bytes = source;
  if (source instanceof URL || typeof source === "string") {
    const url = new URL(source, globalThis.location?.href);
    // Node fetches no files
    const files = url.protocol === "file:" ? globalThis.process?.getBuiltinModule?.("node:fs/promises") : null;
    bytes = files ? await files.readFile(url) : await fetch(url);
  }
  if (bytes instanceof Response) {
    if (!bytes.ok) throw new Error(`${bytes.url} cannot be had: ${bytes.status} ${bytes.statusText}`);
    bytes = await bytes.arrayBuffer();
  }
  const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
  // a server may have sent it as compressed, and the page has unpacked it then
  if (view[0] !== 0x1f || view[1] !== 0x8b) return view;
  const unpacked = new Blob([view]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

/** Compiles the engine, for `open` in this thread or in workers. */
export async function compile(wasm = SHIPPED) {
  if (typeof WebAssembly === "undefined") throw new Error("WebAssembly is not allowed or not known here, and the engine needs it");
  return WebAssembly.compile(await readBytes(wasm));
}

/** The time here, as a scene has it. */
function localTime() {
  const now = new Date();
  const ahead = -now.getTimezoneOffset();
  const shown = new Date(now.getTime() + ahead * 60_000).toISOString().slice(0, 19);
  const two = (number) => String(Math.trunc(number)).padStart(2, "0");
  return `${shown}${ahead < 0 ? "-" : "+"}${two(Math.abs(ahead) / 60)}:${two(Math.abs(ahead) % 60)}`;
}

/** Opens a door. `clock` gives the time of scenes that have no `now`. */
export async function open({ wasm, tables = [], clock = localTime } = {}) {
  const module = wasm instanceof WebAssembly.Module ? wasm : await compile(wasm);
  const door = new Door(await WebAssembly.instantiate(module), clock);
  for (const table of tables) door.addTable(await readBytes(table));
  return door;
}

/** Keeps what was opened. */
export class Door {
  #engine;
  #door;
  #clock;
  #fault = new TapsterFault("the door is closed");

  constructor(instance, clock = localTime) {
    this.#engine = instance.exports;
    this.#clock = clock;
    this.#door = this.#run((engine) => engine.tapster_new());
  }

  /** Answers a request that is a text of JSON, or its bytes, with such a text. Its scenes have no time but their own. */
  callText(request) {
    if (typeof request === "string" && /\p{Surrogate}/u.test(request)) throw new TypeError("the request has half of a surrogate pair");
    const bytes = typeof request === "string" ? new TextEncoder().encode(request) : request;
    return this.#withText(bytes.subarray(0, LONGEST), (engine, text) => {
      engine.tapster_call(this.#door, text);
      return new TextDecoder().decode(content(engine, text));
    });
  }

  call(request) {
    const timed = { ...request };
    for (const key of ["scene", "scene_b"]) if (timed[key]) timed[key] = { now: this.#clock(), ...timed[key] };
    return JSON.parse(this.callText(JSON.stringify(timed)));
  }

  /** Takes a table of tokens (`cl100k.tokens`, `o200k.tokens`, `claude.tokens`): without it, nothing is counted by it. */
  addTable(table) {
    if (!this.#withText(table, (engine, text) => engine.tapster_table(text))) throw new Error("this is no table of tokens of this version");
  }

  /** Forgets everything. */
  close() {
    this.#engine = null;
  }

  #withText(bytes, use) {
    const text = this.#run((engine) => engine.tapster_text(bytes.length));
    if (!text) throw new RangeError(`there is no memory for ${bytes.length} bytes`);
    return this.#run((engine) => {
      content(engine, text).set(bytes);
      const result = use(engine, text);
      engine.tapster_free_text(text);
      return result;
    });
  }

  /** After an error nothing in the engine's memory can be relied on. */
  #run(use) {
    if (!this.#engine) throw this.#fault;
    try {
      return use(this.#engine);
    } catch (cause) {
      const size = this.#engine.memory.buffer.byteLength >> 20;
      this.#engine = null;
      this.#fault = new TapsterFault(`the engine has stopped, and what it kept is lost; open another (${cause.message}, with ${size} MiB)`, { cause });
      throw this.#fault;
    }
  }
}

/** The bytes of a text; a view of the memory, which is another one when that has grown. */
function content(engine, text) {
  const [start, length] = new Uint32Array(engine.memory.buffer, text >>> 0, 2);
  return new Uint8Array(engine.memory.buffer, start, length);
}
