// The report of the doctor.

import { type Child, h } from "./dom";
import type { Diagnostic } from "./engine";
import { diagnosticList } from "./views";

export function doctorView(report: Record<string, unknown>, diagnostics: Diagnostic[]): Child {
    return [h("pre", {}, JSON.stringify(report, null, 2)), diagnosticList(diagnostics)];
}
