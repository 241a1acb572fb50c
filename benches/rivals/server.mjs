// The scenes of benches/serve.rs, built by fast-tavern behind Node's own HTTP server. Argument: entries. Prints its
// port. The lorebook and the preset are read once; each request brings the chat. How to run it: README.md beside this file.

import { createServer } from "node:http";
import { buildPrompt, History } from "fast-tavern";

const [entries] = process.argv.slice(2).map(Number);
const block = (name, content) => ({ identifier: name, name, enabled: true, role: "system", position: "relative", content, depth: 0, order: 0, trigger: [] });
const preset = {
    name: "bench",
    regexScripts: [],
    apiSetting: {},
    prompts: [
        block("main", "Write {{char}}'s next reply."),
        block("charBefore", ""),
        block("description", "{{char}} is a thief of the harbour."),
        block("chatHistory", ""),
        block("jailbreak", "Stay in character."),
    ],
};
const character = {
    name: "Vex",
    description: "",
    avatar: "",
    message: [],
    worldBook: null,
    regexScripts: [],
    other: {},
    chatDate: "",
    createDate: "",
};
const lorebook = {
    name: "bench",
    entries: Array.from({ length: entries }, (_, n) => ({
        index: n,
        name: `e${n}`,
        content: `Lore number ${n}.`,
        enabled: true,
        activationMode: "keyword",
        key: [`place${String(n).padStart(5, "0")}`, `realm of ${String(n).padStart(5, "0")} lanterns`],
        secondaryKey: [],
        selectiveLogic: "andAny",
        order: n % 100,
        depth: 4,
        position: "beforeChar",
        role: null,
        caseSensitive: false,
        excludeRecursion: false,
        preventRecursion: false,
        probability: 100,
        other: {},
    })),
};

const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
        const history = JSON.parse(Buffer.concat(chunks).toString("utf8"));
        const built = buildPrompt({
            preset,
            character,
            globals: { worldBooks: [lorebook], regexScripts: [] },
            history: History.openai(history),
            view: "model",
            macros: { user: "Ann", char: "Vex" },
            variables: {},
            // every message is searched
            options: { recentHistoryForWorldbook: history.length },
            outputFormat: "openai",
            systemRolePolicy: "keep",
        });
        const body = JSON.stringify(built.stages.output.afterPostRegex);
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
        response.end(body);
    });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
