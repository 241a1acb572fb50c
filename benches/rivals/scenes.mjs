// What the scripts here share: texts, entries, and the scenes of benches/serve.rs as fast-tavern builds them.

import { buildPrompt, History } from "fast-tavern";

const WORDS = ["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];

// five digits: that engine finds keys inside words too
export const five = (n) => String(n).padStart(5, "0");

/** A message of 41 words, the last of which is given. */
export const text = (n, last) => [...Array.from({ length: 40 }, (_, k) => WORDS[(n * 7 + k * ((n % 5) + 1)) % WORDS.length]), last].join(" ");

/** A lorebook entry as fast-tavern reads it. */
export const entry = (n, content) => ({
    index: n,
    name: `e${n}`,
    content,
    enabled: true,
    activationMode: "keyword",
    key: [`place${five(n)}`, `realm of ${five(n)} lanterns`],
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
});

/** The chat of benches/serve.rs. */
export const chat = (messages, entries) =>
    Array.from({ length: messages }, (_, n) => ({
        role: n % 2 === 0 ? "user" : "assistant",
        content: text(n, n % 5 === 0 ? `place${five((n * 13) % entries)}` : "nowhere"),
    }));

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

/** What builds the prompt of a chat: the lorebook and the preset are read once. */
export function builder(entries) {
    const lorebook = { name: "bench", entries: Array.from({ length: entries }, (_, n) => entry(n, `Lore number ${n}.`)) };
    return (history) =>
        buildPrompt({
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
        }).stages.output.afterPostRegex;
}
