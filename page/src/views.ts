// What the page shows of one build: the prompt, the payload, the lore, the rules, the cache and the comparison.

import { type Child, fill, h, markRanges, plural } from "./dom";
import type { Diagnostic } from "./engine";

type Json = Record<string, unknown>;

export interface Block {
    index: number;
    id: string;
    slot?: string;
    role?: string;
    group?: string;
    tokens?: number;
    enabled: boolean;
    pass?: string;
    rule?: string;
    text: string;
}

export interface Lore {
    book: string;
    id: string;
    title: string;
    code: string;
    active: boolean;
    block: number | null;
    reasons: { code: string; pass: string; rule: string; detail: Json | null }[];
    searched: { keys: string[]; found: unknown[] } | null;
}

export interface Report {
    blocks: Block[];
    lore: Lore[];
    payload: unknown;
    trim_report: { budget_tokens: number; initial_tokens: number; final_tokens: number; records: Json[] };
    evicted: Json[];
    gone: Json[];
    lost: Json[];
    warnings: Diagnostic[];
}

/** A hue for a name: the same one in every build. */
export function hue(name: string): number {
    let sum = 7;
    for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 360;
    return sum;
}

const slotOf = (block: Block): string => block.slot || block.group || block.id;

function tint(element: HTMLElement, name: string): HTMLElement {
    element.style.setProperty("--hue", String(hue(name)));
    return element;
}

export function diagnosticList(diagnostics: Diagnostic[]): Child {
    if (!diagnostics.length) return null;
    return h("ul", { class: "diagnostics" }, diagnostics.slice(0, 50).map((d) =>
        h("li", { class: d.severity },
            h("strong", {}, d.severity), " ", d.message, " ", h("code", {}, d.code), d.place ? [" at ", h("code", {}, d.place)] : null,
            d.help ? h("p", {}, d.help) : null)));
}

export function tokenBar(host: HTMLElement, report: Report): void {
    const { blocks, trim_report: trim } = report;
    const sent = blocks.filter((block) => block.enabled);
    const evicted = Math.max(0, trim.initial_tokens - trim.final_tokens);
    const whole = Math.max(trim.budget_tokens, trim.initial_tokens, 1);
    const bar = h("div", { class: "bar", role: "img",
        "aria-label": `${trim.final_tokens} of ${trim.budget_tokens} tokens are used, ${evicted} were left out` });
    for (const block of sent) {
        const part = tint(h("span", { title: `${slotOf(block)}: ${block.tokens ?? 0} tokens` }), slotOf(block));
        part.style.width = `${(100 * (block.tokens ?? 0)) / whole}%`;
        bar.append(part);
    }
    if (evicted) {
        const part = h("span", { class: "evicted", title: `${evicted} tokens left out` });
        part.style.width = `${(100 * evicted) / whole}%`;
        bar.append(part);
    }
    fill(host, bar, h("p", { class: "legend" },
        `${plural(sent.length, "block")}, ${plural(trim.final_tokens, "token")} of ${trim.budget_tokens.toLocaleString("en")}`,
        evicted ? `; ${plural(evicted, "token")} left out` : "", "."));
}

export function promptView(host: HTMLElement, report: Report, ask: (about: Json, target: HTMLElement) => void): void {
    const rows = report.blocks.map((block) => {
        const more = h("div", { class: "more" });
        const why = h("button", { type: "button", class: "quiet", click: () => ask({ why: String(block.index) }, more) }, "Why is this here?");
        return tint(h("li", { class: block.enabled ? "block" : "block off" },
            h("div", { class: "head" },
                h("span", { class: "role" }, block.role ?? "system"), h("span", { class: "slot" }, slotOf(block)),
                h("span", { class: "count" }, plural(block.tokens ?? 0, "token")), why),
            h("pre", {}, block.text), more), slotOf(block));
    });
    const left = [...report.evicted, ...report.gone].slice(0, 200);
    fill(host, h("ol", { class: "blocks", "aria-label": "Blocks of the prompt" }, rows),
        left.length ? h("section", {}, h("h3", {}, `Left out: ${left.length}`), h("ul", { class: "left" }, left.map((item) => {
            const texts = [item.slot, item.id, item.reason, item.pass].filter((text) => typeof text === "string" && text);
            return h("li", {}, texts.join(" · "), item.text ? h("pre", {}, String(item.text).slice(0, 400)) : null);
        }))) : null);
}

/** Why an entry is on or off, in words. */
const CODES: Record<string, string> = {
    active: "in the prompt", key: "a key was found", constant: "always on", no_key: "no key was found", disabled: "switched off",
    budget: "the lore budget was used up", probability: "chance decided against it", group: "another entry of its group was taken",
    cooldown: "it is cooling down", delay: "the chat is too short for it", sticky: "it stays on from an earlier turn",
    secondary: "a secondary key decided", filter: "the character is not the one it is for", no_keys: "it has no keys, and is not constant",
};

