//! Templates that are rendered, with sources that the cases declare.

use serde_json::{Value as Json, json};
use tapster::Value;
use tapster::template::{Budget, Inputs, QuarterRuler, RenderLimits, RenderedTemplate, SourceProvider, offers, render};

use crate::adapters::chat_completion as chat;
use crate::adapters::wire::parts;
use crate::case::{Case, Check, fits, same, without};
use crate::engine;
use crate::engine::{Built, EXACT};

/// Cases that render, and those that stop before.
pub(super) fn recorded(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let is_of_pack = input["task"]["sources"] == "builtin";
    if input["mode"] == "compile" && !is_of_pack {
        return check::recorded(case);
    }
    let actual = if is_of_pack { pack::built(case) } else { rendered(case) }.unwrap_or_else(|error| error);
    let fits = |expected: &Json, actual: &Json| {
        if expected.get("error").is_some() { check::fits(expected, actual) } else { same(&with_warnings(expected), actual) }
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
    let template = check::opened(case)?.template;
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
        let done = render(&template, &inputs, &mut budget).map_err(|error| check::failed(&error))?;
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

/// Templates that are to be refused, and doubtful ones that are not: what compiling says of them.
pub(super) mod check {
    use serde_json::{Value as Json, json};
    use tapster::diag::Severity;
    use tapster::machinery::pack::RuleFile;
    use tapster::template::TemplateContract;
    use tapster::{OpenedTemplate, PackError};

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
                if is_path {
                    said.contains(&format!("`{mention}`")) || said.contains(&format!("`{mention}."))
                } else {
                    said.contains(mention)
                }
            })
        };
        let mentions = wanted["mentions"].as_array().into_iter().flatten().filter_map(Json::as_str);
        wanted["category"] == got["category"] && mentions.into_iter().all(told)
    }
}

/// Templates over the tasks that the pack `storyforge` brings: built as any prompt is.
pub(super) mod pack {
    use serde_json::{Value as Json, json};
    use tapster::{Ruleset, Scene, Value, build};

    use crate::adapters::template::check;
    use crate::case::Case;

    /// The build of a case, as the cases have it; or the error.
    pub(super) fn built(case: &Case) -> Result<Json, Json> {
        let input = &case.input;
        let mut template = input["template"].clone();
        template["revision"] = input["revision"].clone();
        let rules = Ruleset::open_with("storyforge", &[("template.json", &template.to_string())]).map_err(|r| check::error(&r))?;
        if input["mode"] == "compile" {
            return Ok(json!({ "ok": true }));
        }
        let mut data = json!({ "template": template["id"], "data": input["context"], "max_tokens": input["budget"]["maxTokens"] });
        if input["compile"]["checkKind"] != json!(false) {
            data["task"] = input["task"]["kind"].clone();
        }
        let scene = Scene { data: Value::from(&data), ..Scene::default() };
        let plan = build(&rules, &scene).map_err(|e| json!({ "error": { "category": "render", "said": [e.message] } }))?;
        let messages: Vec<Json> = plan.blocks.iter().map(|block| message(&block.fields)).collect();
        let tokens = plan.set.at("rendered.tokens").map(Value::to_json);
        let warnings = plan.warnings.iter().filter(|w| w.code == "template.data").count();
        Ok(json!({ "messages": messages, "tokensConsumed": tokens, "warnings": warnings }))
    }

    fn message(block: &Value) -> Json {
        let field = |key: &str| block.get(key).map(Value::to_json).unwrap_or_default();
        let mut message = json!({ "role": field("role"), "content": field("text") });
        if field("prefix") == json!(true) {
            message["prefix"] = json!(true);
        }
        message
    }
}

// The blocks of a recorded chat completion: in which slot each stands, what it is called, and what it costs.

