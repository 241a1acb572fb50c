//! Tasks through the public door: what their sources give a template in a build, and what a mistake becomes.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::{BuildError, ErrorKind, Plan, Ruleset, Scene, Value, build};

/// A template of one slot with this plan.
fn template(task: &str, revision: &str, plan: &Json) -> Json {
    json!({ "id": "t", "task": task, "name": "T", "version": 1, "revision": revision,
        "layout": [{ "kind": "slot", "name": "s" }], "slots": { "s": { "priority": 0, "plan": plan } } })
}

fn built_with(overlays: &[(&str, &str)], scene: &Json) -> Result<Plan, BuildError> {
    let rules = Ruleset::open_with("storyforge", overlays).unwrap_or_else(|rejected| panic!("{rejected}"));
    build(&rules, &Scene { data: Value::from(scene), ..Scene::default() })
}

fn built(template: &Json, data: &Json) -> Plan {
    built_with(&[("t.json", &template.to_string())], &json!({ "template": "t", "data": data })).unwrap()
}

/// The texts of the blocks, joined.
fn text(plan: &Plan) -> String {
    let texts: Vec<String> = plan.blocks.iter().map(|b| b.fields.get("text").unwrap().to_text().to_string()).collect();
    texts.join("|")
}

/// A plan that says `yes` where a condition on a source holds, else `no`.
fn asks(kind: &str, source: &str, value: &Json) -> Json {
    let say = |word: &str| json!([{ "kind": "message", "role": "user", "content": word }]);
    let mut when = json!({ "type": kind, "ref": { "source": source } });
    if !value.is_null() || kind == "eq" {
        when["value"] = value.clone();
    }
    json!([{ "kind": "if", "when": when, "then": say("yes"), "else": say("no") }])
}

/// A plan that prints the numbers of the turns that a source gives for these arguments.
fn lists(source: &str, args: &Json) -> Json {
    json!([{ "kind": "forEach", "source": { "source": source, "args": args },
        "map": [{ "kind": "message", "role": "user", "content": "{{item.turnNo}}{{item.chapterNumber}}" }] }])
}

#[test]
fn null_is_not_nothing() {
    let plan = asks("eq", "currentIntent", &Json::Null);
    let of = |data: Json| text(&built(&template("turn_generation", "base", &plan), &data));
    assert_eq!(of(json!({ "currentIntent": null })), "yes");
    assert_eq!(of(json!({})), "no");
    let key = json!([{ "kind": "if", "when": { "type": "eq", "ref": { "source": "stepOutput", "args": { "key": "k" } }, "value": null },
        "then": [{ "kind": "message", "role": "user", "content": "null" }] }]);
    let of = |data: Json| text(&built(&template("writing_assistant", "base", &key), &data));
    assert_eq!(of(json!({ "stepOutputs": { "k": null } })), "null");
    assert_eq!(of(json!({ "stepOutputs": {} })), "");
}

#[test]
fn an_answer_that_the_assistant_has_begun_is_to_go_on() {
    let of = |revision: &str, role: &str| {
        let plan = json!([{ "kind": "message", "role": role, "content": "Well," }]);
        built(&template("writing_assistant", revision, &plan), &json!({})).set.at("plan.prefill").map(Value::to_json)
    };
    assert_eq!(of("head", "assistant"), Some(json!("required")));
    assert_eq!((of("head", "user"), of("base", "assistant")), (None, None));
}

