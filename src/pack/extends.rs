//! Determines the packs of a build, lowest first: reads manifests and follows `extends`, each pack once.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use semver::{Version, VersionReq};

use super::files::{PackFiles, RuleFile, meant_ending, name_of};
use super::library::PackLibrary;
use super::read::{RuleDocument, SchemaCheck, UnreadTexts};
use super::schemas::Schemas;
use super::{files, library, read};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Help, Report, Severity, SourceId, Sources, Span, limits, memory};
use crate::model::rights::{ScriptRights, TABLE};

/// One layer as read: the documents of a pack, or the single document of an overlay.
pub(super) struct LayerDocs {
    pub(super) name: String,
    pub(super) release: Version,
    pub(super) overlay: bool,
    /// The folder that a pack was read from, if any.
    pub(super) folder: Option<PathBuf>,
    /// The pack or overlay that an overlay says it is written for.
    pub(super) extends: Option<String>,
    /// The documents that hold rules, in the order of their paths.
    pub(super) docs: Vec<RuleDocument>,
    /// Scripts and templates.
    pub(super) assets: Vec<(String, SourceId)>,
}

/// Reads packs and what they extend.
pub(super) struct PackResolver<'a> {
    pub(super) library: &'a dyn PackLibrary,
    pub(super) schemas: &'a Schemas,
    pub(super) sources: &'a mut Sources,
    pub(super) report: &'a mut Report,
    /// Packs read, lowest first.
    pub(super) done: Vec<LayerDocs>,
    /// Whether every pack exists with all its files; some of them may be unreadable.
    pub(super) complete: bool,
    /// What is yet to be checked against schemas; `None` if each file is checked as it is read.
    pub(super) checks: Option<Vec<SchemaCheck>>,
    /// Whether every pack is embedded in the program as it is.
    pub(super) embedded: bool,
    /// Rule files that could not be read.
    pub(super) unread: UnreadTexts,
    /// The names of all overlays, also of those that are not read yet.
    pub(super) overlays: Vec<String>,
    /// The packs being read: each extends the next.
    chain: Vec<OpenPack>,
    /// The memory that the values of the files read so far take.
    memory: usize,
}

/// A pack whose `extends` is being followed.
struct OpenPack {
    name: String,
    /// The folder in which it lies, if it was read from one: packs beside it can be extended by name.
    near: Option<PathBuf>,
    /// The entry that is being followed: the name and its place.
    next: Option<(String, Span)>,
}

/// One entry of `extends`.
struct ExtendsEntry {
    name: String,
    range: Option<VersionReq>,
    span: Span,
}

/// An overlay that lies in the folder of a pack.
struct InnerOverlay {
    name: String,
    /// What it says that it is written for, and where.
    wanted: Option<(String, Span)>,
}

impl InnerOverlay {
    fn of(doc: &RuleDocument, file: &RuleFile) -> Self {
        let name = doc.root.get("name").and_then(DocumentNode::as_text).map(str::to_owned);
        let wanted = doc.root.get("extends").and_then(|node| Some((node.as_text()?.to_owned(), node.span)));
        InnerOverlay { name: named_or_stem(name, file), wanted }
    }
}

impl<'a> PackResolver<'a> {
    pub(super) fn new(library: &'a dyn PackLibrary, schemas: &'a Schemas, sources: &'a mut Sources, report: &'a mut Report) -> Self {
        PackResolver {
            library,
            schemas,
            sources,
            report,
            done: Vec::new(),
            complete: true,
            embedded: true,
            unread: UnreadTexts::default(),
            checks: None,
            overlays: Vec::new(),
            chain: Vec::new(),
            memory: 0,
        }
    }

