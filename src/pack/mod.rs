//! From files to one [`Pack`]: reads them, checks each document against its schema, and merges the layers.
//!
//! Nothing here stops at the first mistake, so that an author sees all of them in one run. Every value keeps its file,
//! line and column to the end. Reading ([`files`]) is the only part that touches a disk.

mod allow;
mod causes;
pub mod compact;
mod declared_terms;
mod documents;
mod expressions;
mod extends;
pub mod files;
pub mod fingerprint;
pub mod json;
mod layer;
pub mod library;
mod options;
pub mod read;
pub mod rows;
pub mod ruleset;
pub mod schemas;
pub mod templates;
pub mod toml;
mod validate;
mod word_places;
pub mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{Code, Diagnostic, Report, SourceId, Sources, suggest};
use crate::model::Pack;
use crate::model::pack::Layer;
use crate::template;
use extends::{LayerDocs, PackResolver};

pub use crate::lint::{SceneRules, SceneTypeError, TypeMismatch, UndeclaredPath};
pub use crate::program::ExpressionPlace;
pub(crate) use allow::AllowedWarning;
pub use documents::DocumentMemory;
pub use expressions::table_of;
pub use files::{PackFiles, RuleFile};
pub use layer::RemovedRow;
pub use library::{DEFAULT_PACK, PackLibrary, PackShelf};
pub use read::{RuleDocument, UnreadTexts};
pub use ruleset::Ruleset;
pub use schemas::Schemas;
pub use templates::{OpenedTemplate, open_template};

/// The kinds of rule files (`kind = "lore"`), each with a description. A file's schema is `schemas/<kind>.v<version>.json`.
pub const KINDS: &[(&str, &str)] = &[
    ("pack", "name, release, engine range, licence, authors, what it extends, limits"),
    ("pipeline", "the stages of a build, in order"),
    ("slots", "the slots of a prompt: source, role, budget group, whether trimming may take them"),
    ("injection", "injections: positions and their aliases, depths, merging, order of roles, notes, the persona"),
    ("eviction", "budgets, and the strategies of trimming"),
    ("lore", "lore: scanning, matching, recursion, groups, timed effects, budget, printing"),
    ("macros", "macros: names, aliases, arguments, and what each gives"),
    ("story", "story strings and their placement"),
    ("instruct", "instruct formats: sequences, wrapping, names, stop strings"),
    ("group", "who speaks next in a group, and how cards are joined"),
    (
        "dialect",
        "a provider's payload: role map, system placement, alternation, merging, names, tool and media shapes, prefill, cache marks",
    ),
    ("foreign", "how a foreign JSON format becomes a part of a scene"),
    ("regex", "text rewriting scripts and where they apply"),
    ("task", "a kind of task for templates: its sources and lanes"),
    ("template", "a template of slots and layout, written for a task"),
    ("artifact", "artifact declarations: tag, kind, writer, visibility, surface, inclusion, retention"),
    ("operation", "operations that read and write artifacts, with guards and effects"),
    ("capability", "what providers and models accept; lint; what a request must not contain, and how a run is configured"),
    ("directive", "structured directive types, aliases, payload schemas, instruction text"),
    ("replies", "what becomes of an answer: reasoning, stop strings, tags, clean-up, and the language to answer in"),
    ("hooks", "script functions bound to events; custom macros, filters, passes"),
    ("tools", "tools that a model may call, and the rules of the loop that carries out its calls"),
    ("scene", "what a pack may read and keep: paths, lists, fields, states, streams of draws, budget groups"),
    ("overlay", "rows of any kind in one file, laid over a pack"),
    ("case", "tests of rules"),
];

/// Which pack to load.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Start {
    /// A pack's folder.
    Folder(PathBuf),
    /// A pack's name, looked up in the library.
    Name(String),
}

impl Start {
    /// Reads what a person typed: a folder if that path is one or if the text holds a `/`, otherwise a name.
    #[must_use]
    pub fn typed(text: &str) -> Start {
        let path = Path::new(text);
        if is_path(text) || files::is_folder(path) { Start::Folder(path.to_owned()) } else { Start::Name(text.to_owned()) }
    }

    /// Reads what a file says. `path` is where the text leads from the folder of the file: that folder if the text holds a `/`, or
    /// if a pack lies there, otherwise a name.
    #[must_use]
    pub fn named(text: &str, path: PathBuf) -> Start {
        if is_path(text) || files::is_pack(&path) { Start::Folder(path) } else { Start::Name(text.to_owned()) }
    }
}

/// Whether a text is written as a path, which the name of a pack cannot be.
fn is_path(text: &str) -> bool {
    text.contains(['/', '\\']) || matches!(text, "." | "..")
}

/// A memory of the rules that have been checked, from one start of a program to the next.
pub trait CheckMemory {
    /// The fields that were remembered for a digest; `None` if these rules are not known to be without mistakes.
    fn undeclared_fields(&self, digest: &str) -> Option<String>;

