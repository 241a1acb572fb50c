//! `shape`: changes one text of the selected items, step by step; a step that refuses leaves the text before it.

use std::sync::Arc;

use crate::diag::{Code, Node, Span, Table, suggest};
use crate::model::{FieldId, Item, Map, Value, item::core};
use crate::syntax::CompileContext;
use crate::syntax::conditions::Mode;
use crate::syntax::context::Scope;
use crate::terms::select::pass_env;
use crate::terms::{Cond, Current, Env, Expr, Fault, Memo, Rendering, State};
use crate::text::pattern::Pattern;
use crate::text::{Language, js};

use super::pass::{Caller, Each, Halt, Info, Pass, Reach, Verb};
use super::scripts::Scripts;

/// `shape` as the table of verbs knows it.
pub const INFO: Info = Info {
    name: "shape",
    doc: "changes a text of the selected items, step by step",
    terms: &["steps", "field"],
    cost: "the text of the selected",
    did: "shaped",
    parse: |cx, w| Some(Box::new(Shape::parse(cx, w.fields, w.span, w.scope)?)),
};

/// The steps, for `tapster ops`.
pub const STEPS: &[(&str, &str)] = &[
    ("trim", "removes white space: `both`, `start` or `end`"),
    ("prefix", "puts this text in front"),
    ("suffix", "puts this text behind"),
    ("text", "replaces the whole text by this one"),
    ("replace", "`{ find, with, times }`: replaces a pattern or a plain text"),
    ("override", "replaces the text by this one unless that is blank; where `holds` matches in it, the old text is inserted"),
    ("expand", "expands the text in a text language: macro, outlet, story, handlebars, leaf, liquid"),
    ("scripts", "applies rewriting scripts, in order; `then` lists steps for each replacement"),
    ("inline", "makes one text of the parts, joined by this; media become marks in it"),
    ("outline", "makes parts of the text again where it has such marks, cut at this"),
    ("parts", "rewrites each part by its type"),
    ("run", "calls a Rhai function with the text"),
];

/// The terms of `shape`.
pub struct Shape {
    /// The field that is changed.
    pub field: FieldId,
    steps: Vec<Step>,
}

/// One step.
pub(super) struct Step {
    when: Option<Cond>,
    with: Option<Expr>,
    /// Function of the library that every value of a macro goes through.
    values: Option<Arc<str>>,
    /// What becomes of names that a template does not have.
    unknown: Option<Arc<str>>,
    what: What,
}

enum What {
    Trim(bool, bool),
    Prefix(Expr),
    Suffix(Expr),
    Text(Expr),
    Replace {
        find: Arc<Pattern>,
        with: Expr,
        times: Option<usize>,
    },
    Override {
        by: Expr,
        /// What in it is the text so far.
        holds: Option<Arc<Pattern>>,
        /// How often at most; then nothing stands there.
        times: Option<Expr>,
    },
    Expand(Language),
    Scripts(Scripts),
    Inline(Arc<str>),
    Outline(Arc<str>),
    Parts(Vec<(Arc<str>, Expr)>),
    Run(Arc<str>),
}

impl Shape {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, fields: &Table, span: Span, scope: &Scope) -> Option<Self> {
        let Some(list) = fields.get("steps").and_then(|f| f.node.as_list()) else {
            cx.fail(Code::TermMissing, span, "`shape` needs a list of `steps`", Some("add `steps = [{ trim = \"both\" }]`".into()));
            return None;
        };
        let field = fields.get("field").and_then(|f| f.node.as_text()).map_or(core::TEXT, |f| cx.fields.intern(f));
        let steps = list.iter().filter_map(|n| cx.within(scope.clone(), |cx| step(cx, n))).collect();
        Some(Self { field, steps })
    }

    /// The item with its text changed.
    pub fn changed(&self, item: &Item, place: usize, env: &Env<'_>) -> Result<Item, Fault> {
        let mut item = item.clone();
        for step in &self.steps {
            let here = env.inner(Current::Item(&item, place));
            if let Some(when) = &step.when
                && !here.holds(when)?
            {
                continue;
            }
            let old = item.get(self.field).cloned().unwrap_or_default();
            let new = step.apply(old, &here)?;
            if let Value::Text(t) = &new
                && t.len() > env.st.rules.limits.text_bytes
            {
                return Err(Fault::bound(format!("a text grew beyond {} bytes", env.st.rules.limits.text_bytes)));
            }
            item.set(self.field, new);
        }
        Ok(item)
    }
}