    /// Reads everything that a pack extends, then the pack itself. Recursion is bounded by [`limits::PACKS`].
    pub(super) fn visit(&mut self, pack: PackFiles) {
        let manifests: Vec<&RuleFile> = pack.files.iter().filter(|f| is_manifest(&f.path_in_pack)).collect();
        let Some(file) = manifests.first() else {
            let message = format!("pack `{}` has no `pack.toml`", pack.name);
            self.fail(
                Diagnostic::new(Code::PackManifest, message).help("add one with `kind = \"pack\"`, `version = 1`, `name` and `release`"),
            );
            return;
        };
        let name = read::peek(file, "name").unwrap_or_else(|| pack.name.clone());
        let Some(manifest) = self.read(file, &name) else {
            // the packs that it extends are not known
            self.complete = false;
            return;
        };
        if let [_, second, ..] = manifests.as_slice() {
            let message = format!("pack `{name}` has two manifests, `pack.toml` and `pack.json`");
            self.report.push(Diagnostic::new(Code::PackManifest, message).at(manifest.root.span).help(format!("remove `{}`", second.name)));
        }
        self.embedded &= library::is_embedded_pack(&pack);
        let release = self.check_manifest(&manifest, &name);
        let near = pack.folder.as_deref().and_then(files::parent);
        self.chain.push(OpenPack { name: name.clone(), near, next: None });
        for entry in self.extends_of(&manifest.root) {
            self.follow(entry, pack.folder.as_deref());
        }
        self.chain.pop();
        let layer = self.layer(pack, name, release, manifest);
        self.done.push(layer);
    }

    /// Reads the rest of a pack after the packs that it extends.
    fn layer(&mut self, pack: PackFiles, name: String, release: Version, manifest: RuleDocument) -> LayerDocs {
        let (mut docs, mut overlays) = (vec![manifest], Vec::new());
        for file in pack.files.iter().filter(|f| !is_manifest(&f.path_in_pack)) {
            let Some(doc) = self.read(file, &name) else { continue };
            match &*doc.kind {
                "pack" => {
                    let complaint = Diagnostic::new(Code::PackManifest, format!("a second manifest in pack `{name}`")).at(doc.root.span);
                    self.report.push(complaint.help("a pack is one folder with one `pack.toml`; move the inner pack beside it"));
                }
                // rule tests are read by the code that runs them
                "case" => self.report.push(outside_of_cases(file, &doc)),
                "overlay" => {
                    overlays.push(InnerOverlay::of(&doc, file));
                    docs.push(doc);
                }
                _ => docs.push(doc),
            }
        }
        self.check_written_for(&overlays, &name);
        let spoken = SpokenNames::of(&pack, &docs);
        let mut assets = Vec::new();
        for (path, file) in &pack.assets {
            match read::decode(file, &name, self.sources, self.report) {
                Some((id, _)) => {
                    let complaint = outside_of_scripts(file, Span::new(id, 0, 0), &spoken);
                    complaint.into_iter().for_each(|complaint| self.report.push(complaint));
                    assets.push((path.clone(), id));
                }
                None => self.complete = false,
            }
        }
        let left = docs.first().map(|manifest| stray_files(&pack.strays, &pack.cases, manifest, &spoken));
        left.into_iter().flatten().for_each(|complaint| self.report.push(complaint));
        LayerDocs { name, release, overlay: false, folder: pack.folder, extends: None, docs, assets }
    }

    /// Warns of overlays in the folder of a pack, of which they are parts as every other rule file, that say they are written
    /// for something which is not below them. `name` is that of the pack.
    fn check_written_for(&mut self, overlays: &[InnerOverlay], name: &str) {
        let mut times: HashMap<&str, usize> = HashMap::new();
        for overlay in overlays {
            *times.entry(&overlay.name).or_default() += 1;
        }
        for overlay in overlays {
            let Some((wanted, span)) = &overlay.wanted else { continue };
            let wanted = wanted.as_str();
            let own = usize::from(overlay.name == wanted);
            let is_beside = times.get(wanted).is_some_and(|times| *times > own);
            if wanted == name || is_beside || self.done.iter().any(|layer| layer.name == wanted) {
                continue;
            }
            let message = format!("the overlay is written for pack `{wanted}`, which pack `{name}` does not extend");
            let near = self.report.words.nearest(wanted, self.done.iter().map(|layer| layer.name.as_str()).chain([name]));
            let help = "every file in the folder of a pack is a part of it; move this one out, and lay it over that pack with `--overlay`";
            self.report.push(
                Diagnostic::warning(Code::PackMissing, message)
                    .at(*span)
                    .help(near.map_or_else(|| help.into(), |near| Help::from(near).or_else_do(help))),
            );
        }
    }