/// Slot or block as recorded = our name.
const SLOTS: &[(&str, &str)] = &[
    ("main", "main_prompt"),
    ("nsfw", "auxiliary_prompt"),
    ("jailbreak", "post_history_instructions"),
    ("worldInfoBefore", "world_info_before"),
    ("worldInfoAfter", "world_info_after"),
    ("charDescription", "character_description"),
    ("charPersonality", "character_personality"),
    ("personaDescription", "persona_description"),
    ("dialogueExamples", "chat_examples"),
    ("chatHistory", "chat_history"),
    ("enhanceDefinitions", "enhance_definitions"),
    ("newMainChat", "new_chat"),
    ("newChat", "example_header"),
    ("groupNudge", "group_nudge"),
    ("emptyUserMessageReplacement", "send_if_empty"),
    ("continueNudge", "continue_nudge"),
    ("quietPrompt", "quiet"),
    ("impersonate", "impersonation"),
    ("authorsNote", "2_floating_prompt"),
    ("summary", "1_memory"),
    ("vectorsMemory", "3_vectors"),
    ("vectorsDataBank", "4_vectors_data_bank"),
    ("smartContext", "chromadb"),
];

/// What was recorded of the blocks of the messages that are not empty, and the tokens of slots; only what was recorded.
pub(crate) fn check(case: &Case, data: Json, built: &Built) -> Check {
    let (mut expected, mut actual) = (json!({}), json!({}));
    if let Some(prompts) = case.expected["prompts"].as_array() {
        let live: Json = prompts.iter().filter(|p| p["content"] != json!("")).map(|p| without(p, &["name"])).collect();
        parts::set(&mut expected, "prompts", live);
        parts::set(&mut actual, "prompts", prompts_of(case, &data, built));
    }
    if case.expected["token_counts"].is_object() || case.expected["token_total"].is_number() {
        let counts = token_counts(case, data, built);
        for key in ["token_counts", "token_total"] {
            if let Some(recorded) = case.expected.get(key) {
                // `undefined` is no slot: what was counted on the way while system messages were squashed
                parts::set(&mut expected, key, without(recorded, &["undefined"]));
                parts::set(&mut actual, key, counts[key].clone());
            }
        }
    }
    let key_alike = |key: &str| match key {
        // of a prompt, what was recorded of it
        "prompts" => fits(&expected[key], &actual[key]),
        _ => same(&expected[key], &actual[key]),
    };
    let passed = expected.as_object().into_iter().flatten().all(|(key, _)| key_alike(key));
    Check { level: "tokens".to_owned(), passed, expected, actual }
}

/// Whether something is sent of a block.
fn is_live(block: &&Json) -> bool {
    block["enabled"] != json!(false) && (block["text"] != json!("") || block["meta"]["tool_calls"].is_array())
}

fn prompts_of(case: &Case, data: &Json, built: &Built) -> Json {
    let blocks = built.blocks();
    let prefill = case.input["preset"]["continue_prefill"] == json!(true);
    // the recorder has no group once system messages are squashed
    let squashed = case.input["preset"]["squash_system_messages"] == json!(true);
    let names = names(&blocks, &lines(&case.input, data), prefill);
    // what a message says is what the dialect writes of it
    let sent = chat::unprocessed(built);
    let sent = sent.as_array().map_or(&[][..], Vec::as_slice);
    let live = blocks.iter().zip(&names).filter(|(block, _)| is_live(block));
    live.enumerate()
        .map(|(n, (block, name))| {
            let group = if squashed { Json::Null } else { slot(block, prefill) };
            let message = sent.get(n).unwrap_or(&Json::Null);
            json!({ "group": group, "identifier": name, "role": message["role"], "content": message["content"], "tokens": block["tokens"] })
        })
        .collect()
}

/// The recorded name of a slot. A message that is continued by prefill was recorded among the control prompts.
fn slot(block: &Json, prefill: bool) -> Json {
    match block["slot"].as_str() {
        Some("continued") if !prefill => json!("continueNudge"),
        Some("continued" | "control") => json!("controlPrompts"),
        _ => renamed(&block["slot"]),
    }
}

fn renamed(ours: &Json) -> Json {
    SLOTS.iter().find(|(_, name)| ours == name).map_or_else(|| ours.clone(), |(theirs, _)| json!(theirs))
}

/// What frames the lines of the chat and is none of them.
fn frame(block: &Json) -> bool {
    let counted = block["id"] == json!("send_if_empty") && block["counted"] == json!(true);
    !counted && ["new_chat", "group_nudge", "send_if_empty"].iter().any(|id| block["id"] == json!(id))
}

