//! `contract-artifact-store`: a script of declarations, writes, reads and time over a session.

use serde_json::{Map, Value as Json, json};
use tapster::artifact::{RunArtifact, RunArtifacts, WriteRefusal};
use tapster::diag::{Diagnostic, Sources};
use tapster::{PackError, Ruleset};
use tapster_session::store::{Home, ListPage, Moment, SessionStore, SqlStore, block_on};
use tapster_session::{Session, SessionError};

use crate::case::{Case, Check};
use crate::compare::fits;

/// The pack whose vocabulary the declarations are written in.
const PACK: &str = "talespinner";
/// The address of a PostgreSQL server, which the harness starts where it can.
pub(crate) const POSTGRES: &str = "TAPSTER_TEST_POSTGRES";
/// Everything of a listing.
const ALL: ListPage = ListPage { after: 0, limit: 10_000 };

/// Runs the script on each backend.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let sqlite = std::env::temp_dir().join(format!("tapster-case-{}-{}.db", std::process::id(), case.name));
    let mut checks = vec![on(case, "", &format!("sqlite:{}", sqlite.display()))];
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", sqlite.display()));
    }
    // where no server can be started, the harness has said so
    if let Ok(address) = std::env::var(POSTGRES) {
        checks.push(on(case, "postgres", &address));
    }
    checks
}

fn on(case: &Case, level: &str, address: &str) -> Check {
    let actual = match block_on(SqlStore::open(address)) {
        Ok(store) => json!({ "results": script(case, &store) }),
        Err(refused) => json!(refused.message),
    };
    Check { level: level.to_owned(), ..case.check(actual, fits) }
}

/// What a script has made of the session so far.
struct Script<'s> {
    store: &'s dyn SessionStore,
    home: Home,
    rules: Ruleset,
    /// Seconds.
    now: i64,
    turn: i64,
    /// The last record of the log that was shown.
    seen: i64,
    run: RunArtifacts,
    messages: Json,
}

fn script(case: &Case, store: &SqlStore) -> Vec<Json> {
    let home = Home { owner: "o1".into(), session: format!("s1/{}", case.name) };
    block_on(store.forget(&home)).unwrap_or_default();
    let messages = case.input["messages"].clone();
    let rules = match open(&json!({})) {
        Ok(rules) => rules,
        Err(problems) => return problems,
    };
    let mut script = Script { store, home, rules, now: 0, turn: 1, seen: 0, run: RunArtifacts::default(), messages };
    case.input["script"].as_array().into_iter().flatten().map(|step| script.step(step)).collect()
}

impl Script<'_> {
    fn at(&self) -> Moment {
        Moment { now: self.now * 1000, turn: self.turn }
    }

    fn session(&self, step: &Json) -> Session<'_> {
        let name = |key: &str, usual: &String| step[key].as_str().map_or_else(|| usual.clone(), |other| format!("{usual}/{other}"));
        let home = Home { owner: name("owner", &self.home.owner), session: name("session", &self.home.session) };
        Session::new(self.store, self.rules.clone(), home)
    }

    fn step(&mut self, step: &Json) -> Json {
        let text = |key: &str| step[key].as_str().unwrap_or_default();
        let (session, at) = (self.session(step), self.at());
        let said = |result: Result<Json, SessionError>| result.unwrap_or_else(refused);
        match text("op") {
            "declare" => match open(step) {
                Ok(rules) => {
                    self.rules = rules;
                    json!({ "ok": true })
                }
                Err(problems) => json!({ "error": "configuration_error", "problems": problems }),
            },
            "write" => {
                let write = session.write(text("pipeline"), text("tag"), step["basedOnVersion"].as_i64(), step["value"].clone(), at);
                said(block_on(write).map(|version| json!({ "ok": true, "version": version })))
            }
            "read" => match block_on(session.read(text("pipeline"), text("tag"), at)) {
                Ok(Some(a)) => json!({ "version": a.version, "value": a.value, "history": a.history }),
                Ok(None) => json!({ "version": null, "value": null, "history": [] }),
                Err(refused) => json!(refused.message),
            },
            "art" => {
                let all = block_on(session.artifacts(at)).unwrap_or_default();
                let art: Map<_, _> = all.into_iter().map(|a| (a.tag, json!({ "value": a.value, "history": a.history }))).collect();
                json!({ "art": art })
            }
            "versions" => {
                let all = block_on(session.versions(text("tag"), ALL)).unwrap_or_default();
                let one = |v: &tapster_session::store::ArtifactVersion| json!({ "version": v.version, "basedOnVersion": v.based_on, "createdAt": v.at.now / 1000 });
                json!({ "versions": all.iter().map(one).collect::<Vec<_>>() })
            }
            "ui" => json!({ "ui": block_on(session.projections(at)).unwrap_or_default() }),
            "clock" => {
                self.now += step["advance"].as_i64().unwrap_or_default();
                json!({ "now": self.now })
            }
            "turn" => {
                self.turn += 1;
                json!({ "turn": self.turn })
            }
            "prune" => json!({ "pruned": block_on(session.prune(at)).unwrap_or_default() }),
            "archive" => {
                let all = block_on(session.archive(None, ALL)).unwrap_or_default();
                let one = |a: &tapster_session::store::ArchivedVersion| {
                    json!({
                        "tag": a.tag, "version": a.version.version, "reason": a.reason, "at": a.archived.now / 1000, "value": a.version.value,
                    })
                };
                json!({ "archive": all.iter().map(one).collect::<Vec<_>>() })
            }
            "log" => {
                let all = block_on(session.log(ListPage { after: self.seen, ..ALL })).unwrap_or_default();
                drop(session);
                self.seen = all.last().map_or(self.seen, |record| record.seq);
                json!({ "log": all.into_iter().map(|logged| logged.record).collect::<Vec<_>>() })
            }
            "messages" => json!({ "messages": self.messages }),
            "run_start" => {
                self.run.start();
                json!({ "ok": true })
            }
            "run_write" => {
                let (id, kind) = (text("id").to_owned(), step["kind"].as_str().unwrap_or("any").to_owned());
                let artifact = RunArtifact { id, tag: step["tag"].as_str().map(str::to_owned), kind, value: step["value"].clone() };
                let mut run = self.run.clone();
                let written = block_on(session.write_run(&mut run, text("pipeline"), artifact, at));
                drop(session);
                self.run = run;
                said(written.map(|()| json!({ "ok": true })))
            }
            "run_view" => {
                let one = |a: &RunArtifact| json!({ "id": a.id, "tag": a.tag, "kind": a.kind, "value": a.value });
                json!({ "run": self.run.list().iter().map(one).collect::<Vec<_>>() })
            }
            "run_end" => json!({ "trace": self.run.end() }),
            other => json!(format!("no operation {other}")),
        }
    }
}

