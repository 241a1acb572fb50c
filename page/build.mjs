// Bundles the page into `cli/page` (or the folder that is named, with the WebAssembly of a second one), with the examples and wishes of this repository as its gallery.
import { build } from "esbuild";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "smol-toml";

const here = import.meta.dirname;
const root = join(here, "..");
const dist = process.argv[2] ?? join(root, "cli/page");
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });

const common = { bundle: true, minify: true, format: "esm", target: "es2022", logLevel: "warning", legalComments: "none" };
await build({ ...common, entryPoints: { page: join(here, "src/main.ts"), worker: join(here, "src/worker.ts") }, outdir: dist });
await build({ ...common, entryPoints: [join(here, "src/page.css")], outfile: join(dist, "page.css") });
cpSync(join(here, "index.html"), join(dist, "index.html"));

const PARTS = { character: "character", chat: "chat", preset: "preset", lorebooks: "lorebooks" };
const firstLine = (text) => (text ?? "").trim().split("\n")[0];

/** An example as a project of the page; null: it needs what the page does not have. */
function example(folder) {
    const scene = parse(readFileSync(join(folder, "scene.toml"), "utf8"));
    const project = { files: [], overlays: [{ name: "mine.toml", text: 'kind = "overlay"\nversion = 1\nname = "mine"\n', on: true }] };
    for (const [key, value] of Object.entries(scene)) {
        if (key in PARTS) {
            for (const name of [value].flat()) {
                const path = join(folder, name);
                if (!existsSync(path) || !/\.(json|jsonl)$/.test(name)) return null;
                project.files.push({ part: PARTS[key], name: basename(name), text: readFileSync(path, "utf8") });
            }
        } else if (key === "overlays") {
            for (const name of [value].flat()) project.overlays.push({ name: basename(name), text: readFileSync(join(folder, name), "utf8"), on: true });
        } else if (key === "pack") {
            const pack = join(folder, value);
            project.pack = value;
            if (existsSync(join(pack, "pack.toml"))) {
                const files = readdirSync(pack, { recursive: true }).filter((name) => /\.(toml|json|rhai|liquid)$/.test(name) && !name.startsWith("cases/"));
                project.pack = parse(readFileSync(join(pack, "pack.toml"), "utf8")).name;
                project.files.push({ part: "pack", name: project.pack, files: Object.fromEntries(files.map((name) => [name, readFileSync(join(pack, name), "utf8")])) });
            }
        } else if (key === "scene") project.values = value;
        else if (key === "option") project.options = value;
        else if (["message", "persona", "now", "dialect"].includes(key)) project[key] = value;
        else if (key !== "about") return null;
    }
    return { name: basename(folder), about: firstLine(scene.about), project };
}

const folders = (path) => readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory() && existsSync(join(path, entry.name, "scene.toml"))).map((entry) => join(path, entry.name));
const examples = folders(join(root, "examples")).map(example).filter(Boolean);
examples.sort((a, b) => (b.name === "hello") - (a.name === "hello") || a.name.localeCompare(b.name));
const cache = join(root, "examples/cache-friendly/cache.toml");
const wish = (folder) => {
    const scene = parse(readFileSync(join(folder, "scene.toml"), "utf8"));
    const [name] = [scene.overlays ?? []].flat();
    return name ? { name: basename(folder), about: firstLine(scene.about), text: readFileSync(join(folder, name), "utf8") } : null;
};
const overlays = folders(join(root, "examples/wishes")).map(wish).filter(Boolean);
overlays.unshift({ name: "cache-friendly", about: "Keeps most of each request as the last one was.", text: readFileSync(cache, "utf8") });
// the engine for a page without a server, and the tables of tokens that it asks for
if (process.argv[3]) {
    cpSync(join(process.argv[3], "tapster.wasm.gz"), join(dist, "tapster.wasm.gz"));
    const tables = join(root, "crates/text/src/text/tables");
    for (const name of readdirSync(tables).filter((name) => name.endsWith(".tokens"))) cpSync(join(tables, name), join(dist, name));
}
writeFileSync(join(dist, "gallery.json"), JSON.stringify({ examples, overlays }));