/// The lines of the chat, injections among them, before any of them is left out for its size: they are numbered from the
/// oldest. A message without text has its number, an injection without text has none.
fn lines(input: &Json, data: &Json) -> Vec<Json> {
    let at =
        |stage: &str| engine::run_before(EXACT, stage, chat::drawn(input, data.clone())).map(|ran| ran.list("blocks")).unwrap_or_default();
    let is_line = |b: &Json| {
        let live = b["slot"] == json!("chat_history") && b["anchor"] != json!(true) && b["enabled"] != json!(false);
        live && !frame(b) && !b["meta"]["tool_call_id"].is_string()
    };
    let kept: Vec<Json> = at("trimming").into_iter().filter(is_line).map(|b| b["id"].clone()).collect();
    let empty = |b: &Json| b["counted"] == json!(true) && b["text"] == json!("");
    let lines = at("compilation").into_iter().filter(|b| is_line(b) && (empty(b) || kept.contains(&b["id"])));
    lines.map(|b| b["id"].clone()).collect()
}

/// What each block was called by the recorder: lines of the chat and of examples by their number.
fn names(blocks: &[Json], lines: &[Json], prefill: bool) -> Vec<Json> {
    let (mut dialogue, mut of_dialogue, mut example) = (-1, Json::Null, 0);
    let mut out = Vec::new();
    let mut lines = lines.iter().enumerate();
    for block in blocks {
        if block["slot"] == json!("chat_examples") && block["anchor"] != json!(true) && of_dialogue != block["dialogue"] {
            (dialogue, example, of_dialogue) = (dialogue + 1, -1, block["dialogue"].clone());
        }
        let name = match block["slot"].as_str() {
            _ if block["anchor"] == json!(true) || frame(block) => renamed(&block["id"]),
            Some("chat_history") if block["meta"]["tool_call_id"].is_string() => block["meta"]["tool_call_id"].clone(),
            Some("chat_history") => {
                let line = lines.by_ref().find(|(_, id)| **id == block["id"]).map(|(n, _)| n + 1);
                let line = line.map_or_else(String::new, |n| n.to_string());
                let call = if block["meta"]["tool_calls"].is_array() { "toolCall-" } else { "" };
                json!(format!("{call}chatHistory-{line}"))
            }
            Some("chat_examples") if block["line"] == json!(-1) => json!("newChat"),
            Some("chat_examples") => {
                example += 1;
                json!(format!("dialogueExamples {dialogue}-{example}"))
            }
            Some("continued") if block["id"] == json!("continue_nudge") => json!("continueNudge"),
            Some("continued") if prefill => json!("continuePrefill"),
            Some("continued") => Json::Null,
            _ => renamed(&block["id"]),
        };
        out.push(name);
    }
    out
}

/// Tokens by slot, and their sum, as they are before system messages are squashed.
fn token_counts(case: &Case, mut data: Json, built: &Built) -> Json {
    let prefill = case.input["preset"]["continue_prefill"] == json!(true);
    let squashed = case.input["preset"]["squash_system_messages"] == json!(true);
    let blocks = if squashed {
        parts::put(&mut data, "preset.squash", json!(false));
        match engine::build(EXACT, chat::drawn(&case.input, data)) {
            Ok(built) => built.blocks(),
            Err(error) => return json!({ "token_counts": error }),
        }
    } else {
        built.blocks()
    };
    let mut counts = json!({});
    let mut total = 0;
    for block in blocks.iter().filter(is_live) {
        let (slot, tokens) = (slot(block, prefill), block["tokens"].as_u64().unwrap_or(0));
        let key = slot.as_str().unwrap_or("undefined");
        let sum = counts[key].as_u64().unwrap_or(0) + tokens;
        parts::set(&mut counts, key, json!(sum));
        total += tokens;
    }
    // a slot that is there and empty was recorded with 0
    for (key, value) in case.expected["token_counts"].as_object().into_iter().flatten() {
        if value == &json!(0) && counts.get(key).is_none() {
            parts::set(&mut counts, key, json!(0));
        }
    }
    json!({ "token_counts": counts, "token_total": total })
}

