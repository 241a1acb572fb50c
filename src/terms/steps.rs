//! Steps that change a text, one after another: those of `shape` for a field, of a pipe for a value, and of `match`
//! for keys.
//!
//! A step returns a new value for an old one and changes nothing else, except that `inline` and `outline` keep their
//! marks in the state of the build.

use std::sync::Arc;

use crate::diag::Code;
use crate::model::{Map, Value};
use crate::text::pattern::{Captures, Pattern, SearchedText};
use crate::text::script::ScriptArgument;
use crate::text::written::ToText as _;
use crate::text::{Language, js, surrogates};

use super::eval::{CurrentItem, Env, EvalFault};
use super::{BuildState, Cond, Expr, RenderRequest};

/// One step.
#[derive(Debug, Clone)]
pub struct TextStep {
    /// The step applies only if the current item meets this condition.
    pub when: Option<Cond>,
    /// Local names for a text language.
    pub with: Option<Expr>,
    /// The options of a text language, such as how names that it does not know are treated.
    pub options: Vec<(Arc<str>, Expr)>,
    /// The operation.
    pub what: StepOperation,
}

/// The operation of a step.
#[derive(Debug, Clone)]
pub enum StepOperation {
    /// Trims white space at the start, at the end.
    Trim(bool, bool),
    /// Prepends a text.
    Prefix(Expr),
    /// Appends a text.
    Suffix(Expr),
    /// Replaces the whole text.
    Text(Expr),
    /// Replaces what a pattern matches.
    Replace {
        /// The pattern.
        find: SearchText,
        /// The replacement; `@1` is the first group of the match.
        with: Expr,
        /// The maximum number of replacements.
        times: Option<usize>,
    },
    /// Replaces the text by another one, unless that is blank.
    Override {
        /// The other text.
        by: Expr,
        /// The pattern in it that is replaced by the text so far.
        holds: Option<SearchText>,
        /// The maximum number of replacements; further matches become empty.
        times: Option<Expr>,
    },
    /// Renders with a text language.
    Expand(Language),
    /// Applies rewriting scripts.
    Scripts(ScriptsStep),
    /// Joins parts to one text with this separator.
    Inline(Arc<str>),
    /// Splits one text into parts at this separator.
    Outline(Arc<str>),
    /// Changes each part by its type.
    Parts(Vec<(Arc<str>, Expr)>),
    /// Applies a function of the pack's scripts.
    Run(Arc<str>),
}

/// What a step searches for.
#[derive(Debug, Clone)]
pub enum SearchText {
    /// A pattern of the rule.
    Fixed(Arc<Pattern>),
    /// A plain text that a reference gives: what a card or a message says is never a pattern.
    Of(Expr),
}

impl SearchText {
    /// The pattern; `None` if the reference gives no text, so that nothing is found.
    fn pattern(&self, env: &Env<'_>) -> Result<Option<Arc<Pattern>>, EvalFault> {
        let text = match self {
            SearchText::Fixed(pattern) => return Ok(Some(pattern.clone())),
            SearchText::Of(value) => env.eval(value)?.shown(),
        };
        if text.is_empty() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Pattern::literal(&text))))
    }

    fn refers(&self, depth: u8) -> bool {
        matches!(self, SearchText::Of(value) if value.refers(depth))
    }

    fn draws(&self) -> bool {
        matches!(self, SearchText::Of(value) if value.draws())
    }
}

/// A value through steps: `{ of = value, steps = […] }`.
#[derive(Debug, Clone)]
pub struct StepPipe {
    /// The value.
    pub of: Expr,
    /// The steps, in order.
    pub steps: Box<[TextStep]>,
}

impl StepPipe {
    /// The value after all steps.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let marks = env.st.marks.borrow().len();
        let value = through(&self.steps, self.of.eval(env)?, env)?;
        if self.steps.iter().any(TextStep::outlines) {
            // all marks that these steps made have been turned back into parts
            env.st.marks.borrow_mut().truncate(marks);
        }
        Ok(value)
    }

    /// Whether the value or a step depends on the item `depth` levels up from the pipe.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        self.of.refers(depth) || self.steps.iter().any(|step| step.refers(depth))
    }

    /// Whether it must be evaluated each time and in order.
    #[must_use]
    pub fn draws(&self) -> bool {
        self.of.draws() || self.steps.iter().any(TextStep::draws)
    }
}