    /// Reads one overlay: a single file of rows. `of_case` says that it may be a case file, of which the rows count.
    pub(super) fn overlay(&mut self, file: &RuleFile, folder: Option<&Path>, of_case: bool) {
        // the file may be called like the pack that it tests
        let name = if of_case { "case".to_owned() } else { overlay_name(file) };
        let Some(doc) = self.read(file, &name) else { return };
        if &*doc.kind == "pack" || &*doc.kind == "case" && !of_case {
            let message = format!("a file of kind `{}` cannot be laid over a pack", doc.kind);
            self.fail(Diagnostic::new(Code::SchemaKind, message).at(doc.root.span).help("overlays are of kind `overlay`"));
            return;
        }
        if let Some((wanted, span)) = doc.root.get("extends").and_then(|n| Some((n.as_text()?, n.span)))
            && !self.done.iter().any(|layer| layer.name == wanted)
        {
            let is_later = self.overlays.iter().any(|overlay| overlay == wanted) && name != wanted;
            let what = if is_later { "overlay" } else { "pack" };
            let why = if is_later { "is loaded after it" } else { "is not loaded" };
            let mut complaint = Diagnostic::new(Code::PackMissing, format!("the overlay is written for {what} `{wanted}`, which {why}"));
            complaint.severity = Severity::Warning;
            let names: Vec<&str> = self.done.iter().filter(|l| !l.overlay).map(|l| l.name.as_str()).collect();
            let help =
                if is_later { format!("name overlay `{wanted}` before this one") } else { format!("it is laid over {}", names.join(", ")) };
            self.report.push(complaint.at(span).help(help));
        }
        let release = doc.root.get("release").and_then(DocumentNode::as_text).and_then(|t| Version::parse(t).ok());
        let release = release.unwrap_or_else(|| Version::new(0, 0, 0));
        let extends = doc.root.get("extends").and_then(DocumentNode::as_text).map(str::to_owned);
        let assets = self.scripts_beside(&doc, folder, &name);
        self.done.push(LayerDocs { name, release, overlay: true, folder: None, extends, docs: vec![doc], assets });
    }

    /// The scripts that an overlay names as files beside it: `"mine.rhai" = { file = "mine.rhai" }` in `[rhai]`.
    fn scripts_beside(&mut self, doc: &RuleDocument, folder: Option<&Path>, layer: &str) -> Vec<(String, SourceId)> {
        let mut assets = Vec::new();
        for (name, file, span) in script_files(doc) {
            let asset = folder.and_then(|folder| self.library.read_file(&folder.join(&*file), self.report));
            match asset.as_ref().and_then(|asset| read::decode(asset, layer, self.sources, self.report)) {
                Some((id, _)) => assets.push((format!("scripts/{name}"), id)),
                None if folder.is_none() => {
                    let message = format!("`{file}` cannot be read: the overlay is not a file of a folder");
                    self.fail(Diagnostic::new(Code::FileMissing, message).at(span).help("write the text of the script into the overlay"));
                }
                None => self.complete = false,
            }
        }
        assets
    }

