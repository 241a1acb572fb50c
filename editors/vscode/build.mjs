// Bundles the extension, and copies the files of the repository that go into the package.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname;
const root = join(here, "../..");
await build({
    entryPoints: [join(here, "src/extension.js")],
    outfile: join(here, "dist/extension.js"),
    bundle: true,
    minify: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    logLevel: "warning",
});
const schemas = join(here, "schemas");
rmSync(schemas, { recursive: true, force: true });
mkdirSync(schemas);
copyFileSync(join(root, "crates/exchange/schemas/lock.v1.json"), join(schemas, "lock.v1.json"));
copyFileSync(join(root, "editors/template.v1.json"), join(schemas, "template.v1.json"));
copyFileSync(join(root, "LICENSE"), join(here, "LICENSE"));
