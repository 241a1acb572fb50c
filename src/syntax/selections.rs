//! Selections, sort keys and places: from the fields of a pass or query to the compiled form.

use std::sync::Arc;

use crate::diag::{Code, DocumentNode, FieldMap, NodeValue};
use crate::model::Term;

use crate::terms::Cond;
use crate::terms::expr::{Expr, FieldRef};
use crate::terms::names::{self, is_reference};
use crate::terms::place::{InsertPosition, LostPolicy};
use crate::terms::select::{KeyComparison, SortKey};
use crate::terms::select::{RandomDraw, Select, SelectCount, SelectEnd};

use super::conditions::PathMode;
use super::context::{CompileContext, ItemScope};

/// The terms of a selection, in the order in which they are applied.
pub const TERMS: &[Term] = &[
    Term::defined("after_last", "condition", "only what follows the last item that meets this condition"),
    Term::defined("while", "condition", "only the longest run of items that meet this condition, at the end that `end` names"),
    Term::defined("where", "condition", "which items: a bare name is a field of the item, `$path` is a value of the scene"),
    Term::defined(
        "group_by",
        "group_by",
        "divides the items into parts by this value; everything that follows (by, draw, end, skip, take) is applied to each part by itself",
    ),
    Term::defined("by", "by", "the order in which items are visited. The list itself keeps its order"),
    Term::defined("draw", "draw", "a choice by chance: which of the items, or in which order"),
    Term::text("stream", "stream that draws are taken from").default("the name of the pass"),
    Term::word("end", &["first", "last"], "from which end the items are visited and counted").default("first"),
    Term::defined("skip", "number", "how many items are skipped first (in each part)"),
    Term::defined("take", "take", "how many items at most (in each part)"),
    Term::flag("invert", "chooses the other items: those that meet `where` and were not chosen"),
    Term::flag("include_disabled", "items that are switched off (`enabled = false`) are seen too; without it they are invisible"),
];

