//! Runs every rule test in `tests/cases/**/*.toml`: lists and a scene in, lists, values, warnings or an error out.
//!
//! A case file names a pack and holds rows of any kind beside its cases; the rows are laid over the pack as an
//! overlay, and all cases of the file run on the result. Expectations are partial: only what is written is
//! compared, but a list must have the length that is written, and a table `{ missing = true }` asks for nothing.
//! Cases under `fixme/` say what does not hold yet: they must fail, and turn red once they hold.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that panics has failed")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tapster::pack::{Schemas, load_file};
use tapster::verbs::VERBS;
use tapster::{BuildError, Outcome, Ruleset, Scene};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn case_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder of cases can be read") {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "toml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_case_holds() {
    let only = std::env::var("CASE").unwrap_or_default();
    let mut failures = Vec::new();
    let mut count = 0;
    for path in case_files() {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        let file = match read(&path) {
            Ok(file) => file,
            Err(message) => {
                failures.push(format!("{shown}: {message}"));
                continue;
            }
        };
        for case in &file.cases {
            let title = format!("{shown}#{}", text(case, "name"));
            if !title.contains(&only) {
                continue;
            }
            count += 1;
            let complaints = run(&file, case);
            match (complaints.is_empty(), shown.starts_with("fixme")) {
                (false, false) => failures.push(format!("{title}\n    {}", complaints.join("\n    "))),
                (true, true) => failures.push(format!("{title}\n    holds now: move it out of `fixme`")),
                _ => {}
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} cases fail:\n\n{}\n", failures.len(), failures.join("\n\n"));
    assert!(count > 0, "no case is called `{only}`");
}

#[test]
fn case_files_fit_their_schema() {
    let mut complaints = String::new();
    for path in case_files() {
        let (_, report, sources) = load_file(&path, Schemas::shipped());
        if !report.is_empty() {
            let _ = writeln!(complaints, "{}", tapster::diag::render::plain(&report, &sources));
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn every_verb_has_cases() {
    let missing: Vec<&str> = VERBS.iter().map(|v| v.name).filter(|v| !root().join(format!("verbs/{v}.toml")).exists()).collect();
    assert!(missing.is_empty(), "verbs without cases: {missing:?}");
}

/// A case file: its cases, and the pack with the file's own rows over it.
struct CaseFile {
    pack: String,
    overlay: String,
    rules: Ruleset,
    cases: Vec<Value>,
}

fn read(path: &Path) -> Result<CaseFile, String> {
    let source = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let mut file: Map<String, Value> = toml::from_str(&source).map_err(|e| e.to_string())?;
    let Some(Value::Array(cases)) = file.remove("case") else { return Err("there are no cases".into()) };
    let pack = file.remove("pack").and_then(|p| p.as_str().map(str::to_owned)).unwrap_or_else(|| "base".into());
    file.remove("$schema");
    file.insert("kind".into(), "overlay".into());
    file.insert("version".into(), 1.into());
    let overlay = toml::to_string(&file).map_err(|e| e.to_string())?;
    // with `TAPSTER_RULES=rules`, packs are read from that folder and not as they were compiled
    let pack = std::env::var("TAPSTER_RULES").map_or_else(|_| pack.clone(), |folder| format!("{folder}/{pack}"));
    let rules = Ruleset::open_with(&pack, &[("case.toml", &overlay)]).map_err(|rejected| rejected.to_string())?;
    Ok(CaseFile { pack, overlay, rules, cases })
}

/// The rules of a case whose `budget` gives accounts another size.
fn with_budget(file: &CaseFile, budget: &Map<String, Value>) -> Result<Ruleset, String> {
    let accounts: String = budget.iter().map(|(name, size)| format!("[[account]]\nname = \"{name}\"\nsize = {size}\n")).collect();
    let sizes = format!("kind = \"overlay\"\nversion = 1\n{accounts}");
    Ruleset::open_with(&file.pack, &[("case.toml", &file.overlay), ("budget.toml", &sizes)]).map_err(|rejected| rejected.to_string())
}

/// Runs one case; what is not as expected, in words.
fn run(file: &CaseFile, case: &Value) -> Vec<String> {
    let rules = match case.get("budget").and_then(Value::as_object).map(|budget| with_budget(file, budget)) {
        None => file.rules.clone(),
        Some(Ok(rules)) => rules,
        Some(Err(message)) => return vec![message],
    };
    let mut scene = Scene::new(case.get("scene").unwrap_or(&Value::Object(Map::new())));
    scene.draws = Some(case.get("draws").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_f64).collect());
    let lists: Vec<(&str, Value)> =
        case.get("lists").and_then(Value::as_object).into_iter().flatten().map(|(name, rows)| (name.as_str(), rows.clone())).collect();
    let expect = case.get("expect").cloned().unwrap_or_default();
    match (tapster::run(&rules, text(case, "run"), &scene, &lists), expect.get("error").and_then(Value::as_str)) {
        (Ok(out), None) => differences(&out, &expect),
        (Ok(_), Some(code)) => vec![format!("the error `{code}` is expected, but it ran to its end")],
        (Err(error), Some(code)) if error.kind().as_str() == code => Vec::new(),
        (Err(error), Some(code)) => vec![format!("the error `{code}` is expected, but it is {}", told(&error))],
        (Err(error), None) => vec![told(&error)],
    }
}

fn told(error: &BuildError) -> String {
    format!("`{}`: {error}", error.kind())
}

fn differences(out: &Outcome, expect: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    for (list, rows) in expect.get("lists").and_then(Value::as_object).into_iter().flatten() {
        let got = Value::Array(out.list(list).iter().map(tapster::Value::to_json).collect());
        compare(list, rows, Some(&got), &mut complaints);
    }
    for (path, wanted) in expect.get("set").and_then(Value::as_object).into_iter().flatten() {
        compare(&format!("${path}"), wanted, Some(&out.get(path).to_json()), &mut complaints);
    }
    if let Some(wanted) = expect.get("warnings") {
        let got: Vec<Value> = out.warnings().iter().map(|w| Value::from(w.code.as_str())).collect();
        compare("warnings", wanted, Some(&Value::Array(got)), &mut complaints);
    }
    let left = expect.get("draws_left").and_then(Value::as_u64).unwrap_or(0);
    if out.draws_left() as u64 != left {
        complaints.push(format!("{} scripted draws are left, not {left}", out.draws_left()));
    }
    complaints
}

/// Holds what came out against what is written, key by key.
fn compare(place: &str, wanted: &Value, got: Option<&Value>, complaints: &mut Vec<String>) {
    let nothing = Value::Null;
    let got = got.unwrap_or(&nothing);
    match (wanted, got) {
        (Value::Object(table), _) if table.len() == 1 && table.get("missing") == Some(&Value::Bool(true)) => {
            if !got.is_null() {
                complaints.push(format!("{place} should be missing, but is {got}"));
            }
        }
        (Value::Object(table), Value::Object(found)) => {
            table.iter().for_each(|(key, value)| compare(&format!("{place}.{key}"), value, found.get(key), complaints));
        }
        (Value::Array(list), Value::Array(found)) if list.len() == found.len() => {
            list.iter().zip(found).enumerate().for_each(|(n, (w, g))| compare(&format!("{place}[{n}]"), w, Some(g), complaints));
        }
        (Value::Array(list), Value::Array(found)) => {
            complaints.push(format!("{place} has {} rows instead of {}: {got}", found.len(), list.len()));
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if wanted == got => {}
        _ => complaints.push(format!("{place} is {got} instead of {wanted}")),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}
