//! Scripts that stay within each single limit and would take hours or gigabytes: all that they do is paid for.

use serde_json::{Value as Json, json};
use tapster::model::Map;
use tapster::text::script::{Argument, Script, ScriptLimits, Scripts};
use tapster::text::work::Door;
use tapster::{ErrorKind, Scene, Value, WorkLimits, build};

use crate::own;

/// A call of `run()` of a script with limits that only a large pack would ask for: the error, and the steps and bytes
/// that were paid.
fn refused(source: &str, limits: ScriptLimits) -> (String, u64) {
    let script = Scripts::new(limits).compile(source).unwrap_or_else(|e| panic!("{e}: {source}"));
    let door = Door::join();
    let error = script.call("run", &[]).err().map(|e| e.to_string()).unwrap_or_else(|| panic!("it ends: {source}"));
    (error, door.spent().0)
}

/// Loops, copies and texts of every kind, each of which ends with an error.
const ENDLESS: &[(&str, &str)] = &[
    ("callbacks inside callbacks", "fn l(n) { let a = []; a.pad(900, 0); if n > 0 { a.map(|x| l(n - 1)); } 0 } fn run() { l(7) }"),
    ("filters inside filters", "fn l(n) { let a = []; a.pad(900, 0); a.filter(|x| { if n > 0 { l(n - 1); } true }); 0 } fn run() { l(9) }"),
    ("a text in back-ticks that ends with a backslash", "fn run() { let s = `\\`; let t = \"xxxxxxxx\"; loop { t += t; } // `\n }"),
    ("a comment that ends with a carriage return", "fn run() { //\r let t = \"xxxxxxxx\"; loop { t += t; }\n }"),
    ("closures that hold closures", "fn run() { let f = || 0; loop { let g = f; f = || g.call(); } }"),
    (
        "lists of lists",
        "fn run() { let a = []; a.pad(900, 0); let b = []; b.pad(900, 0); for i in 0..900 { b[i] = a; } let c = []; loop { c.push(b); } }",
    ),
    ("tables that are written by index", "fn run() { let m = #{}; let n = 0; loop { m[`k${n}`] = m; n += 1; } }"),
    ("tables that are written by name", "fn run() { let m = #{}; loop { m.a = m; m.b = m; } }"),
    (
        "copies of a list",
        "fn run() { let a = []; a.pad(900, 0); let b = []; b.pad(900, 0); for i in 0..900 { b[i] = a; } loop { let c = b; } }",
    ),
    ("lists that are compared", "fn run() { let a = []; a.pad(900, 0); loop { a == a; } }"),
    ("lists that are searched", "fn run() { let a = []; a.pad(900, 0); loop { a.index_of(1); a.contains(1); a.sort(); a.dedup(); } }"),
    ("texts that are searched", "fn run() { let s = \"a\"; s.pad(16000, 'a'); loop { s.contains(\"b\"); s.index_of('b'); } }"),
    ("texts that are joined", "fn run() { let s = \"a\"; loop { s += s; } }"),
    (
        "many long texts",
        "fn run() { let s = \"\"; s.pad(16000, 'a'); let a = []; a.pad(900, 0); let m = #{}; loop { for i in 0..900 { a[i] = s + i; } m[s.len().to_string() + a.len()] = a; } }",
    ),
    ("replacements", "fn run() { let s = \"\"; s.pad(16000, 'a'); loop { let t = s; try { t.replace(\"a\", s); } catch { } } }"),
    ("texts that are taken apart", "fn run() { let s = \"\"; s.pad(900, 'a'); loop { s.split(\"\"); s.chars(); s.to_chars(); } }"),
    (
        "frames full of lists",
        "fn f(n) { let a = []; a.pad(900, 0); let b = a; let c = b; let d = c; if n > 0 { f(n - 1); f(n - 1); } a } fn run() { f(30) }",
    ),
    ("texts of values", "fn run() { let a = []; a.pad(900, 0); loop { try { a.to_string(); } catch { } try { print(a); } catch { } } }"),
    ("errors that are caught", "fn run() { loop { try { throw [1, 2, 3]; } catch (e) { let x = e; } } }"),
];

