// Writes door.d.ts from schemas/door.v1.json; with --check, says whether it is old.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

// found where this is run, so that the checkout has no node_modules
const { compile } = createRequire(`${process.cwd()}/`)("json-schema-to-typescript");
const [schema, target] = ["../../schemas/door.v1.json", "door.d.ts"].map((path) => new URL(path, import.meta.url).pathname);
// what stands beside a reference would make a type of its own of it, and a value of any type an object
const plain = JSON.parse(readFileSync(schema, "utf8"), (_, value) => {
  if (typeof value?.$ref === "string") return { $ref: value.$ref };
  const isAny = typeof value?.description === "string" && Object.keys(value).every((key) => ["description", "default"].includes(key));
  return isAny ? { ...value, tsType: "unknown" } : value;
});
const bannerComment = "// Requests of docs/reference/door.md, from schemas/door.v1.json: bindings/node/test/run.sh";
const types = await compile({ ...plain, title: "Request" }, "Request", { bannerComment, additionalProperties: false });
if (!process.argv.includes("--check")) {
  writeFileSync(target, types);
} else if (readFileSync(target, "utf8") !== types) {
  console.error("bindings/node/door.d.ts is old: UPDATE=1 bindings/node/test/run.sh writes it");
  process.exit(1);
}
