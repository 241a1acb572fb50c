//! One report of a preset, a card or a lorebook before it is used: what its parts cost, which of them never reach a prompt, what is
//! doubtful about it, what each dialect would refuse or leave out, what it brings along, a grade, and the repairs that are certain.
//!
//! The rules say what the parts are (program `doctor`) and what a finding takes of the grade (program `grade`).

mod repair;
mod text;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::{Answer, Door, RequestFailure};
use crate::build::{BuildError, built, dialect_of, dialects};
use crate::diag::{Code, Diagnostic, Report, Severity, limits, short};
use crate::examine::{PatternState, scene_warnings};
use crate::import::Contents;
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;
use crate::program::foreign::{FieldOutcome, ImportedDocument};
use crate::request::{DoctorRequest, RulesReference, SceneRequest};
use crate::scene::{SceneRole, find_readers, open_file, read_contents, suggest_packs};
use crate::text::tokens::{Estimator, TokenCounter};

pub use text::as_text;

/// The programs of the rules, and the lists over which they run.
pub(crate) const DOCTOR: &str = "doctor";
pub(crate) const PARTS: &str = "file_parts";
const GRADE: &str = "grade";
const FINDINGS: &str = "findings";
/// The most parts that are listed; the sums are about all.
const MOST_PARTS: usize = 2_000;
/// The most words of a list of names.
const MOST_NAMES: usize = 100;
/// How tokens are counted if a pack does not say it, or says it in a way that is not compiled in.
const ESTIMATOR: &str = "chars/4";
/// The message to which the prompt answers in which a file is tried.
const MESSAGE: &str = "Hello.";

impl Door {
    pub(crate) fn doctor(&self, request: DoctorRequest, answer: &mut Answer) -> Result<Json, RequestFailure> {
        let file = self.part(&request.file)?;
        let mut notes = Report::default();
        let contents = open_file(&file, &mut notes)?;
        let rules = self.rules_for(request.rules.as_ref(), &file.name, &contents, answer)?;
        // what this reports is reported again of the scene
        let read =
            read_contents(&file.name, &contents, &rules, None, &suggest_packs, &mut Report::default()).map_err(|refused| *refused)?;
        let role = SceneRole::of(&read.scene).unwrap_or(SceneRole::Preset);
        let scene = SceneRequest { message: request.scene.message.clone().or_else(|| Some(MESSAGE.to_owned())), ..request.scene };
        let (mut scene, _) = self.scene(&role.add_file(scene, request.file), &rules, &mut notes)?;
        scene.trace = true;
        let trial = PromptTrial::of(&rules, &scene, notes);
        let mut examined = Scene { trace: false, strict: false, ..scene.clone() };
        examined.set("examined", read.scene.clone());
        let parts =
            FileParts::of(&rules, &examined, trial.estimator.as_deref()).map_err(|error| RequestFailure::of_build(&error, &rules))?;
        let findings = findings(&trial.report, &parts);
        let grade = grade(&rules, &examined, &findings).map_err(|error| RequestFailure::of_build(&error, &rules))?;
        let repairs = repair::find_repairs(&file, &trial.report);
        Ok(json!({
            "file": file.name, "format": read.format, "is": role.kind(), "pack": &*rules.pack().name,
            "grade": grade,
            "tokens": parts.tokens(trial.tokens),
            "parts": parts.list(),
            "findings": findings,
            "dialects": trial.dialects(),
            "brings": list_extras(&read, &parts),
            "repairs": repairs,
        }))
    }

    /// The rules that a request names, or those of the pack that is recommended for the file.
    pub(crate) fn rules_for(
        &self,
        wanted: Option<&RulesReference>,
        name: &str,
        contents: &Contents,
        answer: &mut Answer,
    ) -> Result<Ruleset, RequestFailure> {
        if let Some(wanted) = wanted {
            return self.rules(wanted, answer);
        }
        let found = find_readers(&self.shelf(&[]), &contents.whole([]), None).into_iter().next();
        found.map(|(rules, _)| rules).ok_or_else(|| {
            let message = format!("`{}` is of no format that a pack here reads", short::word(name));
            Diagnostic::new(Code::ImportFormat, message).help("presets, cards and lorebooks of other programs are examined").into()
        })
    }
}

