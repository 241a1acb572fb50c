//! Scripts that stay within each single limit and would take hours or gigabytes: each ends with an answer or an error. And what
//! scripts mean: the limits change nothing of it.

use serde_json::{Value as Json, json};
use tapster::machinery::text::script::{Script, ScriptArgument, ScriptLimits, ScriptSource, Scripts};
use tapster::model::Map;
use tapster::{ErrorKind, Scene, Value, WorkLimits, build};

use crate::support;

/// A call of `run()`, or of the whole script: the error if there is one.
fn ran(source: &str, limits: ScriptLimits) -> Option<String> {
    let script = match Scripts::new(limits).compile(source) {
        Ok(script) => script,
        Err(error) => return Some(error.to_string()),
    };
    let result = if source.contains("fn run()") { script.call("run", &[]) } else { script.eval(&Map::default()) };
    result.err().map(|error| error.to_string())
}

/// Why such a script may end: it takes or makes too much, or uses what scripts have not (`this`, `curry`, bytes).
const ENDS: &[&str] = &[
    "too many steps",
    "too deeply",
    "deeper than",
    "takes more than",
    "makes more than",
    "too large",
    "holds more than",
    "reserved",
    "catches errors",
    "Function not found",
    "out of bounds",
    "not found",
    "overflow",
    "being changed",
    "more than 8 arguments",
];