#[test]
fn what_a_script_does_is_paid_whatever_it_calls() {
    for (what, source) in ENDLESS {
        for operations in [ScriptLimits::default().operations, 2_000_000] {
            let (error, _) = refused(source, ScriptLimits { operations, ..ScriptLimits::default() });
            let told = ["too many steps", "too deeply", "deeper than", "takes more than", "makes more than", "too large", "Length", "Size"];
            assert!(told.iter().any(|words| error.contains(words)), "{what}: {error}");
        }
    }
}

#[test]
fn operations_are_counted_across_callbacks() {
    let (_, source) = ENDLESS[0];
    let (error, steps) = refused(source, ScriptLimits::default());
    assert!(error.contains("the script takes too many steps (line 1"), "{error}");
    assert!(steps < 5_000_000, "100,000 operations take {steps} steps");
}

#[test]
fn recursion_through_callbacks_ends_with_the_place() {
    let source = "fn f(n) {\n  [1].map(|x| f(n + 1))\n}\nfn run() { f(0) }";
    let (error, _) = refused(source, ScriptLimits::default());
    assert!(error.contains("functions call each other too deeply (line 2"), "{error}");
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
        ("fn inc() { this.n += 1; this.n } let m = #{ n: 1 }; m.inc(); m.n", json!(2)),
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

/// The interpreter waits for a lock before it gives up, which no limit on operations would end.
#[test]
fn waiting_for_a_value_that_is_being_changed_is_paid() {
    let source = "let a = [1, 2]; loop { try { a.for_each(|| { a[0] }); } catch { } }";
    let door = Door::join();
    let error = Script::compile(source).unwrap().eval(&Map::default()).err().unwrap();
    assert!(error.message.contains("while it is being changed"), "{error}");
    assert!(door.spent().0 >= 10_000_000, "{:?}", door.spent());
}

/// The interpreter ends a line with a carriage return that ends a comment or begins a text in back-ticks; a script does not.
#[test]
fn places_behind_a_carriage_return_are_those_of_the_script() {
    for source in [
        "let a = 1; // one\r let b = a; b + oops;\n 1",
        "let a = 1; // one\r let b = a; // two\r b + oops",
        "let a = `\r`; let b = a; b + oops",
        "let a = `x${1 // one\r + oops}`;",
        "// one\r\nlet a = `\r\n`; let b = a;\r b + oops",
        "/* one\r */ let a = \"\r\"; a + oops",
        "let a = 1;\n// one\r let b = (a + oops oops;",
        "let a = 1;\n// one\r let b = ((a + ] oops;",
    ] {
        let error = match Script::compile(source) {
            Ok(script) => script.eval(&Map::default()).err().unwrap_or_else(|| panic!("{source:?}: it fails")),
            Err(error) => error,
        };
        let at = source.find("oops oops").map(|at| at + 5).or_else(|| source.find("] oops")).or_else(|| source.find("oops")).unwrap();
        let before = source.get(..at).unwrap();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        assert_eq!((error.line, error.column), (line, column), "{source:?}: {error}");
    }
}

#[test]
fn the_names_of_the_engine_are_its_own() {
    let error = Script::compile("fn __copied(x) { x } 1").err().unwrap();
    assert!(error.message.contains("belong to the engine"), "{error}");
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
    let error = hooked(script, "[limits]\nscript_operations = 10_000_000\n").err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
    assert!(error.message.contains("script function `run`"), "{error}");
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

/// A native function is given its first argument as it is, but for a constant and a variable of closures, which are copied.
#[test]
fn arguments_that_a_native_function_copies_are_paid() {
    let spent = |body: &str| {
        let source = format!("fn run() {{ let a = []; a.pad(900, 0); {body} 0 }}");
        let script = Script::compile(&source).unwrap_or_else(|e| panic!("{e}: {body}"));
        let door = Door::join();
        let result = script.call("run", &[]).map(|value| value.to_json()).map_err(|e| e.to_string());
        assert_eq!(result, Ok(json!(0)), "{body}");
        door.spent().0
    };
    let seen = spent("for i in 0..100 { is_empty(a); type_of(a); }");
    assert!(seen < 90_000, "nothing is copied: {seen}");
    for body in [
        "const B = a; for i in 0..100 { is_empty(B); }",
        "const B = a; for i in 0..100 { len(B).to_string(); }",
        "let k = || a; for i in 0..100 { is_empty(a); }",
        "for i in 0..100 { try { Fn(a); } catch { } }",
        "for i in 0..100 { try { is_def_var(a); } catch { } }",
    ] {
        let copied = spent(body);
        assert!(copied > 90_000, "{body}: {copied}");
    }
}

/// Elements that are copied for a callback are paid, and those that it sees as `this` are not: a hundred calls with a list of
/// 900 numbers took some 10,000 steps before, whichever copies they made.
#[test]
fn elements_that_are_copied_for_callbacks_are_paid() {
    let spent = |body: &str| {
        let source = format!("fn run() {{ let a = []; a.pad(900, 0); let a = [a]; {body} 0 }}");
        let script = Script::compile(&source).unwrap_or_else(|e| panic!("{e}: {body}"));
        let door = Door::join();
        let result = script.call("run", &[]).map(|value| value.to_json()).map_err(|e| e.to_string());
        assert_eq!(result, Ok(json!(0)), "{body}");
        door.spent().0
    };
    for body in ["a.map(|| 1)", "a.for_each(|| this.len())", "a.for_each(|n| n)", "let k = 1; a.for_each(|| k)", "a.some(|| true)"] {
        let seen = spent(&format!("for i in 0..100 {{ {body}; }}"));
        assert!(seen < 50_000, "{body}: nothing is copied: {seen}");
    }
    for body in ["a.map(|x| 1)", "a.map(|x, n| 1)", "let k = 1; a.map(|x| k)", "a.reduce(|sum, x| 1, 0)", "a.find(|x| false)"] {
        let copied = spent(&format!("for i in 0..100 {{ {body}; }}"));
        assert!((250_000..350_000).contains(&copied), "{body}: each element is copied once: {copied}");
    }
}

/// What functions with callbacks give, which the engine has for itself.
#[test]
fn functions_with_callbacks_mean_what_they_mean() {
    for (source, expected) in [
        ("[1, 2, 3].map(|x, n| x * n)", json!([0, 2, 6])),
        ("[1, 2, 3].map(|| this + 1)", json!([2, 3, 4])),
        ("let k = 2; [1, 2].map(|x| x * k)", json!([2, 4])),
        ("let k = 2; [1, 2].map(|x, n| x * k + n)", json!([2, 5])),
        ("fn twice(x) { x * 2 } [1, 2].map(Fn(\"twice\")) + [1].map(\"twice\")", json!([2, 4, 2])),
        ("fn twice() { this * 2 } [1, 2].map(Fn(\"twice\"))", json!([2, 4])),
        ("[-1, 2].map(Fn(\"abs\"))", json!([1, 2])),
        ("let a = [1, 2]; a.for_each(|| this += 1); a.for_each(|n| this += n); a", json!([2, 4])),
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
        ("let m = #{ a: 1, b: 2 }; let n = m.retain(|key| this == 1); [m, n]", json!([{ "a": 1 }, { "b": 2 }])),
        ("const A = [1, 2]; A.map(|x| x + 1)", json!([2, 3])),
        ("let a = [1, 2, 3]; try { a.drain(|x| if x > 2 { throw 1 } else { true }); } catch { } a", json!([1, 2, 3])),
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
        ("[1, 2].dedup(|x, y| throw \"odd\")", "odd"),
        ("[1].map(\"no such\")", "no such"),
        ("fn f(a, b, c, d) { 1 } [1].map(Fn(\"f\"))", "not found"),
    ] {
        let error = Script::compile(source).unwrap_or_else(|e| panic!("{e}: {source}")).eval(&Map::default()).err();
        let error = error.unwrap_or_else(|| panic!("{source}: nothing refuses it"));
        assert!(error.message.contains(told), "{source}: {error}");
    }
}

/// What is refused has been looked at first, and a script may catch the error and try again.
#[test]
fn values_that_are_refused_are_paid() {
    let deep = "let w = []; w.pad(900, 0); let m = []; for i in 0..128 { m = [m]; } let d = [w, m];";
    let spent = |rest: &str| {
        let script = Script::compile(&format!("fn run() {{ {deep} let n = 0; {rest} n }}")).unwrap();
        let door = Door::join();
        let result = script.call("run", &[]).map(|value| value.to_json()).map_err(|e| e.to_string());
        (result, door.spent().0)
    };
    let (_, made) = spent("");
    let (refused, steps) = spent("for i in 0..100 { try { let x = d; } catch { n += 1; } }");
    assert_eq!(refused, Ok(json!(100)));
    assert!(steps > made + 90_000, "they took 20,000 steps before: {}", steps - made);
}

/// Whether a list is within its limits is looked up by walking over all that is in it, after each change; and a copy of a table
/// holds the names of its fields.
#[test]
fn what_a_change_walks_over_and_a_copy_holds_is_paid() {
    let spent = |setup: &str, rest: &str| {
        let limits = ScriptLimits { list: 1_000_000, ..ScriptLimits::default() };
        let scripts = Scripts::with_modules(limits, &[]).unwrap_or_else(|_| panic!("no modules"));
        let script = scripts.compile(&format!("fn run() {{ {setup} {rest} 0 }}")).unwrap_or_else(|e| panic!("{e}: {setup} {rest}"));
        let door = Door::open(WorkLimits { steps: 1 << 40, bytes: 1 << 40 });
        script.call("run", &[]).unwrap_or_else(|e| panic!("{setup} {rest}: {e}"));
        door.spent()
    };
    let long = "let a = []; a.pad(100_000, 0);";
    for (setup, change) in [(long, "a.push(0);"), (&format!("{long} let b = [a];"), "b.insert(0, 1);"), (long, "a.append([1]);")] {
        let (made, _) = spent(setup, "");
        let (steps, _) = spent(setup, &change.repeat(10));
        assert!(steps > made + 10 * 50_000, "{change} ten times: {} steps", steps - made);
    }
    let named = "let k = \"k\"; k.pad(10_000, 'k'); let m = #{}; m[k] = 1;";
    let (_, made) = spent(named, "");
    let (_, bytes) = spent(named, &"let c = m;".repeat(10));
    assert!(bytes > made + 10 * 10_000, "ten copies: {} bytes", bytes - made);
}

/// A script is given a large scene: what it copies of it is paid, and reading single fields is cheap.
#[test]
fn copies_of_what_a_script_is_given_are_paid() {
    let history: Vec<Json> = (0..2_000).map(|n| json!({ "role": "user", "text": format!("message {n}"), "tags": ["a", "b"] })).collect();
    let scene = Value::from(&json!({ "type": "normal", "history": history }));
    let steps = |source: &str| {
        let script = Script::compile(source).unwrap();
        let door = Door::join();
        let result = script.call("run", std::slice::from_ref(&scene));
        (result.is_ok(), door.spent().0)
    };
    let (_, given) = steps("fn run(scene) { 0 }");
    let (read, reading) = steps("fn run(scene) { let n = 0; for i in 0..100 { n += scene.history[i].text.len(); } n }");
    assert!(read && reading < given + 20_000, "reading fields is cheap: {reading}");
    let (_, copying) = steps("fn run(scene) { for i in 0..100 { let h = scene.history; } 0 }");
    assert!(copying > given + 100 * 10_000, "copies are paid: {copying}");
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
    for body in ["eval(\"1\")", "let __copied = 1;", "__made(1)", "__caught(1)", "let __error = 1;"] {
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
    let lists = eval("let a = []; a.pad(900, 0); let b = [a, a, a, a]; loop { b.sort(|x, y| 1); }").err().unwrap();
    assert!(lists.message.contains("makes more than"), "what the function is given is paid: {lists}");
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

/// Reading and changing a field costs the same whether or not the engine knows its name beforehand.
#[test]
fn fields_with_known_names_are_paid_like_others() {
    let item = Value::from(&json!({ "text": "t", "zqzq": "t" }));
    let spent = |body: &str, field: &str| {
        let source = format!("fn run(item) {{ {} }}", body.replace("FIELD", field));
        let script = Script::compile(&source).unwrap();
        let door = Door::join();
        let result = script.call_with("run", &[Argument::Item("blocks".into(), item.clone())]);
        (result.map(|value| value.to_json()).map_err(|e| e.message), door.spent())
    };
    for body in ["item.FIELD", "item.FIELD.len()", "item.FIELD = 1; item.FIELD", "item.FIELD += \"x\"; item.FIELD", "loop { item.FIELD; }"]
    {
        assert_eq!(spent(body, "text"), spent(body, "zqzq"), "{body}");
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
