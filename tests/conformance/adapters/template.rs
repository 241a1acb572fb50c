//! Templates that are rendered, with sources that the cases declare.

use serde_json::{Value as Json, json};
use tapster::Value;
use tapster::template::{Budget, Inputs, QuarterRuler, RenderLimits, RenderedTemplate, SourceProvider, offers, render};

use super::{template_check, template_pack};
use crate::case::{Case, Check};
use crate::compare;

/// Cases that render, and those that stop before.
pub(super) fn recorded(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let is_of_pack = input["task"]["sources"] == "builtin";
    if input["mode"] == "compile" && !is_of_pack {
        return template_check::recorded(case);
    }
    let actual = if is_of_pack { template_pack::built(case) } else { rendered(case) }.unwrap_or_else(|error| error);
    let fits = |expected: &Json, actual: &Json| {
        if expected.get("error").is_some() {
            template_check::fits(expected, actual)
        } else {
            compare::same(&with_warnings(expected), actual)
        }
    };
    vec![case.check(actual, fits)]
}

/// What was recorded, with the number of warnings, which is left out where there are none.
fn with_warnings(expected: &Json) -> Json {
    let mut expected = expected.clone();
    expected["warnings"] = json!(expected["warnings"].as_u64().unwrap_or(0));
    expected
}

fn rendered(case: &Case) -> Result<Json, Json> {
    let template = template_check::opened(case)?.template;
    let input = &case.input;
    let context = Value::from(input.get("context").unwrap_or(&json!({})));
    let sources = Declared { all: &input["task"]["sources"], context: &input["context"] };
    let read = |key: &str| Value::from(&input["options"][key]);
    let wrong = |why: String| json!({ "error": { "category": "render", "said": [why] } });
    let lanes = offers::lanes(&read("attachmentDefaults"), &template.revision).map_err(wrong)?;
    let requests = offers::requests(&read("injections"), &template.revision).map_err(wrong)?;
    let ruler = QuarterRuler;
    let inputs =
        Inputs { context: &context, sources: &sources, ruler: &ruler, lanes: &lanes, requests: &requests, limits: RenderLimits::default() };
    let mut budget = Budget::new(input["budget"]["maxTokens"].as_u64());
    let (mut last, mut warnings) = (None, 0);
    for _ in 0..input["repeat"].as_u64().unwrap_or(1) {
        let done = render(&template, &inputs, &mut budget).map_err(|error| template_check::failed(&error))?;
        warnings += done.warnings.len();
        last = Some(done);
    }
    last.map(|done| told(&done, warnings)).ok_or(Json::Null)
}

/// A render as the cases have it.
pub(super) fn told(done: &RenderedTemplate, warnings: usize) -> Json {
    let message = |m: &tapster::template::Message| {
        let mut message = json!({ "role": m.role.as_str(), "content": &*m.content });
        if m.prefix {
            message["prefix"] = json!(true);
        }
        message
    };
    let messages: Vec<Json> = done.messages.iter().map(message).collect();
    json!({ "messages": messages, "tokensConsumed": done.tokens, "warnings": warnings })
}

/// The declarative sources of the cases (README, "SOURCE").
struct Declared<'a> {
    all: &'a Json,
    context: &'a Json,
}

impl SourceProvider for Declared<'_> {
    fn resolve(&self, name: &str, args: Option<&Value>) -> Result<Option<Value>, String> {
        let Some(source) = self.all.get(name) else { return Ok(None) };
        let args = args.map(Value::to_json);
        let found = match source.as_object().filter(|map| map.keys().any(|key| key.starts_with('$'))) {
            None => Some(source.clone()),
            Some(how) if how.contains_key("$throw") => return Err(source["$throw"].as_str().unwrap_or_default().to_owned()),
            Some(how) if how.contains_key("$echoArgs") => args,
            Some(how) if how.contains_key("$lookup") => source["$key"]
                .as_str()
                .zip(source["$lookup"].as_str())
                .and_then(|(key, table)| self.context[table].get(args?.get(key)?.as_str()?).cloned()),
            Some(how) => {
                let value = match how.get("$path").and_then(Json::as_str) {
                    Some(path) => at(self.context, path),
                    None => how.get("$value").cloned(),
                };
                value.map(|value| listed(value, &source["$list"], &args.unwrap_or_default()))
            }
        };
        Ok(found.map(|json| Value::from(&json)))
    }
}

fn at(json: &Json, path: &str) -> Option<Json> {
    let steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    let found = steps.into_iter().try_fold(json, |at, step| match at {
        Json::Array(list) => list.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    });
    found.cloned()
}

/// A list as its arguments want it: `ids`, then `start` and `end`, then the order, then `limit`; only those it honours.
fn listed(value: Json, how: &Json, args: &Json) -> Json {
    let Json::Array(mut items) = value else { return value };
    if how.is_null() {
        return Json::Array(items);
    }
    let honoured = |key: &str| how["honour"].as_array().is_some_and(|all| all.iter().any(|h| h == key));
    let arg = |key: &str| args.get(key).filter(|_| honoured(key)).cloned().unwrap_or_default();
    if let Some(ids) = arg("ids").as_array().filter(|ids| !ids.is_empty()) {
        items.retain(|item| ids.contains(&item["id"]));
    }
    if arg("start").is_i64() || arg("end").is_i64() {
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let place = |n: i64| if n < 0 { (count + n).max(0) } else { n.min(count) };
        let start = place(arg("start").as_i64().unwrap_or(0));
        let end = arg("end").as_i64().map_or(count, |n| if n < 0 { count + n + 1 } else { (n + 1).min(count) });
        items = if start < end { items[start as usize..end as usize].to_vec() } else { Vec::new() };
    }
    let order = arg("order");
    if order.as_str().or(how["defaultOrder"].as_str()) == Some("desc") {
        items.reverse();
    }
    if let Some(limit) = arg("limit").as_u64() {
        items.truncate(limit as usize);
    }
    Json::Array(items)
}
