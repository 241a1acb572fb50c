//! Selections, sort keys and places: from the fields of a pass or query to the compiled form.

use std::sync::Arc;

use crate::diag::{Code, Data, Node, Table};

use crate::terms::Cond;
use crate::terms::expr::{Expr, FieldRef};
use crate::terms::keys::{KeyComparison, Key};
use crate::terms::names::{self, is_reference};
use crate::terms::place::{LostPolicy, Place};
use crate::terms::select::{Draw, End, Select, Take};

use super::conditions::Mode;
use super::context::{CompileContext, Scope};

/// The terms of a selection, in the order in which they are applied.
pub const WORDS: &[&str] = &["since", "while", "where", "per", "by", "draw", "stream", "from", "skip", "take", "others", "off"];

impl CompileContext<'_> {
    /// The selection in a table of terms; `@` in it means an item of `scope`.
    pub fn select(&mut self, table: &Table, scope: Scope) -> Select {
        let node = |key: &str| table.get(key).map(|f| &f.node);
        let mut select = Select { stream: node("stream").and_then(Node::as_text).unwrap_or("").into(), ..Select::default() };
        if let Some(stream) = node("stream") {
            let name = stream.as_text().unwrap_or("");
            if !self.names.streams.contains_key(name) {
                let known: Vec<String> = self.names.streams.keys().map(ToString::to_string).collect();
                self.unknown("stream", name, stream.span, known.iter().map(String::as_str));
            }
        }
        select.skip = node("skip").map(|n| self.expr(n));
        self.within(scope, |cx| {
            select.since = node("since").map(|n| cx.cond(n, Mode::Item));
            select.run = node("while").map(|n| cx.cond(n, Mode::Item));
            select.filter = node("where").map(|n| cx.cond(n, Mode::Item));
            select.per = node("per").map(|n| cx.expr(n));
            select.by = node("by").map(|n| cx.keys(n)).unwrap_or_default();
            select.draw = node("draw").and_then(|n| cx.draw(n));
        });
        select.take = node("take").map(|n| self.take(n));
        select.from = if node("from").and_then(Node::as_text) == Some("last") { End::Last } else { End::First };
        let flag = |key: &str| node(key).is_some_and(|n| n.as_bool().unwrap_or(false));
        select.others = flag("others");
        select.off = flag("off");
        select
    }

    fn take(&mut self, node: &Node) -> Take {
        if let Some(field) = node.get("ties") {
            let name = field.as_text().unwrap_or("").to_owned();
            let key = self.within(Scope::Open, |cx| cx.key_field(&name, field));
            return Take::Ties(key);
        }
        Take::Count(self.expr(node))
    }

    fn draw(&mut self, node: &Node) -> Option<Draw> {
        if let Some(word) = node.as_text() {
            return match word {
                "shuffle" => Some(Draw::Shuffle),
                "one" => Some(Draw::One),
                "none" => None,
                _ => {
                    let help = crate::diag::suggest::help(word, ["shuffle", "one", "none"]);
                    self.fail(Code::TermType, node.span, format!("`{word}` is no way to draw"), help);
                    None
                }
            };
        }
        if let Some(chance) = node.get("roll") {
            let strict = node.get("test").and_then(Node::as_text) == Some("lt");
            let out_of = match node.get("out_of").map(|n| (crate::model::Value::from(n).as_f64(), n.span)) {
                None => 1.0,
                Some((Some(n), _)) if n > 0.0 && n.is_finite() => n,
                Some((_, span)) => {
                    self.fail(Code::TermType, span, "`out_of` is a number greater than 0", Some("write `out_of = 100` for percent".into()));
                    1.0
                }
            };
            let chance = self.expr(chance);
            return Some(Draw::Roll { chance, strict, out_of });
        }
        if let Some(weight) = node.get("weight") {
            return Some(Draw::Weight(self.expr(weight)));
        }
        self.fail(Code::TermType, node.span, "`draw` is `\"shuffle\"`, `\"one\"`, `{ roll = chance }` or `{ weight = value }`", None);
        None
    }

    /// `by = […]`.
    pub fn keys(&mut self, node: &Node) -> Box<[Key]> {
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

    fn key(&mut self, node: &Node) -> Key {
        match &node.data {
            Data::Text(name) => {
                let name = name.clone();
                self.key_field(&name, node)
            }
            Data::Table(table) => {
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
    fn key_script(&mut self, table: &Table, node: &Node) -> Key {
        let descending = table.get("descending").is_some_and(|f| f.node.as_bool().unwrap_or(true));
        let field = FieldRef { up: 0, field: None, rest: Box::new([]) };
        let how = match self.scripted(table, node.span, &["descending"]) {
            Some(scripted) => KeyComparison::Script(Box::new(scripted)),
            None => KeyComparison::Plain,
        };
        Key { field, how, descending }
    }

    fn key_field(&mut self, text: &str, node: &Node) -> Key {
        let (descending, name) = text.strip_prefix('-').map_or((false, text), |n| (true, n));
        let field = match self.field(name, node.span, node, 0) {
            Expr::Field(f) => f,
            _ => FieldRef { up: 0, field: None, rest: Box::new([]) },
        };
        Key { field, how: KeyComparison::Plain, descending }
    }

    /// A place in a list whose items are `scope`; `@` means the item that is placed.
    pub fn place(&mut self, node: &Node, scope: &Scope) -> Place {
        match node.as_text() {
            Some("start") => return Place::Start,
            Some("end") => return Place::End,
            _ => {}
        }
        let Some(table) = node.as_table() else {
            let help = "write \"start\", \"end\", or a table with before, after, depth or index";
            self.fail(Code::TermType, node.span, "this is no place", Some(help.into()));
            return Place::End;
        };
        let lost = match table.get("lost").map(|f| &f.node) {
            None => LostPolicy::Drop,
            Some(n) if n.as_text() == Some("drop") => LostPolicy::Drop,
            Some(n) if n.as_text() == Some("error") => LostPolicy::Error,
            Some(n) if n.as_text().is_some_and(|word| !matches!(word, "start" | "end")) => {
                let word = n.as_text().unwrap_or("");
                let words = ["drop", "error", "start", "end"];
                let help = crate::diag::suggest::help(word, words);
                self.fail(Code::TermType, n.span, format!("`lost` cannot be `{word}`"), help);
                LostPolicy::Drop
            }
            Some(n) => LostPolicy::Else(Box::new(self.place(n, scope))),
        };
        let of = |cx: &mut Self| match table.get("of") {
            Some(f) => cx.within(scope.clone(), |cx| cx.cond(&f.node, Mode::Item)),
            None => Cond::Const(true),
        };
        if let Some(f) = table.get("before") {
            return Place::Before(self.within(scope.clone(), |cx| cx.cond(&f.node, Mode::Item)), lost);
        }
        if let Some(f) = table.get("after") {
            return Place::After(self.within(scope.clone(), |cx| cx.cond(&f.node, Mode::Item)), lost);
        }
        if let Some(f) = table.get("depth") {
            return Place::Depth { depth: self.expr(&f.node), of: of(self), lost };
        }
        if let Some(f) = table.get("index") {
            return Place::Index(self.expr(&f.node), of(self), lost);
        }
        self.fail(Code::TermType, node.span, "a place needs one of `before`, `after`, `depth`, `index`", None);
        Place::End
    }

    /// A text that must be a literal.
    pub fn literal(&mut self, node: &Node, what: &str) -> Arc<str> {
        match node.as_text() {
            Some(t) if is_reference(t) => {
                let help = format!("write the name itself; the text `{t}` is written `${t}`");
                self.fail(Code::TermType, node.span, format!("{what} cannot be a reference"), Some(help));
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
