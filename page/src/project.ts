// What the user works on: files, rules, and settings. It is kept in the browser, and can be shared as the address of the page.

import { deflateSync, Inflate, strFromU8, strToU8, unzipSync, zipSync } from "fflate";

/** The part of a scene that a file is. */
export type Part = "character" | "chat" | "preset" | "lorebooks" | "persona" | "pack";
export const PARTS: Record<Part, string> = {
    character: "character", chat: "chat", preset: "preset", lorebooks: "lorebook", persona: "persona", pack: "rule pack",
};

export interface ProjectFile {
    part: Part;
    name: string;
    text?: string;
    base64?: string;
    /** Texts of a pack, by path. */
    files?: Record<string, string>;
}

export interface Project {
    pack: string;
    dialect: string;
    message: string;
    persona: string;
    window: number;
    overlays: { name: string; text: string; on: boolean }[];
    files: ProjectFile[];
    options: Record<string, unknown>;
    /** Values of the scene by path. */
    values: Record<string, unknown>;
    now: string;
    /** The turn that is shown: how many messages of the chat come before it; null: all. */
    turn: number | null;
}

export const EMPTY_OVERLAY = 'kind = "overlay"\nversion = 2\nname = "mine"\n';
/** Bytes of a shared project, unpacked. */
const LARGEST_SHARED = 8 << 20;
const STORED = "tapster-project";
const OWN = "tapster-own-project";

export function emptyProject(): Project {
    return {
        pack: "sillytavern-exact", dialect: "", message: "", persona: "", window: 0, files: [], options: {}, values: {}, turn: null,
        overlays: [{ name: "mine.toml", text: EMPTY_OVERLAY, on: true }], now: "2026-01-31T20:15:00Z",
    };
}

type Json = Record<string, unknown>;

/** What `open` of the door takes. */
export function rulesOf(project: Project, overlays = project.overlays): Json {
    const packs = project.files.filter((file) => file.part === "pack").map(({ name, files }) => ({ name, files }));
    const texts = overlays.filter((overlay) => overlay.on && overlay.text.trim() !== EMPTY_OVERLAY.trim());
    return { pack: project.pack, ...(packs.length ? { packs } : {}), overlays: texts.map(({ name, text }) => ({ name, text })) };
}

/** A file as the door takes it. */
export const contentOf = ({ name, text, base64 }: ProjectFile): Json => (base64 === undefined ? { name, text } : { name, base64 });

/** The project of a scene that was downloaded; null: the text is none. */
export function projectOf(text: string): Project | null {
    try {
        const { project } = JSON.parse(text) as { project?: Json };
        return project && typeof project.pack === "string" ? asProject(project) : null;
    } catch {
        return null;
    }
}

/** The lines of a chat up to its first so many messages; null: it is no chat of lines. */
function firstLines(file: ProjectFile, chat: ReadChat, messages: number): string | null {
    const isTable = (line: string): boolean => {
        try {
            return typeof JSON.parse(line) === "object";
        } catch {
            return false;
        }
    };
    // the engine skips damaged lines, too
    const lines = file.text?.split("\n").filter(isTable) ?? [];
    const head = lines.length - chat.messages.length;
    return lines.length > 1 && head >= 0 ? lines.slice(0, head + messages).join("\n") : null;
}

/** A chat as the engine reads it: what it gives to a scene, and its messages. */
export interface ReadChat {
    values: Json;
    messages: { role: string; text: string }[];
}

/** The scene of the newest turn, or of the one after so many messages of the chat. */
export function sceneOf(project: Project, chat: ReadChat | null, turn = project.turn): Json {
    const scene: Json = { now: project.now };
    for (const file of project.files) {
        if (file.part === "pack") continue;
        if (file.part === "lorebooks" || file.part === "preset") scene[file.part] = [...((scene[file.part] as Json[]) ?? []), contentOf(file)];
        else scene[file.part === "persona" ? "persona_file" : file.part] = contentOf(file);
    }
    let message = project.message;
    let values = project.values;
    if (chat && turn !== null && turn < chat.messages.length) {
        message = chat.messages[turn]?.text ?? "";
        const file = project.files.find((one) => one.part === "chat");
        const text = file ? firstLines(file, chat, turn) : null;
        if (file && text !== null) {
            scene.chat = { name: file.name, text };
        } else {
            // what the chat says of itself besides its messages is that of the whole
            delete scene.chat;
            values = { ...chat.values, ...values, history: chat.messages.slice(0, turn) };
        }
    }
    if (message) scene.message = message;
    if (project.persona) scene.persona = project.persona;
    if (project.dialect) scene.dialect = project.dialect;
    if (Object.keys(project.options).length) scene.option = project.options;
    scene.scene = project.window ? { ...values, context: { ...(values.context as Json), window: project.window } } : values;
    return scene;
}

const bytesToText = (bytes: Uint8Array): string => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text);
};

