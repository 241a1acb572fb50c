//! Tables of the pages, made from the code and the schemas.

use std::fmt::Write as _;

use serde_json::Value;
use tapster::diag::{Code, codes};
use tapster::machinery::macros::functions::MACRO_FUNCTIONS;
use tapster::machinery::pack::words::WORDS;
use tapster::machinery::pack::{KINDS, Schemas};
use tapster::machinery::syntax::{conditions, selections, steps};
use tapster::machinery::text::functions::FUNCTIONS;
use tapster::machinery::text::methods::METHODS;
use tapster::machinery::verbs::{SHARED, VERBS};
use tapster::model::TermType;
use tapster::model::pack::is_layering;
use tapster::model::term::names;

/// What each test means; the names are held against the engine's.
const TESTS: &[(&str, &str)] = &[
    ("ne", "is not equal to it: to one value, or to any of a list. Also holds for a missing value"),
    ("gt", "is a number greater than it"),
    ("ge", "is a number greater than it, or equal to it"),
    ("lt", "is a number less than it"),
    ("le", "is a number less than it, or equal to it"),
    ("in", "is an element of this list, which is a reference or a query"),
    ("contains", "is a list with this element, a text with this piece, or a table with this key"),
    ("meets", "is a list that has an element in common with this list"),
    ("starts", "is a text that begins with it, or with one of a list"),
    ("matches", "is a text that matches `/pattern/flags`, as in JavaScript; the pattern may also be a reference"),
    ("exists", "is there; with `false`: is missing"),
    ("nonempty", "is there and not empty; with `false`: is missing or empty"),
    ("given", "is in the data, also as null; with `false`: is not in the data. Only this test distinguishes null and missing"),
    ("every", "is positive and a multiple of this number, which must be greater than 0: every nth turn"),
    ("between", "is a number from the first bound of a list to the second, both included; a bound that is missing or not written is open"),
];

/// Keys of a file that mean the same in every kind.
const COMMON: &[&str] = &["$schema", "kind", "version", "about", "program", "pass", "round", "fact", "value", "field", "arrange"];

/// The block called `what`.
pub(crate) fn block(what: &str) -> String {
    match what.split_once(' ').unwrap_or((what, "")) {
        ("programs", pack) => super::block(pack),
        ("wishes", _) => super::wishes::block(),
        ("verbs", _) => verbs(),
        ("terms", verb) => terms(verb),
        ("tests", _) => tests(),
        ("steps", _) => table(["step", "does"], steps::STEPS.iter().map(|(name, doc)| [code(name), (*doc).to_owned()])),
        ("functions", _) => functions(),
        ("methods", _) => {
            let named = METHODS.iter().filter(|method| method.is_named());
            // each names its function
            table(["example, which is true"], named.map(|method| [code(method.example)]))
        }
        ("words", _) => {
            let mut rows: Vec<[String; 3]> = Vec::new();
            for word in WORDS {
                let values = |new: bool| word.values.iter().map(|(a, b)| format!(", `{}`", if new { b } else { a })).collect::<String>();
                let place = word.place.title();
                let (old, new) = (format!("{}{}", code(word.old), values(false)), format!("{}{}", code(word.new), values(true)));
                match rows.iter_mut().find(|[_, known, renamed]| *known == old && *renamed == new) {
                    Some([places, ..]) => *places = format!("{places}; {place}"),
                    None => rows.push([place.to_owned(), old, new]),
                }
            }
            table(["in", "version 1", "version 2"], rows)
        }
        ("macro_functions", _) => {
            let effects = |effects: bool| if effects { "yes" } else { "" }.to_owned();
            table(
                ["function", "gives", "writes or draws"],
                MACRO_FUNCTIONS.iter().map(|f| [code(f.name), f.doc.to_owned(), effects(f.effects)]),
            )
        }
        ("kinds", _) => {
            let rows = KINDS.iter().map(|(kind, doc)| [format!("[`{kind}`](../{kind}.md)"), (*doc).to_owned()]);
            format!("\n{}", table(["kind", "decides"], rows))
        }
        ("codes", _) => codes_page(),
        ("attempts", _) => crate::hostile::attempts::tables(),
        ("fields", rows) => fields(rows),
        ("kind", kind) => kind_page(kind),
        _ => panic!("nothing is generated under the name `{what}`"),
    }
}

