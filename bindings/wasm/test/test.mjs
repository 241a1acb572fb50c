// Tests of the engine at WASM, with tapster.mjs beside this folder.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Door, TapsterFault, compile, open } from "../tapster.mjs";

const root = new URL("../../../", import.meta.url);
const tables = ["cl100k", "o200k", "claude"].map((name) => new URL(`crates/text/src/text/tables/${name}.tokens`, root));
const start = performance.now();
const wasm = await compile(pathToFileURL(process.env.WASM));
const compiled = performance.now();
const door = await open({ wasm, tables });
const opened = performance.now();
door.call({ call: "build", rules: "base", scene: { message: "Hello." } });
console.log(`compile ${(compiled - start).toFixed(0)} ms, open ${(opened - compiled).toFixed(0)} ms, first build ${(performance.now() - opened).toFixed(0)} ms`);

const build = (scene, rules = "base", at = door) => at.call({ call: "build", rules, scene });
const codes = (answer) => answer.diagnostics.map((diagnostic) => diagnostic.code);
const pack = (files, limits = "") => {
  const manifest = `kind = "pack"\nversion = 1\nname = "p"\nrelease = "1.0.0"\nextends = ["base"]\n${limits}`;
  return { pack: "p", packs: [{ name: "p", files: { "pack.toml": manifest, ...files } }] };
};
const overlay = (text) => ({ pack: "base", overlays: [{ name: "o.toml", text: `kind = "overlay"\nversion = 1\n${text}` }] });

test("nothing is imported", () => {
  assert.deepEqual(WebAssembly.Module.imports(wasm), []);
});

test("conversations of tests/door", async () => {
  let calls = 0;
  for (const name of readdirSync(new URL("tests/door", root)).filter((name) => name.endsWith(".json"))) {
    const door = await open({ wasm, tables });
    for (const { request, response } of JSON.parse(readFileSync(new URL(`tests/door/${name}`, root), "utf8")).calls) {
      assert.equal(door.callText(JSON.stringify(request)), JSON.stringify(response), name);
      calls += 1;
    }
    door.close();
  }
  assert.ok(calls > 30);
});

test("what is counted without its table is refused", async () => {
  const bare = await open({ wasm });
  const counted = bare.call({ call: "tokens", texts: ["Hello."] });
  assert.match(counted.diagnostics[0].message, /`cl100k` needs its table of tokens, which this program was not given/);
  assert.throws(() => bare.addTable(new Uint8Array(100)), /no table of tokens/);
  assert.equal(bare.call({ call: "tokens", texts: ["Hello."], tokenizer: "words" }).result.total, 1);
  bare.addTable(readFileSync(tables[0]));
  assert.equal(bare.call({ call: "tokens", texts: ["Hello."] }).result.total, 2);
});

test("the time is that of the page, or the caller's", async () => {
  const rules = overlay('[preset]\nmain = "{{isodate}}"\n');
  const main = (answer) => answer.result.payload.messages[0].content;
  const timed = await open({ wasm, tables, clock: () => "2026-01-31T20:15:00Z" });
  assert.equal(main(build({}, rules, timed)), "2026-01-31");
  assert.equal(main(build({ now: "2025-01-01T00:00:00Z" }, rules, timed)), "2025-01-01");
  assert.match(main(build({}, rules)), /^\d{4}-\d\d-\d\d$/);
});

test("texts", () => {
  const last = (answer) => answer.result.payload.messages.at(-1).content;
  assert.equal(last(build({ message: "a\0b" })), "a\0b");
  assert.equal(last(build({ message: "🦊" })), "🦊");
  for (const half of ["\ud800", "\udc00 x"]) assert.deepEqual(codes(build({ message: half })), ["syntax.json"]);
  assert.throws(() => door.callText('"\ud800"'), TypeError);
  for (const bad of ["", "{", "[1", "\0", "{}", "[]", "null", new Uint8Array([255]), "[".repeat(1 << 20), '{"a":'.repeat(1 << 20)]) {
    assert.equal(JSON.parse(door.callText(bad)).ok, false);
  }
  assert.deepEqual(codes(build({ message: "a".repeat(100 << 20) })), ["file.too_large"]);
  assert.ok(build({ message: "Hello." }).ok);
});

test("a pack that spends its budget ends with its error", () => {
  const script = 'fn f(items, scene) { let t = "aaaaaaaa"; for n in 0..14 { t += t; } loop { let c = t + "a"; } }';
  const hook = 'kind = "hooks"\nversion = 1\n[[hook]]\nname = "h"\nevent = "before_build"\nrun = "mine.rhai::f"\nfailing = "error"\n';
  const limits = "[limits]\nscript_string = 160_000\nscript_operations = 1_000_000\n";
  const answer = build({ message: "Hello." }, pack({ "hooks.toml": hook, "scripts/mine.rhai": script }, limits));
  assert.deepEqual([answer.ok, codes(answer)], [false, ["bound.exceeded"]], JSON.stringify(answer.diagnostics));
  assert.ok(build({ message: "Hello." }).ok);
});

