//! Kind `dialect`: finished messages in the shape of a provider, and whole requests. What all its operations share.
//!
//! Names are changed on the way in and out, and nothing else: a message's `content` is the `text` of an item, and what
//! a request holds becomes paths of the scene.

use serde_json::{Map, Value as Json, json};

use crate::case::{Case, Check, same};
use crate::engine;
use crate::engine::{CONTRACT, EXACT, Scene};

/// What a request calls one way and a scene another; everything else of a request is `provider.` and its own name.
const PATHS: &[(&str, &str)] = &[
    ("char_name", "names.char"),
    ("user_name", "names.user"),
    ("group_names", "names.group"),
    ("charName", "names.char"),
    ("userName", "names.user"),
    ("groupNames", "names.group"),
    ("chat_completion_source", "provider.source"),
    ("max_tokens", "context.reserve"),
    ("custom_prompt_post_processing", "post.mode"),
    ("assistant_prefill", "preset.prefill"),
    ("prefill", "preset.prefill"),
    ("cachingAtDepth", "provider.cache_depth"),
    ("ttl", "provider.cache_ttl"),
];

/// The options of a case as a scene: `config` with its dotted keys under `config.`, everything else as [`PATHS`] says.
pub(crate) fn scene(case: &Case) -> Json {
    let options = &case.input["options"];
    let mut scene = json!({});
    for (key, value) in fields(options).chain(fields(&options["request"])).chain(fields(&options["names"])) {
        match key.as_str() {
            "request" | "names" => {}
            "config" => fields(value).for_each(|(key, value)| put(&mut scene, &format!("config.{key}"), value)),
            key => put(&mut scene, &path(key), value),
        }
    }
    scene
}

fn path(key: &str) -> String {
    PATHS.iter().find(|(theirs, _)| *theirs == key).map_or_else(|| format!("provider.{key}"), |(_, path)| (*path).to_owned())
}

fn fields(object: &Json) -> impl Iterator<Item = (&String, &Json)> {
    object.as_object().into_iter().flatten()
}

/// Sets what stands under a dotted path.
fn put(scene: &mut Json, path: &str, value: &Json) {
    match path.split_once('.') {
        None => parts::set(scene, path, value.clone()),
        Some((first, rest)) => {
            let mut inner = if scene[first].is_object() { scene[first].clone() } else { Json::Object(Map::new()) };
            put(&mut inner, rest, value);
            parts::set(scene, first, inner);
        }
    }
}

/// Messages of a provider as items: the text of an item may be a list of parts. One text is a message of no role.
pub(crate) fn items(messages: &Json) -> Json {
    if let Json::String(text) = messages {
        return json!([{ "role": "", "text": text }]);
    }
    messages.as_array().into_iter().flatten().map(|m| renamed(m, "content", "text")).collect()
}

/// And back.
pub(crate) fn messages(items: &[Json]) -> Json {
    items.iter().map(|item| renamed(item, "text", "content")).collect()
}

fn renamed(object: &Json, from: &str, to: &str) -> Json {
    fields(object).map(|(key, value)| (if key == from { to.to_owned() } else { key.clone() }, value.clone())).collect::<Map<_, _>>().into()
}

/// The messages that a program of a dialect leaves.
pub(crate) fn converted(case: &Case, dialect: &str, program: &str) -> Vec<Check> {
    let mut scene = scene(case);
    parts::set(&mut scene, "dialect", json!(dialect));
    let actual = match engine::run(EXACT, program, Scene::new(scene), &[("messages", items(&case.input["messages"]))]) {
        Ok(ran) => json!({ "messages": messages(&ran.list("messages")) }),
        Err(error) => error,
    };
    vec![case.check(actual, fits)]
}

/// A whole request: the payload of a dialect, and where it goes.
pub(crate) fn request(case: &Case, dialect: &str) -> Vec<Check> {
    let actual = match engine::emit_request(EXACT, scene(case), items(&case.input["messages"]), dialect) {
        Ok(sent) => json!({ "url": sent["request"]["url"], "headers": sent["request"]["headers"], "body": sent["payload"] }),
        Err(error) => error,
    };
    vec![case.check(actual, fits)]
}

/// The payload of a dialect alone.
pub(crate) fn payload(case: &Case, dialect: &str) -> Vec<Check> {
    let sent = engine::emit_request(EXACT, scene(case), items(&case.input["messages"]), dialect);
    vec![case.check(sent.map_or_else(|error| error, |sent| sent["payload"].clone()), fits)]
}

