// Where the program `tapster` is: in the setting, in the folders of the workspace, or in PATH. Knows nothing of VS Code.
const { execFile } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

/**
 * @typedef {object} Search
 * @property {string} [setting] The setting `tapster.path`.
 * @property {string[]} folders The folders of the workspace; none that is not trusted.
 * @property {NodeJS.ProcessEnv} env
 * @property {NodeJS.Platform} [platform]
 * @property {(file: string, platform: NodeJS.Platform) => Promise<boolean>} [serves] Whether a program has the language server.
 */

/** @typedef {{ path: string } | { error: string }} Found */

/** The paths that are tried without a setting, in order. @param {Search} search */
function candidates({ folders, env, platform = process.platform }) {
    const isWindows = platform === "win32";
    const { join, delimiter } = isWindows ? path.win32 : path.posix;
    const inFolders = folders.flatMap((folder) =>
        isWindows
            ? [join(folder, "node_modules", ".bin", "tapster.cmd"), join(folder, ".venv", "Scripts", "tapster.exe")]
            : [join(folder, "node_modules", ".bin", "tapster"), join(folder, ".venv", "bin", "tapster")],
    );
    // an empty or relative part of PATH would mean the working folder, which may be one that is not trusted
    const isAbsolute = isWindows ? path.win32.isAbsolute : path.posix.isAbsolute;
    const parts = (env.PATH ?? env.Path ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
    const names = isWindows ? ["tapster.exe", "tapster.cmd"] : ["tapster"];
    return [...inFolders, ...parts.flatMap((folder) => names.map((name) => join(folder, name)))];
}

/** The path that the setting means. @param {string} setting @param {Search} search */
function settingPath(setting, { folders, env }) {
    const home = env.HOME ?? env.USERPROFILE ?? "~";
    const first = folders[0] ?? "";
    const full = setting.replace(/^~(?=$|[\\/])/, () => home).replace("${workspaceFolder}", () => first);
    return path.resolve(first, full);
}

/** @param {string} file */
function isProgram(file) {
    try {
        fs.accessSync(file, fs.constants.X_OK);
        return fs.statSync(file).isFile();
    } catch {
        return false;
    }
}

/** Whether Windows starts a file by its command interpreter only. @param {string} file */
const needsShell = (file) => /\.(cmd|bat)$/i.test(file);

/** Programs are built without the server unless it is asked for. @param {string} file */
function serves(file) {
    const shell = needsShell(file);
    return new Promise((done) => {
        execFile(shell ? `"${file}"` : file, ["lsp", "--help"], { timeout: 10_000, shell }, (error) => done(!error));
    });
}

/** Finds the program, or says in a sentence why there is none. @param {Search} search @returns {Promise<Found>} */
async function findBinary(search) {
    const platform = search.platform ?? process.platform;
    const canServe = search.serves ?? serves;
    const lacking = (/** @type {string} */ file) =>
        `\`${file}\` has no language server: install Tapster with \`cargo install --path cli --features full\`.`;
    const setting = search.setting?.trim();
    if (setting) {
        const file = settingPath(setting, search);
        if (!isProgram(file)) return { error: `The setting \`tapster.path\` names \`${file}\`, which is not a program.` };
        return (await canServe(file, platform)) ? { path: file } : { error: lacking(file) };
    }
    const without = [];
    for (const file of candidates(search)) {
        if (!isProgram(file)) continue;
        if (await canServe(file, platform)) return { path: file };
        without.push(file);
    }
    if (without[0]) return { error: lacking(without[0]) };
    const places = search.folders.length ? "`node_modules/.bin`, `.venv/bin` or `PATH`" : "`PATH`";
    return { error: `There is no program \`tapster\` in ${places}: install it, or name it in the setting \`tapster.path\`.` };
}

module.exports = { findBinary, candidates, needsShell };
