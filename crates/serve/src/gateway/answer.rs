//! Answers for clients that speak another dialect than the provider: what its reply is read to, written as theirs.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tapster::machinery::reading::{AssembledReply, JsonTree, ReplyAssembler, ReplyDelta, ReplyReading};
use tapster_client::sse::{Splitter, SseEvent};

use super::config::ClientDialect;
use super::rewrite::is_streamed;
use crate::insert_member;

/// The most bytes of an answer that is translated.
pub(super) const MOST_TRANSLATED: usize = 16 << 20;

/// Tokens that the provider has counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TokenUsage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

/// How a client wants its answer.
#[derive(Debug, Clone)]
pub(super) struct AnswerFormat {
    pub(super) dialect: ClientDialect,
    pub(super) is_streamed: bool,
    pub(super) id: String,
    /// The model as the client has named it.
    model: String,
    /// Whether a stream closes with the counts of tokens, where that is the client's choice.
    tells_usage: bool,
}

/// Why the provider refused, as its answer says.
pub(super) fn read_error(reading: &ReplyReading, body: &[u8]) -> Option<String> {
    let document = JsonTree::parse(body).ok()?;
    let mut reply = ReplyAssembler::new(reading);
    reply.whole(&document);
    Some(reply.refused()?.message)
}

/// The reply that a whole answer holds.
pub(super) fn read_whole(reading: &ReplyReading, body: &[u8]) -> Result<AssembledReply, String> {
    let document = JsonTree::parse(body).map_err(|error| format!("the provider's answer is not JSON: {error}"))?;
    let mut reply = ReplyAssembler::new(reading);
    reply.whole(&document);
    match reply.refused() {
        Some(error) => Err(error.message),
        None if reply.has_anything() => Ok(reply.finish()),
        None => Err("the provider's answer holds no reply".to_owned()),
    }
}

/// The text of a message, also where it is written in parts.
fn text_of(message: &Json) -> String {
    match message.get("content") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Json::as_str)).collect(),
        _ => String::new(),
    }
}

/// The id, the name and the arguments (as text) of each tool call.
fn calls_of(message: &Json) -> Vec<(String, &str, &str)> {
    let calls = message.get("tool_calls").and_then(Json::as_array).into_iter().flatten().enumerate();
    let text = |call: &'_ Json, path: &str| call.pointer(path).and_then(Json::as_str).map(str::to_owned);
    calls
        .map(|(n, call)| {
            let at = |path: &str| call.pointer(path).and_then(Json::as_str).unwrap_or_default();
            // some providers give calls no ids, and clients find the results by them
            (text(call, "/id").unwrap_or_else(|| format!("call_{n}")), at("/function/name"), at("/function/arguments"))
        })
        .collect()
}

impl AnswerFormat {
    /// What a client asks for.
    pub(super) fn of(dialect: ClientDialect, body: &Map<String, Json>) -> Self {
        let model = body.get("model").and_then(Json::as_str).unwrap_or_default().to_owned();
        let options = body.get("stream_options");
        let tells_usage = options.and_then(|options| options.get("include_usage")?.as_bool()) == Some(true);
        Self { dialect, is_streamed: is_streamed(body), id: String::new(), model, tells_usage }
    }

    /// A whole answer.
    pub(super) fn whole(&self, reply: &AssembledReply, usage: TokenUsage) -> Json {
        let (text, calls) = (text_of(&reply.message), calls_of(&reply.message));
        match self.dialect {
            ClientDialect::Openai => {
                let mut message = json!({ "role": "assistant", "content": if text.is_empty() { Json::Null } else { text.into() } });
                if !reply.reasoning.is_empty() {
                    insert_member(&mut message, "reasoning_content", reply.reasoning.as_str());
                }
                if !calls.is_empty() {
                    let calls: Vec<Json> = openai_calls(&calls).collect();
                    insert_member(&mut message, "tool_calls", calls);
                }
                let choice = json!({ "index": 0, "message": message, "finish_reason": self.stop_word(reply) });
                self.openai("chat.completion", &[choice], Some(usage))
            }
            ClientDialect::Anthropic => {
                let thoughts =
                    (!reply.reasoning.is_empty()).then(|| json!({ "type": "thinking", "thinking": reply.reasoning, "signature": "" }));
                let texts = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
                let calls = calls.iter().map(|(id, name, arguments)| {
                    let input: Json = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
                });
                let content: Vec<Json> = thoughts.into_iter().chain(texts).chain(calls).collect();
                self.anthropic(content.into(), self.stop_word(reply).into(), usage)
            }
        }
    }

