//! Steps that change a text: from `{ trim = "both" }` in a rule file to the compiled form.

use std::sync::Arc;

use crate::diag::{Code, DocumentNode, FieldMap};

use crate::terms::names::is_reference;
use crate::terms::steps::ScriptsStep;
use crate::terms::steps::{SearchText, StepOperation, TextStep};

use super::conditions::PathMode;
use super::context::{CompileContext, ItemScope};

/// The steps, for `tapster ops`.
pub const STEPS: &[(&str, &str)] = &[
    ("trim", "removes white space: `both`, `start` or `end`"),
    ("prefix", "puts this text in front"),
    ("suffix", "puts this text behind"),
    ("text", "replaces the whole text by this one"),
    ("replace", "`{ find, with, times }`: replaces a pattern or a plain text"),
    ("override", "replaces the text by this one unless that is blank; where `holds` matches in it, the old text is inserted"),
    ("expand", "expands the text in a text language: macro, outlet, handlebars, leaf, liquid"),
    ("scripts", "applies rewriting scripts, in order; `steps` lists steps for each replacement"),
    ("inline", "makes one text of the parts, joined by this; media become marks in it"),
    ("outline", "makes parts of the text again where it has such marks, cut at this"),
    ("parts", "rewrites each part by its type"),
    ("run", "calls a Rhai function with the text"),
];

/// The words that may stand beside what a step does.
fn beside(action: &str) -> &'static [&'static str] {
    match action {
        "expand" => &["name", "when", "with", "values", "unknown", "flavour", "mode"],
        "run" => &["name", "when", "with"],
        "scripts" => &["name", "when", "steps"],
        "override" => &["name", "when", "holds", "times"],
        _ => &["name", "when"],
    }
}

impl CompileContext<'_> {
    /// A list of steps: `with` and `when` look at the current item.
    pub fn steps(&mut self, node: &DocumentNode) -> Box<[TextStep]> {
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

fn step(cx: &mut CompileContext<'_>, node: &DocumentNode) -> Option<TextStep> {
    let Some(table) = node.as_table() else {
        let help = Some("for example `{ trim = \"both\" }`".into());
        cx.fail(Code::TermType, node.span, format!("a step is a table, not {}", node.kind()), help);
        return None;
    };
    let (word, own) = action(cx, table, node)?;
    let when = table.get("when").map(|f| {
        let c = cx.cond(&f.node, PathMode::Item);
        cx.sealed_cond(c)
    });
    let with = table.get("with").map(|f| cx.expr(&f.node));
    let value = |cx: &mut CompileContext<'_>| {
        let e = cx.expr(own);
        cx.sealed(e)
    };
    let what = match word {
        "trim" => {
            let sides = ["both", "start", "end"];
            let side = own.as_text().filter(|side| sides.contains(side)).unwrap_or_else(|| {
                let written = own.as_text().map_or_else(|| own.kind().to_owned(), |text| format!("`{text}`"));
                let help = own.as_text().and_then(|text| cx.report.words.help(text, sides));
                let help = help.or_else(|| Some("write `both`, `start` or `end`".into()));
                cx.fail(Code::TermType, own.span, format!("`trim` cannot be {written}"), help);
                "both"
            });
            StepOperation::Trim(side != "end", side != "start")
        }
        "prefix" => StepOperation::Prefix(value(cx)),
        "suffix" => StepOperation::Suffix(value(cx)),
        "text" => StepOperation::Text(value(cx)),
        "override" => StepOperation::Override {
            by: value(cx),
            holds: table.get("holds").map(|f| sought(cx, &f.node)),
            times: table.get("times").map(|f| cx.expr(&f.node)),
        },
        "expand" => StepOperation::Expand(cx.language(own, table)?),
        "scripts" => StepOperation::Scripts(ScriptsStep {
            rows: value(cx),
            then: table.get("steps").map(|f| cx.steps(&f.node).into_vec()).unwrap_or_default(),
        }),
        "inline" => StepOperation::Inline(cx.literal(own, "a joint")),
        "outline" => StepOperation::Outline(cx.literal(own, "a joint")),
        "run" => {
            let function = cx.literal(own, "a function's name");
            cx.function(&function, own.span, super::scripts::TEXT_AND_ITEM);
            StepOperation::Run(function)
        }
        "replace" => replace(cx, own)?,
        "parts" => StepOperation::Parts(
            own.as_table().into_iter().flatten().map(|(k, f)| (k.clone(), cx.within(ItemScope::Any, |cx| cx.expr(&f.node)))).collect(),
        ),
        _ => return None,
    };
    let mut options = Vec::new();
    for key in ["values", "unknown", "flavour", "mode"] {
        if let Some(field) = table.get(key) {
            options.push((Arc::from(key), cx.expr(&field.node)));
        }
    }
    Some(TextStep { when, with, options, what })
}

