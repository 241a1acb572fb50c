//! Templates as their authors write them: what is refused and where, what is let pass, and what is remarked on.
//!
//! Each row of `tests/authoring/*.json` changes one template that nothing is wrong with, and says what comes of it.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::PathBuf;

use serde_json::{Value as Json, json};
use tapster::diag::{Code, Diagnostic, Severity};
use tapster::machinery::pack::library::shipped_names;
use tapster::machinery::pack::{Overlay, PackFiles, PackShelf, RuleFile, Start};
use tapster::template::{TemplateContract, form};
use tapster::{OpenedTemplate, PackError, Ruleset};

const SOURCES: [&str; 3] = ["turns", "weather", "name"];

/// A template that nothing is wrong with.
fn sound() -> Json {
    json!({
        "id": "t", "task": "demo", "name": "T", "version": 1,
        "layout": [{ "kind": "message", "role": "system", "content": "Hello." },
                   { "kind": "slot", "name": "a", "header": { "role": "system", "content": "Before." }, "footer": [] }],
        "slots": { "a": { "priority": 0, "plan": [
            { "kind": "message", "role": "user", "from": { "source": "weather" } },
            { "kind": "forEach", "source": { "source": "turns" }, "map": [{ "kind": "message", "role": "user", "content": "{{item}}" }] },
            { "kind": "if", "when": { "type": "eq", "ref": { "source": "name" }, "value": "x" }, "then": [] },
        ] } },
    })
}

/// Puts `value` at a dotted path; `null` in the table of changes is written `"null"`, and takes the key away otherwise.
fn change(template: &mut Json, path: &str, value: &Json) {
    let (parent, key) = path.rsplit_once('.').map_or(("", path), |(p, k)| (p, k));
    let pointer = if parent.is_empty() { String::new() } else { format!("/{}", parent.replace('.', "/")) };
    let at = template.pointer_mut(&pointer).unwrap_or_else(|| panic!("there is no {parent}"));
    match (at, value) {
        (Json::Array(list), value) => match key.parse::<usize>() {
            Ok(n) if n < list.len() => list[n] = value.clone(),
            _ => list.push(value.clone()),
        },
        (Json::Object(table), Json::Null) => {
            table.remove(key).unwrap_or_else(|| panic!("there is no {path}"));
        }
        (Json::Object(table), value) => {
            table.insert(key.to_owned(), if *value == json!("null") { Json::Null } else { value.clone() });
        }
        _ => panic!("{parent} holds nothing"),
    }
}

fn open_text(text: &str, asked: &TemplateContract<'_>) -> Result<OpenedTemplate, PackError> {
    tapster::open_template(&RuleFile { name: "t.json".into(), path_in_pack: "t.json".into(), bytes: text.into() }, asked)
}

fn open(template: &Json) -> Result<OpenedTemplate, PackError> {
    open_text(&template.to_string(), &TemplateContract { task: Some("demo"), sources: Some(&SOURCES), ..TemplateContract::default() })
}

/// `code message` of each complaint.
fn told(complaints: &[Diagnostic]) -> Vec<String> {
    complaints.iter().map(|d| format!("{} {}", d.code.as_str(), d.message)).collect()
}

fn rows(text: &str) -> Vec<(String, Json, Json)> {
    let rows: Vec<Json> = serde_json::from_str(text).unwrap();
    let all = rows.into_iter().map(|row| {
        let mut template = sound();
        row["with"].as_object().unwrap().iter().for_each(|(path, value)| change(&mut template, path, value));
        (row["with"].to_string(), template, row)
    });
    all.collect()
}

fn texts(list: &Json) -> Vec<&str> {
    list.as_array().map(|l| l.iter().map(|t| t.as_str().unwrap()).collect()).unwrap_or_default()
}

#[test]
fn a_sound_template_is_sound() {
    let opened = open(&sound()).unwrap();
    assert!(opened.warnings.is_empty(), "{:?}", told(opened.warnings.items()));
}

#[test]
fn the_example_of_the_page_is_sound() {
    let text = include_str!("../authoring/note.toml");
    let file = RuleFile { name: "note.toml".into(), path_in_pack: "note.toml".into(), bytes: text.into() };
    let opened = tapster::open_template(
        &file,
        &TemplateContract { task: Some("letter"), sources: Some(&["turns", "weather"]), ..TemplateContract::default() },
    )
    .unwrap();
    assert!(opened.warnings.is_empty(), "{:?}", told(opened.warnings.items()));
    assert_eq!(opened.template.order.iter().map(|n| &*opened.template.slots[*n].name).collect::<Vec<_>>(), ["weather", "history"]);
}

