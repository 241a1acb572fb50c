// The page: reads what the user gives, asks the engine, and shows what it answers.

import { byId, type Child, download, fill, h, plural } from "./dom";
import { RuleEditor } from "./editor";
import { type Answer, type Diagnostic, Engine } from "./engine";
import {
    archivePack, asProject, contentOf, decodeProject, EMPTY_OVERLAY, emptyProject, encodeProject, ownProject, PARTS, type Part, type Project, type ProjectFile, projectOf, type ReadChat, readFile,
    rulesOf, sceneOf, storedProject, storeOwnProject, storeProject,
} from "./project";
import { type DoctorReport, doctorView } from "./doctor";
import { answerView, type CacheTurn, cacheView, diagnosticList, diffView, loreView, type Option, optionsForm, promptView, type Report, tokenBar } from "./views";

type Json = Record<string, unknown>;

interface Gallery {
    examples: { name: string; about: string; project: Json }[];
    overlays: { name: string; about: string; text: string }[];
}

const engine = new Engine((server) => {
    if (!server) return;
    const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
    fill(byId("privacy"), isHere ? "Nothing leaves this machine." : `What you drop is sent to ${location.host}, whose engine builds it.`);
    fill(byId("engine"), "The engine is the tapster serve that gave you this page.");
});
let project: Project = emptyProject();
let report: Report | null = null;
/** The user's own project, while that of another one is open. */
let mine: Project | null = ownProject();
/** The project's chat, and its reading, with the file and the pack that it is of. */
let chat: ReadChat | null = null;
let chatReading: { file: ProjectFile | undefined; pack: string; done: Promise<ReadChat | null> } | null = null;
let gallery: Gallery = { examples: [], overlays: [] };
/** The number of the newest refresh: an answer of an older one is not shown. */
let newest = 0;

const status = (text: string): void => fill(byId("status"), text);

// ---------------------------------------------------------------- views

const VIEWS = ["Prompt", "Payload", "Lore", "Rules", "Options", "Compare", "Cache", "Doctor"] as const;
type View = (typeof VIEWS)[number];
const panels = new Map<View, HTMLElement>();
let view: View = "Prompt";

function makeTabs(): void {
    const tabs = VIEWS.map((name) =>
        h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, click: () => select(name) }, name));
    fill(byId("tabs"), tabs);
    for (const name of VIEWS) {
        const panel = h("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" });
        panels.set(name, panel);
        byId("panels").append(panel);
    }
    byId("tabs").addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: VIEWS.length - 1 }[event.key];
        const to = event.key === "Home" ? 0 : event.key === "End" ? VIEWS.length - 1 : step === undefined ? -1 : (VIEWS.indexOf(view) + step) % VIEWS.length;
        const name = VIEWS[to];
        if (!name) return;
        event.preventDefault();
        select(name);
        byId(`tab-${name}`).focus();
    });
    select(view);
}

function select(name: View): void {
    view = name;
    for (const one of VIEWS) {
        byId(`tab-${one}`).setAttribute("aria-selected", String(one === name));
        byId(`tab-${one}`).tabIndex = one === name ? 0 : -1;
        panel(one).hidden = one !== name;
    }
    show();
}

const panel = (name: View): HTMLElement => panels.get(name) as HTMLElement;

/** Asks why, and shows the answer in `target`. */
async function ask(about: Json, target: HTMLElement): Promise<void> {
    fill(target, h("p", { class: "legend" }, "asking …"));
    const answer = await engine.call<Json>("explain", { rules: rulesOf(project), scene: sceneOf(project, chat), about });
    if (answer.result) answerView(target, answer.result);
    else fill(target, diagnosticList(answer.diagnostics));
}

/** Shows the view that is open. */
function show(): void {
    if (view === "Options") void showOptions();
    if (view === "Doctor") void showDoctor();
    if (!report) return;
    if (view === "Prompt") promptView(byId("prompt-list"), report, ask);
    if (view === "Payload") {
        const text = JSON.stringify(report.payload, null, 2);
        fill(panel(view), h("div", { class: "row" },
            h("button", { type: "button", click: async () => {
                await navigator.clipboard.writeText(text).then(() => status("The payload was copied."), () => status("The browser does not allow copying."));
            } }, "Copy"), h("button", { type: "button", click: () => download("payload.json", text, "application/json") }, "Download")),
            h("pre", { tabindex: "0", "aria-label": "Payload" }, text));
    }
    if (view === "Lore") {
        const before = (chat?.messages ?? []).slice(0, project.turn ?? undefined).map((message) => message.text);
        loreView(panel(view), report, [...before, String(sceneOf(project, chat).message ?? "")], ask);
    }
    if (view === "Cache") void showCache();
}

