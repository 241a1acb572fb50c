// Serves a folder, and with a second argument the door at `v1/CALL`, by that program's `serve --stdio`:
// node test/serve.mjs FOLDER [TAPSTER] [PORT]. It prints its address.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { createInterface } from "node:readline";

const [folder, tapster, port = "0"] = process.argv.slice(2);
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".gz": "application/gzip" };
const waiting = [];
let lines = null;
if (tapster) {
    const child = spawn(tapster, ["serve", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: child.stdout }).on("line", (line) => "event" in JSON.parse(line) || waiting.shift()?.(line));
    lines = child.stdin;
}

const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    if (lines && path.startsWith("/v1/")) {
        const parts = [];
        for await (const part of request) parts.push(part);
        waiting.push((line) => response.setHeader("content-type", "application/json").end(line));
        lines.write(`${JSON.stringify({ ...JSON.parse(Buffer.concat(parts)), call: path.slice(4) })}\n`);
        return;
    }
    const file = join(folder, path === "/" ? "index.html" : path);
    if (!existsSync(file) || !statSync(file).isFile()) return response.writeHead(404).end("not here");
    response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream").end(readFileSync(file));
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
