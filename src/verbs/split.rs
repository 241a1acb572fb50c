//! `split`: one item becomes several, cut at a pattern; named captures of the cut become fields.
//!
//! The text before the first cut is an item of its own unless it is empty. With `heads`, only cuts whose first
//! capture is one of the heads count, and the head's fields are set. With `lead`, cuts only count at the start of the
//! text, one after another; each makes an item in `to`, and the original keeps what is left.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};
use crate::diag::{Code, DocumentNode};
use crate::model::{FieldId, Item, Term, Value, item::core};
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::terms::names::is_form;
use crate::terms::place::ItemGap;
use crate::terms::select::in_list_order;
use crate::terms::{BuildState, Env, EvalFault, Expr};
use crate::text::pattern::{Captures, Pattern};
use crate::text::surrogates;
use crate::text::written::{self, ToText as _};

/// `split` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "split",
    doc: "cuts an item into several at a pattern",
    terms: &[
        Term::defined("cut", "pattern", "the pattern, `/…/g`. Its named groups become fields of the piece behind the cut"),
        Term::json("heads", r##"{ "type": ["object", "array", "string"], "additionalProperties": { "$ref": "#/definitions/value" } }"##, "a table: only matches whose first group is one of its keys (words or references) count, and the fields of that key are set on the piece. Or a list of words, which sets nothing. A reference may be one word or a list of them").default("any"),
        Term::flag("lead", "only matches at the start of the text, one right after another, count. Each makes an item with the captured fields at \
             the end of `to`, and with the id of the original item in `entry`; the original keeps the rest of its text"),
        Term::text("number", "a field that numbers the pieces from 0"),
        Term::text("to", "the pieces go to the end of this list, and the item is removed (with `lead` it stays)").default("in place of the item"),
        Term::text("field", "the field that is cut").default("`text`"),
    ],
    cost: "the text",
    did: "split",
    parse: |cx, w| Some(Box::new(SplitTerms::parse(cx, w)?)),
};

/// The terms of `split`.
pub struct SplitTerms {
    cut: Arc<Pattern>,
    heads: Option<Vec<HeadRule>>,
    lead: bool,
    number: Option<FieldId>,
    to: Option<usize>,
    field: FieldId,
    names: Vec<Option<FieldId>>,
    source: FieldId,
}

/// One head as written: its word and its fields.
type HeadRule = (Expr, Vec<(FieldId, Expr)>);

/// The fields of each head, by its word: of two heads with one word, the first.
type SplitHeads = FxHashMap<Arc<str>, Arc<[(FieldId, Value)]>>;

impl SplitTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        let Some(cut) = w.node("cut") else {
            cx.fail(Code::TermMissing, w.span, "`split` needs `cut`: the pattern to cut at", Some("add `cut = \"/\\n/\"`".into()));
            return None;
        };
        let cut = every(&cx.pattern(cut));
        let names = cut.names().iter().map(|n| n.as_ref().map(|n| cx.fields.intern(n))).collect();
        let to = w.list(cx, "to");
        let field = w.field(cx, "field").unwrap_or(core::TEXT);
        let pieces = to.map_or_else(|| w.scope.clone(), |to| cx.rows_of(to));
        let number = WrittenPass { scope: &pieces, ..*w }.field(cx, "number");
        let heads = w.node("heads").map(|node| heads(cx, node, w.scope, &pieces));
        let source = cx.fields.intern("entry");
        Some(Self { cut, heads, lead: w.flag("lead"), number, to, field, names, source })
    }

    fn heads(&self, env: &Env<'_>) -> Result<Option<SplitHeads>, EvalFault> {
        let Some(heads) = &self.heads else { return Ok(None) };
        let mut out = SplitHeads::default();
        for (word, set) in heads {
            let fields: Arc<[_]> = set.iter().map(|(id, e)| Ok((*id, env.eval(e)?))).collect::<Result<_, EvalFault>>()?;
            // a list of words: each of them is a head
            for word in env.eval(word)?.elements() {
                let word = word.shown();
                // a text that is matched by units has its characters beyond U+FFFF in halves
                let apart: Arc<str> = surrogates::apart(&word).into();
                for word in [word, apart] {
                    if !word.is_empty() {
                        out.entry(word).or_insert_with(|| fields.clone());
                    }
                }
            }
        }
        Ok(Some(out))
    }

    /// The pieces of one item. With `lead` the last is what is left of the item.
    fn cut(&self, item: &Item, heads: Option<&SplitHeads>) -> Result<Vec<Item>, EvalFault> {
        let text = item.get(self.field).map(Value::shown).unwrap_or_default();
        match self.cut.by_units(&text) {
            None => self.cut_by(&self.cut, item, &text, heads),
            Some((cut, apart)) => {
                let mut made = self.cut_by(&cut, item, &apart, heads)?;
                for piece in &mut made {
                    for id in self.names.iter().flatten().chain([&self.field]) {
                        if let Some(text) = piece.get(*id).and_then(Value::as_str).map(surrogates::together) {
                            piece.set(*id, Value::text(text));
                        }
                    }
                }
                Ok(made)
            }
        }
    }

    fn cut_by(&self, cut: &Pattern, item: &Item, text: &str, heads: Option<&SplitHeads>) -> Result<Vec<Item>, EvalFault> {
        let found = cut.captures_all(text, 100_000).map_err(|b| EvalFault::bound(b.to_string()))?;
        let mut made: Vec<Item> = Vec::new();
        let mut at = 0;
        let mut open: Option<Item> = None;
        for captures in &found {
            let head = heads.map(|h| find_head(captures, text, h));
            if head == Some(None) {
                continue;
            }
            if self.lead && captures.whole.start != at {
                break;
            }
            let before = text.get(at..captures.whole.start).unwrap_or("");
            if let Some(mut piece) = open.take() {
                piece.set(self.field, Value::text(before));
                written::push(&mut made, piece, 0)?;
            } else if !self.lead && !before.is_empty() {
                written::push(&mut made, self.piece(item, before)?, 0)?;
            }
            let mut next = self.piece(item, "")?;
            self.capture(&mut next, captures, text);
            for (id, value) in head.flatten().map(AsRef::as_ref).unwrap_or(&[]) {
                next.set(*id, value.clone());
            }
            at = captures.whole.end;
            if self.lead {
                written::push(&mut made, next, 0)?;
            } else {
                open = Some(next);
            }
        }
        let rest = text.get(at..).unwrap_or("");
        if self.lead {
            let mut left = item.clone();
            left.set(self.field, Value::text(rest));
            written::push(&mut made, left, 0)?;
        } else if let Some(mut piece) = open {
            piece.set(self.field, Value::text(rest));
            written::push(&mut made, piece, 0)?;
        } else if !rest.is_empty() || found.is_empty() {
            written::push(&mut made, self.piece(item, rest)?, 0)?;
        }
        if let (Some(number), false) = (self.number, self.lead) {
            for (n, piece) in made.iter_mut().enumerate() {
                piece.set(number, Value::Int(i64::try_from(n).unwrap_or(i64::MAX)));
            }
        }
        Ok(made)
    }

    fn piece(&self, item: &Item, text: &str) -> Result<Item, EvalFault> {
        let mut piece = item.clone();
        if self.to.is_some() {
            piece.set(self.source, item.get(core::ID).cloned().unwrap_or_default());
        }
        piece.set(self.field, Value::text(text));
        Ok(piece)
    }

    fn capture(&self, piece: &mut Item, captures: &Captures, text: &str) {
        for (name, group) in self.names.iter().zip(&captures.groups) {
            if let (Some(id), Some(found)) = (name, group) {
                piece.set(*id, Value::text(found.of(text)));
            }
        }
    }
}

