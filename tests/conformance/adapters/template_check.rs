//! Templates that are to be refused, and doubtful ones that are not: what compiling says of them.

use serde_json::{Value as Json, json};
use tapster::OpenedTemplate;
use tapster::PackError;
use tapster::diag::Severity;
use tapster::machinery::pack::RuleFile;
use tapster::template::TemplateContract;

use crate::case::{Case, Check};

/// Cases that stop after compiling.
pub(super) fn recorded(case: &Case) -> Vec<Check> {
    let actual = match opened(case) {
        Ok(_) => json!({ "ok": true }),
        Err(error) => error,
    };
    vec![case.check(actual, fits)]
}

/// The compiled template of a case, or the error as the cases have it.
pub(super) fn opened(case: &Case) -> Result<OpenedTemplate, Json> {
    let input = &case.input;
    let text = input["templateText"].as_str().map_or_else(|| input["template"].to_string(), str::to_owned);
    let file = RuleFile { name: "template.json".to_owned(), path_in_pack: "template.json".to_owned(), bytes: text.into_bytes() };
    let asked_for = |key: &str| input["compile"][key] != json!(false);
    // sources that are built in are checked by those who bring them
    let names: Option<Vec<&str>> = input["task"]["sources"].as_object().map(|all| all.keys().map(String::as_str).collect());
    let asked = TemplateContract {
        task: input["task"]["kind"].as_str().filter(|_| asked_for("checkKind")),
        sources: names.as_deref().filter(|_| asked_for("lint")),
        revision: input["revision"].as_str(),
        ..TemplateContract::default()
    };
    tapster::open_template(&file, &asked).map_err(|rejected| error(&rejected))
}

/// An error of ours: its category by the code, and all that is said.
pub(super) fn error(rejected: &PackError) -> Json {
    let errors: Vec<_> = rejected.report.items().iter().filter(|d| d.severity == Severity::Error).collect();
    let category = match errors.first().map_or("", |first| first.code.as_str()) {
        "template.source" => "unknown_source",
        "template.structure" => "structure",
        "template.render" => "render",
        code if code.starts_with("schema.") => "schema",
        other => other,
    };
    let said: Vec<&str> = errors.iter().map(|d| d.message.as_str()).collect();
    json!({ "error": { "category": category, "said": said } })
}

/// An error of rendering, the same way.
pub(super) fn failed(error: &tapster::template::RenderError) -> Json {
    let category = if error.kind == tapster::template::ErrorKind::Structure { "structure" } else { "render" };
    json!({ "error": { "category": category, "said": [error.to_string()] } })
}

/// The same category, and all that the case mentions: a path of the schema as a whole, in backticks.
pub(super) fn fits(expected: &Json, actual: &Json) -> bool {
    let (wanted, got) = (&expected["error"], &actual["error"]);
    if wanted.is_null() || got.is_null() {
        return expected == actual;
    }
    let said: Vec<&str> = got["said"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let is_path = wanted["category"] == "schema";
    let told = |mention: &str| {
        said.iter().any(|said| {
            if is_path { said.contains(&format!("`{mention}`")) || said.contains(&format!("`{mention}.")) } else { said.contains(mention) }
        })
    };
    let mentions = wanted["mentions"].as_array().into_iter().flatten().filter_map(Json::as_str);
    wanted["category"] == got["category"] && mentions.into_iter().all(told)
}
