//! The chat as it is kept in a file: one JSON object a line, a header first.
//!
//! The form is the one that chat programs exchange: `mes`, `is_user`, `name`, `send_date`, and for replies `swipes`
//! and `swipe_id`. Fields that are not known here are kept as they are.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::assemble::import_document;
use crate::cli::inputs::files::{bytes_of, shown, write_file};
use crate::cli::inputs::scene::clock;
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};
use crate::diag::{Code, Diagnostic, Sources};
use crate::import::{self, Container};
use crate::model::{Scene, Value};
use crate::pack::Ruleset;

/// A chat, and the file that it is kept in.
pub(super) struct Log {
    file: Option<PathBuf>,
    header: Map<String, Json>,
    messages: Vec<Map<String, Json>>,
}

impl Log {
    /// The chat in a file; a new one if there is no such file, or no file is named.
    pub(super) fn open(file: Option<&Path>, user: &str, character: &str, show: &mut Show<'_, '_>) -> Result<Self, Stop> {
        let header = json!({ "user_name": user, "character_name": character, "create_date": clock(), "chat_metadata": {} });
        let header = header.as_object().cloned().unwrap_or_default();
        let mut log = Self { file: file.map(Path::to_owned), header, messages: Vec::new() };
        let Some(file) = file.filter(|file| file.exists()) else { return Ok(log) };
        let bytes = bytes_of(file, show)?;
        let read = import::read(&shown(file), &bytes).map_err(|report| Stop::report(Exit::No, report, Sources::default()))?;
        if read.container != Container::Jsonl {
            let message = format!("`{}` is no chat with one JSON object a line", shown(file));
            return Err(Stop::new(Exit::No, Diagnostic::error(Code::ImportFormat, message).help("name another file with `--log`")));
        }
        show.report(&read.report, &Sources::default());
        let mut lines = read.documents.into_iter().filter_map(|document| match document.json {
            Json::Object(line) => Some(line),
            _ => None,
        });
        if let Some(first) = lines.next() {
            // a file may begin with a message, without a header
            if first.contains_key("mes") {
                log.messages.push(first);
            } else {
                log.header = first;
            }
        }
        log.messages.extend(lines);
        Ok(log)
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Puts the messages into a scene: by a format of the pack if one reads such chats, and otherwise by role and text.
    /// Messages from `until` on are left out.
    pub(super) fn fill(&self, rules: &Ruleset, scene: &mut Scene, until: usize) {
        let kept = self.messages.get(..until.min(self.messages.len())).unwrap_or_default();
        let header = Json::Object(self.header.clone());
        let lines: Vec<Json> = std::iter::once(header).chain(kept.iter().cloned().map(Json::Object)).collect();
        if !kept.is_empty()
            && let Ok(brought) = import_document(rules, None, &json!({ "lines": lines }))
        {
            scene.merge(brought.scene);
            return;
        }
        let message = |line: &Map<String, Json>| {
            let text = |key: &str| line.get(key).and_then(Json::as_str).unwrap_or_default();
            let hidden = line.get("is_system").and_then(Json::as_bool).unwrap_or_default();
            let role = if by_user(line) { "user" } else { "assistant" };
            Value::from(&json!({ "role": role, "name": text("name"), "text": text("mes"), "is_system": hidden }))
        };
        let shown = kept.iter().filter(|line| line.get("is_system") != Some(&json!(true)));
        scene.set("history", Value::list(shown.map(message).collect()));
    }

    /// Adds a message of the user.
    pub(super) fn say(&mut self, name: &str, text: &str) {
        self.messages.push(line(name, true, text));
    }

    /// Adds a reply.
    pub(super) fn reply(&mut self, name: &str, text: &str, extra: Json) {
        let mut line = line(name, false, text);
        line.insert("swipes".to_owned(), json!([text]));
        line.insert("swipe_id".to_owned(), json!(0));
        line.insert("extra".to_owned(), extra);
        self.messages.push(line);
    }

    /// Adds another text to the last reply, and chooses it.
    pub(super) fn swipe(&mut self, text: &str, extra: Json) {
        let mut swipes = self.swipes();
        swipes.push(json!(text));
        let Some(last) = self.messages.last_mut() else { return };
        last.insert("mes".to_owned(), json!(text));
        last.insert("swipe_id".to_owned(), json!(swipes.len().saturating_sub(1)));
        last.insert("swipes".to_owned(), Json::Array(swipes));
        last.insert("extra".to_owned(), extra);
    }

    /// The texts of the last reply.
    pub(super) fn swipes(&self) -> Vec<Json> {
        let Some(last) = self.messages.last() else { return Vec::new() };
        let swipes = last.get("swipes").and_then(Json::as_array).filter(|list| !list.is_empty()).cloned();
        swipes.unwrap_or_else(|| vec![last.get("mes").cloned().unwrap_or_default()])
    }

    /// Chooses one of the texts of the last reply, and returns it.
    pub(super) fn choose(&mut self, index: usize) -> Option<String> {
        let text = self.swipes().get(index)?.as_str()?.to_owned();
        let last = self.messages.last_mut()?;
        last.insert("mes".to_owned(), json!(text));
        last.insert("swipe_id".to_owned(), json!(index));
        Some(text)
    }

    /// Removes the last message.
    pub(super) fn take_back(&mut self) {
        self.messages.pop();
    }

    /// Whether the last message is a reply; `None` if there is no message.
    pub(super) fn ends_with_reply(&self) -> Option<bool> {
        self.messages.last().map(|line| !by_user(line))
    }

    /// The last message of the user, and its index.
    pub(super) fn last_of_user(&self) -> Option<(usize, String)> {
        let (index, line) = self.messages.iter().enumerate().rfind(|(_, line)| by_user(line))?;
        Some((index, line.get("mes").and_then(Json::as_str).unwrap_or_default().to_owned()))
    }

    /// Replaces the text of a message; false if there is no such message.
    pub(super) fn edit(&mut self, index: usize, text: &str) -> bool {
        let Some(line) = self.messages.get_mut(index) else { return false };
        line.insert("mes".to_owned(), json!(text));
        let chosen = line.get("swipe_id").and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok());
        if let Some(swipes) = line.get_mut("swipes").and_then(Json::as_array_mut)
            && let Some(swipe) = swipes.get_mut(chosen.unwrap_or_default())
        {
            *swipe = json!(text);
        }
        true
    }

    /// Writes the file.
    pub(super) fn save(&self) -> Result<(), Stop> {
        let Some(file) = &self.file else { return Ok(()) };
        let header = Json::Object(self.header.clone());
        let mut text = format!("{header}\n");
        for line in &self.messages {
            text.push_str(&Json::Object(line.clone()).to_string());
            text.push('\n');
        }
        write_file(file, &text)
    }
}

fn by_user(line: &Map<String, Json>) -> bool {
    line.get("is_user").and_then(Json::as_bool).unwrap_or_default()
}

fn line(name: &str, user: bool, text: &str) -> Map<String, Json> {
    let line = json!({ "name": name, "is_user": user, "is_system": false, "send_date": clock(), "mes": text, "extra": {} });
    line.as_object().cloned().unwrap_or_default()
}
