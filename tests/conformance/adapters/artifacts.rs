//! `contract-artifact-store`: a script of declarations, writes, reads and time over a session.

use serde_json::{Map, Value as Json, json};
use tapster::artifact::{RunArtifact, RunArtifacts, WriteRefusal};
use tapster::diag::{Diagnostic, Sources};
use tapster::{PackError, Ruleset};
use tapster_session::store::{Home, ListPage, Moment, SessionStore, SqlStore, block_on};
use tapster_session::{Session, SessionError};

use crate::case::{Case, Check, fits};

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

/// `contract-artifact-inclusion`: artifacts as rows of a pack and values of a session, and the draft that they enter.
///
/// The case's names are changed into those of rows and back; what becomes of the draft is the rules'.
pub(super) mod inclusion {
    use serde_json::{Map, Value as Json, json};
    use tapster::Ruleset;

    use crate::case::{Case, Check};
    use crate::engine;
    use crate::engine::{Ran, Scene};

    /// The pack that the document is about.
    const PACK: &str = "talespinner";
    /// The keys of an inclusion in the document's order: the order in which mistakes are told.
    const FIELDS: [&str; 12] = [
        "mode",
        "role",
        "format",
        "operation",
        "target",
        "anchor",
        "place",
        "depthPolicy",
        "phase",
        "priority",
        "versionSelector",
        "section",
    ];

    /// One case: as recorded, and with the artifacts in the opposite order.
    pub(crate) fn contract(case: &Case) -> Vec<Check> {
        let artifacts: Vec<Json> = case.input["artifacts"].as_array().cloned().unwrap_or_default();
        let reversed: Vec<Json> = artifacts.iter().rev().cloned().collect();
        let first = answer(&case.input, &artifacts);
        let law = settled(&first) == settled(&answer(&case.input, &reversed));
        let actual = if law { first } else { json!({ "broken": "the result depends on the order of the listing", "first": first }) };
        vec![case.check(actual, |expected, actual| expected == actual)]
    }

    /// A result without the order that follows the listing.
    fn settled(result: &Json) -> Json {
        let mut result = result.clone();
        for key in ["left_out", "errors"] {
            if let Some(list) = result[key].as_array_mut() {
                list.sort_by_key(Json::to_string);
            }
        }
        result
    }

    fn answer(input: &Json, artifacts: &[Json]) -> Json {
        let rows: Vec<Json> = artifacts.iter().map(row).collect();
        let overlay = json!({ "kind": "overlay", "version": 1, "artifact": rows }).to_string();
        match engine::open(PACK, &overlay) {
            Ok(pack) => included(input, artifacts, &pack).unwrap_or_else(|error| error),
            Err(refused) => errors(artifacts, &refused),
        }
    }

    /// The row that declares an artifact. Its name is the artifact's id.
    fn row(artifact: &Json) -> Json {
        let mut row = json!({ "name": artifact["id"], "access": if is_persisted(artifact) { "persisted" } else { "run_only" } });
        for key in ["tag", "kind", "visibility", "origin"] {
            row[key] = artifact[key].clone();
        }
        row["surface"] = artifact["uiSurface"].clone();
        row["content_type"] = artifact["contentType"].clone();
        row["inclusion"] = renamed(&artifact["promptInclusion"], &snake);
        if let Some(row) = row.as_object_mut() {
            row.retain(|_, value| !value.is_null());
        }
        row
    }

    /// Access plays no part in these cases; a value without a tag that the store accepts belongs to the run.
    fn is_persisted(artifact: &Json) -> bool {
        let is_tag =
            |tag: &str| tag.starts_with(|c: char| c.is_ascii_lowercase()) && tag.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'));
        artifact["access"] == json!("persisted") && artifact["tag"].as_str().is_some_and(is_tag)
    }

    fn scene(input: &Json, artifacts: &[Json]) -> Json {
        let (mut art, mut run) = (Map::new(), Vec::new());
        for artifact in artifacts {
            let Some(mut value) = artifact.get("value").map(|value| json!({ "value": value })) else { continue };
            for key in ["history", "version", "step"] {
                value[key] = artifact[key].clone();
            }
            match artifact["tag"].as_str().filter(|_| is_persisted(artifact)) {
                Some(tag) => {
                    art.insert(tag.to_owned(), value);
                }
                None => {
                    value["name"] = artifact["id"].clone();
                    value["id"] = artifact["id"].clone();
                    value["tag"] = artifact["tag"].clone();
                    run.push(value);
                }
            }
        }
        let options = input.get("options").map_or_else(|| json!({}), |options| renamed(options, &snake));
        json!({ "art": art, "run": { "artifacts": run }, "inclusion": options })
    }