export function loreView(host: HTMLElement, report: Report, history: string[], ask: (about: Json, target: HTMLElement) => void): void {
    if (!report.lore.length) return fill(host, h("p", {}, "No lorebook is here. Drop one, or a card that has one."));
    const rows = report.lore.map((entry) => {
        const more = h("div", { class: "more" });
        const found = entry.reasons.find((reason) => typeof reason.detail?.key === "string");
        const why = CODES[(found ?? entry.reasons.at(-1))?.code ?? entry.code] ?? entry.code;
        const rule = entry.reasons.at(-1)?.rule;
        return h("li", { class: entry.active ? "entry lit" : "entry" },
            h("div", { class: "head" },
                h("span", { class: "state" }, entry.active ? "on" : "off"), h("strong", {}, entry.title || entry.id),
                h("span", {}, found ? [`${why}: `, h("mark", {}, String(found.detail?.key))] : why),
                h("button", { type: "button", class: "quiet", click: () => ask(entry.active && entry.block !== null ? { why: String(entry.block) } : { why_not: entry.title || entry.id }, more) },
                    entry.active ? `Why is ${entry.title || entry.id} on?` : `Why is ${entry.title || entry.id} off?`)),
            h("p", { class: "legend" }, entry.searched?.keys.length ? `Keys: ${entry.searched.keys.join(", ")}. ` : "", `Book: ${entry.book}. `,
                rule ? ["Decided by ", h("code", {}, rule), "."] : null),
            more);
    });
    const finds = report.lore.flatMap((entry) => entry.reasons.filter((reason) => reason.detail?.source === "chat").map((reason) => reason.detail ?? {}));
    const chat = history.map((text, index) => {
        const keys = finds.filter((find) => find.index === index).map((find) => String(find.key));
        const ranges = keys.flatMap((key): [number, number][] => {
            const at = text.toLowerCase().indexOf(key.toLowerCase());
            return at < 0 ? [] : [[at, at + key.length]];
        });
        return ranges.length ? h("li", {}, markRanges(text, ranges.sort((a, b) => a[0] - b[0]))) : null;
    });
    const lit = report.lore.filter((entry) => entry.active).length;
    fill(host, h("p", {}, `${lit} of ${plural(report.lore.length, "entry").replace("entrys", "entries")} are in the prompt.`), h("ul", { class: "entries" }, rows),
        chat.some(Boolean) ? h("section", {}, h("h3", {}, "Where keys were found"), h("ul", { class: "chat" }, chat)) : null);
}

const ruleOf = (rule: Json): Child => [h("code", {}, String(rule.pass)), ", ", h("code", {}, String(rule.rule)), rule.about ? `: ${rule.about}` : ""];

/** The answer of `why`: where a block comes from; or of `why_not`: what stopped something, and which changes were tried. */
export function answerView(host: HTMLElement, answer: Json): void {
    const blocks = ((answer.blocks as Json[] | undefined) ?? []).slice(0, 10).map((block) => {
        const sources = ((block.sources as Json[] | undefined) ?? []).map((source) =>
            h("li", {}, h("code", {}, String(source.path)), " was decided by ", String(source.decided_by)));
        const steps = ((block.history as Json[] | undefined) ?? []).map((step) => h("li", {}, String(step.did), " by ", h("code", {}, String(step.pass)), " ", h("code", {}, String(step.rule))));
        return h("div", { class: "answer" }, block.placed ? h("p", {}, "Placed by ", ruleOf(block.placed as Json)) : null,
            sources.length ? h("ul", {}, sources) : null, steps.length ? h("details", {}, h("summary", {}, "What was done to it"), h("ul", {}, steps)) : null);
    });
    const answers = ((answer.answers as Json[] | undefined) ?? []).slice(0, 10).map((one) => {
        const remedies = (one.remedies as Json[] | undefined) ?? [];
        return h("div", { class: "answer" }, h("p", {}, `${one.name}: ${one.says}`),
            one.stopped_by ? h("p", {}, "Stopped by ", ruleOf(one.stopped_by as Json)) : null,
            remedies.length ? [h("p", {}, "It would be in the prompt if:"),
                h("ul", { class: "remedies" }, remedies.map((remedy) => h("li", {}, String(remedy.change), remedy.verified ? " (tried: it works)" : "")))] : null);
    });
    fill(host, blocks, answers, blocks.length + answers.length ? null : h("p", {}, "Nothing in the scene or the rules has that name or text."));
}