#[test]
fn what_breaks_the_schema_is_refused_at_its_path() {
    let mut wrong = Vec::new();
    for (name, template, row) in rows(include_str!("../authoring/refused.json")) {
        let said = match open(&template) {
            Ok(_) => vec!["nothing".to_owned()],
            Err(rejected) => {
                let errors = rejected.report.items().iter().filter(|d| d.severity == Severity::Error);
                assert!(errors.clone().all(|d| d.code.as_str().starts_with("schema.") && d.help.is_some() && d.span.is_some()), "{name}");
                errors.map(|d| d.message.split('`').nth(1).unwrap_or("").to_owned()).collect()
            }
        };
        if said != texts(&row["at"]) {
            wrong.push(format!("{name}: {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_only_odd_is_let_pass_and_remarked_on() {
    let mut wrong = Vec::new();
    for (name, template, row) in rows(include_str!("../authoring/odd.json")) {
        let warned = match open(&template) {
            Ok(opened) => opened.warnings,
            Err(rejected) => {
                wrong.push(format!("{name}: {rejected}"));
                continue;
            }
        };
        assert!(warned.items().iter().all(|d| d.severity == Severity::Warning && d.help.is_some() && d.span.is_some()), "{name}");
        let said = told(warned.items());
        let wanted = texts(&row["says"]);
        if said.len() != wanted.len() || !wanted.iter().all(|w| said.iter().any(|s| s.contains(w))) {
            wrong.push(format!("{name}: {said:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_mistakes_are_told_in_one_round() {
    let refused = |changes: &[(&str, Json)]| {
        let mut template = sound();
        changes.iter().for_each(|(path, value)| change(&mut template, path, value));
        told(open(&template).unwrap_err().report.items()).join("; ")
    };
    let source = ("slots.a.when", json!({ "type": "exists", "ref": { "source": "wether" } }));
    let slot = ("layout.1.name", json!("b"));
    let prefix = ("layout.0.prefix", json!(true));
    let version = ("version", json!(2));
    let task = ("task", json!("other"));
    let all = refused(&[source.clone(), slot.clone(), prefix.clone(), version, task]);
    let said = ["`version`", "`task` is `other`", "non-existent slot, `b`", "`prefix` is for role", "unknown source: `wether`"];
    assert!(said.iter().all(|said| all.contains(said)), "{all}");
    let all = refused(&[source, slot.clone(), prefix.clone()]);
    assert!(all.contains("template.source unknown source: `wether`") && all.contains("template.structure"), "{all}");
    let all = refused(&[slot, prefix.clone()]);
    assert!(all.contains("non-existent slot, `b`") && all.contains("prefix"), "{all}");
    assert!(refused(&[prefix]).contains("role `system` at `layout[0]`"));
}

#[test]
fn one_complaint_names_all_unknown_sources_with_suggestions() {
    let mut template = sound();
    for (path, name) in
        [("layout.0.from", "wether"), ("layout.1.header.from", "Name"), ("slots.a.plan.1.source", "turn"), ("layout.0.from", "wether")]
    {
        change(&mut template, path, &json!({ "source": name }));
    }
    let report = open(&template).unwrap_err().report;
    let errors: Vec<&Diagnostic> = report.items().iter().filter(|d| d.severity == Severity::Error).collect();
    let [complaint] = *errors else { panic!("{:?}", told(report.items())) };
    assert_eq!(complaint.message, "unknown sources: `Name`, `turn`, `wether`");
    assert_eq!(complaint.help.as_deref(), Some("`name` for `Name`? `turns` for `turn`? `weather` for `wether`?"));
    assert_eq!(complaint.related.len(), 2);
    // with no list nothing is checked; an empty one leaves the reserved names
    assert!(open_text(&template.to_string(), &TemplateContract::default()).is_ok());
    let none = open_text(&sound().to_string(), &TemplateContract { sources: Some(&[]), ..TemplateContract::default() }).unwrap_err();
    assert!(none.to_string().contains("unknown sources: `name`, `turns`, `weather`"), "{none}");
}

#[test]
fn a_breadcrumb_leads_to_a_prefix_of_another_role() {
    for (path, crumb) in [
        ("layout.0", "layout[0]"),
        ("layout.1.header", "layout[1].header[0]"),
        ("slots.a.plan.0", "slots.a.plan[0]"),
        ("slots.a.plan.1.map.0", "slots.a.plan[1].forEach.map[0].plan[0]"),
    ] {
        let mut template = sound();
        change(&mut template, &format!("{path}.prefix"), &json!(true));
        let said = open(&template).unwrap_err().to_string();
        assert!(said.contains(&format!("at `{crumb}`")), "{said}");
        change(&mut template, &format!("{path}.role"), &json!("assistant"));
        assert!(open(&template).is_ok());
        // the later revision does not know the flag
        change(&mut template, &format!("{path}.role"), &json!("user"));
        change(&mut template, "revision", &json!("head"));
        assert!(open(&template).is_ok());
    }
}

#[test]
fn slots_have_the_order_of_javascript() {
    let text = r#"{ "id": "t", "task": "demo", "name": "T", "version": 1.0, "layout": [], "slots": {
        "b": {"priority": 1, "plan": []}, "10": {"priority": 1, "plan": []}, "a": {"priority": 0.0, "plan": []}, "01": {"priority": 1, "plan": []},
        "2": {"priority": 1, "plan": []}, "4294967295": {"priority": 1, "plan": []}, "b": {"priority": 1, "plan": []} } }"#;
    let opened = open_text(text, &TemplateContract::default()).unwrap();
    let names: Vec<&str> = opened.template.slots.iter().map(|slot| &*slot.name).collect();
    assert_eq!(names, ["2", "10", "b", "a", "01", "4294967295"]);
    assert_eq!(&*opened.template.order, [3, 0, 1, 2, 4, 5], "by priority, ties as they stand");
}

#[test]
fn of_a_slot_that_is_written_twice_the_later_counts_and_both_are_shown() {
    let text = sound().to_string();
    let twice = text.replacen(r#""slots":{"#, r#""slots":{"a":{"priority":9,"plan":[]},"#, 1);
    assert_ne!(text, twice);
    let opened = open_text(&twice, &TemplateContract::default()).unwrap();
    assert_eq!(opened.template.slots[0].priority, 0);
    let [warning] = opened.warnings.items() else { panic!("{:?}", told(opened.warnings.items())) };
    assert_eq!((warning.code.known(), warning.severity), (Some(Code::SyntaxDuplicate), Severity::Warning));
    assert!(warning.message.contains("`a`") && warning.related.len() == 1);
}

#[test]
fn both_revisions_have_one_form() {
    let mut template = sound();
    change(&mut template, "layout.0.when", &json!([]));
    change(&mut template, "attachments", &json!([{ "id": "l", "order": -1.0, "reserveTokens": 2.5, "groups": [{ "match": "(" }] }]));
    change(&mut template, "slots.a.plan.1.interleave", &json!({ "kind": "separator", "text": "--" }));
    change(&mut template, "slots.a.plan.1.stopWhenOutOfBudget", &json!(false));
    let each = |opened: &OpenedTemplate| match &opened.template.slots[0].plan[1] {
        form::SlotNode::Each(each) => (each.separator.is_some(), each.stops),
        other => panic!("{other:?}"),
    };
    let base = open(&template).unwrap();
    assert_eq!((&*base.template.revision.name, base.template.lanes.len(), each(&base)), ("base", 0, (true, false)));
    let head = open_text(&template.to_string(), &TemplateContract { revision: Some("head"), ..TemplateContract::default() }).unwrap();
    assert_eq!((&*head.template.revision.name, each(&head)), ("head", (false, true)));
    let lane = &head.template.lanes[0];
    assert_eq!((lane.order, lane.reserve, lane.enabled), (Some(-1), Some(3), None));
    // what a file says itself wins
    change(&mut template, "revision", &json!("base"));
    let said = open_text(&template.to_string(), &TemplateContract { revision: Some("head"), ..TemplateContract::default() }).unwrap();
    assert_eq!(&*said.template.revision.name, "base");
}

#[test]
fn templates_of_a_pack_are_rows_that_layers_patch() {
    let head = r#"kind = "pack"
version = 1
release = "1.0.0"
"#;
    let low = PackFiles::of("low", [
        ("pack.toml".to_owned(), format!("{head}name = \"low\"\nextends = [\"base\"]\n").into_bytes()),
        ("task.toml".to_owned(), b"kind = \"task\"\nversion = 1\n[[task]]\nname = \"demo\"\n[[source]]\nname = \"demo/weather\"\n[[source]]\nname = \"demo/name\"\n[[source]]\nname = \"demo/turns\"\n".to_vec()),
        ("templates/t.json".to_owned(), sound().to_string().into_bytes()),
    ]);
    let of = |file: &str, text: &str| {
        let files = [
            ("pack.toml".to_owned(), format!("{head}name = \"high\"\nextends = [\"low\"]\n").into_bytes()),
            (file.to_owned(), text.as_bytes().to_vec()),
        ];
        let high = PackFiles::of("high", files);
        Ruleset::load(&Start::Name("high".into()), &[], &Packs(vec![low.clone(), high]))
    };
    let whole = of("x.toml", "kind = \"slots\"\nversion = 1\n").unwrap();
    assert_eq!((whole.templates().len(), &*whole.templates()["t"].name), (1, "T"));

    // a file that holds some keys is laid over the lower one
    let named = of("templates/t.toml", "kind = \"template\"\nid = \"t\"\nname = \"Patched\"\n").unwrap();
    assert_eq!((&*named.templates()["t"].name, named.templates()["t"].slots.len()), ("Patched", 1));

    // so is a row of an overlay, and the merged template is what is checked
    let slots = "kind = \"overlay\"\nversion = 1\n[[template]]\nname = \"t\"\nslots = { b = { priority = -1, plan = [] } }\n";
    let overlay = Overlay::File(RuleFile { name: "o.toml".into(), path_in_pack: "o.toml".into(), bytes: slots.into() });
    let refused = Ruleset::load(&Start::Name("low".into()), &[overlay], &Packs(vec![low.clone()])).err().unwrap();
    let said = told(refused.report.items());
    assert!(said.contains(&"schema.value `slots.b.priority` must be at least 0".to_owned()), "{said:?}");
    assert!(refused.to_string().contains("o.toml:5:"), "{refused}");

    let gone = of("o.toml", "kind = \"template\"\nid = \"t\"\nremove = true\n").unwrap();
    assert!(gone.templates().is_empty());

    // a file alone must be whole but for its title, and its sources are those of its task
    let lone = of("templates/u.toml", "kind = \"template\"\nid = \"u\"\ntask = \"demo\"\n").err().unwrap();
    let missing = ["`version` is missing", "`layout` is missing", "`slots` is missing"];
    assert_eq!(told(lone.report.items()).get(..3), Some(missing.map(|m| format!("schema.missing_key {m}")).as_slice()));
    let lint = of(
        "templates/t.toml",
        "kind = \"template\"\nid = \"t\"\nlayout = [{ kind = \"message\", role = \"user\", from = { source = \"wether\" } }]\n",
    );
    let lint = lint.err().unwrap();
    let complaint = lint.report.items().iter().find(|d| d.code == Code::TemplateSource).unwrap();
    assert_eq!((complaint.message.as_str(), complaint.help.as_deref()), ("unknown source: `wether`", Some("did you mean `weather`?")));
    assert!(lint.to_string().contains("templates/t.toml:3:"), "{lint}");
    let nameless = of("templates/t.toml", "kind = \"template\"\nname = \"x\"\n").err().unwrap().to_string();
    assert!(nameless.contains("a template has no `id`"), "{nameless}");
}

/// The packs of a test, before those that ship.
struct Packs(Vec<PackFiles>);

impl tapster::machinery::pack::PackLibrary for Packs {
    fn find(&self, name: &str, report: &mut tapster::diag::Report) -> Option<PackFiles> {
        self.0.iter().find(|p| p.name == name).cloned().or_else(|| PackShelf::default().find(name, report))
    }

    fn names(&self) -> Vec<String> {
        PackShelf::default().names()
    }
}

/// Large and deep files: each must be read in time about linear, whatever comes of it.
#[test]
fn hostile_templates_are_bounded() {
    let file =
        |slots: &str, layout: &str| format!(r#"{{"id":"t","task":"d","name":"n","version":1,"layout":[{layout}],"slots":{{{slots}}}}}"#);
    let slot = |n: usize, plan: &str| format!(r#""s{n}":{{"priority":{n},"plan":[{plan}]}}"#);
    let many = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(",");
    let deep = |levels: usize| {
        format!("{}{}", r#"{"kind":"if","when":{"type":"exists","ref":{"source":"x"}},"then":["#.repeat(levels), "]}".repeat(levels))
    };
    let message = r#"{"kind":"message","role":"user","content":"{{a.b}} and so on"}"#;
    let odd = r#"{"kind":"message","role":"userr","contents":1,"from":{"source":"y"},"budget":{"maxTokens":1}}"#;
    for (name, text, sound) in [
        ("slots", file(&many(20_000, &|n| slot(n, message)), ""), true),
        ("messages", file(&slot(1, &many(20_000, &|_| message.to_owned())), ""), true),
        (
            "unknown sources",
            file(&slot(1, &many(10_000, &|n| format!(r#"{{"kind":"message","role":"user","from":{{"source":"y{n}"}}}}"#))), ""),
            false,
        ),
        ("mistakes", file(&slot(1, &many(10_000, &|_| odd.to_owned())), ""), false),
        (
            "unknown keys",
            file(
                &slot(1, message),
                &format!(r#"{{"kind":"message","role":"user","content":"x",{}}}"#, many(20_000, &|n| format!(r#""k{n}":0"#))),
            ),
            true,
        ),
        ("levels", file(&slot(1, &deep(60)), ""), false),
        ("too many levels", file(&slot(1, &deep(5_000)), ""), false),
        ("tags", file(&slot(1, &format!(r#"{{"kind":"message","role":"user","content":"{}"}}"#, "{{a}}".repeat(50_000))), ""), true),
    ] {
        let opened = open_text(&text, &TemplateContract { sources: Some(&[]), ..TemplateContract::default() });
        assert_eq!(opened.is_ok(), sound, "{name}");
        let count = opened.map_or_else(|rejected| rejected.report.items().len(), |opened| opened.warnings.items().len());
        assert!(count <= 250, "{name}: {count}");
    }
}

#[test]
fn a_template_of_ten_megabytes_is_refused_before_it_is_read() {
    let file = std::env::temp_dir().join(format!("tapster-{}-large.json", std::process::id()));
    std::fs::write(&file, " ".repeat(10 << 20)).unwrap();
    let (doc, report, _) = tapster::machinery::pack::load_file(&file, tapster::machinery::pack::Schemas::shipped());
    std::fs::remove_file(&file).unwrap();
    assert!(doc.is_none());
    assert_eq!(report.items().iter().map(|d| d.code.clone()).collect::<Vec<_>>(), [Code::FileTooLarge]);
}

// What `tapster new` writes is checked without a remark, over every shipped pack.

fn tapster(args: &[&str]) -> (u8, String) {
    let (exit, out, err) = crate::support::tapster(args);
    (exit, out + err.as_str())
}

#[test]
fn what_is_new_has_no_mistakes_over_any_shipped_pack() {
    let folder: PathBuf = std::env::temp_dir().join(format!("tapster-new-{}", std::process::id()));
    let to = folder.display().to_string();
    for base in shipped_names() {
        let name = format!("my-{base}");
        for args in [["new", "pack", &name, "--extends", &base, "--to", &to], ["new", "overlay", &name, "--extends", &base, "--to", &to]] {
            let (exit, told) = tapster(&args);
            assert_eq!(exit, 0, "{told}");
        }
        let pack = format!("{to}/{name}");
        for args in [["new", "rule", "tone", "--to", &pack], ["new", "hook", "shorten-it", "--to", &pack]] {
            assert_eq!(tapster(&args).0, 0);
        }
        let (exit, told) = tapster(&["check", &pack, &format!("{pack}.toml"), "--error-format", "plain"]);
        // remarks about the shipped pack itself are not about what is new
        let own: Vec<&str> = told.lines().filter(|line| line.starts_with(&to)).collect();
        assert_eq!((exit, own), (0, Vec::new()), "{base}: {told}");
        let (exit, told) = tapster(&["test", &pack]);
        assert_eq!((exit, told.as_str()), (0, "1 passed, 0 failed\n"), "{base}");
        let (exit, told) = tapster(&["fmt", "--check", &pack, &format!("{pack}.toml")]);
        assert_eq!(exit, 0, "{base}: {told}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A template shows every source of its task, and a rule test in the folder of a pack is one of that pack.
#[test]
fn a_new_template_and_a_new_case_have_no_mistakes() {
    let folder: PathBuf = std::env::temp_dir().join(format!("tapster-new-template-{}", std::process::id()));
    let to = folder.display().to_string();
    let done = |args: &[&str], says: &str| {
        let (exit, told) = tapster(args);
        assert_eq!(exit, 0, "{told}");
        assert!(told.contains(says), "{told}");
    };
    done(&["new", "template", "greeting", "--to", &to], "greeting.json");
    done(&["check", &format!("{to}/greeting.json")], "0 errors, 0 warnings");
    done(&["new", "pack", "mine", "--to", &to], "mine/cases/first.toml");
    let pack = format!("{to}/mine");
    done(&["new", "case", "second", "--to", &pack], "cases/second.toml");
    done(&["test", &pack], "2 passed, 0 failed");
    let case = std::fs::read_to_string(format!("{pack}/cases/second.toml")).unwrap();
    assert!(!case.contains("pack ="), "{case}");
    std::fs::remove_dir_all(&folder).unwrap();
}
