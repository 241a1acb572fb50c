//! What each call does.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use tapster::BuildSession;

use super::{Answer, CallEvents, Door, RequestFailure, schema};
use crate::build::{ScenePart, blocks_of, dialect_of, dialects, unchanged};
use crate::diag::{Code, Diagnostic, Report, Severity, Sources, suggest};
use crate::diff::prompts::{BuiltPrompt, PromptDiff};
use crate::diff::rules::RuleDiff;
use crate::examine::scene_warnings;
use crate::explain::condition::ConditionProbe;
use crate::explain::rules::{NamedRules, programs_json};
use crate::explain::{self, cache, changes, full_report, lore, remedy, value, waiting_operations, why, why_not};
use crate::memory::{OpenedRules, PartFile, handle_of};
use crate::model::{Plan, Scene};
use crate::pack::{KINDS, Overlay, PackFiles, PackLibrary, PackShelf, RuleFile, Ruleset, Schemas, Start};
use crate::preset_pack::PACK;
use crate::request::{
    BuildRequest, CheckRequest, ConvertRequest, DiffRequest, EmitRequest, ExplainRequest, FileContent, ImportRequest, OpenRequest,
    OverlayText, PackContent, PartReference, Question, Request, RulesReference, SceneRequest, SchemaRequest, TestRequest, TokensRequest,
};
use crate::scene::{open_file, option_values, read_contents, suggest_packs};
use crate::stamp::{FileStamps, ReadStart};
use crate::testing::{CaseRunner, SnapshotUpdate, case, report};
use crate::text::tokens::{Estimator, TokenCounter};

type Result<T, E = RequestFailure> = std::result::Result<T, E>;

/// How handles of rules begin.
const RULES: &str = "rules-";
/// The kind of the schema of this door.
const DOOR: &str = "door";

impl Door {
    pub(crate) fn answer(&self, request: Request, answer: &mut Answer, events: CallEvents<'_>) -> Result<Json> {
        match request {
            Request::Open(request) => self.open(request, answer),
            Request::Put(file) => {
                let part = decode_file(file)?;
                let bytes = part.bytes.len();
                Ok(json!({ "part": self.memory.keep_part(part), "bytes": bytes }))
            }
            Request::Close(request) => {
                let closed = request.handles.iter().filter(|handle| self.memory.forget(handle)).count();
                Ok(json!({ "closed": closed }))
            }
            Request::Build(request) => self.build(request, answer),
            Request::Emit(request) => self.emit(request, answer),
            Request::Explain(request) => self.explain(request, answer),
            Request::Check(request) => self.check(request, answer),
            Request::Test(request) => self.test(request, events),
            Request::Diff(request) => self.diff(request, answer),
            Request::Import(request) => self.import(request, answer),
            Request::Convert(request) => self.convert(request, answer),
            Request::Doctor(request) => self.doctor(request, answer),
            Request::Options(request) => {
                let rules = self.rules(&request.rules, answer)?;
                let given = option_values(request.option, &rules)?;
                Ok(json!({ "pack": &*rules.pack().name, "options": rules.options().to_json(&given), "schema": rules.options().schema() }))
            }
            Request::Schema(request) => self.schema(&request, answer),
            Request::Packs(_) => Ok(json!({ "packs": self.shelf(&[]).names() })),
            Request::Tokens(request) => count_tokens(&request),
        }
    }

    /// The packs that can be named.
    pub(crate) fn shelf(&self, packs: &[PackContent]) -> PackShelf {
        let files = |pack: &PackContent| {
            let files = pack.files.iter().map(|(path, text)| (path.clone(), text.as_bytes().to_vec()));
            PackFiles::of(&pack.name, files)
        };
        PackShelf { packs: packs.iter().map(files).collect(), folders: self.folders.clone(), ..PackShelf::default() }
    }

    /// Loads and compiles a pack, and keeps it; gives its handle.
    fn load(&self, request: &Arc<OpenRequest>, answer: &mut Answer) -> Result<(String, Arc<BuildSession>)> {
        let overlays: Vec<Overlay> = request.overlays.iter().map(|overlay| Overlay::File(rule_file(overlay))).collect();
        let started = ReadStart::now();
        let rules = Ruleset::load(&Start::Name(request.pack.clone()), &overlays, &self.shelf(&request.packs))?;
        answer.add(usage_warnings(&rules), rules.sources());
        let handle = handle_of_rules(request);
        let stamps = Arc::new(FileStamps::of_read(started, &rules, &self.folders, &[]));
        let session = Arc::new(BuildSession::new(rules));
        self.memory.keep_rules(handle.clone(), OpenedRules { request: Arc::clone(request), session: Arc::clone(&session), stamps });
        Ok((handle, session))
    }

