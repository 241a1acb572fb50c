//! The suites of the runner: configuration, capabilities, policy, preflight, plan, presets, and one request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value as Json, json};
use tapster::model::PlanBlock;
use tapster::{Plan, Ruleset, Value};
use tapster_client::{
    Body, BoxFuture, Delta, IncomingAnswer, OutgoingRequest, Problem, PromptRunner, RunError, RunnerConfig, Transport, TransportError,
};

use crate::case::{Case, Check};
use crate::engine;
use crate::engine::Scene;

/// The pack of the contract.
const PACK: &str = "vibetavern";

fn same(expected: &Json, actual: &Json) -> bool {
    alike(expected, actual)
}

/// Equality of JSON where numbers are equal by value.
fn alike(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|b| alike(value, b)))
        }
        _ => a == b,
    }
}

/// Runs a case twice: what it is given stays as it is, and the same comes of it.
fn twice(case: &Case, run: impl Fn(&Ruleset, &Json) -> Result<Json, Json>) -> Vec<Check> {
    let actual = engine::rules(PACK).and_then(|rules| {
        let first = run(&rules, &case.input)?;
        let second = run(&rules, &case.input)?;
        if first == second { Ok(first) } else { Err(json!({ "law": "not deterministic", "first": first, "second": second })) }
    });
    vec![case.check(actual.unwrap_or_else(|error| error), same)]
}

/// The errors of a run in the contract's form.
fn errors(error: &RunError) -> Json {
    let list = |problems: &[Problem], at: &str| -> Json { problems.iter().map(|p| json!({ "code": p.code, at: p.at })).collect() };
    match error {
        RunError::Config(problems) => json!({ "errors": list(problems, "at") }),
        RunError::Preflight(problems) => json!({ "errors": list(problems, "key") }),
        // only a refusal is told by its status
        RunError::Provider(error) => match error.status.filter(|_| error.code == "provider_error") {
            Some(status) => json!({ "error": { "code": error.code, "status": status } }),
            None => json!({ "error": { "code": error.code } }),
        },
        other => json!({ "failed": other.to_string() }),
    }
}

pub(crate) fn capabilities(case: &Case) -> Vec<Check> {
    twice(case, |rules, input| {
        let (flags, budget) = match tapster_client::capabilities(rules, input) {
            Ok(resolved) => resolved,
            Err(error) => return Ok(errors(&error)),
        };
        let name = |key: &str| input[key].as_str().unwrap_or_default().trim().to_owned();
        let mut out = json!({ "provider": name("provider"), "model": name("model"), "capabilities": flags, "budget": budget });
        if let Some(estimated) = input["estimated_prompt_tokens"].as_u64() {
            out["result"] = enforced(&json!(budget), estimated);
        }
        Ok(out)
    })
}

/// The step `max_tokens` over a prompt of so many words.
fn enforced(budget: &Json, estimated: u64) -> Json {
    if budget.is_null() {
        return json!({ "ok": true });
    }
    let context = json!({ "window": budget["max_tokens"], "reserve": budget["reserve_tokens"], "tokenizer": "words" });
    let words = vec!["x"; usize::try_from(estimated).unwrap_or(0)].join(" ");
    let blocks = json!([{ "role": "user", "text": words }]);
    match engine::run(PACK, "max_tokens", Scene::new(json!({ "context": context })), &[("blocks", blocks)]) {
        Ok(_) => json!({ "ok": true }),
        Err(error) => {
            let error = &error["error"];
            json!({
                "error": error["kind"], "stage": error["stage"], "max_tokens": error["max_tokens"],
                "reserve_tokens": error["reserve_tokens"], "estimated_tokens": error["estimated_tokens"],
            })
        }
    }
}