impl SceneRole {
    /// A scene with the file in this role, and what else is asked for.
    fn add_file(self, mut scene: SceneRequest, file: crate::request::PartReference) -> SceneRequest {
        match self {
            Self::Character => scene.character = Some(file),
            Self::Chat => scene.chat = Some(file),
            Self::Persona => scene.persona_file = Some(file),
            Self::Preset => scene.preset.push(file),
            Self::Lorebook => scene.lorebooks.push(file),
        }
        scene
    }
}

/// A prompt that was built with the file, and written in every dialect.
struct PromptTrial {
    /// What the import, the build, the checks and the file's own dialect report.
    report: Report,
    /// What a dialect refuses, changes or leaves out, with the dialects that say the same.
    by_dialects: IndexMap<(String, String), (Diagnostic, Vec<String>)>,
    /// All dialects, and the one of the scene.
    all: Vec<String>,
    own: String,
    /// The tokens of the prompt, where they were counted.
    tokens: Option<u64>,
    /// How they were counted.
    estimator: Option<String>,
}

impl PromptTrial {
    fn of(rules: &Ruleset, scene: &Scene, notes: Report) -> Self {
        let (all, own) = (dialects(rules), dialect_of(rules, scene));
        let mut trial = Self { report: notes, by_dialects: IndexMap::new(), all, own, tokens: None, estimator: None };
        let (plan, outcome) = match built(rules, scene) {
            Ok(done) => done,
            Err(error) => {
                trial.report.push(error.diagnostic(rules));
                return trial;
            }
        };
        trial.estimator = outcome.get("context.tokenizer").as_str().map(str::to_owned);
        trial.tokens = plan.trim_report.as_ref().map(|trim| trim.final_tokens);
        trial.report.extend(plan.warnings.iter().cloned().collect());
        trial.report.extend(scene_warnings(rules, scene, &plan));
        for dialect in trial.all.clone() {
            let warnings = match tapster::emit(rules, &plan, &dialect) {
                Ok(emitted) => emitted.warnings,
                Err(error) => vec![error.diagnostic(rules)],
            };
            for diagnostic in warnings {
                if dialect == trial.own {
                    trial.report.push(diagnostic.clone());
                }
                // what several dialects say is reported once
                let message = diagnostic.message.replace(&format!("dialect `{dialect}`"), "it");
                let key = (diagnostic.code.to_string(), message.clone());
                let (_, dialects) = trial.by_dialects.entry(key).or_insert_with(|| (Diagnostic { message, ..diagnostic }, Vec::new()));
                if dialects.last() != Some(&dialect) {
                    dialects.push(dialect.clone());
                }
            }
        }
        trial
    }

    fn dialects(&self) -> Json {
        let warnings = self.by_dialects.values().map(|(diagnostic, dialects)| {
            let mut warning = finding(diagnostic);
            warning.insert("dialects".to_owned(), json!(dialects));
            Json::Object(warning)
        });
        json!({ "own": self.own, "all": self.all, "warnings": warnings.collect::<Vec<_>>() })
    }
}

/// A part of a file.
struct FilePart {
    value: Value,
    tokens: usize,
}

impl FilePart {
    fn text(&self, key: &str) -> &str {
        self.value.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it reaches a prompt: `always`, `sometimes` or `never`.
    fn when_sent(&self) -> &'static str {
        match (self.text("code"), self.text("sometimes")) {
            ("", "") => "always",
            ("", _) => "sometimes",
            _ => "never",
        }
    }

