// The engine in a worker, so that the page stays usable whatever the rules ask for. A worker that does not answer in time is ended
// and made anew: the engine keeps nothing that the page does not have.

export interface Diagnostic {
    severity: "error" | "warning";
    code: string;
    message: string;
    place?: string;
    file?: string;
    line?: number;
    column?: number;
    end_line?: number;
    end_column?: number;
    label?: string;
    rule?: string;
    help?: string;
}

export interface Answer<T> {
    ok: boolean;
    result?: T;
    diagnostics: Diagnostic[];
}

/** How long a call may take, in milliseconds. */
const PATIENCE = 20_000;

type Resolve = (answer: Answer<unknown>) => void;

function failure<T>(message: string): Answer<T> {
    return { ok: false, diagnostics: [{ severity: "error", code: "page", message }] };
}

export class Engine {
    private worker: Worker | null = null;
    /** Calls without an answer, in their order: the worker is at the first one. */
    private readonly pending = new Map<number, Resolve>();
    private timer = 0;
    /** The token of the server; null: it has not asked for one; empty: the user gives none. */
    private token: string | null = null;
    private next = 0;

    /** `reportPlace` is called with whether the engine is a server, and not in this page. */
    constructor(private readonly reportPlace: (server: boolean) => void) {}

    /** Asks the door. It always answers; what went wrong is in the diagnostics. */
    call<T>(call: string, args: object = {}): Promise<Answer<T>> {
        return new Promise((resolve) => {
            const id = this.next++;
            this.pending.set(id, resolve as Resolve);
            if (this.pending.size === 1) this.watch();
            try {
                this.start().postMessage({ id, request: JSON.stringify({ call, ...args }) });
            } catch (error) {
                this.restart(`the request cannot be sent to the engine: ${error}`);
            }
        });
    }

    private start(): Worker {
        if (this.worker) return this.worker;
        this.worker = new Worker(new URL("./worker.js", document.baseURI), { type: "module" });
        this.worker.onmessage = ({ data }: MessageEvent<{ id: number; response?: string; failed?: string; server?: boolean; wantsToken?: string }>) => {
            if (data.wantsToken !== undefined) {
                clearTimeout(this.timer);
                // whoever gives none is not asked again
                if (this.token === null || this.token) this.token = window.prompt(`This server wants a token (${data.wantsToken}):`) ?? "";
                this.worker?.postMessage({ token: this.token });
                return this.watch();
            }
            if (data.server !== undefined) return this.reportPlace(data.server);
            if (data.failed !== undefined) return this.restart(data.failed);
            const resolve = this.pending.get(data.id);
            if (!resolve) return;
            this.pending.delete(data.id);
            this.watch();
            resolve(JSON.parse(data.response ?? "null") as Answer<unknown>);
        };
        if (this.token) this.worker.postMessage({ token: this.token });
        this.worker.onerror = (event) => this.restart(event.message || "the engine cannot be loaded");
        return this.worker;
    }

    /** Waits for the answer to the first pending call. */
    private watch(): void {
        clearTimeout(this.timer);
        if (!this.pending.size) return;
        this.timer = window.setTimeout(() => this.restart("the engine did not answer within 20 seconds, and was started anew; make the scene or the rules smaller"), PATIENCE);
    }

    /** Ends the worker. All pending calls answer with the reason. */
    private restart(why: string): void {
        this.worker?.terminate();
        this.worker = null;
        const calls = [...this.pending.values()];
        this.pending.clear();
        this.watch();
        for (const resolve of calls) resolve(failure(why));
    }
}