/// Options alone, through some of the programs of a request.
fn options(input: &Json, key: &str, programs: &[&str]) -> Result<tapster::Outcome, Json> {
    let rules = engine::rules(PACK)?;
    let mut data = json!({ "runner": { "call_options": input[key], "dialect": input["dialect"] }, "capability": {} });
    if input["capabilities"].is_object() {
        data["capability"] = input["capabilities"].clone();
    }
    let scene = tapster::Scene { data: Value::from(&data), ..Default::default() };
    tapster::run_all(&rules, programs, &scene, &[]).map_err(|error| json!({ "failed": error.message }))
}

pub(crate) fn policy(case: &Case) -> Vec<Check> {
    twice(case, |_, input| {
        let done = options(input, "options", &["option_read", "option_types"])?;
        if let Some(errors) = violations(&done) {
            return Ok(errors);
        }
        let done = options(input, "options", &["option_read", "policy"])?;
        let at = |path: &str| done.get(path).to_json();
        let table = |path: &str| if at(path).is_null() { json!({}) } else { at(path) };
        let changes = at("options.changes");
        Ok(json!({
            "internal": table("options.internal"), "outbound": table("options.outbound"),
            "changes": if changes.is_null() { json!([]) } else { changes },
        }))
    })
}

pub(crate) fn preflight(case: &Case) -> Vec<Check> {
    twice(case, |_, input| {
        let done = options(input, "request", &["request/dialect", "option_read", "option_types"])?;
        if let Some(errors) = violations(&done) {
            return Ok(errors);
        }
        let done = options(input, "request", &["request/dialect", "option_read", "preflight"])?;
        Ok(violations(&done).unwrap_or_else(|| json!({ "ok": true })))
    })
}

fn violations(done: &tapster::Outcome) -> Option<Json> {
    let found = done.get("violations").to_json();
    let found = found.as_array().filter(|found| !found.is_empty())?;
    Some(json!({ "errors": found.iter().map(|v| json!({ "code": v["code"], "key": v["key"] })).collect::<Vec<_>>() }))
}

pub(crate) fn config(case: &Case) -> Vec<Check> {
    twice(case, |rules, input| {
        let config = RunnerConfig::parse_with(rules, &input["context"], &input["registry"], &input["default_overrides"]);
        Ok(match config {
            Ok(config) => parsed(&config),
            Err(error) => errors(&error),
        })
    })
}

/// A configuration in the contract's form; the transforms only where there are some.
fn parsed(config: &RunnerConfig) -> Json {
    let value = |key: &str, none: Json| config.values.get(key).cloned().unwrap_or(none);
    let mut out = json!({
        "provider": config.provider, "model": config.model,
        "llm_options_defaults": value("llm_options_defaults", json!({})), "capabilities": config.capabilities(),
        "steps": value("steps", json!({})), "tool_calling": config.tool_limits(), "directives": config.directives(),
        "language_policy": config.language_policy(), "output_tags": value("output_tags", json!({})),
    });
    for key in ["message_transforms", "response_transforms"] {
        let list = value(key, json!([]));
        if list != json!([]) {
            out[key] = list;
        }
    }
    out
}

pub(crate) fn plan(case: &Case) -> Vec<Check> {
    twice(case, |_, input| {
        let done = match engine::run(PACK, "plan", Scene::new(json!({ "inputs": input["inputs"] })), &[]) {
            Ok(done) => done,
            Err(error) => return Ok(error),
        };
        let list = |path: &str| if done.get(path).is_null() { json!([]) } else { done.get(path) };
        if list("errors") != json!([]) {
            let errors = list("errors");
            let told = errors.as_array().into_iter().flatten().map(|error| json!({ "code": error["code"], "at": error["at"] }));
            return Ok(json!({ "errors": told.collect::<Vec<_>>() }));
        }
        let message = |block: &Json| {
            let mut out = Map::new();
            for (to, from) in [("role", "role"), ("content", "text"), ("name", "name"), ("metadata", "meta")] {
                if !block[from].is_null() {
                    out.insert(to.to_owned(), block[from].clone());
                }
            }
            Json::Object(out)
        };
        let messages: Json = done.list("blocks").iter().map(message).collect();
        let made = if done.get("plan.llm_options").is_null() { json!({}) } else { done.get("plan.llm_options") };
        Ok(json!({ "messages": messages, "llm_options": made, "warnings": list("warnings") }))
    })
}