    /// Why the model stopped, in the client's words.
    fn stop_word(&self, reply: &AssembledReply) -> &'static str {
        let has_calls = reply.message.get("tool_calls").is_some();
        let word = reply.finish_reason.as_deref().unwrap_or_default();
        match (self.dialect, word) {
            (ClientDialect::Openai, "length" | "max_tokens") => "length",
            (ClientDialect::Openai, "content_filter" | "refusal") => "content_filter",
            (ClientDialect::Openai, _) if has_calls => "tool_calls",
            (ClientDialect::Openai, _) => "stop",
            (ClientDialect::Anthropic, "length" | "max_tokens") => "max_tokens",
            (ClientDialect::Anthropic, "content_filter" | "refusal") => "refusal",
            (ClientDialect::Anthropic, _) if has_calls => "tool_use",
            (ClientDialect::Anthropic, _) => "end_turn",
        }
    }

    fn openai(&self, object: &str, choices: &[Json], usage: Option<TokenUsage>) -> Json {
        let mut out =
            json!({ "id": format!("chatcmpl-{}", self.id), "object": object, "created": 0, "model": self.model, "choices": choices });
        if let Some(TokenUsage { input, output, cached }) = usage {
            let usage = json!({
                "prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output),
                "prompt_tokens_details": { "cached_tokens": cached },
            });
            insert_member(&mut out, "usage", usage);
        }
        out
    }

    fn anthropic(&self, content: Json, stop: Json, usage: TokenUsage) -> Json {
        json!({
            "id": format!("msg_{}", self.id), "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": stop, "stop_sequence": null,
            "usage": anthropic_usage(usage),
        })
    }
}

fn anthropic_usage(TokenUsage { input, output, cached }: TokenUsage) -> Json {
    json!({ "input_tokens": input.saturating_sub(cached), "cache_read_input_tokens": cached, "output_tokens": output })
}

fn openai_calls<'c>(calls: &'c [(String, &str, &str)]) -> impl Iterator<Item = Json> + 'c {
    calls.iter().map(|(id, name, arguments)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }))
}

/// The calls as the pieces of a stream, which belong together by their number.
fn numbered_calls(calls: &[(String, &str, &str)]) -> Json {
    let number = |(n, mut call): (usize, Json)| {
        insert_member(&mut call, "index", n);
        call
    };
    openai_calls(calls).enumerate().map(number).collect()
}

/// Writes a stream for a client while that of the provider is read.
pub(super) struct StreamTranslator {
    format: AnswerFormat,
    reading: Arc<ReplyReading>,
    splitter: Box<Splitter>,
    /// What was read, for what is known at the end alone: calls, the reason of the end, counts.
    events: Vec<SseEvent>,
    bytes: usize,
    begun: bool,
    /// The block that is open, of a client that counts them: its number, and whether it holds thoughts.
    block: Option<(usize, bool)>,
    blocks: usize,
}

impl StreamTranslator {
    pub(super) fn new(format: AnswerFormat, reading: Arc<ReplyReading>) -> Self {
        let splitter = Box::new(Splitter::new(MOST_TRANSLATED));
        Self { format, reading, splitter, events: Vec::new(), bytes: 0, begun: false, block: None, blocks: 0 }
    }

    /// What the client gets for more of the provider's stream.
    pub(super) fn push(&mut self, part: &[u8]) -> Result<Vec<u8>, String> {
        self.bytes += part.len();
        let mut events = Vec::new();
        if self.bytes > MOST_TRANSLATED || self.splitter.push(part, &mut events).is_err() {
            return Err(format!("the answer is longer than {} MiB", MOST_TRANSLATED >> 20));
        }
        self.read(events)
    }

