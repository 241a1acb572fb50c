//! `split`: one item becomes several, cut at a pattern; named captures of the cut become fields.
//!
//! The text before the first cut is an item of its own unless it is empty. With `heads`, only cuts whose first
//! capture is one of the heads count, and the head's fields are set. With `lead`, cuts only count at the start of the
//! text, one after another; each makes an item in `to`, and the original keeps what is left.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::pass::{CompiledPass, HistoryDemand, ProgramInterrupt, ProgramRunner, Verb, VerbInfo};
use crate::diag::{Code, DocumentNode, FieldMap, Span};
use crate::model::{FieldId, Item, Term, TermType, Value, item::core};
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::terms::names::is_form;
use crate::terms::place::ItemGap;
use crate::terms::select::{in_list_order, pass_env};
use crate::terms::{BuildState, EvalFault, Expr, PassMemo};
use crate::text::pattern::{Captures, Pattern};
use crate::text::surrogates;
use crate::text::work;
use crate::text::written::ToText as _;

/// `split` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "split",
    doc: "cuts an item into several at a pattern",
    terms: &[
        Term {
            name: "cut",
            kind: TermType::Defined("pattern"),
            doc: "Where to cut: `/regex/flags`. Named groups become fields of the piece that follows.",
        },
        Term {
            name: "heads",
            kind: TermType::Json(
                r##"{ "type": ["object", "array", "string"], "additionalProperties": { "$ref": "#/definitions/value" } }"##,
            ),
            doc: "The text of a head (or a reference) = fields that are set on the piece; or a list of heads that set nothing.",
        },
        Term {
            name: "lead",
            kind: TermType::Flag,
            doc: "Only cuts at the start of the text, as often as the pattern matches there; the rest stays the text of the item.",
        },
        Term { name: "number", kind: TermType::Text, doc: "Field that receives the number of the piece, from 0." },
        Term {
            name: "to",
            kind: TermType::Text,
            doc: "List that receives the pieces; default: they replace the item. The field `entry` of a piece is the id of its item.",
        },
        Term { name: "field", kind: TermType::Text, doc: "The field that holds the text; default `text`." },
    ],
    cost: "the text",
    did: "split",
    parse: |cx, w| Some(Box::new(SplitTerms::parse(cx, w.fields, w.span, w.scope)?)),
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
    fn parse(cx: &mut CompileContext<'_>, fields: &FieldMap, span: Span, scope: &ItemScope) -> Option<Self> {
        let Some(cut) = fields.get("cut").map(|f| &f.node) else {
            cx.fail(Code::TermMissing, span, "`split` needs `cut`: the pattern to cut at", Some("add `cut = \"/\\n/\"`".into()));
            return None;
        };
        let cut = every(&cx.pattern(cut));
        let names = cut.names().iter().map(|n| n.as_ref().map(|n| cx.fields.intern(n))).collect();
        let word = |key: &str| fields.get(key).and_then(|f| f.node.as_text());
        let to = fields.get("to").map(|f| {
            let name = f.node.as_text().unwrap_or("").to_owned();
            cx.list(&name, f.node.span)
        });
        let field = word("field").map_or(core::TEXT, |n| cx.fields.intern(n));
        let pieces = to.map_or_else(|| scope.clone(), |to| cx.rows_of(to));
        if let Some(f) = fields.get("field") {
            cx.within(scope.clone(), |cx| cx.check_field(0, f.node.as_text().unwrap_or(""), f.node.span));
        }
        let number = fields.get("number").and_then(|f| Some((f.node.as_text()?, f.node.span)));
        let number = number.map(|(name, span)| {
            cx.within(pieces.clone(), |cx| cx.check_field(0, name, span));
            cx.fields.intern(name)
        });
        let heads = fields.get("heads").map(|f| heads(cx, &f.node, scope, &pieces));
        let lead = fields.get("lead").and_then(|f| f.node.as_bool()).unwrap_or(false);
        let source = cx.fields.intern("entry");
        Some(Self { cut, heads, lead, number, to, field, names, source })
    }

    fn heads(&self, st: &BuildState, memo: &PassMemo) -> Result<Option<SplitHeads>, EvalFault> {
        let Some(heads) = &self.heads else { return Ok(None) };
        let env = pass_env(st, memo);
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
                made.push(piece);
            } else if !self.lead && !before.is_empty() {
                made.push(self.piece(item, before)?);
            }
            let mut next = self.piece(item, "")?;
            self.capture(&mut next, captures, text);
            for (id, value) in head.flatten().map(AsRef::as_ref).unwrap_or(&[]) {
                next.set(*id, value.clone());
            }
            at = captures.whole.end;
            if self.lead {
                made.push(next);
            } else {
                open = Some(next);
            }
        }
        let rest = text.get(at..).unwrap_or("");
        if self.lead {
            let mut left = item.clone();
            left.set(self.field, Value::text(rest));
            made.push(left);
        } else if let Some(mut piece) = open {
            piece.set(self.field, Value::text(rest));
            made.push(piece);
        } else if !rest.is_empty() || found.is_empty() {
            made.push(self.piece(item, rest)?);
        }
        if let (Some(number), false) = (self.number, self.lead) {
            for (n, piece) in made.iter_mut().enumerate() {
                piece.set(number, Value::Int(i64::try_from(n).unwrap_or(i64::MAX)));
            }
        }
        Ok(made)
    }

    fn piece(&self, item: &Item, text: &str) -> Result<Item, EvalFault> {
        work::make(size_of::<Item>())?;
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

    fn run(
        &self,
        pass: &Arc<CompiledPass>,
        st: &mut BuildState,
        list: usize,
        memo: &PassMemo,
        _caller: &dyn ProgramRunner,
    ) -> Result<(), ProgramInterrupt> {
        let chosen = in_list_order(pass.chosen(st, list, memo)?);
        let heads = self.heads(st, memo)?;
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