    /// Remembers that rules are without mistakes. `fields` are their [undeclared fields](Ruleset::undeclared_fields).
    fn remember(&self, digest: &str, fields: &str);
}

/// A file that is merged over the pack.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// A file on disk.
    Path(PathBuf),
    /// A file that has already been read.
    File(RuleFile),
    /// A case file that has already been read: its rows are merged, and its cases are left out.
    Rows(RuleFile),
}

/// The result of loading.
#[derive(Debug, Default)]
pub struct LoadedPack {
    /// The merged pack. `None` if a pack or a file is missing or a manifest is unreadable, because most further
    /// diagnostics would only be consequences of that. It may still hold mistakes, and lack the contents of an
    /// unreadable file; the report says so.
    pub pack: Option<Pack>,
    /// The warnings that rule files accept.
    pub(crate) allowed: Vec<AllowedWarning>,
    /// Rule files that could not be read; diagnostics that they may have caused must be held back.
    pub unread: UnreadTexts,
    /// All mistakes, by file and place.
    pub report: Report,
    /// The texts that the report points into.
    pub sources: Sources,
    /// Rows of lower layers that higher ones have removed.
    pub removed: Vec<RemovedRow>,
    /// Every pack is embedded in the program as it is, and nothing is laid over it.
    pub(crate) embedded: bool,
    /// The hash of what was read, if there is a memory of checks.
    digest: Option<String>,
    /// What that memory holds of it.
    remembered_fields: Option<String>,
}

/// Loads a pack with everything that it extends, and merges `overlays` over it in their order.
#[must_use]
pub fn load(start: &Start, overlays: &[Overlay], library: &dyn PackLibrary) -> LoadedPack {
    load_with(start, overlays, library, Schemas::shipped())
}

/// [`load`] with other schemas than the shipped ones.
#[must_use]
pub fn load_with(start: &Start, overlays: &[Overlay], library: &dyn PackLibrary, schemas: &Schemas) -> LoadedPack {
    load_remembered(start, overlays, library, schemas, None)
}

/// The same; rules that a memory knows to be without mistakes are not checked against their schemas.
fn load_remembered(
    start: &Start,
    overlays: &[Overlay],
    library: &dyn PackLibrary,
    schemas: &Schemas,
    memory: Option<&dyn CheckMemory>,
) -> LoadedPack {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let files = open(start, library, &mut report);
    let overlay_files: Vec<Option<RuleFile>> = overlays.iter().map(|overlay| overlay_file(overlay, library, &mut report)).collect();
    // without the file the rules would be incomplete
    let sound = files.is_some() && !report.has_errors();
    let mut resolver = PackResolver::new(library, schemas, &mut sources, &mut report);
    resolver.complete = sound;
    resolver.checks = memory.map(|_| Vec::new());
    if let Some(files) = files {
        resolver.visit(files);
    }
    resolver.overlays = overlay_files.iter().flatten().map(extends::overlay_name).collect();
    for (file, overlay) in overlay_files.iter().zip(overlays) {
        let folder = if let Overlay::Path(path) = overlay { Some(path.parent().unwrap_or(Path::new(""))) } else { None };
        if let Some(file) = file {
            resolver.overlay(file, folder, matches!(overlay, Overlay::Rows(_)));
        }
    }
    let embedded = resolver.embedded && overlays.is_empty();
    let (mut layers, complete, unread, checks) = (resolver.done, resolver.complete, resolver.unread, resolver.checks);
    let digest = memory.filter(|_| !embedded).map(|_| digest_of(&layers, &sources));
    let remembered_fields = memory.zip(digest.as_ref()).and_then(|(memory, digest)| memory.undeclared_fields(digest));
    if remembered_fields.is_none() {
        checks.iter().flatten().for_each(|check| check.run(schemas, &mut report));
    }
    let allowed = allow::collect(&layers, &mut report);
    let rights = extends::script_rights(layers.iter().map(|l| (l.name.as_str(), l.docs.as_slice())), &sources);
    let mut merged = layer::merge(&mut layers, complete, &mut report);
    let written_options = options::take(&mut merged.values);
    let options = options::read(&written_options, &sources, complete, &mut report);
    let removed = std::mem::take(&mut merged.removed);
    causes::settle(&merged, &mut report);
    unread.excuse(&mut report);
    let pack = complete.then(|| pack_of(&layers, merged, sources.clone(), &mut report));
    let pack = pack.map(|pack| Pack { options, written_options, rights, ..pack });
    report.sort();
    LoadedPack { pack, allowed, unread, report, sources, removed, embedded, digest, remembered_fields }
}

/// The blake3 hash of the rules that were read, in hex.
fn digest_of(layers: &[LayerDocs], sources: &Sources) -> String {
    let mut hash = fingerprint::PartHasher::default();
    hash.add([layers.len().to_string().as_str()]);
    let layers = layers.iter().flat_map(|layer| [layer.name.as_str(), if layer.overlay { "overlay" } else { "pack" }]);
    let sources = sources.ids().filter_map(|id| sources.get(id)).flat_map(|source| [&*source.name, &source.layer, &source.text]);
    hash.add(layers.chain(sources));
    hash.finish()
}

