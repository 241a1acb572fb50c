//! Leaf strings through their public door: what they print is a table, what they survive stands here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test stops at what is wrong")]

use serde_json::Value as Json;
use tapster::Value;
use tapster::machinery::text::leaf::{Leaf, LeafScope, LeafSyntax, PrintedLeaf, TooLong, path, same, value_text};

const MOST: usize = 1 << 20;

/// Renders as a template does: `item` hides all, `ctx` is the context, whose `globals` answer last.
fn render(leaf: &Leaf, context: &Value, item: Option<&Value>, most: usize) -> Result<PrintedLeaf, TooLong> {
    let root = context.as_map();
    let globals = root.and_then(|root| root.get("globals")).and_then(Value::as_map);
    let scope = LeafScope { over: &[("item", item)], root, under: &[("ctx", context)], globals };
    leaf.render(&scope, most)
}

fn value(json: &Json) -> Value {
    Value::from(json)
}

/// Compares, in so many steps at most.
fn alike(a: Option<&Value>, b: Option<&Value>) -> Result<bool, TooLong> {
    same(a, b, &mut (1 << 20))
}

#[test]
fn leaves_print_what_the_table_says() {
    let file = format!("{}/tests/text/leaves.json", env!("CHECKOUT"));
    let rows: Vec<Json> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(rows.len() > 50);
    let mut wrong = Vec::new();
    for row in rows {
        let syntax = if row["syntax"] == "head" { LeafSyntax::Expressions } else { LeafSyntax::Paths };
        let leaf = Leaf::compile(row["text"].as_str().unwrap(), syntax);
        let context = row.get("context").map_or_else(|| Value::map(<_>::default()), value);
        let printed = render(&leaf, &context, row.get("item").map(value).as_ref(), MOST).unwrap();
        if &*printed.text != row["prints"].as_str().unwrap() {
            wrong.push(format!("{} {}: printed {}", row["about"], row["text"], printed.text));
        }
        if row.get("produced").is_some_and(|produced| *produced != Json::Bool(printed.produced)) {
            wrong.push(format!("{}: produced {}", row["about"], printed.produced));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each of these holds a good tag too, which must not be printed.
#[test]
fn one_mistake_makes_a_text_of_expressions_literal() {
    let mistakes: Vec<String> = serde_json::from_str(include_str!("../text/leaf_mistakes.json")).unwrap();
    for mistake in mistakes {
        for text in [format!("{{{{a}}}} {mistake}"), format!("{mistake} {{{{a}}}}")] {
            let leaf = Leaf::compile(&text, LeafSyntax::Expressions);
            assert_eq!(&*render(&leaf, &value(&serde_json::json!({ "a": 1 })), None, MOST).unwrap().text, text);
            assert!(!leaf.has_tags(), "{text}");
        }
    }
}

#[test]
fn lengths_are_known_where_only_paths_are_printed() {
    let parts = |text: &str, syntax| {
        let leaf = Leaf::compile(text, syntax);
        leaf.parts().map(|(units, paths)| (units, paths.iter().map(|p| p.first().to_owned()).collect::<Vec<_>>()))
    };
    for syntax in [LeafSyntax::Paths, LeafSyntax::Expressions] {
        assert_eq!(parts("é🗼 {{item.a}}-{{b}}{{b}}", syntax), Some((5, vec!["item".into(), "b".into(), "b".into()])));
        assert_eq!(parts("é🗼", syntax), Some((3, vec![])));
    }
    assert_eq!(parts("{{ }}", LeafSyntax::Paths), None);
    assert_eq!(parts("{{ }}", LeafSyntax::Expressions), Some((5, vec![])), "it is literal");
    assert_eq!(parts("{{#if a}}b{{#endif}}", LeafSyntax::Expressions), None);
    assert_eq!(parts("{{!a}}", LeafSyntax::Expressions), None);
    assert_eq!(parts("{{'a'}}", LeafSyntax::Expressions), None);
}

#[test]
fn paths_walk_values_without_globals() {
    let context = value(&serde_json::json!({ "a": [{ "b": null }], "globals": { "x": 1 } }));
    assert_eq!(path("a[0].b").below(&context).as_deref(), Some(&Value::Null));
    assert_eq!(path("a.length").below(&context).as_deref(), Some(&Value::Int(1)));
    assert_eq!(path("x").below(&context), None);
    assert_eq!(path("").below(&context).as_deref(), Some(&context));
    assert_eq!((path("a[0].b").rest(), path(" .").first()), (path("0.b"), " "));
}

#[test]
fn values_print_and_compare_as_in_javascript() {
    let text = |json: Json| value_text(&value(&json), MOST).unwrap().into_owned();
    assert_eq!(text(serde_json::json!("{{a}}")), "{{a}}");
    assert_eq!((text(Json::Null), text(false.into()), text(5.0.into())), (String::new(), "false".into(), "5".into()));
    assert_eq!(text(serde_json::json!([null, "a", { "b": 1.5 }])), r#"[null,"a",{"b":1.5}]"#);
    assert_eq!(value_text(&value(&"abc".into()), 2), Err(TooLong::Text(2)));
    assert_eq!(value_text(&value(&serde_json::json!([[], []])), 6), Err(TooLong::Text(6)));

    let not_a_number = Value::Num(f64::NAN);
    assert!(!alike(Some(&not_a_number), Some(&not_a_number)).unwrap());
    assert!(alike(None, None).unwrap() && !alike(None, Some(&Value::Null)).unwrap());
    let zero = |n| Value::list(vec![Value::Num(n)]);
    assert!(alike(Some(&zero(0.0)), Some(&zero(-0.0))).unwrap());
}

/// Large texts compile in time that grows with them, and nesting costs no stack.
#[test]
fn hostile_texts_end() {
    let many = 100_000;
    let context = value(&serde_json::json!({ "a": "x", "l": "" }));
    let run = |text: &str, syntax| render(&Leaf::compile(text, syntax), &context, None, MOST).map(|printed| printed.text);
    for (open, times) in [("{{#if a}}", many), ("{{#if b}}{{#else}}", 10_000)] {
        let text = format!("{}a{}", open.repeat(times), "{{#endif}}".repeat(times));
        assert_eq!(&*run(&text, LeafSyntax::Expressions).unwrap(), "a");
    }
    assert_eq!(&*run(&format!("{{{{{}a{}}}}}", "(".repeat(many), ")".repeat(many)), LeafSyntax::Expressions).unwrap(), "x");
    assert_eq!(&*run(&format!("{{{{{}a}}}}", "!".repeat(many)), LeafSyntax::Expressions).unwrap(), "true");
    assert_eq!(&*run(&format!("{{{{a{}}}}}", " && a".repeat(many / 2)), LeafSyntax::Expressions).unwrap(), "true");
    assert_eq!(run(&"{{l}}".repeat(10_000), LeafSyntax::Expressions).unwrap().len(), 0);
    let path = format!("{{{{a{}}}}}", ".a".repeat(many));
    assert_eq!((run(&path, LeafSyntax::Paths).unwrap().len(), run(&path, LeafSyntax::Expressions).unwrap().len()), (0, 0));

    let large = 2 << 20;
    for piece in ["{", "{{", "}", "{{a", "{{a }", "{{'", "{{(", "{{!", "{{[", "\\", "é"] {
        let text = piece.repeat(large / piece.len());
        for syntax in [LeafSyntax::Paths, LeafSyntax::Expressions] {
            let leaf = Leaf::compile(&text, syntax);
            assert_eq!(render(&leaf, &context, None, MOST), Err(TooLong::Text(MOST)), "{piece}");
            assert_eq!(&*render(&leaf, &context, None, usize::MAX).unwrap().text, text.as_str(), "{piece}");
        }
    }
    assert_eq!(run(&"{{l}}".repeat(2 << 20), LeafSyntax::Paths).unwrap().len(), 0);
}

#[test]
fn values_that_multiply_end() {
    let twice = "{{a}}".repeat(20);
    let large = value(&serde_json::json!({ "a": twice }));
    let empty: serde_json::Map<String, Json> = (0..5)
        .map(|n| (format!("v{n}"), Json::from(format!("{{{{v{}}}}}", n + 1).repeat(30))))
        .chain([("v5".to_owned(), Json::from(""))])
        .collect();
    let long = value(&serde_json::json!({ "a": format!("{}{{{{b}}}}", "{{b}}".repeat(100_000)), "b": "{{n}}" }));
    for syntax in [LeafSyntax::Paths, LeafSyntax::Expressions] {
        assert_eq!(render(&Leaf::compile("{{a}}", syntax), &large, None, MOST), Err(TooLong::Text(MOST)));
        assert_eq!(render(&Leaf::compile("{{v0}}", syntax), &value(&Json::Object(empty.clone())), None, MOST), Err(TooLong::Work));
        assert_eq!(render(&Leaf::compile("{{a}}", syntax), &long, None, MOST), Err(TooLong::Work));
    }
}

#[test]
fn deep_and_shared_values_end() {
    let mut deep = Value::Null;
    for _ in 0..1000 {
        deep = Value::list(vec![deep]);
    }
    assert_eq!(value_text(&deep, MOST), Err(TooLong::Deep));
    assert_eq!(alike(Some(&deep), Some(&deep.clone())), Err(TooLong::Deep));
    // no `|mut shared|` that is set anew in a loop: rustc 1.95 drops such a one twice when it optimises
    let doubled = |value: Value| (0..100).fold(value, |shared, _| Value::list(vec![shared.clone(), shared]));
    let (a, b) = (doubled(Value::Int(1)), doubled(Value::Int(1)));
    assert_eq!(value_text(&a, MOST), Err(TooLong::Text(MOST)));
    assert_eq!(alike(Some(&a), Some(&b)), Err(TooLong::Work));
}
