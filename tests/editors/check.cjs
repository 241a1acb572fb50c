// Checks documents with the JSON service of VS Code: `node check.cjs PACKAGES SCHEMAS DOCUMENTS`. DOCUMENTS has a folder for
// each schema. Prints one line for each mistake, and fails if a schema asks for another file.
const fs = require("node:fs");
const path = require("node:path");
const { createRequire } = require("node:module");

const [packages, schemas, documents] = process.argv.slice(2);
const { getLanguageService, TextDocument } = createRequire(path.join(path.resolve(packages), "x.js"))("vscode-json-languageservice");

async function main() {
  for (const name of fs.readdirSync(documents).sort()) {
    const schema = JSON.parse(fs.readFileSync(path.join(schemas, name), "utf8"));
    const service = getLanguageService({ schemaRequestService: (uri) => Promise.reject(`asks for ${uri}`) });
    service.configure({ validate: true, schemas: [{ uri: `file:///${name}`, fileMatch: ["*"], schema }] });
    for (const file of fs.readdirSync(path.join(documents, name)).sort()) {
      const text = fs.readFileSync(path.join(documents, name, file), "utf8");
      const document = TextDocument.create(`file:///${file}`, "json", 1, text);
      const mistakes = await service.doValidation(document, service.parseJSONDocument(document));
      for (const mistake of mistakes) console.log(`${name} ${file}: ${mistake.message}`);
    }
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(2);
});