impl CompileContext<'_> {
    /// The selection in a table of terms; `@` in it means an item of `scope`.
    pub fn select(&mut self, table: &FieldMap, scope: ItemScope) -> Select {
        let node = |key: &str| table.get(key).map(|f| &f.node);
        let mut select = Select { stream: node("stream").and_then(DocumentNode::as_text).unwrap_or("").into(), ..Select::default() };
        if let Some(stream) = node("stream") {
            let name = stream.as_text().unwrap_or("");
            if !self.names.streams.contains_key(name) {
                let known: Vec<String> = self.names.streams.keys().map(ToString::to_string).collect();
                self.unknown("stream", name, stream.span, known.iter().map(String::as_str));
            }
        }
        select.skip = node("skip").map(|n| self.expr(n));
        self.within(scope, |cx| {
            select.since = node("after_last").map(|n| cx.cond(n, PathMode::Item));
            select.run = node("while").map(|n| cx.cond(n, PathMode::Item));
            select.filter = node("where").map(|n| cx.cond(n, PathMode::Item));
            select.per = node("group_by").map(|n| cx.expr(n));
            select.by = node("by").map(|n| cx.keys(n)).unwrap_or_default();
            select.draw = node("draw").and_then(|n| cx.draw(n));
        });
        select.take = node("take").map(|n| self.take(n));
        select.from = if node("end").and_then(DocumentNode::as_text) == Some("last") { SelectEnd::Last } else { SelectEnd::First };
        let flag = |key: &str| node(key).is_some_and(|n| n.as_bool().unwrap_or(false));
        select.others = flag("invert");
        select.off = flag("include_disabled");
        select
    }

    fn take(&mut self, node: &DocumentNode) -> SelectCount {
        if let Some(field) = node.get("ties") {
            let name = field.as_text().unwrap_or("").to_owned();
            let key = self.within(ItemScope::Open, |cx| cx.key_field(&name, field));
            return SelectCount::Ties(key);
        }
        SelectCount::Count(self.expr(node))
    }

    fn draw(&mut self, node: &DocumentNode) -> Option<RandomDraw> {
        if let Some(word) = node.as_text() {
            return match word {
                "shuffle" => Some(RandomDraw::Shuffle),
                "one" => Some(RandomDraw::One),
                "none" => None,
                _ => {
                    let help = self.report.words.help(word, ["shuffle", "one", "none"]);
                    self.fail(Code::TermType, node.span, format!("`{word}` is no way to draw"), help);
                    None
                }
            };
        }
        if let Some(chance) = node.get("roll") {
            let strict = node.get("test").and_then(DocumentNode::as_text) == Some("lt");
            let out_of = match node.get("out_of").map(|n| (crate::model::Value::from(n).as_f64(), n.span)) {
                None => 1.0,
                Some((Some(n), _)) if n > 0.0 && n.is_finite() => n,
                Some((_, span)) => {
                    self.fail(Code::TermType, span, "`out_of` is a number greater than 0", Some("write `out_of = 100` for percent".into()));
                    1.0
                }
            };
            let chance = self.expr(chance);
            return Some(RandomDraw::Roll { chance, strict, out_of });
        }
        if let Some(weight) = node.get("weight") {
            return Some(RandomDraw::Weight(self.expr(weight)));
        }
        self.fail(Code::TermType, node.span, "`draw` is `\"shuffle\"`, `\"one\"`, `{ roll = chance }` or `{ weight = value }`", None);
        None
    }

    /// `by = […]`.
    pub fn keys(&mut self, node: &DocumentNode) -> Box<[SortKey]> {
        let Some(list) = node.as_list() else {
            self.fail(
                Code::TermType,
                node.span,
                format!("`by` takes a list of keys, not {}", node.kind()),
                Some("write `by = [\"order\", \"-id\"]`".into()),
            );
            return Box::new([]);
        };
        list.iter().map(|n| self.key(n)).collect()
    }

    fn key(&mut self, node: &DocumentNode) -> SortKey {
        match &node.data {
            NodeValue::Text(name) => {
                let name = name.clone();
                self.key_field(&name, node)
            }
            NodeValue::Table(table) => {
                if let Some(expression) = table.get("=") {
                    let value = self.expression(&expression.node);
                    let field = FieldRef { up: 0, field: None, rest: Box::new([]) };
                    return SortKey { field, how: KeyComparison::Value(value), descending: false };
                }
                if names::is_script(table) || table.contains_key("descending") {
                    return self.key_script(table, node);
                }
                if let Some(name) = table.get("key").and_then(|f| f.node.as_text()) {
                    let name = name.to_owned();
                    let mut key = self.key_field(&name, node);
                    if table.get("collate").and_then(|f| f.node.as_text()) == Some("utf16") {
                        key.how = KeyComparison::Utf16;
                    }
                    return key;
                }
                let Some((name, ranks)) = table.first() else {
                    self.fail(Code::TermType, node.span, "a rank key is `{ field = [first, second, …] }`", None);
                    return self.key_field("index", node);
                };
                let mut key = self.key_field(name, node);
                let ranks = ranks.node.clone();
                key.how = KeyComparison::Ranks(self.expr(&ranks));
                key
            }
            _ => {
                self.fail(Code::TermType, node.span, format!("a sort key is a field name, not {}", node.kind()), None);
                self.key_field("index", node)
            }
        }
    }

    /// `{ script = function, descending? }`.
    fn key_script(&mut self, table: &FieldMap, node: &DocumentNode) -> SortKey {
        let descending = table.get("descending").is_some_and(|f| f.node.as_bool().unwrap_or(true));
        let field = FieldRef { up: 0, field: None, rest: Box::new([]) };
        let how = match self.scripted(table, node.span, &["descending"]) {
            Some(scripted) => KeyComparison::Script(Box::new(scripted)),
            None => KeyComparison::Plain,
        };
        SortKey { field, how, descending }
    }

    fn key_field(&mut self, text: &str, node: &DocumentNode) -> SortKey {
        let (descending, name) = text.strip_prefix('-').map_or((false, text), |n| (true, n));
        let field = match self.field(name, node.span, node, 0) {
            Expr::Field(f) => f,
            _ => FieldRef { up: 0, field: None, rest: Box::new([]) },
        };
        SortKey { field, how: KeyComparison::Plain, descending }
    }

    /// A place in a list whose items are `scope`; `@` means the item that is placed.
    pub fn place(&mut self, node: &DocumentNode, scope: &ItemScope) -> InsertPosition {
        match node.as_text() {
            Some("start") => return InsertPosition::Start,
            Some("end") => return InsertPosition::End,
            _ => {}
        }
        let Some(table) = node.as_table() else {
            let help = "write \"start\", \"end\", or a table with before, after, depth or index";
            self.fail(Code::TermType, node.span, "this is no place", Some(help.into()));
            return InsertPosition::End;
        };
        let lost = match table.get("on_lost").map(|f| &f.node) {
            None => LostPolicy::Drop,
            Some(n) if n.as_text() == Some("skip") => LostPolicy::Drop,
            Some(n) if n.as_text() == Some("error") => LostPolicy::Error,
            Some(n) if n.as_text().is_some_and(|word| !matches!(word, "start" | "end")) => {
                let word = n.as_text().unwrap_or("");
                let words = ["skip", "error", "start", "end"];
                let help = self.report.words.help(word, words);
                self.fail(Code::TermType, n.span, format!("`on_lost` cannot be `{word}`"), help);
                LostPolicy::Drop
            }
            Some(n) => LostPolicy::Else(Box::new(self.place(n, scope))),
        };
        let of = |cx: &mut Self| match table.get("of") {
            Some(f) => cx.within(scope.clone(), |cx| cx.cond(&f.node, PathMode::Item)),
            None => Cond::Const(true),
        };
        if let Some(f) = table.get("before") {
            return InsertPosition::Before(self.within(scope.clone(), |cx| cx.cond(&f.node, PathMode::Item)), lost);
        }
        if let Some(f) = table.get("after") {
            return InsertPosition::After(self.within(scope.clone(), |cx| cx.cond(&f.node, PathMode::Item)), lost);
        }
        if let Some(f) = table.get("depth") {
            return InsertPosition::Depth { depth: self.expr(&f.node), of: of(self), lost };
        }
        if let Some(f) = table.get("index") {
            return InsertPosition::Index(self.expr(&f.node), of(self), lost);
        }
        self.fail(Code::TermType, node.span, "a place needs one of `before`, `after`, `depth`, `index`", None);
        InsertPosition::End
    }

    /// A text that must be a literal.
    pub fn literal(&mut self, node: &DocumentNode, what: &str) -> Arc<str> {
        match node.as_text() {
            Some(t) if is_reference(t) => {
                let help = format!("write the name itself; the text `{t}` is written `${t}`");
                self.fail(Code::TermType, node.span, format!("{what} cannot be a reference"), Some(help.into()));
                "".into()
            }
            Some(t) => t.strip_prefix("$$").map_or_else(|| t.into(), |rest| format!("${rest}").into()),
            None => {
                self.fail(Code::TermType, node.span, format!("{what} is a text, not {}", node.kind()), None);
                "".into()
            }
        }
    }
}
