// Starts `tapster lsp` for rule files, and shows the prompt of a scene beside the file.
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, State } = require("vscode-languageclient/node");
const { findBinary, needsShell } = require("./binary");

/** Files whose unsaved text the server should know. */
const DOCUMENTS = [
    { scheme: "file", language: "toml" },
    { scheme: "file", language: "json" },
    { scheme: "file", pattern: "**/*.{toml,json,rhai,hbs,handlebars,liquid}" },
];
/** Where the chosen scene is kept. */
const SCENE = "scene";
/** A preview waits so long for the next keystroke, in milliseconds. */
const PAUSE = 60;

/** @type {LanguageClient | undefined} */
let client;
/** The last restart. Each waits for the one before it: two at once would leave two servers. @type {Promise<void>} */
let restarting = Promise.resolve();

const settings = () => vscode.workspace.getConfiguration("tapster");
const folders = () => (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file").map((folder) => folder.uri.fsPath);

async function start() {
    const trusted = vscode.workspace.isTrusted ? folders() : [];
    const found = await findBinary({ setting: settings().get("path"), folders: trusted, env: process.env });
    if ("error" in found) {
        // the next restart waits for this one, but not for an answer to the message
        void reportMissing(found.error);
        return;
    }
    const shell = needsShell(found.path);
    const run = { command: shell ? `"${found.path}"` : found.path, args: ["lsp"], options: { cwd: trusted[0], shell } };
    client = new LanguageClient("tapster", "Tapster", run, {
        documentSelector: DOCUMENTS,
        initializationOptions: { pack: settings().get("pack") || undefined },
    });
    client.onDidChangeState(() => preview?.ask());
    await client.start();
}

/** @param {string} message */
async function reportMissing(message) {
    const choice = await vscode.window.showErrorMessage(message, "Open Settings", "Search Again");
    if (choice === "Open Settings") await vscode.commands.executeCommand("workbench.action.openSettings", "tapster.path");
    if (choice === "Search Again") await restart();
}

function restart() {
    const next = async () => {
        const old = client;
        client = undefined;
        // a server that did not start cannot be stopped
        await old?.dispose().catch(() => {});
        await start();
    };
    restarting = restarting.catch(() => {}).then(next);
    return restarting;
}

/** The scene files of the workspace, as entries of a list. */
async function sceneItems() {
    const found = await vscode.workspace.findFiles("**/scene.{toml,json}", "**/{node_modules,target,.venv}/**", 500);
    const items = found.map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri }));
    return items.sort((a, b) => a.label.localeCompare(b.label));
}

/** Asks for a scene, unless there is only one. @param {vscode.Memento} state @param {boolean} isAsked */
async function chooseScene(state, isAsked) {
    const items = await sceneItems();
    if (!isAsked && items.length === 1) return items[0].uri.toString();
    const other = { label: "Another file…", uri: undefined };
    const picked = await vscode.window.showQuickPick([...items, other], { placeHolder: "The scene whose prompt is shown" });
    if (!picked) return undefined;
    const uri = picked.uri ?? (await vscode.window.showOpenDialog({ filters: { Scenes: ["toml", "json"] } }))?.[0];
    if (uri) await state.update(SCENE, uri.toString());
    return uri?.toString();
}

/** A place as the server names it, `FILE:LINE`; undefined for a file inside of the program. @param {string | null | undefined} text */
function placeOf(text) {
    const [, file, line] = /^(.*?):(\d+)(?::\d+)?$/.exec(text ?? "") ?? [];
    if (!file) return undefined;
    const full = [file, ...folders().map((folder) => path.resolve(folder, file))].find((one) => path.isAbsolute(one) && fs.existsSync(one));
    return full && { file: full, line: Number(line) };
}

