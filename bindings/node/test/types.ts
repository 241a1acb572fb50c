// What must be, and what must not be, by the types alone.
import { TapsterError, call, open, type Answer, type Prompt } from "@tapster/engine";

const rules = open({ pack: "base", overlays: ["brief.toml", { name: "a.toml", text: "" }], folders: ["packs"] });
const prompt: Prompt = rules.build({ message: "Hello.", character: "fox.png", lorebooks: [{ name: "a.json", json: [] }] }, { plan: true });
const answer: Answer = call({ call: "explain", rules: "base", about: { why: "main" } });
rules.explain({}, { rules: "" });
console.log(prompt.payload, answer.diagnostics[0]?.code, new TapsterError([]).diagnostics);
// @ts-expect-error
rules.build({ mesage: "Hello." });
// @ts-expect-error
call({ call: "biuld" });