/// The one key that says what a step does, and its value; reports every key that has no meaning beside it.
fn action<'n>(cx: &mut CompileContext<'_>, table: &'n FieldMap, node: &DocumentNode) -> Option<(&'static str, &'n DocumentNode)> {
    let named = |key: &str| STEPS.iter().map(|(name, _)| *name).find(|name| *name == key);
    let Some((word, own)) = table.iter().find_map(|(key, field)| Some((named(key)?, &field.node))) else {
        let unknown = table.iter().find(|(key, _)| !matches!(key.as_ref(), "name" | "when"));
        let message = match unknown {
            Some((key, _)) => format!("there is no step `{key}`"),
            None => "a step needs one key that says what it does".to_owned(),
        };
        let help = unknown.and_then(|(key, _)| cx.report.words.help(key, STEPS.iter().map(|(name, _)| *name)));
        let help = help.or_else(|| Some("for example `{ trim = \"both\" }`; `tapster ops` lists the steps".into()));
        cx.fail(Code::TermType, unknown.map_or(node.span, |(_, field)| field.key), message, help);
        return None;
    };
    for (key, field) in table.iter().filter(|(key, _)| key.as_ref() != word && !beside(word).contains(&key.as_ref())) {
        let (message, help) = match named(key) {
            Some(other) => (format!("a step does one thing, but this one says `{word}` and `{other}`"), "write two steps".to_owned()),
            None => (format!("`{key}` has no meaning beside `{word}`"), format!("`{word}` takes {}", beside(word).join(", "))),
        };
        cx.fail(Code::TwoMeanings, field.key, message, Some(help.into()));
    }
    Some((word, own))
}

/// The keys of `replace`.
const REPLACE: [&str; 3] = ["find", "with", "times"];

/// What a step searches for: a reference, a plain text (`$$x` is the text `$x`) or a pattern.
fn sought(cx: &mut CompileContext<'_>, node: &DocumentNode) -> SearchText {
    match node.as_text() {
        Some(text) if is_reference(text) => {
            let value = cx.expr(node);
            SearchText::Of(cx.sealed(value))
        }
        Some(text) if text.starts_with("$$") => {
            let plain = crate::text::pattern::Pattern::literal(text.get(1..).unwrap_or_default());
            SearchText::Fixed(Arc::new(plain))
        }
        Some(_) => SearchText::Fixed(cx.pattern(node)),
        None => {
            let help = Some("write a plain text, `/pattern/flags`, or a reference".into());
            cx.fail(Code::TermType, node.span, format!("what is searched for is a text, not {}", node.kind()), help);
            SearchText::Fixed(cx.pattern(node))
        }
    }
}

fn replace(cx: &mut CompileContext<'_>, own: &DocumentNode) -> Option<StepOperation> {
    let (Some(find), Some(with)) = (own.get("find"), own.get("with")) else {
        cx.fail(
            Code::TermMissing,
            own.span,
            "`replace` needs `find` and `with`",
            Some("write `{ replace = { find = \"/a/g\", with = \"b\" } }`".into()),
        );
        return None;
    };
    for (key, field) in own.as_table().into_iter().flatten() {
        if !REPLACE.contains(&key.as_ref()) {
            let help = cx.report.words.help(key, REPLACE);
            cx.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to `replace`"), help);
        }
    }
    let find = sought(cx, find);
    // even without a current item, `@1` refers to the match
    let with = if cx.has_item() { cx.expr(with) } else { cx.within(ItemScope::Open, |cx| cx.expr(with)) };
    let with = cx.sealed(with);
    let times = own.get("times").and_then(|n| {
        let times = if let crate::diag::NodeValue::Int(i) = n.data { usize::try_from(i).ok() } else { None };
        if times.is_none() {
            let help = Some("write a whole number from 0, or leave it out to replace everywhere".into());
            cx.fail(Code::TermType, n.span, format!("`times` is a number of replacements, not {}", n.kind()), help);
        }
        times
    });
    Some(StepOperation::Replace { find, with, times })
}