export function diffView(host: HTMLElement, diff: Json): void {
    const prompt = (diff.prompt ?? {}) as Json;
    const blocks = (prompt.blocks as Json[] | undefined) ?? [];
    const rules = ((diff.rules as Json | undefined)?.rows as Json[] | undefined) ?? [];
    const side = (name: string, block: Json | undefined): Child => block
        ? h("div", { class: name }, h("p", { class: "head" }, name === "was" ? "before: " : "after: ", `${block.index}. ${block.slot ?? block.id} (${block.role}, ${block.tokens} tokens)`), h("pre", {}, String(block.text ?? "")))
        : null;
    const [tokens, after] = (prompt.tokens as number[] | undefined) ?? [];
    fill(host,
        h("p", {}, diff.differs ? `${blocks.length ? plural(blocks.length, "block") : "No block"} of the prompt and ${plural(rules.length, "rule")} differ.` : "There is no difference.",
            tokens !== undefined ? ` ${tokens} tokens before, ${after} after.` : ""),
        blocks.map((block) => h("section", { class: "difference" },
            h("h3", {}, `${block.what}${block.moved ? ", moved" : ""}: ${((block.is ?? block.was) as Json)?.slot ?? ((block.is ?? block.was) as Json)?.id}`),
            side("was", block.was as Json | undefined), side("is", block.is as Json | undefined),
            ((block.rules as Json[] | undefined) ?? []).map((rule) => h("p", { class: "legend" }, "because of ", h("code", {}, String(rule.rule)), " at ", h("code", {}, String(rule.place)))))),
        rules.length ? h("details", {}, h("summary", {}, "Rules that differ"), h("ul", {}, rules.map((row) =>
            h("li", {}, `${row.what} ${row.table} `, h("code", {}, String(row.name)),
                ((row.fields as Json[] | undefined) ?? []).map((field) => [` ${field.path}: ${JSON.stringify(field.was)} → ${JSON.stringify(field.is)}`]))))) : null);
}

export interface CacheTurn {
    turn: number;
    kept: number;
    total: number;
    breaker: Json | null;
}

export function cacheView(host: HTMLElement, turns: CacheTurn[], caching: string): void {
    if (!turns.length) return fill(host, h("p", {}, "The cache is asked of a chat with at least two messages of the user, one a line (SillyTavern's .jsonl)."));
    const kept = turns.reduce((sum, turn) => sum + turn.kept, 0);
    const total = turns.reduce((sum, turn) => sum + turn.total, 0);
    const rules = new Map<string, number>();
    for (const { breaker } of turns) {
        const rule = breaker ? String(breaker.from_rule ?? breaker.rule ?? breaker.pass) : "";
        if (rule) rules.set(rule, (rules.get(rule) ?? 0) + 1);
    }
    const row = (turn: CacheTurn): Child => {
        const share = Math.round((100 * turn.kept) / Math.max(turn.total, 1));
        const part = h("span", {});
        part.style.width = `${share}%`;
        return h("li", {}, h("span", { class: "turn" }, `Turn ${turn.turn}`), h("div", { class: "ribbon", role: "img", "aria-label": `${share} % of turn ${turn.turn} is the unchanged beginning` }, part),
            h("span", { class: "count" }, `${share} %`),
            turn.breaker ? h("span", { class: "legend" }, `broken at block ${turn.breaker.index} (${turn.breaker.id}) by `, h("code", {}, String(turn.breaker.from_rule ?? turn.breaker.rule ?? turn.breaker.pass))) : null);
    };
    fill(host,
        h("p", { class: "sum" }, h("strong", {}, `${Math.round((100 * kept) / Math.max(total, 1))} %`), " of all tokens are an unchanged beginning, which a provider can serve from its cache. ", caching ? `Caching here: ${caching}.` : ""),
        h("ol", { class: "turns" }, turns.map(row)),
        rules.size ? h("section", {}, h("h3", {}, "Rules that broke it"), h("ul", {}, [...rules].sort((a, b) => b[1] - a[1]).map(([rule, times]) => h("li", {}, h("code", {}, rule), `: ${plural(times, "time")}`)))) : null);
}

export interface Option {
    name: string;
    type: string;
    title?: string;
    help?: string;
    value: unknown;
    default?: unknown;
    choices?: (string | { value: string; title?: string; help?: string })[];
    min?: number;
    max?: number;
    whole?: boolean;
}

/** A pack's options as a form. */
export function optionsForm(host: HTMLElement, options: Option[], set: (name: string, value: unknown) => void): void {
    if (!options.length) return fill(host, h("p", {}, "This pack offers no options."));
    fill(host, options.map((option) => {
        const id = `option-${option.name}`;
        let field: HTMLElement;
        if (option.type === "bool") {
            field = h("input", { id, type: "checkbox", change: (event: Event) => set(option.name, (event.target as HTMLInputElement).checked) });
            (field as HTMLInputElement).checked = option.value === true;
        } else if (option.type === "enum") {
            const choices = (option.choices ?? []).map((choice) => (typeof choice === "string" ? { value: choice, title: choice } : choice));
            field = h("select", { id, change: (event: Event) => set(option.name, (event.target as HTMLSelectElement).value) },
                choices.map((choice) => h("option", { value: choice.value }, choice.title ?? choice.value)));
            (field as HTMLSelectElement).value = String(option.value);
        } else {
            const isNumber = option.type === "number";
            field = h("input", { id, type: isNumber ? "number" : "text", value: option.value ?? "", min: isNumber ? option.min : null, max: isNumber ? option.max : null,
                step: isNumber ? (option.whole ? 1 : "any") : null,
                change: (event: Event) => {
                    const { value } = event.target as HTMLInputElement;
                    set(option.name, isNumber ? Number(value) : value);
                } });
        }
        return h("div", { class: "option" }, h("label", { for: id }, option.title ?? option.name), field, option.help ? h("p", { class: "legend" }, option.help) : null);
    }));
}
