//! The text room through its public door; tables of cases are in `tests/text/`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at what is wrong")]

use serde_json::Value as Json;
use tapster::machinery::text::pattern::{MatchBound, Pattern, PatternFault};

/// Texts with characters of two units here and there are taken apart and put together again.
#[test]
fn halves_are_taken_apart_and_put_together() {
    use tapster::machinery::text::surrogates::{apart, joined, together};
    let (high, low) = ('\u{10F83D}', '\u{10FE00}');
    for (text, halves) in [
        (String::new(), String::new()),
        ("plain é ☃".to_owned(), "plain é ☃".to_owned()),
        ("\u{1F600}".to_owned(), format!("{high}{low}")),
        ("a\u{1F600}b☃\u{1F600}\u{1F600}".to_owned(), format!("a{high}{low}b☃{high}{low}{high}{low}")),
    ] {
        assert_eq!(apart(&text), halves);
        assert_eq!((together(&halves), joined(&halves).into_owned()), (text.clone(), text));
    }
    let lone = format!("é{high}x{low}{high}");
    assert_eq!(together(&lone), "é\u{FFFD}x\u{FFFD}\u{FFFD}");
    assert_eq!(joined(&lone), lone, "the other half may follow");
}

fn table(name: &str) -> Vec<Json> {
    let path = format!("{}/tests/text/{name}", env!("CHECKOUT"));
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

/// What node says about each pattern, against what the chosen engine says. Patterns that are refused as unsafe are
/// listed by name, so that a new refusal is seen.
#[test]
fn patterns_mean_what_they_mean_in_javascript() {
    let refused = [
        "(z)((a+)?(b+)?(c))*",
        "(a*)*",
        "(?:|a)+",
        "(?:a?)*?b",
        "(?=a)*b",
        "(?<!(?<=$)(?:[^a]+?.*?)+?)",
        r"(?<!(?:a+){0,2}?\b\d*)[^a]{0,2}?",
    ];
    let mut wrong = Vec::new();
    let mut engines = std::collections::BTreeMap::new();
    for row in table("patterns.json") {
        let (source, flags, input) = (row["source"].as_str().unwrap(), row["flags"].as_str().unwrap(), row["input"].as_str().unwrap());
        let pattern = match Pattern::new(source, flags) {
            Err(error) if error.fault == PatternFault::Unsafe && refused.contains(&source) => continue,
            Err(error) if error.fault == PatternFault::Bad && row.get("error").is_some() => continue,
            Err(error) => {
                wrong.push(format!("/{source}/{flags}: {error:?}"));
                continue;
            }
            Ok(pattern) => pattern,
        };
        *engines.entry(pattern.engine()).or_insert(0) += 1;
        let found = pattern.captures_all(input, 1000).unwrap();
        let got: Vec<Json> = found
            .iter()
            .map(|c| {
                let groups: Vec<_> = c.groups.iter().map(|g| g.map(|g| g.of(input))).collect();
                serde_json::json!({ "start": c.whole.start, "text": c.whole.of(input), "groups": groups })
            })
            .collect();
        if row.get("matches") != Some(&Json::Array(got.clone())) {
            wrong.push(format!("/{source}/{flags} ({}): {} but node {:?}", pattern.engine(), Json::Array(got), row.get("matches")));
        }
        let spans = pattern.find_all(input, 1000).unwrap();
        assert_eq!(spans, found.iter().map(|c| c.whole).collect::<Vec<_>>(), "/{source}/{flags}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(engines["automaton"] > 50 && engines["bounded"] > 15 && engines["javascript"] > 3, "{engines:?}");
}

#[test]
fn patterns_say_what_is_wrong_and_where() {
    for (text, fault, offset) in [
        ("/a(b/", PatternFault::Bad, 2),
        ("/ab)/", PatternFault::Bad, 3),
        ("/é[b-a]/", PatternFault::Bad, 4),
        ("/a**/", PatternFault::Bad, 3),
        ("/a/gg", PatternFault::Bad, 2),
        ("/a/xyz", PatternFault::Bad, 2),
        ("/(.*)*x/", PatternFault::Unsafe, 1),
        ("/(?:(x)|a{1,1000}){1,1000}/", PatternFault::Unsafe, 1),
    ] {
        let error = Pattern::parse(text).unwrap_err();
        assert_eq!((error.fault, error.offset), (fault, offset), "{text}: {error}");
    }
    assert_eq!(Pattern::new(&format!("{}a{}", "(".repeat(5000), ")".repeat(5000)), "").unwrap_err().fault, PatternFault::Unsafe);
    assert_eq!(Pattern::new(&"(?:a{1000}){1000}".repeat(20), "").unwrap_err().fault, PatternFault::Unsafe);
}

#[test]
fn text_without_slashes_is_literal_and_global() {
    let pattern = Pattern::parse("a.b").unwrap();
    assert_eq!(pattern.find_all("a.b axb a.b", 9).unwrap().len(), 2);
    assert_eq!(Pattern::parse("/usr/Bin").unwrap().engine(), "text");
    assert_eq!(Pattern::parse("and/or").unwrap().engine(), "text");
}

/// Patterns that take for ever in a backtracking engine end soon, with an answer or with a bound.
#[test]
fn patterns_cannot_run_away() {
    let words = "lorem ipsum ".repeat(8_000);
    for (source, flags, text) in [
        ("(a+)+$", "", "a".repeat(100_000) + "b"),
        (r"^(\w+\s?)*$", "", words.clone() + "!"),
        (r"^(\w+\s?)*$", "m", words.clone() + "\r!"),
        (r"(?=(a+)+$)b|(a+)+$", "", "a".repeat(10_000) + "b"),
        (r"(a+)+\1y", "", "a".repeat(10_000) + "b"),
        (r"x(?=[^]*y)", "g", "x".repeat(19_000)),
        (r"(?:a(?=[^]*$))*b", "g", "a".repeat(19_000)),
        (r"(?:[ab]*x|a)(?=a)", "g", "a".repeat(50_000)),
        (r"(?<=a)(a|aa)*(?=b)", "g", "a".repeat(30_000)),
        (r"(?:(a)|(b))+c", "g", "ab".repeat(800)),
    ] {
        let pattern = Pattern::new(source, flags).unwrap();
        match pattern.captures_all(&text, usize::MAX) {
            Ok(found) => assert!(found.len() <= text.len(), "/{source}/"),
            Err(bound) => assert_eq!(bound, MatchBound::Steps, "/{source}/"),
        }
    }
    let javascript = Pattern::new("(?:(a)|(b))+c", "").unwrap();
    assert!(matches!(javascript.is_match(&words), Err(MatchBound::Text { .. })));
    let far = Pattern::new("(?<=y[^]*)x", "").unwrap();
    assert!(matches!(far.is_match(&words), Err(MatchBound::Text { length: 96_000, .. })));
}

#[test]
fn replacing_counts_and_keeps_the_rest() {
    let pattern = Pattern::new(r"(?<n>\d)", "g").unwrap();
    let doubled = pattern.replace("a1b2c3", Some(2), |c, out| {
        let digit = c.groups[0].unwrap().of("a1b2c3");
        out.push_str(digit);
        out.push_str(digit);
    });
    assert_eq!(doubled.unwrap().as_deref(), Some("a11b22c3"));
    assert_eq!(pattern.names()[0].as_deref(), Some("n"));
    assert_eq!(pattern.replace("none", None, |_, _| {}).unwrap(), None);
    let grows = Pattern::new("", "g").unwrap().replace(&"a".repeat(200), None, |_, out| out.push_str(&"x".repeat(1 << 20)));
    assert!(matches!(grows, Err(MatchBound::Output { .. })));
}

mod tokens {
    use super::table;
    use tapster::machinery::text::tokens::{Estimator, TokenCounter};

    /// Texts of many scripts, made by a fixed sequence of numbers.
    fn mixed_texts(count: usize) -> Vec<String> {
        let parts = table("token_pieces.json");
        let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        (0..count).map(|_| (0..=next(24)).map(|_| parts[next(parts.len())].as_str().unwrap()).collect()).collect()
    }

    #[test]
    fn exact_counts_equal_those_of_tiktoken() {
        let cl100k = tiktoken_rs::cl100k_base().unwrap();
        let o200k = tiktoken_rs::o200k_base().unwrap();
        for text in mixed_texts(2_000) {
            assert_eq!(Estimator::Cl100k.count(&text), cl100k.encode_ordinary(&text).len(), "{text:?}");
            assert_eq!(Estimator::O200k.count(&text), o200k.encode_ordinary(&text).len(), "{text:?}");
        }
    }

    #[test]
    fn long_pieces_are_counted_as_tiktoken_counts_them() {
        let cl100k = tiktoken_rs::cl100k_base().unwrap();
        let o200k = tiktoken_rs::o200k_base().unwrap();
        let mut letter = 1_u32;
        let mut letters = |count: usize| -> String {
            let next = |_| {
                letter = letter * 31 % 7_919;
                char::from(b"etaoinshrdlucmfwypvbgkjqxz"[letter as usize % 26])
            };
            (0..count).map(next).collect()
        };
        for text in
            ["a".repeat(1_500), letters(300), letters(1_500), " ".repeat(700), "\n".repeat(700), "你好世界".repeat(100), "=-".repeat(500)]
        {
            assert_eq!(Estimator::Cl100k.count(&text), cl100k.encode_ordinary(&text).len(), "{text:?}");
            assert_eq!(Estimator::O200k.count(&text), o200k.encode_ordinary(&text).len(), "{text:?}");
        }
    }

    #[test]
    fn a_counter_says_the_same_each_time() {
        let counter = TokenCounter::new(Estimator::Cl100k);
        for text in mixed_texts(300) {
            let count = Estimator::Cl100k.count(&text);
            assert_eq!([counter.count(&text), counter.count(&text)], [count, count]);
        }
    }

    #[test]
    fn estimators_are_read_from_data() {
        for row in table("estimators.json") {
            let name = row["name"].as_str().unwrap();
            let got = Estimator::parse(name);
            match row.get("count") {
                Some(count) => assert_eq!(got.unwrap().count(row["text"].as_str().unwrap()), count.as_u64().unwrap() as usize, "{row}"),
                None => assert!(got.is_err(), "{name}"),
            }
        }
    }

    /// Special tokens are found in one walk: a search for each of them behind each hit would take minutes here.
    #[test]
    fn a_text_full_of_special_tokens_is_counted_in_one_walk() {
        let claude = Estimator::parse("claude").unwrap();
        assert_eq!(claude.count(&"<EOT>".repeat(200_000)), 200_000);
        assert_eq!(claude.count(&"<META_START><".repeat(50_000)), 100_000);
        assert!(claude.count(&"<".repeat(500_000)) <= 500_000);
    }
}

mod functions {
    use super::table;
    use tapster::machinery::text::functions::{FUNCTIONS, find};
    use tapster::model::Value;

    #[test]
    fn functions_do_what_the_table_says() {
        for row in table("functions.json") {
            let function = find(row["fn"].as_str().unwrap()).unwrap();
            let Value::Map(args) = Value::from(&row["args"]) else { panic!("{row}") };
            match (function.run)(&args) {
                Ok(value) => assert_eq!(Some(&value.to_json()), row.get("gives"), "{row}"),
                Err(error) => assert!(error.why().contains(row["error"].as_str().unwrap_or("no error expected")), "{row}: {error:?}"),
            }
        }
    }

    #[test]
    fn every_function_is_found_and_has_a_case() {
        let cases = table("functions.json");
        for function in FUNCTIONS {
            assert_eq!(find(function.name).unwrap().name, function.name);
            assert!(cases.iter().any(|row| row["fn"] == function.name), "{} has no case", function.name);
            for row in cases.iter().filter(|row| row["fn"] == function.name) {
                for arg in row["args"].as_object().unwrap().keys() {
                    assert!(function.args.iter().any(|(name, _)| name == arg), "{row}");
                }
            }
        }
        assert!(find("no_such_function").is_none());
    }
}

mod scripts {
    use tapster::machinery::text::script::{Script, ScriptArgument, ScriptLimits, ScriptSource, Scripts, take_log};
    use tapster::model::{Map, Value};

    fn json(text: &str) -> Value {
        Value::from(&serde_json::from_str::<serde_json::Value>(text).unwrap())
    }

    fn failure(source: &str) -> String {
        match Script::compile(source) {
            Ok(script) => script.eval(&Map::default()).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn values_go_in_and_out_unchanged() {
        let script = Script::compile("fn same(x) { x } fn sum(a, b) { a + b }").unwrap();
        let value = json(r#"{"a": [1, 2.5, "é", true, null, {"b": []}], "z": -9007199254740993, "whole": 3.0}"#);
        let back = script.call("same", std::slice::from_ref(&value)).unwrap();
        assert_eq!(back, value);
        assert!(matches!(back.get("whole"), Some(Value::Num(_))) && matches!(back.get("z"), Some(Value::Int(_))));
        assert_eq!(script.call("sum", &[Value::Int(2), Value::Int(3)]).unwrap(), Value::Int(5));
        assert_eq!(script.functions(), [("same".to_string(), 1), ("sum".to_string(), 2)]);
        assert!(script.call("none", &[]).unwrap_err().message.contains("none"));
    }

    #[test]
    fn conditions_see_their_scope_and_must_be_true_or_false() {
        let scope = [("depth", ScriptArgument::Value(Value::Int(3))), ("name", ScriptArgument::Value(Value::text("Ann")))];
        assert!(Script::compile(r#"depth > 2 && name.contains("nn")"#).unwrap().holds(&scope).unwrap());
        assert!(Script::compile("depth").unwrap().holds(&scope).unwrap_err().message.contains("true or false"));
    }

    #[test]
    fn what_is_thrown_is_the_message_and_has_its_place() {
        let script = Script::compile("fn check(x) {\n  if x < 0 {\n    throw \"too small\";\n  }\n  x\n}").unwrap();
        let error = script.call("check", &[Value::Int(-1)]).unwrap_err();
        assert_eq!((error.message.as_str(), error.line), ("too small", 3));
        let error = Script::compile("let x = 1;\nlet = 2;").err().unwrap();
        assert_eq!(error.line, 2, "{error}");
    }

    #[test]
    fn modules_are_those_that_were_given() {
        let module = |name, text| ScriptSource { name, file: name, text };
        let load = |modules: &[ScriptSource<'_>]| Scripts::with_sources(ScriptLimits::default(), modules, &mut 0);
        let more = module("more", "import \"util\" as u; fn four(x) { u::twice(u::twice(x)) }");
        let scripts = load(&[module("util", "fn twice(x) { x * 2 }"), more]).unwrap();
        let script = scripts.compile("import \"util\" as u; u::twice(21)").unwrap();
        assert_eq!(script.eval(&Map::default()).unwrap(), Value::Int(42));
        let error = scripts.compile("import \"other\" as o; 1").unwrap().eval(&Map::default()).unwrap_err();
        assert!(error.message.contains("other"), "{error}");
        let (name, _) = load(&[module("bad", "let = 1")]).err().unwrap();
        assert_eq!(name, "bad");
    }

    #[test]
    fn printing_goes_into_the_log() {
        let _ = take_log();
        Script::compile("print(\"one\"); debug(2);").unwrap().eval(&Map::default()).unwrap();
        let log = take_log();
        assert!(log[0] == "one" && log[1].ends_with('2'), "{log:?}");
        assert!(take_log().is_empty());
    }

    #[test]
    fn texts_and_bytes_are_printed() {
        let _ = take_log();
        let source = "let b = \"AA\".to_blob(); debug(\"a\\n\"); print(b); debug(b); print(\"text\"); [b.to_string(), b.to_debug()]";
        let given = Script::compile(source).unwrap().eval(&Map::default()).unwrap().to_json();
        let log = take_log();
        assert!(log.len() == 4 && log[0].ends_with(": \"a\\n\"") && log[3] == "text", "{log:?}");
        assert_eq!(given[0], log[1]);
        assert!(log[2].ends_with(given[1].as_str().unwrap()), "{log:?}");
    }

    #[test]
    fn lists_and_tables_are_printed_as_the_interpreter_prints_them() {
        let source = r#"
            let m = #{ a: [1, "x\ny", 2.5, 'c', (), true], "k \" ": #{ z: "q", e: #{}, l: [] } };
            let given = m.a;
            let kept = || given;
            print(m);
            debug(m.a);
            [m.to_string(), m.a.to_debug(), `${m}`, "" + m.a, [1..3, kept.call()].to_string()]
        "#;
        let _ = take_log();
        let list = r#"[1, "x\ny", 2.5, c, (), true]"#;
        let table = format!(r#"#{{"a": {list}, "k \" ": #{{"e": #{{}}, "l": [], "z": "q"}}}}"#);
        let given = Script::compile(source).unwrap().eval(&Map::default()).unwrap().to_json();
        assert_eq!(given, serde_json::json!([table, list, table, list, format!("[1..3, {list}]")]));
        let log = take_log();
        assert_eq!(log[0], table);
        assert!(log[1].ends_with(list), "{log:?}");
    }

    #[test]
    fn a_name_of_a_field_is_no_longer_than_a_text() {
        let error = failure("let t = \"x\"; t.pad(16000, 'x'); let m = #{}; m[`${t}${t}`] = 1; m");
        assert!(error.contains("Length of string"), "{error}");
    }
}

mod macros {
    use std::cell::{Cell, RefCell};
    use std::collections::HashMap;
    use std::sync::Arc;

    use super::table;
    use tapster::machinery::macros::syntax::{ArgumentShape, KnownMacro, MacroCall, MacroGrammar, MacroHost, MacroResult, expand};
    use tapster::machinery::text::TextLimits;
    use tapster::machinery::text::macro_syntax::may_have_effects;
    use tapster::machinery::text::pattern::{Captures, Pattern};

    /// A small table of macros, as a pack could declare them.
    struct Table {
        variables: RefCell<HashMap<String, Arc<str>>>,
        original: Cell<Option<&'static str>>,
        calls: Cell<usize>,
        unescapes: bool,
    }

    impl Table {
        fn new() -> Self {
            Self { variables: RefCell::default(), original: Cell::new(Some("BASE")), calls: Cell::new(0), unescapes: false }
        }
    }

    const NAMES: &[(&str, usize, usize)] = &[
        ("user", 0, 0),
        ("char", 0, 0),
        ("noop", 0, 0),
        ("//", 1, 1),
        ("tricky", 0, 0),
        ("spaces", 0, 0),
        ("line", 0, 0),
        ("at", 0, 0),
        ("reverse", 1, 1),
        ("args", 0, usize::MAX),
        ("trim", 0, 1),
        ("original", 0, 0),
        ("setvar", 2, 2),
        ("getvar", 1, 1),
        ("big", 0, 0),
        ("fails", 0, usize::MAX),
    ];

    impl MacroGrammar for Table {
        fn find(&self, name: &str) -> Option<KnownMacro> {
            let id = NAMES.iter().position(|(known, ..)| known.eq_ignore_ascii_case(name))?;
            let (_, least, most) = NAMES[id];
            Some(KnownMacro { id: u32::try_from(id).unwrap(), shape: ArgumentShape { least, most, block: most < 9, raw: 0 } })
        }

        fn syntax(&self) -> &tapster::machinery::text::macro_syntax::MacroSyntax {
            static NESTED: std::sync::LazyLock<tapster::machinery::text::macro_syntax::MacroSyntax> =
                std::sync::LazyLock::new(Default::default);
            &NESTED
        }
    }

    impl MacroHost for Table {
        fn call(&self, called: &MacroCall<'_>) -> MacroResult {
            self.calls.set(self.calls.get() + 1);
            let text = |text: &str| MacroResult::Text(text.into());
            let Some(id) = called.id else { return MacroResult::Unknown };
            match (NAMES[id as usize].0, called.args) {
                ("user", _) => text("Ilse"),
                ("char", _) => text("Brom"),
                ("noop" | "//", _) => text(""),
                ("tricky", _) => text("{{user}}::x }}"),
                ("spaces", _) => text("  "),
                ("line", _) => text("\n"),
                ("at", _) => text(&called.at.to_string()),
                ("reverse", [one]) => text(&one.chars().rev().collect::<String>()),
                ("args", list) => text(&format!("{list:?}")),
                ("trim", [body]) if called.block => text(body),
                ("trim", _) => text("{{trim}}"),
                ("original", _) => text(self.original.replace(Some("")).unwrap()),
                ("setvar", [name, value]) => {
                    self.variables.borrow_mut().insert(name.to_string(), value.clone());
                    text("")
                }
                ("getvar", [name]) => MacroResult::Text(self.variables.borrow().get(&**name).cloned().unwrap_or_default()),
                ("big", _) => text(&"x".repeat(1 << 20)),
                _ => MacroResult::Failed("it failed".into()),
            }
        }

        fn before(&self, text: &str) -> Option<String> {
            rewritten(text, "/<(USER|CHAR)>/gi", |hit| format!("{{{{{hit}}}}}"))
        }

        fn after(&self, text: &str) -> Option<String> {
            let plain = self.unescapes.then(|| rewritten(text, r"/\\([{}])/g", str::to_owned)).flatten();
            let trim = r"/(?:\r?\n)*\{\{trim\}\}(?:\r?\n)*/g";
            rewritten(plain.as_deref().unwrap_or(text), trim, |_| String::new()).or(plain)
        }
    }

    /// The text with each match replaced by what `with` makes of its first group.
    fn rewritten(text: &str, find: &str, with: impl Fn(&str) -> String) -> Option<String> {
        let group = |hit: &Captures| hit.groups.first().copied().flatten().map_or("", |m| m.of(text));
        Pattern::parse(find).unwrap().replace(text, None, |hit, out| out.push_str(&with(group(hit)))).unwrap()
    }

    #[test]
    fn macros_expand_as_the_table_says() {
        for row in table("macros.json") {
            let mut host = Table::new();
            host.unescapes = row["unescapes"] == true;
            let text: Arc<str> = row["text"].as_str().unwrap().into();
            let done = expand(&text, &host, &TextLimits::MACROS);
            assert_eq!(&*done.text, row["gives"].as_str().unwrap(), "{row}");
            assert_eq!(done.text == text, Arc::ptr_eq(&done.text, &text), "{row}");
        }
    }

    #[test]
    fn a_text_without_macros_is_not_touched() {
        let host = Table::new();
        for text in ["", "plain { text }", "a < b", "}} only closed"] {
            let text: Arc<str> = text.into();
            assert!(Arc::ptr_eq(&expand(&text, &host, &TextLimits::MACROS).text, &text));
        }
        assert_eq!(host.calls.get(), 0);
    }

    #[test]
    fn limits_leave_the_text_and_say_so() {
        let run = |text: String, limits: TextLimits| {
            let text: Arc<str> = text.into();
            let done = expand(&text, &Table::new(), &limits);
            (Arc::ptr_eq(&done.text, &text), done)
        };
        let (same, done) = run("{{big}}".repeat(20), TextLimits::MACROS);
        assert!(same && done.warnings[0].contains("bytes"));
        let (same, done) = run("{{user}}".repeat(20), TextLimits { steps: 10, ..TextLimits::MACROS });
        assert!(same && done.warnings[0].contains("more than 10 macros"));
        // the innermost of 65 levels stays as text, that of 64 does not
        let (same, done) = run(format!("{}{{{{user}}}}{}", "{{mystery::".repeat(64), "}}".repeat(64)), TextLimits::MACROS);
        assert!(same && done.warnings[0].contains("deeper than 64"));
        let (_, done) = run(format!("{}{{{{user}}}}{}", "{{mystery::".repeat(63), "}}".repeat(63)), TextLimits::MACROS);
        assert!(done.text.contains("Ilse") && done.warnings.is_empty());
        // 10,000 levels and as many open ends do not overflow anything
        run(format!("{}a{}", "{{x ".repeat(10_000), "}}".repeat(10_000)), TextLimits::MACROS);
        run("{{".repeat(100_000), TextLimits::MACROS);
        let (same, done) = run("{{fails}}".into(), TextLimits::MACROS);
        assert!(same && done.warnings == ["it failed"]);
    }

    #[test]
    fn hostile_blocks_end() {
        let run = |text: String| expand(&text.into(), &Table::new(), &TextLimits::MACROS);
        // 10,000 blocks inside each other: deeper ones stay as text, and it is said
        let done = run(format!("{}a{}", "{{trim}}".repeat(10_000), "{{/trim}}".repeat(10_000)));
        assert!(done.warnings[0].contains("nested deeper than 64"), "{:?}", done.warnings);
        // openings that no end fits, ends that no opening fits, ends that cross
        run(format!("{}{}", "{{user}}".repeat(50_000), "{{/user}}".repeat(50_000)));
        run("{{/trim}}".repeat(50_000));
        run((0..20_000).map(|n| format!("{{{{a{n}}}}}")).chain((0..20_000).map(|n| format!("{{{{/a{n}}}}}"))).collect());
        // each doubles what the one before has set
        let doubling = "{{setvar::x::{{getvar::x}}{{getvar::x}}}}".repeat(60);
        let done = run(format!("{{{{setvar::x::ab}}}}{doubling}{{{{getvar::x}}}}"));
        assert!(done.warnings[0].contains("bytes"), "{:?}", done.warnings);
    }

    #[test]
    fn texts_with_effects_are_told_by_a_scan() {
        let names = ["setvar", "pick", "."].map(Arc::from).into_iter().collect::<std::collections::HashSet<Arc<str>>>();
        for (text, effects) in [
            ("plain", false),
            ("{{user}} setvar", false),
            ("{{SetVar::a::b}}", true),
            ("{{ pick a,b }}", true),
            ("{{user::{{pick::a}}}}", true),
            ("{{!pick::a}}", true),
            ("{{picky}}", false),
            ("{{.x = 1}}", true),
            ("{{$x}}", false),
            ("{{{pick}}}", true),
            ("pick}}", false),
        ] {
            assert_eq!(may_have_effects(text, &names, &tapster::machinery::text::macro_syntax::MacroSyntax::default()), effects, "{text}");
        }
    }
}

mod templates {
    use std::sync::Arc;

    use super::table;
    use serde_json::json;
    use tapster::machinery::text::TextLimits;
    use tapster::machinery::text::handlebars::{Template, UnknownNames};

    fn render(template: &str, fields: &serde_json::Value) -> Result<String, String> {
        let template = Template::known(template, UnknownNames::Asked).map_err(|e| e.to_string())?;
        template
            .render(&tapster::Value::from(fields), &mut |name| Arc::from(format!("<{name}>")), &TextLimits::HANDLEBARS)
            .map_err(|e| e.to_string())
    }

    /// The rows were made at random, and what they give was told by the language's own implementation (4.7.10).
    #[test]
    fn templates_render_as_the_language_has_it() {
        let fields = json!({ "a": "A", "b": "", "c": "one\ntwo", "n": "x" });
        for row in table("handlebars.json") {
            let got = render(row["template"].as_str().unwrap(), &fields);
            match row["gives"].as_str() {
                Some(gives) => assert_eq!(got.as_deref(), Ok(gives), "{row}"),
                None => assert!(got.is_err(), "{row} gives {got:?}"),
            }
        }
    }

    #[test]
    fn lists_and_tables_are_gone_through() {
        let fields = json!({ "list": ["x", "y"], "table": { "k": 1, "m": "z" }, "none": [] });
        assert_eq!(render("{{#each list}}{{@index}}{{this}}{{#unless @last}},{{/unless}}{{/each}}", &fields).unwrap(), "0x,1y");
        assert_eq!(render("{{#each table}}{{@key}}={{.}};{{/each}}", &fields).unwrap(), "k=1;m=z;");
        assert_eq!(render("{{#if none}}a{{else}}b{{/if}}{{list}}{{table.m}}{{list.1}}{{list.length}}", &fields).unwrap(), "bx,yzy2");
        assert_eq!(render("{{#with table}}{{m}}{{../list.0}}{{/with}}{{lookup table 'm'}}", &fields).unwrap(), "zxz");
    }

    #[test]
    fn hostile_templates_end_in_errors() {
        let deep = format!("{}{}", "{{#if a}}".repeat(5_000), "{{/if}}".repeat(5_000));
        assert!(render(&deep, &json!({})).unwrap_err().contains("deeper than 64"));
        assert!(render(&format!("{{{{#if {}a{}}}}}{{{{/if}}}}", "(x ".repeat(90), ")".repeat(90)), &json!({})).is_err());
        assert!(render(&"{{#if ".repeat(50_000), &json!({})).is_err());
        assert!(render(&"{{".repeat(100_000), &json!({})).is_err());
        // brackets in texts and in names count for nothing, and cannot hide brackets that do
        let hidden = |open: &str| format!("{{{{#if {}}}}}{{{{/if}}}}", format!("{open} (x ").repeat(5_000));
        for open in ["\"(\"", "')'", "\"\\\")\"", "a.[)]", "[\"]", "a.[']"] {
            assert!(render(&hidden(open), &json!({})).unwrap_err().contains("deeper than 64"), "{open}");
        }
        assert!(render(&format!("{{{{a {}}}}}", "\"((((((((\" ".repeat(20)), &json!({})).is_ok());
        assert!(render(&format!("{{{{a {}}}}}", "b ".repeat(40_000)), &json!({})).unwrap_err().contains("longer than"));
        assert!(render(&format!("{{{{!-- {} --}}}}", "{{".repeat(40_000)), &json!({})).is_ok());
        assert!(render(&"{{!-- ".repeat(50_000), &json!({})).unwrap_err().contains("comment is not closed"));
        assert!(render(&"x".repeat(2 << 20), &json!({})).unwrap_err().contains("longer than"));
        assert!(render(&"{{a}}".repeat(200), &json!({ "a": "x".repeat(1 << 20) })).unwrap_err().contains("longer than"));
        // loops in loops: with nothing to show for it, and with a text that no value is in
        let ten = json!({ "l": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] });
        let loops = |body: &str| format!("{}{body}{}", "{{#each @root.l}}".repeat(12), "{{/each}}".repeat(12));
        assert!(render(&loops(""), &ten).unwrap_err().contains("steps"));
        assert!(render(&loops(&"x".repeat(1 << 18)), &ten).unwrap_err().contains("longer than"));
    }
}

mod stories {
    use super::table;
    use serde_json::Value as Json;
    use tapster::Value;
    use tapster::machinery::text::handlebars::{Template, UnknownNames};
    use tapster::machinery::text::{TextLimits, js};

    fn raw(template: &str, fields: &Json) -> Result<String, String> {
        let story = Template::parse(template, UnknownNames::Stays).map_err(|e| format!("{} {}", e.offset, e.message))?;
        let asked = &mut |name: &str| unreachable!("`{name}` is asked for");
        story.render(&Value::from(fields), asked, &TextLimits::HANDLEBARS).map_err(|e| e.to_string())
    }

    /// With one line end behind the text, or none if there is no text.
    fn render(template: &str, fields: &Json) -> Result<String, String> {
        let text = js::trim_end(&raw(template, fields)?).to_owned();
        Ok(if text.is_empty() { text } else { text + "\n" })
    }

    #[test]
    fn stories_render_as_the_table_says() {
        for row in table("stories.json") {
            match render(row["template"].as_str().unwrap(), &row["fields"]) {
                Ok(text) => assert_eq!(Some(text.as_str()), row["gives"].as_str(), "{row}"),
                Err(error) => assert!(error.contains(row["error"].as_str().unwrap_or("no error expected")), "{row}: {error:?}"),
            }
        }
    }

    #[test]
    fn unknown_tags_stay_as_they_are_written() {
        let fields = serde_json::json!({ "a": "A", "none": null, "n": 0, "yes": true, "list": ["x"], "table": { "b": 1 } });
        for (template, gives) in [
            ("{{#if a}}{{b}}{{else}}{{a}}{{/if}}{{roll:1}} \n", "{{b}}{{roll:1}} \n"),
            ("{{ mood }}{{{ mood }}}{{mood  2}}", "{{ mood }}{{{ mood }}}{{mood  2}}"),
            ("{{none}}|{{n}}|{{yes}}|{{list}}|{{table}}", "|0|true|x|[object Object]"),
            ("{{table.b}}{{this}}{{@root}}{{trim}}{{~a~}}", "{{table.b}}{{this}}{{@root}}{{trim}}{{~a~}}"),
            ("{{#if n}}1{{else if list}}2{{/if}}{{#unless yes}}3{{/unless}}", "2"),
            ("{{!-- {{a}} --}}{{> p}}{{{{a}}}}{{(a)}}", "{{!-- A --}}{{> p}}{{A}}{{(a)}}"),
            ("\\{{a}} {{#list}}{{.}}{{/list}}", "\\A {{#list}}{{.}}{{/list}}"),
            ("x\n{{else}}\n{{else if a}}\ny", "x\n{{else}}\n{{else if a}}\ny"),
        ] {
            assert_eq!(raw(template, &fields).as_deref(), Ok(gives), "{template}");
        }
    }

    #[test]
    fn hostile_templates_end_in_errors() {
        let deep = format!("{}{}", "{{#if a}}".repeat(5_000), "{{/if}}".repeat(5_000));
        assert!(render(&deep, &Json::Null).unwrap_err().contains("deeper than 64"));
        assert!(render(&"{{#if ".repeat(50_000), &Json::Null).is_err());
        assert!(render(&"{{".repeat(100_000), &Json::Null).is_ok());
        assert!(render(&"{{a ".repeat(100_000), &Json::Null).is_ok());
        assert!(render(&"x".repeat(2 << 20), &Json::Null).unwrap_err().contains("longer than"));
        let big = serde_json::json!({ "a": "x".repeat(1 << 20) });
        assert!(render(&"{{a}}".repeat(200), &big).unwrap_err().contains("longer than"));
    }

    /// The contract's own cases, where its folder is at hand.
    #[test]
    fn stories_meet_the_contract() {
        let Ok(text) = std::fs::read_to_string("/work/shared/conformance/contract/story-string.json") else {
            println!("skipped: /work/shared/conformance is not here");
            return;
        };
        let cases: Vec<Json> = serde_json::from_str(&text).unwrap();
        let cases: Vec<_> = cases.iter().filter(|c| c["kind"] == "contract-story" && c["input"]["op"] == "render").collect();
        assert!(cases.len() > 20);
        for case in cases {
            let got = render(case["input"]["template"].as_str().unwrap(), &case["input"]["fields"]);
            match case["expected"].get("output") {
                Some(output) => assert_eq!(got.as_deref().ok(), output.as_str(), "{}", case["name"]),
                None => assert!(got.is_err(), "{}", case["name"]),
            }
        }
    }
}

mod ground {
    use serde_json::json;
    use tapster::Value;
    use tapster::machinery::text::handlebars::{Template, UnknownNames};
    use tapster::machinery::text::{Language, TextError, TextLimits, truthiness};

    #[test]
    fn an_error_says_its_place_in_lines_and_characters() {
        let text = "é\nüb{{x";
        let error = TextError::at(text, text.find("{{").unwrap(), "wrong");
        assert_eq!((error.offset, error.line, error.column, error.bound), (6, 2, 3, false));
        assert_eq!(error.to_string(), "line 2, column 3: wrong");
        assert_eq!(error.in_text(text, "text"), "line 2, column 3 of the text, at `{{x`: wrong");
        // beyond the end, and inside a character
        assert_eq!(TextError::at(text, 99, "").column, 6);
        assert_eq!(TextError::at(text, 1, "").offset, 0);
    }

    #[test]
    fn a_limit_is_told_from_a_mistake() {
        let read = |text: &str| Template::parse(text, UnknownNames::Asked).unwrap_err();
        assert!(!read("a\n{{#if b}}").bound);
        assert_eq!((read("a\n{{#if b}}").line, read("a\n{{#if b}}").column), (2, 1));
        assert!(read(&"{{#if a}}".repeat(65)).bound);
        assert!(read(&"x".repeat(TextLimits::HANDLEBARS.length + 1)).bound);
        let long = Template::parse("{{a}}{{a}}\n{{a}}", UnknownNames::Asked).unwrap();
        let error =
            long.render(&Value::from(&json!({ "a": "xxxx" })), &mut |_| "".into(), &TextLimits::HANDLEBARS.with_output(9)).unwrap_err();
        assert!(error.bound && error.message.contains("longer than 9 bytes"), "{error}");
    }

    #[test]
    fn every_language_has_its_notion_of_truth() {
        //                rules, javascript, handlebars, liquid
        for (value, [rules, javascript, handlebars, liquid]) in [
            (json!(null), [false, false, false, false]),
            (json!(false), [false, false, false, false]),
            (json!(0), [false, false, false, true]),
            (json!(""), [false, false, false, true]),
            (json!("0"), [true, true, true, true]),
            (json!([]), [false, true, false, true]),
            (json!([0]), [true, true, true, true]),
            (json!({}), [false, true, true, true]),
            (json!(-0.5), [true, true, true, true]),
        ] {
            let v = Value::from(&value);
            let told = [v.truthy(), truthiness::javascript(&v), truthiness::handlebars(&v), truthiness::liquid(&v)];
            assert_eq!(told, [rules, javascript, handlebars, liquid], "{value}");
        }
        assert!(truthiness::calc(-1.0) && !truthiness::calc(0.0));
    }

    #[test]
    fn hostile_arithmetic_ends_in_errors() {
        let read = |text: String| tapster::machinery::terms::calc::parse(&text, &mut |word, _| tapster::machinery::terms::Expr::text(word));
        // every operator nests the compiled form, and every bracket and sign the parser
        for (text, why) in [
            (format!("1{}", "+1".repeat(30_000)), "more than 512 operators"),
            ("(".repeat(30_000), "nested more than 64 deep"),
            ("min(1, ".repeat(5_000), "nested more than 64 deep"),
            ("- ".repeat(30_000), "nested more than 64 deep"),
            (" ".repeat(100_000), "longer than 65536 bytes"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.bound && error.message.contains(why), "{error}");
        }
        assert!(read(format!("1{}", "+1".repeat(512))).is_ok());
        assert!(read(format!("{}1{}", "-(".repeat(64), ")".repeat(64))).is_ok());
        assert!(read("a".repeat(60_000)).unwrap_err().message.len() < 2_000);
    }

    /// An editor offers the languages that the schema names.
    #[test]
    fn the_schema_names_the_same_languages() {
        let text = std::fs::read_to_string(concat!(env!("CHECKOUT"), "/schemas/terms.v2.json")).unwrap();
        let names = Language::ALL.map(Language::name).map(|name| format!("{name:?}")).join(",");
        let expected = format!("\"expand\":{{\"enum\":[{names}]");
        assert!(text.replace(char::is_whitespace, "").contains(&expected), "{expected}");
    }

    #[test]
    fn languages_are_found_by_their_names_alone() {
        for language in Language::ALL {
            assert_eq!(Language::named(language.name()), Some(language));
        }
        for name in ["jinja", "cbs", "", "Macro", "template", "rhai"] {
            assert_eq!(Language::named(name), None);
        }
    }
}

mod keys {
    use std::sync::Arc;

    use tapster::diag::limits::CACHE_BYTES;
    use tapster::machinery::text::keys::{KeyEdge, KeyLookup, KeySets, SearchKey};

    /// What is remembered of a text keeps the text itself, of which others are asked to be equal.
    #[test]
    fn texts_that_are_asked_for_stay_and_the_rest_is_forgotten() {
        let sets = KeySets::default();
        let is_in = |text: &Arc<str>| {
            let mut lookup = KeyLookup::default();
            let (key, _) = lookup.key(SearchKey { text: "lamp".into(), case: true, edge: KeyEdge::None });
            lookup.compile(&sets).unwrap();
            lookup.read(0, std::slice::from_ref(text), &sets);
            lookup.found(key, 0, 1).is_some()
        };
        let is_kept = |text: &Arc<str>| Arc::strong_count(text) > 1;
        let kept: Arc<str> = "a lamp".into();
        assert!(is_in(&kept) && is_kept(&kept));
        let large: Vec<Arc<str>> = ["a", "b", "c", "d", "e", "f"].map(|letter| letter.repeat(CACHE_BYTES / 2).into()).into();
        for text in &large {
            assert!(!is_in(text) && is_kept(text));
            // found again, not searched again: that would keep this text instead
            let same: Arc<str> = (*kept).into();
            assert!(is_in(&same) && is_kept(&kept) && !is_kept(&same));
        }
        let held: usize = large.iter().filter(|text| is_kept(text)).map(|text| text.len()).sum();
        assert!(held <= 2 * CACHE_BYTES, "{held}");
        assert!(!is_kept(&large[0]));
    }
}