pub(crate) fn presets(case: &Case) -> Vec<Check> {
    twice(case, |rules, input| {
        let protocol = input["protocol"].as_str().unwrap_or_default();
        Ok(match tapster_client::presets(rules, protocol, &input["presets"], &input["use"], &input["config"]) {
            Ok(config) => json!({ "config": config }),
            Err(error) => errors(&error),
        })
    })
}

/// Status, content type and the parts of a body.
type Answer = (u16, &'static str, Vec<Vec<u8>>);

/// A transport that answers with what is recorded.
#[derive(Default)]
pub(crate) struct Scripted {
    /// What is answered, one after the other: a status, and the parts of a body.
    pub(crate) answers: Mutex<VecDeque<Answer>>,
    /// The bodies that were sent.
    pub(crate) sent: Mutex<Vec<Json>>,
}

struct Parts(VecDeque<Vec<u8>>);

impl Body for Parts {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, TransportError>> {
        Box::pin(std::future::ready(Ok(self.0.pop_front())))
    }
}

impl Scripted {
    /// One answer in the contract's form.
    pub(crate) fn answer(&self, reply: &Json) {
        let answer = if let Some(status) = reply["http_error"].as_u64() {
            (u16::try_from(status).unwrap_or(500), "application/json", vec![b"{}".to_vec()])
        } else if let Some(chunks) = reply["chunks"].as_array() {
            let line = |chunk: &Json| chunk.as_str().map_or_else(|| format!("data: {chunk}\n\n"), |text| format!("data: {text}\n\n"));
            let mut parts: Vec<Vec<u8>> = chunks.iter().map(|chunk| line(chunk).into_bytes()).collect();
            if chunks.last() != Some(&json!("[DONE]")) {
                parts.push(b"data: [DONE]\n\n".to_vec());
            }
            (200, "text/event-stream", parts)
        } else {
            (200, "application/json", vec![reply.to_string().into_bytes()])
        };
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_back(answer);
    }
}

impl Transport for Scripted {
    fn send<'a>(&'a self, request: &'a OutgoingRequest) -> BoxFuture<'a, Result<IncomingAnswer, TransportError>> {
        self.sent.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(request.body.clone());
        let answer = self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
        let incoming = answer.map(|(status, kind, parts)| IncomingAnswer {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: Box::new(Parts(parts.into())),
        });
        let nothing = TransportError { code: "connect", message: "no reply is left".to_owned(), unsent: true };
        Box::pin(std::future::ready(incoming.ok_or(nothing)))
    }
}

/// A plan of finished messages.
pub(crate) fn plan_of(plan: &Json) -> Plan {
    let block = |message: &Json| {
        let mut fields = json!({ "role": message["role"], "text": message["content"], "expanded": true });
        for (to, from) in [("name", "name"), ("meta", "metadata")] {
            if !message[from].is_null() {
                fields[to] = message[from].clone();
            }
        }
        PlanBlock { fields: Value::from(&fields), tokens: 0, history: Vec::new() }
    };
    let reported = json!({ "plan": { "llm_options": plan["llm_options"], "dialect": plan["dialect"] } });
    Plan { blocks: plan["messages"].as_array().into_iter().flatten().map(block).collect(), set: Value::from(&reported), ..Plan::default() }
}

/// Errors whose places are in a part of the input.
fn below(place: &str, mut told: Json) -> Json {
    for error in told["errors"].as_array_mut().into_iter().flatten() {
        if let Some(at) = error["at"].as_str() {
            error["at"] = json!(format!("{place}{at}"));
        }
    }
    told
}

/// In Rust, the options of a call are a table; the program that checks them takes anything.
fn options_of_no_table(rules: &Ruleset, config: &RunnerConfig, plan: &Json, call: &Json) -> Result<Json, Json> {
    let runner = json!({ "config": config.values, "plan_options": plan["llm_options"], "call_options": call, "dialect": plan["dialect"] });
    let scene = tapster::Scene { data: Value::from(&json!({ "runner": runner })), ..Default::default() };
    let done = tapster::run(rules, "request", &scene, &[]).map_err(|error| json!({ "failed": error.message }))?;
    let found = done.get("errors").to_json();
    let told = found.as_array().into_iter().flatten().map(|error| json!({ "code": error["code"], "at": error["at"] }));
    Ok(json!({ "errors": told.collect::<Vec<_>>() }))
}

pub(crate) fn prompt(case: &Case) -> Vec<Check> {
    twice(case, |rules, input| {
        // the runner checks the options of all layers together, so the defaults must get to it unchecked
        let mut context = input["runner_config"].clone();
        let defaults = context.as_object_mut().and_then(|context| context.remove("llm_options_defaults"));
        let mut config = match RunnerConfig::parse(rules, &context) {
            Ok(config) => config,
            Err(error) => return Ok(below("/runner_config", errors(&error))),
        };
        if let Some(defaults) = defaults {
            config.values.insert("llm_options_defaults".to_owned(), defaults);
        }
        let plan = plan_of(&input["plan"]);
        let call = match &input["llm_options"] {
            Json::Null => Map::new(),
            Json::Object(call) => call.clone(),
            other => return options_of_no_table(rules, &config, &input["plan"], other),
        };
        let stream = input["stream"] == json!(true);
        let prepared = match PromptRunner::prepare(&config, &plan, &[], &call, stream) {
            Ok(prepared) => prepared,
            Err(error) => return Ok(errors(&error)),
        };
        let mut out = json!({ "body": prepared.outgoing.body, "changes": prepared.changes });
        let script = if input["chunks"].is_array() { json!({ "chunks": input["chunks"] }) } else { input["reply"].clone() };
        if script.is_null() {
            return Ok(out);
        }
        let transport = Arc::new(Scripted::default());
        transport.answer(&script);
        let runner = PromptRunner::new(Arc::clone(&transport) as Arc<dyn Transport>);
        let mut deltas = Vec::new();
        let mut hear = |delta: &Delta| {
            if let Delta::Text(text) = delta {
                deltas.push(text.clone());
            }
        };
        match tapster_session::store::block_on(runner.send(&config, &prepared, &mut hear)) {
            Ok(reply) => {
                out["message"] = reply.message;
                out["finish_reason"] = json!(reply.finish_reason);
                out["usage"] = reply.usage;
            }
            Err(error) => out["error"] = errors(&error)["error"].clone(),
        }
        if input["chunks"].is_array() {
            out["deltas"] = json!(deltas);
        }
        Ok(out)
    })
}

/// `contract-dialect`: finished messages in a provider's shape.
pub(super) mod dialect {
    use serde_json::{Value as Json, json};

    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, same};
    use crate::engine;
    use crate::engine::CONTRACT;

    /// Messages through a dialect, or through one that the case adds as rules.
    pub(crate) fn contract(case: &Case) -> Vec<Check> {
        let input = &case.input;
        let (dialect, overlay) = match input.get("added") {
            Some(added) => (added["name"].as_str().unwrap_or(""), added_dialect(added)),
            None => (input["dialect"].as_str().unwrap_or(""), String::new()),
        };
        let actual = match engine::emit_messages(CONTRACT, &overlay, messages(&input["messages"]), dialect) {
            Ok(payload) if dialect == "anthropic" => json!({ "payload": { "system": payload["system"], "messages": payload["messages"] } }),
            Ok(payload) => json!({ "payload": payload["messages"] }),
            Err(error) => error,
        };
        vec![case.check(actual, |expected, actual| {
            if expected["error"].is_object() {
                return expected["error"]["kind"] == actual["error"]["kind"];
            }
            let (mut want, mut have) = (expected["payload"].clone(), actual["payload"].clone());
            if expected["compare"] == json!("anthropic-equivalence") {
                blocks(&mut want);
                blocks(&mut have);
            }
            same(&want, &have)
        })]
    }

    /// Messages of the contract as items.
    pub(crate) fn messages(list: &Json) -> Json {
        let message = |m: &Json| json!({ "role": m["role"], "text": m["content"], "name": m["name"], "meta": m["metadata"] });
        list.as_array().into_iter().flatten().map(message).collect()
    }

    /// A dialect in rules alone.
    fn added_dialect(added: &Json) -> String {
        let name = added["name"].as_str().unwrap_or("");
        let roles = added["rename_roles"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(from, to)| format!("{from} = {to}"))
            .collect::<Vec<_>>()
            .join(", ");
        format!(
            "kind = \"overlay\"\nversion = 1\n[[program]]\nname = \"{name}\"\nover = \"messages\"\n[[pass]]\nname = \"{name}/roles\"\ndo = \"set\"\n\
         set = {{ role = {{ lookup = \"@role\", in = {{ {roles} }}, else = \"@role\" }} }}\n[[form]]\nname = \"{name}/message\"\n\
         keys = {{ role = \"@role\", content = \"@text\" }}\n[[form]]\nname = \"{name}/payload\"\n\
         keys = {{ messages = {{ of = \"messages\", form = \"{name}/message\" }} }}\n"
        )
    }

    /// A text is the list of one text block; an empty text block beside tool blocks may be left out; no system is an empty one.
    pub(crate) fn blocks(payload: &mut Json) {
        let none = payload["system"] == json!("");
        let system = if none { json!([]) } else { listed(&payload["system"]) };
        parts::set(payload, "system", system);
        for message in payload["messages"].as_array_mut().into_iter().flatten() {
            let content = listed(&message["content"]);
            parts::set(message, "content", content);
        }
    }

    /// Content as a list of blocks.
    pub(crate) fn listed(content: &Json) -> Json {
        let list = match content {
            Json::Null => Vec::new(),
            Json::String(text) => vec![json!({ "type": "text", "text": text })],
            Json::Array(list) => list.clone(),
            other => vec![other.clone()],
        };
        let tools = list.iter().any(|block| block["type"] == json!("tool_use") || block["type"] == json!("tool_result"));
        list.into_iter().filter(|block| !tools || block["text"] != json!("")).collect()
    }
}