/// The text that results from the steps.
pub fn text_through(steps: &[TextStep], text: Arc<str>, env: &Env<'_>) -> Result<Arc<str>, EvalFault> {
    Ok(through(steps, Value::Text(text), env)?.shown())
}

/// The value that results from the steps; for a list, each element is changed by itself. `with` and `when` refer to
/// the current item, which does not change.
pub fn through(steps: &[TextStep], mut value: Value, env: &Env<'_>) -> Result<Value, EvalFault> {
    for step in steps {
        if step.when.as_ref().map_or(Ok(true), |c| env.holds(c))? {
            value = match value {
                Value::List(list) if !step.takes_parts() => {
                    Value::list(list.iter().map(|one| step.changed(one.clone(), env)).collect::<Result<_, _>>()?)
                }
                one => step.changed(one, env)?,
            };
        }
    }
    Ok(value)
}

impl TextStep {
    /// The result for a value.
    pub fn changed(&self, old: Value, env: &Env<'_>) -> Result<Value, EvalFault> {
        let new = self.apply(old, env)?;
        if let Value::Text(text) = &new {
            env.st.check_text_size(text.len())?;
        }
        Ok(new)
    }

    /// Whether it depends on the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        self.when.as_ref().is_some_and(|c| c.refers(depth))
            || self.with.as_ref().is_some_and(|e| e.refers(depth))
            || self.options.iter().any(|(_, e)| e.refers(depth))
            || match &self.what {
                StepOperation::Prefix(e) | StepOperation::Suffix(e) | StepOperation::Text(e) => e.refers(depth),
                StepOperation::Replace { find, with, .. } => find.refers(depth) || with.refers(depth),
                StepOperation::Override { by, times, holds } => {
                    by.refers(depth)
                        || times.as_ref().is_some_and(|e| e.refers(depth))
                        || holds.as_ref().is_some_and(|holds| holds.refers(depth))
                }
                StepOperation::Scripts(scripts) => scripts.refers(depth),
                StepOperation::Parts(forms) => forms.iter().any(|(_, e)| e.refers(depth + 1)),
                // the function receives the item, unless it receives something else
                StepOperation::Run(_) => depth == 0 && self.with.is_none(),
                StepOperation::Trim(..) | StepOperation::Expand(_) | StepOperation::Inline(_) | StepOperation::Outline(_) => false,
            }
    }

    /// Whether it must be evaluated each time and in order, because it may draw, write or keep marks.
    #[must_use]
    pub fn draws(&self) -> bool {
        self.when.as_ref().is_some_and(Cond::draws)
            || match &self.what {
                StepOperation::Prefix(e) | StepOperation::Suffix(e) | StepOperation::Text(e) => e.draws(),
                StepOperation::Replace { find, with, .. } => find.draws() || with.draws(),
                StepOperation::Override { by, times, holds } => {
                    by.draws() || times.as_ref().is_some_and(Expr::draws) || holds.as_ref().is_some_and(SearchText::draws)
                }
                StepOperation::Expand(_)
                | StepOperation::Scripts(_)
                | StepOperation::Inline(_)
                | StepOperation::Outline(_)
                | StepOperation::Run(_) => true,
                StepOperation::Parts(forms) => forms.iter().any(|(_, e)| e.draws()),
                StepOperation::Trim(..) => false,
            }
    }

    /// Whether it works on a list of parts as a whole.
    fn takes_parts(&self) -> bool {
        matches!(self.what, StepOperation::Inline(_) | StepOperation::Outline(_) | StepOperation::Parts(_))
    }

    /// Whether it turns marks back into parts.
    #[must_use]
    pub fn outlines(&self) -> bool {
        matches!(self.what, StepOperation::Outline(_))
    }

    /// Whether it expands macros in a text, which may write or draw.
    #[must_use]
    pub fn expands_macros(&self) -> bool {
        match &self.what {
            StepOperation::Expand(language) => *language == Language::Macro,
            StepOperation::Scripts(scripts) => scripts.expands_macros(),
            _ => false,
        }
    }

    /// Whether its result for a text depends on that text alone.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        let literal = |e: &Expr| matches!(e, Expr::Const(_));
        self.when.is_none()
            && match &self.what {
                StepOperation::Trim(..) => true,
                StepOperation::Prefix(e) | StepOperation::Suffix(e) => literal(e),
                StepOperation::Replace { find: SearchText::Fixed(_), with, .. } => literal(with),
                _ => false,
            }
    }

    /// Whether it only expands macros.
    #[must_use]
    pub fn expands(&self) -> bool {
        self.when.is_none() && self.options.is_empty() && matches!(self.what, StepOperation::Expand(Language::Macro))
    }

    fn apply(&self, old: Value, env: &Env<'_>) -> Result<Value, EvalFault> {
        match &self.what {
            StepOperation::Inline(joint) => return inline(&old, joint, env.st),
            StepOperation::Outline(joint) => return Ok(outline(&old, joint, env.st)),
            StepOperation::Parts(forms) => return parts(&old, forms, env),
            StepOperation::Text(e) => return env.eval(e),
            _ => {}
        }
        let text = old.shown();
        Ok(match &self.what {
            StepOperation::Trim(start, end) => {
                let mut t: &str = &text;
                if *start {
                    t = js::trim_start(t);
                }
                if *end {
                    t = js::trim_end(t);
                }
                if t.len() == text.len() { Value::Text(text) } else { Value::text(t) }
            }
            StepOperation::Prefix(e) => join(&env.eval(e)?.shown(), &text),
            StepOperation::Suffix(e) => join(&text, &env.eval(e)?.shown()),
            StepOperation::Replace { find, with, times } => {
                let Some(find) = find.pattern(env)? else { return Ok(Value::Text(text)) };
                let done = if mentions_groups(with) {
                    grouped(&find, with, *times, &text, env)?
                } else {
                    let with = env.eval(with)?.shown();
                    find.rewrite(&text, *times, |_, _, out| out.push_str(&with)).map_err(|b| EvalFault::bound(b.to_string()))?
                };
                done.map_or(Value::Text(text), Value::text)
            }
            StepOperation::Override { by, holds, times } => {
                let over = env.eval(by)?.shown();
                match holds.as_ref().map(|holds| holds.pattern(env)).transpose()?.flatten() {
                    _ if js::trim(&over).is_empty() => old,
                    None => Value::Text(over),
                    Some(holds) => {
                        let times = times.as_ref().map(|e| env.eval(e)).transpose()?.and_then(|v| v.as_f64());
                        held(&over, &text, &holds, times)?.map_or(Value::Text(over), Value::text)
                    }
                }
            }
            StepOperation::Expand(language) if language.is_plain(&text) => Value::Text(text),
            StepOperation::Expand(language) => self.render(RenderRequest::Text(*language), &text, env)?,
            StepOperation::Run(function) => {
                let with = self.with.as_ref().map(|e| env.eval(e)).transpose()?;
                let second = with.map_or_else(|| env.item(), ScriptArgument::Value);
                let given = ScriptArgument::Value(Value::Text(text.clone()));
                let new = env.st.rules.scripts.call(function, &[given, second])?;
                if let Value::Text(new) = &new
                    && *new != text
                {
                    env.st.rewritten(function, &text, new);
                }
                new
            }
            StepOperation::Scripts(scripts) => Value::Text(scripts.rewrite(text, env)?),
            _ => old,
        })
    }

    fn render(&self, what: RenderRequest, text: &Arc<str>, env: &Env<'_>) -> Result<Value, EvalFault> {
        let mut args = Map::default();
        args.insert("of".into(), Value::Text(text.clone()));
        if let Some(with) = &self.with {
            args.insert("with".into(), env.eval(with)?);
        }
        for (key, option) in &self.options {
            args.insert(key.clone(), env.eval(option)?);
        }
        env.render(what, &args)
    }
}

