// Makes each call of cases/ with the vendor's SDK, against a server on this machine that gives the case's replies, and
// compares what was sent and read with recorded/. See run.sh.
import { createServer } from "node:http";
import { readFileSync, readdirSync, writeFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";

const folder = process.argv[2];
let answer = null;
let asked = null;
const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const kept = ["authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "content-type"];
    const headers = Object.fromEntries(kept.filter((k) => request.headers[k]).map((k) => [k, request.headers[k]]));
    asked = { path: request.url, headers, body: JSON.parse(Buffer.concat(parts).toString()) };
    response.writeHead(200, { "content-type": answer.stream ? "text/event-stream" : "application/json" });
    response.end(answer.text);
  });
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${server.address().port}`;
const key = "sk-no-key-at-all";
const openai = new OpenAI({ apiKey: key, baseURL: `${base}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: key, baseURL: base, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: base } });

const call = (id, name, text) => ({ id: id ?? null, name, arguments: typeof text === "string" ? JSON.parse(text || "{}") : (text ?? {}) });
const sum = (list, of) => list.map(of).join("");

// what each SDK's own parser makes of a reply, in one shape
const read = {
  openai: (reply) => {
    const { message, finish_reason } = reply.choices[0];
    const calls = (message.tool_calls ?? []).map((c) => call(c.id, c.function.name, c.function.arguments));
    return { text: message.content ?? "", calls, finish: finish_reason, usage: reply.usage ?? null };
  },
  responses: (reply) => {
    const calls = reply.output.filter((i) => i.type === "function_call").map((c) => call(c.call_id, c.name, c.arguments));
    return { text: reply.output_text ?? sum(reply.output.flatMap((i) => i.content ?? []), (c) => c.text ?? ""), calls, finish: reply.status, usage: reply.usage ?? null };
  },
  anthropic: (reply) => {
    const of = (type) => reply.content.filter((b) => b.type === type);
    const calls = of("tool_use").map((c) => call(c.id, c.name, c.input));
    const details = reply.content.filter((b) => b.type.endsWith("thinking"));
    return { text: sum(of("text"), (b) => b.text), reasoning: sum(of("thinking"), (b) => b.thinking), details, calls, finish: reply.stop_reason, usage: reply.usage };
  },
  google: (replies) => {
    const parts = replies.flatMap((r) => r.candidates?.[0]?.content?.parts ?? []);
    const last = replies.at(-1);
    const calls = replies.flatMap((r) => r.functionCalls ?? []).map((c) => call(c.id, c.name, c.args));
    return { text: sum(replies, (r) => r.text ?? ""), reasoning: sum(parts.filter((p) => p.thought), (p) => p.text), calls, finish: last.candidates?.[0]?.finishReason, usage: last.usageMetadata ?? null };
  },
};

const send = {
  "openai": async (args, stream) =>
    read.openai(stream ? await openai.chat.completions.stream({ ...args, stream: true }).finalChatCompletion() : await openai.chat.completions.create(args)),
  "openai-responses": async (args, stream) =>
    read.responses(stream ? await openai.responses.stream(args).finalResponse() : await openai.responses.create(args)),
  "anthropic": async (args, stream) =>
    read.anthropic(stream ? await anthropic.messages.stream(args).finalMessage() : await anthropic.messages.create(args)),
  "google": async (args, stream) => {
    if (!stream) return read.google([await google.models.generateContent(args)]);
    const replies = [];
    for await (const reply of await google.models.generateContentStream(args)) replies.push(reply);
    return read.google(replies);
  },
};

let wrong = 0;
for (const file of readdirSync(join(folder, "cases")).sort()) {
  const test = JSON.parse(readFileSync(join(folder, "cases", file)));
  const found = {};
  for (const stream of [false, true]) {
    answer = { stream, text: stream ? test.stream.join("\n") + "\n" : JSON.stringify(test.whole) };
    asked = null;
    const came = await send[test.dialect](test.sdk, stream).catch((error) => ({ error: String(error) }));
    found[stream ? "stream" : "whole"] = { sent: asked, read: came };
  }
  const text = JSON.stringify(found, null, 2) + "\n";
  const at = join(folder, "recorded", file);
  if (process.env.UPDATE) writeFileSync(at, text);
  const same = existsSync(at) && readFileSync(at, "utf8") === text;
  console.log(`${same ? "ok      " : "DIFFERS "} ${file}`);
  if (!same) { wrong += 1; console.log(text); }
}
server.close();
console.log(`${wrong ? "some differ" : "all as recorded"}`);
process.exit(wrong ? 1 : 0);