#[test]
fn a_list_that_is_not_there_is_a_warning() {
    let plan = built(&template("turn_generation", "base", &lists("turns", &json!({}))), &json!({}));
    let codes: Vec<&str> = plan.warnings.iter().map(|w| w.code.as_str()).collect();
    assert_eq!(codes, ["template.data"]);
    // nothing is to be done with the roster, so nothing fails
    let plan = built(&template("turn_generation", "base", &lists("characters", &json!({}))), &json!({}));
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

#[test]
fn conditions_of_the_rule_language_read_sources_as_values() {
    let say = |word: &str| json!([{ "kind": "message", "role": "user", "content": word }]);
    let of = |when: Json, data: Json| {
        let plan = json!([{ "kind": "if", "when": when, "then": say("yes"), "else": say("no") }]);
        text(&built(&template("turn_generation", "base", &plan), &data))
    };
    let turns = |n: usize| json!({ "turns": vec![json!({ "turnNo": 1 }); n] });
    let many = json!({ "turns.count": { "ge": 2 }, "characters": { "exists": false } });
    assert_eq!((of(many.clone(), turns(2)), of(many, turns(1))), ("yes".to_owned(), "no".to_owned()));
    // `globals` is the source of the task, and `ctx` is the whole context; `$` is the scene
    let any = json!({ "any": [{ "globals.char": "Bo" }, { "ctx.mood": { "matches": "/^ang/" } }, { "$template": "u" }] });
    assert_eq!(of(any.clone(), json!({ "globals": { "char": "Bo" } })), "yes");
    assert_eq!(of(any.clone(), json!({ "globals": { "char": "Al" }, "mood": "angry" })), "yes");
    assert_eq!(of(any, json!({ "globals": { "char": "Al" }, "mood": "calm" })), "no");
}

#[test]
fn conditions_of_the_rule_language_read_the_items_of_loops() {
    let lines = json!([{ "kind": "forEach", "source": { "source": "turns" }, "map": [
        { "kind": "message", "role": "user", "content": "{{item.turnNo}}", "when": [
            { "item.turnNo": { "ge": "@index" }, "not": { "item.content": "cut" } },
            { "type": "exists", "ref": { "source": "$item", "args": { "path": "turnNo" } } },
        ] },
    ] }]);
    let data = json!({ "turns": [{ "turnNo": 3 }, { "turnNo": 2, "content": "cut" }, { "turnNo": 2 }, { "turnNo": 4 }, {}] });
    let done = built(&template("turn_generation", "head", &lines), &data);
    assert_eq!(text(&done), "4\n2");
    let slot = json!({ "id": "t", "task": "turn_generation", "name": "T", "version": 1, "layout": [{ "kind": "slot", "name": "s" }],
        "slots": { "s": { "priority": 0, "when": { "turns": { "nonempty": true } },
            "plan": [{ "kind": "message", "role": "user", "content": "x" }] } } });
    assert_eq!((text(&built(&slot, &data)), text(&built(&slot, &json!({ "turns": [] })))), ("x".to_owned(), String::new()));
}

#[test]
fn a_condition_of_the_rule_language_needs_a_pack() {
    let mut alone = template("t", "base", &json!([{ "kind": "message", "role": "user", "content": "x" }]));
    alone["slots"]["s"]["when"] = json!({ "turns": { "nonempty": true } });
    let file = tapster::RuleFile { name: "t.json".into(), path_in_pack: "t.json".into(), bytes: alone.to_string().into_bytes() };
    let opened =
        tapster::open_template(&file, &tapster::template::TemplateContract::default()).unwrap_or_else(|rejected| panic!("{rejected}"));
    struct None;
    impl tapster::template::SourceProvider for None {
        fn resolve(&self, _: &str, _: Option<&Value>) -> Result<Option<Value>, String> {
            Ok(Option::None)
        }
    }
    let inputs = tapster::template::Inputs {
        context: &Value::Null,
        sources: &None,
        ruler: &tapster::template::QuarterRuler,
        lanes: &[],
        requests: &[],
        limits: tapster::template::RenderLimits::default(),
    };
    let error = tapster::template::render(&opened.template, &inputs, &mut tapster::template::Budget::new(Option::None)).unwrap_err();
    assert_eq!(error.at, "slots.s.when");
    assert!(error.to_string().contains("only a build of a pack"), "{error}");
}

#[test]
fn each_revision_has_sources_of_its_own() {
    let turns: Vec<Json> = [(1, 1), (2, 1), (3, 2), (4, 3)].iter().map(|(n, c)| json!({ "turnNo": n, "chapterNumber": c })).collect();
    let data = json!({ "turns": turns });
    let of = |revision: &str, args: Json| text(&built(&template("turn_generation", revision, &lists("turns", &args)), &data));
    assert_eq!(of("base", json!({ "order": "asc", "limit": 2 })), "11\n21");
    assert_eq!(of("head", json!({ "order": "asc", "limit": 2 })), "43\n32\n21\n11");
    assert_eq!(of("head", json!({ "chapterWindow": { "startOffset": -1 } })), "43\n32");
    assert_eq!(of("head", json!({ "chapterWindow": { "startOffset": 0, "minTurns": 2 }, "start": 1 })), "43");
}

#[test]
fn summaries_come_in_the_order_of_their_chapters() {
    let summaries = json!({ "chapterSummaries": [{ "chapterNumber": 2 }, { "chapterNumber": 1 }, { "chapterNumber": 3 }] });
    let of = |revision: &str, source: &str, args: Json| {
        text(&built(&template("chapter_summarization", revision, &lists(source, &args)), &summaries))
    };
    assert_eq!(of("head", "chapterSummaries", json!({})), "3\n2\n1");
    assert_eq!(of("head", "chapterSummaries", json!({ "order": "asc" })), "1\n2\n3");
    assert_eq!(of("base", "previousSummaries", json!({ "limit": 2 })), "1\n3");
    assert_eq!(of("base", "previousSummaries", json!({ "limit": 0 })), "2\n1\n3");
    let missing = built(&template("chapter_summarization", "base", &lists("previousSummaries", &json!({}))), &json!({}));
    assert_eq!(missing.warnings.len(), 1);
}

#[test]
fn lanes_of_a_task_print_lore_and_chapters() {
    let message = |content: &str| json!({ "kind": "message", "role": "user", "content": content });
    let plan = json!([{ "kind": "forEach", "source": { "source": "turns" }, "fillDir": "prepend", "map": [
        { "kind": "anchor", "key": "turn_{{item.turnNo}}_before" }, message("{{item.content}}"), { "kind": "anchor", "key": "turn_{{item.turnNo}}" },
    ] }]);
    let entry = |id: u32, key: &str, position: Json| json!({ "id": id, "keys": [key], "content": format!("lore {id}"), "enabled": true, "position": position });
    let book =
        |enabled: bool, entries: Json| json!({ "lorebookId": "l", "enabled": enabled, "data": { "token_budget": 40, "entries": entries } });
    let turn =
        |n: u32, chapter: u32, content: &str| json!({ "turnNo": n, "chapterNumber": chapter, "authorName": "A", "content": content });
    let data = json!({
        "turns": [turn(1, 1, "the gate"), turn(2, 2, "a lamp"), turn(3, 2, "a gull")],
        "chapters": [{ "chapterNumber": 1 }, { "chapterNumber": 2, "title": "Two" }],
        "lorebooks": [book(true, json!([entry(1, "lamp", json!("before_char")), entry(2, "gull", json!(1)), entry(3, "shoe", json!(1))])),
            book(false, json!([entry(4, "gull", json!("after_char"))]))],
    });
    let plan = built(&template("turn_generation", "head", &plan), &data);
    let expected = "## The world\n• lore 1\n## Chapter 1|the gate|## Chapter 2: Two|a lamp|[Lore]\n• lore 2\n[/Lore]|a gull";
    assert_eq!(text(&plan), expected);
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

const RECIPE: &str = r#"
kind = "task"
version = 1
[[task]]
name = "recipe"
[[source]]
name = "recipe/steps"
args = { tool = { type = "text", default = "pan" }, limit = "number" }
value = { of = "$data.steps", where = { meta = { ne = "" } }, get = "{{@text}} ({{@outer.tool}})" }
list = [{ limit = "limit" }]
"#;

#[test]
fn a_new_task_is_a_file() {
    let plan = json!([{ "kind": "forEach", "source": { "source": "steps", "args": { "limit": 2 } },
        "map": [{ "kind": "message", "role": "user", "content": "{{item}}" }] }]);
    let template = template("recipe", "base", &plan).to_string();
    let data = json!({ "steps": [{ "text": "chop", "meta": 1 }, { "text": "fry", "meta": 1 }, { "text": "eat", "meta": 1 }] });
    let plan = built_with(&[("recipe.toml", RECIPE), ("t.json", &template)], &json!({ "template": "t", "data": data })).unwrap();
    assert_eq!(text(&plan), "chop (pan)\nfry (pan)");
}

#[test]
fn mistakes_of_a_task_have_a_place() {
    let wrong = RECIPE
        .replace("@outer.tool", "@outer.tol")
        .replace("{ limit = \"limit\" }", "{ limit = \"limit\", by = \"id\" }, { zero = \"all\" }");
    let wrong = format!("{wrong}\n[[source]]\nname = \"recipee/more\"\nvalue = 1\n");
    let rejected = Ruleset::open_with("storyforge", &[("recipe.toml", &wrong)]).err().unwrap().to_string();
    for said in ["there is no argument `tol`", "recipe.toml:9:83"] {
        assert!(rejected.contains(said), "{said}:\n{rejected}");
    }
    let wrong = wrong.replace("@outer.tol", "@outer.tool");
    let rejected = Ruleset::open_with("storyforge", &[("recipe.toml", &wrong)]).err().unwrap().to_string();
    for said in ["`by` does not belong to `limit`", "this step of `list` says nothing to do", "there is no task `recipee`"] {
        assert!(rejected.contains(said), "{said}:\n{rejected}");
    }
    let undeclared = RECIPE.replace("{ limit = \"limit\" }", "{ limit = \"limt\" }");
    let rejected = Ruleset::open_with("storyforge", &[("recipe.toml", &undeclared)]).err().unwrap().to_string();
    for said in ["there is no argument `limt`", "recipe.toml:10:19"] {
        assert!(rejected.contains(said), "{said}:\n{rejected}");
    }
}

#[test]
fn a_budget_that_is_no_number_is_not_taken_for_none() {
    let t = ("t.json", &*template("turn_generation", "base", &json!([])).to_string());
    let overlay = "kind = \"overlay\"\nversion = 1\n[[pass]]\nname = \"build/render\"\nset = { \"$rendered\" = { fn = \"template\", of = \"t\", budget = \"$data.most\" } }";
    let with = |most: Json| built_with(&[t, ("o.toml", overlay)], &json!({ "template": "t", "data": { "most": most } }));
    assert!(with(json!("many")).unwrap_err().message.contains("must be a number of tokens, but is `many`"));
    assert!(with(json!(3)).is_ok() && with(Json::Null).is_ok());
}

#[test]
fn a_template_or_task_that_is_not_there_is_told() {
    let call = |scene: Json| built_with(&[("t.json", &template("turn_generation", "base", &json!([])).to_string())], &scene).unwrap_err();
    let unknown = call(json!({ "template": "tt" }));
    assert_eq!(unknown.kind(), &ErrorKind::Call);
    assert!(unknown.message.contains("did you mean `t`?"), "{}", unknown.message);
    let other = call(json!({ "template": "t", "task": "writing_assistant" }));
    assert!(other.message.contains("is written for task `turn_generation`"), "{}", other.message);
    let none = call(json!({}));
    assert_eq!(none.kind(), &ErrorKind::Call);
    let pass = "kind = \"overlay\"\nversion = 1\n[[pass]]\nname = \"build/more\"\ndo = \"set\"\nset = { \"$rendered\" = { fn = \"template\", of = \"nowhere\", budgt = 1 } }";
    let rejected = Ruleset::open_with("storyforge", &[("o.toml", pass)]).err().unwrap().to_string();
    for said in ["there is no template `nowhere`", "`budgt` does not belong to `template`"] {
        assert!(rejected.contains(said), "{said}:\n{rejected}");
    }
}

#[test]
fn work_on_sources_is_bounded() {
    let turns: Vec<Json> = (0..20_000).map(|n| json!({ "turnNo": n })).collect();
    let of = |loops: u32| {
        let plan: Vec<Json> = (0..loops).map(|n| lists("turns", &json!({ "start": n }))[0].clone()).collect();
        let template = template("turn_generation", "base", &json!(plan)).to_string();
        built_with(&[("t.json", &template)], &json!({ "template": "t", "max_tokens": 100, "data": { "turns": turns } }))
    };
    assert_eq!(of(50).unwrap().blocks.len(), 1);
    // each of these loops wants a list of its own
    assert_eq!(of(400).unwrap_err().kind(), &ErrorKind::Bound);
}

/// Checks which elements the steps of a source leave of a list, by their number `n`, for each table of arguments.
fn steps_leave(steps: &str, list: &Json, cases: &[(Json, &str)]) {
    let task = format!(
        r#"
kind = "task"
version = 1
[[task]]
name = "steps"
[[source]]
name = "steps/list"
args = {{ start = "number", end = "number", order = "text", limit = "number", window = "table" }}
value = "$data.list"
list = [{steps}]
"#
    );
    let message = |content: &str| json!({ "kind": "message", "role": "user", "content": content });
    let given = |args: &Json| json!({ "kind": "forEach", "source": { "source": "list", "args": args }, "map": [message("{{item.n}}")] });
    let plan: Vec<Json> = cases.iter().flat_map(|(args, _)| [message("then"), given(args)]).collect();
    let template = template("steps", "base", &json!(plan)).to_string();
    let plan = built_with(&[("steps.toml", &task), ("t.json", &template)], &json!({ "template": "t", "data": { "list": list } })).unwrap();
    let text = text(&plan).replace('|', "\n");
    let left: Vec<String> = text.split("then").skip(1).map(|left| left.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for ((args, expected), left) in cases.iter().zip(&left) {
        assert_eq!(left, expected, "{steps} of {list} with {args}");
    }
    assert_eq!(left.len(), cases.len());
}

/// Elements numbered from 1, in chapters of these numbers.
fn chapters(numbers: &[i64]) -> Json {
    (1..).zip(numbers).map(|(n, chapter)| json!({ "n": n, "chapter": chapter })).collect()
}

#[test]
fn windows_count_from_both_ends_and_grow() {
    let window = |wanted: Json| json!({ "window": wanted });
    let step = r#"{ window = "window", by = "chapter" }"#;
    steps_leave(
        step,
        &chapters(&[1, 1, 2, 2, 3, 3]),
        &[
            (json!({}), "1 2 3 4 5 6"),
            (window(json!({ "from": 0 })), "5 6"),
            (window(json!({ "from": -1 })), "3 4 5 6"),
            (window(json!({ "from": -1, "to": -1 })), "3 4"),
            (window(json!({ "from": 1, "to": 2 })), "1 2 3 4"),
            (window(json!({ "to": -9 })), "1 2"),
            (window(json!({ "from": 0, "to": -2 })), "1 2 3 4 5 6"),
            // group by group, to the least size
            (window(json!({ "from": 0, "least": 3 })), "3 4 5 6"),
            (window(json!({ "from": 1, "to": 1, "least": 3 })), "1 2 3 4"),
            (window(json!({ "from": 0, "least": 99 })), "1 2 3 4 5 6"),
            (window(json!({ "from": 3, "to": -1, "least": 5 })), "1 2 3 4 5 6"),
        ],
    );
    // a number without a group means the next one
    steps_leave(step, &chapters(&[1, 4, 5]), &[(window(json!({ "from": -2 })), "2 3")]);
    // there is nothing before the only group
    let before = [
        (window(json!({ "from": -2, "to": -1 })), ""),
        (window(json!({ "from": 0 })), "1 2"),
        (window(json!({ "from": -2, "to": -1, "least": 1 })), "1 2"),
    ];
    steps_leave(step, &chapters(&[3, 3]), &before);
    steps_leave(step, &chapters(&[]), &[(window(json!({ "from": 0 })), "")]);
}

#[test]
fn ranges_and_limits_are_cut_as_slices_are() {
    let three = chapters(&[1, 1, 1]);
    let ranges = [
        (json!({}), "1 2 3"),
        (json!({ "start": 1 }), "2 3"),
        (json!({ "start": -2 }), "2 3"),
        (json!({ "start": -9, "end": 99 }), "1 2 3"),
        (json!({ "end": 0 }), "1"),
        (json!({ "start": 2, "end": 0 }), ""),
        // the index before the first one counts from the end again
        (json!({ "end": -5 }), "1 2"),
        (json!({ "end": -4 }), ""),
    ];
    steps_leave(r#"{ range = ["start", "end"] }"#, &three, &ranges);
    let limit = |limit: Json| json!({ "limit": limit });
    let first = [
        (limit(json!(2)), "1 2"),
        (limit(json!(0)), ""),
        (limit(json!(1.9)), "1"),
        (limit(json!(-1)), "1 2"),
        (limit(json!("2")), "1 2 3"),
    ];
    steps_leave(r#"{ limit = "limit" }"#, &three, &first);
    steps_leave(r#"{ limit = "limit", least = 0 }"#, &three, &[(limit(json!(-1)), "")]);
    let last = [(limit(json!(2)), "2 3"), (limit(json!(0)), "1 2 3"), (limit(json!(0.5)), "1 2 3"), (limit(json!(-1)), "2 3")];
    steps_leave(r#"{ limit = "limit", from = "last", zero = "all" }"#, &three, &last);
}

#[test]
fn order_turns_round_or_sorts_by_a_field() {
    let turned = [(json!({ "limit": 2 }), "3 2"), (json!({ "order": "asc" }), "1 2 3"), (json!({ "order": null }), "1 2 3")];
    steps_leave(r#"{ order = "order", default = "desc" }, { limit = "limit" }"#, &chapters(&[1, 1, 1]), &turned);
    // stably, and elements without a number come last
    let list = json!([{ "n": 1, "by": 1 }, { "n": 2, "by": 3 }, { "n": 3 }, { "n": 4, "by": 3 }]);
    let sorted = [(json!({ "order": "asc" }), "1 2 4 3"), (json!({ "order": "desc" }), "2 4 1 3")];
    steps_leave(r#"{ order = "order", by = "by" }"#, &list, &sorted);
}