    /// Whether the files of a pack are still those that were read.
    fn is_current(&self, opened: &OpenedRules) -> bool {
        FileStamps::of(opened.session.rules(), &self.folders, &[]) == *opened.stamps
    }

    fn open(&self, request: OpenRequest, answer: &mut Answer) -> Result<Json> {
        let handle = handle_of_rules(&request);
        let (handle, session) = match self.memory.rules(&handle).filter(|opened| self.is_current(opened)) {
            Some(opened) => {
                answer.add(usage_warnings(opened.session.rules()), opened.session.rules().sources());
                (handle, opened.session)
            }
            None => self.load(&Arc::new(request), answer)?,
        };
        let rules = session.rules();
        let pack = rules.pack();
        let release = pack.layers.iter().rfind(|layer| !layer.overlay).map(|layer| layer.release.to_string());
        Ok(json!({
            "rules": handle, "pack": &*pack.name, "release": release, "fingerprint": rules.fingerprint(), "dialects": dialects(rules),
        }))
    }

    /// The rules that a request names.
    pub(crate) fn rules(&self, reference: &RulesReference, answer: &mut Answer) -> Result<Ruleset> {
        Ok(self.session(reference, answer)?.rules().clone())
    }

    /// Builds with the rules that a request names. They are read again where files have changed; if they are broken then, the
    /// last good ones stay, and that is told.
    fn session(&self, reference: &RulesReference, answer: &mut Answer) -> Result<Arc<BuildSession>> {
        let request = match reference {
            RulesReference::Name(handle) if handle.starts_with(RULES) => None,
            RulesReference::Name(name) => Some(OpenRequest { pack: name.clone(), packs: Vec::new(), overlays: Vec::new() }),
            RulesReference::Pack(request) => Some(request.clone()),
        };
        let handle = match (&request, reference) {
            (None, RulesReference::Name(handle)) => handle.clone(),
            (request, _) => request.as_ref().map(handle_of_rules).unwrap_or_default(),
        };
        let Some(opened) = self.memory.rules(&handle) else {
            let request = request.ok_or_else(|| unknown_handle(&handle, "open the pack again with `open`"))?;
            return Ok(self.load(&Arc::new(request), answer)?.1);
        };
        let rules = opened.session.rules();
        if self.is_current(&opened) {
            // where the pack was opened by a call of its own, its warnings were told then
            if request.is_some() {
                answer.add(usage_warnings(rules), rules.sources());
            }
            return Ok(opened.session);
        }
        match self.load(&opened.request, answer) {
            Ok((_, session)) => Ok(session),
            Err(failure) => {
                let errors = failure.report.items().iter().cloned();
                answer.add(errors.map(|error| Diagnostic { severity: Severity::Warning, ..error }).collect(), &failure.sources);
                let message = format!("pack `{}` has changed and has mistakes now; the rules from before are used", opened.request.pack);
                answer.add(
                    Diagnostic::new(Code::PackStale, message).help("mend the mistakes that are told beside this").into(),
                    &Sources::default(),
                );
                Ok(opened.session)
            }
        }
    }

    /// The file that a request names.
    pub(crate) fn part(&self, reference: &PartReference) -> Result<Arc<PartFile>> {
        match reference {
            PartReference::Handle(handle) => {
                self.memory.part(handle).ok_or_else(|| unknown_handle(handle, "send the file again with `put`"))
            }
            PartReference::File(file) => decode_file(file.clone()).map(Arc::new),
        }
    }

    /// The scene of a request; what is doubtful about it is told.
    pub(crate) fn read_scene(&self, request: &SceneRequest, rules: &Ruleset, answer: &mut Answer) -> Result<(Scene, Vec<ScenePart>)> {
        let mut notes = Report::default();
        let scene = self.scene(request, rules, &mut notes);
        answer.add(notes, rules.sources());
        scene
    }

    /// A prompt with its plan. Its warnings are told.
    fn prompt(&self, scene: &Scene, rules: &Ruleset, answer: &mut Answer) -> Result<BuiltPrompt> {
        let prompt = BuiltPrompt::build(rules.clone(), scene).map_err(|error| RequestFailure::of_build(&error, rules))?;
        answer.add(prompt.warnings.iter().cloned().chain(waiting_operations(&prompt.plan)).collect(), rules.sources());
        Ok(prompt)
    }