/// Checks the rule tests of a pack, the files under its `cases/`, but not those of the packs that it extends.
#[must_use]
pub fn load_cases(start: &Start, library: &dyn PackLibrary, schemas: &Schemas) -> (Report, Sources) {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    // mistakes in the pack's other files are reported by `load`
    let files = open(start, library, &mut Report::default()).unwrap_or_default();
    for file in &files.cases {
        // they are only checked here, not run
        let mut own = Report::default();
        if read::read(file, &files.name, &mut sources, schemas, &mut own).is_none_or(|doc| !doc.is_data()) {
            report.extend(own);
        }
    }
    report.sort();
    (report, sources)
}

/// The files under the folder `cases` of a pack, unchecked; none if the pack is not found.
pub fn case_files(start: &Start, library: &dyn PackLibrary) -> Vec<RuleFile> {
    open(start, library, &mut Report::default()).unwrap_or_default().cases
}

/// Reads and checks one rule file alone, without merging it over a pack.
#[must_use]
pub fn load_file(path: &Path, schemas: &Schemas) -> (Option<RuleDocument>, Report, Sources) {
    let mut report = Report::default();
    match files::read_file(path, &mut report) {
        Some(file) => load_read(&file, schemas),
        None => (None, report, Sources::default()),
    }
}

/// [`load_file`] for a file that has already been read.
#[must_use]
pub fn load_read(file: &RuleFile, schemas: &Schemas) -> (Option<RuleDocument>, Report, Sources) {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let doc = read::read(file, "", &mut sources, schemas, &mut report);
    if let Some(template) = doc.as_ref().filter(|doc| &*doc.kind == template::KIND) {
        templates::alone(&template.root, schemas, &mut report);
    }
    if let Some(doc) = &doc {
        causes::excuse(&causes::written(&doc.root), &mut report);
    }
    report.sort();
    (doc, report, sources)
}

fn open(start: &Start, library: &dyn PackLibrary, report: &mut Report) -> Option<PackFiles> {
    let name = match start {
        Start::Folder(folder) => {
            let pack = library.read_folder(folder, report)?;
            // a single word may have been meant as the name of the shipped pack
            let is_word = folder.file_name() == Some(folder.as_os_str());
            report.extend(Some(&pack).filter(|_| is_word).and_then(|pack| library::shadow(pack, library)).into_iter().collect());
            return Some(pack);
        }
        Start::Name(name) => name,
    };
    let found = if library::is_name(name) { library.find(name, report) } else { None };
    report.extend(found.as_ref().and_then(|pack| library::shadow(pack, library)).into_iter().collect());
    if found.is_none() {
        let names = library.names();
        let help = suggest::help(name, names.iter().map(String::as_str));
        if Path::new(name).is_file() {
            report.push(files::no_folder(name));
            return None;
        }
        let complaint = Diagnostic::new(Code::PackMissing, format!("pack `{name}` is not found"));
        report.push(complaint.help(help.unwrap_or_else(|| "name a pack, or write the path of its folder".into())));
    }
    found
}

fn overlay_file(overlay: &Overlay, library: &dyn PackLibrary, report: &mut Report) -> Option<RuleFile> {
    match overlay {
        Overlay::Path(path) => library.read_file(path, report),
        Overlay::File(file) | Overlay::Rows(file) => Some(file.clone()),
    }
}

fn assets_of(layers: &[LayerDocs]) -> IndexMap<Arc<str>, SourceId> {
    layers.iter().flat_map(|l| &l.assets).map(|(path, id)| (Arc::from(path.as_str()), *id)).collect()
}

fn pack_of(layers: &[LayerDocs], merged: layer::MergedLayers, sources: Sources, report: &mut Report) -> Pack {
    let layer = |l: &LayerDocs| Layer {
        name: Arc::from(l.name.as_str()),
        release: l.release.clone(),
        overlay: l.overlay,
        folder: l.folder.clone(),
    };
    let overlaid = layer::overlay_decisions(layers, &merged.tables, report);
    Pack {
        name: layers.iter().rfind(|l| !l.overlay).map(|l| Arc::from(l.name.as_str())).unwrap_or_default(),
        layers: layers.iter().map(layer).collect(),
        sources,
        tables: merged.tables,
        values: merged.values,
        assets: assets_of(layers),
        shadowed: merged.shadowed,
        overlaid,
        ..Pack::default()
    }
}

/// Why a pack could not be loaded or compiled. `Display` gives one line per diagnostic; [`render`](crate::diag::render)
/// gives them with the source lines, or as JSON.
#[derive(Debug)]
pub struct PackError {
    /// All diagnostics, errors and warnings.
    pub report: Report,
    /// The texts that their spans point into.
    pub sources: Sources,
}

impl std::fmt::Display for PackError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::diag::render::plain(&self.report, &self.sources))
    }
}

impl std::error::Error for PackError {}
