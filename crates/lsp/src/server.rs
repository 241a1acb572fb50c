//! The conversation with one editor. Messages that wait are read before one is handled, so that a request that was cancelled is not
//! answered in vain; what was typed is checked when nothing waits any more.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use crossbeam_channel::TryRecvError;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification as notify;
use lsp_types::notification::Notification as _;
use lsp_types::request as ask;
use lsp_types::request::Request as _;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeLens, DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, GlobPattern,
    Hover, HoverContents, InlayHint, Location, MarkupContent, MarkupKind, MessageType, NumberOrString, PrepareRenameResponse,
    PublishDiagnosticsParams, Registration, RegistrationParams, ShowMessageParams, TextEdit, Uri, WorkspaceEdit,
};
use serde::Deserialize;
use serde_json::Value as Json;
use tapster::diag::Report;
use tapster::machinery::pack::files::{is_rule_file, pack_around, parent, read_file};
use tapster::machinery::pack::{Overlay, Ruleset, Start};
use tapster_door::Door;

use crate::actions::{code_actions, whole_edit};
use crate::address::{address_of, path_of};
use crate::capabilities::{COMMANDS, EditorProfile, server_capabilities};
use crate::cases::{self, CaseResults, RunCasesParams};
use crate::completion::Completer;
use crate::diagnostics::{FileDiagnostics, published_address};
use crate::document::{OpenDocument, OpenDocuments};
use crate::files::EditedPacks;
use crate::foreign::{FileExamination, examine, may_examine};
use crate::hints::inlay_hints;
use crate::hover::describe_place;
use crate::lens::{case_lenses, pass_lenses};
use crate::mentions::NamedRow;
use crate::navigation::{Navigator, ShippedFiles};
use crate::outline::{ROOT, Syntax};
use crate::preview::{self, PreviewParams, PreviewRuns, PreviewScene};
use crate::project::{Project, ProjectRoot, has_known_kind, is_case, is_overlay};
use crate::rename::{Refusal, Renamer, row_at};
use crate::requests::{Answer, json_of, params_of, read_params, saved_addresses};
use crate::signature::signature_help;
use crate::subject::{RuleText, Subject};
use crate::symbols::{document_symbols, folding_ranges};
use crate::tokens::semantic_tokens;

/// What the server is given by the program that runs it.
#[derive(Clone)]
pub struct ServerOptions {
    /// Folders that hold packs by name.
    pub folders: Vec<PathBuf>,
    /// The time of previews whose scene says none.
    pub clock: Option<fn() -> String>,
    /// Lays out a TOML rule file; a text says why it cannot.
    pub format: fn(&str) -> Result<String, String>,
    /// Where files of shipped packs are written when an editor asks to see one.
    pub shipped: Option<ShippedFiles>,
}

/// Answers an editor until it leaves; `Ok(true)` if it said goodbye as the protocol asks.
///
/// # Errors
/// The editor does not begin as the protocol asks.
pub fn serve(connection: &Connection, options: ServerOptions) -> Result<bool, String> {
    let (id, params) = connection.initialize_start().map_err(|error| error.to_string())?;
    let result = serde_json::json!({
        "capabilities": server_capabilities(),
        "serverInfo": { "name": "tapster", "version": env!("CARGO_PKG_VERSION") },
    });
    let mut server = Server::new(connection, options, EditorProfile::read(&params));
    server.send(Message::Response(Response::new_ok(id, result)));
    Ok(server.run())
}

struct Server<'c> {
    connection: &'c Connection,
    options: ServerOptions,
    editor: EditorProfile,
    /// Folders of packs: the named ones, and `rules` of the workspace.
    folders: Vec<PathBuf>,
    door: Door,
    documents: OpenDocuments,
    /// The root of each open rule file, by its address.
    roots: HashMap<String, ProjectRoot>,
    projects: BTreeMap<ProjectRoot, Project>,
    /// What was found in open files of other programs, by address.
    foreign: HashMap<String, ForeignFile>,
    /// What the editor was told last.
    published: FileDiagnostics,
    /// The address under which it was told.
    addresses: BTreeMap<PathBuf, Uri>,
    case_results: CaseResults,
    preview_runs: Option<PreviewRuns>,
    /// How often the editor was asked to ask for lenses again.
    refreshes: u32,
    waiting: VecDeque<Message>,
    is_shut_down: bool,
}

/// An open file of another program.
struct ForeignFile {
    /// The text has changed since it was examined.
    is_stale: bool,
    found: FileExamination,
}

