// The program is found where it should be, in order, and a sentence says why there is none.
const assert = require("node:assert/strict");
const { test } = require("node:test");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { candidates, findBinary } = require("../src/binary");

/** A folder with programs; each says `tapster lsp` is there, unless its text is `lean`. */
function folder(t, programs) {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), "tapster-vscode-"));
    t.after(() => fs.rmSync(root, { recursive: true }));
    for (const [name, kind] of Object.entries(programs)) {
        const file = path.join(root, name);
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, `#!/bin/sh\n${kind === "lean" ? "exit 2" : "exit 0"}\n`, { mode: kind === "text" ? 0o644 : 0o755 });
    }
    return root;
}

const all = { "work/node_modules/.bin/tapster": "full", "work/.venv/bin/tapster": "full", "bin/tapster": "full", "own/tapster": "full" };
const search = (root, more = {}) => ({ folders: [path.join(root, "work")], env: { PATH: path.join(root, "bin"), HOME: root }, ...more });
const skip = process.platform === "win32";

test("the setting is first, then node_modules, .venv and PATH", { skip }, async (t) => {
    const root = folder(t, all);
    const found = async (more) => path.relative(root, (await findBinary(search(root, more))).path);
    assert.equal(await found({ setting: path.join(root, "own/tapster") }), "own/tapster");
    assert.equal(await found({ setting: "~/own/tapster" }), "own/tapster");
    assert.equal(await found({ setting: "${workspaceFolder}/../own/tapster" }), "own/tapster");
    assert.equal(await found({ setting: ".venv/bin/tapster" }), "work/.venv/bin/tapster");
    assert.equal(await found(), "work/node_modules/.bin/tapster");
    fs.rmSync(path.join(root, "work/node_modules"), { recursive: true });
    assert.equal(await found(), "work/.venv/bin/tapster");
    fs.rmSync(path.join(root, "work/.venv"), { recursive: true });
    assert.equal(await found(), "bin/tapster");
});

test("folders that are not trusted are not searched", { skip }, async (t) => {
    const root = folder(t, all);
    assert.deepEqual(await findBinary(search(root, { folders: [] })), { path: path.join(root, "bin/tapster") });
});

test("relative parts of PATH are not searched", () => {
    const env = { PATH: ["", ".", "bin", "/opt/bin"].join(":") };
    assert.deepEqual(candidates({ folders: [], env, platform: "linux" }), ["/opt/bin/tapster"]);
});

test("a program without the server is passed over, and named if there is no other", { skip }, async (t) => {
    const root = folder(t, { ...all, "work/node_modules/.bin/tapster": "lean" });
    assert.equal((await findBinary(search(root))).path, path.join(root, "work/.venv/bin/tapster"));
    const lean = folder(t, { "bin/tapster": "lean" });
    assert.deepEqual(await findBinary(search(lean)), {
        error: `\`${lean}/bin/tapster\` has no language server: install Tapster with \`cargo install --path cli --features full\`.`,
    });
});

test("a sentence says that there is none", { skip }, async (t) => {
    const root = folder(t, { "work/.venv/bin/tapster": "text", "bin/tapster/inner": "text" });
    assert.deepEqual(await findBinary(search(root)), {
        error: "There is no program `tapster` in `node_modules/.bin`, `.venv/bin` or `PATH`: install it, or name it in the setting `tapster.path`.",
    });
    assert.match((await findBinary(search(root, { folders: [] }))).error, /^There is no program `tapster` in `PATH`:/);
    assert.deepEqual(await findBinary(search(root, { setting: "/nowhere/tapster" })), {
        error: "The setting `tapster.path` names `/nowhere/tapster`, which is not a program.",
    });
});

test("on Windows the names have endings", () => {
    const env = { Path: "C:\\Tools;D:\\x" };
    assert.deepEqual(candidates({ folders: ["C:\\work"], env, platform: "win32" }), [
        "C:\\work\\node_modules\\.bin\\tapster.cmd",
        "C:\\work\\.venv\\Scripts\\tapster.exe",
        "C:\\Tools\\tapster.exe",
        "C:\\Tools\\tapster.cmd",
        "D:\\x\\tapster.exe",
        "D:\\x\\tapster.cmd",
    ]);
});
