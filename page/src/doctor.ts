// The report of the doctor: a grade with its reasons, parts by tokens, what was found, and the certain repairs.

import { type Child, h, plural } from "./dom";
import type { Diagnostic } from "./engine";
import { diagnosticList } from "./views";

interface Part {
    kind: string;
    name: string;
    tokens: number;
    sent: "always" | "sometimes" | "never";
    why?: string;
    help?: string;
}

interface Finding {
    severity: string;
    code: string;
    message: string;
    help?: string;
    times?: number;
    dialects?: string[];
}

export interface DoctorReport {
    format: string;
    is: string;
    grade: { letter: string; points: number; reasons: { code: string; points: number; times: number; message: string }[] };
    tokens: { estimator: string; always: number; sometimes: number; never: number; prompt: number };
    parts: { list: Part[]; left_out: number };
    findings: Finding[];
    dialects: { own: string; warnings: Finding[] };
    brings: Record<string, unknown[]>;
    repairs: { changes: { was: string; is: string; times: number }[]; diff: string };
}

const BRINGS: Record<string, string> = { scripts: "scripts", extensions: "data of extensions", unread: "fields that no rule reads", dropped: "fields that are dropped" };

function findings(list: Finding[]): Child {
    return h("ul", { class: "diagnostics" }, list.map((one) => h("li", { class: one.severity },
        h("strong", {}, one.severity), " ", one.message, (one.times ?? 1) > 1 ? ` (${one.times} times)` : "", " ", h("code", {}, one.code),
        one.dialects ? h("p", {}, one.dialects.join(", ")) : null, one.help ? h("p", {}, one.help) : null)));
}

export function doctorView(report: DoctorReport, diagnostics: Diagnostic[]): Child {
    const { grade, tokens, parts, repairs } = report;
    const brought = Object.entries(report.brings).filter(([, list]) => Array.isArray(list) && list.length);
    const rows = [...parts.list].sort((a, b) => b.tokens - a.tokens).map((part) => h("tr", {}, h("td", {}, part.name || part.kind), h("td", { class: "number" }, part.tokens.toLocaleString("en")),
        h("td", {}, part.sent, part.why ? `: ${part.why}` : "", part.help ? h("p", { class: "legend" }, part.help) : null)));
    return [
        h("p", {}, h("span", { class: "grade", "aria-label": `Grade ${grade.letter}` }, grade.letter), ` ${grade.points} of 100 points, a ${report.is} (${report.format})`),
        grade.reasons.length ? h("ul", { class: "left" }, grade.reasons.map((reason) => h("li", {}, `−${reason.points}: ${reason.message}`, reason.times > 1 ? ` (${reason.times} times)` : ""))) : h("p", {}, "Nothing was found."),
        h("p", {}, `${plural(tokens.always, "token")} are always sent, ${tokens.sometimes.toLocaleString("en")} sometimes, ${tokens.never.toLocaleString("en")} never (${tokens.estimator}).`),
        report.findings.length ? [h("h3", {}, "Found"), findings(report.findings)] : null,
        report.dialects.warnings.length ? h("details", {}, h("summary", {}, "What providers would refuse or drop"), findings(report.dialects.warnings)) : null,
        brought.length ? h("details", {}, h("summary", {}, "What it brings besides texts"), brought.map(([name, list]) =>
            [h("h3", {}, BRINGS[name] ?? name), h("ul", { class: "left" }, list.slice(0, 50).map((one) => h("li", {}, typeof one === "string" ? one : JSON.stringify(one))))])) : null,
        repairs.changes.length ? h("details", {}, h("summary", {}, `Certain repairs: ${repairs.changes.map((change) => `${change.was} → ${change.is}`).join(", ").slice(0, 200)}`),
            h("pre", { tabindex: "0", "aria-label": "Repairs as a diff" }, repairs.diff.slice(0, 200_000))) : null,
        h("details", { open: true }, h("summary", {}, `Parts by tokens: ${parts.list.length + parts.left_out}`), h("table", {},
            h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "part"), h("th", { scope: "col", class: "number" }, "tokens"), h("th", { scope: "col" }, "sent"))), h("tbody", {}, rows))),
        diagnosticList(diagnostics),
    ];
}
