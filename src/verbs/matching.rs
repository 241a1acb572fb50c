//! `match`: looks the items' keys up in the scan sources, and sets fields on hits.
//!
//! What is searched are the rows of table `scan_source`, how a key is found the rows of `matcher`, how primary and
//! secondary hits combine the rows of `logic`. Texts that several items share are put together once.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, Node, Span, Table};
use crate::model::{FieldId, Item, Value, item::core};
use crate::terms::cond_parse::Mode;
use crate::terms::cx::Scope;
use crate::terms::expr::Root;
use crate::terms::select::{Seq, count, pass_env};
use crate::terms::{Cond, Cur, Cx, Env, Expr, Fault, Memo, State, Test};

use super::set::Set;
use super::{Halt, Pass};

/// The terms of `match`.
pub struct Match {
    keys: Expr,
    more: Option<Expr>,
    set: Set,
    grow: Option<FieldId>,
    sources: Vec<Source>,
    matchers: Vec<Matcher>,
    logic: FxHashMap<Arc<str>, (Option<Test>, Option<Test>)>,
    logic_field: FieldId,
}

/// A row of `scan_source`.
struct Source {
    when: Option<Cond>,
    filter: Option<Cond>,
    each: Option<Expr>,
    window: Option<Expr>,
    newest_first: bool,
    lead: Arc<str>,
    text: Expr,
}

/// A row of `matcher`.
struct Matcher {
    when: Option<Cond>,
    filter: Option<Cond>,
    keys: Option<Test>,
    how: How,
    case: Option<Expr>,
    edge: Edge,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Plain,
    Word,
    Regex,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    NonWord,
    Boundary,
    Space,
}

impl Match {
    /// Reads the terms and the tables.
    pub fn parse(cx: &mut Cx<'_>, fields: &Table, span: Span, scope: &Scope) -> Option<Self> {
        let (Some(keys), Some(set)) = (fields.get("keys"), fields.get("set")) else {
            cx.fail(
                Code::TermMissing,
                span,
                "`match` needs `keys` and `set`",
                Some("add `keys = \"@keys\"` and `set = { hit = true }`".into()),
            );
            return None;
        };
        let keys = cx.within(scope.clone(), |cx| cx.expr(&keys.node));
        let more = fields.get("more").map(|f| cx.within(scope.clone(), |cx| cx.expr(&f.node)));
        let set = Set::of(cx, &set.node, scope);
        let grow = fields.get("grow").and_then(|f| f.node.as_text()).map(|f| cx.fields.intern(f));
        let pack = cx.pack;
        let rows = |table: &str| pack.tables.get(table).into_iter().flatten().map(|(_, r)| r).collect::<Vec<_>>();
        let sources = rows("scan_source").iter().filter_map(|r| source(cx, &r.fields, scope)).collect();
        let matchers = rows("matcher").iter().map(|r| matcher(cx, &r.fields, scope)).collect();
        let mut logic = FxHashMap::default();
        for row in rows("logic") {
            let mut test = |key: &str| row.fields.get(key).map(|f| cx.test(&f.node, None));
            logic.insert(row.name.clone(), (test("secondary"), test("missing")));
        }
        let logic_field = cx.fields.intern("logic");
        Some(Self { keys, more, set, grow, sources, matchers, logic, logic_field })
    }

    /// Looks the keys up.
    pub fn run(&self, pass: &Arc<Pass>, st: &mut State, list: usize, memo: &Memo) -> Result<(), Halt> {
        let mut hits = Vec::new();
        {
            let env = pass_env(st, memo);
            let chosen = pass.chosen(st, list, memo)?;
            let items = st.list(list);
            let mut texts = Texts::new(self, &env)?;
            for n in chosen {
                let Some(item) = items.items.get(n) else { continue };
                let here = env.inner(Cur::Item(item, n));
                if let Some(found) = self.find(item, &here, &mut texts)? {
                    hits.push((n, found));
                    if let Some(text) = self.grow.and_then(|f| item.get(f)) {
                        texts.grown.push_str(&text.to_text());
                    }
                }
            }
        }
        for (n, found) in &hits {
            if let Some(item) = st.list_mut(list).items.get_mut(*n) {
                item.set(core::HITS, Value::Int(i64::try_from(*found).unwrap_or(i64::MAX)));
            }
        }
        let chosen: Vec<usize> = hits.into_iter().map(|(n, _)| n).collect();
        self.set.apply(st, list, &chosen, memo)?;
        Ok(self.set.apply_globals(st, list, &chosen, memo)?)
    }

