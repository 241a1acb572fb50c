// The engine's worker: one request in, one response out. The engine is the WebAssembly beside the page, or where that is not,
// the `tapster serve` that gave the page. A table of tokens is fetched when rules first count with it.

import { type Door, open } from "../../bindings/wasm/tapster.mjs";

interface Request {
    id: number;
    request: string;
}

type Ask = (request: string) => Promise<string>;

function askDoor(door: Door): Ask {
    const tables = new Set<string>();
    return async function ask(request) {
        const response = door.callText(request);
        const table = /`(\w+)` needs its table of tokens/.exec(response)?.[1];
        if (table === undefined || tables.has(table)) return response;
        tables.add(table);
        const fetched = await fetch(`${table}.tokens`);
        if (!fetched.ok) return response;
        door.addTable(new Uint8Array(await fetched.arrayBuffer()));
        return ask(request);
    };
}

/** The token that the user gave for the server, and who waits for one. */
let token = "";
let takeToken = (given: string): void => {
    token = given;
};

async function askServer(request: string): Promise<string> {
    const { call, ...args } = JSON.parse(request) as { call: string };
    const headers = { "content-type": "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(`v1/${call}`, { method: "POST", headers, body: JSON.stringify(args) });
    const text = await response.text();
    if (text.startsWith('{"ok"')) return text;
    const problem = text.startsWith("{") ? (JSON.parse(text) as { title?: string; detail?: string }) : null;
    if ([401, 403].includes(response.status) && /token/.test(text)) {
        self.postMessage({ wantsToken: problem?.detail ?? problem?.title ?? "" });
        token = await new Promise<string>((resolve) => (takeToken = resolve));
        if (token) return askServer(request);
    }
    throw new Error(problem?.title ?? `there is neither tapster.wasm.gz beside the page nor an engine at its address (${response.status})`);
}

async function findEngine(): Promise<Ask> {
    const wasm = await fetch("tapster.wasm.gz");
    const isThere = wasm.ok && !(wasm.headers.get("content-type") ?? "").includes("html");
    self.postMessage({ server: !isThere });
    return isThere ? askDoor(await open({ wasm })) : askServer;
}

let engine: Promise<Ask> | null = null;
let queue = Promise.resolve();
self.onmessage = ({ data }: MessageEvent<Request | { token: string }>) => {
    if ("token" in data) return takeToken(data.token);
    queue = queue.then(async () => {
        try {
            const ask = await (engine ??= findEngine());
            self.postMessage({ id: data.id, response: await ask(data.request) });
        } catch (error) {
            self.postMessage({ id: data.id, failed: `the engine stopped: ${error instanceof Error ? error.message : error}` });
        }
    });
};