fn verbs() -> String {
    let rows = VERBS.iter().map(|v| {
        let terms: Vec<String> = names(v.terms).map(code).collect();
        let terms = if terms.is_empty() { "–".to_owned() } else { terms.join(", ") };
        [format!("[`{name}`](#{name})", name = v.name), v.doc.to_owned(), terms, v.cost.to_owned()]
    });
    let shared: Vec<String> = names(SHARED).map(code).collect();
    let select: Vec<String> = names(selections::TERMS).map(code).collect();
    let body = table(["verb", "does", "own terms", "costs"], rows);
    let mut out = format!("{body}\nShared terms: {}. Selection: {}.\n\n", shared.join(", "), select.join(", "));
    // a verb that the page does not explain in a section of its own
    let page = super::pages::read("docs/reference/language/verbs.md");
    for verb in VERBS.iter().filter(|verb| !page.contains(&format!("\n## {}\n", verb.name))) {
        let _ = write!(out, "### {}\n\n{}\n", verb.name, terms(verb.name));
    }
    out
}

fn terms(verb: &str) -> String {
    let verb = VERBS.iter().find(|known| known.name == verb).unwrap_or_else(|| panic!("there is no verb `{verb}`"));
    let rows = verb.terms.iter().map(|term| {
        let default = match term.kind {
            TermType::Flag => code("false"),
            _ if term.default.is_empty() => "–".to_owned(),
            TermType::Word(_) => code(term.default),
            _ => term.default.to_owned(),
        };
        [code(term.name), default, term.doc.to_owned()]
    });
    table(["term", "default", "meaning"], rows)
}

fn tests() -> String {
    let known: Vec<&str> = TESTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(known, conditions::TESTS, "tests/all/docs/generate.rs explains other tests than the engine knows");
    let plain = [
        ["`x`".to_owned(), "is equal to x. `true` and `false`: counts as true or false".to_owned()],
        ["`[a, b]`".to_owned(), "is equal to one of them".to_owned()],
    ];
    let words = TESTS.iter().map(|(name, doc)| [format!("`{{ {name} = … }}`"), (*doc).to_owned()]);
    table(["test", "holds when the value"], plain.into_iter().chain(words))
}

/// Functions that need a build, which the library does not have: name, arguments, result.
const OF_BUILDS: [[&str; 3]; 3] = [
    ["cost", "`of`, `role`?, `name`?, `cost_model`", "what a text costs by a cost_model"],
    ["render", "`of`, `lang`, `with`?, `values`?, `unknown`?", "the text through a text language, which `lang` names as a literal"],
    [
        "template",
        "`of`, `task`?, `budget`?, `cost_model`?, `data`?",
        "what a [template](texts.md#templates) makes: `messages`, `tokens` and `revision`",
    ],
];

fn functions() -> String {
    let own = FUNCTIONS.iter().map(|f| {
        let args: Vec<String> = f.args.iter().map(|(name, needed)| if *needed { code(name) } else { format!("{}?", code(name)) }).collect();
        [code(f.name), args.join(", "), f.doc.to_owned()]
    });
    let build = OF_BUILDS.map(|[name, args, doc]| [code(name), args.to_owned(), doc.to_owned()]);
    let mut rows: Vec<[String; 3]> = own.chain(build).collect();
    rows.sort();
    table(["function", "arguments", "gives"], rows)
}

/// The fields of a row type, as pack `base` declares them.
fn fields(rows: &str) -> String {
    let rules = tapster::Ruleset::open("base", &[]).expect("pack `base` compiles");
    let prefix = format!("{rows}/");
    let declared = rules.pack().tables.get("field").into_iter().flat_map(|fields| fields.values());
    let own = declared.filter_map(|row| Some((row.name.strip_prefix(&prefix)?.to_owned(), row)));
    let cell = |row: &tapster::model::pack::PackRow, key: &str| row.fields.get(key).map(|f| f.node.to_json());
    let text = |value: Option<Value>| value.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    let lines = own.map(|(name, row)| {
        let default = cell(row, "default").map(|v| code(&v.to_string())).unwrap_or_default();
        [code(&name), text(cell(row, "type")), default, text(cell(row, "doc"))]
    });
    table(["field", "is", "default", "meaning"], lines)
}

fn codes_page() -> String {
    let row = |c: &codes::Code| [code(c.as_str()), format!("{:?}", c.severity()).to_lowercase(), c.doc().to_owned()];
    table(["code", "usually", "means"], Code::ALL.iter().map(row))
}