/// Of a whole request only what the recording has is compared; where the real program throws, an error will do.
pub(crate) fn fits(expected: &Json, actual: &Json) -> bool {
    if !expected["throws"].is_null() {
        return !actual["error"].is_null();
    }
    let recorded = |(key, _): &(&String, &Json)| expected.get(key.as_str()).is_some() || key.as_str() == "error";
    match actual {
        Json::Object(_) => {
            let actual: Map<_, _> = fields(actual).filter(recorded).map(|(key, value)| (key.clone(), value.clone())).collect();
            same(expected, &actual.into())
        }
        other => same(expected, other),
    }
}

// Kind `contract-dialect-wire`, chat completions: the messages of a payload, as the contract words them.

/// Messages through the dialect that the case names.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let message = |m: &Json| json!({ "role": m["role"], "text": m["content"], "name": m["name"], "meta": m["metadata"] });
    let messages = input["messages"].as_array().into_iter().flatten().map(message).collect();
    let dialect = input["options"]["dialect"].as_str().unwrap_or("");
    let actual = engine::emit_messages(CONTRACT, "", messages, dialect).map_or_else(|error| error, |payload| payload["messages"].clone());
    vec![case.check(actual, same)]
}

/// Kind `dialect`, operations `google`, `body-google` and `budget-google`: contents, request bodies, amounts of thought.
pub(super) mod google {
    use serde_json::{Value as Json, json};

    use crate::case::{Case, Check};
    use crate::engine;
    use crate::engine::{EXACT, Ran, Scene};

    /// What is recorded under `input.op`.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let (input, options) = (&case.input, &case.input["options"]);
        let messages = super::items(&input["messages"]);
        let run = |program: &str, names: &Json| {
            engine::run(EXACT, program, Scene::new(scene(input, options, names)), &[("messages", messages.clone())])
        };
        let ran = match case.op() {
            "google" => run("google_contents", &options["names"]).map(|ran| contents(&ran)),
            "body-google" => engine::emit_request(EXACT, scene(input, &options["request"], &options["request"]), messages, "google")
                .map(|sent| json!({ "url": sent["request"]["url"], "body": sent["payload"] })),
            _ => run("google_budget", options).map(|ran| json!({ "budget": ran.get("effort.sent") })),
        };
        vec![case.check(ran.unwrap_or_else(|error| error), super::fits)]
    }

    fn contents(ran: &Ran) -> Json {
        let message = |m: &Json| json!({ "role": m["role"], "parts": m["parts"] });
        json!({
            "contents": ran.list("messages").iter().map(message).collect::<Json>(),
            "system_instruction": { "parts": ran.list("system").iter().map(|m| json!({ "text": m["text"] })).collect::<Json>() },
        })
    }

    /// The options of a converter or of a request, under the names of the rules.
    fn scene(input: &Json, options: &Json, names: &Json) -> Json {
        let config = &input["options"]["config"];
        let named = |a: &str, b: &str| names.get(a).or_else(|| names.get(b)).cloned();
        let option = |a: &str, b: &str| options.get(a).or_else(|| options.get(b)).cloned();
        let mut provider = json!({ "key": "KEY" });
        let mut context = json!({});
        let renamed = [
            ("model", option("model", "")),
            ("system_prompt", option("useSysPrompt", "use_sysprompt")),
            ("reasoning_effort", option("reasoningEffort", "reasoning_effort")),
            ("image_aspect_ratio", option("request_image_aspect_ratio", "")),
            ("image_resolution", option("request_image_resolution", "")),
            ("web_search", option("enable_web_search", "")),
            ("thought_signatures", config.get("gemini.thoughtSignatures").cloned()),
        ];
        let same = [
            "temperature",
            "top_p",
            "top_k",
            "stream",
            "include_reasoning",
            "tools",
            "tool_choice",
            "json_schema",
            "stop",
            "request_images",
        ];
        for (name, value) in renamed.into_iter().chain(same.map(|name| (name, option(name, "")))) {
            if let Some(value) = value {
                provider[name] = value;
            }
        }
        if let Some(most) = option("maxTokens", "max_tokens") {
            context["reserve"] = most;
        }
        let mut data = json!({
            "dialect": "google",
            "context": context,
            "names": { "char": named("charName", "char_name"), "user": named("userName", "user_name"), "group": named("groupNames", "group_names") },
            "provider": provider,
            "post": { "mode": options.get("custom_prompt_post_processing").cloned().unwrap_or_else(|| json!("")) },
        });
        if let Some(text) = config.get("promptPlaceholder") {
            data["placeholder"] = json!({ "text": text });
        }
        data
    }
}

