"use strict";

const { readFileSync, statSync } = require("node:fs");

const native = load();
const FORGOTTEN = "nothing is kept under the handle";
const HANDLE = /^part-[0-9a-f]{32}$/;

/** The package with the library for this platform. */
function platformPackage() {
  const isMusl = process.platform === "linux" && !process.report?.getReport().header.glibcVersionRuntime;
  return `@tapster/engine-${process.platform}-${process.arch}${isMusl ? "-musl" : ""}`;
}

/** The library beside this file, or that of the package for this platform. */
function load() {
  for (const find of [() => "./tapster.node", platformPackage]) {
    const path = find();
    try {
      return require(path);
    } catch (error) {
      // a library that is there but cannot be loaded says why itself
      if (error.code !== "MODULE_NOT_FOUND" || !error.message.includes(path)) throw error;
    }
  }
  const own = `build bindings/node and copy the library to ${__dirname}/tapster.node`;
  throw new Error(`tapster has no native library here: install the package \`${platformPackage()}\`, or ${own}`);
}

/** Why there is no result. */
class TapsterError extends Error {
  constructor(diagnostics) {
    const first = diagnostics.find((d) => d.severity === "error") ?? { code: "", message: "no result" };
    const place = first.place ? ` at ${first.place}` : "";
    super(`${first.code}${place}: ${first.message}${first.help ? `\nhelp: ${first.help}` : ""}`);
    this.name = "TapsterError";
    this.diagnostics = diagnostics;
  }
}

function result(answer) {
  if (!answer.ok) throw new TapsterError(answer.diagnostics);
  return answer.result;
}

const named = (path) => ({ name: path, text: readFileSync(path, "utf8") });

/** Keeps what was opened. */
class Door {
  #native;
  // handles by path, with what says whether the file has changed
  #files = new Map();

  constructor(folders = []) {
    this.#native = new native.Door(folders.map(String));
  }

  callText(request) {
    return this.#native.callText(Buffer.from(request));
  }

  call(request) {
    return JSON.parse(this.callText(JSON.stringify(request)));
  }

  async callAsync(request) {
    return JSON.parse(await this.#native.callTextAsync(Buffer.from(JSON.stringify(request))));
  }

  open({ pack = "base", overlays = [], packs = [] } = {}) {
    return new Rules(this, { pack, packs, overlays: overlays.map((o) => (typeof o === "string" ? named(o) : o)) });
  }

  put(file) {
    if (typeof file !== "string") return result(this.call({ call: "put", ...file })).part;
    const { mtimeMs, size, ino } = statSync(file);
    const known = `${mtimeMs} ${size} ${ino}`;
    let kept = this.#files.get(file);
    if (kept?.known !== known) {
      kept = { known, handle: this.put({ name: file, base64: readFileSync(file, "base64") }) };
      this.#files.set(file, kept);
    }
    return kept.handle;
  }

  /** A scene whose files are handles or content. */
  _scene(scene) {
    const files = { ...scene };
    for (const key of ["character", "chat", "persona_file"]) if (files[key] != null) files[key] = this._file(files[key]);
    for (const key of ["preset", "lorebooks"]) if (files[key] != null) files[key] = [files[key]].flat().map((file) => this._file(file));
    return files;
  }

  _file(file) {
    return typeof file === "string" && !HANDLE.test(file) ? this.put(file) : file;
  }

  _forget() {
    this.#files.clear();
  }
}

/** A compiled pack with overlays. */
class Rules {
  #door;
  #request;
  #handle;

  constructor(door, request) {
    this.#door = door;
    this.#request = request;
    const { diagnostics, result: { rules, ...about } } = this.#open();
    Object.assign(this, about, { diagnostics });
  }

  build(scene = {}, { plan = false, trace = false } = {}) {
    const answer = this.#ask("build", { scene, plan, trace });
    return { ...answer.result, diagnostics: answer.diagnostics };
  }

  emit(scene = {}, dialects = []) {
    return this.call("emit", { scene, dialects }).dialects;
  }

  explain(scene = {}, about = "blocks") {
    return this.call("explain", { scene, about });
  }

  check(scene) {
    return this.#ask("check", scene ? { scene } : {}).diagnostics;
  }

  options(option = {}) {
    return this.call("options", { option });
  }

  diff(other, scene) {
    const files = scene ? { scene: this.#door._scene(scene) } : {};
    return result(this.#door.call({ call: "diff", a: this, b: other, ...files }));
  }

  call(name, args = {}) {
    return this.#ask(name, args).result;
  }

  close() {
    if (this.#handle) this.#door.call({ call: "close", handles: [this.#handle] });
    this.#handle = null;
  }

  /** What another call takes as its rules. */
  toJSON() {
    return this.#request;
  }

  #open() {
    const answer = this.#door.call({ call: "open", ...this.#request });
    this.#handle = result(answer).rules;
    return answer;
  }

  #ask(call, args) {
    let answer = this.#try(call, args);
    // the door keeps what was used last, and equal rules have one handle: it may be forgotten
    if (!answer.ok && answer.diagnostics.some((d) => d.message.startsWith(FORGOTTEN))) {
      this.#door._forget();
      this.#open();
      answer = this.#try(call, args);
    }
    result(answer);
    return answer;
  }

  #try(call, args) {
    if (!this.#handle) {
      throw new TapsterError([{ severity: "error", code: "name.unknown", message: "the rules are closed", help: "open them again" }]);
    }
    const request = { call, rules: this.#handle, ...args };
    if (request.scene) request.scene = this.#door._scene(request.scene);
    if (request.file) request.file = this.#door._file(request.file);
    return this.#door.call(request);
  }
}

const door = new Door();
exports.Door = Door;
exports.Rules = Rules;
exports.TapsterError = TapsterError;
exports.version = native.VERSION;
exports.call = (request) => door.call(request);
exports.callAsync = (request) => door.callAsync(request);
exports.put = (file) => door.put(file);
exports.open = ({ folders, ...request } = {}) => (folders ? new Door(folders) : door).open(request);
