// Elements from texts: nothing of a card, a preset or a chat is ever read as HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

/** Makes an element. Functions are listeners, `true` is an empty attribute, and what is null or false is left out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(props)) {
        if (typeof value === "function") element.addEventListener(name, value as EventListener);
        else if (name === "value" && "value" in element) (element as HTMLInputElement).value = String(value);
        else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
    }
    append(element, children);
    return element;
}

function append(element: Element, children: Child[]): void {
    for (const child of children) {
        if (Array.isArray(child)) append(element, child);
        else if (child !== null && child !== undefined && child !== false) element.append(typeof child === "number" ? String(child) : child);
    }
}

/** Replaces what an element holds. What has the focus and an id keeps it. */
export function fill(element: Element, ...children: Child[]): void {
    const focused = element.contains(document.activeElement) ? document.activeElement?.id : "";
    element.replaceChildren();
    append(element, children);
    if (focused) document.getElementById(focused)?.focus();
}

/** The element of the page with an id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
    const element = document.getElementById(id);
    if (!element) throw new Error(`the page has no element #${id}`);
    return element as T;
}

/** A text whose ranges are marked. Ranges are in UTF-16 units, sorted. */
export function markRanges(text: string, ranges: [number, number][]): Child[] {
    const parts: Child[] = [];
    let at = 0;
    for (const [start, end] of ranges) {
        if (start < at) continue;
        parts.push(text.slice(at, start), h("mark", {}, text.slice(start, end)));
        at = end;
    }
    parts.push(text.slice(at));
    return parts;
}

/** Saves a text or bytes as a file of the user's. */
export function download(name: string, content: string | Uint8Array<ArrayBuffer>, type = "text/plain"): void {
    const link = h("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const plural = (count: number, word: string): string => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