    fn as_json(&self) -> Json {
        let mut out = serde_json::Map::new();
        out.insert("kind".to_owned(), self.text("kind").into());
        out.insert("name".to_owned(), short::cut(self.text("name")).into());
        out.insert("tokens".to_owned(), self.tokens.into());
        out.insert("sent".to_owned(), self.when_sent().into());
        for (key, from) in [("waits_for", "sometimes"), ("code", "code"), ("why", "why"), ("help", "remedy"), ("may", "may")] {
            let text = self.text(from);
            if !text.is_empty() {
                out.insert(key.to_owned(), short::cut(text).into());
            }
        }
        Json::Object(out)
    }
}

/// The parts of a file, those of most tokens first.
struct FileParts {
    all: Vec<FilePart>,
    estimator: String,
}

impl FileParts {
    fn of(rules: &Ruleset, examined: &Scene, estimator: Option<&str>) -> Result<Self, BuildError> {
        // a pack that extends nothing has no such program
        let values = match rules.programs().find(DOCTOR) {
            Some(_) => tapster::run(rules, DOCTOR, examined, &[])?.list(PARTS),
            None => Vec::new(),
        };
        let named = estimator.filter(|name| Estimator::parse(name).is_ok()).unwrap_or(ESTIMATOR).to_owned();
        let counter = Estimator::parse(&named).ok().map(TokenCounter::new);
        let count = |text: &str| counter.as_ref().map_or(0, |counter| counter.count(text));
        let part = |value: Value| FilePart { tokens: value.get("text").and_then(Value::as_str).map_or(0, count), value };
        let mut all: Vec<FilePart> = values.into_iter().map(part).collect();
        all.sort_by_key(|part| std::cmp::Reverse(part.tokens));
        Ok(Self { all, estimator: named })
    }

    /// Those that could be in a prompt: a script is no text of one.
    fn texts(&self) -> impl Iterator<Item = &FilePart> {
        self.all.iter().filter(|part| part.text("kind") != "script")
    }

    fn scripts(&self) -> impl Iterator<Item = &FilePart> {
        self.all.iter().filter(|part| part.text("kind") == "script")
    }

    fn tokens(&self, prompt: Option<u64>) -> Json {
        let of = |sent: &str| self.texts().filter(|part| part.when_sent() == sent).map(|part| part.tokens).sum::<usize>();
        json!({
            "estimator": self.estimator, "always": of("always"), "sometimes": of("sometimes"), "never": of("never"), "prompt": prompt,
        })
    }

    fn list(&self) -> Json {
        let left_out = self.texts().count().saturating_sub(MOST_PARTS);
        json!({ "list": self.texts().take(MOST_PARTS).map(FilePart::as_json).collect::<Vec<_>>(), "left_out": left_out })
    }

    /// Those that never reach a prompt, by their code.
    fn by_code(&self) -> IndexMap<&str, Vec<&FilePart>> {
        let mut found: IndexMap<&str, Vec<&FilePart>> = IndexMap::new();
        for part in self.texts().filter(|part| part.when_sent() == "never") {
            found.entry(part.text("code")).or_default().push(part);
        }
        found
    }
}

/// What was found: diagnostics, and the parts that never reach a prompt, in the order of their severity.
fn findings(report: &Report, parts: &FileParts) -> Vec<Json> {
    let mut diagnostics: Vec<&Diagnostic> = report.items().iter().collect();
    diagnostics.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    let mut out: Vec<Json> = diagnostics.into_iter().take(limits::REPORTED).map(|d| Json::Object(finding(d))).collect();
    for (code, parts) in parts.by_code() {
        let Some(first) = parts.first() else { continue };
        let names = short::listed(parts.iter().map(|part| part.text("name")));
        let (count, why) = (parts.len(), first.text("why"));
        let message = if count == 1 {
            format!("{names} never reaches a prompt: {why}")
        } else {
            format!("{count} parts never reach a prompt ({why}): {names}")
        };
        let severity = Severity::Note.as_str();
        out.push(json!({ "severity": severity, "code": code, "times": count, "message": message, "help": first.text("remedy") }));
    }
    out
}

