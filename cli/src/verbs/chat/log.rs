//! The chat as it is kept in a file: one JSON object a line, a header first.
//!
//! The form is the one that chat programs exchange: `mes`, `is_user`, `name`, `send_date`, and for replies `swipes`
//! and `swipe_id`. Fields that are not known here are kept as they are.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::build::{ErrorKind, import_document};
use crate::diag::{Code, Sources, file};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::import::{self, Container};
use crate::inputs::files::{FileLock, path_text, read_bytes, refuse_link, write_private};
use crate::inputs::scene::{SMALLER, clock};
use crate::model::{Scene, Value};
use crate::output::Console;
use crate::pack::Ruleset;

/// A chat, and the file that it is kept in.
pub(super) struct ChatLog {
    file: Option<PathBuf>,
    header: Map<String, Json>,
    messages: Vec<Map<String, Json>>,
    /// What the file held when it was last read or written; `None` if there was no file.
    known: Option<Vec<u8>>,
    /// No other chat has the file as long as this one has it.
    _lock: Option<FileLock>,
}

impl ChatLog {
    /// The chat in a file; a new one if there is no such file, or no file is named.
    pub(super) fn open(file: Option<&Path>, user: &str, character: &str, show: &mut Console<'_>) -> Result<Self> {
        let header = json!({ "user_name": user, "character_name": character, "create_date": clock(), "chat_metadata": {} });
        let header = header.as_object().cloned().unwrap_or_default();
        file.map(refuse_link).transpose()?;
        let lock = file.map(lock_chat).transpose()?;
        let mut log = Self { file: file.map(Path::to_owned), header, messages: Vec::new(), known: None, _lock: lock };
        let Some(file) = file.filter(|file| file.exists()) else { return Ok(log) };
        let bytes = read_bytes(file, show)?;
        log.read(file, &bytes, show)?;
        log.known = Some(bytes);
        Ok(log)
    }

    /// Begins with the messages of another file, if it is of this form; otherwise with those of the scene. A chat that
    /// has messages stays as it is.
    pub(super) fn begin(&mut self, chat: Option<&Path>, scene: &Scene, show: &mut Console<'_>) -> Result<()> {
        if self.len() > 0 {
            return Ok(());
        }
        if let Some(chat) = chat {
            let bytes = read_bytes(chat, show)?;
            if import::read(&path_text(chat), &bytes).is_ok_and(|read| read.container == Container::Jsonl) {
                self.read(chat, &bytes, show)?;
            }
        }
        if self.len() == 0 {
            let history = scene.get("history");
            self.messages = history.as_list().unwrap_or_default().iter().map(|message| line_of_message(&message.to_json())).collect();
        }
        Ok(())
    }