/// Whether a replacement refers to a group of the match: `@1`, `@outer.2`.
fn mentions_groups(with: &Expr) -> bool {
    let number = |f: &super::expr::FieldRef| f.field.as_ref().is_some_and(|(_, name)| name.parse::<usize>().is_ok());
    match with {
        Expr::Field(f) => number(f),
        Expr::Text(l) | Expr::List(l) | Expr::First(l) | Expr::Over(l) => l.iter().any(mentions_groups),
        Expr::Fn(c) => c.args.iter().any(|(_, e)| mentions_groups(e)),
        Expr::Lookup(l) => mentions_groups(&l.key) || mentions_groups(&l.table),
        // inside a query the match is one level up; conditions are not searched, so groups are always available to
        // them
        Expr::Query(_) => true,
        Expr::If(_) | Expr::Is(_) | Expr::Try(_) | Expr::Pipe(_) | Expr::Operation(_) => with.refers(0),
        _ => false,
    }
}

/// A replacement that is evaluated for each match: the item's fields, overlaid with the match's groups by number and
/// name.
fn grouped(find: &Pattern, with: &Expr, times: Option<usize>, text: &str, env: &Env<'_>) -> Result<Option<String>, EvalFault> {
    let own = env.whole();
    let names = find.names();
    let mut fault = None;
    let done = find.rewrite(text, times, |searched, found, out| {
        let text = searched.text;
        let mut groups = Map::default();
        groups.insert("0".into(), Value::text(searched.whole(found.whole.of(text))));
        for (n, group) in found.groups.iter().enumerate() {
            let value = Value::text(searched.whole(group.map_or("", |m| m.of(text))));
            if let Some(name) = names.get(n).cloned().flatten() {
                groups.insert(name, value.clone());
            }
            groups.insert((n + 1).to_string().into(), value);
        }
        let here = Value::map(groups).over(own.clone());
        match (Env { cur: CurrentItem::Value(&here, 0), ..*env }).eval(with) {
            Ok(value) => out.push_str(&value.shown()),
            Err(f) => fault = Some(f),
        }
    });
    match fault {
        Some(fault) => Err(fault),
        None => done.map_err(|b| EvalFault::bound(b.to_string())),
    }
}