function makePrompt(): void {
    const answer = h("div", { class: "more", "aria-live": "polite" });
    const field = h("input", { id: "why-not", autocomplete: "off" });
    const form = h("form", { class: "row", submit: (event: Event) => {
        event.preventDefault();
        if (field.value) void ask({ why_not: field.value }, answer);
    } }, h("label", { class: "grow" }, "Why is something not in the prompt? A name, a title, or some of its words", field), h("button", { type: "submit" }, "Ask"));
    fill(panel("Prompt"), form, answer, h("div", { id: "prompt-list" }));
}

// ---------------------------------------------------------------- rules

let editor: RuleEditor | null = null;

function makeRules(): void {
    const host = h("div", { class: "editor", id: "overlay-editor" });
    const value = h("div", { class: "more", "aria-live": "polite" });
    const path = h("input", { id: "value-path", placeholder: "context.window, or the name of a program, pass or slot", autocomplete: "off" });
    const wishes = h("select", { id: "wish" }, h("option", { value: "" }, "choose …"));
    fill(panel("Rules"),
        h("p", {}, "An overlay is laid over the rules of the pack. It is checked as you type; Ctrl-Space completes, Tab leaves the editor."),
        host,
        h("div", { class: "row" },
            h("label", { class: "grow" }, "Add a change that others wished for", wishes),
            h("button", { type: "button", click: () => download("mine.toml", editor?.text ?? "") }, "Download overlay")),
        h("form", { class: "row", submit: (event: Event) => {
            event.preventDefault();
            void showValue(path.value, value);
        } }, h("label", { class: "grow" }, "The value in force, and which layer decides it", path), h("button", { type: "submit" }, "Look up")), value,
        h("div", { id: "overlay-list" }));
    wishes.addEventListener("change", () => {
        const wish = gallery.overlays.find((overlay) => overlay.name === wishes.value);
        if (wish) addOverlay(wish.name, wish.text);
        wishes.value = "";
    });
    editor = new RuleEditor(host, "Overlay", project.overlays[0]?.text ?? EMPTY_OVERLAY, (text) => {
        const [mine] = project.overlays;
        if (mine && mine.text !== text) {
            mine.text = text;
            update();
        }
    });
}

function addOverlay(name: string, text: string): void {
    let file = name.endsWith(".toml") ? name : `${name}.toml`;
    const [mine, ...others] = project.overlays;
    if (mine?.name === file && mine.text !== text) {
        if (mine.text.trim() === EMPTY_OVERLAY.trim()) mine.text = text;
        else file = file.replace(/\.toml$/, "-2.toml");
    }
    if (mine?.name !== file) project.overlays = [...(mine ? [mine] : []), ...others.filter((overlay) => overlay.name !== file), { name: file, text, on: true }];
    status(`${file} was laid over the rules.`);
    update();
}

function showOverlays(): void {
    const others = project.overlays.slice(1);
    fill(byId("overlay-list"), others.length ? h("h3", {}, "Other overlays") : null, h("ul", {}, others.map((overlay) => {
        const box = h("input", { id: `overlay-${overlay.name}`, type: "checkbox", change: () => {
            overlay.on = box.checked;
            update();
        } });
        box.checked = overlay.on;
        return h("li", { class: "row" }, h("label", {}, h("span", {}, box, " ", overlay.name)),
            h("button", { type: "button", class: "quiet", click: () => {
                project.overlays = project.overlays.filter((one) => one !== overlay);
                update();
            } }, `Remove ${overlay.name}`));
    })));
}