impl Verb for Shape {
    fn reach(&self, _pass: &Pass) -> Reach<'_> {
        Reach::Each(self)
    }

    fn run(&self, pass: &Arc<Pass>, st: &mut State, list: usize, memo: &Memo, _caller: &dyn Caller) -> Result<(), Halt> {
        let chosen = pass.chosen(st, list, memo)?;
        let mut changed = Vec::with_capacity(chosen.len());
        {
            let items = st.list(list);
            let env = pass_env(st, memo);
            for n in chosen {
                if let Some(item) = items.items.get(n) {
                    changed.push((n, self.changed(item, n, &env)?));
                    st.note(item, "shaped");
                }
            }
        }
        let list = st.list_mut(list);
        for (n, item) in changed {
            if let Some(slot) = list.items.get_mut(n) {
                *slot = item;
            }
        }
        if self.steps.iter().any(|s| matches!(s.what, What::Outline(_))) {
            st.marks.borrow_mut().clear();
        }
        Ok(())
    }
}

impl Each for Shape {
    fn change(&self, item: &Item, place: usize, _nth: usize, env: &Env<'_>) -> Result<Option<Item>, Fault> {
        self.changed(item, place, env).map(Some)
    }

    fn fields(&self) -> Vec<FieldId> {
        vec![self.field]
    }

    fn numbers(&self) -> bool {
        false
    }

    fn has_effects(&self) -> bool {
        self.steps.iter().any(Step::expands_macros)
    }
}

/// Steps on a text that is no item's: `with` and `when` look at the item at hand.
pub(super) fn steps(cx: &mut CompileContext<'_>, node: &Node) -> Vec<Step> {
    node.as_list().unwrap_or(&[]).iter().filter_map(|n| step(cx, n)).collect()
}

/// The text that comes of the steps.
pub(super) fn through(steps: &[Step], text: Arc<str>, env: &Env<'_>) -> Result<Arc<str>, Fault> {
    let mut value = Value::Text(text);
    for step in steps {
        if step.when.as_ref().map_or(Ok(true), |c| env.holds(c))? {
            value = step.apply(value, env)?;
        }
    }
    Ok(value.to_text())
}

fn step(cx: &mut CompileContext<'_>, node: &Node) -> Option<Step> {
    let table = node.as_table()?;
    let word = table.keys().find(|k| !matches!(k.as_ref(), "when" | "with" | "then" | "values" | "unknown"));
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
        "expand" => What::Expand(cx.language(own, table)?),
        "scripts" => What::Scripts(Scripts::parse(cx, own, table)),
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
    let said = |key: &str| table.get(key).and_then(|f| f.node.as_text()).map(Arc::from);
    let (values, unknown) = (said("values"), said("unknown"));
    Some(Step { when, with, values, unknown, what })
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
    let with = cx.expr(with);
    let with = cx.sealed(with);
    let times = own.get("times").and_then(|n| if let crate::diag::Data::Int(i) = n.data { usize::try_from(i).ok() } else { None });
    Some(What::Replace { find, with, times })
}

impl Step {
    pub(super) fn expands_macros(&self) -> bool {
        match &self.what {
            What::Expand(language) => *language == Language::Macro,
            What::Scripts(scripts) => scripts.expands_macros(),
            _ => false,
        }
    }

    /// Whether what it makes of a text depends on that text alone.
    pub(super) fn is_fixed(&self) -> bool {
        let literal = |e: &Expr| matches!(e, Expr::Const(_));
        self.when.is_none()
            && match &self.what {
                What::Trim(..) => true,
                What::Prefix(e) | What::Suffix(e) => literal(e),
                What::Replace { with, .. } => literal(with),
                _ => false,
            }
    }

