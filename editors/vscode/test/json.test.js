// The JSON service of VS Code accepts the shipped rule files by the schemas in `editors/`, and finds a planted mistake.
const assert = require("node:assert/strict");
const { test } = require("node:test");
const fs = require("node:fs");
const path = require("node:path");
const { parse } = require("smol-toml");
const { getLanguageService, TextDocument } = require("vscode-json-languageservice");

const root = path.join(__dirname, "../../..");

/** The shipped rule files, by the name of their schema. */
function ruleFiles() {
    const all = new Map();
    for (const name of fs.readdirSync(path.join(root, "rules"), { recursive: true })) {
        if (!name.endsWith(".toml")) continue;
        const rules = parse(fs.readFileSync(path.join(root, "rules", name), "utf8"));
        const schema = `${rules.kind}.v${rules.version}.json`;
        if (rules.kind) all.set(schema, [...(all.get(schema) ?? []), { name, rules }]);
    }
    return all;
}

test("shipped rules have no mistakes", async () => {
    const all = ruleFiles();
    assert.ok(all.size > 20);
    for (const [file, rules] of all) {
        const schema = JSON.parse(fs.readFileSync(path.join(root, "editors", file), "utf8"));
        // each schema is one file that needs no other
        const service = getLanguageService({ schemaRequestService: (uri) => Promise.reject(`asks for ${uri}`) });
        service.configure({ validate: true, schemas: [{ uri: `file:///${file}`, fileMatch: ["*"], schema }] });
        const mistakes = async (value) => {
            const document = TextDocument.create("file:///rules.json", "json", 1, JSON.stringify(value));
            return (await service.doValidation(document, service.parseJSONDocument(document))).map((one) => one.message);
        };
        for (const { name, rules: value } of rules) assert.deepEqual(await mistakes(value), [], name);
        assert.equal((await mistakes({ ...rules[0].rules, no_such_key: 1 })).length, 1, file);
        // a pack may declare tables of its own: only `tapster check` knows which there are
        const hasRows = !/^(pack|case|template)\./.test(file);
        assert.equal((await mistakes({ ...rules[0].rules, no_such_table: [{ name: "x" }] })).length, hasRows ? 0 : 1, file);
    }
});