    /// The number of keys found, if the item is hit.
    fn find(&self, item: &Item, env: &Env<'_>, texts: &mut Texts<'_>) -> Result<Option<usize>, Fault> {
        let keys = env.eval(&self.keys)?;
        let keys = keys.as_list().unwrap_or(&[]);
        if keys.is_empty() {
            return Ok(None);
        }
        let text = texts.of(self, env)?;
        let mut primary = 0;
        for key in keys {
            primary += usize::from(self.has(key, &text, env)?);
        }
        if primary == 0 {
            return Ok(None);
        }
        let more = self.more.as_ref().map(|e| env.eval(e)).transpose()?.unwrap_or_default();
        let more = more.as_list().unwrap_or(&[]);
        if more.is_empty() {
            return Ok(Some(primary));
        }
        let mut secondary = 0;
        for key in more {
            secondary += usize::from(self.has(key, &text, env)?);
        }
        let named = item.get(self.logic_field).map(Value::to_text).unwrap_or_default();
        let number = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let held = match self.logic.get(&named) {
            Some((of_found, of_missing)) => {
                of_found.as_ref().map_or(Ok(true), |t| t.holds(&number(secondary), env))?
                    && of_missing.as_ref().map_or(Ok(true), |t| t.holds(&number(more.len() - secondary), env))?
            }
            None => secondary > 0,
        };
        Ok(held.then_some(primary + secondary))
    }

    fn has(&self, key: &Value, text: &Text, env: &Env<'_>) -> Result<bool, Fault> {
        let word = key.to_text();
        if word.is_empty() {
            return Ok(false);
        }
        for matcher in &self.matchers {
            if !matcher.takes(key, env)? {
                continue;
            }
            let case = matcher.case.as_ref().map(|e| env.eval(e)).transpose()?.is_some_and(|v| v.truthy());
            return match matcher.how {
                How::Regex => match env.st.pattern(&word) {
                    Ok(p) => p.is_match(&text.plain).map_err(|b| Fault::bound(b.to_string())),
                    Err(reason) => {
                        env.st.warn(Code::RegexBad, format!("key `{word}` is passed over: {reason}"));
                        Ok(false)
                    }
                },
                how if case => Ok(matcher.finds(how, &word, &text.plain)),
                how => Ok(matcher.finds(how, &word.to_lowercase(), text.lower())),
            };
        }
        Ok(false)
    }
}