/// Kind `dialect`, the operations of Claude, and the contract's Anthropic dialect.
pub(super) mod claude {
    use serde_json::{Value as Json, json};

    use crate::adapters::runner::dialect;
    use crate::adapters::wire::parts;
    use crate::case::{Case, Check, same};
    use crate::engine;
    use crate::engine::{CONTRACT, EXACT, Scene};

    /// What the recorder calls one way and the rules another.
    const PATHS: &[(&str, &str)] = &[
        ("/provider/useSysPrompt", "provider.system_prompt"),
        ("/provider/use_sysprompt", "provider.system_prompt"),
        ("/provider/enable_web_search", "provider.web_search"),
        ("/provider/stop", "plan.stops"),
        ("/provider/maxTokens", "context.reserve"),
        ("/provider/reasoningEffort", "provider.reasoning_effort"),
        ("/provider/isAdaptiveModel", "capability.adaptive"),
        ("/preset/prefill", "plan.assistant_prefill"),
        ("/config/promptPlaceholder", "placeholder.text"),
    ];

    /// The options of a case as a scene.
    fn scene(case: &Case) -> Json {
        let mut scene = json!({ "dialect": "claude", "provider": { "source": "claude" } });
        parts::lay(&mut scene, super::scene(case));
        for (from, to) in PATHS {
            if let Some(value) = scene.pointer(from).cloned() {
                parts::put(&mut scene, to, value);
            }
        }
        if scene["provider"]["tools"].is_null() {
            let offered = scene["provider"]["useTools"] == json!(true);
            parts::put(&mut scene, "provider.tools", tools(offered));
        }
        scene
    }

    /// Tools of a request: what was recorded without them says only whether there are any.
    pub(crate) fn tools(offered: bool) -> Json {
        if offered { json!([{ "type": "function", "function": { "name": "any", "parameters": { "type": "object" } } }]) } else { json!([]) }
    }

    /// The converter alone: the request round it asks for no thinking.
    pub(crate) fn converted(case: &Case) -> Vec<Check> {
        let mut scene = scene(case);
        parts::put(&mut scene, "provider.reasoning_effort", json!("auto"));
        let actual = match engine::emit_request(EXACT, scene, super::items(&case.input["messages"]), "claude") {
            Ok(sent) => {
                let (messages, system) = apart(&sent["payload"]);
                json!({ "messages": messages, "systemPrompt": system })
            }
            Err(error) => error,
        };
        vec![case.check(actual, super::fits)]
    }

    /// The messages of a payload, and its system prompt, which the recorder has even where none is sent.
    pub(crate) fn apart(payload: &Json) -> (Json, Json) {
        let system = Some(&payload["system"]).filter(|s| !s.is_null()).cloned().unwrap_or_else(|| json!([]));
        (payload["messages"].clone(), system)
    }

    /// A whole request.
    pub(crate) fn request(case: &Case) -> Vec<Check> {
        let actual = match engine::emit_request(EXACT, scene(case), super::items(&case.input["messages"]), "claude") {
            Ok(sent) => {
                let request = &sent["request"];
                json!({ "url": request["url"], "anthropic-beta": request["headers"]["anthropic-beta"], "body": sent["payload"] })
            }
            Err(error) => error,
        };
        vec![case.check(actual, super::fits)]
    }

    /// How much a model thinks: a number of tokens, or a word.
    pub(crate) fn budget(case: &Case) -> Vec<Check> {
        let actual = match engine::run(EXACT, "claude_budget", Scene::new(scene(case)), &[]) {
            Ok(ran) => {
                let (effort, tokens) = (ran.get("thinking.effort"), ran.get("thinking.budget"));
                json!({ "budget": if effort.is_null() { tokens } else { effort } })
            }
            Err(error) => error,
        };
        vec![case.check(actual, super::fits)]
    }

    /// Converted messages with cache marks.
    pub(crate) fn cached(case: &Case) -> Vec<Check> {
        let messages = case.input["messages"].as_array().into_iter().flatten();
        let messages = messages.map(|m| json!({ "role": m["role"], "parts": m["content"] })).collect();
        let actual = match engine::run(EXACT, "anthropic_cache", Scene::new(scene(case)), &[("messages", messages)]) {
            Ok(ran) => {
                let back = |m: &Json| json!({ "role": m["role"], "content": m["parts"] });
                json!({ "messages": ran.list("messages").iter().map(back).collect::<Json>() })
            }
            Err(error) => error,
        };
        vec![case.check(actual, super::fits)]
    }