/// `contract-story`: the story string of text dialects.
pub(super) mod story {
    use serde_json::{Value as Json, json};

    use crate::adapters::cards;
    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, fits};
    use crate::engine;
    use crate::engine::{CONTRACT, Scene};

    /// Field of a story string = where the scene has its value.
    const FIELDS: &[(&str, &str)] = &[
        ("system", "story.system"),
        ("description", "card.description"),
        ("personality", "card.personality"),
        ("scenario", "card.scenario"),
        ("persona", "persona.text"),
        ("char", "names.char"),
        ("user", "names.user"),
        ("wiBefore", "lore.before"),
        ("wiAfter", "lore.after"),
        ("mesExamples", "card.mes_example"),
        ("mesExamplesRaw", "card.mes_example_raw"),
    ];

    /// The fields are given instead of being read from the scene.
    const GIVEN_FIELDS: &str = r#"
kind = "overlay"
version = 1
path = [{ name = "fields", type = "table", doc = "The fields of the story string." }]
[[pass]]
name = "story/fields"
remove = true
"#;

    /// One case, by its operation.
    pub(crate) fn contract(case: &Case) -> Vec<Check> {
        let input = &case.input;
        let actual = match case.op() {
            "render" => render(input),
            "assemble" => assemble(input),
            "import" => import(input),
            other => return vec![Check::broken("", case, &format!("no adapter for op `{other}` yet"))],
        };
        vec![case.check(actual, fits)]
    }

    fn is_story(block: &&Json) -> bool {
        block["slot"] == json!("story_string")
    }

    fn render(input: &Json) -> Json {
        let data = json!({ "story": { "template": input["template"] }, "instruct": { "enabled": false }, "fields": input["fields"] });
        match engine::run_with(CONTRACT, GIVEN_FIELDS, "story", Scene::new(data), &[("blocks", json!([]))]) {
            Ok(ran) => json!({ "output": ran.list("blocks").iter().find(is_story).map(|b| b["text"].clone()) }),
            Err(error) => error,
        }
    }

    fn assemble(input: &Json) -> Json {
        let mut data = json!({
            "type": input["generation_type"],
            "dialect": input["dialect"],
            "story": { "template": input["template"] },
            "history": parts::history(&input["history"]),
            "preset": { "entries": [{ "name": "chat_history" }] },
        });
        for (name, path) in FIELDS {
            parts::put(&mut data, path, input["fields"][*name].clone());
        }
        parts::copy(
            input,
            &mut data,
            &[("story_string_position", "story.position"), ("story_string_depth", "story.depth"), ("story_string_role", "story.role")],
        );
        let names = [
            ("enabled", "instruct.enabled"),
            ("wrap", "instruct.wrap"),
            ("story_string_prefix", "instruct.story_prefix"),
            ("story_string_suffix", "instruct.story_suffix"),
        ];
        parts::copy(&input["instruct"], &mut data, &names);
        let mut scene = Scene { trace: true, ..Scene::new(data) };
        let entries = parts::injections(&input["injections"], &mut scene);
        parts::put(&mut scene.data, "injections", entries);
        match engine::build(CONTRACT, scene) {
            Ok(built) => assembled(&built.stages()),
            Err(error) => error,
        }
    }

    /// Whether there is a story string, what of it stands in front of the chat, and the chat before sequences are put round it.
    fn assembled(stages: &[(String, Vec<Json>)]) -> Json {
        let after = |stage: &str| stages.iter().find(|(name, _)| name == stage).map_or(&[][..], |(_, blocks)| blocks);
        let used = after("story").iter().any(|b| is_story(&b));
        let blocks = after("plan_assembly");
        let in_front = blocks.iter().take_while(is_story).filter_map(|b| b["text"].as_str()).collect::<String>();
        let chat = blocks.iter().skip_while(is_story);
        json!({ "story_used": used, "system_prefix": in_front, "chat": parts::messages(chat) })
    }

    fn import(input: &Json) -> Json {
        match cards::context(CONTRACT, &input["context"]) {
            Ok(part) => {
                let story = &part["story"];
                json!({ "story_string_position": story["position"], "story_string_depth": story["depth"], "story_string_role": story["role"] })
            }
            Err(error) => error,
        }
    }
}