fn join(a: &str, b: &str) -> Value {
    let mut out = String::with_capacity(a.len() + b.len());
    out.push_str(a);
    out.push_str(b);
    Value::text(out)
}

/// A text in which matches of a pattern are replaced by another text, at most this many times (without limit if this
/// is not a number); further matches become empty.
fn held(over: &str, text: &str, holds: &Pattern, times: Option<f64>) -> Result<Option<String>, EvalFault> {
    let mut left = times.unwrap_or(f64::INFINITY);
    let put = |_: &_, out: &mut String| {
        if left >= 1.0 {
            out.push_str(text);
        }
        left -= 1.0;
    };
    holds.replace(over, None, put).map_err(|b| EvalFault::bound(b.to_string()))
}

/// Joins parts to one text; any part that is not a text becomes a mark that `outline` finds again.
fn inline(old: &Value, joint: &str, st: &BuildState) -> Result<Value, EvalFault> {
    let Value::List(parts) = old else { return Ok(Value::Text(old.shown())) };
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts.iter() {
        match part.get("type").and_then(Value::as_str) {
            Some("text") => pieces.push(part.get("text").map(Value::shown).unwrap_or_default()),
            // whatever else a part is, it is kept
            Some(_) => {
                let mut marks = st.marks.borrow_mut();
                let mark: Arc<str> = format!("\u{f8f0}{}\u{f8f1}", marks.len()).into();
                marks.push((mark.clone(), part.clone()));
                pieces.push(mark);
            }
            None => pieces.push(if let Value::Text(text) = part { text.clone() } else { Arc::default() }),
        }
    }
    // parts may share one long text
    st.check_text_size(pieces.iter().fold(0, |sum: usize, piece| sum.saturating_add(piece.len()).saturating_add(joint.len())))?;
    Ok(Value::text(pieces.join(joint)))
}

