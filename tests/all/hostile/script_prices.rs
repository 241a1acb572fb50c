//! Functions of scripts that walk over, move or write anew what they are given: each costs steps by its length, so that a loop
//! without an end reaches the bound of the work in some two seconds. The tests count steps.

use tapster::WorkLimits;
use tapster::model::Map;
use tapster::text::script::{ScriptLimits, Scripts};
use tapster::text::work::Door;

/// The greatest limits that a pack may set.
fn limits() -> ScriptLimits {
    ScriptLimits { operations: 10_000_000, text: 16_000_000, list: 1_000_000, map: 1_000_000, ..ScriptLimits::default() }
}

/// What a script that ends pays, in steps.
fn spent(source: &str) -> u64 {
    let script = Scripts::new(limits()).compile(source).unwrap_or_else(|e| panic!("{e}: {source}"));
    let door = Door::open(WorkLimits { steps: 1 << 40, bytes: 1 << 40 });
    script.eval(&Map::default()).unwrap_or_else(|e| panic!("{source}: {e}"));
    door.spent().0
}

const TEXT: &str = "let s = \"ab\"; s.pad(100_000, 'x'); let m = #{ s: s };";
const LIST: &str = "let a = []; a.pad(100_000, 0);";
const BYTES: &str = "let b = blob(100_000, 1);";
const TABLE: &str = "let s = \"\"; s.pad(100_000, 'x'); let m = #{ s: s };";

const GROWN: &str = "let k = \"\"; k.pad(1_000, 'x'); let m = #{ s: \"\" }; for i in 0..100 { m.s += k; }";
const GROWN_ELEMENT: &str = "let k = \"\"; k.pad(1_000, 'x'); let m = [\"\"]; for i in 0..100 { m[0] += k; }";
const GROWN_SOMEWHERE: &str = "let k = \"\"; k.pad(1_000, 'x'); let m = #{ a: [0, #{ s: \"\" }] }; for i in 0..100 { m.a[0 + 1].s += k; }";
const GROWN_BY_THIS: &str =
    "fn grow(k) { this += k; } let k = \"\"; k.pad(1_000, 'x'); let m = #{ s: \"\" }; for i in 0..100 { m.s.grow(k); }";
const GROWN_BY_APPENDING: &str = "let k = \"\"; k.pad(1_000, 'x'); let m = #{ s: \"\" }; for i in 0..100 { m.s.append(k); }";
const GROWN_BY_NUMBERS: &str = "let m = #{ s: \"\" }; for i in 0..10_000 { m.s += 1_234_567_890; }";

/// A script with a text of 100,000 letters for `LONG`, and a list of 19,000 numbers in lists for `LIST`.
fn with_long(source: &str) -> String {
    let list = format!("[{}]", format!("[{}],", "1,".repeat(1_900)).repeat(10));
    source.replace("LONG", &"x".repeat(100_000)).replace("LIST", &list)
}

