//! Runs the turns of a case, each of which finds what those before it have stored, and collects everything that may be expected of
//! them.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::case::{CaseAction, CaseTurn, RunInputs, TestCase, beside_case};
use crate::build;
use crate::build::scene::{kept, patched, restore};
use crate::build::{BuildError, EmittedPlan, Outcome};
use crate::diag::{Diagnostic, DocumentNode};
use crate::import;
use crate::model::plan::RecordedReason;
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::pack::files::read_file;

/// Reads a scene file, whose files are read by the rules. `now` is the time of the case, which stands above that of the
/// file; the clock is never read.
pub type SceneReader<'r> = &'r (dyn Fn(&Path, Option<&str>, &Ruleset) -> Result<Scene, String> + Sync);

/// The time of a case that says none: a case never reads the clock.
pub const CASE_TIME: &str = "2026-01-01T12:00:00Z";

/// What to do about lists that are given to a build.
pub(super) const NO_LISTS: &str = "write their rows into `scene`, or start a program with `run`";

/// What came out of a turn.
#[derive(Default)]
pub struct PlayedTurn {
    /// The state that programs have left behind.
    pub outcome: Option<Outcome>,
    /// The plan of a build.
    pub plan: Option<Plan>,
    /// The payload of a build.
    pub emitted: Option<EmittedPlan>,
    /// Expanded texts.
    pub texts: Option<Vec<String>>,
    /// A document that was read.
    pub imported: Option<Json>,
    /// All warnings, in order.
    pub warnings: Vec<Diagnostic>,
    /// The reasons that passes gave; only with a trace.
    pub reasons: Vec<RecordedReason>,
    /// What to keep for the next turn.
    pub patch: Value,
    /// Scripted draws that were not used.
    pub draws_left: usize,
}

/// Why a turn has no result.
#[derive(Debug)]
pub enum TurnFailure {
    /// A file of the case cannot be read.
    Given(String),
    /// The rules ended with an error.
    Rules(BuildError),
}

impl From<BuildError> for TurnFailure {
    fn from(error: BuildError) -> Self {
        TurnFailure::Rules(error)
    }
}

/// The scene of a turn, without what earlier turns have kept.
///
/// # Errors
/// The scene file cannot be read.
pub fn scene(given: &RunInputs, base: &Path, rules: &Ruleset, reader: SceneReader<'_>) -> Result<Scene, TurnFailure> {
    let mut scene = match &given.scene_file {
        Some(file) => {
            let path = beside_case(base, file);
            // a pipe or a device would be waited for
            if path.metadata().is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
                return Err(TurnFailure::Given(format!("`{file}` is neither a file nor a folder")));
            }
            reader(&path, given.now.as_deref(), rules).map_err(TurnFailure::Given)?
        }
        None => Scene { data: Value::map(crate::model::Map::default()), ..Scene::default() },
    };
    scene.merge(Value::from(&given.scene));
    if let Some(now) = &given.now {
        scene.set("now", Value::text(now.as_str()));
    }
    if let Some(seed) = &given.seed {
        scene.seed.clone_from(seed);
    }
    scene.draws = Some(given.draws.clone());
    scene.strict |= given.strict;
    Ok(scene)
}

/// Runs a turn.
///
/// # Errors
/// A file cannot be read, or the rules end with an error.
pub fn turn(turn: &CaseTurn, mut scene: Scene, rules: &Ruleset, base: &Path, trace: bool) -> Result<PlayedTurn, TurnFailure> {
    scene.trace |= trace;
    let drawn = turn.given.draws.len();
    match &turn.action {
        CaseAction::Run(names) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let lists: Vec<(&str, Json)> = turn.given.lists.iter().map(|(name, rows)| (name.as_str(), rows.clone())).collect();
            let outcome = build::run_all(rules, &names, &scene, &lists)?;
            Ok(of_outcome(outcome))
        }
        CaseAction::Build | CaseAction::Payload(_) if !turn.given.lists.is_empty() => {
            Err(TurnFailure::Given(format!("a build fills its lists from the scene; {NO_LISTS}")))
        }
        CaseAction::Build => {
            let (plan, outcome) = build::built(rules, &scene)?;
            Ok(PlayedTurn { warnings: plan.warnings.clone(), plan: Some(plan), ..of_outcome(outcome) })
        }
        CaseAction::Payload(dialect) => {
            let (plan, outcome) = build::built(rules, &scene)?;
            let dialect = dialect.clone().unwrap_or_else(|| build::dialect_of(rules, &scene));
            let emitted = build::emit(rules, &plan, &dialect)?;
            let warnings = plan.warnings.iter().chain(&emitted.warnings).cloned().collect();
            Ok(PlayedTurn { warnings, plan: Some(plan), emitted: Some(emitted), ..of_outcome(outcome) })
        }
        CaseAction::Expand(texts) => {
            let asked: Vec<(&str, Value)> = texts.iter().map(|(text, with)| (text.as_str(), with.clone())).collect();
            let found = build::expand_texts(rules, &scene, &asked)?;
            Ok(PlayedTurn {
                texts: Some(found.texts.iter().map(ToString::to_string).collect()),
                warnings: found.warnings,
                patch: found.patch,
                draws_left: drawn.saturating_sub(found.draws),
                ..PlayedTurn::default()
            })
        }
        CaseAction::Import { document, file, format } => {
            let document = match (document, file) {
                (Some(document), _) => Value::from(document),
                (None, Some(file)) => opened(&beside_case(base, file), rules)?,
                (None, None) => return Err(TurnFailure::Given("`import` names neither a `document` nor a `file`".to_owned())),
            };
            let brought = build::import_document(rules, format.as_deref(), document)?;
            let imported = json!({
                "format": brought.format,
                "scene": brought.scene.to_json(),
                "rest": brought.rest.to_json(),
                "warnings": brought.warnings,
            });
            Ok(PlayedTurn { imported: Some(imported), ..PlayedTurn::default() })
        }
    }
}