impl Source {
    /// The newest rows of a held list that is not read to its end: reading them all would cost the length of the chat.
    fn newest(&self, window: usize, env: &Env<'_>) -> Result<Option<Vec<Value>>, Fault> {
        match &self.each {
            Some(Expr::Path(path)) if self.newest_first && window < usize::MAX => match path.root {
                Root::Scene { list: Some((id, used)) } if path.segs.len() == used => env.st.newest(id, window),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

impl Matcher {
    fn takes(&self, key: &Value, env: &Env<'_>) -> Result<bool, Fault> {
        Ok(self.when.as_ref().map_or(Ok(true), |c| env.holds(c))?
            && self.filter.as_ref().map_or(Ok(true), |c| env.holds(c))?
            && self.keys.as_ref().map_or(Ok(true), |t| t.holds(key, env))?)
    }

    fn finds(&self, how: How, key: &str, text: &str) -> bool {
        if how == How::Plain {
            return text.contains(key);
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.match_indices(key).any(|(at, found)| {
            let before = text.get(..at).and_then(|t| t.chars().next_back());
            let after = text.get(at + found.len()..).and_then(|t| t.chars().next());
            match self.edge {
                Edge::NonWord => before.is_none_or(|c| !word(c)) && after.is_none_or(|c| !word(c)),
                Edge::Space => before.is_none_or(|c| c == ' ') && after.is_none_or(|c| c == ' '),
                Edge::Boundary => {
                    let first = key.chars().next().is_some_and(word);
                    let last = key.chars().next_back().is_some_and(word);
                    before.is_some_and(word) != first && after.is_some_and(word) != last
                }
            }
        })
    }
}

/// A searched text, and its lower-case form once it has been asked for.
struct Text {
    plain: String,
    lower: std::cell::OnceCell<String>,
}

impl Text {
    fn lower(&self) -> &str {
        self.lower.get_or_init(|| self.plain.to_lowercase())
    }
}

/// The searched texts of one pass, by which stretches of which sources they hold.
struct Texts<'a> {
    elements: Vec<Vec<Arc<str>>>,
    active: Vec<bool>,
    made: FxHashMap<Vec<usize>, Rc<Text>>,
    grown: String,
    sources: &'a [Source],
}

impl<'a> Texts<'a> {
    fn new(of: &'a Match, env: &Env<'_>) -> Result<Self, Fault> {
        let mut active = Vec::new();
        for source in &of.sources {
            active.push(source.when.as_ref().map_or(Ok(true), |c| env.holds(c))?);
        }
        let elements = vec![Vec::new(); of.sources.len()];
        Ok(Self { elements, active, made: FxHashMap::default(), grown: String::new(), sources: &of.sources })
    }

    fn of(&mut self, _match: &Match, env: &Env<'_>) -> Result<Rc<Text>, Fault> {
        let mut key = Vec::with_capacity(self.sources.len() + 1);
        for (n, source) in self.sources.iter().enumerate() {
            let used = self.active.get(n).copied().unwrap_or(false) && source.filter.as_ref().map_or(Ok(true), |c| env.holds(c))?;
            let window = match (used, &source.window) {
                (false, _) => 0,
                (true, Some(w)) => count(&env.eval(w)?),
                (true, None) => usize::MAX,
            };
            key.push(self.stretch(n, source, window, env)?);
        }
        key.push(self.grown.len());
        if let Some(text) = self.made.get(&key) {
            return Ok(text.clone());
        }
        let mut pieces: Vec<String> = Vec::new();
        for ((elements, taken), source) in self.elements.iter().zip(&key).zip(self.sources) {
            pieces.extend(elements.iter().take(*taken).map(|e| format!("{}{e}", source.lead)));
        }
        if !self.grown.is_empty() {
            pieces.push(self.grown.clone());
        }
        let text = Rc::new(Text { plain: pieces.join("\n"), lower: std::cell::OnceCell::new() });
        self.made.insert(key, text.clone());
        Ok(text)
    }

    /// Makes the first `window` elements of a source ready; how many there are of them.
    fn stretch(&mut self, n: usize, source: &Source, window: usize, env: &Env<'_>) -> Result<usize, Fault> {
        let Some(made) = self.elements.get_mut(n) else { return Ok(0) };
        if made.len() >= window {
            return Ok(window);
        }
        let Some(each) = &source.each else {
            if made.is_empty() {
                let text = env.eval(&source.text)?.to_text();
                if !text.is_empty() {
                    made.push(text);
                }
            }
            return Ok(made.len().min(window));
        };
        let rows = match source.newest(window, env)? {
            Some(newest) => Value::list(newest),
            None => env.eval(each)?,
        };
        let rows = rows.as_list().unwrap_or(&[]);
        let seq = Seq::Values(rows);
        for k in made.len()..window.min(rows.len()) {
            let place = if source.newest_first { rows.len() - 1 - k } else { k };
            made.push(env.inner(seq.cur(place)).eval(&source.text)?.to_text());
        }
        Ok(made.len().min(window))
    }
}

fn source(cx: &mut Cx<'_>, fields: &Table, scope: &Scope) -> Option<Source> {
    let node = |key: &str| fields.get(key).map(|f| &f.node);
    let when = node("when").map(|n| cx.within(Scope::None, |cx| cx.cond(n, Mode::Scene)));
    let filter = node("where").map(|n| cx.within(scope.clone(), |cx| cx.cond(n, Mode::Item)));
    let each = node("each").map(|n| cx.expr(n));
    let window = node("window").map(|n| cx.within(scope.clone(), |cx| cx.expr(n)));
    let inner = if each.is_some() { Scope::Open } else { scope.clone() };
    let text = cx.within(inner, |cx| node("text").map(|n| cx.expr(n)))?;
    let newest_first = node("from").and_then(Node::as_text) == Some("last");
    Some(Source { when, filter, each, window, newest_first, lead: node("lead").and_then(Node::as_text).unwrap_or("").into(), text })
}

fn matcher(cx: &mut Cx<'_>, fields: &Table, scope: &Scope) -> Matcher {
    let node = |key: &str| fields.get(key).map(|f| &f.node);
    let word = |key: &str| node(key).and_then(Node::as_text);
    Matcher {
        when: node("when").map(|n| cx.within(Scope::None, |cx| cx.cond(n, Mode::Scene))),
        filter: node("where").map(|n| cx.within(scope.clone(), |cx| cx.cond(n, Mode::Item))),
        keys: node("keys").map(|n| cx.test(n, None)),
        how: match word("how") {
            Some("regex") => How::Regex,
            Some("word") => How::Word,
            _ => How::Plain,
        },
        case: node("case").map(|n| cx.within(scope.clone(), |cx| cx.expr(n))),
        edge: match word("edge") {
            Some("boundary") => Edge::Boundary,
            Some("space") => Edge::Space,
            _ => Edge::NonWord,
        },
    }
}