impl Verb for SplitTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Selected
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let list = run.list;
        let chosen = in_list_order(run.chosen(st)?);
        let heads = self.heads(&run.env(st))?;
        let mut pieces = Vec::new();
        {
            let items = st.list(list);
            for n in &chosen {
                if let Some(item) = items.items.get(*n) {
                    let made = self.cut(item, heads.as_ref())?;
                    st.visit(made.len())?;
                    pieces.push((*n, made));
                }
            }
        }
        if self.lead {
            let to = self.to.unwrap_or(list);
            for (n, mut made) in pieces {
                let Some(rest) = made.pop() else { continue };
                if let Some(slot) = st.list_mut(list).items.get_mut(n) {
                    *slot = rest;
                }
                let target = st.list_mut(to);
                target.append(made);
            }
            return Ok(());
        }
        let same = self.to.is_none_or(|to| to == list);
        st.list_mut(list).remove(&chosen);
        let mut placed = Vec::new();
        for (removed, (n, made)) in pieces.into_iter().enumerate() {
            placed.extend(made.into_iter().map(|item| (ItemGap { at: n - removed, early: false }, item)));
        }
        if same {
            st.list_mut(list).insert(placed);
        } else {
            let target = st.list_mut(self.to.unwrap_or(list));
            target.append(placed.into_iter().map(|(_, item)| item));
        }
        Ok(())
    }
}

/// The heads: a table of words or references and the fields of each, or a list of words without fields.
fn heads(cx: &mut CompileContext<'_>, node: &DocumentNode, scope: &ItemScope, pieces: &ItemScope) -> Vec<HeadRule> {
    let Some(table) = node.as_table().filter(|table| !is_form(table)) else {
        let words = cx.expr(node);
        return vec![(words, Vec::new())];
    };
    let mut list = Vec::new();
    for (key, field) in table {
        let word = cx.expr(&DocumentNode { span: field.key, data: crate::diag::NodeValue::Text(key.clone()) });
        let Some(fields) = field.node.as_table() else {
            let help = Some("write `{ field = value }`, or `{}` for a head that sets nothing".into());
            cx.fail(Code::TermType, field.node.span, format!("a head has a table of fields, not {}", field.node.kind()), help);
            continue;
        };
        let mut set = Vec::new();
        for (name, value) in fields {
            cx.within(pieces.clone(), |cx| cx.check_field(0, name, value.key));
            set.push((cx.fields.intern(name), cx.within(scope.clone(), |cx| cx.expr(&value.node))));
        }
        list.push((word, set));
    }
    list
}

/// The pattern as a global search, whatever its flags say.
fn every(pattern: &Arc<Pattern>) -> Arc<Pattern> {
    match Pattern::split(pattern.text()) {
        Some((source, flags)) if !flags.contains('g') => {
            Pattern::new(source, &format!("{flags}g")).map_or_else(|_| pattern.clone(), Arc::new)
        }
        _ => pattern.clone(),
    }
}

fn find_head<'h>(captures: &Captures, text: &str, heads: &'h SplitHeads) -> Option<&'h Arc<[(FieldId, Value)]>> {
    heads.get(captures.groups.first().copied().flatten()?.of(text))
}