fn of_outcome(outcome: Outcome) -> PlayedTurn {
    PlayedTurn {
        warnings: outcome.warnings(),
        reasons: outcome.reasons(),
        patch: outcome.patch(),
        draws_left: outcome.draws_left(),
        outcome: Some(outcome),
        ..PlayedTurn::default()
    }
}

/// The document of a file of another program.
fn opened(path: &Path, rules: &Ruleset) -> Result<Value, TurnFailure> {
    let mut report = crate::diag::Report::default();
    let read = read_file(path, &mut report);
    let told = |report: &crate::diag::Report| report.items().first().map(|d| d.message.clone()).unwrap_or_default();
    let Some(file) = read else { return Err(TurnFailure::Given(told(&report))) };
    let contents = import::read(&file.name, &file.bytes).map_err(|report| TurnFailure::Given(told(&report)))?;
    Ok(contents.whole(rules.card_chunks()))
}

impl PlayedTurn {
    /// The value that an expectation of this key is held against; `Null` where the turn has none.
    #[must_use]
    pub fn value(&self, key: &str) -> Json {
        match key {
            "payload" => self.emitted.as_ref().map(|e| e.payload.clone()).unwrap_or_default(),
            "request" => self.emitted.as_ref().map(|e| e.request.clone()).unwrap_or_default(),
            "texts" => self.texts.as_ref().map(|texts| json!(texts)).unwrap_or_default(),
            "imported" => self.imported.clone().unwrap_or_default(),
            "patch" => self.patch.to_json(),
            "trim" => {
                let report = self.plan.as_ref().and_then(|plan| plan.trim_report.as_ref());
                report.and_then(|report| serde_json::to_value(report).ok()).unwrap_or_default()
            }
            "warnings" => Json::Array(self.warnings.iter().map(warning).collect()),
            "reasons" => Json::Array(self.reasons.iter().filter_map(|r| serde_json::to_value(r).ok()).collect()),
            "draws_left" => json!(self.draws_left),
            _ => Json::Null,
        }
    }

    /// The items of a list; `None` where the turn has run no program.
    #[must_use]
    pub fn list(&self, name: &str) -> Option<Json> {
        let items = self.outcome.as_ref()?.list(name);
        Some(Json::Array(items.iter().map(Value::to_json).collect()))
    }

    /// The lines of the enabled items of a list.
    #[must_use]
    pub fn lines(&self, list: &str, line: &str) -> Json {
        let items = self.list(list).unwrap_or_default();
        let enabled = items.as_array().into_iter().flatten().filter(|item| item.get("enabled") != Some(&Json::Bool(false)));
        Json::Array(enabled.map(|item| Json::from(shown(line, item))).collect())
    }
}

fn warning(warning: &Diagnostic) -> Json {
    json!({ "code": warning.code.as_str(), "message": warning.message, "pass": warning.pass })
}