/// What is done again and again with a text, list or bytes of 100,000, and the steps that each time costs at least.
const LOOPS: &[(&str, &str, u64)] = &[
    // taking out of a text
    (TEXT, "s -= 'b';", 12_000),
    (TEXT, "s -= \"zz\";", 12_000),
    (TEXT, "s -= 1 + \"zz\";", 12_000),
    (TEXT, "m.s -= 'b';", 12_000),
    // letters of a text
    (TEXT, "s.crop(0);", 190_000),
    (TEXT, "s.crop(0, 100_000);", 190_000),
    (TEXT, "s.crop(0..100_000);", 190_000),
    (TEXT, "s.set(99_999, 'c');", 190_000),
    (TEXT, "s[99_999] = 'c';", 190_000),
    (TEXT, "m.s[99_999] = 'c';", 190_000),
    ("let m = #{ s: \"\" }; m.s.pad(100_000, 'x');", "m.s[99_999] = 'c';", 190_000),
    // a text inside of a table or list that has grown there, and that nothing has read
    (GROWN, "m.s[99_999] = 'c';", 190_000),
    (GROWN, "m.s[99_999];", 6_000),
    (GROWN, "m.s -= \"zz\";", 12_000),
    (GROWN_ELEMENT, "m[0][99_999] = 'c';", 190_000),
    (GROWN_ELEMENT, "m[0] -= \"zz\";", 12_000),
    (GROWN_SOMEWHERE, "m.a[1].s[99_999] = 'c';", 190_000),
    (GROWN_BY_THIS, "m.s[99_999] = 'c';", 190_000),
    (GROWN_BY_APPENDING, "m.s[99_999] = 'c';", 190_000),
    (GROWN_BY_NUMBERS, "m.s[99_999] = 'c';", 190_000),
    // a long text that stands in the script, however it is used
    ("", "\"LONG\" + 1;", 3_000),
    ("", "`LONG${1}`;", 3_000),
    ("let s = \"\";", "s = \"LONG\"; s += \"LONG\";", 6_000),
    ("", "\"LONG\".append(1);", 9_000),
    // so does a list
    ("", "LIST.len();", 50_000),
    ("", "let a = LIST; a = 1;", 50_000),
    (TEXT, "s.truncate(100_000);", 24_000),
    (TEXT, "s.sub_string(90_000..=90_001);", 24_000),
    (TEXT, "s.sub_string(90_000, 1);", 24_000),
    (TEXT, "try { parse_int(s, 36); } catch { }", 24_000),
    (TEXT, "s.len;", 24_000),
    (TEXT, "s.chars;", 3_000),
    (TEXT, "s.chars(99_999);", 3_000),
    (TEXT, "s.chars(99_999, 1);", 3_000),
    (TEXT, "s.chars(99_998..99_999);", 3_000),
    (TEXT, "s.split(50_000);", 3_000),
    (TEXT, "s.split('b', 2);", 3_000),
    (TEXT, "s.split_rev(\"b\", 2);", 3_000),
    // texts that are written with escapes
    (TEXT, "s.to_debug();", 590_000),
    (TABLE, "m.to_json();", 100_000),
    (BYTES, "b.to_string();", 590_000),
    (BYTES, "b.to_debug();", 590_000),
    // lists whose elements are moved, dropped or looked at
    (LIST, "a.push(0);", 145_000),
    (LIST, "a.retain(0..99_999); a.push(0);", 330_000),
    (LIST, "a.chop(99_999); a.push(0);", 330_000),
    (LIST, "a.remove(50_000); a.insert(0, 1);", 380_000),
    (LIST, "a.shift(); a.push(0);", 330_000),
    (LIST, "a.sort();", 6_000_000),
    (LIST, "a.order_desc();", 6_000_000),
    // bytes that are moved
    (BYTES, "b.insert(0, 1); b.pop();", 6_000),
    (BYTES, "b.drain(0..1); b.push(1);", 6_000),
    (BYTES, "b.drain(0, 1); b.push(1);", 6_000),
    (BYTES, "b.retain(0..=99_998); b.push(1);", 6_000),
    (BYTES, "b.splice(0..1, blob(1, 1));", 6_000),
    (BYTES, "b.extract(99_999);", 6_000),
    // errors that are caught
    ("", "try { 1 / 0 } catch { }", 200),
    ("", "try { 1 / 0 } catch (e) { }", 200),
];

#[test]
fn each_time_is_paid_by_the_length() {
    const TIMES: u64 = 4;
    for (setup, body, least) in LOOPS {
        let made = spent(&with_long(&format!("{setup} for i in 0..0 {{ {body} }}")));
        let steps = spent(&with_long(&format!("{setup} for i in 0..{TIMES} {{ {body} }}"))).saturating_sub(made);
        assert!(steps >= TIMES * least, "{body} {TIMES} times: {steps} steps");
    }
}

#[test]
fn each_of_them_ends_with_the_bound() {
    for (setup, body, _) in LOOPS {
        let source = with_long(&format!("{setup} loop {{ {body} }}"));
        let script = Scripts::new(limits()).compile(&source).unwrap_or_else(|e| panic!("{e}: {source}"));
        let door = Door::open(WorkLimits { steps: 5_000_000, ..WorkLimits::default() });
        let error = script.eval(&Map::default()).err().unwrap_or_else(|| panic!("it ends: {body}"));
        let told = ["takes more than", "makes more than"];
        assert!(told.iter().any(|words| error.message.contains(words)), "{body}: {error}");
        assert!(door.spent().0 <= 5_000_000, "{body}");
    }
}

/// A script may read JSON, and pays for the pairs of its fields, which the interpreter compares with each other.
#[test]
fn reading_json_is_paid_by_the_square_of_its_fields() {
    let fields = |count: usize| (0..count).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(",");
    let read = |count: usize| format!("let s = `{{{}}}`; parse_json(s).len()", fields(count));
    let (few, many) = (spent(&read(100)), spent(&read(2_000)));
    assert!(few < 50_000, "100 fields take {few} steps");
    assert!(many >= 2_000_000, "2,000 fields take {many} steps");
    // only those of one table are compared with each other, and a colon inside of a text is none
    let tables = |count: usize| {
        let tables = (0..count).map(|n| format!("{{\"a\":{n},\"b\":\":::{{::\\\\\\\":\"}}")).collect::<Vec<_>>().join(",");
        spent(&format!("let s = `{{\"l\":[{tables}]}}`; parse_json(s).l.len()"))
    };
    let (half, whole) = (tables(1_000), tables(2_000));
    assert!(whole < half * 2 + 100_000, "1,000 tables take {half} steps and 2,000 {whole}");
    // what the interpreter takes for a letter or comment hides nothing
    let hidden = |odd: &str| {
        let source = format!("let s = `{{\"o\":1{odd},{}}}`; parse_json(s)", fields(2_000));
        let script = Scripts::new(limits()).compile(&source).unwrap_or_else(|e| panic!("{e}: {odd}"));
        let door = Door::open(WorkLimits { steps: 1 << 40, bytes: 1 << 40 });
        // whether the interpreter can read it is its own affair
        drop(script.eval(&Map::default()));
        door.spent().0
    };
    for odd in [" /* \" */", " // \"\n", " #\"", " '\"'"] {
        assert!(hidden(odd) >= 2_000_000, "{odd}");
    }
    let value =
        Scripts::new(limits()).compile("parse_json(`{\"a\": [1, null], \"b\": {\"c\": \"d\"}}`)").and_then(|s| s.eval(&Map::default()));
    assert_eq!(value.unwrap().to_json(), serde_json::json!({ "a": [1, null], "b": { "c": "d" } }));
}

