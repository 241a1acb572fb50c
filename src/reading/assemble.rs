//! Putting a reply together: the parts of a whole reply, or of one event after the other.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json};

use super::ReplyReading;
use super::compile::{CallPaths, DetailPaths, ErrorPaths, ReplyPart, WholeMessage};
use super::tree::DocumentPath;
use super::tree::{JsonTree, map};

/// The usual word of a model that has said all.
const ANSWERED: &str = "stop";

/// More of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyDelta<'a> {
    /// Text.
    Text(&'a str),
    /// Thoughts.
    Reasoning(&'a str),
}

/// An error that the provider reports inside a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError {
    /// The status that it stands for, if it names one.
    pub status: Option<u16>,
    /// What the provider says.
    pub message: String,
}

/// A reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssembledReply {
    /// The message in the shape of chat completions.
    pub message: Json,
    /// What the model thought, wherever the provider puts it.
    pub reasoning: String,
    /// Why the model stopped.
    pub finish_reason: Option<String>,
    /// Token counts as the provider gives them.
    pub usage: Json,
}

/// Puts a reply together.
#[derive(Debug)]
pub struct ReplyAssembler<'r> {
    reading: &'r ReplyReading,
    message: Map<String, Json>,
    text: Option<String>,
    reasoning: String,
    signature: Option<Json>,
    calls: Vec<PartialCall>,
    call_at: FxHashMap<String, usize>,
    details: Vec<Map<String, Json>>,
    detail_at: FxHashMap<String, usize>,
    finish: Option<String>,
    usage: Json,
    error: Option<ReplyError>,
    found: bool,
    over: bool,
}

/// A tool call that is being put together.
#[derive(Debug, Default)]
struct PartialCall {
    id: Option<String>,
    name: String,
    arguments: String,
    signature: Option<Json>,
    rest: Map<String, Json>,
}

impl<'r> ReplyAssembler<'r> {
    /// Begins a reply.
    #[must_use]
    pub fn new(reading: &'r ReplyReading) -> Self {
        Self {
            reading,
            message: Map::new(),
            text: None,
            reasoning: String::new(),
            signature: None,
            calls: Vec::new(),
            call_at: FxHashMap::default(),
            details: Vec::new(),
            detail_at: FxHashMap::default(),
            finish: None,
            usage: Json::Null,
            error: None,
            found: false,
            over: false,
        }
    }

    /// Whether the data of an event only says that the stream is over.
    #[must_use]
    pub fn is_end(&self, data: &str) -> bool {
        self.reading.done.iter().any(|done| done.as_ref() == data.trim())
    }

    /// Reads a whole reply.
    pub fn whole(&mut self, document: &JsonTree<'_>) {
        self.read(&self.reading.whole, "", document, &mut |_| {});
    }