fn refused(error: SessionError) -> Json {
    match error {
        SessionError::Refused { refusal, .. } => Json::Object(WriteRefusal::to_json(&refusal)),
        other => json!(other.to_string()),
    }
}

/// One line of the overlay that a profile becomes: what it is about.
struct Line {
    row: usize,
    pipeline: String,
    tag: Json,
    key: String,
}

/// Compiles a profile; the problems if it has any.
fn open(step: &Json) -> Result<Ruleset, Vec<Json>> {
    let (text, lines) = overlay(step);
    Ruleset::open_with(PACK, &[("profile.json", &text)]).map_err(|PackError { report, sources }| {
        let mut found: Vec<_> = report
            .items()
            .iter()
            .filter(|d| d.severity == tapster::diag::Severity::Error)
            .filter_map(|d| problem(d, &sources, &lines))
            .collect();
        found.sort_by_key(|(row, _)| *row);
        found.dedup();
        found.into_iter().map(|(_, problem)| problem).collect()
    })
}

/// A profile as an overlay, one key a line.
fn overlay(step: &Json) -> (String, Vec<Option<Line>>) {
    let mut text = String::new();
    let mut lines = Vec::new();
    let mut put = |line: &str, about: Option<Line>| {
        text.push_str(line);
        text.push('\n');
        lines.push(about);
    };
    let by_kind = if step["retentionByKind"].is_object() { step["retentionByKind"].clone() } else { json!({}) };
    put(&format!(r#"{{ "kind": "overlay", "version": 1, "name": "profile", "retention": {by_kind}, "artifact": ["#), None);
    let pipelines: Vec<&Json> = step["profile"]["pipelines"].as_array().into_iter().flatten().collect();
    let mut row = 0;
    for pipeline in &pipelines {
        let name = pipeline["id"].as_str().unwrap_or_default();
        for artifact in pipeline["artifacts"].as_array().into_iter().flatten() {
            let about = |key: &str| Some(Line { row, pipeline: name.into(), tag: artifact["tag"].clone(), key: key.into() });
            let comma = if row == 0 { "" } else { ", " };
            put(&format!(r#"{comma}{{ "name": "a{row}""#), about("name"));
            put(&format!(r#", "writer": {}"#, pipeline["id"]), about("writer"));
            for (key, value) in artifact.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
                let (key, value) = renamed(key, value);
                put(&format!(r#", "{key}": {value}"#), about(&key));
            }
            put("}", None);
            row += 1;
        }
    }
    put(r#"], "writer": ["#, None);
    for (n, pipeline) in pipelines.iter().enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        let grants = if pipeline["grants"].is_array() { pipeline["grants"].clone() } else { json!(["artifact_write"]) };
        put(&format!(r#"{comma}{{ "name": {}, "grants": {grants}, "writes": ["#, pipeline["id"]), None);
        for (k, tag) in pipeline["writes"].as_array().into_iter().flatten().enumerate() {
            let about = Line { row, pipeline: pipeline["id"].as_str().unwrap_or_default().into(), tag: tag.clone(), key: "writes".into() };
            put(&format!("{}{tag}", if k == 0 { "" } else { ", " }), Some(about));
            row += 1;
        }
        put("]}", None);
    }
    put("]}", None);
    (text, lines)
}

/// A key and value in the spelling of the pack.
fn renamed(key: &str, value: &Json) -> (String, Json) {
    let key = match key {
        "uiSurface" => "surface",
        "contentType" => "content_type",
        "uiPresentation" => "presentation",
        "promptInclusion" => "inclusion",
        other => other,
    };
    let value = match value {
        Json::Object(inner) => {
            Json::Object(inner.iter().map(|(k, v)| (if k == "maxItems" { "max_items".to_owned() } else { k.clone() }, v.clone())).collect())
        }
        other => other.clone(),
    };
    (key.to_owned(), value)
}

/// A diagnostic as a problem of the contract, with the row that it is about.
fn problem(diagnostic: &Diagnostic, sources: &Sources, lines: &[Option<Line>]) -> Option<(usize, Json)> {
    let place = sources.place(diagnostic.span?)?;
    let line = lines.get(place.line.checked_sub(1)?)?.as_ref()?;
    let code = diagnostic.code.as_str();
    let code = match (code.strip_prefix("artifact."), line.key.as_str()) {
        (Some(word), _) => word.to_owned(),
        (None, "visibility" | "surface" | "content_type" | "retention") => format!("{}_invalid", line.key),
        (None, _) => code.to_owned(),
    };
    let mut problem = json!({ "code": code, "pipeline": line.pipeline });
    if !line.tag.is_null() {
        problem["tag"] = line.tag.clone();
    }
    Some((line.row, problem))
}