    fn build(&self, request: BuildRequest, answer: &mut Answer) -> Result<Json> {
        let session = self.session(&request.rules, answer)?;
        let rules = session.rules();
        let (mut scene, _) = self.read_scene(&request.scene, rules, answer)?;
        scene.trace = request.trace;
        if request.plan {
            let BuiltPrompt { plan, payload, request, .. } = self.prompt(&scene, rules, answer)?;
            let whole = serde_json::to_value(&plan).unwrap_or_default();
            let dialect = dialect_of(rules, &scene);
            return Ok(json!({ "dialect": dialect, "payload": payload, "request": request, "patch": plan.patch, "plan": whole }));
        }
        let prompt = session.prompt(&scene).map_err(|error| RequestFailure::of_build(&error, rules))?;
        answer.add(prompt.warnings.iter().cloned().collect(), rules.sources());
        let mut result = json!({ "dialect": prompt.dialect, "payload": prompt.payload, "request": prompt.request, "patch": prompt.patch });
        if let (Some(trace), Some(result)) = (prompt.trace, result.as_object_mut()) {
            result.insert("trace".to_owned(), serde_json::to_value(trace).unwrap_or_default());
        }
        Ok(result)
    }

    fn emit(&self, request: EmitRequest, answer: &mut Answer) -> Result<Json> {
        let rules = self.rules(&request.rules, answer)?;
        let (scene, _) = self.read_scene(&request.scene, &rules, answer)?;
        let plan = tapster::build(&rules, &scene).map_err(|error| RequestFailure::of_build(&error, &rules))?;
        answer.add(plan.warnings.iter().cloned().collect(), rules.sources());
        let wanted = if request.dialects.is_empty() { dialects(&rules) } else { request.dialects };
        let mut result = Map::new();
        for dialect in wanted {
            if result.contains_key(&dialect) {
                continue;
            }
            let emitted = tapster::emit(&rules, &plan, &dialect).map_err(|error| RequestFailure::of_build(&error, &rules))?;
            answer.add(emitted.warnings.into_iter().collect(), rules.sources());
            result.insert(dialect, json!({ "payload": emitted.payload, "request": emitted.request }));
        }
        Ok(json!({ "dialects": result, "patch": plan.patch }))
    }

    fn explain(&self, request: ExplainRequest, answer: &mut Answer) -> Result<Json> {
        let rules = self.rules(&request.rules, answer)?;
        if let Question::Rules(name) = &request.about {
            return if name.is_empty() {
                Ok(programs_json(&rules))
            } else {
                Ok(NamedRules::find(rules.pack(), name).map_err(|unknown| *unknown)?.as_json())
            };
        }
        let (mut scene, parts) = self.read_scene(&request.scene, &rules, answer)?;
        scene.trace = true;
        let BuiltPrompt { plan, payload, .. } = self.prompt(&scene, &rules, answer)?;
        let probe = ConditionProbe::new(&rules, &plan, &scene.data);
        Ok(match &request.about {
            Question::Blocks | Question::Rules(_) => explain::as_json(&plan, &rules),
            Question::Lore => lore::as_json(&plan, &rules, None),
            Question::Changes => changes::as_json(&plan, &rules, None),
            Question::Report => full_report(&plan, &rules, "", Some(&payload), None),
            Question::Why(wanted) => match why::blocks(&plan, wanted) {
                found if found.is_empty() => return Err(unknown_name("no block", wanted)),
                found => why::as_json(&found, &probe, &parts),
            },
            Question::WhyNot(wanted) => {
                let question = why_not::BuildQuestion { probe: &probe, scene: &scene, budget: &remedy::TrialBudget::new(&scene) };
                let found = question.as_json(wanted);
                if found.get("answers").and_then(Json::as_array).is_none_or(Vec::is_empty) {
                    return Err(unknown_name("nothing in this build", wanted));
                }
                found
            }
            Question::Value(path) => value::as_json(path, &probe, &parts),
            Question::Cache(previous) => cache_json(previous, &plan, &scene, &rules)?,
        })
    }

    fn check(&self, request: CheckRequest, answer: &mut Answer) -> Result<Json> {
        // of the warnings, not only those for users of the pack are told
        let result = self.rules(&request.rules, &mut Answer::default()).and_then(|rules| {
            answer.add(rules.warnings().clone(), rules.sources());
            answer.add(rules.suspicions(), rules.sources());
            let Some(scene) = &request.scene else { return Ok(()) };
            let (mut scene, _) = self.read_scene(scene, &rules, answer)?;
            scene.trace = true;
            let prompt = self.prompt(&scene, &rules, answer)?;
            answer.add(scene_warnings(&rules, &scene, &prompt.plan), rules.sources());
            Ok(())
        });
        if let Err(failure) = result {
            answer.add(failure.report, &failure.sources);
        }
        let count = |severity: &str| answer.diagnostics.iter().filter(|diagnostic| diagnostic["severity"] == severity).count();
        let (errors, warnings) = (count("error"), count("warning"));
        Ok(json!({ "errors": errors, "warnings": warnings }))
    }

