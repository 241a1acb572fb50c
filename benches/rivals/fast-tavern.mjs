// The inputs of benches/lore_scan.rs, scanned by fast-tavern. Arguments: messages, entries. Prints milliseconds: on the clock, and of the processor.
// How to run it: README.md beside this file.

import { getActiveEntries } from "fast-tavern";
import { entry, five, text } from "./scenes.mjs";

const [messages, entries, runs] = process.argv.slice(2).map(Number);
if (!messages || !entries) {
    console.error("usage: node fast-tavern.mjs MESSAGES ENTRIES [RUNS]");
    process.exit(2);
}
const NAMED = 50;
const every = Math.max(Math.floor(messages / NAMED), 1);
const step = Math.floor(entries / NAMED);

const history = Array.from({ length: messages }, (_, i) => {
    const last = i % every === 0 ? `place${five((Math.floor(i / every) * step) % entries)}` : "nowhere";
    return `${i % 2 === 0 ? "Ann" : "Vex"}: ${text(i, last)}`;
});
const book = Array.from({ length: entries }, (_, n) => entry(n, `Lore number ${n}${n % step === 0 ? `, near place${five(n + 1)}` : ""}.`));

for (let run = 0; run < (runs || 3); run++) {
    const [start, used] = [performance.now(), process.cpuUsage()];
    // newest first, as the other engine reads the chat
    const active = getActiveEntries({ contextText: history.toReversed().join("\n"), globalEntries: book });
    const clock = performance.now() - start;
    const { user, system } = process.cpuUsage(used);
    console.log(
        `fast-tavern ${messages} x ${entries}: ${clock.toFixed(1)} ms, ${((user + system) / 1000).toFixed(1)} ms cpu, ${active.length} active`,
    );
}
