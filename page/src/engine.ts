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

interface Waiting {
    resolve: (answer: Answer<unknown>) => void;
    timer: number;
}

function failure<T>(message: string): Answer<T> {
    return { ok: false, diagnostics: [{ severity: "error", code: "page", message }] };
}

export class Engine {
    private worker: Worker | null = null;
    private readonly waiting = new Map<number, Waiting>();
    private next = 0;

    /** `found` is told whether the engine is a server, and not in this page. */
    constructor(private readonly found: (server: boolean) => void) {}

    /** Asks the door. It always answers; what went wrong is in the diagnostics. */
    call<T>(call: string, args: object = {}): Promise<Answer<T>> {
        return new Promise((resolve) => {
            const id = this.next++;
            const timer = window.setTimeout(() => this.restart("the engine did not answer within 20 seconds, and was started anew; make the scene or the rules smaller"), PATIENCE);
            this.waiting.set(id, { resolve: resolve as Waiting["resolve"], timer });
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
        this.worker.onmessage = ({ data }: MessageEvent<{ id: number; response?: string; failed?: string; server?: boolean }>) => {
            if (data.server !== undefined) return this.found(data.server);
            if (data.failed !== undefined) return this.restart(data.failed);
            const waiting = this.waiting.get(data.id);
            if (!waiting) return;
            this.waiting.delete(data.id);
            clearTimeout(waiting.timer);
            waiting.resolve(JSON.parse(data.response ?? "null") as Answer<unknown>);
        };
        this.worker.onerror = (event) => this.restart(event.message || "the engine cannot be loaded");
        return this.worker;
    }

    /** Ends the worker. Whoever waits is told why. */
    private restart(why: string): void {
        this.worker?.terminate();
        this.worker = null;
        const waiting = [...this.waiting.values()];
        this.waiting.clear();
        for (const { resolve, timer } of waiting) {
            clearTimeout(timer);
            resolve(failure(why));
        }
    }
}