    fn test(&self, request: TestRequest, events: CallEvents<'_>) -> Result<Json> {
        let shelf = self.shelf(&request.packs);
        let of_packs = shelf.packs.iter().flat_map(|pack| pack.cases.iter().map(|file| (Some(pack.name.clone()), file.clone())));
        let files: Vec<_> = of_packs.chain(request.cases.iter().map(|case| (None, rule_file(case)))).collect();
        let scenes = |_: &Path, _: Option<&str>, _: &Ruleset| Err("a case of a request names no scene file".to_owned());
        let runner =
            CaseRunner { shelf: &shelf, scenes: &scenes, filter: &request.filter, jobs: 1, update: SnapshotUpdate::None, coverage: false };
        let mut tested = Vec::new();
        for (n, (pack, file)) in files.iter().enumerate() {
            let mut read = case::read(file, Path::new(case::NOWHERE));
            if let (Ok(read), Some(pack)) = (&mut read, pack) {
                read.pack = Start::Name(pack.clone());
            }
            tested.extend(runner.run(&[read]));
            if !events(json!({ "event": "progress", "done": n + 1, "of": files.len() })) {
                return Err(Diagnostic::error(Code::BoundExceeded, "the call was ended before all cases had run")
                    .help("send fewer cases")
                    .into());
            }
        }
        Ok(report::json(&tested))
    }

    fn diff(&self, request: DiffRequest, answer: &mut Answer) -> Result<Json> {
        let (a, b) = (self.rules(&request.a, answer)?, self.rules(&request.b, answer)?);
        let rules = RuleDiff::of(a.pack(), b.pack());
        let mut result = json!({ "differs": !rules.is_empty(), "rules": rules.as_json() });
        if let Some(first) = request.scene.as_deref() {
            let mut side = |scene: &SceneRequest, rules: &Ruleset| {
                let (mut scene, _) = self.read_scene(scene, rules, answer)?;
                scene.trace = true;
                self.prompt(&scene, rules, answer)
            };
            let (one, other) = (side(first, &a)?, side(request.scene_b.as_deref().unwrap_or(first), &b)?);
            let prompt = PromptDiff::of(&one, &other, &rules);
            result = json!({ "differs": prompt.differs(), "rules": rules.as_json(), "prompt": prompt.as_json() });
        }
        Ok(result)
    }

    fn import(&self, request: ImportRequest, answer: &mut Answer) -> Result<Json> {
        let rules = self.rules(&request.rules, answer)?;
        let file = self.part(&request.file)?;
        let mut notes = Report::default();
        let contents = open_file(&file, &mut notes)?;
        let read = read_contents(&file.name, &contents, &rules, request.format.as_deref(), &suggest_packs, &mut notes);
        answer.add(notes, &Sources::default());
        let read = read.map_err(|refused| *refused)?;
        Ok(json!({ "format": read.format, "scene": read.scene, "rest": read.rest, "fields": read.fields }))
    }

    fn convert(&self, request: ConvertRequest, answer: &mut Answer) -> Result<Json> {
        if request.to.as_deref() == Some(PACK) {
            return self.make_pack(&request, answer);
        }
        let Some(rules) = &request.rules else {
            let complaint = Diagnostic::error(Code::SchemaValue, "a conversion to a format needs `rules`");
            return Err(complaint.help("name the pack that converts").into());
        };
        let rules = self.rules(rules, answer)?;
        let file = self.part(&request.file)?;
        let mut notes = Report::default();
        let contents = open_file(&file, &mut notes)?;
        let made = tapster::convert_document(&rules, request.to.as_deref(), contents.whole(rules.card_chunks())).map_err(|error| {
            let help = "the pack has no conversion of such a file; name another pack, or the format that is made with `to`";
            Diagnostic::new(Code::ImportFormat, format!("`{}`: {}", file.name, error.message)).help(help)
        })?;
        let warnings = made.warnings.iter().map(|warning| Diagnostic::new(Code::ImportValue, format!("`{}`: {warning}", file.name)));
        notes.extend(warnings.collect());
        answer.add(notes, &Sources::default());
        Ok(json!({ "format": made.format, "document": made.scene, "fields": made.fields }))
    }