    fn read(&mut self, file: &RuleFile, layer: &str) -> Option<RuleDocument> {
        let before = self.memory;
        let size = if library::embedded_tree(layer, file).is_some() { 0 } else { memory::of(&file.bytes) };
        self.memory = before.saturating_add(size);
        if self.memory > limits::RULES_MEMORY {
            // told once, and the files after it are not read either
            if before <= limits::RULES_MEMORY {
                let message = format!("the values of all rule files take more than {} MiB of memory together", limits::RULES_MEMORY >> 20);
                let source = self.sources.add(&file.name, layer, "");
                let help = "this file and those after it are not read; keep what is no rule in the scene, or extend fewer packs";
                self.fail(Diagnostic::new(Code::FileTooLarge, message).at(Span::new(source, 0, 0)).help(help));
            }
            self.unread.add(&file.bytes);
            return None;
        }
        let doc = match &mut self.checks {
            Some(checks) => read::read_unchecked(file, layer, self.sources, self.schemas, self.report, checks),
            // what is remembered was read by the shipped schemas
            None => match self.library.memory().filter(|_| std::ptr::eq(self.schemas, Schemas::shipped())) {
                Some(memory) => memory.read(file, layer, self.sources, self.schemas, self.report),
                None => read::read(file, layer, self.sources, self.schemas, self.report),
            },
        };
        if doc.is_none() {
            self.unread.add(&file.bytes);
        }
        doc
    }

    fn fail(&mut self, complaint: Diagnostic) {
        self.complete = false;
        self.report.push(complaint);
    }

    fn follow(&mut self, mut entry: ExtendsEntry, folder: Option<&Path>) {
        let mut found = None;
        if entry.name.contains(['/', '\\']) {
            let Some(pack) = self.by_path(&entry, folder) else {
                self.complete = false;
                return;
            };
            entry.name.clone_from(&pack.name);
            found = Some(pack);
        }
        let entry = &entry;
        if let Some(last) = self.chain.last_mut() {
            last.next = Some((entry.name.clone(), entry.span));
        }
        if let Some(at) = self.chain.iter().position(|open| open.name == entry.name) {
            self.circle(entry, at);
            return;
        }
        if let Some(pack) = &found
            && let Some(other) = self.done.iter().find(|layer| layer.name == entry.name)
            && !is_same_folder(pack.folder.as_deref(), other.folder.as_deref())
        {
            let from = other.folder.as_ref().map_or_else(|| "with the program".to_owned(), |folder| format!("from `{}`", folder.display()));
            let message = format!("another pack called `{}` is loaded already, {from}", entry.name);
            let complaint = Diagnostic::new(Code::PackManifest, message).at(entry.span).label("a second pack of this name");
            self.fail(complaint.help("give one of them another name, or extend only one"));
            return;
        }
        if !self.done.iter().any(|layer| layer.name == entry.name) {
            if self.chain.len() + self.done.len() >= limits::PACKS {
                let complaint = Diagnostic::new(Code::PackMissing, format!("more than {} packs stand on each other", limits::PACKS));
                self.fail(complaint.at(entry.span).help("extend fewer packs"));
                return;
            }
            let before = self.report.items().len();
            let found = found.or_else(|| self.by_name(&entry.name));
            let new = self.report.items().iter().skip(before);
            self.complete &= new.filter(|d| d.severity == Severity::Error).count() == 0;
            match found {
                Some(pack) => self.visit(pack),
                None => self.missing(entry),
            }
        }
        self.check_release(entry);
    }

    /// The pack of this name: beside the pack that extends it, then in the library, then beside the packs above.
    fn by_name(&mut self, name: &str) -> Option<PackFiles> {
        let near: Vec<PathBuf> = self.chain.iter().rev().filter_map(|open| open.near.clone()).collect();
        let has_own = self.chain.last().is_some_and(|open| open.near.is_some());
        let (own, above) = near.split_at(usize::from(has_own).min(near.len()));
        let beside = own.iter().find_map(|folder| library::find_in(folder, name, self.library, self.report));
        let found = beside.or_else(|| if library::is_name(name) { self.library.find(name, self.report) } else { None });
        let found = found.or_else(|| above.iter().find_map(|folder| library::find_in(folder, name, self.library, self.report)))?;
        self.report.extend(library::shadow(&found, self.library).into_iter().collect());
        Some(found)
    }

