//! An editor for tests: it opens files, types, asks, and remembers what it was told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use serde_json::{Value as Json, json};
use tapster_lsp::{ServerOptions, ShippedFiles, serve};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that is removed when it is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tapster-lsp-{}-{n}", std::process::id())).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    /// Writes a file beside the folder.
    pub(crate) fn beside(&self, path: &str, text: &str) -> PathBuf {
        let path = self.write(&format!("../{path}"), text);
        path.canonicalize().unwrap()
    }

    pub(crate) fn write(&self, inside: &str, text: &str) -> PathBuf {
        let path = self.0.join(inside);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

/// A folder with a pack that extends `base`, and one more file.
pub(crate) fn small_pack() -> Folder {
    let folder = Folder::new("mine");
    folder.write(
        "pack.toml",
        "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"0.1.0\"\nengine = \">=0.1\"\nlicence = \"MIT\"\nextends = [{ name = \"base\" }]\n",
    );
    folder
}

pub(crate) fn address(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// The editor.
pub(crate) struct Editor {
    connection: Option<Connection>,
    server: Option<JoinHandle<Result<bool, String>>>,
    next: i32,
    version: i32,
    /// Answers that nobody has waited for yet.
    answers: BTreeMap<String, Response>,
    /// What the server has said of each file last.
    pub(crate) diagnostics: BTreeMap<String, Vec<Json>>,
    /// All that it has said of files, in order.
    pub(crate) told: Vec<Json>,
    /// How often it has said something.
    pub(crate) published: usize,
    /// What it has asked of the editor.
    pub(crate) asked: Vec<String>,
    /// What it has shown to the person.
    pub(crate) messages: Vec<String>,
    /// Where it writes files of shipped packs.
    pub(crate) cache: Folder,
}

impl Editor {
    pub(crate) fn start() -> Self {
        Self::start_with(json!({}))
    }

    pub(crate) fn start_with(settings: Json) -> Self {
        Self::initialize(json!({ "capabilities": {}, "initializationOptions": settings }))
    }

    /// An editor that asks for lenses again when it is told to.
    pub(crate) fn start_with_lenses() -> Self {
        Self::initialize(json!({ "capabilities": { "workspace": { "codeLens": { "refreshSupport": true } } } }))
    }

    /// An editor that names a root, and no workspaces.
    pub(crate) fn start_in(root: &Path) -> Self {
        Self::initialize(json!({ "capabilities": {}, "rootUri": address(root) }))
    }

    pub(crate) fn initialize(params: Json) -> Self {
        let cache = Folder::new("cache");
        let (connection, other) = Connection::memory();
        let format = |text: &str| Ok(text.replace("  =  ", " = "));
        let options = ServerOptions { folders: Vec::new(), clock: None, format, shipped: Some(ShippedFiles::in_folder(cache.0.clone())) };
        let server = std::thread::Builder::new().stack_size(8 << 20).spawn(move || serve(&other, options)).unwrap();
        let mut editor = Self {
            connection: Some(connection),
            server: Some(server),
            next: 0,
            version: 0,
            answers: BTreeMap::new(),
            diagnostics: BTreeMap::new(),
            told: Vec::new(),
            published: 0,
            asked: Vec::new(),
            messages: Vec::new(),
            cache,
        };
        editor.ask("initialize", params);
        editor.tell("initialized", json!({}));
        editor
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().unwrap()
    }

    pub(crate) fn tell(&mut self, method: &str, params: Json) {
        self.connection().sender.send(Message::Notification(Notification::new(method.to_owned(), params))).unwrap();
    }

    /// Asks without waiting.
    pub(crate) fn begin(&mut self, method: &str, params: Json) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        self.connection().sender.send(Message::Request(Request::new(id.clone(), method.to_owned(), params))).unwrap();
        id
    }

    /// Waits for the answer to a request.
    pub(crate) fn wait_for(&mut self, id: &RequestId) -> Response {
        loop {
            if let Some(answer) = self.answers.remove(&id.to_string()) {
                return answer;
            }
            match self.connection().receiver.recv_timeout(PATIENCE).unwrap() {
                Message::Response(answer) => _ = self.answers.insert(answer.id.to_string(), answer),
                other => self.listen(other),
            }
        }
    }

    fn listen(&mut self, message: Message) {
        let message = match message {
            Message::Notification(message) => message,
            Message::Request(request) => return self.asked.push(request.method),
            Message::Response(_) => return,
        };
        if message.method == "window/showMessage" {
            self.messages.push(message.params["message"].as_str().unwrap().to_owned());
        }
        if message.method == "textDocument/publishDiagnostics" {
            self.published += 1;
            self.told.push(message.params.clone());
            let uri = message.params["uri"].as_str().unwrap().to_owned();
            self.diagnostics.insert(uri, message.params["diagnostics"].as_array().unwrap().clone());
        }
    }

    /// The result of a request that succeeds.
    pub(crate) fn ask(&mut self, method: &str, params: Json) -> Json {
        let id = self.begin(method, params);
        let response = self.wait_for(&id);
        assert!(response.error.is_none(), "{method}: {:?}", response.error);
        response.result.unwrap_or_default()
    }

    pub(crate) fn open(&mut self, path: &Path, text: &str) {
        self.version += 1;
        let document = json!({ "uri": address(path), "languageId": "toml", "version": self.version, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// The document has this text now.
    pub(crate) fn change(&mut self, path: &Path, text: &str) {
        self.version += 1;
        let params = json!({
            "textDocument": { "uri": address(path), "version": self.version }, "contentChanges": [{ "text": text }],
        });
        self.tell("textDocument/didChange", params);
    }

    pub(crate) fn close(&mut self, path: &Path) {
        self.tell("textDocument/didClose", json!({ "textDocument": { "uri": address(path) } }));
    }

    /// Waits until what was typed has been checked: repairs are those of the text as it is.
    pub(crate) fn settle(&mut self, path: &Path) -> Vec<Json> {
        let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9999, "character": 0 } });
        let params = json!({ "textDocument": { "uri": address(path) }, "range": whole, "context": { "diagnostics": [] } });
        self.ask("textDocument/codeAction", params).as_array().cloned().unwrap_or_default()
    }

    /// What was said of a file, as `code line:character-line:character`.
    pub(crate) fn found(&self, path: &Path) -> Vec<String> {
        let place = |place: &Json| format!("{}:{}", place["line"], place["character"]);
        let all = self.diagnostics.get(&address(path)).into_iter().flatten();
        all.map(|one| format!("{} {}-{}", one["code"].as_str().unwrap(), place(&one["range"]["start"]), place(&one["range"]["end"])))
            .collect()
    }

    /// A question about the place of `|` in a text, which is opened without it.
    pub(crate) fn ask_at(&mut self, method: &str, path: &Path, marked: &str) -> Json {
        let (text, position) = split_mark(marked);
        self.open(path, &text);
        let mut params = json!({ "textDocument": { "uri": address(path) }, "position": position });
        if method == "textDocument/references" {
            params["context"] = json!({ "includeDeclaration": true });
        }
        self.ask(method, params)
    }

    /// The labels that are proposed at `|`.
    pub(crate) fn labels(&mut self, path: &Path, marked: &str) -> Vec<String> {
        let items = self.ask_at("textDocument/completion", path, marked);
        items.as_array().into_iter().flatten().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    }

    /// The Markdown that is shown at `|`; empty if nothing is.
    pub(crate) fn hover(&mut self, path: &Path, marked: &str) -> String {
        self.ask_at("textDocument/hover", path, marked)["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }
}

/// A text without its `|`, and the position of that.
pub(crate) fn split_mark(marked: &str) -> (String, Json) {
    let (before, after) = marked.split_once('|').unwrap();
    let line = before.matches('\n').count();
    let units = before.rsplit('\n').next().unwrap().encode_utf16().count();
    (format!("{before}{after}"), json!({ "line": line, "character": units }))
}

impl Drop for Editor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.ask("shutdown", Json::Null);
        self.tell("exit", Json::Null);
        self.connection = None;
        assert_eq!(self.server.take().unwrap().join().unwrap(), Ok(true));
    }
}