    fn schema(&self, request: &SchemaRequest, answer: &mut Answer) -> Result<Json> {
        let schemas = Schemas::shipped();
        let Some(kind) = request.kind.as_deref() else {
            let kinds =
                KINDS.iter().filter_map(|(name, about)| Some(json!({ "kind": name, "version": schemas.newest(name)?, "about": about })));
            return Ok(json!({ "kinds": kinds.collect::<Vec<_>>() }));
        };
        if kind == DOOR && request.version.is_none_or(|version| version == 1) {
            return Ok(schema());
        }
        let rules = request.rules.as_ref().map(|rules| self.rules(rules, answer)).transpose()?;
        let version = request.version.or_else(|| schemas.newest(kind));
        let found = version.and_then(|version| {
            let file = format!("{kind}.v{version}.json");
            rules.map_or_else(|| schemas.bundled(&file), |rules| schemas.bundled_for(&file, rules.pack()))
        });
        found.ok_or_else(|| {
            let known = KINDS.iter().map(|(name, _)| *name).chain([DOOR]);
            let help = suggest::help(kind, known).unwrap_or_else(|| "without a kind, the kinds are listed".into());
            Diagnostic::error(Code::SchemaKind, format!("there is no such schema of `{kind}`")).help(help).into()
        })
    }
}

/// The warnings of loading that matter to whoever uses a pack. Advice to authors of templates and overlays is given by checks
/// alone.
#[must_use]
pub fn usage_warnings(rules: &Ruleset) -> Report {
    let mut warnings = rules.warnings().clone();
    let is_advice =
        |code| matches!(code, Code::TemplateUnused | Code::TemplateBudget | Code::TemplateDoubtful | Code::LayerPatches | Code::LayerDrops);
    warnings.retain(|d| !d.code.known().is_some_and(is_advice));
    warnings
}

fn rule_file(OverlayText { name, text }: &OverlayText) -> RuleFile {
    RuleFile { name: name.clone(), path_in_pack: name.clone(), bytes: text.clone().into_bytes() }
}

fn decode_file(file: FileContent) -> Result<PartFile> {
    let bytes = match (file.text, file.base64, file.json) {
        (Some(text), None, None) => text.into_bytes(),
        (None, Some(base64), None) => STANDARD.decode(base64).map_err(|error| {
            let complaint = Diagnostic::error(Code::FileEncoding, format!("`{}` is not valid base64: {error}", file.name));
            complaint.help("write the bytes of the file in base64 with padding")
        })?,
        (None, None, Some(json)) => json.to_string().into_bytes(),
        _ => {
            let complaint =
                Diagnostic::error(Code::SchemaValue, format!("`{}` has not just one of `text`, `base64` and `json`", file.name));
            return Err(complaint.help("give the content of the file in one way").into());
        }
    };
    Ok(PartFile { name: file.name, bytes })
}

/// What a provider's cache can serve after a previous request.
fn cache_json(previous: &Json, plan: &Plan, scene: &Scene, rules: &Ruleset) -> Result<Json> {
    let blocks = blocks_of(previous).ok_or_else(|| {
        let complaint = Diagnostic::error(Code::ImportFormat, "the previous request is not a plan");
        complaint.help("give the `plan` that `build` returns where `plan` is true")
    })?;
    let found = unchanged(rules, plan, &blocks).map_err(|error| RequestFailure::of_build(&error, rules))?;
    let provider = cache::ProviderCache::of(plan, rules, &dialect_of(rules, scene));
    Ok(cache::as_json(&found, provider.as_ref(), plan, rules))
}

fn count_tokens(request: &TokensRequest) -> Result<Json> {
    let tokenizer = request.tokenizer.as_deref().unwrap_or("cl100k");
    let estimator = Estimator::parse(tokenizer).map_err(|message| Diagnostic::error(Code::NameUnknown, message))?;
    let counter = TokenCounter::new(estimator);
    let counts: Vec<usize> = request.texts.iter().map(|text| counter.count(text)).collect();
    Ok(json!({ "tokenizer": tokenizer, "counts": counts, "total": counts.iter().sum::<usize>() }))
}

fn handle_of_rules(request: &OpenRequest) -> String {
    handle_of(RULES, &[&serde_json::to_vec(request).unwrap_or_default()])
}

fn unknown_handle(handle: &str, help: &str) -> RequestFailure {
    Diagnostic::error(Code::NameUnknown, format!("nothing is kept under the handle `{}`", crate::layout::head(handle, 60)))
        .help(help)
        .into()
}

fn unknown_name(what: &str, name: &str) -> RequestFailure {
    let message = format!("{what} is called `{}` or holds it", crate::layout::head(name, 60));
    Diagnostic::error(Code::NameUnknown, message).help("`explain` about `blocks` and `lore` lists what there is").into()
}