    /// The pack in the folder that an entry names, such as `../x`, with the name that its manifest gives it.
    fn by_path(&mut self, entry: &ExtendsEntry, folder: Option<&Path>) -> Option<PackFiles> {
        let complain = |message: String, help: &str| Diagnostic::new(Code::PackMissing, message).at(entry.span).help(help);
        let Some(folder) = folder else {
            self.report.push(complain(format!("`{}` is a path, but this pack was not read from a folder", entry.name), "name the pack"));
            return None;
        };
        let path = Path::new(&entry.name);
        if path.is_absolute() {
            let help = "write a path from this pack's own folder: `../x`";
            self.report.push(complain(format!("`{}` is not a path from the pack's own folder", entry.name), help));
            return None;
        }
        let found = folder.join(path);
        if !files::is_pack(&found) {
            let message = format!("there is no pack in `{}`", found.display());
            self.report.push(complain(message, "the path begins at the folder of this pack; a pack is a folder with a `pack.toml`"));
            return None;
        }
        let mut pack = self.library.read_folder(&found, self.report)?;
        let manifest = pack.files.iter().find(|file| is_manifest(&file.path_in_pack));
        if let Some(name) = manifest.and_then(|file| read::peek(file, "name")) {
            pack.name = name;
        }
        Some(pack)
    }

    fn circle(&mut self, entry: &ExtendsEntry, at: usize) {
        let mut names: Vec<&str> = self.chain.iter().skip(at).map(|open| open.name.as_str()).collect();
        names.push(&entry.name);
        let message = format!("packs extend each other in a circle: {}", names.join(" → "));
        let mut complaint = Diagnostic::new(Code::CyclePack, message).at(entry.span).label("closes the circle");
        for OpenPack { name, next, .. } in self.chain.iter().skip(at) {
            if let Some((other, span)) = next.as_ref().filter(|(_, span)| *span != entry.span) {
                complaint = complaint.related(*span, format!("`{name}` extends `{other}` here"));
            }
        }
        self.fail(complaint.help("remove one of these entries"));
    }

    fn missing(&mut self, entry: &ExtendsEntry) {
        let mut names = self.library.names();
        names.extend(self.chain.iter().filter_map(|open| open.near.as_deref()).flat_map(files::packs_in));
        let help = self.report.words.help(&entry.name, names.iter().map(String::as_str));
        let message = format!("pack `{}` is not found", entry.name);
        let complaint = Diagnostic::new(Code::PackMissing, message).at(entry.span).label("no such pack");
        self.fail(complaint.help(help.unwrap_or_else(|| "put its folder beside this pack, or write its path: `../x`".into())));
    }

    fn check_release(&mut self, entry: &ExtendsEntry) {
        let Some(range) = &entry.range else { return };
        let Some(layer) = self.done.iter().find(|layer| layer.name == entry.name) else { return };
        if range.matches(&layer.release) {
            return;
        }
        let message = format!("pack `{}` has release {}, but `{range}` is asked for", entry.name, layer.release);
        let mut complaint = Diagnostic::new(Code::PackVersion, message).at(entry.span).label("asked for here");
        if let Some(span) = layer.docs.first().and_then(|doc| doc.root.get("release")).map(|n| n.span) {
            complaint = complaint.related(span, "its release");
        }
        self.report.push(complaint.help("use another release of it, or widen the range"));
    }