    /// Whether it does nothing but expand macros.
    pub(super) fn expands(&self) -> bool {
        self.when.is_none() && self.values.is_none() && matches!(self.what, What::Expand(Language::Macro))
    }

    fn apply(&self, old: Value, env: &Env<'_>) -> Result<Value, Fault> {
        match &self.what {
            What::Inline(joint) => return Ok(inline(&old, joint, env.st)),
            What::Outline(joint) => return Ok(outline(&old, joint, env.st)),
            What::Parts(forms) => return parts(&old, forms, env),
            What::Text(e) => return env.eval(e),
            _ => {}
        }
        let text = old.to_text();
        Ok(match &self.what {
            What::Trim(start, end) => {
                let mut t: &str = &text;
                if *start {
                    t = js::trim_start(t);
                }
                if *end {
                    t = js::trim_end(t);
                }
                if t.len() == text.len() { Value::Text(text) } else { Value::text(t) }
            }
            What::Prefix(e) => join(&env.eval(e)?.to_text(), &text),
            What::Suffix(e) => join(&text, &env.eval(e)?.to_text()),
            What::Replace { find, with, times } => {
                let done = if mentions_groups(with) {
                    grouped(find, with, *times, &text, env)?
                } else {
                    let with = env.eval(with)?.to_text();
                    find.replace(&text, *times, |_, out| out.push_str(&with)).map_err(|b| Fault::bound(b.to_string()))?
                };
                done.map_or(Value::Text(text), Value::text)
            }
            What::Override { by, holds, times } => {
                let over = env.eval(by)?.to_text();
                match holds {
                    _ if js::trim(&over).is_empty() => old,
                    None => Value::Text(over),
                    Some(holds) => {
                        let times = times.as_ref().map(|e| env.eval(e)).transpose()?.and_then(|v| v.as_f64());
                        held(&over, &text, holds, times)?.map_or(Value::Text(over), Value::text)
                    }
                }
            }
            What::Expand(language) if language.is_plain(&text) => Value::Text(text),
            What::Expand(language) => self.render(Rendering::Text(*language), &text, None, env)?,
            What::Run(function) => self.render(Rendering::Script, &text, Some(function), env)?,
            What::Scripts(scripts) => Value::Text(scripts.rewrite(text, env)?),
            _ => old,
        })
    }

    fn render(&self, what: Rendering, text: &Arc<str>, function: Option<&Arc<str>>, env: &Env<'_>) -> Result<Value, Fault> {
        let mut args = Map::default();
        args.insert("of".into(), Value::Text(text.clone()));
        if let Some(with) = &self.with {
            args.insert("with".into(), env.eval(with)?);
        }
        for (key, said) in [("values", &self.values), ("unknown", &self.unknown)] {
            if let Some(said) = said {
                args.insert(key.into(), Value::Text(said.clone()));
            }
        }
        if let Some(function) = function {
            args.insert("function".into(), Value::Text(function.clone()));
            args.insert("item".into(), env.whole());
        }
        env.st.render(what, &args)
    }
}

/// Whether a replacement mentions a group of the match: `@1`, `@outer.2`.
fn mentions_groups(with: &Expr) -> bool {
    let number = |f: &crate::terms::expr::FieldRef| f.field.as_ref().is_some_and(|(_, name)| name.parse::<usize>().is_ok());
    match with {
        Expr::Field(f) => number(f),
        Expr::Text(l) | Expr::List(l) | Expr::First(l) | Expr::Over(l) => l.iter().any(mentions_groups),
        Expr::Fn(c) => c.args.iter().any(|(_, e)| mentions_groups(e)),
        Expr::Lookup(l) => mentions_groups(&l.key) || mentions_groups(&l.table),
        // inside a query the match is one level up; its conditions are not searched, so it is always offered
        Expr::Query(_) => true,
        _ => false,
    }
}

