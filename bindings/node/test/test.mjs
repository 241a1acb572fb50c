// Tests of the package that lies in the folder PACKAGE.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

const start = performance.now();
const folder = process.env.PACKAGE;
const { Door, TapsterError, call, callAsync, open, put, version } = createRequire(import.meta.url)(folder);
const loaded = performance.now();
open().build({ message: "Hello." });
console.log(`import ${(loaded - start).toFixed(0)} ms, first build ${(performance.now() - loaded).toFixed(0)} ms`);

const root = new URL("../../../", import.meta.url);
const brief = { name: "brief.toml", text: 'kind = "overlay"\nversion = 1\n[preset]\nmain = "Be brief."\n' };
const first = (prompt) => prompt.payload.messages[0].content;
const fails = (ask, words) => assert.throws(ask, (error) => error instanceof TapsterError && words.test(error.message) && error.diagnostics.length > 0);

test("conversations of tests/door", () => {
  const files = readdirSync(new URL("tests/door", root)).filter((name) => name.endsWith(".json"));
  let calls = 0;
  for (const name of files) {
    const door = new Door();
    for (const { request, response } of JSON.parse(readFileSync(new URL(`tests/door/${name}`, root), "utf8")).calls) {
      assert.equal(door.callText(JSON.stringify(request)), JSON.stringify(response), name);
      calls += 1;
    }
  }
  assert.ok(calls > 30);
});

test("rules", () => {
  const rules = open({ overlays: [brief] });
  const prompt = rules.build({ message: "Hello." }, { plan: true });
  assert.deepEqual(prompt.payload.messages, [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello.", name: "User" }]);
  assert.deepEqual([prompt.dialect, prompt.diagnostics, rules.pack], ["openai", [], "base"]);
  assert.ok(prompt.plan);
  assert.deepEqual(Object.keys(rules.emit({ message: "Hello." }, ["openai", "google"])).sort(), ["google", "openai"]);
  assert.equal(rules.explain({}, { value: "preset.main" }).decided_by, "pack base");
  assert.deepEqual(rules.check({ message: "Hello." }), []);
  assert.ok(rules.options().schema);
  assert.ok(rules.diff("base", { message: "Hello." }).differs);
  assert.ok(!rules.diff(open({ overlays: [brief] })).differs);
  assert.match(version, /^\d+\.\d+\.\d+$/);
});

test("files", () => {
  const folder = mkdtempSync(join(tmpdir(), "tapster-"));
  try {
    mkdirSync(join(folder, "mine"));
    writeFileSync(join(folder, "mine/pack.toml"), 'kind = "pack"\nversion = 1\nname = "mine"\nrelease = "1.0.0"\nextends = ["sillytavern"]\n');
    const [card, overlay] = [join(folder, "fox.json"), join(folder, "brief.toml")];
    const write = (name) => writeFileSync(card, JSON.stringify({ spec: "chara_card_v2", spec_version: "2.0", data: { name, description: `${name}!` } }));
    write("Fox");
    writeFileSync(overlay, brief.text);
    const rules = open({ pack: "mine", folders: [folder], overlays: [overlay] });
    const build = () => JSON.stringify(rules.build({ message: "Hello.", character: card, lorebooks: [] }).payload);
    assert.match(build(), /Be brief\..*Fox!/);
    write("Badger");
    assert.match(build(), /Badger!/);
    assert.match(put(card), /^part-[0-9a-f]{32}$/);
    assert.throws(() => rules.build({ character: "nowhere.json" }), /ENOENT/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("handles", () => {
  const [one, two] = [open({ overlays: [brief] }), open({ overlays: [brief] })];
  one.close();
  one.close();
  assert.equal(first(two.build({ message: "Hello." })), "Be brief.");
  fails(() => one.build(), /closed/);
  fails(() => open({ pack: "bas" }), /^pack\.missing: .*\nhelp: /);
  fails(() => open({ overlays: [{ name: "a.toml", text: "kind =" }] }), / at a\.toml:1:\d+: /);
});

test("texts", () => {
  const rules = open();
  assert.equal(first(rules.build({ message: "a\0b" })), "a\0b");
  assert.equal(first(rules.build({ message: "🦊" })), "🦊");
  for (const half of ["\ud800", "\udc00 x"]) fails(() => rules.build({ message: half }), /^syntax\.json/);
  fails(() => rules.build({ message: "a".repeat(64 << 20) }), /^file\.too_large/);
  assert.equal(JSON.parse(new Door().callText(new Uint8Array([255]))).ok, false);
  assert.throws(() => new Door().callText(undefined), TypeError);
  assert.throws(() => rules.build({ message: 1n }), TypeError);
});

test("threads", async () => {
  const request = { call: "build", rules: { pack: "base", overlays: [brief] }, scene: { message: "Hello." } };
  const answers = await Promise.all(Array.from({ length: 20 }, () => callAsync(request)));
  for (const answer of answers) assert.equal(first(answer.result), "Be brief.");
  const script = `
    const { parentPort, workerData } = require("node:worker_threads");
    parentPort.postMessage(require(workerData.folder).call(workerData.request).result.payload.messages[0].content)`;
  const ask = () => new Promise((resolve, reject) => new Worker(script, { eval: true, workerData: { folder, request } }).once("message", resolve).once("error", reject));
  assert.deepEqual(await Promise.all([ask(), ask(), ask()]), ["Be brief.", "Be brief.", "Be brief."]);
  assert.equal(call(request).ok, true);
});