    /// Checks the texts of the manifest itself; returns the release of the pack (`0.0.0` if it has no readable one).
    fn check_manifest(&mut self, doc: &RuleDocument, name: &str) -> Version {
        let root = &doc.root;
        if !library::is_name(name) || root.get("name").is_none() {
            let span = root.get("name").map_or(root.span, |n| n.span);
            let complaint = Diagnostic::new(Code::PackManifest, "the manifest has no usable `name`").at(span);
            self.report.push(complaint.help("a pack's name is one word of letters, digits, `-`, `_` and `.`"));
        }
        if let Some((asked, span)) = self.chain.last().and_then(|open| open.next.as_ref()).filter(|(asked, _)| asked != name) {
            let message = format!("the pack found as `{asked}` calls itself `{name}`");
            let complaint = Diagnostic::new(Code::PackManifest, message).at(root.get("name").map_or(root.span, |n| n.span));
            self.report.push(complaint.related(*span, "asked for here").help("give the folder the name of the pack"));
        }
        self.check_engine(root);
        let release = root.get("release");
        match release.and_then(DocumentNode::as_text).map(Version::parse) {
            Some(Ok(release)) => return release,
            Some(Err(error)) => {
                let span = release.map_or(root.span, |n| n.span);
                let complaint = Diagnostic::new(Code::PackManifest, format!("`release` is not a version: {error}")).at(span);
                self.report.push(complaint.help("write three numbers: `release = \"1.2.0\"`"));
            }
            None => {
                let complaint = Diagnostic::new(Code::PackManifest, "the manifest has no `release`").at(root.span);
                self.report.push(complaint.help("add `release = \"0.1.0\"`"));
            }
        }
        Version::new(0, 0, 0)
    }

    fn check_engine(&mut self, root: &DocumentNode) {
        let Some(node) = root.get("engine") else { return };
        let Some(text) = node.as_text() else { return };
        let this = env!("CARGO_PKG_VERSION");
        let Some(range) = self.range(node.span, text) else { return };
        if Version::parse(this).is_ok_and(|v| !range.matches(&v)) {
            let message = format!("the pack asks for engine `{text}`, but this is {this}");
            self.report
                .push(Diagnostic::new(Code::PackVersion, message).at(node.span).help("use another release of the program or of the pack"));
        }
    }

    fn range(&mut self, span: Span, text: &str) -> Option<VersionReq> {
        VersionReq::parse(text)
            .map_err(|error| {
                let message = format!("`{text}` is not a range of versions: {error}");
                self.report.push(Diagnostic::new(Code::PackVersion, message).at(span).help("for example `^0.1`, `>=1.2, <2`"));
            })
            .ok()
    }

    fn extends_of(&mut self, root: &DocumentNode) -> Vec<ExtendsEntry> {
        let list = root.get("extends").and_then(DocumentNode::as_list).unwrap_or(&[]);
        if let Some(first) = list.get(limits::PACKS) {
            let message = format!("more than {} packs stand on each other: `extends` has {} entries", limits::PACKS, list.len());
            self.fail(
                Diagnostic::new(Code::PackMissing, message)
                    .at(first.span)
                    .help("extend fewer packs; the entries from here on are not read"),
            );
        }
        let mut out = Vec::new();
        for item in list.iter().take(limits::PACKS) {
            // a name alone means any release of the pack
            let named = item.as_text().map(|t| (t, item.span)).or_else(|| item.get("name").and_then(|n| Some((n.as_text()?, n.span))));
            let Some((name, span)) = named else { continue };
            let range = item.get("release").and_then(|n| Some((n.span, n.as_text()?))).and_then(|(at, text)| self.range(at, text));
            out.push(ExtendsEntry { name: name.to_owned(), range, span });
        }
        out
    }
}

/// What an overlay is called: its `name`, or else the name of its file without the ending.
pub(super) fn overlay_name(file: &RuleFile) -> String {
    named_or_stem(read::peek(file, "name"), file)
}

fn named_or_stem(name: Option<String>, file: &RuleFile) -> String {
    let stem = || file.path_in_pack.rsplit('/').next().and_then(|n| n.rsplit_once('.')).map(|(stem, _)| stem.to_owned());
    name.or_else(stem).unwrap_or_else(|| file.name.clone())
}

/// Whether two packs were read from one folder. Packs that are not on disk come from the program itself.
fn is_same_folder(a: Option<&Path>, b: Option<&Path>) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    a.map(real) == b.map(real)
}

fn is_manifest(path: &str) -> bool {
    matches!(path, "pack.toml" | "pack.json")
}

/// The table of a file, if it is one of those that may hold it.
fn scripts_table(doc: &RuleDocument) -> Option<&FieldMap> {
    doc.root.get(TABLE).and_then(DocumentNode::as_table).filter(|_| matches!(&*doc.kind, "pack" | "overlay"))
}