fn finding(diagnostic: &Diagnostic) -> serde_json::Map<String, Json> {
    let severity: &str = diagnostic.severity.as_str();
    let mut out = serde_json::Map::new();
    out.insert("severity".to_owned(), severity.into());
    out.insert("code".to_owned(), diagnostic.code.as_str().into());
    out.insert("message".to_owned(), diagnostic.message.clone().into());
    if let Some(help) = &diagnostic.help {
        out.insert("help".to_owned(), help.clone().into());
    }
    out
}

/// The grade, and what it is made of.
fn grade(rules: &Ruleset, examined: &Scene, findings: &[Json]) -> Result<Json, BuildError> {
    if rules.programs().find(GRADE).is_none() {
        return Ok(Json::Null);
    }
    let mut by_code: IndexMap<&str, (&Json, u64)> = IndexMap::new();
    for found in findings {
        let code = found.get("code").and_then(Json::as_str).unwrap_or_default();
        let times = found.get("times").and_then(Json::as_u64).unwrap_or(1);
        by_code.entry(code).or_insert((found, 0)).1 += times;
    }
    let row = |(code, (found, times)): (&&str, &(&Json, u64))| json!({ "code": code, "severity": found.get("severity"), "times": times });
    let rows: Json = by_code.iter().map(row).collect();
    let outcome = tapster::run(rules, GRADE, examined, &[(FINDINGS, rows)])?;
    let mut reasons: Vec<(f64, Json)> = Vec::new();
    for value in outcome.list(FINDINGS) {
        let points = value.get("points").and_then(Value::as_f64).unwrap_or_default();
        let code = value.get("code").map(Value::to_text).unwrap_or_default();
        let Some((found, times)) = by_code.get(&*code).filter(|_| points > 0.0) else { continue };
        let taken = Value::Num(points).to_json();
        reasons.push((points, json!({ "code": *code, "points": taken, "times": times, "message": found.get("message") })));
    }
    reasons.sort_by(|a, b| b.0.total_cmp(&a.0));
    let reasons: Vec<Json> = reasons.into_iter().map(|(_, reason)| reason).collect();
    Ok(json!({ "letter": outcome.get("grade.letter").to_json(), "points": outcome.get("grade.points").to_json(), "reasons": reasons }))
}

/// What a file brings along beside its texts: scripts, what other programs keep in it, and what nothing reads.
fn list_extras(read: &ImportedDocument, parts: &FileParts) -> Json {
    let script = |part: &FilePart| {
        let mut out = part.as_json();
        let pattern = PatternState::of(part.text("text"), true);
        if let (Some(out), Some(pattern)) = (out.as_object_mut(), pattern) {
            out.shift_remove("tokens");
            out.insert("pattern".to_owned(), short::cut(part.text("text")).into());
            out.insert("engine".to_owned(), pattern.engine.into());
            out.insert("state".to_owned(), pattern.state.into());
        }
        out
    };
    let names = |map: Option<&Map>| map.into_iter().flatten().map(|(key, _)| short::word(key)).take(MOST_NAMES).collect::<Vec<_>>();
    let extensions = [read.scene.at("card.extensions"), read.scene.at("preset.extensions"), read.rest.get("extensions")];
    let mut extensions: Vec<String> = extensions.into_iter().flatten().flat_map(|value| names(value.as_map())).collect();
    extensions.sort_unstable();
    extensions.dedup();
    let lost = read.fields.iter().filter(|field| field.fate == FieldOutcome::Dropped);
    let lost = lost.map(|field| json!({ "field": short::word(&field.field), "why": field.note, "times": field.times }));
    json!({
        "scripts": parts.scripts().take(MOST_PARTS).map(script).collect::<Vec<_>>(),
        "extensions": extensions,
        "unread": names(read.rest.as_map()),
        "dropped": lost.take(MOST_NAMES).collect::<Vec<_>>(),
    })
}