async function showValue(path: string, target: HTMLElement): Promise<void> {
    if (!path) return;
    const args = { rules: rulesOf(project), scene: sceneOf(project, chat) };
    const value = await engine.call<{ value: string; decided_by: string; layers: Json[] }>("explain", { ...args, about: { value: path } });
    const rules = await engine.call<{ rows: Json[] }>("explain", { rules: rulesOf(project), about: { rules: path } });
    const rows = (rules.result?.rows ?? []).slice(0, 20).map((row) => h("li", {}, `${row.table} `, h("code", {}, String(row.name)), ": ", ((row.decided as string[]) ?? []).join(", "),
        h("ul", {}, ((row.fields as Json[]) ?? []).map((field) => h("li", {}, h("code", {}, `${field.key} = ${field.value}`), ` ${field.place}`)))));
    fill(target, value.result ? [h("p", {}, h("code", {}, `${path} = ${value.result.value}`), `, decided by ${value.result.decided_by}`),
        h("ul", {}, value.result.layers.map((layer) => h("li", {}, `${layer.layer}: `, h("code", {}, String(layer.value)), layer.place ? ` (${layer.place})` : "", layer.decides ? ", in force" : "")))] : null,
        rows.length ? h("ul", {}, rows) : null, !value.result && !rows.length ? diagnosticList([...value.diagnostics, ...rules.diagnostics]) : null);
}

/** What completion of the editor offers depends on the pack alone. */
async function offerCompletion(): Promise<void> {
    const rules = { pack: project.pack, ...(rulesOf(project).packs ? { packs: rulesOf(project).packs } : {}) };
    const [schema, programs] = [await engine.call<Json>("schema", { kind: "overlay", rules }), await engine.call<{ programs: { program: string; passes: { name: string }[] }[] }>("explain", { rules, about: { rules: "" } })];
    const all = programs.result?.programs ?? [];
    const slots = [...new Set((report?.blocks ?? []).map((block) => block.slot ?? "").filter(Boolean))];
    if (schema.result) editor?.offer(schema.result, { pass: all.flatMap((one) => one.passes.map((pass) => pass.name)), program: all.map((one) => one.program), slot: slots });
}

async function showOptions(): Promise<void> {
    const answer = await engine.call<{ options: Option[] }>("options", { rules: rulesOf(project), option: project.options });
    if (!answer.result) return fill(panel("Options"), diagnosticList(answer.diagnostics));
    const form = h("div");
    const preset = project.files.find((file) => file.part === "preset");
    optionsForm(form, answer.result.options, (name, value) => {
        project.options = { ...project.options, [name]: value };
        update();
    });
    fill(panel("Options"), form, preset ? h("div", { class: "row" }, h("button", { type: "button", id: "make-pack", click: () => void makePack(preset) },
        `Turn ${preset.name} into a pack with options`)) : null);
}

/** Puts a pack with options in the place of a preset. */
async function makePack(preset: ProjectFile): Promise<void> {
    const { overlays: _overlays, ...rules } = rulesOf(project);
    const answer = await engine.call<{ name: string; files: Record<string, string>; options: unknown[]; fixed: unknown[] }>("convert", { rules, file: contentOf(preset), to: "pack" });
    if (!answer.result) return status(answer.diagnostics.map((d) => d.message).join(" "));
    if (!project.files.includes(preset)) return;
    const { name, files, options, fixed } = answer.result;
    project.files = project.files.filter((file) => file !== preset);
    put({ part: "pack", name, files });
    // it has the options and dialects of the pack that it extends
    project.pack = name;
    packOfCompletion = "";
    status(`${preset.name} is now the pack ${name} with ${plural(options.length, "option")}; ${plural(fixed.length, "prompt")} of it have none.`);
    update();
}

// ---------------------------------------------------------------- compare

