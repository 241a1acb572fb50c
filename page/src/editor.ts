// The editor of rule files: TOML with diagnostics in place, and completion from the JSON Schema of the kind.

import { type Completion, type CompletionContext, type CompletionResult, autocompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic as Mark, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic } from "./engine";
import { h } from "./dom";

// deno-lint-ignore no-explicit-any
type Schema = Record<string, any>;

const colours = HighlightStyle.define([
    { tag: tags.comment, color: "var(--faint)" },
    { tag: tags.string, color: "var(--string)" },
    { tag: [tags.atom, tags.number, tags.bool], color: "var(--number)" },
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
]);

export class RuleEditor {
    readonly view: EditorView;
    private schema: Schema = {};
    /** Names of rows by table, for values of `name`. */
    private names: Record<string, string[]> = {};

    constructor(host: HTMLElement, label: string, text: string, change: (text: string) => void) {
        // a shadow root takes the editor's styles without inline style elements, which the page's policy forbids
        const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
        const inside = h("div");
        root.replaceChildren(inside);
        this.view = new EditorView({
            parent: inside,
            root,
            state: EditorState.create({
                doc: text,
                extensions: [
                    lineNumbers(), history(), lintGutter(), StreamLanguage.define(toml), syntaxHighlighting(colours),
                    // Tab leaves the editor, so that the keyboard is never caught in it
                    keymap.of([...defaultKeymap, ...historyKeymap]),
                    autocompletion({ override: [(context) => this.complete(context)] }),
                    EditorView.lineWrapping,
                    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
                    EditorView.updateListener.of((update) => update.docChanged && change(this.text)),
                    EditorView.theme({
                        "&": { fontSize: "13px", backgroundColor: "var(--field)", color: "var(--ink)" },
                        ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)", minHeight: "9em" },
                        ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--faint)", border: "none" },
                        "&.cm-focused": { outline: "2px solid var(--accent)" },
                        ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)", maxWidth: "36em" },
                        ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
                        ".cm-cursor": { borderLeftColor: "var(--ink)" },
                    }),
                ],
            }),
        });
    }

    get text(): string {
        return this.view.state.doc.toString();
    }

    set text(text: string) {
        if (text !== this.text) this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    }

    /** What completion offers: keys by the schema, rows by table. */
    offer(schema: Schema, names: Record<string, string[]>): void {
        this.schema = schema;
        this.names = names;
    }

    /** Shows the diagnostics of one file in it. */
    show(diagnostics: Diagnostic[], file: string): void {
        const { doc } = this.view.state;
        const at = (line = 1, column = 1): number => {
            const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
            return Math.min(from + Math.max(column - 1, 0), to);
        };
        const marks = diagnostics.filter((d) => d.file === file).map((d): Mark => {
            const from = at(d.line, d.column);
            return {
                from, to: Math.max(from, at(d.end_line ?? d.line, d.end_column ?? d.column)), severity: d.severity,
                message: d.help ? `${d.message}\n${d.help}` : d.message, source: d.code,
            };
        });
        this.view.dispatch(setDiagnostics(this.view.state, marks));
    }

    private complete(context: CompletionContext): CompletionResult | null {
        const line = context.state.doc.lineAt(context.pos);
        const before = line.text.slice(0, context.pos - line.from);
        const table = this.tableAbove(line.number);
        const value = /^\s*([\w-]+)\s*=\s*"([^"]*)$/.exec(before);
        if (value) {
            const options = value[1] === "name" ? (this.names[table] ?? []) : enumOf(this.node([...table.split("."), value[1] ?? ""]));
            return options.length ? { from: context.pos - (value[2] ?? "").length, options: options.map((label) => ({ label })) } : null;
        }
        const header = /^\s*\[\[?([\w.-]*)$/.exec(before);
        const word = /^\s*([\w-]*)$/.exec(before);
        if (!header && !word) return null;
        if (word && !context.explicit && word[1] === "") return null;
        const keys = this.node(header || !table ? [] : table.split("."))?.properties ?? {};
        const options = Object.entries(keys as Schema).map(([label, node]): Completion => {
            const about = this.resolve(node)?.description as string | undefined;
            return { label, type: "property", ...(about ? { info: about } : {}) };
        });
        return options.length ? { from: context.pos - ((header ?? word)?.[1] ?? "").length, options } : null;
    }

    /** The table whose header stands above a line; an empty text at the top. */
    private tableAbove(line: number): string {
        for (let n = line - 1; n >= 1; n--) {
            const header = /^\s*\[\[?([\w.-]+)\]\]?/.exec(this.view.state.doc.line(n).text);
            if (header) return header[1] ?? "";
        }
        return "";
    }

    private resolve(node: Schema | undefined): Schema | undefined {
        for (let n = 0; node?.$ref && n < 8; n++) {
            const path = String(node.$ref).replace(/^#\//, "").split("/");
            node = path.reduce<Schema | undefined>((at, key) => at?.[key], this.schema);
        }
        return node;
    }

    /** The schema of a key; elements of lists are passed through. */
    private node(path: string[]): Schema | undefined {
        let node = this.resolve(this.schema);
        for (const key of path) {
            node = this.resolve(node?.properties?.[key]);
            if (node?.items) node = this.resolve(node.items);
        }
        return node;
    }
}

function enumOf(node: Schema | undefined): string[] {
    const own = (node?.enum ?? []) as unknown[];
    const parts = ((node?.anyOf ?? node?.oneOf ?? []) as Schema[]).flatMap((part) => [...(part.enum ?? []), part.const]);
    return [...own, ...parts].filter((value): value is string => typeof value === "string");
}