    /// A mark on what the assistant has begun to say.
    pub(crate) fn flagged(case: &Case) -> Vec<Check> {
        let property = case.input["options"]["property"].as_str().unwrap_or("prefix");
        let actual = match engine::run(
            EXACT,
            "assistant_prefix",
            Scene::new(super::scene(case)),
            &[("messages", super::items(&case.input["messages"]))],
        ) {
            Ok(ran) => {
                json!({ "messages": super::messages(&ran.list("messages")).as_array().into_iter().flatten().map(|m| named(m, property)).collect::<Json>() })
            }
            Err(error) => error,
        };
        vec![case.check(actual, super::fits)]
    }

    fn named(message: &Json, property: &str) -> Json {
        let fields = message.as_object().into_iter().flatten();
        fields
            .map(|(key, value)| (if key == "prefill" { property.to_owned() } else { key.clone() }, value.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// The contract's dialect.
    pub(crate) fn contract(case: &Case) -> Vec<Check> {
        let actual = match engine::emit_messages(CONTRACT, "", dialect::messages(&case.input["messages"]), "anthropic") {
            Ok(payload) => json!({ "system": payload["system"], "messages": payload["messages"] }),
            Err(error) => error,
        };
        vec![case.check(actual, |expected, actual| {
            let (mut want, mut have) = (expected.clone(), actual.clone());
            for side in [&mut want, &mut have] {
                dialect::blocks(side);
                turns(side);
            }
            same(&want, &have)
        })]
    }

    /// Neighbours of one role may be one message, and a result without content is an empty one.
    fn turns(payload: &mut Json) {
        let mut turns: Vec<Json> = Vec::new();
        for message in payload["messages"].as_array().into_iter().flatten() {
            let mut content = message["content"].as_array().cloned().unwrap_or_default();
            for block in &mut content {
                if block["type"] == json!("tool_result") {
                    let inner =
                        Some(dialect::listed(&block["content"])).filter(|_| block["content"] != json!("")).unwrap_or_else(|| json!([]));
                    parts::set(block, "content", inner);
                }
            }
            match turns.last_mut().filter(|last| last["role"] == message["role"]) {
                Some(last) => {
                    let mut both = last["content"].as_array().cloned().unwrap_or_default();
                    both.extend(content);
                    parts::set(last, "content", Json::Array(both));
                }
                None => turns.push(json!({ "role": message["role"], "content": content })),
            }
        }
        parts::set(payload, "messages", Json::Array(turns));
    }
}

/// Kind `dialect`, the converters for providers that take OpenAI's shape with rules of their own, and the bodies of
/// the requests to them.
pub(super) mod turns {
    use serde_json::{Value as Json, json};

    use crate::adapters::trim;
    use crate::case::{Case, Check, same};
    use crate::engine;
    use crate::engine::{EXACT, Scene};

    /// Fields of a request that are the scene's under another name; the others are `provider.*`.
    const REQUEST: &[(&str, &str)] = &[
        ("char_name", "names.char"),
        ("user_name", "names.user"),
        ("group_names", "names.group"),
        ("max_tokens", "context.reserve"),
        ("stop", "plan.stops"),
        ("chat_completion_source", "provider.source"),
        ("custom_prompt_post_processing", "post.mode"),
        ("reverse_proxy", "provider.url"),
    ];

    /// Messages through a dialect.
    pub(crate) fn converted(case: &Case) -> Vec<Check> {
        let names = &case.input["options"]["names"];
        let mut scene = json!({ "dialect": case.op(), "names": { "char": names["charName"], "user": names["userName"], "group": names["groupNames"] } });
        around(case, &mut scene);
        let key = if case.op() == "cohere" { "chatHistory" } else { "messages" };
        let actual = match engine::run(EXACT, case.op(), Scene::new(scene), &[("messages", trim::items(&case.input["messages"]))]) {
            Ok(ran) => json!({ key: prefixes(trim::messages(&ran.list("messages"))) }),
            Err(error) => error,
        };
        vec![case.check(actual, answers)]
    }

    /// A whole request.
    pub(crate) fn body(case: &Case) -> Vec<Check> {
        let dialect = case.op().trim_start_matches("body-");
        let mut scene = json!({ "dialect": dialect });
        for (key, value) in case.input["options"]["request"].as_object().into_iter().flatten() {
            let own = format!("provider.{key}");
            let path = REQUEST.iter().find(|(name, _)| name == key).map_or(own.as_str(), |(_, path)| *path);
            put(&mut scene, path, value.clone());
        }
        around(case, &mut scene);
        let overlay = format!(
            "kind = \"overlay\"\nversion = 1\n[[program]]\nname = \"sent\"\nover = \"messages\"\n[[pass]]\nname = \"sent/run\"\ndo = \"run\"\n\
         program = \"{dialect}\"\n[[pass]]\nname = \"sent/forms\"\ndo = \"set\"\n\
         set = {{ \"$sent\" = {{ body = {{ form = \"{dialect}/payload\" }}, request = {{ form = \"{dialect}/request\" }} }} }}\n"
        );
        let lists = [("messages", trim::items(&case.input["messages"]))];
        let actual = match engine::run_with(EXACT, &overlay, "sent", Scene::new(scene), &lists) {
            Ok(ran) => json!({ "url": ran.get("sent.request.url"), "body": ran.get("sent.body") }),
            Err(error) => error,
        };
        vec![case.check(actual, answers)]
    }

    /// The server's configuration; and a prompt that is one text and no list.
    fn around(case: &Case, scene: &mut Json) {
        for (key, value) in case.input["options"]["config"].as_object().into_iter().flatten() {
            let path = if key == "promptPlaceholder" { "placeholder.text".to_owned() } else { format!("config.{key}") };
            put(scene, &path, value.clone());
        }
        if case.input["messages"].is_string() {
            put(scene, "provider.prompt", case.input["messages"].clone());
        }
    }

    /// Where the program threw, any error is as good.
    fn answers(expected: &Json, actual: &Json) -> bool {
        if expected["throws"].is_string() { actual["error"].is_object() } else { same(expected, actual) }
    }

    fn prefixes(mut messages: Json) -> Json {
        for message in messages.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
            if let Some(prefill) = message.remove("prefill") {
                message.insert("prefix".to_owned(), prefill);
            }
        }
        messages
    }

    fn put(scene: &mut Json, path: &str, value: Json) {
        match path.split_once('.') {
            Some((head, rest)) => put(&mut scene[head], rest, value),
            None => scene[path] = value,
        }
    }
}

/// Parts of scenes that several recorded forms share.
pub(super) mod parts {
    use serde_json::{Map, Value as Json, json};

    use crate::engine::{Host, Scene};

    /// A history of `{role, content, metadata?}` as the scene has it.
    pub(crate) fn history(messages: &Json) -> Json {
        let messages = messages.as_array().into_iter().flatten().enumerate();
        messages
            .map(|(n, m)| json!({ "id": format!("history-{n}"), "role": m["role"], "text": m["content"], "meta": m["metadata"] }))
            .collect()
    }

    /// Blocks as `{role, content}`.
    pub(crate) fn messages<'a>(blocks: impl IntoIterator<Item = &'a Json>) -> Json {
        blocks.into_iter().map(|b| json!({ "role": b["role"], "content": b["text"] })).collect()
    }

    /// Injections as they are registered; their filters become conditions or functions of the application.
    pub(crate) fn injections(entries: &Json, scene: &mut Scene) -> Json {
        let mut out = Vec::new();
        for entry in entries.as_array().into_iter().flatten() {
            let mut entry = entry.clone();
            if let Some(filter) = entry.get("filter").filter(|f| !f.is_null()).cloned() {
                set(&mut entry, "filter", self::filter(&filter, scene));
            }
            out.push(entry);
        }
        Json::Array(out)
    }

    fn filter(filter: &Json, scene: &mut Scene) -> Json {
        if let Some(when) = filter.get("when") {
            return condition(when);
        }
        let (throws, returns) = (filter["throws"].as_str().map(str::to_owned), filter["returns"].clone());
        host(scene, Box::new(move || throws.clone().map_or_else(|| Ok(returns.clone()), Err)))
    }

    /// Offers a function to the rules; what refers to it.
    pub(crate) fn host(scene: &mut Scene, function: Host) -> Json {
        let name = format!("filter_{}", scene.hosts.len());
        scene.hosts.push((name.clone(), function));
        json!({ "host": name })
    }

    /// A condition `{path, op, value}`, its path as the scene names it.
    pub(crate) fn condition(when: &Json) -> Json {
        let mut when = when.clone();
        let path = when["path"].as_str().unwrap_or("");
        let path = PATHS.iter().find(|(theirs, _)| *theirs == path).map_or(path, |(_, ours)| *ours).to_owned();
        set(&mut when, "path", json!(path));
        when
    }

    /// Contract path = scene path, where they differ.
    const PATHS: &[(&str, &str)] = &[
        ("generation_type", "type"),
        ("character", "card"),
        ("character.name", "names.char"),
        ("user.name", "names.user"),
        ("user.persona", "persona.text"),
    ];

    /// Sets a field of an object.
    pub(crate) fn set(object: &mut Json, key: &str, value: Json) {
        if let Json::Object(map) = object {
            map.insert(key.to_owned(), value);
        }
    }

    /// Sets a value along a path of objects, which are made where they are missing.
    pub(crate) fn put(object: &mut Json, path: &str, value: Json) {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        if !object.is_object() {
            *object = Json::Object(Map::new());
        }
        let Json::Object(map) = object else { return };
        match rest {
            Some(rest) => put(map.entry(first).or_insert(Json::Null), rest, value),
            None => {
                map.insert(first.to_owned(), value);
            }
        }
    }

    /// Lays a part of a scene over a scene, table by table.
    pub(crate) fn lay(scene: &mut Json, part: Json) {
        match (scene, part) {
            (Json::Object(scene), Json::Object(part)) => {
                for (key, value) in part {
                    lay(scene.entry(key).or_insert(Json::Null), value);
                }
            }
            (scene, part) => *scene = part,
        }
    }

    /// Copies the fields of `from` that are there, under the scene's names.
    pub(crate) fn copy(from: &Json, to: &mut Json, names: &[(&str, &str)]) {
        for (theirs, ours) in names {
            if let Some(value) = from.get(*theirs).filter(|v| !v.is_null()) {
                put(to, ours, value.clone());
            }
        }
    }

    /// The word behind a number of a foreign form, which may be written as text.
    pub(crate) fn code(value: &Json, words: &[&str]) -> Json {
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let at = number.and_then(|n| usize::try_from(n).ok());
        at.and_then(|n| words.get(n)).map_or_else(|| value.clone(), |word| json!(word))
    }
}

/// Kind `sillytavern-chat-request`: the request that the real program makes of a preset file, up to the provider.
///
/// The page's part and the server's part are one recording: `preset` is the file, `expected` what left the server.
pub(super) mod chat_request {
    use serde_json::{Value as Json, json};