/// Loops, copies, texts and functions of every kind, with the default limits and the largest that a pack may set. A few of
/// them end by themselves.
#[test]
fn endless_scripts_end() {
    let default = ScriptLimits::default();
    let largest = ScriptLimits { operations: 1_000_000, calls: 256, text: 160 << 10, list: 10_000, map: 10_000, ..default };
    let mut wrong = String::new();
    let rows: Vec<&str> = include_str!("endless/scripts.txt").lines().collect();
    assert_eq!(rows.len(), 87);
    for (row, limits) in rows.iter().flat_map(|row| [default, largest].map(|limits| (row, limits))) {
        let (what, source) = row.split_once('\t').unwrap();
        let error = ran(source, limits);
        if !error.as_ref().is_none_or(|error| ENDS.iter().any(|words| error.contains(words))) {
            wrong += &format!("{what}: {error:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What scripts give, or the error with which they end; and values of closures never stand inside of lists, which the
/// interpreter cannot measure.
#[test]
fn scripts_mean_what_they_mean() {
    let rows: Json = serde_json::from_str(include_str!("endless/means.json")).unwrap();
    let rows = |name: &str| rows[name].as_array().unwrap().clone();
    let eval = |source: &Json| {
        let script = Script::compile(source.as_str().unwrap())?;
        script.eval(&Map::default()).map(|value| value.to_json())
    };
    for row in rows("values") {
        let given = eval(&row[0]).unwrap_or_else(|e| panic!("{e}: {row}"));
        assert_eq!(given, row[1], "{row}");
    }
    for row in rows("errors") {
        let error = eval(&row[0]).err().unwrap_or_else(|| panic!("{row}: nothing refuses it"));
        assert!(error.message.contains(row[1].as_str().unwrap()), "{row}: {error}");
    }
    for source in rows("closures in lists") {
        assert!(eval(&source).is_ok(), "{source}: {:?}", eval(&source));
    }
    let error = eval(&"let a = [3, 1, 2];\na.sort(|x, y| throw \"odd\");".into()).err().unwrap();
    assert_eq!(error.line, 2, "{error}");
}

/// The interpreter sleeps before it gives up a value that is being changed, which no step counts: a script cannot catch that.
#[test]
fn waiting_in_a_module_is_not_caught() {
    let module = |name, text| ScriptSource { name, file: name, text };
    let modules = [
        module("a", "fn wait() { let a = [1, 2]; a.map(|x| a.len()) }"),
        module("b", "import \"a\" as a; fn f() { try { a::wait() } catch { } }"),
    ];
    assert!(Scripts::with_sources(ScriptLimits::default(), &modules, &mut 0).err().unwrap().1.message.contains("catches errors"));
}

/// Loading a script takes the square of some of its parts, so its length is bounded.
#[test]
fn scripts_that_are_too_long_are_refused() {
    let error = Script::compile(&"let a = 1;\n".repeat(10_000)).err().unwrap();
    assert!(error.message.contains("more than 65536 bytes"), "{error}");
    let mut bytes = 192 << 10;
    let error = Script::compile_among("1", &mut bytes).err().unwrap();
    assert!(error.message.contains("rows of the pack"), "{error}");
}

/// A build with a hook that runs a script of the pack.
fn hooked(script: &str, limits: &str) -> Result<tapster::Plan, tapster::BuildError> {
    let rules =
        "kind = \"hooks\"\nversion = 1\n[[hook]]\nname = \"mine\"\nevent = \"before_build\"\nrun = \"mine::run\"\nfailing = \"error\"\n";
    let pack = support::pack_over_base(limits, &[("scripts/mine.rhai", script), ("hooks.toml", rules)]).unwrap();
    build(&pack, &Scene::new(&json!({ "history": [{ "role": "user", "text": "Hi" }], "context": { "tokenizer": "words" } })))
}

#[test]
fn a_build_ends_when_its_scripts_have_spent_everything() {
    let script = "fn run(items, scene) { let a = []; a.pad(900, 0); loop { let c = a; } }";
    let error = hooked(script, "[limits]\nscript_operations = 1_000_000\n").err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
    assert!(error.message.contains("it ended in rule `build/hooks`"), "{error}");
}

#[test]
fn a_pack_can_lower_the_bound_and_not_raise_it() {
    let script = "fn run(items, scene) { for i in 0..1000 { } () }";
    assert!(hooked(script, "").is_ok());
    let error = hooked(script, "[limits]\nwork_steps = 2_000\n").err().unwrap();
    assert!(*error.kind() == ErrorKind::Bound && error.message.contains("more than 2000 steps"), "{error}");
    let more = format!("[limits]\nwork_steps = {}\n", WorkLimits::default().steps + 1);
    let refused = support::pack_over_base(&more, &[]).err().unwrap().to_string();
    assert!(refused.contains("work_steps") && refused.contains("schema.value"), "{refused}");
}

/// Items and scenes are read lazily: nothing of them nests or doubles without end, and much may be read.
#[test]
fn what_a_script_is_given_is_read_and_bounded() {
    let history = vec![json!({ "text": "x".repeat(200) }); 100];
    let scene = Value::from(&json!({
        "long": "x".repeat(100_000), "rows": vec![json!({ "text": "a", "tags": ["a", "b"] }); 5_000], "history": history,
        "words": vec!["lighthouse"; 3_000], "nums": vec![7; 20_000],
    }));
    let run = |body: &str| {
        let script = Script::compile(&format!("fn run(item, scene) {{ {body} }}")).unwrap();
        let item = ScriptArgument::Item("blocks".into(), Value::from(&json!({ "text": "t" })));
        script.call_with("run", &[item, ScriptArgument::Scene(scene.clone())]).map(|value| value.to_json()).map_err(|e| e.to_string())
    };
    for (body, given) in [
        ("scene.at(\"rows.4999.text\")", json!("a")),
        ("let n = 0; for i in 0..100 { n += scene.at(`rows.${i}.text`).len(); } n", json!(100)),
        ("scene.count(\"rows\")", json!(5_000)),
        ("scene.rows.len()", json!(5_000)),
        ("scene.history.map(|m| m.text).len()", json!(100)),
        ("let w = scene.words; let n = 0; for x in w { n += x.len; } n", json!(30_000)),
        ("let h = scene.nums; let n = 0; for k in 0..3000 { n += k; } n", json!(4_498_500)),
    ] {
        assert_eq!(run(body), Ok(given), "{body}");
    }
    for body in [
        "loop { item.x = item; }",
        "loop { item.x = item; item.y = item; }",
        "loop { let h = scene.rows; }",
        "loop { let t = scene.long; }",
        "let t = scene.long; t += t; t",
        "loop { let m = scene.to_map(); }",
        "loop { scene == scene; }",
        "loop { scene.to_json(); }",
        "let n = 0; loop { item[`k${n}`] = n; n += 1; }",
    ] {
        let error = run(body).err().unwrap_or_else(|| panic!("{body}: it ends with an error"));
        assert!(ENDS.iter().chain(&["Length"]).any(|words| error.contains(words)), "{body}: {error}");
    }
}

/// Which functions were found is kept from call to call: what a call gives is the same the first time and later, also with
/// other types, and also after an error.
#[test]
fn a_call_does_not_depend_on_earlier_calls() {
    let source = "fn add(a, b) { a + b } fn same(a, b) { a == b } fn long(t) { t.len() } fn deep(n) { deep(n + 1) }";
    let script = Script::compile(source).unwrap();
    let calls = [
        ("add", json!([1, 1])),
        ("add", json!(["a", "a"])),
        ("add", json!([{ "text": "t" }, { "text": "t" }])),
        ("add", json!(["a", 1])),
        ("same", json!([{ "text": "t" }, { "text": "t" }])),
        ("same", json!([1, "a"])),
        ("long", json!(["a"])),
        ("long", json!([{ "text": "t" }])),
        ("long", json!([1])),
        ("deep", json!([1])),
        ("len", json!(["a"])),
        ("long", json!(["a", "a"])),
    ];
    let all = || {
        let call = |(function, args): &(&str, Json)| {
            let args: Vec<ScriptArgument> =
                args.as_array().unwrap().iter().map(|arg| ScriptArgument::Item("".into(), arg.into())).collect();
            script.call_with(function, &args).map(|value| value.to_json()).map_err(|e| e.to_string())
        };
        calls.iter().map(call).collect::<Vec<_>>()
    };
    let first = all();
    assert_eq!(first[..2], [Ok(json!(2)), Ok(json!("aa"))]);
    assert!(first[9].as_ref().is_err_and(|e| e.contains("too deeply")), "{first:?}");
    assert!(first[10].as_ref().is_err_and(|e| e.contains("Function not found")), "only its own functions are called: {first:?}");
    (0..4).for_each(|_| assert_eq!(all(), first));
}

/// The limit of nested calls is the same however a script is run.
#[test]
fn calls_nest_as_deeply_as_the_limit_says() {
    let limits = ScriptLimits { calls: 8, ..ScriptLimits::default() };
    let down = "fn down(n) { if n > 0 { down(n - 1) } else { 0 } }";
    for (extra, deepest) in [("", 8), ("const LIMIT = 3;", 8)] {
        let script = Scripts::new(limits).compile(&format!("{extra} {down}")).unwrap();
        assert!(script.call("down", &[Value::Int(deepest)]).is_ok());
        let error = script.call("down", &[Value::Int(deepest + 1)]).err().unwrap();
        assert!(error.message.contains("too deeply"), "{error}");
    }
    // the function is called by the statement, which is one call more
    let evaluated = |n: i64| Scripts::new(limits).compile(&format!("{down} down({n})")).unwrap().eval(&Map::default());
    assert!(evaluated(7).is_ok());
    assert!(evaluated(8).err().unwrap().message.contains("too deeply"));
}