    fn read(&mut self, events: Vec<SseEvent>) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        for event in events {
            let reading = Arc::clone(&self.reading);
            let mut reply = ReplyAssembler::new(&reading);
            if !reply.is_end(&event.data)
                && let Ok(document) = JsonTree::parse(event.data.as_bytes())
            {
                reply.event(&event.name, &document, &mut |delta| self.write_delta(delta, &mut out));
                if let Some(error) = reply.refused() {
                    return Err(error.message);
                }
            }
            self.events.push(event);
        }
        Ok(out)
    }

    /// The end of the stream. `count` reads the counts of tokens.
    pub(super) fn finish(&mut self, count: &dyn Fn(&Json) -> TokenUsage) -> Result<Vec<u8>, String> {
        let mut events = Vec::new();
        self.splitter.end(&mut events);
        let mut out = self.read(events)?;
        let mut reply = ReplyAssembler::new(&self.reading);
        for event in &self.events {
            if let Ok(document) = JsonTree::parse(event.data.as_bytes()) {
                reply.event(&event.name, &document, &mut |_| {});
            }
        }
        // some servers say no reason, and mark the end alone
        if !reply.is_complete() && !self.events.iter().any(|event| reply.is_end(&event.data)) {
            return Err("the provider's answer ends early".to_owned());
        }
        let reply = reply.finish();
        let (calls, usage) = (calls_of(&reply.message), count(&reply.usage));
        self.begin(&mut out);
        match self.format.dialect {
            ClientDialect::Openai => {
                if !calls.is_empty() {
                    self.write_chunk(&json!({ "tool_calls": numbered_calls(&calls) }), Json::Null, &mut out);
                }
                self.write_chunk(&json!({}), self.format.stop_word(&reply).into(), &mut out);
                if self.format.tells_usage {
                    write_event(None, &self.format.openai("chat.completion.chunk", &[], Some(usage)), &mut out);
                }
                out.extend_from_slice(b"data: [DONE]\n\n");
            }
            ClientDialect::Anthropic => {
                self.close_block(&mut out);
                for (id, name, arguments) in &calls {
                    self.open_block(&json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), false, &mut out);
                    self.write_block_delta(&json!({ "type": "input_json_delta", "partial_json": arguments }), &mut out);
                    self.close_block(&mut out);
                }
                let delta = json!({ "stop_reason": self.format.stop_word(&reply), "stop_sequence": null });
                write_typed("message_delta", json!({ "delta": delta, "usage": anthropic_usage(usage) }), &mut out);
                write_typed("message_stop", json!({}), &mut out);
            }
        }
        Ok(out)
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        match self.format.dialect {
            ClientDialect::Openai => self.write_chunk(&json!({ "role": "assistant", "content": "" }), Json::Null, out),
            ClientDialect::Anthropic => {
                let message = self.format.anthropic(json!([]), Json::Null, TokenUsage::default());
                write_typed("message_start", json!({ "message": message }), out);
            }
        }
    }

    fn write_delta(&mut self, delta: ReplyDelta<'_>, out: &mut Vec<u8>) {
        self.begin(out);
        let (text, is_thought) = match delta {
            ReplyDelta::Text(text) => (text, false),
            ReplyDelta::Reasoning(text) => (text, true),
        };
        match self.format.dialect {
            ClientDialect::Openai => {
                let key = if is_thought { "reasoning_content" } else { "content" };
                self.write_chunk(&json!({ key: text }), Json::Null, out);
            }
            ClientDialect::Anthropic => {
                if self.block.is_none_or(|(_, thoughts)| thoughts != is_thought) {
                    self.close_block(out);
                    let empty = if is_thought {
                        json!({ "type": "thinking", "thinking": "", "signature": "" })
                    } else {
                        json!({ "type": "text", "text": "" })
                    };
                    self.open_block(&empty, is_thought, out);
                }
                let delta = if is_thought {
                    json!({ "type": "thinking_delta", "thinking": text })
                } else {
                    json!({ "type": "text_delta", "text": text })
                };
                self.write_block_delta(&delta, out);
            }
        }
    }

    fn write_chunk(&self, delta: &Json, finish: Json, out: &mut Vec<u8>) {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        write_event(None, &self.format.openai("chat.completion.chunk", &[choice], None), out);
    }

    fn open_block(&mut self, content: &Json, is_thought: bool, out: &mut Vec<u8>) {
        write_typed("content_block_start", json!({ "index": self.blocks, "content_block": content }), out);
        self.block = Some((self.blocks, is_thought));
        self.blocks += 1;
    }

    fn write_block_delta(&self, delta: &Json, out: &mut Vec<u8>) {
        if let Some((index, _)) = self.block {
            write_typed("content_block_delta", json!({ "index": index, "delta": delta }), out);
        }
    }

    fn close_block(&mut self, out: &mut Vec<u8>) {
        if let Some((index, _)) = self.block.take() {
            write_typed("content_block_stop", json!({ "index": index }), out);
        }
    }
}

/// An event whose data name its kind too.
fn write_typed(kind: &str, more: Json, out: &mut Vec<u8>) {
    let mut data = Map::new();
    data.insert("type".to_owned(), kind.into());
    if let Json::Object(more) = more {
        data.extend(more);
    }
    write_event(Some(kind), &Json::Object(data), out);
}

fn write_event(name: Option<&str>, data: &Json, out: &mut Vec<u8>) {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    out.extend_from_slice(format!("{name}data: {data}\n\n").as_bytes());
}
