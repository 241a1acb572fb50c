//! Rows of macros as they are written, read into what a call needs of them.

use rustc_hash::FxHashSet;

use crate::diag::short::listed;
use crate::diag::{Code, Diagnostic, Help, suggest};
use crate::macros::syntax::ArgumentShape;
use crate::model::term::{NONEMPTY_TEXT, TEXTS, WHEN};
use crate::model::{Map, Pack, Term, Value};

use super::call::{ArgumentKind, MacroArg, MacroFunction, MacroRow, ResultExpansion, ResultKind};
use super::functions::MACRO_FUNCTIONS;

/// Cells of rows of `macro` and `macro_pass`: what stands in place of the macro.
pub(super) const RESULT: &[Term] = &[
    Term::defined("read", "value", "gives this value: a reference to the scene, or any other value"),
    Term::text("fn", "is this function of the macro library"),
    Term::text("text", "gives this text"),
    Term::text("script", "is this script function, `file.rhai::function`"),
    Term::json(
        "with",
        r##"{ "x-free": "names", "type": "object", "additionalProperties": { "$ref": "#/definitions/value" } }"##,
        "fixed arguments of the function",
    ),
    Term::json("args", r#"{ "type": "array", "items": { "$ref": "macros.v2.json#/definitions/argument" } }"#, "its arguments, in order"),
    Term::json(
        "uses",
        r#"{ "type": ["integer", "string"], "if": { "type": "string" }, "then": { "enum": ["every"] } }"#,
        "how many times it gives its value in one text; after that it is empty. `every`: no limit",
    ),
    Term::text("stream", "stream that its draws are taken from"),
    Term::json(
        "stable",
        r##"{ "type": "array", "items": { "$ref": "#/definitions/value" } }"##,
        "what its draw depends on: values, and the words `text` and `offset`. The same values give the same draw",
    ),
    Term::flag("effects", "the macro writes or draws: texts that contain it are expanded completely, the oldest first"),
    Term::flag("once", "without arguments, it is evaluated once for each text, when the text first uses it"),
];

/// Other cells of `macro`.
pub(super) const MACRO: &[Term] = &[
    Term::new("aliases", TEXTS, "other names"),
    Term::json("block", r#"{ "type": "boolean" }"#, "its last argument may be written as a body: `{{name}}body{{/name}}`")
        .default("yes, unless an argument is a list"),
    WHEN,
    Term::flag(
        "writes",
        "the macro writes: it is evaluated only where the mode of the text is `run`. With `keep` it stays as written, with \
         `remove` it is empty",
    ),
    Term::flag("ends", "what it gives is the value of the whole text, whose expansion ends there"),
    Term::text("written", "`$arg.NAME` with this name is what stands between the braces of the macro"),
    Term::new(
        "starts",
        NONEMPTY_TEXT,
        "flavour `stack`: a macro that begins with this text is this one, and everything behind the text is its first argument",
    ),
    Term::json("expand", r#"{ "$ref": "macros.v2.json#/definitions/expand" }"#, "what it gives is expanded as a text of its own"),
];

/// Other cells of `macro_pass`.
pub(super) const MACRO_PASS: &[Term] = &[
    Term::json(
        "find",
        r#"{ "type": ["string", "boolean"], "if": { "type": "boolean" }, "then": { "const": false } }"#,
        "what is searched for, a text or `/pattern/flags`; the groups of a pattern are the arguments. Default: `{{name}}` in upper \
         or lower case. `false`: nothing; the row is only evaluated beforehand (`eager`)",
    ),
    Term::new("aliases", TEXTS, "other names that the default of `find` searches for"),
    Term::text(
        "as",
        "gives what the pass of that name gives, or else what the macro of that name or alias gives, with the cells of this row \
         laid over it",
    )
    .default("its own name"),
    Term::json(
        "trim",
        r#"{
            "type": ["array", "boolean"],
            "items": { "type": "integer", "minimum": 1 },
            "if": { "type": "boolean" },
            "then": { "const": true }
        }"#,
        "the numbers, from 1, of the groups that are trimmed; `true` for all groups",
    ),
    Term::new("split", NONEMPTY_TEXT, "the last group is split at this text, and each part is an argument"),
    Term::json("braces", r#"{ "type": "boolean" }"#, "the pass is skipped if the text does not contain `{{`").default("true"),
    Term::json(
        "eager",
        r#"{ "type": "integer" }"#,
        "the row is evaluated before the first pass, whether or not the text uses it; rows with smaller numbers come first",
    ),
    Term::json(
        "given",
        r#"{ "const": true }"#,
        "the names that are given for one text and those of the application have their passes here, each as `{{name}}`. A given \
         name that is the name of a pass replaces that pass instead",
    ),
    Term::flag("outer", "the pass does not exist in texts that are expanded while a macro of another text is evaluated"),
    Term::new(
        "beside",
        NONEMPTY_TEXT,
        "the row is part of the pass of the row with this name: the text is read once, from left to right, and where several of \
         them match at one place, the first row counts",
    ),
    WHEN,
];

/// What is wrong with a row: the cell, what is wrong, what to do.
pub(super) struct RowMistake {
    pub(super) cell: &'static str,
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: Option<Help>,
}

pub(super) fn complaint(wrong: &RowMistake, table: &str, cells: &Value, pack: &Pack) -> Diagnostic {
    let name = cells.get("name").map(Value::to_text).unwrap_or_default();
    let mut d = Diagnostic::new(wrong.code, wrong.message.clone()).rule(format!("{table} {name}"));
    if let Some(row) = pack.tables.get(table).and_then(|rows| rows.get(&name)) {
        d = d.at(row.fields.get(wrong.cell).map_or(row.name_span, |f| f.node.span));
    }
    if wrong.code == Code::NameUnknown {
        let table = match wrong.cell {
            "as" | "name" => "macro",
            "beside" => "macro_pass",
            "of" => "macro_block",
            _ => "",
        };
        d = d.missing_row(&[table], cells.get(wrong.cell).map(Value::to_text).unwrap_or_default().as_ref());
    }
    match &wrong.help {
        Some(help) => d.help(help.clone()),
        None => d,
    }
}

/// A row as it is used.
pub(super) fn row(cells: &Value, id: u32) -> Result<MacroRow, RowMistake> {
    let name = cells.get("name").map(Value::to_text).unwrap_or_default();
    let args: Vec<&Value> = cells.get("args").and_then(Value::as_list).into_iter().flatten().collect();
    let word = |key: &str| cells.get(key).map(Value::to_text);
    let flag = |of: &Value, key: &str| of.get(key) == Some(&Value::Bool(true));
    one_meaning(cells)?;
    named_once(&args)?;
    let gives = match (cells.get("read"), cells.get("text"), word("script"), word("fn")) {
        (Some(read), ..) => ResultKind::Read(read.clone()),
        (_, Some(text), ..) => ResultKind::Text(text.to_text()),
        (_, _, Some(script), _) => ResultKind::Script(script),
        (.., Some(function)) => ResultKind::Function(function_named(&function)?),
        _ => ResultKind::Text("".into()),
    };
    let needed = |a: &&&Value| a.get("default").is_none() && !flag(a, "list") && a.get("required") != Some(&Value::Bool(false));
    let list = args.iter().any(|a| flag(a, "list"));
    let raw = args.iter().enumerate().filter(|(n, a)| *n < 32 && flag(a, "raw")).fold(0, |bits, (n, _)| bits | 1 << n);
    let shape = ArgumentShape {
        least: args.iter().filter(needed).count(),
        most: if list { usize::MAX } else { args.len() },
        block: !list && cells.get("block") != Some(&Value::Bool(false)),
        raw,
    };
    let with = cells.get("with").and_then(Value::as_map);
    if let ResultKind::Function(function) = &gives {
        with.into_iter().flat_map(|with| with.keys()).try_for_each(|key| taken(function, key))?;
    }
    let is_alone = |cells: &Map| cells.keys().all(|cell| BARE.contains(&cell.as_ref()));
    Ok(MacroRow {
        name,
        id,
        shape,
        is_bare: matches!(gives, ResultKind::Read(_)) && cells.as_map().is_some_and(is_alone),
        gives,
        args: args.iter().map(|a| arg(a)).collect(),
        with: with.into_iter().flat_map(|m| m.iter()).map(|(k, v)| (k.clone(), v.clone())).collect(),
        when: cells.get("when").cloned(),
        stream: word("stream").unwrap_or_else(|| "macro.random".into()),
        stable: cells.get("stable").cloned().unwrap_or_default(),
        once: flag(cells, "once"),
        writes: flag(cells, "writes"),
        ends: flag(cells, "ends"),
        written: word("written"),
        expands: cells.get("expand").map(expands),
        uses: cells.get("uses").and_then(Value::as_i64).and_then(|n| u32::try_from(n).ok()),
        cells: cells.clone(),
    })
}

/// The cells of a row whose `read` alone decides what it gives.
const BARE: [&str; 6] = ["about", "aliases", "name", "once", "read", "starts"];

/// The cells that say what a macro gives.
const MEANINGS: [&str; 4] = ["read", "text", "script", "fn"];

/// Refuses a row of a macro that does not say what it gives.
pub(super) fn has_meaning(cells: &Value) -> Result<(), RowMistake> {
    if MEANINGS.into_iter().any(|cell| cells.get(cell).is_some()) {
        return Ok(());
    }
    Err(RowMistake {
        cell: "name",
        code: Code::TermMissing,
        message: "the row does not say what the macro gives".to_owned(),
        help: Some(format!("add one of {}; `text = \"\"` gives nothing", listed(MEANINGS)).into()),
    })
}

/// Refuses a row that says in two ways what it gives, or arguments for a function that it does not name: only one of them
/// would have an effect.
fn one_meaning(cells: &Value) -> Result<(), RowMistake> {
    let mut said = MEANINGS.into_iter().filter(|cell| cells.get(cell).is_some());
    let Some(first) = said.next() else { return Ok(()) };
    if cells.get("fn").is_none() && cells.get("with").is_some() {
        return Err(RowMistake {
            cell: "with",
            code: Code::TwoMeanings,
            message: format!("`with` has no effect: it gives arguments to `fn`, and this row has `{first}`"),
            help: Some("leave it out, or name a function with `fn`".into()),
        });
    }
    let Some(cell) = said.next() else { return Ok(()) };
    Err(RowMistake {
        cell,
        code: Code::TwoMeanings,
        message: format!("a macro gives what `{first}` says or what `{cell}` says, and this row has both"),
        help: Some("leave one of them out; with `replace = true`, a row takes nothing from the one that it replaces".into()),
    })
}

/// Refuses arguments of one name: only the last of them could be read.
fn named_once(args: &[&Value]) -> Result<(), RowMistake> {
    let mut known = FxHashSet::default();
    let twice = args.iter().filter_map(|arg| arg.get("name")).map(Value::to_text).find(|name| !known.insert(name.clone()));
    twice.map_or(Ok(()), |name| {
        Err(RowMistake {
            cell: "args",
            code: Code::TwoMeanings,
            message: format!("two arguments have the name `{name}`"),
            help: Some("give each argument a name of its own".into()),
        })
    })
}

fn expands(cells: &Value) -> ResultExpansion {
    let depth = cells.get("depth").and_then(Value::as_i64).and_then(|n| u32::try_from(n).ok());
    ResultExpansion { depth: depth.unwrap_or(u32::MAX), otherwise: cells.get("else").cloned().unwrap_or_else(|| Value::text("")) }
}

fn function_named(name: &str) -> Result<&'static MacroFunction, RowMistake> {
    let found = MACRO_FUNCTIONS.binary_search_by(|f| f.name.cmp(name)).ok().and_then(|n| MACRO_FUNCTIONS.get(n));
    found.ok_or_else(|| RowMistake {
        cell: "fn",
        code: Code::NameUnknown,
        message: format!("there is no macro function `{name}`"),
        help: suggest::help(name, MACRO_FUNCTIONS.iter().map(|f| f.name))
            .or_else(|| Some("see docs/reference/macros.md for every one".into())),
    })
}

/// Refuses an argument in `with` that a function does not take.
fn taken(function: &MacroFunction, key: &str) -> Result<(), RowMistake> {
    if function.takes.contains(&key) {
        return Ok(());
    }
    let known = function.takes.iter().copied();
    Err(RowMistake {
        cell: "with",
        code: Code::SchemaUnknownKey,
        message: format!("`{key}` is no argument of the macro function `{}`", function.name),
        help: suggest::help(key, known.clone()).or_else(|| Some(format!("known here: {}", listed(known)).into())),
    })
}

fn arg(cells: &Value) -> MacroArg {
    let kind = match cells.get("type").and_then(Value::as_str) {
        Some("integer") => ArgumentKind::Integer,
        Some("number") => ArgumentKind::Number,
        Some("boolean") => ArgumentKind::Boolean,
        _ => ArgumentKind::Text,
    };
    MacroArg {
        name: cells.get("name").map(Value::to_text).unwrap_or_default(),
        kind,
        default: cells.get("default").cloned(),
        list: cells.get("list") == Some(&Value::Bool(true)),
    }
}
