// The inputs of benches/lore_scan.rs, scanned by fast-tavern. Arguments: messages, entries. Prints milliseconds: on the clock, and of the processor.
// How to run it: README.md beside this file.

import { getActiveEntries } from "fast-tavern";

const [messages, entries, runs] = process.argv.slice(2).map(Number);
if (!messages || !entries) {
    console.error("usage: node fast-tavern.mjs MESSAGES ENTRIES [RUNS]");
    process.exit(2);
}
const NAMED = 50;
const WORDS = ["river", "lantern", "because", "quietly", "seven", "the", "harbour", "answered", "and", "dragon", "of", "morning"];
const every = Math.max(Math.floor(messages / NAMED), 1);
const step = Math.floor(entries / NAMED);

// five digits: that engine finds keys inside words too
const five = (n) => String(n).padStart(5, "0");

function message(i) {
    const text = Array.from({ length: 40 }, (_, k) => WORDS[(i * 7 + k * ((i % 5) + 1)) % WORDS.length]);
    text.push(i % every === 0 ? `place${five((Math.floor(i / every) * step) % entries)}` : "nowhere");
    return `${i % 2 === 0 ? "Ann" : "Vex"}: ${text.join(" ")}`;
}

const history = Array.from({ length: messages }, (_, i) => message(i));
const book = Array.from({ length: entries }, (_, n) => ({
    index: n,
    name: `e${n}`,
    content: n % step === 0 ? `Lore number ${n}, near place${five(n + 1)}.` : `Lore number ${n}.`,
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
}));

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
