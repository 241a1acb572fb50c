// Builds per second of the packages for Node and Python in-process beside fast-tavern, on the scenes of benches/serve.rs, each in
// one thread, taking turns. Argument: the built package for Node; PYTHONPATH has that for Python. How to run it: README.md
// beside this file.

import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { builder, chat, five } from "./scenes.mjs";

const { open, put } = createRequire(import.meta.url)(resolve(process.argv[2]));
const ROUNDS = 3;
const SECONDS = 2;

function scene(messages, entries) {
    const names = (n) => [`place${five(n)}`, `realm of ${five(n)} lanterns`];
    const row = (uid) => [uid, { uid, key: names(uid), keysecondary: [], content: `Lore number ${uid}.`, order: uid % 100, position: 0 }];
    const book = { name: "book.json", json: { entries: Object.fromEntries(Array.from({ length: entries }, (_, n) => row(n))) } };
    const values = {
        names: { user: "Ann", char: "Vex" },
        card: { name: "Vex", description: "{{char}} is a thief of the harbour." },
        preset: { main: "Write {{char}}'s next reply.", post_history: "Stay in character." },
        lore: { depth: messages },
        context: { window: 100_000, reserve: 500, tokenizer: "chars" },
        history: chat(messages, entries).map(({ role, content }) => ({ role, text: content })),
    };
    return { book, scene: values, now: "2026-01-31T20:15:00Z" };
}

/** Builds per second, after some that are not counted. */
function perSecond(build, expected) {
    for (let n = 0; n < 3; n++) if (!JSON.stringify(build()).includes(expected)) throw new Error(`no ${expected}`);
    const start = performance.now();
    let builds = 0;
    for (; performance.now() - start < SECONDS * 1000; builds++) build();
    return (builds * 1000) / (performance.now() - start);
}

const PYTHON = `
import json, sys, time, tapster
scene, expected, seconds = json.load(sys.stdin)
scene["lorebooks"] = [tapster.put(scene.pop("book"))]
rules = tapster.open("sillytavern")
for _ in range(3):
    assert expected in json.dumps(rules.build(scene).payload)
start, builds = time.monotonic(), 0
while time.monotonic() - start < seconds:
    rules.build(scene)
    builds += 1
print(builds / (time.monotonic() - start))
`;

for (const [messages, entries] of [[0, 0], [20, 50], [200, 1000]]) {
    // named by no message but the last one that names any
    const expected = messages ? `Lore number ${((Math.floor((messages - 1) / 5) * 5) * 13) % entries}.` : "thief";
    const whole = scene(messages, entries);
    const rules = open({ pack: "sillytavern" });
    const { book, ...rest } = whole;
    const ours = { ...rest, lorebooks: [put(book)] };
    const theirs = [builder(entries), chat(messages, entries)];
    const engines = {
        "Node": () => perSecond(() => rules.build(ours), expected),
        "Python": () => Number(execFileSync("python3", ["-c", PYTHON], { input: JSON.stringify([whole, expected, SECONDS]), encoding: "utf8" })),
        "fast-tavern": () => perSecond(() => theirs[0](theirs[1]), expected),
    };
    const best = Object.fromEntries(Object.keys(engines).map((name) => [name, 0]));
    for (let round = 0; round < ROUNDS; round++) for (const [name, run] of Object.entries(engines)) best[name] = Math.max(best[name], run());
    const line = Object.entries(best).map(([name, builds]) => `${name} ${builds.toFixed(0)}/s (${(builds / best["fast-tavern"]).toFixed(2)} x)`);
    console.log(`${messages} messages x ${entries} entries: ${line.join(", ")}`);
}