/** The prompt beside the file. */
class Preview {
    /** @param {vscode.ExtensionContext} context @param {string} scene */
    constructor(context, scene) {
        this.scene = scene;
        this.usesOpenRules = false;
        this.isAsking = false;
        this.isClosed = false;
        /** @type {NodeJS.Timeout | undefined} */
        this.timer = undefined;
        /** @type {vscode.TextEditor | undefined} */
        this.editor = vscode.window.activeTextEditor;
        const media = vscode.Uri.joinPath(context.extensionUri, "media");
        const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
        this.panel = vscode.window.createWebviewPanel("tapster.preview", "Prompt", column, { enableScripts: true, localResourceRoots: [media] });
        const address = (/** @type {string} */ name) => this.panel.webview.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
        const source = this.panel.webview.cspSource;
        this.panel.webview.html = fs
            .readFileSync(vscode.Uri.joinPath(media, "preview.html").fsPath, "utf8")
            .replaceAll("{source}", source)
            .replace("{style}", address("preview.css"))
            .replace("{script}", address("preview.js"));
        const again = () => this.ask();
        const events = [
            this.panel.webview.onDidReceiveMessage((message) => this.received(message)),
            vscode.workspace.onDidChangeTextDocument(again),
            vscode.workspace.onDidSaveTextDocument(again),
            vscode.window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor)),
            vscode.window.onDidChangeActiveTextEditor((editor) => this.follow(editor)),
        ];
        this.panel.onDidDispose(() => {
            this.isClosed = true;
            clearTimeout(this.timer);
            for (const event of events) event.dispose();
            preview = undefined;
        });
    }

    /** @param {vscode.TextEditor | undefined} editor */
    follow(editor) {
        // an output channel or the preview itself is not what is written
        if (editor?.document.uri.scheme !== "file") return;
        this.editor = editor;
        this.ask();
    }

    /** @param {{ ready?: true, choose?: true, usesOpenRules?: boolean, open?: { file: string, line: number } }} message */
    async received(message) {
        if (message.choose) await vscode.commands.executeCommand("tapster.chooseScene");
        if (message.usesOpenRules !== undefined) this.usesOpenRules = message.usesOpenRules;
        if (message.open) {
            const at = new vscode.Position(Math.max(0, message.open.line - 1), 0);
            const column = this.editor?.viewColumn ?? vscode.ViewColumn.One;
            const document = await vscode.workspace.openTextDocument(message.open.file);
            await vscode.window.showTextDocument(document, { viewColumn: column, selection: new vscode.Range(at, at) });
            return;
        }
        this.ask();
    }

    ask() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.show(), PAUSE);
    }

    /** Shows the prompt as it is now. One request at a time: what changes meanwhile is asked for afterwards. */
    async show() {
        if (this.isAsking) return this.ask();
        this.isAsking = true;
        try {
            const answer = await this.answer();
            // the panel may have been closed meanwhile
            if (!this.isClosed) await this.panel.webview.postMessage(answer);
        } finally {
            this.isAsking = false;
        }
    }

    async answer() {
        const scene = vscode.workspace.asRelativePath(vscode.Uri.parse(this.scene));
        const failed = (/** @type {string} */ message) => ({ scene, blocks: [], diagnostics: [{ severity: "error", message }] });
        if (client?.state !== State.Running) return failed("The language server is not running.");
        const document = this.editor?.document;
        const params = {
            scene: this.scene,
            pack: this.usesOpenRules ? document?.uri.toString() : undefined,
            textDocument: document && { uri: document.uri.toString() },
            position: document && this.editor?.selection.active,
        };
        try {
            const shown = await client.sendRequest("tapster/preview", params);
            const blocks = shown.blocks.map((/** @type {any} */ block) => ({ ...block, place: placeOf(block.rule) }));
            const diagnostics = shown.diagnostics.map((/** @type {any} */ one) => ({ ...one, place: placeOf(one.place) ?? null, at: one.place }));
            const entry = shown.entry && { ...shown.entry, place: placeOf(shown.entry.stopped_by?.rule) };
            return { ...shown, blocks, diagnostics, entry, scene, usesOpenRules: this.usesOpenRules };
        } catch (error) {
            return failed(error instanceof Error ? error.message : String(error));
        }
    }
}

/** @type {Preview | undefined} */
let preview;

/** @param {vscode.ExtensionContext} context */
async function activate(context) {
    const state = context.workspaceState;
    const openPreview = async () => {
        const scene = preview?.scene ?? state.get(SCENE) ?? (await chooseScene(state, false));
        if (!scene) return;
        preview ??= new Preview(context, scene);
        preview.panel.reveal(undefined, true);
    };
    const choose = async () => {
        const scene = await chooseScene(state, true);
        if (!scene) return;
        if (preview) preview.scene = scene;
        await openPreview();
        preview?.ask();
    };
    context.subscriptions.push(
        vscode.commands.registerCommand("tapster.openPreview", openPreview),
        vscode.commands.registerCommand("tapster.chooseScene", choose),
        vscode.commands.registerCommand("tapster.restart", restart),
        vscode.workspace.onDidGrantWorkspaceTrust(restart),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration("tapster.path") || event.affectsConfiguration("tapster.pack")) return restart();
        }),
    );
    // commands are there at once, also while a message waits for an answer
    void restart();
}

const deactivate = () => client?.dispose();

module.exports = { activate, deactivate };
