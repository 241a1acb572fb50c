//! Scripts that stay within each single limit and would take hours or gigabytes: all that they do is paid for.

use serde_json::{Value as Json, json};
use tapster::model::Map;
use tapster::text::script::{Argument, Script, ScriptLimits, Scripts};
use tapster::text::work::Door;
use tapster::{ErrorKind, Scene, Value, WorkLimits, build};

use crate::own;

/// A call of `run()`, or of the whole script: the error if there is one, and the steps and bytes that were paid.
fn ran(source: &str, limits: ScriptLimits) -> (Option<String>, (u64, u64)) {
    let door = Door::join();
    let script = match Scripts::new(limits).compile(source) {
        Ok(script) => script,
        Err(error) => return (Some(error.to_string()), door.spent()),
    };
    let result = if source.contains("fn run()") { script.call("run", &[]) } else { script.eval(&Map::default()) };
    (result.err().map(|error| error.to_string()), door.spent())
}

/// The default limits, and the largest that a pack may set.
fn all_limits() -> [ScriptLimits; 2] {
    let default = ScriptLimits::default();
    [default, ScriptLimits { operations: 2_000_000, calls: 256, text: 160 << 10, list: 10_000, map: 10_000, ..default }]
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
];

/// Loops, copies, texts and functions of every kind. Each ends within the work of one build, with the limits of every pack.
#[test]
fn endless_scripts_end_within_the_work_of_a_build() {
    let most = WorkLimits::default();
    let mut wrong = String::new();
    let rows: Vec<&str> = include_str!("endless/scripts.txt").lines().collect();
    assert_eq!(rows.len(), 73);
    for (row, limits) in rows.iter().flat_map(|row| all_limits().map(|limits| (row, limits))) {
        let (what, source) = row.split_once('\t').unwrap();
        let (error, (steps, bytes)) = ran(source, limits);
        // a few of them end by themselves
        let ended = error.as_ref().is_none_or(|error| ENDS.iter().any(|words| error.contains(words)));
        if !ended || steps > most.steps || bytes > most.bytes {
            wrong += &format!("{what}: {error:?}, {steps} steps, {bytes} bytes\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Scripts that functions of the interpreter made endless: padding with long texts or with none, functions that are not there,
/// many variables.
#[test]
fn functions_that_make_much_of_little_are_paid() {
    for source in [
        include_str!("endless/r_fnptr16_default/scripts/evil.rhai"),
        include_str!("endless/r_g_many_vars_read/scripts/evil.rhai"),
        include_str!("endless/r_pad_default/scripts/evil.rhai"),
        include_str!("endless/r_padchar/scripts/evil.rhai"),
        include_str!("endless/r_s87/scripts/evil.rhai"),
        "fn evil(items, scene) { loop { let s = \"\"; s.pad(10, \"\"); } }",
        "fn evil(items, scene) { let i = 0; loop { i += 1; try { Fn(\"z\" + i).call(i, i, i, i, i, i, i) } catch { } } }",
        "fn evil(items, scene) { let s = \"\"; s.pad(16_000, 'x'); loop { s.split(\"\").len(); s.split('x').len(); s.to_chars(); } }",
        "const A = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]; fn evil(items, scene) { loop { let a = global::A; } }",
    ] {
        for limits in all_limits() {
            let (error, (steps, bytes)) = ran(&format!("{source}\nfn run() {{ evil([], #{{}}) }}"), limits);
            let error = error.unwrap_or_else(|| panic!("{source}: it ends"));
            assert!(ENDS.iter().any(|words| error.contains(words)) || error.contains("more than 8 arguments"), "{source}: {error}");
            let most = WorkLimits::default();
            assert!(steps <= most.steps && bytes <= most.bytes, "{source}: {steps} steps, {bytes} bytes");
        }
    }
}

/// Values of closures never stand inside of lists, which the interpreter cannot measure.
#[test]
fn values_of_closures_are_copied_into_lists() {
    for source in [
        "let x = [1]; let f = || x; let a = [0, 0].map(|n| f.call()); a.push(x); a += [x]; a.len()",
        "let x = [1]; let f = || x; let a = [0, 0]; a[0] = x; a[1] = f.call(); a.push(#{ y: x, z: f.call() }); a.push(1); a.len()",
        "let x = [1]; let f = |n| x; let a = [1].map(f) + [1].filter(|n| x.len() > 0); a.push([x, f.call(1)]); a.reduce(|s, n| x); a.len()",
        "let x = #{ a: [1] }; let f = || x; x.b = x; x.a.push(f.call()); let l = [x.a, x]; l.insert(0, x); l.len()",
        "let x = 1; let f = || { x += 1; x }; let a = []; a.pad(3, x); for n in 0..3 { a[n] = x; f.call(); a.push(x); } a.len()",
    ] {
        let result = Script::compile(source).unwrap_or_else(|e| panic!("{e}: {source}")).eval(&Map::default());
        assert!(result.is_ok(), "{source}: {result:?}");
    }
}

/// The interpreter sleeps before it gives up a value that is being changed, which no step counts: the script ends at once, and
/// cannot catch it.
#[test]
fn a_script_that_waits_for_its_own_values_ends() {
    for source in ["let a = [1, 2]; a.map(|x| a.len())", "let a = [1, 2]; let f = || a.len(); a.map(|x| f.call())"] {
        let error = Script::compile(source).unwrap().eval(&Map::default()).err().unwrap();
        assert!(error.message.contains("while it is being changed"), "{source}: {error}");
    }
    let caught = "let a = [1, 2]; loop { try { a.map(|x| a.len()); } catch { } }";
    assert!(Script::compile(caught).err().unwrap().message.contains("catches errors"));
    let modules =
        [("a", "fn wait() { let a = [1, 2]; a.map(|x| a.len()) }"), ("b", "import \"a\" as a; fn f() { try { a::wait() } catch { } }")];
    assert!(Scripts::with_modules(ScriptLimits::default(), &modules).err().unwrap().1.message.contains("catches errors"));
}

/// Loading a script takes the square of some of its parts, so its length is bounded.
#[test]
fn scripts_that_are_too_long_are_refused() {
    let error = Script::compile(&"let a = 1;\n".repeat(10_000)).err().unwrap();
    assert!(error.message.contains("more than 65536 bytes"), "{error}");
    let mut bytes = 192 << 10;
    let error = Script::compile_among("1", &mut bytes).err().unwrap();
    assert!(error.message.contains("rows of the pack"), "{error}");
    let error = Script::compile("f(1, 2, 3, 4, 5, 6, 7, 8, 9)").err().unwrap();
    assert!(error.message.contains("more than 8 arguments") && error.line == 1, "{error}");
}

#[test]
fn recursion_through_callbacks_ends() {
    let source = "fn f(n) {\n  [1].map(|x| f(n + 1))\n}\nfn run() { f(0) }";
    let error = ran(source, ScriptLimits::default()).0.unwrap();
    assert!(error.contains("functions call each other too deeply"), "{error}");
}

/// What scripts with payments give: the same as without.
#[test]
fn scripts_mean_what_they_mean() {
    for (source, expected) in [
        ("let a = [3, 1, 2]; a.sort(); a", json!([3, 1, 2].iter().copied().collect::<std::collections::BTreeSet<i64>>())),
        ("let a = [1]; push(a, 2); a.push(3); len(a)", json!(3)),
        ("fn add(list) { list.push(9); list } let a = [1]; add(a); a.len()", json!(1)),
        ("let a = [1, 2]; let b = a; b[0] = 9; a[0]", json!(1)),
        ("let m = #{ a: #{ b: [1] } }; m.a.b.push(2); m.a.b[0] += 5; m", json!({ "a": { "b": [6, 2] } })),
        ("let n = 1; let f = || { n += 1; n }; f.call(); f.call(); n", json!(3)),
        ("let f = |x, y| x * y; [1, 2, 3].map(|x| f.call(x, 2))", json!([2, 4, 6])),
        ("let a = 40; let f = |b| g(a, b); fn g(a, b) { a + b } f.call(2)", json!(42)),
        ("fn string.len() { 42 } let m = #{ t: \"abc\" }; m.t.len()", json!(42)),
        ("let a = 1; `\\` + `\\\\` + `\\${a}` + `\\\\${a}` + `\\$${a}` + `${\"x\"}\\`", json!(r"\\\${a}\${a}\$1x\")),
        ("let a = 1; // a\r a += 1;\n a", json!(2)),
        ("let s = \"abc\"; s.replace(\"b\", \"xx\"); s + s.len()", json!("axxc4")),
        ("let s = \"\"; for (c, i) in \"abc\" { s += `${c}${i + `${s.len()}`}`; } s", json!("a00b13c26")),
        ("let x = 5; switch x { 1 | 2 => \"low\", 5 if x > 4 => \"five\", _ => \"other\" }", json!("five")),
        ("let a = [1, 2, 3, 4]; a.filter(|x| x % 2 == 0).reduce(|sum, x| sum + x, 0)", json!(6)),
        ("let m = #{}; m.x?.y ?? \"none\"", json!("none")),
        ("const LIMIT = 3; let n = 0; while n < LIMIT { n += 1; if n == 2 { continue; } } n", json!(3)),
        ("let a = []; a.pad(3, \"x\"); a.index_of(\"x\") + a.len()", json!(3)),
        ("fn f(n) { if n == 0 { return 0; } n + f(n - 1) } f(10)", json!(55)),
        ("let a = [[1, 2], [3]]; a[0][1] = 7; a[1] += 4; a", json!([[1, 7], [3, 4]])),
        ("let r = \"\"; try { throw 7; } catch (e) { r = `caught ${e}`; } try { missing } catch { r += \"!\"; } r", json!("caught 7!")),
        ("let x = if true { let y = 2; y } else { 3 }; x", json!(2)),
        ("type_of([1]) + is_def_var(\"q\") + type_of(1)", json!("arrayfalsei64")),
        ("let a = [1, 2]; 2 in a && a == [1, 2] && \"x\" in #{ x: 1 }", json!(true)),
        ("do { let z = 1; } while false; loop { break; } 1.5e0 + 1.0", json!(2.5)),
    ] {
        let script = Script::compile(source).unwrap_or_else(|e| panic!("{e}: {source}"));
        let value = script.eval(&Map::default()).unwrap_or_else(|e| panic!("{e}: {source}"));
        assert_eq!(value.to_json(), expected, "{source}");
    }
}

/// A build with a hook that runs a script of the pack.
fn hooked(script: &str, limits: &str) -> Result<tapster::Plan, tapster::BuildError> {
    let rules =
        "kind = \"hooks\"\nversion = 1\n[[hook]]\nname = \"mine\"\nevent = \"before_build\"\nrun = \"mine::run\"\nfailing = \"error\"\n";
    let pack = own::pack(limits, &[("scripts/mine.rhai", script), ("hooks.toml", rules)]).unwrap();
    build(&pack, &Scene::new(&json!({ "history": [{ "role": "user", "text": "Hi" }], "context": { "tokenizer": "words" } })))
}

#[test]
fn a_build_ends_when_its_scripts_have_spent_everything() {
    let script = "fn run(items, scene) { let a = []; a.pad(900, 0); loop { let c = a; } }";
    let error = hooked(script, "[limits]\nscript_operations = 2_000_000\n").err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
    assert!(error.message.contains("it ended in rule `build/hooks`"), "{error}");
}

#[test]
fn a_pack_can_lower_the_bound_and_not_raise_it() {
    let script = "fn run(items, scene) { for i in 0..1000 { } () }";
    assert!(hooked(script, "").is_ok());
    let error = hooked(script, "[limits]\nwork_steps = 2_000\n").err().unwrap();
    assert!(*error.kind() == ErrorKind::Bound && error.message.contains("more than 2000 steps"), "{error}");
    let most = WorkLimits::default();
    let more = format!("[limits]\nwork_steps = {}\n", most.steps + 1);
    let refused = own::pack(&more, &[]).err().unwrap().to_string();
    assert!(refused.contains("work_steps") && refused.contains("schema.value"), "{refused}");
}

/// What functions with callbacks give, which the engine has for itself.
#[test]
fn functions_with_callbacks_mean_what_they_mean() {
    for (source, expected) in [
        ("[1, 2, 3].map(|x, n| x * n)", json!([0, 2, 6])),
        ("let k = 2; [1, 2].map(|x| x * k)", json!([2, 4])),
        ("let k = 2; [1, 2].map(|x, n| x * k + n)", json!([2, 5])),
        ("fn twice(x) { x * 2 } [1, 2].map(Fn(\"twice\")) + [1].map(\"twice\")", json!([2, 4, 2])),
        ("[-1, 2].map(Fn(\"abs\"))", json!([1, 2])),
        ("[1, 2, 3, 4].filter(|x| x % 2 == 0)", json!([2, 4])),
        ("[[1, 2].some(|x| x > 1), [1, 2].all(|x| x > 1), [].some(|x| true), [].all(|x| false)]", json!([true, false, false, true])),
        ("[5, 6, 7].index_of(|x| x > 5)", json!(1)),
        ("[5, 6, 7].index_of(|x| x > 4, -1)", json!(2)),
        ("[5, 6, 7].index_of(|x| x > 4, 9)", json!(-1)),
        ("[[5, 6, 7].find(|x| x > 5), [5].find(|x| x > 5), [5, 6].find(|x| true, 1)]", json!([6, null, 6])),
        ("[#{ a: 1 }, #{ b: 2 }].find_map(|x| x.b)", json!(2)),
        ("[1, 2, 3].reduce(|sum, x| if sum == () { x } else { sum + x })", json!(6)),
        ("[1, 2, 3].reduce(|sum, x, n| sum + x * n, 10)", json!(18)),
        ("[1, 2, 3].reduce_rev(|text, x, n| text + `${x}${n} `, \"\")", json!("32 21 10 ")),
        ("[1, 9].reduce(Fn(\"max\"), 4)", json!(9)),
        ("[1, 2, 3].zip([4, 5], |x, y| x * y) + [1].zip([2], |x, y, n| n)", json!([4, 10, 0])),
        ("let a = [1, 1, 2, 4, 5, 7]; a.dedup(|x, y| y - x < 2); a", json!([1, 4, 7])),
        ("let a = [1, 2, 3, 4]; let b = a.drain(|x| x < 3); [a, b]", json!([[3, 4], [1, 2]])),
        ("let a = [1, 2, 3, 4]; let b = a.retain(|x, n| n > 1); [a, b]", json!([[3, 4], [1, 2]])),
        ("let a = [3, 1, 2]; [a.order(|x, y| x - y), a.order_by(|x, y| y - x), a]", json!([[1, 2, 3], [3, 2, 1], [3, 1, 2]])),
        ("#{ a: 1, b: 2 }.map(|key, x| `${key}${x}`)", json!({ "a": "a1", "b": "b2" })),
        ("#{ a: 1, b: 2 }.filter(|key, x| x > 1)", json!({ "b": 2 })),
        ("let m = #{ a: 1, b: 2 }; let n = m.drain(|key, x| key == \"a\"); [m, n]", json!([{ "b": 2 }, { "a": 1 }])),
        ("const A = [1, 2]; A.map(|x| x + 1)", json!([2, 3])),
        ("[\"x\", #{ a: 1 }].index_of(#{ a: 1 }) + [\"x\", \"y\"].index_of(\"y\")", json!(2)),
        ("[1, 2, 3].extract(1) + [1, 2, 3].extract(0..1) + [1, 2, 3].extract(0..=1)", json!([2, 3, 1, 1, 2])),
    ] {
        let script = Script::compile(source).unwrap_or_else(|e| panic!("{e}: {source}"));
        let value = script.eval(&Map::default()).unwrap_or_else(|e| panic!("{e}: {source}"));
        assert_eq!(value.to_json(), expected, "{source}");
    }
    for (source, told) in [
        ("const A = [1]; A.drain(|x| true)", "onstant"),
        ("[1].map(|x| throw \"odd\")", "odd"),
        ("[1].map(\"no such\")", "no such"),
        ("fn f(a, b, c, d) { 1 } [1].map(Fn(\"f\"))", "not found"),
    ] {
        let error = Script::compile(source).unwrap_or_else(|e| panic!("{e}: {source}")).eval(&Map::default()).err();
        let error = error.unwrap_or_else(|| panic!("{source}: nothing refuses it"));
        assert!(error.message.contains(told), "{source}: {error}");
    }
}

/// A script is given a large scene: what it copies of it is paid, and reading single fields is cheap.
#[test]
fn copies_of_what_a_script_is_given_are_paid() {
    let history: Vec<Json> = (0..2_000).map(|n| json!({ "role": "user", "text": format!("message {n}"), "tags": ["a", "b"] })).collect();
    let scene = Value::from(&json!({ "type": "normal", "history": history }));
    let steps = |source: &str| {
        let script = Script::compile(source).unwrap();
        let door = Door::join();
        let result = script.call_with("run", &[Argument::Scene(scene.clone())]);
        (result.is_ok(), door.spent().0)
    };
    let (_, given) = steps("fn run(scene) { 0 }");
    let (read, reading) = steps("fn run(scene) { let n = 0; for i in 0..100 { n += scene.at(`history.${i}.text`).len(); } n }");
    assert!(read && reading < given + 40_000, "reading fields is cheap: {reading}");
    let (_, copying) = steps("fn run(scene) { for i in 0..100 { let h = scene.history; } 0 }");
    assert!(copying > given + 100 * 5_000, "copies are paid: {copying}");
}

/// Attempts to reach anything but what a call is given.
const OUTSIDE: &[(&str, &str)] = &[
    ("open_file(\"/etc/passwd\")", "Function not found"),
    ("read_file(\"pack.toml\")", "Function not found"),
    ("import \"/etc/passwd\" as x; x::f()", "Module not found"),
    ("import \"../other/scripts/mine\" as x; x::f()", "Module not found"),
    ("import \"mine.rhai\" as x; x::f()", "Module not found"),
    ("import \"zz_later\" as x; x::f()", "Module not found"),
    ("env(\"HOME\")", "Function not found"),
    ("timestamp()", "Function not found"),
    ("now()", "Function not found"),
    ("rand()", "Function not found"),
    ("sleep(1)", "may not wait"),
    ("sleep(0.5)", "may not wait"),
    ("call_host(\"x\")", "Function not found"),
];

#[test]
fn a_script_reaches_nothing_outside() {
    for (body, told) in OUTSIDE {
        let error = hooked(&format!("fn run(items, scene) {{ {body} }}"), "").err().unwrap_or_else(|| panic!("{body}: nothing refuses it"));
        assert!(error.message.contains(told) && error.message.contains("p/scripts/mine.rhai"), "{body}: {}", error.message);
    }
    for body in ["eval(\"1\")", "this.x", "Fn(\"f\").curry(1)"] {
        assert!(Script::compile(&format!("fn run(items, scene) {{ {body} }}")).is_err(), "{body}");
    }
}

/// A comparison that fails ends the sort with its error, and one without an order gives some order.
#[test]
fn sorting_hides_no_errors() {
    let eval = |source: &str| Script::compile(source).unwrap().eval(&Map::default());
    let error = eval("let a = [3, 1, 2];\na.sort(|x, y| throw \"odd\");").err().unwrap();
    assert!(error.message.contains("odd") && error.line == 2, "{error}");
    assert!(eval("let a = [3, 1, 2]; a.sort(|x, y| ());").err().unwrap().message.contains("gives a number"));
    let kept = eval("let a = [3, 1, 2]; try { a.sort(|x, y| throw 1); } catch { } a").unwrap();
    assert_eq!(kept.to_json(), json!([3, 1, 2]));
    let door = Door::join();
    let any =
        eval("let a = []; for i in 0..300 { a.push(i * 7919 % 300); } let n = 0; a.sort(|x, y| { (x * y + x) % 3 - 1 }); a.len()").unwrap();
    assert_eq!(any.to_json(), json!(300));
    assert!(door.spent().0 < 1_000_000, "{:?}", door.spent());
    drop(door);
    let lists = eval("let a = []; a.pad(200, 0); let b = [a, a, a, a]; loop { b.sort(|x, y| 1); }").err().unwrap();
    assert!(ENDS.iter().any(|words| lists.message.contains(words)), "what the function is given is paid: {lists}");
    let stable = eval("let a = [[2, 'a'], [1, 'b'], [2, 'c'], [1, 'd']]; a.sort(|x, y| x[0] - y[0]); a.map(|x| x[1])").unwrap();
    assert_eq!(stable.to_json(), json!(["b", "d", "a", "c"]));
}

/// Items are read lazily: what is read and what is put into them is paid, and nothing nests or doubles without end.
#[test]
fn views_are_paid_and_bounded() {
    let long = "x".repeat(100_000);
    let scene = Value::from(&json!({ "long": long, "history": vec![json!({ "text": "a" }); 5_000] }));
    let run = |body: &str| {
        let script = Script::compile(&format!("fn run(item, scene) {{ {body} }}")).unwrap();
        let door = Door::join();
        let item = Argument::Item("blocks".into(), Value::from(&json!({ "text": "t" })));
        let result = script.call_with("run", &[item, Argument::Scene(scene.clone())]);
        (result.map_err(|e| e.to_string()), door.spent())
    };
    let (nothing, (idle, _)) = run("0");
    assert!(nothing.is_ok() && idle < 1_000, "a scene that is not read costs nothing: {idle}");
    let (_, (at, _)) = run("scene.at(\"history.4999.text\") + scene.count(\"history\")");
    assert!(at < 1_000, "one value costs one value: {at}");
    let (_, (whole, _)) = run("scene.history.len()");
    assert!(whole >= 5_000, "a list that is read is paid: {whole}");
    for (body, told) in [
        ("loop { item.x = item; }", &["nested too deeply", "too many steps"][..]),
        ("loop { item.x = item; item.y = item; }", &["too large", "nested too deeply", "takes more than", "makes more than"]),
        ("loop { let h = scene.history; }", &["too many steps", "makes more than", "takes more than"]),
        ("loop { let t = scene.long; }", &["too many steps", "makes more than", "takes more than"]),
        ("let t = scene.long; t += t; t", &["too large", "Length"]),
        ("loop { let m = scene.to_map(); }", &["takes more than", "makes more than"]),
        ("loop { scene == scene; }", &["too many steps", "takes more than", "makes more than"]),
        ("loop { scene.to_json(); }", &["takes more than", "makes more than", "too large"]),
        ("let n = 0; loop { item[`k${n}`] = n; n += 1; }", &["too many steps", "makes more than"]),
    ] {
        let error = run(body).0.err().unwrap_or_else(|| panic!("{body}: it ends with an error"));
        assert!(told.iter().any(|words| error.contains(words)), "{body}: {error}");
    }
}

/// Which functions were found is kept from call to call: what a call gives, pays and may do is the same the first time and
/// later, also with other types, and also after an error.
#[test]
fn a_call_does_not_depend_on_earlier_calls() {
    let source = "fn add(a, b) { a + b } fn same(a, b) { a == b } fn long(t) { t.len() } fn deep(n) { deep(n + 1) }";
    let script = Script::compile(source).unwrap();
    let view = Value::from(&json!({ "text": "t" }));
    let (number, text) = (Value::from(&json!(1)), Value::from(&json!("a")));
    let call = |function: &str, args: &[&Value]| {
        let args: Vec<Argument> = args.iter().map(|value| Argument::Item("".into(), (*value).clone())).collect();
        let door = Door::join();
        let result = script.call_with(function, &args).map(|value| value.to_json()).map_err(|e| e.to_string());
        (result, door.spent())
    };
    let attempts: &[(&str, &[&Value])] = &[
        ("add", &[&number, &number]),
        ("add", &[&text, &text]),
        ("add", &[&view, &view]),
        ("add", &[&text, &number]),
        ("same", &[&view, &view]),
        ("same", &[&number, &text]),
        ("long", &[&text]),
        ("long", &[&view]),
        ("long", &[&number]),
        ("deep", &[&number]),
        ("len", &[&text]),
        ("long", &[&text, &text]),
    ];
    let first: Vec<_> = attempts.iter().map(|(function, args)| call(function, args)).collect();
    assert_eq!(first[0].0, Ok(json!(2)));
    assert_eq!(first[1].0, Ok(json!("aa")));
    assert!(first[9].0.as_ref().is_err_and(|e| e.contains("too deeply")), "{first:?}");
    assert!(first[10].0.as_ref().is_err_and(|e| e.contains("Function not found")), "only its own functions are called: {first:?}");
    for _ in 0..4 {
        let later: Vec<_> = attempts.iter().map(|(function, args)| call(function, args)).collect();
        assert_eq!(first, later);
    }
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

/// The scales in front of functions change nothing of their meaning.
#[test]
fn operators_mean_what_they_mean() {
    for (source, expected) in [
        ("let n = 9; let m = 4; n - m - 1", json!(4)),
        ("let n = 9; let m = 4; n - m * 2 - -m", json!(5)),
        ("let n = 2; 1 + n * 3 - n - 1.5", json!(3.5)),
        ("let n = 5; let f = |x| -x - n; f.call(1)", json!(-6)),
        ("let n = 5; if n > 1 { n -= 2; } -n", json!(-3)),
        ("let n = 5; n -= { let a = 1; a + 1 }; n", json!(3)),
        ("let n = 5; n -= n - 1; n", json!(1)),
        ("let s = \"abcb\"; s -= \"b\"; s - 'c'", json!("a")),
        ("let m = #{ s: \"abc\", n: 3 }; m.s -= 'a'; m.n -= m.n; m.s + m.n", json!("bc0")),
        ("let s = \"abc\"; s[1] = 'x'; let a = [s]; a[0][2] = 'y'; s + a[0]", json!("axcaxy")),
        ("let a = [1, 2]; a[0] = a[1] - a[0]; a[-1] = [a[0]]; a", json!([1, [1]])),
        ("let m = #{}; m[\"k\"] = 'c'; m[\"l\"] = if true { 2 } else { 3 }; m", json!({ "k": "c", "l": 2 })),
        ("switch 2 { 1 => 0, 2 => { let a = 7; a - 2 - 1 } }", json!(4)),
        ("let x = 3; `${x - 1}` + `a${x}` - 'a'", json!("23")),
        (
            "let s = \"a\"; s += 1; s += 2.5; s += (); s += true; s += [1, \"b\"]; s += #{ c: 'd' }; s",
            json!("a12.5true[1, \"b\"]#{\"c\": d}"),
        ),
        (
            "let m = #{ s: \"a\", l: [[1], 'x'] }; m.s += \"b\"; m.l[0] += 2; m.l[1] += 'y'; m[\"s\"] += m.s; m",
            json!({ "s": "abab", "l": [[1, 2], "xy"] }),
        ),
        ("const S = \"abcd\"; let t = \"\"; for c in S.chars(1, 2) { t += c; } t + S.len", json!("bc4")),
    ] {
        let script = Scripts::new(ScriptLimits::default()).compile(source).unwrap_or_else(|e| panic!("{e}: {source}"));
        let value = script.eval(&Map::default()).unwrap_or_else(|e| panic!("{e}: {source}"));
        assert_eq!(value.to_json(), expected, "{source}");
    }
}

/// What a script is given may be larger than what it may make, and may stay in a variable of a loop.
#[test]
fn what_is_read_of_a_scene_is_not_refused() {
    let history = vec![json!({ "text": "x".repeat(200) }); 100];
    let scene = Value::from(&json!({ "history": history, "words": vec!["lighthouse"; 3_000], "nums": vec![7; 20_000] }));
    let run = |body: &str| {
        let script = Script::compile(&format!("fn run(scene) {{ {body} }}")).unwrap();
        script.call_with("run", &[Argument::Scene(scene.clone())]).map(|value| value.to_json())
    };
    assert_eq!(run("scene.history.map(|m| m.text).len()").unwrap(), json!(100));
    assert_eq!(run("let w = scene.words; let n = 0; for x in w { n += x.len; } n").unwrap(), json!(30_000));
    assert_eq!(run("let h = scene.nums; let n = 0; for k in 0..3000 { n += k; } n").unwrap(), json!(4_498_500));
}

#[test]
fn constants_are_not_changed() {
    for source in ["const B = [3, 1, 2]; B.sort(|a, b| a - b); B", "const T = \"abc\"; T.pad(5, \"x\"); T", "const B = [1]; B.push(2); B"] {
        let error = Script::compile(source).unwrap().eval(&Map::default()).err().unwrap();
        assert!(error.message.contains("constant"), "{source}: {error}");
    }
}
