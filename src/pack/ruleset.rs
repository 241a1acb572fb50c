//! A compiled pack: what builds run on. Immutable, `Send + Sync`, cheap to clone.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::artifact::Declarations;
use crate::diag::{Code, Diagnostic, DiagnosticCode, Report, Severity, Sources, Span};
use crate::lint::{self, CheckedRules, MentionedNames, SceneRules, SchemaWords};
use crate::macros::MacroTable;
use crate::model::pack::RulesFingerprint;
use crate::model::{Pack, PackOptions};
use crate::program::{DetachedCondition, Program, Programs, compile};
use crate::reading::ReplyReadings;
use crate::template::task::Tasks;
use crate::template::{self, CompiledTemplates, Revisions, WrittenCondition};
use crate::terms::coverage::CoverageSink;

use super::PackError;
use super::{
    AllowedWarning, CheckMemory, LoadedPack, Overlay, PackLibrary, PackShelf, RuleFile, Schemas, Start, causes, fingerprint, library,
    templates,
};

/// A compiled pack: rules, macros, templates and tasks, with the texts that they came from. `Clone` is O(1), and a
/// ruleset can be shared between threads.
#[derive(Clone)]
pub struct Ruleset {
    parts: Arc<RulesetParts>,
    /// What records which rules its builds exercise.
    coverage: Option<Arc<CoverageSink>>,
}

struct RulesetParts {
    pack: Arc<Pack>,
    programs: Programs,
    macros: Arc<MacroTable>,
    tasks: Arc<Tasks>,
    revisions: Revisions,
    templates: Arc<CompiledTemplates>,
    artifacts: Arc<Declarations>,
    readings: ReplyReadings,
    allowed: Vec<AllowedWarning>,
    /// Those of them that accept a suspicion, or nothing.
    unsettled: Vec<AllowedWarning>,
    warnings: Report,
    mentioned: MentionedNames,
    fingerprint: RulesFingerprint,
}

/// Whether a code is about the shape of a single value, as a schema checks it.
fn is_shape(code: &DiagnosticCode) -> bool {
    matches!(code.known(), Some(Code::SchemaUnknownKey | Code::SchemaType | Code::SchemaValue))
}

/// The programs that builds of the pack `name` run. What is wrong with that pack is reported where it is loaded.
fn run_by_builds(name: &str, library: &dyn PackLibrary) -> HashSet<String> {
    let rules = Ruleset::load(&Start::Name(name.to_owned()), &[], library);
    rules.map(|rules| rules.programs().run_by_builds(rules.pack()).into_iter().map(str::to_owned).collect()).unwrap_or_default()
}

impl Ruleset {
    /// Loads and compiles a pack: a folder, or the name of a shipped pack. `overlays` are rule files or folders that
    /// are merged over it, the last on top.
    ///
    /// # Errors
    /// The pack cannot be found, or has mistakes; the error holds all mistakes of all files.
    pub fn open(name_or_folder: &str, overlays: &[&Path]) -> Result<Self, PackError> {
        let overlays: Vec<Overlay> = overlays.iter().map(|p| Overlay::Path(p.to_path_buf())).collect();
        Self::load(&Start::typed(name_or_folder), &overlays, &PackShelf::default())
    }

