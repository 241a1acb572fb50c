//! Two ways that must give the same: there and back, and the fast way and the slow one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use tapster::{FieldOutcome, ImportedDocument, Plan, Ruleset, Scene, Value, build, convert_document, emit};
use tapster_exchange::import;

use super::builds::read;
use super::{Verdict, imports, shipped};
use crate::seeds;

pub(super) fn written(input: &[u8]) -> Verdict {
    static PICTURE: LazyLock<Vec<u8>> =
        LazyLock::new(|| seeds::files("fuzz/seeds/container", "png", u64::MAX).into_iter().next().unwrap_or_default());
    let Some(document) = super::json(input) else { return Ok(false) };
    if !document.is_object() {
        return Ok(false);
    }
    let module = json!({ "module": document });
    for (ending, document) in [("json", &document), ("png", &document), ("risum", &module), ("risup", &document)] {
        let Ok(bytes) = import::write(ending, document, Some(&PICTURE)) else { continue };
        let read = match import::read(&format!("f.{ending}"), &bytes) {
            Ok(read) => read,
            Err(report) => {
                return Err(format!("a written .{ending} is refused: {:?}", report.items().first().map(|d| &d.message)));
            }
        };
        let Some(main) = read.main() else { return Err(format!("a written .{ending} holds nothing")) };
        // a module stands in its file with the name of its type
        let whole = main.json();
        let back = if ending == "risum" { whole.get("module").unwrap_or(&whole) } else { &whole };
        let given = if ending == "risum" { &document["module"] } else { document };
        if !equal(back, given) && read.report.is_empty() {
            return Err(format!("a written .{ending} is read as something else, and nothing is said"));
        }
    }
    Ok(true)
}

/// Equality of documents where numbers count by their value: `1.0` is `1`.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Json::Object(a), Json::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b))),
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

pub(super) fn converted(input: &[u8]) -> Verdict {
    let Some(document) = super::json(input) else { return Ok(false) };
    // a value of another type than any program writes is not what a conversion is about
    if !kinds(&document, String::new(), &mut |place| KNOWN.contains(&place)) {
        return Ok(false);
    }
    let Ok(there) = convert_document(&shipped("risuai"), None, &document) else { return Ok(false) };
    let Ok(back) = convert_document(&shipped("sillytavern"), None, &there.scene.to_json()) else { return Ok(false) };
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    leaves(&document, "", &mut before);
    leaves(&back.scene.to_json(), "", &mut after);
    let told: Vec<String> = [named(&there), named(&back)].concat();
    for (path, value) in &before {
        let field = generic(path);
        let excused = || told.iter().any(|name| field.starts_with(&generic(&format!(".{name}"))));
        if !after.get(path).is_some_and(|now| equal(now, value)) && !excused() {
            return Err(format!("`{field}` is lost or changed, and no report names it"));
        }
    }
    Ok(true)
}

/// The places of the documents that conversions begin with, each with the type of what stands there.
static KNOWN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut known = BTreeSet::new();
    for document in imports::documents() {
        let document = serde_json::from_slice(&document).unwrap_or_default();
        kinds(&document, String::new(), &mut |place| {
            known.insert(place);
            true
        });
    }
    known
});

/// Calls `ask` for each value with its place, without the keys of lists and numbered tables, and its type. False as soon as
/// the answer is.
fn kinds(json: &Json, at: String, ask: &mut impl FnMut(String) -> bool) -> bool {
    let kind = match json {
        Json::Null => "null",
        Json::Bool(_) => "switch",
        Json::Number(_) => "number",
        Json::String(_) => "text",
        Json::Array(_) => "list",
        Json::Object(_) => "table",
    };
    ask(format!("{at}: {kind}"))
        && match json {
            Json::Array(list) => list.iter().all(|value| kinds(value, format!("{at}[]"), ask)),
            Json::Object(map) => map.iter().all(|(key, value)| {
                let key = if key.bytes().all(|b| b.is_ascii_digit()) { "0" } else { key };
                kinds(value, format!("{at}.{key}"), ask)
            }),
            _ => true,
        }
}