function makeCompare(): void {
    const out = h("div", { "aria-live": "polite" });
    const a = h("select", { id: "compare-a" });
    const b = h("select", { id: "compare-b" });
    const fillIn = (): void => {
        const rules = ["the pack alone", ...project.overlays.map((overlay) => overlay.name)];
        const turns = userTurns().map((_, n) => `turn ${n + 1}`);
        for (const field of [a, b]) {
            const was = field.value;
            fill(field, [...rules, ...turns].map((name) => h("option", { value: name }, name)));
            field.value = [...rules, ...turns].includes(was) ? was : field === a ? "the pack alone" : (rules.at(-1) ?? "");
        }
    };
    const side = (name: string): { rules: Json; scene: Json } => {
        const turn = /^turn (\d+)$/.exec(name);
        if (turn) return { rules: rulesOf(project), scene: sceneOf(project, chat, userTurns()[Number(turn[1]) - 1] ?? null) };
        return { rules: rulesOf(project, project.overlays.filter((overlay) => overlay.name === name).map((overlay) => ({ ...overlay, on: true }))), scene: sceneOf(project, chat) };
    };
    a.addEventListener("focus", fillIn);
    b.addEventListener("focus", fillIn);
    fillIn();
    fill(panel("Compare"), h("form", { class: "row", submit: async (event: Event) => {
        event.preventDefault();
        fill(out, h("p", { class: "legend" }, "comparing …"));
        const [left, right] = [side(a.value), side(b.value)];
        const answer = await engine.call<Json>("diff", { a: left.rules, b: right.rules, scene: left.scene, scene_b: right.scene });
        if (answer.result) diffView(out, answer.result);
        else fill(out, diagnosticList(answer.diagnostics));
    } }, h("label", {}, "Before", a), h("label", {}, "After", b), h("button", { type: "submit" }, "Compare")), out);
    refreshCompare = fillIn;
}
let refreshCompare = (): void => {};

// ---------------------------------------------------------------- cache

/** Turns whose cache is asked for. */
const MOST_TURNS = 24;

async function cacheTurns(overlays: Project["overlays"]): Promise<{ turns: CacheTurn[]; caching: string; diagnostics: Diagnostic[] }> {
    const at = newest;
    const by = userTurns();
    const rules = rulesOf(project, overlays);
    const turns: CacheTurn[] = [];
    let [before, caching]: [unknown, string] = [null, ""];
    // what a turn leaves in the state of the chat, the next one begins with
    let kept: Json = {};
    for (const turn of by.slice(-MOST_TURNS)) {
        // something was changed in the meantime
        if (at !== newest) break;
        const { vars, ...state } = kept;
        const scene = sceneOf(project, chat, turn);
        scene.scene = { ...(scene.scene as Json), state, ...(vars ? { vars } : {}) };
        if (before) {
            const answer = await engine.call<Json>("explain", { rules, scene, about: { cache: before } });
            if (!answer.result) return { turns, caching, diagnostics: answer.diagnostics };
            turns.push({ turn: by.indexOf(turn) + 1, kept: Number(answer.result.tokens), total: Number(answer.result.total), breaker: (answer.result.differs as Json | null) ?? null });
            caching = String((answer.result.provider as Json | undefined)?.caching ?? "");
        }
        const built = await engine.call<{ plan: unknown; patch: Json }>("build", { rules, scene, plan: true });
        if (!built.result) return { turns, caching, diagnostics: built.diagnostics };
        before = built.result.plan;
        kept = { ...kept, ...built.result.patch };
    }
    return { turns, caching, diagnostics: [] };
}

async function showCache(): Promise<void> {
    const at = newest;
    const [result, more] = [h("div"), h("div", { "aria-live": "polite" })];
    fill(panel("Cache"), h("p", { class: "legend" }, "building each turn …"));
    const { turns, caching, diagnostics } = await cacheTurns(project.overlays);
    if (at !== newest) return;
    const freeze = gallery.overlays.filter((overlay) => overlay.name === "cache-friendly");
    cacheView(result, turns, caching);
    fill(panel("Cache"), diagnosticList(diagnostics), result, turns.length ? h("div", { class: "row" }, h("button", { type: "button", click: async () => {
        fill(more, h("p", { class: "legend" }, "building each turn again …"));
        const overlays = [...project.overlays, ...freeze.map(({ name, text }) => ({ name: `${name}.toml`, text, on: true }))];
        const after = await cacheTurns(overlays);
        const list = h("div");
        cacheView(list, after.turns, "");
        fill(more, h("h3", {}, "With lore frozen and the window cut in steps"), diagnosticList(after.diagnostics), list,
            h("button", { type: "button", click: () => freeze.forEach(({ name, text }) => addOverlay(name, text)) }, "Keep this overlay"));
    } }, "Show what freezing would save")) : null, more);
}

// ---------------------------------------------------------------- doctor

async function showDoctor(): Promise<void> {
    const files = project.files.filter((file) => file.part === "preset" || file.part === "character" || file.part === "lorebooks");
    if (!files.length) return fill(panel("Doctor"), h("p", {}, "Drop a preset, a card or a lorebook, and it is examined here."));
    const sections = await Promise.all(files.map(async (file): Promise<Child> => {
        const answer = await engine.call<DoctorReport>("doctor", { rules: rulesOf(project), file: contentOf(file) });
        return h("section", {}, h("h3", {}, file.name), answer.result ? doctorView(answer.result, answer.diagnostics) : diagnosticList(answer.diagnostics));
    }));
    fill(panel("Doctor"), sections);
}