/// The tables and values of a kind, from the newest version of its schema.
fn kind_page(kind: &str) -> String {
    let version = Schemas::shipped().newest(kind).unwrap_or_else(|| panic!("kind `{kind}` has no schema"));
    let schema = Schemas::shipped().get(&format!("{kind}.v{version}.json")).expect("the newest version is a schema");
    let mut out = format!("Schema: [`editors/{kind}.v{version}.json`](../../editors/{kind}.v{version}.json). {}\n", doc(schema));
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut plain = Vec::new();
    let mut elsewhere = Vec::new();
    for (key, property) in properties.filter(|(key, _)| !COMMON.contains(&key.as_str())) {
        let own = property.pointer("/items/$ref").and_then(Value::as_str).unwrap_or("");
        if let Some(row) = own.strip_prefix("#/definitions/").and_then(|name| schema.pointer(&format!("/definitions/{name}"))) {
            let _ = write!(out, "\n### `[[{key}]]`\n\n{}\n\n{}", doc(property), keys(row, schema));
            if row.pointer("/properties/expect/$ref").is_some() {
                let _ = write!(out, "\n`expect`:\n\n{}", keys(schema.pointer("/definitions/expect").unwrap_or(&Value::Null), schema));
            }
        } else if property.get("type").and_then(Value::as_str) == Some("object") && !keys(property, schema).is_empty() {
            let _ = write!(out, "\n### `[{key}]`\n\n{}\n\n{}", doc(property), keys(property, schema));
        } else if own.contains(".json#") || property.get("$ref").is_some_and(|r| r.as_str().is_some_and(|r| r.contains(".json#"))) {
            elsewhere.push(code(key));
        } else {
            plain.push([code(key), shape_of(property), doc(property)]);
        }
    }
    if !plain.is_empty() {
        let _ = write!(out, "\n### Of the file itself\n\n{}", table(["key", "is", "meaning"], plain));
    }
    // the parts of a file that is not made of rows
    for part in schema.get("definitions").and_then(Value::as_object).into_iter().flat_map(|all| all.values()) {
        if let Some(title) = part.get("title").and_then(Value::as_str) {
            let _ = write!(out, "\n### {title}\n\n{}\n\n{}", doc(part), keys(part, schema));
        }
    }
    if !elsewhere.is_empty() {
        let _ = write!(out, "\nIt may also hold rows and values that other pages describe: {}.\n", elsewhere.join(", "));
    }
    out
}

/// The keys of a row or value. Where a key has no description, that of its definition stands in.
fn keys(row: &Value, schema: &Value) -> String {
    let doc = |property: &Value| {
        let own = doc(property);
        let named = property.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#')).and_then(|r| schema.pointer(r));
        if own.is_empty() { named.map(doc).unwrap_or_default() } else { own }
    };
    let properties = row.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut rows: Vec<[String; 3]> = properties
        .filter(|(key, _)| !is_layering(key) && key.as_str() != "about")
        .map(|(key, property)| [code(key), shape_of(property), doc(property)])
        .collect();
    if let Some(any) = row.get("additionalProperties").filter(|p| p.is_object()) {
        rows.push(["any other".to_owned(), shape_of(any), doc(any)]);
    }
    if rows.is_empty() { String::new() } else { table(["key", "is", "meaning"], rows) }
}

/// What a value of a schema may be, in a few words.
fn shape_of(property: &Value) -> String {
    if let Some(choices) = property.get("enum").and_then(Value::as_array) {
        return choices
            .iter()
            .map(|c| format!("`{}`", c.as_str().map_or_else(|| c.to_string(), str::to_owned)))
            .collect::<Vec<_>>()
            .join(", ");
    }
    if let Some(constant) = property.get("const") {
        return format!("`{constant}`");
    }
    if let Some(reference) = property.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().unwrap_or("").replace('_', " ");
    }
    let word = |t: &str| match t {
        "string" => "text".to_owned(),
        "object" => "table".to_owned(),
        "array" => {
            let of = property.get("items").map(shape_of).filter(|s| !s.is_empty() && s != "any");
            of.map_or_else(|| "list".to_owned(), |of| format!("list of {of}"))
        }
        other => other.to_owned(),
    };
    match property.get("type") {
        Some(Value::String(t)) => word(t),
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).map(word).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

fn doc(value: &Value) -> String {
    value.get("description").and_then(Value::as_str).unwrap_or("").to_owned()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// A Markdown table.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut out = format!("| {} |\n|{}\n", head.join(" | "), " --- |".repeat(N));
    for row in rows {
        let cells = row.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out
}