    /// Like [`open`](Self::open) with overlays given as texts: pairs of a file name for messages and the text.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_with(name_or_folder: &str, overlays: &[(&str, &str)]) -> Result<Self, PackError> {
        let file = |(name, text): &(&str, &str)| {
            Overlay::File(RuleFile { name: (*name).to_owned(), path_in_pack: (*name).to_owned(), bytes: text.as_bytes().to_vec() })
        };
        Self::load(&Start::typed(name_or_folder), &overlays.iter().map(file).collect::<Vec<_>>(), &PackShelf::default())
    }

    /// Loads and compiles a pack from `start`, with `overlays` merged over it. Packs that are named, also by `extends`,
    /// are searched in `library`.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn load(start: &Start, overlays: &[Overlay], library: &dyn PackLibrary) -> Result<Self, PackError> {
        Self::load_with_memory(start, overlays, library, None)
    }

    /// The same with a memory of checks: rules that it knows to have no mistakes are loaded as shipped packs are, without
    /// being checked again, and others are remembered once a check has found nothing in them.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn load_with_memory(
        start: &Start,
        overlays: &[Overlay],
        library: &dyn PackLibrary,
        memory: Option<&dyn CheckMemory>,
    ) -> Result<Self, PackError> {
        let mut loaded = super::load_remembered(start, overlays, library, Schemas::shipped(), memory);
        if loaded.embedded {
            return Self::compile_tested(loaded, library);
        }
        let (digest, remembered) = (loaded.digest.take(), loaded.remembered_fields.take());
        let is_clean = loaded.report.items().is_empty();
        let (rules, is_faultless) = Self::compile(loaded, library, remembered.as_deref())?;
        // a line is a field
        let can_be_listed = || rules.programs().rules.fields.iter().all(|field| !field.contains(['\n', '\r']));
        if let (true, None, Some(memory), Some(digest)) = (is_clean && is_faultless && can_be_listed(), remembered, memory, digest) {
            memory.remember(&digest, &rules.undeclared_fields());
        }
        Ok(rules)
    }

    /// [`load`](Self::load) with all checks also of a shipped pack, which tests have checked.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn check(start: &Start, overlays: &[Overlay], library: &dyn PackLibrary) -> Result<Self, PackError> {
        Self::compile(super::load(start, overlays, library), library, None).map(|(rules, _)| rules)
    }

    /// [`load`](Self::load) for a shipped pack, without checks: its programs are compiled when they are first run. Packs that
    /// are embedded in the program are loaded so.
    ///
    /// # Errors
    /// There is no such pack.
    pub fn open_unchecked(name: &str) -> Result<Self, PackError> {
        let library = PackShelf::default();
        Self::compile_tested(super::load(&Start::Name(name.to_owned()), &[], &library), &library)
    }

    fn compile_tested(loaded: LoadedPack, library: &dyn PackLibrary) -> Result<Self, PackError> {
        let fields = loaded.pack.as_ref().map_or("", |pack| library::fields_of_shipped(&pack.name));
        Self::compile(loaded, library, Some(fields)).map(|(rules, _)| rules)
    }

    /// Compiles a pack, and says whether nothing is found in its rules, whatever other packs there are. `known_fields` are the
    /// [undeclared fields](Self::undeclared_fields) of rules in which nothing was found before: their programs are compiled when
    /// they are first run.
    fn compile(loaded: LoadedPack, library: &dyn PackLibrary, known_fields: Option<&str>) -> Result<(Self, bool), PackError> {
        let LoadedPack { pack, allowed, unread, mut report, sources, removed, .. } = loaded;
        let Some(pack) = pack.map(Arc::new) else {
            causes::wrong_pack(&mut report);
            report.shorten();
            return Err(PackError { report, sources });
        };
        // the compiler's diagnostics are added to those of loading, so that one run shows every mistake
        let mut found = Report::default();
        let revisions = Revisions::of(&pack, &mut found);
        let written = template::conditions(&pack, &revisions).into_iter();
        let apart: Vec<DetachedCondition> =
            written.map(|WrittenCondition { node, names, rule }| DetachedCondition { node, names, rule }).collect();
        let (programs, wrong) = compile(&pack, &apart, || Schemas::shipped().row_keys(), known_fields);
        found.extend(wrong);
        let (macros, wrong) = MacroTable::compile(&programs.rules, &pack, known_fields.is_some());
        found.extend(wrong);
        let (tasks, wrong) = Tasks::compile(&programs.rules, &pack, &revisions);
        found.extend(wrong);
        let templates = templates::compile_all(&pack, &revisions, Schemas::shipped(), &mut found);
        let (readings, wrong) = ReplyReadings::compile(&pack);
        found.extend(wrong);
        let artifacts = Declarations::compile(&pack);
        let asks_library = Cell::new(false);
        if known_fields.is_none() {
            let checked = CheckedRules {
                pack: &pack,
                artifacts: &artifacts,
                run: programs.run_by_builds(&pack),
                run_by: &|pack| {
                    asks_library.set(true);
                    run_by_builds(pack, library)
                },
                schemas: Schemas::shipped().all().collect(),
                schema_has: &|table, key| Schemas::shipped().row_has(table, key),
            };
            lint::rules(&checked, &mut found);
        }
        let is_faultless = found.items().is_empty() && !asks_library.get();
        unread.excuse(&mut found);
        causes::removals(&removed, &pack, &mut found);
        // where the compiler and the schema report the same value, the compiler knows more; a warning hides no error
        let errors = found.items().iter().filter(|d| d.severity == Severity::Error);
        let said: HashSet<Span> = errors.filter_map(|d| d.span).collect();
        let lacking: HashSet<Span> = found.items().iter().filter(|d| d.code == Code::TermMissing).filter_map(|d| d.span).collect();
        report.retain(|d| !(is_shape(&d.code) && d.span.is_some_and(|span| said.contains(&span))));
        report.retain(|d| !(d.code == Code::SchemaMissingKey && d.span.is_some_and(|span| lacking.contains(&span))));
        report.extend(found);
        causes::wrong_pack(&mut report);
        let unsettled = super::allow::apply(&allowed, &pack, &mut report);
        if report.has_errors() {
            report.sort();
            report.shorten();
            return Err(PackError { report, sources: pack.sources.clone() });
        }
        report.shorten();
        let merged = pack.clone();
        let parts = RulesetParts {
            fingerprint: RulesFingerprint::new(move || fingerprint::of_pack(&merged)),
            pack,
            programs,
            macros: Arc::new(macros),
            tasks: Arc::new(tasks),
            revisions,
            templates: Arc::new(templates),
            artifacts: Arc::new(artifacts),
            readings,
            allowed,
            unsettled,
            warnings: report,
            mentioned: MentionedNames::default(),
        };
        Ok((Self { parts: Arc::new(parts), coverage: None }, is_faultless))
    }

    /// The names of fields that rules use and no row declares, one a line and in the order in which they are compiled.
    #[must_use]
    pub fn undeclared_fields(&self) -> String {
        self.parts.programs.undeclared_fields()
    }

    /// The same rules, of which every build records which of them it exercises.
    #[must_use]
    pub fn recorded(&self) -> (Self, Arc<CoverageSink>) {
        let sink = Arc::<CoverageSink>::default();
        (Self { parts: self.parts.clone(), coverage: Some(sink.clone()) }, sink)
    }

    /// What records which rules its builds exercise.
    pub(crate) fn coverage(&self) -> Option<Arc<CoverageSink>> {
        self.coverage.clone()
    }

    /// The merged text of the pack, from which it was compiled.
    #[must_use]
    pub fn pack(&self) -> &Pack {
        &self.parts.pack
    }

    /// The options that the pack offers to its users: types, titles, defaults, choices, and which layer decides each value.
    /// [`Scene::option`](crate::Scene::option) sets one.
    #[must_use]
    pub fn options(&self) -> &PackOptions {
        &self.parts.pack.options
    }

    /// Which card counts if a picture holds several: the names of the table `card_chunk`, best first.
    pub fn card_chunks(&self) -> impl Iterator<Item = &str> {
        self.parts.pack.tables.get("card_chunk").into_iter().flat_map(|rows| rows.keys().map(AsRef::as_ref))
    }

    /// The texts of the pack's files, which the spans of its diagnostics point into.
    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.parts.pack.sources
    }

    /// The place of the pass `name` in [`sources`](Self::sources): a full name, `program/pass`, or the name of a stage
    /// of program `build`. `None` if the pack has no such pass.
    #[must_use]
    pub fn span_of_pass(&self, name: &str) -> Option<Span> {
        let mut passes = self.parts.programs.list.iter().flat_map(Program::passes);
        let stage = |id: &str| id.strip_prefix("build/") == Some(name);
        passes.find(|p| p.id.as_ref() == name || stage(&p.id)).map(|p| p.span)
    }

    /// The compiled programs, to be changed in place. `None` if the ruleset is shared.
    pub fn programs_mut(&mut self) -> Option<&mut Programs> {
        Some(&mut Arc::get_mut(&mut self.parts)?.programs)
    }

    /// The compiled programs.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.parts.programs
    }

    /// The compiled macro table.
    #[must_use]
    pub fn macros(&self) -> &Arc<MacroTable> {
        &self.parts.macros
    }

    /// The compiled tasks.
    #[must_use]
    pub fn tasks(&self) -> &Arc<Tasks> {
        &self.parts.tasks
    }

    /// The revisions of templates.
    #[must_use]
    pub fn revisions(&self) -> &Revisions {
        &self.parts.revisions
    }

    /// The compiled templates, by `id`.
    #[must_use]
    pub fn templates(&self) -> &Arc<CompiledTemplates> {
        &self.parts.templates
    }

    /// The artifacts that the pack declares.
    #[must_use]
    pub fn artifacts(&self) -> &Arc<Declarations> {
        &self.parts.artifacts
    }

    /// How replies are read, by the name of the dialect.
    #[must_use]
    pub fn readings(&self) -> &ReplyReadings {
        &self.parts.readings
    }

    /// The warnings of loading and compiling.
    #[must_use]
    pub fn warnings(&self) -> &Report {
        &self.parts.warnings
    }

    /// What may be a mistake in rules that can be used as they are: words that are probably slips. `tapster check` reports
    /// it beside the [`warnings`](Self::warnings).
    #[must_use]
    pub fn suspicions(&self) -> Report {
        static LANGUAGE: LazyLock<SchemaWords> = LazyLock::new(|| SchemaWords::of(Schemas::shipped().all()));
        let mut report = Report::default();
        lint::typos(&self.parts.pack, &LANGUAGE, &self.parts.warnings, &mut report);
        super::allow::apply_to_suspicions(&self.parts.unsettled, &self.parts.pack, &mut report);
        report
    }

    /// Whether a rule file accepts this warning of a build with `[[allow]]`.
    pub fn allows(&self, warning: &Diagnostic) -> bool {
        self.parts.allowed.iter().any(|allow| allow.accepts(warning, &self.parts.pack))
    }

    /// The rules as scenes are checked against them.
    #[must_use]
    pub fn for_scenes(&self) -> SceneRules<'_> {
        SceneRules { pack: &self.parts.pack, rules: &self.parts.programs.rules, mentioned: &self.parts.mentioned }
    }

    /// The blake3 hash of the merged rules, in hex. Equal rules have equal fingerprints.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.parts.fingerprint
    }

    /// The same, to be kept without being worked out.
    pub(crate) fn shared_fingerprint(&self) -> RulesFingerprint {
        self.parts.fingerprint.clone()
    }
}
