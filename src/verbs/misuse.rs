//! Terms that a verb takes, but not in this company: they would be read by nobody, so they are refused.

use crate::diag::{Code, Table};
use crate::syntax::CompileContext;
use crate::syntax::selections::WORDS;

/// Complains about terms of a pass that could have no effect.
pub(super) fn check(cx: &mut CompileContext<'_>, verb: &str, fields: &Table) {
    match verb {
        "add" => selection(cx, fields, "`add` selects nothing of its list", "say which elements in `each = { of = …, where = … }`"),
        "repeat" => selection(cx, fields, "`repeat` selects nothing", "select in the passes of the program that it runs"),
        "run" => run(cx, fields),
        "place" => place(cx, fields),
        _ => {}
    }
}

fn run(cx: &mut CompileContext<'_>, fields: &Table) {
    let has = |key: &str| fields.contains_key(key);
    let flag = |key: &str| fields.get(key).and_then(|f| f.node.as_bool()).unwrap_or(false);
    let what: Vec<&str> = ["program", "script", "event"].into_iter().filter(|key| has(key)).collect();
    if let [first, others @ ..] = what.as_slice() {
        for other in others {
            refuse(cx, fields, other, &format!("`{other}` beside `{first}`: a pass runs one thing"), "take one out, or write two passes");
        }
        if *first != "program" {
            for key in ["each", "as", "copy", "singly"] {
                refuse(cx, fields, key, &format!("`{key}` has no meaning beside `{first}`"), "it is about the program that is run");
            }
        }
    }
    if flag("singly") {
        for key in ["each", "as", "copy"] {
            refuse(cx, fields, key, &format!("`{key}` has no meaning beside `singly`"), "`singly` runs the program once a selected item");
        }
    } else {
        selection(cx, fields, "`run` selects nothing", "add `singly = true` to run the program once a selected item");
    }
    if !has("each") && !flag("singly") {
        refuse(cx, fields, "as", "`as` names the element of `each`, which the pass has not", "add `each`, or take `as` out");
    }
}

fn place(cx: &mut CompileContext<'_>, fields: &Table) {
    if fields.contains_key("field") {
        refuse(cx, fields, "against", "`against` is about whole items, not about elements of a `field`", "take it out");
    } else {
        refuse(cx, fields, "pick", "`pick` chooses elements of a `field`, which the pass does not name", "add `field = \"…\"`");
    }
}

fn selection(cx: &mut CompileContext<'_>, fields: &Table, why: &str, help: &str) {
    for word in WORDS {
        refuse(cx, fields, word, &format!("`{word}` has no meaning here: {why}"), help);
    }
}

fn refuse(cx: &mut CompileContext<'_>, fields: &Table, key: &str, message: &str, help: &str) {
    if let Some(field) = fields.get(key) {
        cx.fail(Code::TwoMeanings, field.key, message, Some(help.to_owned()));
    }
}