    /// The draft as blocks; what trimming has taken is switched off.
    fn blocks(draft: &Json) -> Json {
        let mut out = Vec::new();
        if let Some(text) = draft["system"].as_str() {
            out.push(json!({ "id": "system", "slot": "main_prompt", "role": "system", "text": text }));
        }
        let kept = draft.get("kept").and_then(Json::as_array);
        for m in draft["messages"].as_array().into_iter().flatten() {
            let enabled = kept.is_none_or(|kept| kept.contains(&m["id"]));
            out.push(json!({
                "id": m["id"], "slot": "chat_history", "counted": true, "role": m["role"], "text": m["content"], "enabled": enabled,
            }));
        }
        json!(out)
    }

    fn included(input: &Json, artifacts: &[Json], pack: &Ruleset) -> Result<Json, Json> {
        let data = scene(input, artifacts);
        let ran = engine::run_in(pack, "inclusion", Scene::new(data.clone()), &[("blocks", blocks(&input["draft"]))])?;
        let sent = engine::run_in(pack, "domain_roles", Scene::new(data), &[("blocks", json!(ran.list("blocks")))])?;
        let message = |block: &Json| {
            let (key, name) = if block["artifact"].is_null() { ("id", &block["id"]) } else { ("artifact", &block["artifact"]) };
            json!({ key: name, "role": block["role"], "content": content(block) })
        };
        let mut provider: Vec<Json> = Vec::new();
        let system = system(&sent);
        if !system.is_empty() {
            provider.push(json!({ "role": "system", "content": system }));
        }
        provider.extend(messages(&sent).iter().map(|block| json!({ "role": block["role"], "content": content(block) })));
        let told = |key: &str| ran.get(&format!("plan.inclusion.{key}"));
        Ok(json!({
            "system": self::system(&ran), "messages": messages(&ran).iter().map(message).collect::<Vec<_>>(), "provider": provider,
            "included": told("included"), "left_out": told("left_out"), "warnings": told("warnings"),
        }))
    }

    fn content(block: &Json) -> &str {
        block["text"].as_str().unwrap_or("")
    }

    fn is_system(block: &Json) -> bool {
        block["slot"] == json!("main_prompt")
    }

    /// The system text; empty if there is none.
    fn system(ran: &Ran) -> String {
        ran.list("blocks").iter().filter(|b| is_system(b)).map(content).collect()
    }

    fn messages(ran: &Ran) -> Vec<Json> {
        ran.list("blocks").into_iter().filter(|b| !is_system(b) && b["enabled"] != json!(false)).collect()
    }

    /// The mistakes of the rows, in the order of the artifacts and then of the document's fields. A place below a field is
    /// the field, but for the parts of an anchor.
    fn errors(artifacts: &[Json], refused: &[(String, String)]) -> Json {
        let field = |key: &str| {
            let mut parts = key.split('.').skip(1).filter(|part| !part.starts_with("relative_to_")).map(camel);
            let first = parts.next().unwrap_or_default();
            match parts.find(|part| part != "anchor").filter(|_| first == "anchor") {
                Some(part) => format!("{first}.{part}"),
                None => first,
            }
        };
        let rank = |field: &str| {
            let first = field.split('.').next().unwrap_or(field);
            FIELDS.iter().position(|known| *known == first).unwrap_or(FIELDS.len())
        };
        let mut out: Vec<Json> =
            refused.iter().filter(|(row, _)| row.is_empty()).map(|(_, message)| json!({ "message": message })).collect();
        for artifact in artifacts {
            let mine = refused.iter().filter(|(row, _)| Some(row.as_str()) == artifact["id"].as_str());
            let mut fields: Vec<String> = mine.map(|(_, key)| field(key)).collect();
            fields.sort_by_key(|field| rank(field));
            fields.dedup();
            let label = if artifact["tag"].is_null() { &artifact["id"] } else { &artifact["tag"] };
            out.extend(fields.into_iter().map(|field| json!({ "artifact": label, "field": field })));
        }
        json!({ "errors": out })
    }

    /// The same with other names of keys, at every level.
    fn renamed(value: &Json, rename: &dyn Fn(&str) -> String) -> Json {
        match value {
            Json::Object(map) => Json::Object(map.iter().map(|(key, value)| (rename(key), renamed(value, rename))).collect()),
            Json::Array(list) => list.iter().map(|value| renamed(value, rename)).collect(),
            other => other.clone(),
        }
    }

    fn snake(name: &str) -> String {
        name.chars().flat_map(|c| c.is_ascii_uppercase().then_some('_').into_iter().chain(c.to_lowercase())).collect()
    }

    fn camel(name: &str) -> String {
        let mut parts = name.split('_');
        let first = parts.next().unwrap_or("").to_owned();
        parts.fold(first, |out, part| {
            let mut chars = part.chars();
            let initial = chars.next().map(|c| c.to_ascii_uppercase());
            format!("{out}{}", initial.into_iter().chain(chars).collect::<String>())
        })
    }
}
