//! What a case gives to a turn: values of its scene and items of its lists that no rule reads, that are misspelt, or that are
//! not of the type that the pack declares; options that the pack does not have; and the time.

use crate::build::{TypeMismatch, misfits, unread};
use crate::diag::{Code, Diagnostic, Report, Span};
use crate::model::options::TABLE;
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;

use super::case::{CaseAction, CaseTurn, TestCase};
use super::files::CaseFile;
use super::nodes::{says, wanted_error, written};

/// What a case says beside its scene, and a scene file beside its own.
const BESIDE_SCENE: [&str; 3] = ["seed", "draws", "strict"];

/// What is wrong with what the case itself gives to a turn, unless the turn expects to be told of it.
pub(super) fn faults(file: &CaseFile, case: &TestCase, rules: &Ruleset, turn: &CaseTurn) -> Report {
    let look = InputCheck { file, case, rules, turn };
    let error = wanted_error(turn);
    let warnings = turn.expect.as_ref().and_then(|expect| expect.get("warnings"));
    let mut found = Report::default();
    for (path, diagnostic) in look.told() {
        let code = diagnostic.code.as_str();
        let is_expected = warnings.is_some_and(|node| says(node, code));
        let ends = error.is_some_and(|error| error == code || error == Code::StrictMode.as_str());
        if !is_expected && !ends && !rules.allows(&diagnostic) {
            let span = look.place(&path);
            found.push(diagnostic.at(span));
        }
    }
    found
}

/// A look at what is given to one turn.
struct InputCheck<'c> {
    file: &'c CaseFile,
    case: &'c TestCase,
    rules: &'c Ruleset,
    turn: &'c CaseTurn,
}

impl InputCheck<'_> {
    /// All that is wrong, each with its path in the scene.
    fn told(&self) -> Vec<(String, Diagnostic)> {
        let data = Value::from(&self.turn.given.scene);
        let mut told: Vec<(String, Diagnostic)> = Vec::new();
        self.now().into_iter().for_each(|wrong| told.push(("now".to_owned(), wrong)));
        for fault in self.rules.options().faults(data.get(TABLE).unwrap_or(&Value::Null)) {
            let path = if fault.option.is_empty() { TABLE.to_owned() } else { format!("{TABLE}.{}", fault.option) };
            told.push((path, Diagnostic::new(fault.code, fault.message).help(fault.help)));
        }
        for (path, message) in unread(self.rules, &data) {
            let warning = Diagnostic::new(Code::SceneField, message);
            let help = match path.as_str() {
                "message" => Some("a scene file has a `message`; a case writes it into `history`, as its last row".to_owned()),
                path if BESIDE_SCENE.contains(&path) => Some(format!("write `{path}` beside `scene`")),
                _ => None,
            };
            told.push((path, if let Some(help) = help { warning.help(help) } else { warning }));
        }
        // what nothing reads here may be for the rules of another case of the file
        let has_other_rules = self.file.cases.iter().any(|case| !case.overlays.is_empty());
        // a build warns of the same; what programs are given is looked at here alone
        for misfit in misfits(self.rules, &self.filled(data)) {
            // a word that is like none of those that the pack knows is given on purpose, and `dialects` tells of that of a payload
            let is_dialect = misfit.path == "dialect" && matches!(self.turn.action, CaseAction::Payload(_));
            let is_meant = match misfit.kind {
                TypeMismatch::Item => has_other_rules,
                TypeMismatch::Word => true,
                TypeMismatch::Slip | TypeMismatch::Type => false,
            };
            if misfit.kind != TypeMismatch::Type && (is_dialect || is_meant) {
                continue;
            }
            told.push((misfit.path.clone(), Diagnostic::warning(misfit.code(), misfit.message).help(misfit.help)));
        }
        told
    }

    /// The scene with the items of the lists that programs are given, as `tapster run --list` fills it.
    fn filled(&self, data: Value) -> Value {
        let mut scene = Scene { data, ..Scene::default() };
        if matches!(self.turn.action, CaseAction::Run(_)) {
            for (name, rows) in &self.turn.given.lists {
                scene.set(self.rules.programs().rules.source_of(name), Value::from(rows));
            }
        }
        scene.data
    }

    /// What is wrong with the time of a turn, as for the flag `--now` and a scene file.
    fn now(&self) -> Option<Diagnostic> {
        let data: Map = [("now".into(), Value::text(self.turn.given.now.as_deref()?))].into_iter().collect();
        let wrong =
            misfits(self.rules, &Value::map(data)).into_iter().find(|misfit| misfit.kind == TypeMismatch::Type && misfit.path == "now")?;
        Some(Diagnostic::error(Code::SceneType, wrong.message).help(wrong.help))
    }

    /// Where a path is written: in a list that the case gives, or in its scene.
    fn place(&self, path: &str) -> Span {
        if let Some(now) = written(self.file, self.case, self.turn, "now").filter(|_| path == "now") {
            return now.node.span;
        }
        let nodes = || [Some(&self.turn.node), Some(&self.case.node), self.file.given()].into_iter().flatten();
        let lists = self.turn.given.lists.iter().filter(|_| matches!(self.turn.action, CaseAction::Run(_)));
        let mut in_lists = lists.filter_map(|(name, _)| {
            let rest = path.strip_prefix(self.rules.programs().rules.source_of(name))?.strip_prefix('.')?;
            // the nearest table of lists that has it counts
            nodes().find_map(|node| node.get("lists")?.get(name))?.at(rest)
        });
        let in_scene = || nodes().filter_map(|node| node.get("scene")).find_map(|scene| scene.at(path));
        let beside = || written(self.file, self.case, self.turn, "scene").map_or(self.turn.node.span, |field| field.key);
        in_lists.next().or_else(in_scene).map_or_else(beside, |(key, _)| key)
    }
}