/// A line of an item: `{path}` stands for a field. A field that is not there is left out.
fn shown(line: &str, item: &Json) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, tail)) = rest.split_once('{') {
        let Some((path, tail)) = tail.split_once('}') else {
            out.push_str(before);
            out.push('{');
            rest = tail;
            continue;
        };
        let found = path.split('.').try_fold(item, |at, name| at.get(name));
        out.push_str(before);
        match found {
            None | Some(Json::Null) => {}
            Some(Json::String(text)) => out.push_str(text),
            Some(other) => out.push_str(&other.to_string()),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// A table of what came out, for a snapshot file and for a case without expectations.
#[must_use]
pub fn whole(played: &PlayedTurn, turn: &CaseTurn, show: &[(String, String)], rules: &Ruleset) -> Map<String, Json> {
    let mut out = Map::new();
    let lists: Vec<(String, Json)> =
        show.iter().filter_map(|(list, line)| Some((list.clone(), played.list(list).map(|_| played.lines(list, line))?))).collect();
    if !lists.is_empty() {
        out.insert("shown".into(), Json::Object(lists.into_iter().collect()));
    }
    match &turn.action {
        CaseAction::Run(names) if out.is_empty() => {
            let program =
                |name: &String| rules.programs().list.iter().find(|p| name == &*p.name || name.starts_with(&format!("{}/", p.name)));
            let lists = names.iter().filter_map(program).filter_map(|p| rules.programs().rules.lists.get(p.list));
            let lists: Map<String, Json> = lists.filter_map(|l| Some((l.name.to_string(), played.list(&l.name)?))).collect();
            out.insert("lists".into(), Json::Object(lists));
        }
        CaseAction::Build if out.is_empty() => {
            let blocks = played.plan.iter().flat_map(|plan| &plan.blocks).filter(|b| b.enabled());
            let few = |block: &crate::model::PlanBlock| {
                let all = block.fields.to_json();
                let kept = ["id", "slot", "role", "text"].into_iter().filter_map(|key| Some((key.to_owned(), all.get(key)?.clone())));
                Json::Object(kept.collect())
            };
            out.insert("lists".into(), json!({ "blocks": blocks.map(few).collect::<Vec<_>>() }));
        }
        CaseAction::Payload(_) => drop(out.insert("payload".into(), played.value("payload"))),
        CaseAction::Expand(_) => drop(out.insert("texts".into(), played.value("texts"))),
        CaseAction::Import { .. } => drop(out.insert("imported".into(), played.value("imported"))),
        CaseAction::Run(_) | CaseAction::Build => {}
    }
    if !played.warnings.is_empty() {
        out.insert("warnings".into(), played.warnings.iter().map(|w| Json::from(w.code.as_str())).collect());
    }
    if played.draws_left > 0 {
        out.insert("draws_left".into(), json!(played.draws_left));
    }
    out
}

/// The turns of a chat, each of which begins with what those before it have kept.
#[derive(Debug, Default)]
pub struct CaseChat {
    kept: Option<Json>,
}

impl CaseChat {
    /// A chat that begins with this state.
    #[must_use]
    pub fn with(kept: Json) -> Self {
        Self { kept: Some(kept) }
    }

    /// Puts what was kept into the scene of the next turn. Before the first turn, what the scene itself says stays.
    pub fn enter(&self, scene: &mut Scene) {
        if let Some(kept) = &self.kept {
            restore(scene, kept);
        }
    }

    /// Keeps what a turn has left behind. The scene is the one that the turn began with.
    pub fn leave(&mut self, began: &Scene, patch: &Value) {
        self.kept = Some(patched(kept(began), &patch.to_json()));
    }

    /// What was kept; `None` before the first turn of a chat that begins with nothing.
    #[must_use]
    pub fn kept(&self) -> Option<&Json> {
        self.kept.as_ref()
    }
}

/// Plays the turns of a case, and hands what came of each to `judge`, which says whether to go on.
pub fn turns<'c>(
    case: &'c TestCase,
    base: &Path,
    rules: &Ruleset,
    reader: SceneReader<'_>,
    trace: impl Fn(&CaseTurn) -> bool,
    mut judge: impl FnMut(&'c CaseTurn, Result<PlayedTurn, TurnFailure>) -> bool,
) {
    let mut chat = CaseChat::default();
    for one in &case.turns {
        let played = scene(&one.given, base, rules, reader).and_then(|mut scene| {
            chat.enter(&mut scene);
            // what this turn alone says of the state stands above what was kept
            for name in ["state", "vars"].into_iter().filter(|_| case.turns.len() > 1) {
                if let Some(own) = one.node.get("scene").and_then(|scene: &DocumentNode| scene.get(name)) {
                    scene.set(name, Value::from(own).over(scene.get(name)));
                }
            }
            let began = scene.clone();
            let played = turn(one, scene, rules, base, trace(one))?;
            chat.leave(&began, &played.patch);
            Ok(played)
        });
        if !judge(one, played) {
            return;
        }
    }
}