    /// Reads an event of a stream: its name, if it has one, and its data. `heard` is told what is new.
    pub fn event(&mut self, name: &str, document: &JsonTree<'_>, heard: &mut dyn FnMut(ReplyDelta<'_>)) {
        self.read(&self.reading.stream, name, document, heard);
    }

    /// Whether an event said that nothing follows.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the model is known to have finished, so that nothing of the message can be missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.over || self.finish.is_some()
    }

    /// Whether there was anything of a reply.
    #[must_use]
    pub fn has_anything(&self) -> bool {
        self.found
    }

    /// Takes the error that the provider has reported.
    pub fn refused(&mut self) -> Option<ReplyError> {
        self.error.take()
    }

    /// Ends the reply.
    #[must_use]
    pub fn finish(self) -> AssembledReply {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        message.insert("content".to_owned(), Json::Null);
        message.extend(self.message);
        if let Some(text) = self.text {
            message.insert("content".to_owned(), Json::String(text));
        }
        if !self.calls.is_empty() {
            let calls = self.calls.into_iter().map(PartialCall::finish).collect();
            message.insert("tool_calls".to_owned(), Json::Array(calls));
        }
        if !self.details.is_empty() {
            let details = self.details.into_iter().map(Json::Object).collect();
            message.insert("reasoning_details".to_owned(), Json::Array(details));
        }
        if let Some(signature) = self.signature {
            message.insert("signature".to_owned(), signature);
        }
        AssembledReply { message: Json::Object(message), reasoning: self.reasoning, finish_reason: self.finish, usage: self.usage }
    }

    fn read(&mut self, parts: &'r [ReplyPart], event: &str, document: &JsonTree<'_>, heard: &mut dyn FnMut(ReplyDelta<'_>)) {
        for part in parts {
            if !part.when.iter().all(|test| test.holds(event, document)) {
                continue;
            }
            let mut one = |element: &JsonTree<'_>| {
                if part.of_which.iter().all(|test| test.holds(event, element)) {
                    self.part(part, element, heard);
                }
            };
            match &part.each {
                Some(each) => each.visit(document, &mut one),
                None => one(document),
            }
        }
    }

    fn part(&mut self, part: &'r ReplyPart, at: &JsonTree<'_>, heard: &mut dyn FnMut(ReplyDelta<'_>)) {
        if let Some(error) = part.error.as_ref().and_then(|trouble| refused(self.reading, trouble, at)) {
            self.error.get_or_insert(error);
        }
        if let Some((whole, JsonTree::Table(message))) = part.message.as_ref().and_then(|w| Some((w, w.at.of(at)?))) {
            self.found = true;
            take_over(&mut self.message, message, whole, &mut Vec::new());
        }
        for text in part.text.iter().filter_map(|path| path.of(at)?.as_str()) {
            self.found = true;
            self.text.get_or_insert_default().push_str(text);
            if !text.is_empty() {
                heard(ReplyDelta::Text(text));
            }
        }
        // providers and proxies that send thoughts twice under two names mean one text
        let thought = part.reasoning.iter().find_map(|(path, key)| Some((path.of(at)?.as_str()?, key)));
        if let Some((text, key)) = thought.filter(|(text, _)| !text.is_empty()) {
            self.found = true;
            self.reasoning.push_str(text);
            if part.message.as_ref().is_none_or(|whole| whole.skip.contains(key)) {
                append(&mut self.message, key, text);
            }
            heard(ReplyDelta::Reasoning(text));
        }
        if let Some(signature) = first(&part.signature, at) {
            self.signature = Some(signature.to_json());
        }
        if let Some(call) = part.call.as_ref().filter(|call| call.is_at(at)) {
            self.found = true;
            self.call(call, at);
        }
        if let Some(detail) = part.detail.as_ref().filter(|detail| detail.is_at(at)) {
            self.found = true;
            self.detail(detail, at);
        }
        // that the model has finished is not a message by itself
        if let Some(word) = part.finish.iter().find_map(|path| path.of(at)?.as_str()) {
            let usual = self.reading.finish.get(word).map_or(word, AsRef::as_ref);
            // a model that was stopped (refused, cut off) has answered, also without a message
            self.found |= usual != ANSWERED;
            self.finish = Some(usual.to_owned());
        }
        if let Some(usage) = first(&part.usage, at) {
            match (&mut self.usage, usage) {
                (Json::Object(before), JsonTree::Table(now)) => before.extend(map(now)),
                (before, now) => *before = now.to_json(),
            }
        }
        self.over |= part.ends;
    }

    fn call(&mut self, call: &CallPaths, at: &JsonTree<'_>) {
        let index = call.index.as_ref().and_then(|path| path.of(at)).map(key_text);
        let id = call.id.as_ref().and_then(|path| path.of(at)?.as_str()).filter(|id| !id.is_empty());
        let name = call.name.as_ref().and_then(|path| path.of(at)?.as_str()).unwrap_or_default();
        // an index that comes back with another id is another call: some servers give every call the index 0
        let known = match &index {
            Some(index) => self.call_at.get(index).copied(),
            None if id.is_some() => None,
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        };
        let other = |n: &usize| id.is_some() && self.calls.get(*n).is_some_and(|c| c.id.is_some() && c.id.as_deref() != id);
        let n = known.filter(|n| !other(n)).unwrap_or_else(|| {
            self.calls.push(PartialCall::default());
            self.calls.len() - 1
        });
        if let Some(index) = index {
            self.call_at.insert(index, n);
        }
        let Some(building) = self.calls.get_mut(n) else { return };
        if let Some(id) = id {
            building.id = Some(id.to_owned());
        }
        // a name comes once, but some servers repeat it with every part
        if building.name != name {
            building.name.push_str(name);
        }
        match call.arguments.as_ref().and_then(|path| path.of(at)) {
            Some(JsonTree::Text(text)) => building.arguments.push_str(text),
            Some(value) => building.arguments = value.to_json().to_string(),
            None => {}
        }
        if let Some(signature) = call.signature.as_ref().and_then(|path| path.of(at)) {
            building.signature = Some(signature.to_json());
        }
        if let (true, JsonTree::Table(fields)) = (call.rest, at) {
            let rest = fields.iter().filter(|(key, value)| !call.reads(key) && *value != JsonTree::Null);
            building.rest.extend(rest.map(|(key, value)| (key.clone().into_owned(), value.to_json())));
        }
    }

    fn detail(&mut self, detail: &DetailPaths, at: &JsonTree<'_>) {
        let index = detail.index.as_ref().and_then(|path| path.of(at)).map(key_text);
        let n = index.as_ref().and_then(|index| self.detail_at.get(index)).copied().unwrap_or_else(|| {
            self.details.push(Map::new());
            self.details.len() - 1
        });
        if let Some(index) = index {
            self.detail_at.insert(index, n);
        }
        let Some(block) = self.details.get_mut(n) else { return };
        if let Some(JsonTree::Table(fields)) = detail.at.as_ref().and_then(|path| path.of(at)) {
            let set = fields.iter().filter(|(key, _)| !detail.add.iter().any(|(added, _)| added.as_ref() == key.as_ref()));
            block.extend(set.map(|(key, value)| (key.clone().into_owned(), value.to_json())));
        }
        for (key, path) in &detail.add {
            if let Some(text) = path.of(at).and_then(JsonTree::as_str) {
                append(block, key, text);
            }
        }
    }
}

