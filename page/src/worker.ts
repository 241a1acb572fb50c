// The engine's worker: one request in, one response out.

declare const ENGINE: string;
interface Request {
    id: number;
    request: string;
}

async function answer(request: string): Promise<string> {
    const { call, ...args } = JSON.parse(request) as { call: string };
    const response = await fetch(`/v1/${call}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(args) });
    return response.text();
}

let queue = Promise.resolve();
self.onmessage = ({ data }: MessageEvent<Request>) => {
    queue = queue.then(async () => {
        try {
            self.postMessage({ id: data.id, response: await answer(data.request) });
        } catch (error) {
            self.postMessage({ id: data.id, failed: `the engine stopped: ${error}` });
        }
    });
};