test("what is nested deeply", () => {
  const deep = (open, close, times) => open.repeat(times) + close.repeat(times);
  const scripts = ["down(0)", "let a = []; loop { a = [a]; }", deep("(", ")", 5000), deep("[", "]", 5000), deep("if true {", "}", 5000)];
  for (const body of scripts) {
    const hook = 'kind = "hooks"\nversion = 1\n[[hook]]\nname = "h"\nevent = "before_build"\nrun = "mine.rhai::f"\nfailing = "error"\n';
    const files = { "hooks.toml": hook, "scripts/mine.rhai": `fn f(items, scene) { ${body} }\nfn down(n) { down(n + 1) }` };
    const answer = build({}, pack(files, "[limits]\nscript_depth = 256\nscript_operations = 1_000_000\n"));
    assert.equal(answer.ok, false, body.slice(0, 20));
  }
  const texts = [deep("{{#if a}}", "{{/if}}", 5000), deep("{{", "}}", 20000), deep("{% if a %}", "{% endif %}", 5000), `{{${deep("(", ")", 5000)}}}`];
  for (const text of texts) {
    for (const rules of ["base", "sillytavern-exact", "risuai-exact"]) build({ message: text, scene: { preset: { main: text } } }, rules);
    for (const lang of ["handlebars", "liquid"]) {
      build({}, overlay(`[[fact]]\nname = "f"\nis = { "preset.main" = "x" }\n[preset]\nmain = { fn = "render", lang = "${lang}", of = ${JSON.stringify(text)}, with = {} }\n`));
    }
  }
  const nested = (times) => JSON.parse(deep("[", "]", times));
  for (const times of [100, 120, 127]) build({ message: "Hello.", scene: { own: nested(times) } });
  for (const text of [deep("a = { b = ", "}", 5000), `a = ${deep("[", "]", 5000)}`, `[${"a.".repeat(5000)}b]`, `a = ${deep("[", "]", 100)}`]) {
    assert.equal(build({}, overlay(text)).ok, false);
  }
  const entry = (keys) => ({ name: "b.json", json: { entries: { 0: { uid: 0, key: keys, content: "x", order: 1 } } } });
  for (const key of [`/${deep("(", ")", 5000)}/`, `/${deep("(?:", ")*", 2000)}/`, `/${"(a+)+".repeat(500)}/`, `/${deep("[", "]", 5000)}/`]) {
    build({ message: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab", lorebooks: [entry([key])] }, "sillytavern-exact");
  }
  assert.ok(build({ message: "Hello." }).ok);
});

test("a door whose engine has stopped says so, and another one answers", async () => {
  const broken = await open({ wasm, tables });
  const fall = () => {
    try {
      return fall();
    } catch (error) {
      if (error instanceof TapsterFault) throw error;
      return build({ message: "Hello." }, "base", broken);
    }
  };
  assert.throws(fall, (error) => error instanceof TapsterFault && /has stopped, and what it kept is lost; open another \(/.test(error.message));
  assert.throws(() => broken.call({ call: "packs" }), /has stopped/);
  assert.ok(build({ message: "Hello." }, "base", await open({ wasm, tables })).ok);
  const closed = await open({ wasm });
  closed.close();
  assert.throws(() => closed.call({ call: "packs" }), /the door is closed/);
  const memory = new WebAssembly.Memory({ initial: 1 });
  // a text of two bytes at 64
  new Uint32Array(memory.buffer, 16, 2).set([64, 2]);
  const trap = () => {
    throw new WebAssembly.RuntimeError("unreachable");
  };
  const trapped = new Door({ exports: { memory, tapster_new: () => 8, tapster_text: () => 16, tapster_call: trap } });
  assert.throws(() => trapped.callText("{}"), (error) => error instanceof TapsterFault && error.cause instanceof WebAssembly.RuntimeError);
  const full = new Door({ exports: { memory, tapster_new: () => 8, tapster_text: () => 0 } });
  for (const _ of [1, 2]) assert.throws(() => full.callText("{}"), /there is no memory for 2 bytes/);
});

test("what cannot be loaded", async () => {
  await assert.rejects(compile(new Uint8Array([0, 97, 115, 109])), WebAssembly.CompileError);
  await assert.rejects(compile(new Response("no", { status: 404 })), /cannot be had: 404/);
  await assert.rejects(compile(new URL("nowhere.wasm", import.meta.url)), /ENOENT/);
});