// ---------------------------------------------------------------- files

/** The part of a scene that a document of a format is, by the parts that it fills. */
function partOf(scene: Json, format: string): Part | null {
    if (scene.history) return "chat";
    if (scene.card) return "character";
    if (scene.preset || scene.prompts || /preset/.test(format)) return "preset";
    if (scene.books) return "lorebooks";
    if (scene.persona) return "persona";
    return null;
}

async function addFiles(files: Iterable<File>): Promise<void> {
    for (const file of files) {
        status(`reading ${file.name} …`);
        const read = await readFile(file);
        if (typeof read === "string") {
            status(read);
            continue;
        }
        if (read.files) {
            put({ ...read, part: "pack" });
            choosePack(read.name);
            continue;
        }
        const downloaded = /\.json$/.test(read.name) && read.text !== undefined ? projectOf(read.text) : null;
        if (downloaded) {
            loadProject(downloaded);
            status(`${read.name} was opened.`);
            continue;
        }
        if (/\.toml$/.test(read.name) && read.text !== undefined) {
            addOverlay(read.name, read.text);
            continue;
        }
        const answer = await engine.call<{ format: string; scene: Json }>("import", { rules: rulesOf(project, []), file: read });
        const part = answer.result ? partOf(answer.result.scene, answer.result.format) : null;
        if (part) {
            put({ ...read, part });
            status(`${read.name} is a ${PARTS[part]} (${answer.result?.format}).`);
        } else {
            status(`${read.name} was not recognised. ${answer.diagnostics.map((d) => d.message).join(" ")}`);
        }
    }
    update();
}

/** Other rules have other options and dialects. */
function choosePack(name: string): void {
    Object.assign(project, { pack: name, dialect: "", options: {} });
    packOfCompletion = "";
}

/** Adds a file; of most parts a scene has one. */
function put(file: ProjectFile): void {
    const many = file.part === "lorebooks" || file.part === "preset" || file.part === "pack";
    project.files = [...project.files.filter((one) => (many ? one.name !== file.name : one.part !== file.part)), file];
    if (file.part === "chat") project.turn = null;
    if (file.part === "preset") {
        // what the example said in the place of a preset
        const { preset: _preset, context: _context, ...values } = project.values;
        project.values = values;
    }
}

function showFiles(): void {
    fill(byId("file-list"), project.files.map((file) => h("li", {}, h("span", { class: "kind" }, PARTS[file.part]), h("span", { class: "name" }, file.name),
        file.part === "pack" ? h("button", { type: "button", class: "quiet", click: () => download(`${file.name}.zip`, archivePack(file), "application/zip") }, `Download ${file.name}`) : null,
        h("button", { type: "button", class: "quiet", click: () => {
            project.files = project.files.filter((one) => one !== file);
            if (file.part === "pack") choosePack("sillytavern-exact");
            update();
            byId("files").focus();
        } }, `Remove ${file.name}`))));
}

// ---------------------------------------------------------------- settings

/** Where in the chat the messages of the user stand. */
const userTurns = (): number[] => (chat?.messages ?? []).flatMap((message, n) => (message.role === "user" ? [n] : []));

/** The window of a place of the slider: 0 is that of the preset, then steps that grow. */
const windowOf = (place: number): number => (place === 0 ? 0 : Math.round((256 * 2 ** ((place - 1) / 10)) / 64) * 64);