/// What is put around an operator to pay for it changes nothing of its meaning, and of the operations of a script.
#[test]
fn operators_mean_what_they_mean() {
    for (source, expected) in [
        ("let n = 9; let m = 4; n - m - 1", serde_json::json!(4)),
        ("let n = 9; let m = 4; n - m * 2 - -m", serde_json::json!(5)),
        ("let n = 2; 1 + n * 3 - n - 1.5", serde_json::json!(3.5)),
        ("let n = 5; let f = |x| -x - n; f.call(1)", serde_json::json!(-6)),
        ("let n = 5; if n > 1 { n -= 2; } -n", serde_json::json!(-3)),
        ("let n = 5; n -= { let a = 1; a + 1 }; n", serde_json::json!(3)),
        ("let n = 5; n -= n - 1; n", serde_json::json!(1)),
        ("let s = \"abcb\"; s -= \"b\"; s - 'c'", serde_json::json!("a")),
        ("let m = #{ s: \"abc\", n: 3 }; m.s -= 'a'; m.n -= m.n; m.s + m.n", serde_json::json!("bc0")),
        ("let s = \"abc\"; s[1] = 'x'; let a = [s]; a[0][2] = 'y'; s + a[0]", serde_json::json!("axcaxy")),
        ("let a = [1, 2]; a[0] = a[1] - a[0]; a[-1] = [a[0]]; a", serde_json::json!([1, [1]])),
        ("let m = #{}; m[\"k\"] = 'c'; m[\"l\"] = if true { 2 } else { 3 }; m", serde_json::json!({ "k": "c", "l": 2 })),
        ("switch 2 { 1 => 0, 2 => { let a = 7; a - 2 - 1 } }", serde_json::json!(4)),
        ("let x = 3; `${x - 1}` + `a${x}` - 'a'", serde_json::json!("23")),
        (
            "let s = \"a\"; s += 1; s += 2.5; s += (); s += true; s += [1, \"b\"]; s += #{ c: 'd' }; s",
            serde_json::json!("a12.5true[1, \"b\"]#{\"c\": d}"),
        ),
        ("let s = \"a\"; s.append(\"b\"); s.append('c'); append(s, 1); s += \"é\".to_blob(); s", serde_json::json!("abc1é")),
        (
            "let m = #{ s: \"a\", l: [[1], 'x'] }; m.s += \"b\"; m.l[0] += 2; m.l[1] += 'y'; m[\"s\"] += m.s; m",
            serde_json::json!({ "s": "abab", "l": [[1, 2], "xy"] }),
        ),
        ("fn more(k) { this += k; } let m = #{ n: 1, s: \"a\" }; m.n.more(2); m.s.more('b'); m", serde_json::json!({ "n": 3, "s": "ab" })),
        ("const S = \"abcd\"; let t = \"\"; for c in S.chars(1, 2) { t += c; } t + S.len", serde_json::json!("bc4")),
    ] {
        let script = Scripts::new(ScriptLimits::default()).compile(source).unwrap_or_else(|e| panic!("{e}: {source}"));
        let value = script.eval(&Map::default()).unwrap_or_else(|e| panic!("{e}: {source}"));
        assert_eq!(value.to_json(), expected, "{source}");
    }
    let runs = |source: &str, operations: u64| {
        let scripts = Scripts::new(ScriptLimits { operations, ..ScriptLimits::default() });
        scripts.compile(source).unwrap_or_else(|e| panic!("{e}: {source}")).eval(&Map::default()).is_ok()
    };
    for (paid, plain) in [
        ("let n = 0; let m = 1; for i in 0..1000 { n - m; }", "let n = 0; let m = 1; for i in 0..1000 { n + m; }"),
        ("let n = 0; let m = 1; for i in 0..1000 { n -= m; }", "let n = 0; let m = 1; for i in 0..1000 { n += m; }"),
    ] {
        let (mut refused, mut least) = (1_000, 20_000);
        while least - refused > 1 {
            let middle = u64::midpoint(refused, least);
            (refused, least) = if runs(plain, middle) { (refused, middle) } else { (middle, least) };
        }
        assert!(runs(paid, least + 2), "{paid}: it takes more operations than {plain}, which takes {least}");
    }
}