/// What each layer, given with its files, declares.
pub(super) fn script_rights<'d>(
    layers: impl Iterator<Item = (&'d str, &'d [RuleDocument])>,
    sources: &Sources,
) -> IndexMap<Arc<str>, Arc<ScriptRights>> {
    let mut all = IndexMap::new();
    for (layer, docs) in layers {
        let Some((doc, table)) = docs.iter().find_map(|doc| Some((doc, scripts_table(doc)?))) else { continue };
        if !table.contains_key("reads") && !table.contains_key("writes") {
            continue;
        }
        let nodes = |key: &str| table.get(key).and_then(|field| field.node.as_list()).unwrap_or(&[]).iter();
        let words = |key: &str| -> Arc<[Arc<str>]> { nodes(key).filter_map(DocumentNode::as_text).map(Arc::from).collect() };
        let places = nodes("reads").chain(nodes("writes")).filter_map(|node| Some((Arc::from(node.as_text()?), node.span)));
        let file = sources.get(doc.root.span.source).map(|source| source.name.clone()).unwrap_or_default();
        let (reads, writes, places) = (words("reads"), words("writes"), places.collect());
        all.insert(Arc::from(layer), Arc::new(ScriptRights { reads, writes, file, places }));
    }
    all
}

/// The scripts that an overlay names as files in its table `[rhai]`: name, file, place. A name that leads out of the folder is refused by the
/// schema.
fn script_files(doc: &RuleDocument) -> Vec<(Arc<str>, Arc<str>, Span)> {
    let entries = scripts_table(doc).into_iter().flatten();
    let files = entries.filter_map(|(name, field)| {
        let file = field.node.get("file")?;
        let text = file.as_text().filter(|text| is_plain(text))?;
        Some((name.clone(), Arc::from(text), file.span))
    });
    files.collect()
}

/// Whether a text is the name of a script in the same folder.
fn is_plain(name: &str) -> bool {
    name.ends_with(".rhai") && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) && !name.starts_with('.')
}

fn is_inside(path: &str, folder: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| part == folder)
}

/// The names of files that a file of the pack speaks of, gathered once for all of them.
struct SpokenNames {
    /// Files among the cases, of which a text in a case speaks: it may read what is no rule.
    by_cases: HashSet<String>,
    /// Scripts that an overlay names, which may lie beside it.
    by_overlays: HashSet<Arc<str>>,
}

impl SpokenNames {
    /// What the cases and the rule files of a pack speak of.
    pub(super) fn of(pack: &PackFiles, docs: &[RuleDocument]) -> Self {
        let by_overlays = docs.iter().flat_map(script_files).map(|(_, name, _)| name).collect();
        let paths = pack.strays.iter().chain(pack.assets.values()).map(|file| &*file.path_in_pack);
        let wanted: HashSet<&str> = paths.filter(|path| is_inside(path, "cases")).map(name_of).collect();
        // such a name is never found as a part, so it may be spoken of
        let mut by_cases: HashSet<String> = wanted.iter().filter(|name| name.contains(ends_part)).map(|name| (*name).to_owned()).collect();
        let cases: &[RuleFile] = if wanted.is_empty() { &[] } else { &pack.cases };
        for case in cases {
            let text = String::from_utf8_lossy(&case.bytes);
            for name in last_parts(&text).filter(|name| wanted.contains(name)) {
                if !by_cases.contains(name) {
                    by_cases.insert(name.to_owned());
                }
            }
        }
        Self { by_cases, by_overlays }
    }

    /// Whether a case speaks of a file that lies beside it.
    fn is_of_case(&self, path: &str) -> bool {
        is_inside(path, "cases") && self.by_cases.contains(name_of(path))
    }
}

/// Everything in a text that may be the last part of a path: what stands between quotes, slashes and the ends of lines, and
/// each word of it. A case may be unreadable, so it is not asked for its values.
fn last_parts(text: &str) -> impl Iterator<Item = &str> {
    let ends_word = |c: char| c.is_whitespace() || ",;:=()[]{}<>`".contains(c);
    text.split(ends_part).flat_map(move |part| std::iter::once(part).chain(part.split(ends_word)))
}