function showSettings(): void {
    byId<HTMLTextAreaElement>("message").value = project.message;
    byId<HTMLInputElement>("persona").value = project.persona;
    const own = project.files.filter((file) => file.part === "pack").map((file) => file.name);
    const packs = [...new Set([...own, ...shipped])];
    const pack = byId<HTMLSelectElement>("pack");
    if (pack.options.length !== packs.length || !packs.includes(pack.value)) fill(pack, packs.map((name) => h("option", { value: name }, name)));
    pack.value = project.pack;
    fill(byId("window-value"), project.window ? `${project.window.toLocaleString("en")} tokens` : "as the preset says");
    const place = project.window ? Math.round(1 + 10 * Math.log2(project.window / 256)) : 0;
    byId<HTMLInputElement>("window").value = String(Math.max(0, place));
    const turns = userTurns();
    byId("turn-row").hidden = turns.length === 0;
    const turn = byId<HTMLInputElement>("turn");
    turn.max = String(turns.length);
    turn.value = String(project.turn === null ? turns.length : Math.max(0, turns.indexOf(project.turn)));
    fill(byId("turn-value"), project.turn === null ? "the newest" : `${Number(turn.value) + 1} of ${turns.length}`);
    editor && (editor.text = project.overlays[0]?.text ?? EMPTY_OVERLAY);
    byId("own").hidden = mine === null;
    showFiles();
    showOverlays();
    refreshCompare();
}

/** The names of the packs that the engine has. */
let shipped: string[] = [];

let pending = 0;
/** Something of the project was changed: everything is asked anew, once the user pauses. */
function update(): void {
    // the address holds what was shared, and not what is changed now
    if (location.hash.length > 10) history.replaceState(null, "", location.pathname + location.search);
    showSettings();
    document.body.setAttribute("aria-busy", "true");
    clearTimeout(pending);
    pending = window.setTimeout(() => void refresh(), 25);
}

/** Reads the chat, if it is not the one that was read last. */
async function readChat(): Promise<void> {
    const file = project.files.find((one) => one.part === "chat");
    if (chatReading?.file !== file || chatReading?.pack !== project.pack) {
        const read = async (): Promise<ReadChat | null> => {
            const answer = file ? await engine.call<{ scene: Json }>("import", { rules: rulesOf(project, []), file: contentOf(file) }) : null;
            const values = answer?.result?.scene;
            return values ? { values, messages: (values.history ?? []) as ReadChat["messages"] } : null;
        };
        chatReading = { file, pack: project.pack, done: read() };
    }
    const reading = chatReading;
    const found = await reading.done;
    if (chatReading !== reading) return;
    // what could not be read is tried again with the next change
    if (file && !found) chatReading = null;
    if (found !== chat) {
        chat = found;
        showSettings();
    }
}

let packOfCompletion = "";
let warned = false;

async function refresh(): Promise<void> {
    const at = ++newest;
    const started = performance.now();
    if (!storeProject(project) && !warned) {
        warned = true;
        status("The browser keeps nothing of this project, because it is too large or storage is denied; download the scene to keep it.");
    }
    await readChat();
    if (at !== newest) return;
    const rules = rulesOf(project);
    const answer: Answer<Report> = await engine.call<Report>("explain", { rules, scene: sceneOf(project, chat), about: "report" });
    if (at !== newest) return;
    editor?.show(answer.diagnostics, project.overlays[0]?.name ?? "mine.toml");
    fill(byId("problems"), diagnosticList(answer.diagnostics), answer.result || !report ? null : h("p", { class: "legend" }, "Below is the last prompt that could be built."));
    if (answer.result) {
        report = answer.result;
        tokenBar(byId("bar"), report);
        show();
        const took = performance.now() - started;
        fill(byId("took"), `Built in ${took.toFixed(0)} ms.`);
    } else {
        fill(byId("took"));
    }
    document.body.removeAttribute("aria-busy");
    if (packOfCompletion !== project.pack) {
        packOfCompletion = project.pack;
        const opened = await engine.call<{ dialects: string[] }>("open", { ...rules, overlays: [] });
        const dialect = byId<HTMLSelectElement>("dialect");
        fill(dialect, h("option", { value: "" }, "as the pack says"), (opened.result?.dialects ?? []).map((name) => h("option", { value: name }, name)));
        dialect.value = project.dialect;
        await offerCompletion();
    }
}

// ---------------------------------------------------------------- start

function loadProject(next: Project): void {
    project = next;
    report = null;
    chat = null;
    chatReading = null;
    packOfCompletion = "";
    makePrompt();
    for (const name of ["Payload", "Lore", "Options", "Cache", "Doctor"] as const) fill(panel(name));
    fill(byId("bar"));
    makeRules();
    fillWishes();
    byId("dialect") instanceof HTMLSelectElement && (byId<HTMLSelectElement>("dialect").value = project.dialect);
    update();
}

