// What package.json promises is there: each file, each command, the snippets as rule files that pass `tapster check`.
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const { test } = require("node:test");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const here = path.join(__dirname, "..");
const manifest = require("../package.json");
const { contributes } = manifest;
const root = path.join(here, "../..");

test("each contributed file is in the package", () => {
    const packed = execFileSync("npx", ["--no-install", "vsce", "ls", "--no-dependencies"], { cwd: here, encoding: "utf8" }).split("\n");
    const parts = [...contributes.languages.map((one) => one.configuration), ...contributes.snippets.map((one) => one.path), ...contributes.jsonValidation.map((one) => one.url)];
    const extension = fs.readFileSync(path.join(here, "src/extension.js"), "utf8");
    const media = [...extension.matchAll(/"(preview\.\w+)"/g)].map(([, name]) => `media/${name}`);
    assert.equal(media.length, 3);
    for (const part of [manifest.main, ...parts, ...media]) assert.ok(packed.includes(path.posix.normalize(part)), part);
    assert.ok(!packed.some((name) => /^(src|test|node_modules)\//.test(name)), packed.join("\n"));
});

test("each command is registered, and each setting read", () => {
    const extension = fs.readFileSync(path.join(here, "src/extension.js"), "utf8");
    const registered = [...extension.matchAll(/registerCommand\("([\w.]+)"/g)].map(([, name]) => name);
    assert.deepEqual(contributes.commands.map((one) => one.command), registered);
    for (const entry of Object.values(contributes.menus).flat()) assert.ok(registered.includes(entry.command));
    // the client reads `trace` itself
    const read = new Set([...extension.matchAll(/settings\(\)\.get\("(\w+)"\)/g)].map(([, name]) => `tapster.${name}`));
    assert.deepEqual(new Set(Object.keys(contributes.configuration.properties)), read.add("tapster.trace.server"));
});

test("the version is that of the program", () => {
    assert.equal(manifest.version, /^version = "(.*)"$/m.exec(fs.readFileSync(path.join(root, "Cargo.toml"), "utf8"))?.[1]);
});

/** The text of a snippet with what its places begin with. */
const expanded = (body) =>
    body.join("\n").replace(/\$\{\d+\|([^,|]*)[^}]*\}|\$\{\d+:((?:\\\}|[^}])*)\}|\$\d+/g, (_, first, text) => first ?? (text ?? "").replaceAll("\\}", "}").replace("$TM_FILENAME_BASE", "mine"));

test("snippets pass the check", { skip: process.env.TAPSTER ? false : "TAPSTER names no program" }, (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tapster-snippets-"));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    for (const [name, snippet] of Object.entries(require("../snippets/toml.json"))) {
        const text = expanded(snippet.body);
        const isFile = /^(kind|pack) = /.test(text);
        fs.writeFileSync(path.join(folder, "mine.toml"), isFile ? text : `kind = "overlay"\nversion = 2\nname = "mine"\nextends = "base"\n\n${text}`);
        const run = /^kind = "case"/.test(text) ? ["test"] : ["check"];
        try {
            execFileSync(process.env.TAPSTER, [...run, "mine.toml"], { cwd: folder, encoding: "utf8", stdio: "pipe" });
        } catch (error) {
            assert.fail(`${name}:\n${text}\n${error.stdout}${error.stderr}`);
        }
    }
});