/// `contract-directives`: schemas, replies and whole runs over the real runner, with a scripted transport.
pub(super) mod directives {
    use std::sync::Arc;

    use serde_json::{Map, Value as Json, json};
    use tapster_client::directives::{DirectiveRegistry, DirectiveRequest, DirectiveRunner, Directives};
    use tapster_client::{Problem, PromptRunner, RunError, RunnerConfig, Transport};

    use crate::adapters::tool_loop::{Script, plan, wait};
    use crate::case::{Case, Check, same};
    use crate::engine;

    /// The pack of the contract.
    const PACK: &str = "vibetavern";
    /// Keys of `config` that are no configuration of a run, but words of the application.
    const WORDS: [&str; 1] = ["repair_instruction"];

    /// One case, twice: the second time must give the same.
    pub(crate) fn contract(case: &Case) -> Vec<Check> {
        let actual = ran(case).unwrap_or_else(|problems| json!({ "errors": problems }));
        let again = ran(case).unwrap_or_else(|problems| json!({ "errors": problems }));
        let actual = if actual == again { actual } else { json!({ "first": actual, "second": again }) };
        vec![case.check(actual, compare)]
    }

    /// Warnings and errors may say more than recorded; everything else is compared as a whole.
    fn compare(expected: &Json, actual: &Json) -> bool {
        const LOOSE: [&str; 2] = ["warnings", "errors"];
        let part = |value: &Json, key: &str| value.get(key).cloned().unwrap_or_default();
        let keys = expected.as_object().into_iter().chain(actual.as_object()).flatten().map(|(key, _)| key.as_str());
        let mut keys = keys.filter(|key| !LOOSE.contains(key));
        keys.all(|key| same(&part(expected, key), &part(actual, key)))
            && LOOSE.iter().all(|key| crate::case::fits(&part(expected, key), &part(actual, key)))
    }

