// The scenes of benches/serve.rs, built by fast-tavern behind Node's own HTTP server. Argument: entries. Prints its
// port. The lorebook and the preset are read once; each request brings the chat. How to run it: README.md beside this file.

import { createServer } from "node:http";
import { builder } from "./scenes.mjs";

const build = builder(Number(process.argv[2]));

const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
        const body = JSON.stringify(build(JSON.parse(Buffer.concat(chunks).toString("utf8"))));
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
        response.end(body);
    });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
