//! Rule tests on both sides: what comes out of each case, whether or not it is what the case expects.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use crate::diag::Code;
use crate::model::Scene;
use crate::pack::{Overlay, RuleFile, Ruleset};

use super::rules::{RowChange, RuleDiff};
use crate::cli::inputs::files::{bytes_of, shown};
use crate::cli::output::Show;
use crate::cli::stop::{Exit, Stop};

/// A file of cases: their rows as an overlay, and the cases.
pub(super) struct CaseFile {
    pub(super) overlay: Overlay,
    pub(super) cases: Vec<Json>,
}

/// The case files that a path names: itself, or those of a folder, sorted.
pub(super) fn files(path: &Path) -> Result<Vec<std::path::PathBuf>, Stop> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error: std::io::Error| {
        Stop::could_not(Code::FileMissing, format!("`{}` cannot be read: {error}", shown(path)), "check the path and its permissions")
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)?.take(crate::pack::files::MAX_FILES) {
        found.push(entry.map_err(unreadable)?.path());
    }
    found.retain(|file| file.is_file() && file.extension().is_some_and(|e| e == "toml"));
    found.sort();
    Ok(found)
}

/// Reads a case file.
pub(super) fn read(path: &Path, show: &mut Show<'_, '_>) -> Result<CaseFile, Stop> {
    let name = shown(path);
    let bytes = bytes_of(path, show)?;
    let no = |message: String| Stop::new(Exit::No, crate::diag::Diagnostic::error(Code::SyntaxToml, message));
    let text = String::from_utf8(bytes).map_err(|_| no(format!("`{name}` is not valid UTF-8")))?;
    let mut file: Map<String, Json> = toml::from_str(&text).map_err(|error| no(format!("`{name}` is not TOML: {}", error.message())))?;
    let cases = match file.remove("case") {
        Some(Json::Array(cases)) => cases,
        _ => return Err(no(format!("`{name}` has no `[[case]]`"))),
    };
    file.remove("pack");
    file.insert("kind".to_owned(), "overlay".into());
    file.insert("version".to_owned(), 1.into());
    let bytes = Json::Object(file).to_string().into_bytes();
    Ok(CaseFile { overlay: Overlay::File(RuleFile { name, path_in_pack: "cases.json".to_owned(), bytes }), cases })
}

/// What comes out of a case: lists, values, codes of warnings, or the error.
pub(super) fn outcome(rules: &Ruleset, case: &Json) -> Json {
    let table = |value: Option<&Json>| value.and_then(Json::as_object).cloned().unwrap_or_default();
    let mut scene = Scene::new(&Json::Object(table(case.get("scene"))));
    scene.draws = Some(case.get("draws").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_f64).collect());
    let given = table(case.get("lists"));
    let lists: Vec<(&str, Json)> = given.iter().map(|(name, rows)| (name.as_str(), rows.clone())).collect();
    let name = case.get("run").and_then(Json::as_str).unwrap_or("");
    let out = match crate::run(rules, name, &scene, &lists) {
        Ok(out) => out,
        Err(error) => return json!({ "error": format!("{}: {error}", error.kind()) }),
    };
    let expect = case.get("expect").cloned().unwrap_or_default();
    let wanted = table(expect.get("lists"));
    let program = rules.programs().find(name).or_else(|| rules.programs().find(name.rsplit_once('/')?.0));
    let own = program.and_then(|id| rules.programs().list.get(id)).and_then(|p| rules.programs().rules.lists.get(p.list));
    let mut names: Vec<&str> = given.keys().chain(wanted.keys()).map(String::as_str).chain(own.map(|list| &*list.name)).collect();
    names.sort_unstable();
    names.dedup();
    let rows = |name: &str| Json::Array(out.list(name).iter().map(crate::model::Value::to_json).collect());
    let lists: Map<String, Json> = names.into_iter().map(|name| (name.to_owned(), rows(name))).collect();
    let set: Map<String, Json> = table(expect.get("set")).keys().map(|path| (path.clone(), out.get(path).to_json())).collect();
    let warnings: Vec<Json> = out.warnings().iter().map(|w| Json::from(w.code.as_str())).collect();
    json!({ "lists": lists, "set": set, "warnings": warnings })
}

/// The rules of the program or pass that a case runs that differ.
pub(super) fn rules(case: &Json, diff: &RuleDiff) -> Vec<String> {
    let run = case.get("run").and_then(Json::as_str).unwrap_or("");
    let below = format!("{run}/");
    let of_run = |row: &&RowChange| row.table == "pass" && (row.name == run || row.name.starts_with(&below));
    let told = |row: &RowChange| format!("pass {}, which is {} ({})", row.name, row.what.word(), super::rules::places(row));
    diff.rows.iter().filter(of_run).map(told).collect()
}
