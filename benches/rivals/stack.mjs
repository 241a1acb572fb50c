// The text of benches/stack_expand.rs, expanded in JavaScript in the way that the specification describes: one walk over the
// characters with a stack of texts, and one function for each macro. Written for this bench, so it does less than an
// application does around it. Reads `{ text, names, variables, runs }` from its input; prints `{ text, microseconds }`.

import { readFileSync } from "node:fs";

const { text, names, variables, runs } = JSON.parse(readFileSync(0, "utf8"));

const list = (text) => {
    try {
        const parsed = JSON.parse(text);
        return Array.isArray(parsed) ? parsed.map((e) => (typeof e === "string" ? e : JSON.stringify(e))) : text.split("§");
    } catch {
        return text.split("§");
    }
};
const truth = (yes) => (yes ? "1" : "0");
const macros = new Map([
    ["user", () => names.user],
    ["char", () => names.char],
    ["getvar", (args) => variables[args[0]] ?? "null"],
    ["upper", (args) => args[0].toLocaleUpperCase()],
    ["equal", (args) => truth(args[0] === args[1])],
    ["greater", (args) => truth(Number(args[0]) > Number(args[1]))],
    ["sum", (args) => (args.length > 1 ? args : list(args[0])).reduce((sum, n) => sum + (Number(n) || 0), 0).toString()],
    ["arraylength", (args) => list(args[0]).length.toString()],
    ["replace", (args) => args[0].replaceAll(args[1], args[2])],
    ["br", () => "\n"],
]);

function call(tag) {
    try {
        const colon = tag.indexOf(":");
        const parts = tag[colon + 1] === ":" ? tag.split("::") : tag.split(":");
        const macro = macros.get(parts[0].toLocaleLowerCase().replace(/[\s_-]/g, ""));
        return macro ? macro(parts.slice(1)) : null;
    } catch {
        return null;
    }
}

function expand(text) {
    text = text.replace(/<(user|char|bot)>/gi, "{{$1}}");
    const stack = [""];
    for (let at = 0; at < text.length; at++) {
        const c = text[at];
        if (c === "{" && text[at + 1] === "{") {
            stack.unshift("");
            at++;
        } else if (c === "}" && text[at + 1] === "}" && stack.length > 1) {
            const tag = stack.shift();
            stack[0] += call(tag) ?? `{{${tag}}}`;
            at++;
        } else {
            stack[0] += c;
        }
    }
    while (stack.length > 1) {
        const open = stack.shift();
        stack[0] += `{{${open}`;
    }
    return stack[0];
}

for (let warm = 0; warm < 2000; warm++) expand(text);
let best = Infinity;
for (let run = 0; run < runs; run++) {
    const start = performance.now();
    for (let n = 0; n < 20; n++) expand(text);
    best = Math.min(best, (performance.now() - start) / 20);
}
console.log(JSON.stringify({ text: expand(text), microseconds: best * 1000 }));