    /// Takes over header and messages of a file. A file that cannot be read completely is refused, because what was not
    /// read would be lost when it is written.
    fn read(&mut self, file: &Path, bytes: &[u8], show: &mut Console<'_>) -> Result<()> {
        if bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        let read =
            import::read(&path_text(file), bytes).map_err(|report| EarlyExit::report(RunExit::CouldNot, report, Sources::default()))?;
        if read.container != Container::Jsonl {
            let message = format!("`{}` is not a chat with one JSON object on each line", path_text(file));
            return Err(EarlyExit::could_not(Code::ImportFormat, message, "name another file with `--log`"));
        }
        show.report(&read.report, &Sources::default());
        if read.skipped > 0 {
            let message =
                format!("{} lines of `{}` cannot be read, and would be lost when the chat is written", read.skipped, path_text(file));
            return Err(EarlyExit::could_not(Code::ImportFormat, message, "correct the lines, or delete them"));
        }
        let log = self;
        let mut lines = read.documents.into_iter().filter_map(|document| match document.json() {
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
        Ok(())
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Puts the messages into a scene: by a format of the pack if one reads such chats, and otherwise by role and text.
    /// Messages from `until` on are left out. A chat that is read by a format and takes more work than it may is refused, as
    /// in a build.
    pub(super) fn fill(&self, rules: &Ruleset, scene: &mut Scene, until: usize) -> Result<()> {
        let kept = self.messages.get(..until.min(self.messages.len())).unwrap_or_default();
        // the name of a field is the same text in all lines, of which there may be very many
        let mut names: HashMap<&str, Arc<str>> = HashMap::new();
        let lines = std::iter::once(&self.header).chain(kept).map(|line| line_value(line, &mut names)).collect();
        let document = Value::map([("lines".into(), Value::list(lines))].into_iter().collect());
        match import_document(rules, None, document) {
            _ if kept.is_empty() => {}
            Ok(brought) => {
                scene.merge(brought.scene);
                return Ok(());
            }
            Err(error) if *error.kind() == ErrorKind::Bound => {
                return Err(EarlyExit::refused(Code::BoundExceeded, error.message, SMALLER));
            }
            // no format of the pack reads such chats
            Err(_) => {}
        }
        let message = |line: &Map<String, Json>| {
            let text = |key: &str| line.get(key).and_then(Json::as_str).unwrap_or_default();
            let hidden = line.get("is_system").and_then(Json::as_bool).unwrap_or_default();
            let narrator = line.get("extra").and_then(|extra| extra.get("type")).and_then(Json::as_str) == Some("narrator");
            let role = if narrator {
                "system"
            } else if is_by_user(line) {
                "user"
            } else {
                "assistant"
            };
            Value::from(&json!({ "role": role, "name": text("name"), "text": text("mes"), "is_system": hidden }))
        };
        let shown = kept.iter().filter(|line| line.get("is_system") != Some(&json!(true)));
        scene.set("history", Value::list(shown.map(message).collect()));
        Ok(())
    }

    /// Adds a message of the user.
    pub(super) fn say(&mut self, name: &str, text: &str) {
        self.messages.push(message_line(name, true, text));
    }

    /// Adds a reply.
    pub(super) fn reply(&mut self, name: &str, text: &str, extra: Json) {
        let mut line = message_line(name, false, text);
        line.insert("extra".to_owned(), extra);
        line.insert("swipes".to_owned(), json!([text]));
        line.insert("swipe_id".to_owned(), json!(0));
        line.insert("swipe_info".to_owned(), json!([swipe_info(&line)]));
        self.messages.push(line);
    }

    /// Adds the greeting of the character: its texts are those of one reply, and one of them is chosen.
    pub(super) fn greet(&mut self, name: &str, texts: &[String], chosen: usize) -> Option<String> {
        let (first, others) = texts.split_first()?;
        self.reply(name, first, json!({}));
        for text in others {
            self.swipe(text, json!({}));
        }
        self.choose(chosen).or_else(|| self.choose(0))
    }

    /// Adds another text to the last reply, and chooses it.
    pub(super) fn swipe(&mut self, text: &str, extra: Json) {
        let (mut swipes, mut infos) = (self.swipes(), self.infos());
        swipes.push(json!(text));
        let Some(last) = self.messages.last_mut() else { return };
        last.insert("mes".to_owned(), json!(text));
        last.insert("send_date".to_owned(), json!(clock()));
        last.insert("extra".to_owned(), extra);
        infos.push(swipe_info(last));
        last.insert("swipe_id".to_owned(), json!(swipes.len().saturating_sub(1)));
        last.insert("swipes".to_owned(), Json::Array(swipes));
        last.insert("swipe_info".to_owned(), Json::Array(infos));
    }

    /// What is known of each text of the last reply: its time and its `extra`. That of the chosen one stands in the
    /// line itself.
    fn infos(&self) -> Vec<Json> {
        let Some(last) = self.messages.last() else { return Vec::new() };
        let mut infos = last.get("swipe_info").and_then(Json::as_array).cloned().unwrap_or_default();
        infos.resize(self.swipes().len(), json!({ "extra": {} }));
        if let Some(chosen) = infos.get_mut(chosen_swipe(last)) {
            *chosen = swipe_info(last);
        }
        infos
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
        let infos = self.infos();
        let last = self.messages.last_mut()?;
        last.insert("mes".to_owned(), json!(text));
        for (key, value) in infos.get(index).and_then(Json::as_object).into_iter().flatten() {
            last.insert(key.clone(), value.clone());
        }
        last.insert("swipe_info".to_owned(), Json::Array(infos));
        last.insert("swipe_id".to_owned(), json!(index));
        Some(text)
    }

    /// Removes the last message.
    pub(super) fn take_back(&mut self) {
        self.messages.pop();
    }

    /// Whether the last message is a reply; `None` if there is no message.
    pub(super) fn ends_with_reply(&self) -> Option<bool> {
        self.messages.last().map(|line| !is_by_user(line))
    }

    /// The last message of the user, and its index.
    pub(super) fn last_of_user(&self) -> Option<(usize, String)> {
        let (index, line) = self.messages.iter().enumerate().rfind(|(_, line)| is_by_user(line))?;
        Some((index, line.get("mes").and_then(Json::as_str).unwrap_or_default().to_owned()))
    }

    /// Replaces the text of a message; false if there is no such message.
    pub(super) fn edit(&mut self, index: usize, text: &str) -> bool {
        let Some(line) = self.messages.get_mut(index) else { return false };
        line.insert("mes".to_owned(), json!(text));
        let chosen = chosen_swipe(line);
        if let Some(swipes) = line.get_mut("swipes").and_then(Json::as_array_mut)
            && let Some(swipe) = swipes.get_mut(chosen)
        {
            *swipe = json!(text);
        }
        true
    }

    /// Writes the file, unless another program has changed it since it was last read or written.
    pub(super) fn save(&mut self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let held = match file::read(file, import::MAX_FILE as u64) {
            Ok(held) => Some(held),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                let message = format!("`{}` cannot be read: {}", path_text(file), file::reason(&error));
                return Err(EarlyExit::could_not(Code::FileMissing, message, "check the file and its permissions"));
            }
        };
        if held != self.known {
            let message = format!("`{}` was changed by another program, so it is not written", path_text(file));
            let help = "end this chat and open the file again; two chats cannot be kept in one file at the same time";
            return Err(EarlyExit::could_not(Code::FileMissing, message, help));
        }
        let header = Json::Object(self.header.clone());
        let mut text = format!("{header}\n");
        for line in &self.messages {
            text.push_str(&Json::Object(line.clone()).to_string());
            text.push('\n');
        }
        write_private(file, &text)?;
        self.known = Some(text.into_bytes());
        Ok(())
    }
}

/// The lock of the file of a chat, which need not exist: one chat at a time has it.
fn lock_chat(chat: &Path) -> Result<FileLock> {
    let mut path = chat.as_os_str().to_owned();
    path.push(".lock~");
    match FileLock::try_take(Path::new(&path)) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => {
            let message = format!("`{}` belongs to another chat that is still open", path_text(chat));
            Err(EarlyExit::could_not(Code::FileMissing, message, "end that chat first, or name another file with `--log`"))
        }
        Err(error) => {
            let message = format!("`{}` cannot be locked for this chat: {error}", path_text(chat));
            Err(EarlyExit::could_not(Code::FileMissing, message, "check the folder and its permissions"))
        }
    }
}

/// The number of the text of a reply that was chosen.
fn chosen_swipe(line: &Map<String, Json>) -> usize {
    line.get("swipe_id").and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok()).unwrap_or_default()
}