/** The address part of a project; null: it is too large for one. */
export function encodeProject(project: Project): string | null {
    const bytes = strToU8(JSON.stringify(project));
    if (bytes.length > LARGEST_SHARED) return null;
    const packed = bytesToText(deflateSync(bytes, { level: 9 }));
    return packed.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads what `encodeProject` wrote; a text says what is wrong with it. */
export function decodeProject(hash: string): Project | string {
    if (hash.length > LARGEST_SHARED) return `the address has ${hash.length.toLocaleString("en")} characters, and no project is as large`;
    try {
        const packed = Uint8Array.from(atob(hash.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
        return asProject(JSON.parse(strFromU8(inflate(packed))));
    } catch {
        return "the address does not hold a whole project; was it cut when it was copied?";
    }
}

/** Unpacks piece by piece, and stops where no project is as large. */
function inflate(packed: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = [];
    let total = 0;
    const stream = new Inflate((part) => {
        total += part.length;
        if (total > LARGEST_SHARED) throw new RangeError("too large");
        parts.push(part);
    });
    for (let at = 0; at < packed.length; at += 4096) stream.push(packed.subarray(at, at + 4096), at + 4096 >= packed.length);
    const bytes = new Uint8Array(total);
    let at = 0;
    for (const part of parts) {
        bytes.set(part, at);
        at += part.length;
    }
    return bytes;
}

/** Takes from JSON what a project has; all else is its default. */
export function asProject(json: unknown): Project {
    const project = emptyProject();
    const from = (json ?? {}) as Json;
    for (const key of Object.keys(project) as (keyof Project)[]) {
        const [is, was] = [from[key], project[key]];
        if (was === null || (is !== null && typeof is === typeof was && Array.isArray(is) === Array.isArray(was))) {
            (project as unknown as Json)[key] = is;
        }
    }
    if (typeof project.turn !== "number") project.turn = null;
    const isFile = (file: ProjectFile): boolean => typeof file?.name === "string" && Object.hasOwn(PARTS, file.part) &&
        (file.part === "pack" ? Object.values(file.files ?? [null]).every((text) => typeof text === "string") : typeof (file.text ?? file.base64) === "string");
    project.files = project.files.filter(isFile);
    project.overlays = project.overlays.filter((overlay) => typeof overlay?.text === "string" && typeof overlay.name === "string");
    for (const overlay of project.overlays) overlay.on = overlay.on !== false;
    if (!project.overlays.length) project.overlays = emptyProject().overlays;
    return project;
}

/** Keeps the project for this tab, and for the next visit. Storage may be full or denied: then the page works without. */
export function storeProject(project: Project): boolean {
    try {
        const text = JSON.stringify(project);
        sessionStorage.setItem(STORED, text);
        localStorage.setItem(STORED, text);
        return true;
    } catch {
        try {
            // an older project must not come back in the place of this one
            sessionStorage.removeItem(STORED);
            localStorage.removeItem(STORED);
        } catch {
            // denied altogether
        }
        return false;
    }
}

/** The user's own project, while that of another one is open. */
export function ownProject(): Project | null {
    return storedProject(OWN);
}

/** Keeps the user's own project while that of another one is open; null: it is open again. */
export function storeOwnProject(project: Project | null): void {
    try {
        if (project) localStorage.setItem(OWN, JSON.stringify(project));
        else localStorage.removeItem(OWN);
    } catch {
        // it is kept as long as the page is open
    }
}

export function storedProject(key = STORED): Project | null {
    try {
        const text = sessionStorage.getItem(key) ?? localStorage.getItem(key);
        return text === null ? null : asProject(JSON.parse(text));
    } catch {
        return null;
    }
}

/** Bytes of a file that is dropped. */
const LARGEST_FILE = 64 << 20;
const LARGEST_PACK = 16 << 20;

/** Reads a dropped file. A text says what is wrong with it. */
export async function readFile(file: File): Promise<Omit<ProjectFile, "part"> | string> {
    if (file.size > LARGEST_FILE) return `${file.name} has ${Math.round(file.size / (1 << 20))} MB; 64 MB is the most`;
    const buffer = await file.arrayBuffer().catch(() => null);
    if (!buffer) return `${file.name} cannot be read; is it a folder?`;
    const bytes = new Uint8Array(buffer);
    const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
    if (isZip) {
        const files = packFiles(bytes);
        if (typeof files === "string") return `${file.name}: ${files}`;
        if (files) return { name: packName(files) ?? file.name.replace(/\.[^.]*$/, ""), files };
    }
    try {
        return { name: file.name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
    } catch {
        return { name: file.name, base64: bytesToText(bytes) };
    }
}

/** A rule pack as an archive that can be dropped again, or unpacked for the command line. */
export function archivePack(file: ProjectFile): Uint8Array<ArrayBuffer> {
    const entries = Object.entries(file.files ?? {}).map(([path, text]) => [`${file.name}/${path}`, strToU8(text)]);
    return new Uint8Array(zipSync(Object.fromEntries(entries) as Record<string, Uint8Array>));
}

/** The rule files of an archive that holds a `pack.toml`; null: it is another archive. */
function packFiles(bytes: Uint8Array): Record<string, string> | string | null {
    let total = 0;
    try {
        const entries = unzipSync(bytes, {
            filter: ({ name, originalSize }) => {
                if (!/\.(toml|json|rhai|liquid|hbs|txt|md)$/.test(name)) return false;
                total += originalSize;
                if (total > LARGEST_PACK) throw new RangeError("unpacked it has more than 16 MB");
                return true;
            },
        });
        const manifest = Object.keys(entries).find((name) => /(^|\/)pack\.toml$/.test(name));
        if (manifest === undefined) return null;
        const root = manifest.slice(0, -"pack.toml".length);
        const inside = Object.entries(entries).filter(([name]) => name.startsWith(root));
        return Object.fromEntries(inside.map(([name, data]) => [name.slice(root.length), strFromU8(data)]));
    } catch (error) {
        return error instanceof RangeError ? error.message : "the archive is damaged";
    }
}

const packName = (files: Record<string, string>): string | null => /^name\s*=\s*"([^"]+)"/m.exec(files["pack.toml"] ?? "")?.[1] ?? null;
