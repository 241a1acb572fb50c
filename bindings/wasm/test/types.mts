// What must be, and what must not be, by the types alone.
import { TapsterFault, compile, open } from "../tapster.mjs";

const door = await open({ wasm: await compile("tapster.wasm"), tables: [new URL("cl100k.tokens", "https://example.org/")], clock: () => "" });
const diagnostics: { code: string }[] = door.call({ call: "build", rules: "base", scene: { message: "Hello." } }).diagnostics;
console.log(diagnostics, door.callText("{}").length, new TapsterFault("").message);
door.close();
// @ts-expect-error
door.call({ call: "biuld" });
// @ts-expect-error
await open({ clock: 1 });