    fn ran(case: &Case) -> Result<Json, Vec<Json>> {
        let input = &case.input;
        let registry = DirectiveRegistry::parse(&input["registry"]).map_err(|problems| told(&problems))?;
        let rules = engine::pack(PACK).map_err(|error| vec![error])?;
        let mut context = json!({ "provider": "openrouter", "model": "acme/one", "directives": {} });
        let mut values = Map::new();
        for (key, value) in input["config"].as_object().into_iter().flatten() {
            if WORDS.contains(&key.as_str()) {
                values.insert(key.clone(), value.clone());
            } else {
                context["directives"][key.as_str()] = value.clone();
            }
        }
        if !input["capabilities"].is_null() {
            context["capabilities"] = input["capabilities"].clone();
        }
        if !input["mode_instructions"].is_null() {
            values.insert("mode_texts".to_owned(), input["mode_instructions"].clone());
        }
        let allow = input["allow"].as_array().map(|names| names.iter().filter_map(Json::as_str).map(str::to_owned).collect());
        let config = RunnerConfig::parse(&rules, &context).map_err(refused)?;
        let plan = plan(&input["history"]);
        let request = DirectiveRequest { registry: Some(registry), allow, values };
        let directives = Directives::new(&config, &plan, &request).map_err(refused)?;
        Ok(match case.op() {
            "read" => match directives.read(input["text"].as_str().unwrap_or_default()) {
                Ok(reply) => json!(reply),
                Err(error) => json!({ "error": error.code(), "at": error.at() }),
            },
            "schema" => json!({ "response_format": directives.response_format("json_schema") }),
            "run" => run(input, &config, &plan, &directives)?,
            other => json!({ "unknown op": other }),
        })
    }