function fillWishes(): void {
    const wishes = byId<HTMLSelectElement>("wish");
    fill(wishes, h("option", { value: "" }, "choose …"), gallery.overlays.map(({ name, about }) => h("option", { value: name }, `${name}: ${about}`.slice(0, 110))));
}

function listen(): void {
    const on = <T extends HTMLElement>(id: string, event: string, run: (element: T) => void): void => byId<T>(id).addEventListener(event, () => run(byId<T>(id)));
    on<HTMLTextAreaElement>("message", "input", (field) => {
        project.message = field.value;
        project.turn = null;
        update();
    });
    on<HTMLInputElement>("persona", "input", (field) => {
        project.persona = field.value;
        update();
    });
    on<HTMLSelectElement>("pack", "change", (field) => {
        choosePack(field.value);
        update();
    });
    on<HTMLSelectElement>("dialect", "change", (field) => {
        project.dialect = field.value;
        update();
    });
    on<HTMLInputElement>("window", "input", (field) => {
        project.window = windowOf(Number(field.value));
        update();
    });
    on<HTMLInputElement>("turn", "input", (field) => {
        project.turn = userTurns()[Number(field.value)] ?? null;
        update();
    });
    on<HTMLInputElement>("files", "change", (field) => void addFiles([...(field.files ?? [])]).then(() => (field.value = "")));
    on<HTMLSelectElement>("gallery", "change", (field) => {
        const example = gallery.examples.find((one) => one.name === field.value);
        if (example) loadProject(asProject({ ...emptyProject(), ...example.project }));
        field.value = "";
    });
    on("clear", "click", () => loadProject(emptyProject()));
    on("save", "click", () => download("scene.json", JSON.stringify({ rules: rulesOf(project), scene: sceneOf(project, chat), project }, null, 2), "application/json"));
    on("own", "click", () => {
        const own = mine;
        mine = null;
        storeOwnProject(null);
        if (own) loadProject(own);
    });
    on("share", "click", () => {
        const hash = encodeProject(project);
        if (hash === null) return status("This project has more than 8 MB, and cannot be put into an address; download the scene instead.");
        history.replaceState(null, "", `#${hash}`);
        const size = plural(location.href.length, "character");
        void navigator.clipboard?.writeText(location.href).then(() => status(`The address was copied; it has ${size}, and holds everything.`),
            () => status(`The address of this page now holds everything; it has ${size}.`));
        if (!navigator.clipboard) status(`The address of this page now holds everything; it has ${size}.`);
    });
    const drop = byId("drop");
    document.addEventListener("dragover", (event) => {
        event.preventDefault();
        drop.classList.add("over");
    });
    document.addEventListener("dragleave", () => drop.classList.remove("over"));
    document.addEventListener("drop", (event) => {
        event.preventDefault();
        drop.classList.remove("over");
        void addFiles([...(event.dataTransfer?.files ?? [])]);
    });
    window.addEventListener("hashchange", readHash);
}

function readHash(): boolean {
    const hash = location.hash.slice(1);
    if (!hash || hash === "output") return false;
    const shared = decodeProject(hash);
    if (typeof shared === "string") {
        history.replaceState(null, "", location.pathname + location.search);
        status(`This address cannot be opened: ${shared}`);
        return false;
    }
    mine ??= report ? project : storedProject();
    storeOwnProject(mine);
    loadProject(shared);
    return true;
}

async function start(): Promise<void> {
    if (typeof WebAssembly === "undefined") {
        return status("This page needs WebAssembly, which this browser does not allow. The command line does the same: tapster explain SCENE --html.");
    }
    makeTabs();
    makePrompt();
    makeRules();
    makeCompare();
    listen();
    const [response, packs] = await Promise.all([fetch("gallery.json"), engine.call<{ packs: string[] }>("packs")]);
    if (response.ok) gallery = (await response.json()) as Gallery;
    else status("The examples cannot be had; all else works.");
    fill(byId("gallery"), h("option", { value: "" }, "choose …"), gallery.examples.map(({ name, about }) => h("option", { value: name }, `${name}: ${about}`.slice(0, 90))));
    fillWishes();
    if (!packs.result) return fill(byId("problems"), diagnosticList(packs.diagnostics));
    shipped = packs.result.packs;
    if (!readHash()) loadProject(storedProject() ?? asProject({ ...emptyProject(), ...gallery.examples.find((one) => one.name === "hello")?.project }));
}

void start();