impl PartialCall {
    fn finish(mut self) -> Json {
        // no arguments at all are an empty object, whether a provider streams nothing or sends `{}`
        if self.arguments.trim().is_empty() {
            self.arguments = "{}".to_owned();
        }
        let mut call = Map::new();
        if let Some(id) = self.id {
            call.insert("id".to_owned(), id.into());
        }
        call.insert("type".to_owned(), "function".into());
        call.insert("function".to_owned(), serde_json::json!({ "name": self.name, "arguments": self.arguments }));
        if let Some(signature) = self.signature {
            call.insert("signature".to_owned(), signature);
        }
        call.extend(self.rest);
        Json::Object(call)
    }
}

fn first<'a, 'd>(paths: &[DocumentPath], at: &'a JsonTree<'d>) -> Option<&'a JsonTree<'d>> {
    paths.iter().find_map(|path| path.of(at))
}

/// A number or word by which parts of one call are found.
fn key_text(value: &JsonTree<'_>) -> String {
    value.as_str().map_or_else(|| value.to_json().to_string(), str::to_owned)
}

fn append(fields: &mut Map<String, Json>, key: &str, text: &str) {
    match fields.get_mut(key) {
        Some(Json::String(before)) => before.push_str(text),
        _ => {
            fields.insert(key.to_owned(), text.into());
        }
    }
}

/// Takes over the fields of a message, those of tables inside it one by one.
fn take_over<'a>(into: &mut Map<String, Json>, from: &'a [(Cow<'a, str>, JsonTree<'a>)], whole: &WholeMessage, path: &mut Vec<&'a str>) {
    for (key, value) in from {
        if path.is_empty() && whole.skip.iter().any(|skip| skip.as_ref() == key.as_ref()) {
            continue;
        }
        path.push(key);
        let appended = whole.append.iter().any(|at| at.iter().map(AsRef::as_ref).eq(path.iter().copied()));
        match (into.get_mut(key.as_ref()), value) {
            (Some(Json::String(before)), JsonTree::Text(text)) if appended => before.push_str(text),
            (Some(Json::Object(before)), JsonTree::Table(now)) => take_over(before, now, whole, path),
            // an event without a value takes nothing back
            (Some(_), JsonTree::Null) => {}
            _ => {
                into.insert(key.clone().into_owned(), value.to_json());
            }
        }
        path.pop();
    }
}

/// The error that stands in a document.
fn refused(reading: &ReplyReading, trouble: &ErrorPaths, at: &JsonTree<'_>) -> Option<ReplyError> {
    let error = trouble.at.of(at)?;
    let status = trouble.status.iter().filter_map(|path| path.of(error)).find_map(|value| match value {
        JsonTree::Text(word) => reading.statuses.get(word.as_ref()).copied(),
        JsonTree::Number(number) => number.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| (400..600).contains(n)),
        _ => None,
    });
    let message =
        trouble.message.of(error).or(Some(error)).and_then(JsonTree::as_str).map_or_else(|| error.to_json().to_string(), str::to_owned);
    Some(ReplyError { status, message })
}