fn ends_part(c: char) -> bool {
    matches!(c, '"' | '\'' | '/' | '\\') || c.is_control()
}

/// The warnings about files that are no part of the pack although their names say so, and about rule tests in a folder
/// `cases` that lies deeper than the pack's own. They stand at the manifest, because the files are not read.
fn stray_files(strays: &[RuleFile], cases: &[RuleFile], manifest: &RuleDocument, spoken: &SpokenNames) -> Vec<Diagnostic> {
    let strays = strays.iter().filter(|file| !spoken.is_of_case(&file.path_in_pack)).map(misnamed_file);
    let is_test = |file: &&RuleFile| read::peek(file, "kind").as_deref() == Some("case");
    let deeper = cases.iter().filter(|file| !file.path_in_pack.starts_with("cases/")).filter(is_test).map(misplaced_tests);
    let at = beginning_of(manifest);
    strays.chain(deeper).map(|complaint| complaint.at(at)).collect()
}

/// The beginning of a file.
fn beginning_of(doc: &RuleDocument) -> Span {
    Span::new(doc.root.span.source, 0, 0)
}

fn misnamed_file(file: &RuleFile) -> Diagnostic {
    let path = &*file.path_in_pack;
    let (stem, written) = path.rsplit_once('.').unwrap_or((path, ""));
    let name = name_of(stem);
    let ends = || format!("its name ends in `.{written}`");
    let no_rules = || "a folder `scripts` holds no rules".to_owned();
    // among the cases, rule files are found in every folder
    let is_in_scripts = is_inside(path, "scripts") && !is_inside(path, "cases");
    // a file that is called as the help says must not be a stray again
    let (why, help) = match meant_ending(path) {
        Some("rhai") => (ends(), format!("call it `scripts/{}.rhai`", stem.strip_prefix("scripts/").unwrap_or(name))),
        Some(known) if is_in_scripts && known == written => (no_rules(), "move it out of `scripts/`".to_owned()),
        Some(known) if is_in_scripts => (no_rules(), format!("move it out of `scripts/`, as `{name}.{known}`")),
        Some(known) => (ends(), format!("call it `{stem}.{known}`")),
        None if is_in_scripts => (no_rules(), format!("write its rules in TOML outside of `scripts/`, as `{name}.toml`")),
        None => (ends(), format!("write its rules in TOML, as `{stem}.toml`")),
    };
    let help = help + ", or keep it outside of the pack's folder";
    Diagnostic::new(Code::FileStray, format!("nothing reads `{}`: {why}", file.name)).help(help)
}

fn misplaced_tests(file: &RuleFile) -> Diagnostic {
    let message = format!("`tapster test` does not find the rule tests of `{}` in the pack", file.name);
    Diagnostic::new(Code::FileStray, message).help("move it to the folder `cases` of the pack")
}

/// The warning about a file of rule tests that lies outside of the folder `cases`.
fn outside_of_cases(file: &RuleFile, doc: &RuleDocument) -> Diagnostic {
    misplaced_tests(file).at(beginning_of(doc))
}

/// The warning about a script that is not compiled because it lies outside of the folder `scripts`. An overlay may name one
/// that lies beside it, and so may the overlay of a case.
fn outside_of_scripts(file: &RuleFile, at: Span, spoken: &SpokenNames) -> Option<Diagnostic> {
    let path = &*file.path_in_pack;
    let name = name_of(path);
    let is_named = || spoken.is_of_case(path) || spoken.by_overlays.contains(name);
    if !path.ends_with(".rhai") || path.starts_with("scripts/") || is_named() {
        return None;
    }
    let message = format!("the script `{}` is not compiled, because it lies outside of the pack's folder `scripts`", file.name);
    Some(Diagnostic::new(Code::FileStray, message).at(at).help(format!("move it to `scripts/{name}`")))
}