    fn run(input: &Json, config: &RunnerConfig, plan: &tapster::Plan, directives: &Directives) -> Result<Json, Vec<Json>> {
        let replies = input["replies"].as_array().into_iter().flatten().map(|reply| match reply.get("http_error") {
            Some(_) => reply.clone(),
            None => json!({ "message": { "role": "assistant", "content": reply["content"] }, "finish_reason": "stop" }),
        });
        let script = Arc::new(Script::new(&replies.collect()));
        let runner = DirectiveRunner::new(PromptRunner::new(Arc::clone(&script) as Arc<dyn Transport>));
        let options = input["options"].as_object().cloned().unwrap_or_default();
        let report = wait(runner.run(config, plan, directives, &options)).map_err(refused)?;
        if !script.left().is_empty() {
            return Ok(json!({ "replies left": script.left().len() }));
        }
        let requests = script.requests().into_iter().zip(&report.attempts).map(|(mut body, attempt)| {
            if let Some(body) = body.as_object_mut() {
                body.remove("model");
                body.insert("mode".to_owned(), json!(attempt.mode));
            }
            body
        });
        let mut out = json!(report);
        out["requests"] = requests.collect();
        if out["warnings"] == json!([]) && !report.ok {
            out["warnings"] = Json::Null;
        }
        Ok(out)
    }

    fn refused(error: RunError) -> Vec<Json> {
        match error {
            RunError::Config(problems) => told(&problems),
            other => vec![json!(other.to_string())],
        }
    }

    fn told(problems: &[Problem]) -> Vec<Json> {
        problems.iter().map(|p| json!({ "code": p.code, "at": p.at })).collect()
    }
}