    use crate::adapters::cards;
    use crate::adapters::wire::parts;
    use crate::case::{Case, Check};
    use crate::engine;
    use crate::engine::EXACT;

    /// The sources that have a dialect of their own; all others speak chat completions.
    const DIALECTS: &[(&str, &str)] = &[
        ("claude", "claude"),
        ("makersuite", "google"),
        ("vertexai", "google"),
        ("mistralai", "mistral"),
        ("cohere", "cohere"),
        ("ai21", "ai21"),
        ("xai", "xai"),
        ("deepseek", "deepseek"),
        ("openrouter", "openrouter"),
    ];

    /// A whole request of a preset: where it goes, and its body.
    pub(crate) fn recorded(case: &Case) -> Vec<Check> {
        let source = case.input["preset"]["chat_completion_source"].as_str().unwrap_or("");
        let dialect = DIALECTS.iter().find(|(name, _)| *name == source).map_or("openai", |(_, dialect)| *dialect);
        let sent = scene(&case.input).and_then(|scene| engine::emit_request(EXACT, scene, super::items(&case.input["messages"]), dialect));
        let actual = match sent {
            Ok(sent) => json!({ "url": sent["request"]["url"], "body": sent["payload"] }),
            Err(error) => error,
        };
        vec![case.check(actual, super::fits)]
    }

    /// The scene of a preset file: what the file says, and what stands beside it.
    fn scene(input: &Json) -> Result<Json, Json> {
        let mut data = cards::preset(EXACT, &input["preset"])?;
        parts::put(&mut data, "type", input.get("type").cloned().unwrap_or_else(|| json!("normal")));
        let names = [
            ("stop", "provider.stop"),
            ("key", "provider.key"),
            ("tools", "provider.tools"),
            ("logprobs", "provider.logprobs"),
            ("prefill", "preset.prefill"),
        ];
        parts::copy(input, &mut data, &names);
        Ok(data)
    }
}