/// Whether a place lies in another one.
fn contains(outer: &Location, inner: &Location) -> bool {
    outer.uri == inner.uri && outer.range.start <= inner.range.start && inner.range.end <= outer.range.end
}

/// Whether a kind of action is this one, or a kind of it: `source.fixAll` of `source`.
fn is_kind(kind: &CodeActionKind, wanted: &CodeActionKind) -> bool {
    kind.as_str().strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl<'c> Server<'c> {
    fn new(connection: &'c Connection, options: ServerOptions, editor: EditorProfile) -> Self {
        let rules = editor.workspaces.iter().map(|folder| folder.join("rules")).filter(|folder| folder.is_dir());
        let folders: Vec<PathBuf> = options.folders.iter().cloned().chain(rules).collect();
        Self {
            connection,
            editor,
            door: Door::new(folders.clone(), options.clock),
            folders,
            options,
            documents: OpenDocuments::default(),
            roots: HashMap::new(),
            projects: BTreeMap::new(),
            foreign: HashMap::new(),
            published: FileDiagnostics::new(),
            addresses: BTreeMap::new(),
            case_results: CaseResults::default(),
            preview_runs: None,
            refreshes: 0,
            waiting: VecDeque::new(),
            is_shut_down: false,
        }
    }

    /// Asks the editor to tell of files that change on disk, if it can.
    fn watch_files(&self) {
        if !self.editor.can_watch {
            return;
        }
        let watcher = FileSystemWatcher { glob_pattern: GlobPattern::String("**/*.{toml,json,rhai}".to_owned()), kind: None };
        let options = DidChangeWatchedFilesRegistrationOptions { watchers: vec![watcher] };
        let registration = Registration {
            id: "files".to_owned(),
            method: notify::DidChangeWatchedFiles::METHOD.to_owned(),
            register_options: serde_json::to_value(options).ok(),
        };
        let params = RegistrationParams { registrations: vec![registration] };
        let id = RequestId::from("watch-files".to_owned());
        self.send(Message::Request(Request::new(id, ask::RegisterCapability::METHOD.to_owned(), params)));
    }

    /// Asks the editor to ask for lenses again, if it can.
    fn refresh_lenses(&mut self) {
        if self.editor.refreshes_lenses {
            self.refreshes += 1;
            let id = RequestId::from(format!("refresh-lenses-{}", self.refreshes));
            self.send(Message::Request(Request::new(id, ask::CodeLensRefresh::METHOD.to_owned(), Json::Null)));
        }
    }

    /// What cases and the preview have shown may be so no more.
    fn outdate_results(&mut self) {
        self.case_results.outdate();
        self.preview_runs = None;
    }

    /// Whoever is gone needs no message.
    fn send(&self, message: Message) {
        _ = self.connection.sender.send(message);
    }

    /// Handles messages until the editor leaves; whether it has asked to shut down before.
    fn run(&mut self) -> bool {
        loop {
            loop {
                match self.connection.receiver.try_recv() {
                    Ok(message) => self.waiting.push_back(message),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) if self.waiting.is_empty() => return self.is_shut_down,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            self.answer_cancelled();
            match self.waiting.pop_front() {
                Some(Message::Request(request)) => self.request(request),
                Some(Message::Notification(message)) if message.method == notify::Exit::METHOD => return self.is_shut_down,
                Some(Message::Notification(message)) => self.notification(message),
                Some(Message::Response(_)) => {}
                None if self.work() => {}
                None => match self.connection.receiver.recv() {
                    Ok(message) => self.waiting.push_back(message),
                    Err(_) => return self.is_shut_down,
                },
            }
        }
    }

    /// Answers requests that wait and were cancelled.
    fn answer_cancelled(&mut self) {
        let mut cancelled: HashSet<RequestId> = HashSet::new();
        for message in &self.waiting {
            let Message::Notification(message) = message else { continue };
            if message.method == notify::Cancel::METHOD
                && let Ok(params) = lsp_types::CancelParams::deserialize(&message.params)
            {
                cancelled.insert(match params.id {
                    NumberOrString::Number(id) => id.into(),
                    NumberOrString::String(id) => id.into(),
                });
            }
        }
        if cancelled.is_empty() {
            return;
        }
        let (gone, kept) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|message| matches!(message, Message::Request(request) if cancelled.contains(&request.id)));
        self.waiting = kept;
        for message in gone {
            if let Message::Request(request) = message {
                let text = "the request was cancelled".to_owned();
                self.send(Message::Response(Response::new_err(request.id, ErrorCode::RequestCanceled as i32, text)));
            }
        }
    }

    fn request(&mut self, request: Request) {
        let id = request.id.clone();
        let answer = if self.is_shut_down {
            Err((ErrorCode::InvalidRequest, "the server is shutting down".to_owned()))
        } else {
            self.answer(request)
        };
        self.send(Message::Response(match answer {
            Ok(result) => Response::new_ok(id, result),
            Err((code, message)) => Response::new_err(id, code as i32, message),
        }));
    }

    fn answer(&mut self, request: Request) -> Answer {
        let method = request.method.clone();
        match method.as_str() {
            ask::Shutdown::METHOD => {
                self.is_shut_down = true;
                Ok(Json::Null)
            }
            ask::Completion::METHOD => {
                let params = params_of::<ask::Completion>(request)?.text_document_position;
                json_of(self.completion(&params.text_document.uri, params.position))
            }
            ask::HoverRequest::METHOD => {
                let params = params_of::<ask::HoverRequest>(request)?.text_document_position_params;
                json_of(self.hover(&params.text_document.uri, params.position))
            }
            ask::GotoDefinition::METHOD => {
                let params = params_of::<ask::GotoDefinition>(request)?.text_document_position_params;
                json_of(self.places(&params.text_document.uri, params.position, |navigator, subject| navigator.definitions(subject)))
            }
            ask::References::METHOD => {
                let params = params_of::<ask::References>(request)?;
                let (at, with_definitions) = (params.text_document_position, params.context.include_declaration);
                json_of(self.places(&at.text_document.uri, at.position, |navigator, subject| {
                    let definitions = if with_definitions { Vec::new() } else { navigator.definitions(subject) };
                    let is_definition = |place: &Location| definitions.iter().any(|known| contains(known, place));
                    navigator.references(subject).into_iter().filter(|place| !is_definition(place)).collect()
                }))
            }
            ask::PrepareRenameRequest::METHOD => {
                let params = params_of::<ask::PrepareRenameRequest>(request)?;
                json_of(self.prepare_rename(&params.text_document.uri, params.position)?)
            }
            ask::Rename::METHOD => {
                let params = params_of::<ask::Rename>(request)?;
                let at = params.text_document_position;
                json_of(self.rename(&at.text_document.uri, at.position, &params.new_name)?)
            }
            ask::SignatureHelpRequest::METHOD => {
                let params = params_of::<ask::SignatureHelpRequest>(request)?.text_document_position_params;
                let document = self.documents.get(&params.text_document.uri);
                json_of(document.and_then(|document| signature_help(document, document.offset(params.position))))
            }
            ask::DocumentSymbolRequest::METHOD => {
                let params = params_of::<ask::DocumentSymbolRequest>(request)?;
                json_of(self.rule_text(&params.text_document.uri).map(document_symbols))
            }
            ask::FoldingRangeRequest::METHOD => {
                let params = params_of::<ask::FoldingRangeRequest>(request)?;
                json_of(self.rule_text(&params.text_document.uri).map(folding_ranges))
            }
            ask::SemanticTokensFullRequest::METHOD => {
                let params = params_of::<ask::SemanticTokensFullRequest>(request)?;
                json_of(self.rule_text(&params.text_document.uri).map(semantic_tokens))
            }
            ask::Formatting::METHOD => {
                let params = params_of::<ask::Formatting>(request)?;
                json_of(self.formatting(&params.text_document.uri)?)
            }
            ask::CodeActionRequest::METHOD => {
                let params = params_of::<ask::CodeActionRequest>(request)?;
                // repairs are those of the text as it is
                while self.work() {}
                let document = self.documents.get(&params.text_document.uri);
                let path = document.and_then(|document| Some((document, document.path.as_deref()?)));
                let actions = path.map(|(document, path)| code_actions(document, path, params.range, &self.published));
                let is_wanted = |action: &CodeActionOrCommand| {
                    let CodeActionOrCommand::CodeAction(CodeAction { kind: Some(kind), .. }) = action else { return true };
                    params.context.only.as_ref().is_none_or(|only| only.iter().any(|wanted| is_kind(kind, wanted)))
                };
                json_of(actions.map(|actions| actions.into_iter().filter(is_wanted).collect::<Vec<_>>()))
            }
            ask::CodeLensRequest::METHOD => {
                let params = params_of::<ask::CodeLensRequest>(request)?;
                json_of(self.code_lenses(&params.text_document.uri))
            }
            ask::InlayHintRequest::METHOD => {
                let params = params_of::<ask::InlayHintRequest>(request)?;
                json_of(self.inlay_hints(&params.text_document.uri, params.range))
            }
            ask::ExecuteCommand::METHOD => {
                let params = params_of::<ask::ExecuteCommand>(request)?;
                let first = params.arguments.into_iter().next().unwrap_or_default();
                match params.command.as_str() {
                    preview::COMMAND => self.preview(read_params(first)?),
                    cases::COMMAND => self.run_cases(read_params(first)?),
                    other => {
                        let message = format!("there is no command `{other}`; there are `{}`", COMMANDS.join("` and `"));
                        Err((ErrorCode::InvalidParams, message))
                    }
                }
            }
            preview::METHOD => self.preview(read_params(request.params)?),
            other => Err((ErrorCode::MethodNotFound, format!("there is no request `{other}`"))),
        }
    }

    fn notification(&mut self, message: Notification) {
        match message.method.as_str() {
            notify::Initialized::METHOD => self.watch_files(),
            notify::DidOpenTextDocument::METHOD => {
                if let Ok(params) = lsp_types::DidOpenTextDocumentParams::deserialize(message.params) {
                    let lsp_types::TextDocumentItem { uri, version, text, .. } = params.text_document;
                    self.documents.open(OpenDocument::new(uri.clone(), version, text));
                    self.find_root(&uri);
                    self.mark_changed(&uri);
                    self.outdate_results();
                }
            }
            notify::DidChangeTextDocument::METHOD => {
                let Ok(params) = lsp_types::DidChangeTextDocumentParams::deserialize(message.params) else { return };
                let uri = params.text_document.uri;
                if let Some(document) = self.documents.get_mut(&uri) {
                    document.change(params.text_document.version, params.content_changes);
                    if !matches!(self.roots.get(uri.as_str()), Some(ProjectRoot::Pack(_))) {
                        self.find_root(&uri);
                    }
                    self.mark_changed(&uri);
                    self.outdate_results();
                }
            }
            notify::DidCloseTextDocument::METHOD => {
                if let Ok(params) = lsp_types::DidCloseTextDocumentParams::deserialize(message.params) {
                    self.close(&params.text_document.uri);
                }
            }
            // files on disk may be others now
            notify::DidSaveTextDocument::METHOD | notify::DidChangeWatchedFiles::METHOD => {
                for address in saved_addresses(message) {
                    let path = path_of(&address);
                    // of an open document, the text has counted before it was saved
                    if path.as_deref().is_none_or(|path| self.documents.of_path(path).is_none()) {
                        self.outdate_results();
                    }
                    let of_file =
                        self.documents.iter().filter(|document| document.address == address || path.is_some() && document.path == path);
                    for document in of_file {
                        self.foreign.get_mut(document.address.as_str()).into_iter().for_each(|file| file.is_stale = true);
                    }
                }
                let open: Vec<Uri> = self.documents.iter().map(|document| document.address.clone()).collect();
                open.iter().for_each(|address| self.find_root(address));
                self.projects.values_mut().for_each(|project| project.is_stale = true);
            }
            _ => {}
        }
    }

    /// Finds out what the rules of an open document are, and forgets those that nobody has open any more.
    fn find_root(&mut self, address: &Uri) {
        let Some(document) = self.documents.get(address) else { return };
        let root = ProjectRoot::of(document, self.editor.pack.as_deref());
        let is_foreign = root.is_none() && may_examine(document);
        let key = address.as_str().to_owned();
        if is_foreign {
            let new = || ForeignFile { is_stale: true, found: FileExamination::default() };
            self.foreign.entry(key.clone()).or_insert_with(new);
        } else {
            self.foreign.remove(&key);
        }
        let before = match root {
            Some(root) => {
                let project = self.projects.entry(root.clone()).or_default();
                let before = self.roots.insert(key, root.clone());
                project.is_stale |= before.as_ref() != Some(&root);
                before.filter(|before| *before != root)
            }
            None => self.roots.remove(&key),
        };
        self.forget_root(before);
    }

    fn forget_root(&mut self, root: Option<ProjectRoot>) {
        let Some(root) = root.filter(|root| !self.roots.values().any(|known| known == root)) else { return };
        self.projects.remove(&root);
    }

    /// The rules of a document, and those that are built on them, have changed.
    fn mark_changed(&mut self, address: &Uri) {
        if let Some(file) = self.foreign.get_mut(address.as_str()) {
            // what no pack reads is looked at again when it is saved, and what cannot be read, when it changes
            file.is_stale |= file.found.pack.is_some() || file.found.is_unread;
        }
        let Some(document) = self.documents.get(address) else { return };
        let Some(path) = document.path.clone() else { return };
        let own = self.roots.get(address.as_str());
        for (root, project) in &mut self.projects {
            if own == Some(root) && is_case(document, root) {
                if !project.stale_cases.contains(&path) {
                    project.stale_cases.push(path.clone());
                }
            } else if own == Some(root) || project.reads(&path) {
                project.is_stale = true;
            }
        }
    }

    fn close(&mut self, address: &Uri) {
        let closed = self.documents.close(address);
        self.foreign.remove(address.as_str());
        let root = self.roots.remove(address.as_str());
        if let Some(path) = closed.and_then(|document| document.path) {
            self.case_results.forget(&path);
            for (known, project) in &mut self.projects {
                let is_own = root.as_ref() == Some(known);
                // the text on disk counts again
                project.is_stale |= is_own || project.reads(&path);
                if is_own {
                    project.forget_case(&path);
                }
            }
        }
        self.outdate_results();
        self.forget_root(root);
        self.publish();
    }

    /// Does one piece of the work that waits for a quiet moment: whether there was one.
    fn work(&mut self) -> bool {
        if let Some((root, project)) = self.projects.iter_mut().find(|(_, project)| project.is_stale) {
            project.check(root, &self.folders, &self.documents);
            let open = self.documents.iter().filter(|document| self.roots.get(document.address.as_str()) == Some(root));
            let cases = open.filter(|document| is_case(document, root)).filter_map(|document| document.path.clone());
            project.stale_cases = cases.collect();
        } else if let Some((root, project)) = self.projects.iter_mut().find(|(_, project)| !project.stale_cases.is_empty()) {
            let path = project.stale_cases.remove(0);
            project.check_case(&path, root, &self.folders, &self.documents);
        } else if let Some((address, file)) = self.foreign.iter_mut().find(|(_, file)| file.is_stale) {
            file.is_stale = false;
            let document = self.documents.iter().find(|document| document.address.as_str() == address);
            let pack = file.found.pack.take();
            file.found = document.map(|document| examine(document, pack.as_deref(), &self.door)).unwrap_or_default();
        } else {
            return false;
        }
        self.publish();
        true
    }

    /// Tells the editor what is found in files where that is not what it was told last.
    fn publish(&mut self) {
        let mut all = FileDiagnostics::new();
        let of_foreign = self.foreign.iter().filter_map(|(address, file)| {
            let document = self.documents.iter().find(|document| document.address.as_str() == address)?;
            Some((document.path.clone()?, file.found.diagnostics.clone()))
        });
        let of_projects = self.projects.values().flat_map(Project::all_found);
        for (path, found) in of_projects.chain(of_foreign) {
            let list = all.entry(path).or_default();
            for one in found {
                if !list.contains(&one) {
                    list.push(one);
                }
            }
        }
        // what was found in an older text has the places of that: the editor keeps what it was told, until the text is checked
        for path in self.projects.values().flat_map(Project::stale_files) {
            match self.published.get(&path) {
                Some(found) => _ = all.insert(path, found.clone()),
                None => _ = all.remove(&path),
            }
        }
        let mut told: Vec<(Uri, Option<i32>, Vec<lsp_types::Diagnostic>)> = Vec::new();
        let mut addresses = BTreeMap::new();
        for (path, found) in &all {
            let before = self.addresses.remove(path);
            // of two documents of one file, the one that was told before
            let kept = before.clone().filter(|address| self.documents.get(address).is_some());
            let Some(address) = kept.or_else(|| published_address(path, &self.documents)) else { continue };
            let is_moved = before.as_ref() != Some(&address);
            let is_told = !is_moved && self.published.get(path) == Some(found);
            // first, since an editor may take both addresses for one
            if let Some(before) = before.filter(|_| is_moved) {
                told.push((before, None, Vec::new()));
            }
            if !is_told {
                let version = self.documents.get(&address).map(|document| document.version);
                told.push((address.clone(), version, found.clone()));
            }
            addresses.insert(path.clone(), address);
        }
        let mended = std::mem::replace(&mut self.addresses, addresses).into_values();
        told.extend(mended.map(|address| {
            let version = self.documents.get(&address).map(|document| document.version);
            (address, version, Vec::new())
        }));
        for (uri, version, diagnostics) in told {
            let params = PublishDiagnosticsParams { uri, diagnostics, version };
            self.send(Message::Notification(Notification::new(notify::PublishDiagnostics::METHOD.to_owned(), params)));
        }
        self.published = all;
    }
}

/// Questions about a place.
impl Server<'_> {
    /// Makes sure that there are rules to answer with: those of an older text are better than to let an editor wait.
    fn prepare(&mut self, address: &Uri) {
        let Some(root) = self.roots.get(address.as_str()) else { return };
        if let Some(project) = self.projects.get_mut(root).filter(|project| project.is_stale && project.pack().is_none()) {
            project.check(root, &self.folders, &self.documents);
            self.publish();
        }
    }

    /// A document with its project.
    fn with_rules<T>(
        &mut self,
        address: &Uri,
        use_them: impl FnOnce(&OpenDocument, Option<&RuleText<'_>>, Option<&ServerContext<'_>>) -> T,
    ) -> Option<T> {
        self.prepare(address);
        let document = self.documents.get(address)?;
        let project = self.roots.get(address.as_str()).and_then(|root| self.projects.get(root));
        let context = ServerContext { documents: &self.documents, shipped: self.options.shipped.as_ref() };
        let text = project.and_then(|project| {
            Some(RuleText { text: &document.text, outline: document.outline(), pack: project.pack()?, names: project.names()? })
        });
        Some(use_them(document, text.as_ref(), Some(&context)))
    }

    /// A document, unless its ending says that it is neither TOML nor JSON.
    fn rule_text(&self, address: &Uri) -> Option<&OpenDocument> {
        self.documents.get(address).filter(|document| document.may_hold_rules())
    }

    /// The schema of the kind that a document is of.
    fn schema(&mut self, address: &Uri) -> Option<std::sync::Arc<Json>> {
        let document = self.documents.get(address)?;
        let outline = document.outline();
        let kind = outline.text_at(ROOT, "kind", &document.text)?.to_owned();
        let written = outline.entry(ROOT, "version").and_then(|entry| outline.node(entry.node));
        let version = written.and_then(|node| document.text.get(node.range.clone())?.trim().parse().ok());
        let root = self.roots.get(address.as_str());
        match root.and_then(|root| self.projects.get_mut(root)) {
            Some(project) => project.schema(&kind, version),
            None => Project::default().schema(&kind, version),
        }
    }

    fn completion(&mut self, address: &Uri, position: lsp_types::Position) -> Option<Vec<lsp_types::CompletionItem>> {
        self.rule_text(address)?;
        self.prepare(address);
        let schema = self.schema(address);
        self.with_rules(address, |document, rules, _| {
            let syntax = Syntax::of(document.path.as_deref().unwrap_or(Path::new("")), &document.text);
            Completer { document, rules, schema, syntax }.complete(document.offset(position))
        })
    }

    fn hover(&mut self, address: &Uri, position: lsp_types::Position) -> Option<Hover> {
        let schema = self.schema(address);
        let of_foreign = self.foreign.get(address.as_str()).map(|file| file.found.parts.clone());
        let found = self.with_rules(address, |document, rules, _| {
            let offset = document.offset(position);
            let part = of_foreign.into_iter().flatten().find(|(range, _)| range.contains(&offset)).map(|(range, text)| (text, range));
            let (text, range) = part.or_else(|| describe_place(document, rules, schema, offset))?;
            Some((text, document.lines.range(&document.text, &range)))
        });
        let (value, range) = found.flatten()?;
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
        Some(Hover { contents, range: Some(range) })
    }

    /// Places of what a position is about.
    fn places(
        &mut self,
        address: &Uri,
        position: lsp_types::Position,
        find: impl Fn(&Navigator<'_>, &Subject) -> Vec<Location>,
    ) -> Option<Vec<Location>> {
        let found = self.with_rules(address, |document, rules, context| {
            let (rules, context) = (rules?, context?);
            let subject = rules.subject(document.offset(position))?.subject;
            Some(find(&Navigator { rules, documents: context.documents, shipped: context.shipped }, &subject))
        });
        found.flatten()
    }

    /// The row whose name stands at a position, and what renames it.
    fn renamer(&mut self, address: &Uri, position: lsp_types::Position) -> Result<(Renamer<'_>, NamedRow, lsp_types::Range), Refusal> {
        // a rename is right for the text as it is, or not at all
        while self.work() {}
        let document = self.rule_text(address).ok_or("the document is not open, or is no rule file")?;
        let root = self.roots.get(address.as_str()).filter(|root| !matches!(root, ProjectRoot::File(_)));
        let found = root.and_then(|root| Some((root, self.projects.get(root)?)));
        let (root, project) = found.ok_or("the document belongs to no pack that is known")?;
        let rules = project
            .rules
            .as_ref()
            .filter(|_| !project.has_errors())
            .ok_or("the rules have errors: names are changed in rules that pass the check")?;
        let (row, range) = row_at(document, rules, document.offset(position))?;
        let mark = document.mark_length();
        let at = (document.path.clone().unwrap_or_default(), range.start.saturating_sub(mark)..range.end.saturating_sub(mark));
        let renamer = Renamer { at, rules, root, folders: &self.folders, workspaces: &self.editor.workspaces, documents: &self.documents };
        Ok((renamer, row, document.lines.range(&document.text, &range)))
    }

    fn prepare_rename(&mut self, address: &Uri, position: lsp_types::Position) -> Result<PrepareRenameResponse, (ErrorCode, String)> {
        let refused = |refusal: Refusal| (ErrorCode::RequestFailed, refusal);
        let (renamer, row, range) = self.renamer(address, position).map_err(refused)?;
        renamer.places(&row).map_err(refused)?;
        Ok(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder: row.short().to_owned() })
    }

    fn rename(&mut self, address: &Uri, position: lsp_types::Position, new: &str) -> Result<WorkspaceEdit, (ErrorCode, String)> {
        let refused = |refusal: Refusal| (ErrorCode::RequestFailed, refusal);
        let takes_versions = self.editor.takes_versions;
        let (renamer, row, _) = self.renamer(address, position).map_err(refused)?;
        renamer.rename(&row, new, takes_versions).map_err(refused)
    }

    fn formatting(&self, address: &Uri) -> Result<Option<Vec<TextEdit>>, (ErrorCode, String)> {
        let Some(document) = self.documents.get(address) else { return Ok(None) };
        match document.ending() {
            Some("toml") if self.roots.contains_key(address.as_str()) || has_known_kind(document) => {}
            Some("json") => return Err((ErrorCode::RequestFailed, "only TOML files are laid out".to_owned())),
            // files of other programs are laid out by others
            _ => return Ok(None),
        }
        let formatted = (self.options.format)(&document.text).map_err(|reason| (ErrorCode::RequestFailed, reason))?;
        Ok(Some(whole_edit(document, formatted)))
    }

    fn preview(&mut self, params: PreviewParams) -> Answer {
        let scene = match PreviewScene::read(&preview::named_path(&params.scene), &self.documents) {
            Ok(scene) => scene,
            Err(diagnostics) => return Ok(preview::refused(diagnostics)),
        };
        let rules = match self.preview_rules(&scene, params.pack.as_deref()) {
            Ok(rules) => rules,
            Err(diagnostics) => return Ok(preview::refused(diagnostics)),
        };
        let document = params.text_document.and_then(|document| self.documents.get(&document.uri));
        let cursor = document.zip(params.position).map(|(document, position)| (document, document.offset(position)));
        let (answer, runs) = match scene.build(&rules, &self.door, cursor) {
            Ok(built) => (built.answer, Some(PreviewRuns { scene: preview::short_name(&params.scene), rules, ran: built.ran })),
            Err(diagnostics) => (preview::refused(diagnostics), None),
        };
        let is_same = |was: &PreviewRuns, is: &PreviewRuns| was.scene == is.scene && was.ran == is.ran;
        let changed = match (&self.preview_runs, &runs) {
            (Some(was), Some(is)) => !is_same(was, is),
            (was, is) => was.is_some() || is.is_some(),
        };
        self.preview_runs = runs;
        if changed {
            self.refresh_lenses();
        }
        Ok(answer)
    }

    /// The lenses of the cases of a case file, or of the passes of another rule file.
    fn code_lenses(&mut self, address: &Uri) -> Option<Vec<CodeLens>> {
        // places and names are those of the text as it is
        while self.work() {}
        let document = self.rule_text(address)?;
        if document.outline().text_at(ROOT, "kind", &document.text) == Some("case") {
            return Some(case_lenses(document, document.path.as_deref()?, &self.case_results));
        }
        let rules = self.projects.get(self.roots.get(address.as_str())?)?.rules.as_ref()?;
        Some(pass_lenses(document, rules, self.preview_runs.as_ref()))
    }

    /// What the rows in a range inherit.
    fn inlay_hints(&mut self, address: &Uri, range: lsp_types::Range) -> Option<Vec<InlayHint>> {
        while self.work() {}
        let document = self.rule_text(address)?;
        let project = self.projects.get(self.roots.get(address.as_str())?)?;
        Some(inlay_hints(document, project.pack()?, project.names()?, range))
    }

    /// Runs cases, and tells which fail.
    fn run_cases(&mut self, params: RunCasesParams) -> Answer {
        let failed = |message: String| (ErrorCode::RequestFailed, message);
        let Some(path) = path_of(&params.text_document.uri) else {
            return Err(failed("only the cases of a file can be run".to_owned()));
        };
        let near = parent(pack_around(&path).as_deref().unwrap_or(&path));
        let library = EditedPacks::new(&self.folders, near.as_deref(), &self.documents);
        let report = cases::run(&path, params.case.as_deref(), &library, &self.documents, &self.door);
        let report = report.ok_or_else(|| failed(format!("`{}` cannot be read", path.display())))?;
        if cases::is_empty(&report) {
            return Err(failed(format!("`{}` has no such case", path.display())));
        }
        self.case_results.keep(&path, &report);
        if let Some(message) = cases::failure_message(&report) {
            let params = ShowMessageParams { typ: MessageType::WARNING, message };
            self.send(Message::Notification(Notification::new(notify::ShowMessage::METHOD.to_owned(), params)));
        }
        self.refresh_lenses();
        Ok(report)
    }

    /// The rules of a preview: those of the scene, or of the pack that is asked for, with the texts of open documents.
    fn preview_rules(&mut self, scene: &PreviewScene, pack: Option<&str>) -> Result<Ruleset, Vec<Json>> {
        let (mut start, mut overlays) = (scene.start.clone(), scene.overlays.clone());
        if let Some(named) = pack {
            let path = preview::named_path(named);
            let closed = if self.documents.of_path(&path).is_none() { read_closed(&path) } else { None };
            let document = self.documents.of_path(&path).or(closed.as_ref());
            let mut lay_over = |path: PathBuf| {
                if !overlays.iter().any(|known| matches!(known, Overlay::Path(known) if *known == path)) {
                    overlays.push(Overlay::Path(path));
                }
            };
            match document.and_then(|document| ProjectRoot::of(document, self.editor.pack.as_deref())) {
                Some(ProjectRoot::Pack(folder)) => start = Start::Folder(folder),
                Some(ProjectRoot::Overlay(path, over)) => {
                    start = over;
                    lay_over(path);
                }
                // an overlay that names no pack is laid over the rules of the scene
                Some(ProjectRoot::File(path)) if document.is_some_and(is_overlay) => lay_over(path),
                _ if path.is_dir() => start = Start::Folder(path),
                _ => match pack_around(&path) {
                    Some(folder) => start = Start::Folder(folder),
                    // a file that is no rule changes none
                    None if path.is_file() => {}
                    None => start = Start::typed(named),
                },
            }
        }
        // rules that were just checked need not be compiled again
        if let Start::Folder(folder) = &start
            && overlays.is_empty()
            && let Some(project) = self.projects.get(&ProjectRoot::Pack(folder.clone())).filter(|project| !project.is_stale)
            && let Some(rules) = &project.rules
            && !project.has_errors()
        {
            return Ok(rules.clone());
        }
        let near = if let Start::Folder(folder) = &start { parent(folder) } else { None };
        let library = EditedPacks::new(&self.folders, near.as_deref(), &self.documents);
        Ruleset::load(&start, &overlays, &library).map_err(|error| {
            let told = tapster::diag::render::json(&error.report, &error.sources);
            told.as_array().cloned().unwrap_or_default()
        })
    }
}

/// A rule file that is not open, as it is on disk.
fn read_closed(path: &Path) -> Option<OpenDocument> {
    let address = address_of(path).filter(|_| is_rule_file(path) && path.is_file())?;
    let file = read_file(path, &mut Report::default())?;
    Some(OpenDocument::new(address, 0, String::from_utf8(file.bytes).ok()?))
}

/// What questions about places need beside the rules.
struct ServerContext<'s> {
    documents: &'s OpenDocuments,
    shipped: Option<&'s ShippedFiles>,
}
