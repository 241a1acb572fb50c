//! Steps that change a text: from `{ trim = "both" }` in a rule file to the compiled form.

use std::sync::Arc;

use crate::diag::{Code, Node, suggest};
use crate::text::functions;

use crate::terms::rewrite::Scripts;
use crate::terms::steps::{Step, What};

use super::conditions::Mode;
use super::context::{CompileContext, Scope};

/// The steps, for `tapster ops`.
pub const STEPS: &[(&str, &str)] = &[
    ("trim", "cuts white space: both, start or end"),
    ("prefix", "puts a text in front"),
    ("suffix", "puts a text behind"),
    ("text", "another text instead"),
    ("replace", "{ find, with, times }: a pattern or a plain text"),
    ("override", "another text unless it is blank; where that `holds` a pattern, the text so far stands there"),
    ("expand", "through a text language: macro, outlet, story, leaf, liquid"),
    ("scripts", "through rewriting scripts, in order; `then` lists steps on what a match puts in"),
    ("inline", "parts to one text, media as marks in it, joined by this"),
    ("outline", "marks back to parts, cut at this"),
    ("parts", "each part by its type"),
    ("run", "through a Rhai function"),
];

/// Words of a step that do not say what it does.
const BESIDE: &[&str] = &["name", "when", "with", "then", "values"];

impl CompileContext<'_> {
    /// A list of steps: `with` and `when` look at the item at hand.
    pub fn steps(&mut self, node: &Node) -> Box<[Step]> {
        match node.as_list() {
            Some(list) => list.iter().filter_map(|n| step(self, n)).collect(),
            None => {
                let help = Some("write `steps = [{ trim = \"both\" }]`".into());
                self.fail(Code::TermType, node.span, format!("`steps` is a list of steps, not {}", node.kind()), help);
                Box::new([])
            }
        }
    }
}

fn step(cx: &mut CompileContext<'_>, node: &Node) -> Option<Step> {
    let Some(table) = node.as_table() else {
        let help = Some("for example `{ trim = \"both\" }`".into());
        cx.fail(Code::TermType, node.span, format!("a step is a table, not {}", node.kind()), help);
        return None;
    };
    let word = table.keys().find(|k| !BESIDE.contains(&k.as_ref()));
    let Some((word, own)) = word.and_then(|w| Some((w.as_ref(), &table.get(w)?.node))) else {
        cx.fail(Code::TermType, node.span, "a step needs one key that says what it does", Some("for example `{ trim = \"both\" }`".into()));
        return None;
    };
    let when = table.get("when").map(|f| {
        let c = cx.cond(&f.node, Mode::Item);
        cx.sealed_cond(c)
    });
    let with = table.get("with").map(|f| cx.expr(&f.node));
    let value = |cx: &mut CompileContext<'_>| {
        let e = cx.expr(own);
        cx.sealed(e)
    };
    let what = match word {
        "trim" => {
            let side = own.as_text().unwrap_or("both");
            What::Trim(side != "end", side != "start")
        }
        "prefix" => What::Prefix(value(cx)),
        "suffix" => What::Suffix(value(cx)),
        "text" => What::Text(value(cx)),
        "override" => What::Override {
            by: value(cx),
            holds: table.get("holds").map(|f| cx.pattern(&f.node)),
            times: table.get("times").map(|f| cx.expr(&f.node)),
        },
        "expand" => What::Expand(cx.literal(own, "a text language")),
        "scripts" => {
            What::Scripts(Scripts { rows: value(cx), then: table.get("then").map(|f| cx.steps(&f.node).into_vec()).unwrap_or_default() })
        }
        "inline" => What::Inline(cx.literal(own, "a joint")),
        "outline" => What::Outline(cx.literal(own, "a joint")),
        "run" => {
            let function = cx.literal(own, "a function's name");
            cx.function(&function, own.span);
            What::Run(function)
        }
        "replace" => replace(cx, own)?,
        "parts" => What::Parts(
            own.as_table().into_iter().flatten().map(|(k, f)| (k.clone(), cx.within(Scope::Any, |cx| cx.expr(&f.node)))).collect(),
        ),
        _ => {
            let help = suggest::help(word, STEPS.iter().map(|(name, _)| *name));
            cx.fail(Code::TermType, node.span, format!("there is no step `{word}`"), help);
            return None;
        }
    };
    let values = table.get("values").map(|f| pure_function(cx, &f.node));
    Some(Step { when, with, values, what })
}

/// A function of the library that takes nothing but a text.
fn pure_function(cx: &mut CompileContext<'_>, node: &Node) -> Arc<str> {
    let name = cx.literal(node, "a function's name");
    if !functions::find(&name).is_some_and(|f| f.args.iter().all(|(arg, must)| *arg == "of" || !must)) {
        let known = functions::FUNCTIONS.iter().map(|f| f.name);
        cx.fail(Code::NameUnknown, node.span, format!("no function `{name}` takes a text alone"), suggest::help(&name, known));
    }
    name
}

fn replace(cx: &mut CompileContext<'_>, own: &Node) -> Option<What> {
    let (Some(find), Some(with)) = (own.get("find"), own.get("with")) else {
        cx.fail(
            Code::TermMissing,
            own.span,
            "`replace` needs `find` and `with`",
            Some("write `{ replace = { find = \"/a/g\", with = \"b\" } }`".into()),
        );
        return None;
    };
    let find = cx.pattern(find);
    // where no item is at hand, `@1` is the match all the same
    let with = if cx.has_item() { cx.expr(with) } else { cx.within(Scope::Open, |cx| cx.expr(with)) };
    let with = cx.sealed(with);
    let times = own.get("times").and_then(|n| if let crate::diag::Data::Int(i) = n.data { usize::try_from(i).ok() } else { None });
    Some(What::Replace { find, with, times })
}
