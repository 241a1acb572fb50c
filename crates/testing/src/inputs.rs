//! What a case gives to a turn and should not: values and items that no rule reads, that are misspelled, or that are not of the
//! declared type; unknown options and dialects; and what the turn does not look at, such as lists where texts are expanded.

use super::case::{CaseAction, CaseFile, CaseTurn, TestCase};
use super::nodes::{contains_text, expected_error, field_of_turn};
use crate::build::dialects;
use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, suggest};
use crate::model::options::TABLE;
use crate::model::{Map, Scene, Value};
use crate::pack::{Ruleset, TypeMismatch, UndeclaredPath};

/// What a case says beside its scene, and a scene file beside its own.
const BESIDE_SCENE: [&str; 3] = ["seed", "draws", "strict"];

/// What is wrong with what the case itself gives to a turn, unless the turn expects to be told of it.
pub(super) fn input_faults(file: &CaseFile, case: &TestCase, rules: &Ruleset, turn: &CaseTurn) -> Report {
    let look = InputCheck { file, case, rules, turn };
    let error = expected_error(turn);
    let warnings = turn.expect.as_ref().and_then(|expect| expect.get("warnings"));
    let mut found = Report::default();
    for (path, diagnostic) in look.told() {
        let code = diagnostic.code.as_str();
        let is_expected = warnings.is_some_and(|node| contains_text(node, code));
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
        for UndeclaredPath { path, warning } in self.rules.for_scenes().undeclared_paths(&data) {
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
        for misfit in self.rules.for_scenes().misfits(&self.filled(data)) {
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
        let misfits = self.rules.for_scenes().misfits(&Value::map(data));
        let wrong = misfits.into_iter().find(|misfit| misfit.kind == TypeMismatch::Type && misfit.path == "now")?;
        Some(Diagnostic::error(Code::SceneType, wrong.message).help(wrong.help))
    }

    /// Where a path is written: in a list that the case gives, or in its scene.
    fn place(&self, path: &str) -> Span {
        if let Some(now) = field_of_turn(self.file, self.case, self.turn, "now").filter(|_| path == "now") {
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
        let beside = || field_of_turn(self.file, self.case, self.turn, "scene").map_or(self.turn.node.span, |field| field.key);
        in_lists.next().or_else(in_scene).map_or_else(beside, |(key, _)| key)
    }
}

/// What nothing looks at where texts are expanded.
const OF_EXPAND: &[&str] = &["lists", "show"];
/// What nothing looks at where a document is read.
const OF_IMPORT: &[&str] = &["scene", "scene_file", "lists", "draws", "now", "seed", "strict", "show", "budget"];

/// What the case gives to a turn without any effect; and what is wrong with the document that the turn reads.
pub(super) fn ignored_inputs(file: &CaseFile, case: &TestCase, rules: &Ruleset, turn: &CaseTurn) -> Report {
    let mut found = ignored_keys(case, turn);
    if let (CaseAction::Import { .. }, None) = (&turn.action, expected_error(turn))
        && let Some(import) = field_of_turn(file, case, turn, "import")
    {
        found.extend(document(&import.node, rules));
    }
    found
}

/// The key that says an action, and the keys that it does not look at.
fn keys_ignored_by(action: &CaseAction) -> (&'static str, &'static [&'static str]) {
    match action {
        CaseAction::Expand(_) => ("expand", OF_EXPAND),
        CaseAction::Import { .. } => ("import", OF_IMPORT),
        // of a build, lists are an error
        CaseAction::Run(_) => ("run", &[]),
        CaseAction::Build => ("build", &[]),
        CaseAction::Payload(_) => ("dialect", &[]),
    }
}

/// What a turn gives by itself and does not look at, and what its case gives to turns none of which looks at it. What the
/// file gives is for its other cases.
fn ignored_keys(case: &TestCase, turn: &CaseTurn) -> Report {
    let (action, keys) = keys_ignored_by(&turn.action);
    let of_turn = |key: &str| keys.contains(&key);
    let of_case = |key: &str| case.turns.iter().all(|turn| keys_ignored_by(&turn.action).1.contains(&key));
    let own = turn.node.as_table().into_iter().flatten().filter(|(key, _)| of_turn(key));
    let shared = case.node.as_table().into_iter().flatten().filter(|(key, _)| of_turn(key) && of_case(key));
    let told = |key: &str| {
        let message = format!("`{action}` looks at no `{key}`, so it has no effect");
        let help = match key {
            "lists" => "take it out; programs work on lists: start one with `run`",
            "show" => "take it out; it is about the items of lists",
            _ => "take it out: a document is read by itself",
        };
        Diagnostic::warning(Code::SchemaValue, message).help(help)
    };
    own.chain(shared).map(|(key, field)| told(key).at(field.key)).collect()
}

/// What is wrong with a document that is to be read.
fn document(import: &DocumentNode, rules: &Ruleset) -> Report {
    let mut found = Report::default();
    match (import.get("document"), import.get("file")) {
        (None, None) => {
            let complaint = Diagnostic::new(Code::SchemaValue, "`import` names neither a `document` nor a `file`").at(import.span);
            found.push(complaint.help("write the document into `document`, or the path of its file into `file`"));
        }
        (Some(_), Some(file)) => {
            let complaint = Diagnostic::new(Code::SchemaValue, "`file` is not read beside a `document`").at(file.span);
            found.push(complaint.help("keep one of them; write a second case for the other"));
        }
        _ => {}
    }
    let known = || rules.programs().formats.iter().filter(|format| format.makes.is_none()).map(|format| &*format.name);
    if let Some(node) = import.get("format")
        && let Some(name) = node.as_text().filter(|name| !known().any(|known| known == *name))
    {
        let help = suggest::help(name, known()).unwrap_or_else(|| format!("it reads {}", known().collect::<Vec<_>>().join(", ")).into());
        let message = format!("pack `{}` reads no format `{name}`", rules.pack().name);
        found.push(Diagnostic::new(Code::NameUnknown, message).at(node.span).help(help));
    }
    found
}

/// What is wrong with the dialects that a case names. `rules` are those of the case.
pub fn unknown_dialects(file: &CaseFile, case: &TestCase, rules: &Ruleset) -> Report {
    let mut report = Report::default();
    let mut told: Vec<Span> = Vec::new();
    for (node, name) in case.turns.iter().filter_map(|turn| named(file, case, turn)) {
        let known = dialects(rules);
        if told.contains(&node.span) || known.iter().any(|dialect| dialect == name) {
            continue;
        }
        let help = suggest::help(name, known.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| format!("the dialects are {}", known.join(", ")).into());
        told.push(node.span);
        report
            .push(Diagnostic::new(Code::DialectUnknown, format!("the pack of this case has no dialect `{name}`")).help(help).at(node.span));
    }
    report
}

/// The dialect that a turn names, where it stands; nothing for a case that expects it to be unknown.
fn named<'f>(file: &'f CaseFile, case: &'f TestCase, turn: &'f CaseTurn) -> Option<(&'f DocumentNode, &'f str)> {
    let expected = turn.expect.as_ref().and_then(|expect| expect.get("error")?.as_text());
    if expected == Some(Code::DialectUnknown.as_str()) {
        return None;
    }
    let mut nodes = [Some(&turn.node), Some(&case.node), file.given()].into_iter().flatten();
    let node = match turn.action {
        CaseAction::Payload(Some(_)) => nodes.find_map(|node| node.get("dialect")),
        CaseAction::Payload(None) => nodes.find_map(|node| node.get("scene")?.get("dialect")),
        _ => None,
    }?;
    Some((node, node.as_text()?))
}