/// A replacement worked out for each match: the item's fields, and over them the match's groups by number and name.
fn grouped(find: &Pattern, with: &Expr, times: Option<usize>, text: &str, env: &Env<'_>) -> Result<Option<String>, Fault> {
    let own = env.whole();
    let names = find.names();
    let mut fault = None;
    let done = find.replace(text, times, |found, out| {
        let mut groups = Map::default();
        groups.insert("0".into(), Value::text(found.whole.of(text)));
        for (n, group) in found.groups.iter().enumerate() {
            let value = Value::text(group.map_or("", |m| m.of(text)));
            if let Some(name) = names.get(n).cloned().flatten() {
                groups.insert(name, value.clone());
            }
            groups.insert((n + 1).to_string().into(), value);
        }
        let here = Value::map(groups).over(own.clone());
        match (Env { cur: Current::Value(&here, 0), ..*env }).eval(with) {
            Ok(value) => out.push_str(&value.to_text()),
            Err(f) => fault = Some(f),
        }
    });
    match fault {
        Some(fault) => Err(fault),
        None => done.map_err(|b| Fault::bound(b.to_string())),
    }
}

fn join(a: &str, b: &str) -> Value {
    let mut out = String::with_capacity(a.len() + b.len());
    out.push_str(a);
    out.push_str(b);
    Value::text(out)
}

/// A text that holds another where a pattern matches, at most so many times (always, if it is no number); then nothing.
fn held(over: &str, text: &str, holds: &Pattern, times: Option<f64>) -> Result<Option<String>, Fault> {
    let mut left = times.unwrap_or(f64::INFINITY);
    let put = |_: &_, out: &mut String| {
        if left >= 1.0 {
            out.push_str(text);
        }
        left -= 1.0;
    };
    holds.replace(over, None, put).map_err(|b| Fault::bound(b.to_string()))
}

/// Parts to one text; what is no text becomes a mark that `outline` finds again.
fn inline(old: &Value, joint: &str, st: &State) -> Value {
    let Value::List(parts) = old else { return Value::Text(old.to_text()) };
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts.iter() {
        match part.get("type").and_then(Value::as_str) {
            Some("text") => pieces.push(part.get("text").map(Value::to_text).unwrap_or_default()),
            Some("image_url" | "video_url" | "audio_url") => {
                let mut marks = st.marks.borrow_mut();
                let mark: Arc<str> = format!("\u{f8f0}{}\u{f8f1}", marks.len()).into();
                marks.push((mark.clone(), part.clone()));
                pieces.push(mark);
            }
            _ => pieces.push(Arc::from("")),
        }
    }
    Value::text(pieces.join(joint))
}

fn outline(old: &Value, joint: &str, st: &State) -> Value {
    let text = old.to_text();
    let marks = st.marks.borrow();
    if !marks.iter().any(|(mark, _)| text.contains(mark.as_ref())) {
        return old.clone();
    }
    let mut out: Vec<Value> = Vec::new();
    let mut run: Option<String> = None;
    let close = |run: &mut Option<String>, out: &mut Vec<Value>| {
        if let Some(text) = run.take() {
            let part: Map = [(Arc::from("type"), Value::text("text")), (Arc::from("text"), Value::text(text))].into_iter().collect();
            out.push(Value::map(part));
        }
    };
    for piece in text.split(joint) {
        if let Some((_, part)) = marks.iter().find(|(mark, _)| mark.as_ref() == piece) {
            close(&mut run, &mut out);
            out.push(part.clone());
        } else {
            run = Some(run.map_or_else(|| piece.to_owned(), |r| r + joint + piece));
        }
    }
    close(&mut run, &mut out);
    Value::list(out)
}

fn parts(old: &Value, forms: &[(Arc<str>, Expr)], env: &Env<'_>) -> Result<Value, Fault> {
    let Value::List(list) = old else { return Ok(old.clone()) };
    let mut out = Vec::with_capacity(list.len());
    for (n, part) in list.iter().enumerate() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("");
        out.push(match forms.iter().find(|(k, _)| k.as_ref() == kind) {
            Some((_, form)) => env.inner(Current::Value(part, n)).eval(form)?,
            None => part.clone(),
        });
    }
    Ok(Value::list(out))
}