/// What belongs to one text of a reply, besides the text.
fn swipe_info(line: &Map<String, Json>) -> Json {
    let mut about = Map::new();
    for key in ["send_date", "gen_started", "gen_finished", "extra"] {
        if let Some(value) = line.get(key) {
            about.insert(key.to_owned(), value.clone());
        }
    }
    Json::Object(about)
}

/// A message of a scene as a line.
fn line_of_message(message: &Json) -> Map<String, Json> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| message.get(*key).and_then(Json::as_str)).unwrap_or_default().to_owned();
    let role = text(&["role"]);
    let mut line = message_line(&text(&["name"]), role == "user", &text(&["text", "content", "mes"]));
    let mut extra = Map::new();
    if role == "system" {
        extra.insert("type".to_owned(), json!("narrator"));
    }
    let meta = message.get("meta").and_then(Json::as_object);
    for (key, value) in meta.into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "time" => _ = line.insert("send_date".to_owned(), value.clone()),
            "forced_avatar" => _ = line.insert("force_avatar".to_owned(), value.clone()),
            "signature" => _ = extra.insert("reasoning_signature".to_owned(), value.clone()),
            key => _ = extra.insert(key.to_owned(), value.clone()),
        }
    }
    line.insert("extra".to_owned(), Json::Object(extra));
    if message.get("is_system").and_then(Json::as_bool) == Some(true) {
        line.insert("is_system".to_owned(), json!(true));
    }
    if let Some(member) = message.get("member_id").filter(|member| !member.is_null()) {
        line.insert("original_avatar".to_owned(), member.clone());
    }
    line
}

/// A line as a value; `names` are those of its fields, as lines before it have them.
fn line_value<'l>(line: &'l Map<String, Json>, names: &mut HashMap<&'l str, Arc<str>>) -> Value {
    let name = |key: &'l String| names.entry(key).or_insert_with(|| key.as_str().into()).clone();
    let names: Vec<Arc<str>> = line.keys().map(name).collect();
    Value::map(names.into_iter().zip(line.values().map(Value::from)).collect())
}

fn is_by_user(line: &Map<String, Json>) -> bool {
    line.get("is_user").and_then(Json::as_bool).unwrap_or_default()
}

fn message_line(name: &str, user: bool, text: &str) -> Map<String, Json> {
    let line = json!({ "name": name, "is_user": user, "is_system": false, "send_date": clock(), "mes": text, "extra": {} });
    line.as_object().cloned().unwrap_or_default()
}