fn outline(old: &Value, joint: &str, st: &BuildState) -> Value {
    let text = old.shown();
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

fn parts(old: &Value, forms: &[(Arc<str>, Expr)], env: &Env<'_>) -> Result<Value, EvalFault> {
    let Value::List(list) = old else { return Ok(old.clone()) };
    let mut out = Vec::with_capacity(list.len());
    for (n, part) in list.iter().enumerate() {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or("");
        out.push(match forms.iter().find(|(k, _)| k.as_ref() == kind) {
            Some((_, form)) => env.inner(CurrentItem::Value(part, n)).eval(form)?,
            None => part.clone(),
        });
    }
    Ok(Value::list(out))
}

/// The step `scripts`.
#[derive(Debug, Clone)]
pub struct ScriptsStep {
    /// The scripts: rows with `find` and `with`.
    pub rows: Expr,
    /// Steps that are applied to the text inserted for each match.
    pub then: Vec<TextStep>,
}

impl ScriptsStep {
    /// Whether the rows or a step depend on the item `depth` levels up.
    pub(super) fn refers(&self, depth: u8) -> bool {
        self.rows.refers(depth) || self.then.iter().any(|step| step.refers(depth))
    }

    /// Whether the inserted text is read for macros.
    pub(super) fn expands_macros(&self) -> bool {
        self.then.iter().any(TextStep::expands_macros)
    }

    /// The text after all scripts. A script that cannot be used raises a warning and leaves the text unchanged.
    pub(super) fn rewrite(&self, mut text: Arc<str>, env: &Env<'_>) -> Result<Arc<str>, EvalFault> {
        let rows = env.eval(&self.rows)?;
        for row in rows.elements().iter().filter(|row| !row.is_empty()) {
            let script = RewriteScript::read(row);
            let new = self.replace(&script, &text, env)?;
            if *new != *text {
                env.st.rewritten(&script.name, &text, &new);
            }
            text = new;
        }
        Ok(text)
    }

    fn replace(&self, script: &RewriteScript, text: &Arc<str>, env: &Env<'_>) -> Result<Arc<str>, EvalFault> {
        let pattern = match script.pattern(env) {
            Ok(pattern) => pattern,
            Err(reason) => {
                env.st.warn_once(Code::RegexBad, format!("script `{}` is passed over: {reason}", script.name));
                return Ok(text.clone());
            }
        };
        let mut fault = None;
        let names = pattern.names();
        let done = pattern.rewrite(text, None, |searched, found, out| {
            let filled = script.filled(&ScriptMatch { searched, found, names });
            if self.then.is_empty() {
                return out.push_str(&filled);
            }
            match text_through(&self.then, filled.into(), env) {
                Ok(text) => out.push_str(&text),
                Err(f) => fault = Some(f),
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        match done {
            Ok(new) => Ok(new.map_or_else(|| text.clone(), Arc::from)),
            Err(bound) => {
                env.st.warn_once(Code::RegexUnsafe, format!("script `{}`: {bound}", script.name));
                Ok(text.clone())
            }
        }
    }
}

/// One script, read from its row.
struct RewriteScript {
    name: Arc<str>,
    find: Arc<str>,
    /// `find` is a bare pattern with these flags; otherwise it may be `/pattern/flags`.
    flags: Option<Arc<str>>,
    with: Arc<str>,
    /// Texts that are removed from each captured text.
    trim: Vec<Arc<str>>,
}

impl RewriteScript {
    fn read(row: &Value) -> Self {
        let field = |key: &str| row.get(key).map(Value::to_text).unwrap_or_default();
        let flags = row.get("flags").filter(|f| !f.is_null()).map(Value::to_text);
        let trim = row.get("trim").and_then(Value::as_list).unwrap_or(&[]);
        let trim = trim.iter().map(Value::to_text).filter(|t| !t.is_empty()).collect();
        Self { name: field("name"), find: field("find"), flags, with: field("with"), trim }
    }

    fn pattern(&self, env: &Env<'_>) -> Result<Pattern, String> {
        env.st.pattern(&self.find, self.flags.as_deref()).map_err(|e| e.reason)
    }

    /// The replacement for a match, with `$1`, `$<name>` and `{{match}}` filled in.
    fn filled(&self, found: &ScriptMatch<'_>) -> String {
        let mut out = String::with_capacity(self.with.len());
        let mut rest: &str = &self.with;
        while let Some((at, mark)) = next_mark(rest) {
            out.push_str(rest.get(..at).unwrap_or_default());
            match mark {
                ReplacementMark::Number(digits) => out.push_str(&self.trimmed(found, &found.numbered(digits))),
                ReplacementMark::Name(name) => out.push_str(&self.trimmed(found, &found.named(name))),
                ReplacementMark::Whole => out.push_str(&self.trimmed(found, &found.numbered("0"))),
            }
            rest = rest.get(at + mark.len()..).unwrap_or_default();
        }
        out.push_str(rest);
        out
    }

    /// A captured text without what the script removes from it. The text can be one of halves.
    fn trimmed(&self, found: &ScriptMatch<'_>, text: &str) -> String {
        let text = if found.searched.apart { surrogates::joined(text) } else { text.into() }.into_owned();
        self.trim.iter().fold(text, |text, piece| if text.contains(piece.as_ref()) { text.replace(piece.as_ref(), "") } else { text })
    }
}

/// A part of a replacement that is filled in from the match.
enum ReplacementMark<'t> {
    /// `$` and all following digits.
    Number(&'t str),
    /// `$<name>`.
    Name(&'t str),
    /// `{{match}}`, in any letter case.
    Whole,
}

const WHOLE: &str = "{{match}}";

impl ReplacementMark<'_> {
    fn len(&self) -> usize {
        match self {
            ReplacementMark::Number(digits) => 1 + digits.len(),
            ReplacementMark::Name(name) => 3 + name.len(),
            ReplacementMark::Whole => WHOLE.len(),
        }
    }
}

/// The first such part in a text, and its position.
fn next_mark(text: &str) -> Option<(usize, ReplacementMark<'_>)> {
    text.char_indices().filter(|(_, c)| matches!(c, '$' | '{')).find_map(|(at, _)| Some((at, mark(text.get(at..)?)?)))
}

fn mark(text: &str) -> Option<ReplacementMark<'_>> {
    if text.get(..WHOLE.len()).is_some_and(|t| t.eq_ignore_ascii_case(WHOLE)) {
        return Some(ReplacementMark::Whole);
    }
    let rest = text.strip_prefix('$')?;
    if let Some((name, _)) = rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
        return (!name.is_empty()).then_some(ReplacementMark::Name(name));
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (digits > 0).then(|| ReplacementMark::Number(rest.get(..digits).unwrap_or_default()))
}

/// A match, as JavaScript passes it to a replacement function.
struct ScriptMatch<'t> {
    searched: &'t SearchedText<'t>,
    found: &'t Captures,
    names: &'t [Option<Arc<str>>],
}

impl ScriptMatch<'_> {
    /// The argument of that number: the match, a group, then the offset (nothing if it is 0), then the text.
    fn numbered(&self, digits: &str) -> String {
        let groups = self.found.groups.len();
        match digits.parse::<usize>() {
            Ok(0) => self.found.whole.of(self.searched.text).to_owned(),
            Ok(n) if n <= groups => self.group(n - 1),
            Ok(n) if n == groups + 1 => {
                match self.searched.text.get(..self.found.whole.start).map_or(0, |before| before.encode_utf16().count()) {
                    0 => String::new(),
                    offset => offset.to_string(),
                }
            }
            Ok(n) if n == groups + 2 => self.searched.text.to_owned(),
            _ => String::new(),
        }
    }

    fn named(&self, name: &str) -> String {
        let place = self.names.iter().position(|n| n.as_deref() == Some(name));
        place.map(|n| self.group(n)).unwrap_or_default()
    }

    fn group(&self, n: usize) -> String {
        self.found.groups.get(n).and_then(|g| *g).map_or_else(String::new, |m| m.of(self.searched.text).to_owned())
    }
}