/// The texts, numbers and switches of a document by their paths; null is as if it were not there.
fn leaves(json: &Json, at: &str, out: &mut BTreeMap<String, Json>) {
    match json {
        Json::Object(map) => map.iter().for_each(|(key, value)| leaves(value, &format!("{at}.{key}"), out)),
        Json::Array(list) => list.iter().enumerate().for_each(|(n, value)| leaves(value, &format!("{at}[{n}]"), out)),
        Json::Null => {}
        leaf => _ = out.insert(at.to_owned(), leaf.clone()),
    }
}

/// The fields that a report names as approximated or dropped.
fn named(made: &ImportedDocument) -> Vec<String> {
    made.fields.iter().filter(|f| matches!(f.fate, FieldOutcome::Approximated | FieldOutcome::Dropped)).map(|f| f.field.clone()).collect()
}

/// A path without the numbers of elements.
fn generic(path: &str) -> String {
    let kept = path.split(['.', '[', ']']).filter(|name| !name.is_empty() && !name.chars().all(|c| c.is_ascii_digit()));
    kept.fold(String::new(), |all, name| format!("{all}.{name}"))
}

/// A build and its payload, as a text; an error by its kind.
fn said(rules: &Ruleset, scene: &Scene, dialect: &str) -> String {
    match build(rules, scene) {
        Ok(plan) => {
            let messages: Vec<Json> = plan.messages().iter().map(Value::to_json).collect();
            let payload = emit(rules, &plan, dialect).map(|emitted| emitted.payload).map_err(|e| e.kind().as_str().to_owned());
            format!("{}\n{payload:?}\n{}\n{:?}", Json::Array(messages), plan.patch.to_json(), codes(&plan))
        }
        Err(error) => error.kind().as_str().to_owned(),
    }
}

fn codes(plan: &Plan) -> Vec<&str> {
    let mut codes: Vec<&str> = plan.warnings.iter().map(|w| w.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The first line in which two texts differ.
fn difference(a: &str, b: &str) -> String {
    let at = a.bytes().zip(b.bytes()).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    let near = |text: &str| {
        text.chars().skip(text.get(..at).map_or(0, |head| head.chars().count()).saturating_sub(20)).take(60).collect::<String>()
    };
    format!("…{}… and …{}…", near(a), near(b))
}

/// A scene whose chat is so long that it is read as far as it is needed.
fn long(data: &Json) -> Scene {
    let mut data = data.clone();
    if let Some(history) = data.get_mut("history").and_then(Json::as_array_mut)
        && !history.is_empty()
    {
        let own = history.clone();
        for n in 0.. {
            if history.len() >= 60 {
                break;
            }
            let mut message = own[n % own.len()].clone();
            if let Some(id) = message.get_mut("id") {
                *id = format!("again{n}").into();
            }
            history.insert(0, message);
        }
    }
    Scene { seed: "17".to_owned(), ..Scene::new(&data) }
}

pub(super) fn shortcuts(input: &[u8]) -> Verdict {
    let Some((data, rules, _)) = read(input) else { return Ok(false) };
    let scene = long(&data);
    let dialect = data["dialect"].as_str().unwrap_or("openai");
    let (with, without) =
        (said(&rules, &scene, dialect), tapster::machinery::text::work::without_shortcuts(|| said(&rules, &scene, dialect)));
    if with == without { Ok(true) } else { Err(difference(&with, &without)) }
}

pub(super) fn twice(input: &[u8]) -> Verdict {
    let Some((data, rules, scene)) = read(input) else { return Ok(false) };
    let dialect = data["dialect"].as_str().unwrap_or("openai");
    let first = said(&rules, &scene, dialect);
    let second = std::thread::scope(|scope| scope.spawn(|| said(&rules, &scene, dialect)).join().unwrap_or_default());
    if first == second { Ok(true) } else { Err(difference(&first, &second)) }
}
