//! `add`: makes items, one for each element of `each`, and puts them into a list.
//!
//! A long history becomes a cursor instead of items: the template is kept as a queued step, and what all its messages
//! have in common is kept as the shape that conditions are checked against first.

use std::rc::Rc;
use std::sync::Arc;

use crate::diag::{Code, DocumentNode, Span, limits};
use crate::model::{FieldId, Item, Term, Value, item::core};
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::terms::expr::PathRoot;
use crate::terms::lists::{LocalChange, ReadElement, UnreadShape, UnreadSource};
use crate::terms::place::ItemGap;
use crate::terms::select::pass_env;
use crate::terms::{BuildState, CurrentItem, Env, EvalFault, Expr, InsertPosition};

mod made;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass, selection};
use made::ItemCache;

/// `add` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "add",
    doc: "makes items, one for each element of `each`",
    terms: &[
        Term::defined(
            "item",
            "value",
            "what is made: a table of fields; `\"@\"` for a copy of the element; or a list of these (also the result of a query), for several items",
        ),
        Term::defined("each", "given", "a list; one item is made for each element. `@` is the element, and `@index` is its index")
            .default("one item"),
        Term::text("to", "the list that receives the items").default("the pass's own list"),
        Term::defined("at", "place", "a place in that list").default("`\"end\"`"),
    ],
    cost: "what is made; a long history is read as needed",
    did: "made",
    parse: |cx, w| Some(Box::new(AddTerms::parse(cx, w)?)),
};

/// The terms of `add`.
pub struct AddTerms {
    each: Option<Expr>,
    template: SharedTemplate,
    to: Option<usize>,
    at: InsertPosition,
    /// `at` depends on the item that is placed.
    at_varies: bool,
    /// The template asks for the index of its element.
    index: bool,
    /// What the memo cells of the template hold.
    cells: Vec<crate::terms::memo::MemoCell>,
    /// Cached items of long elements; `None` if they may depend on more than the element and some values.
    remembered: Option<ItemCache>,
}

/// A template that steps of lazy lists share.
type SharedTemplate = Arc<ItemTemplate>;

/// What an item is made from.
enum ItemTemplate {
    /// A table of fields.
    Fields(Vec<(FieldId, Vec<Arc<str>>, Expr)>),
    /// Any value: a table is an item, a list several.
    Value(Expr),
}

impl AddTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        selection(cx, w.fields, "`add` selects nothing of its list", "say which elements in `each = { of = …, where = … }`");
        let Some(item) = w.node("item") else {
            cx.fail(
                Code::TermMissing,
                w.span,
                "`add` needs `item`: what is made",
                Some("add `item = { … }`, or `item = \"@\"` for the element itself".into()),
            );
            return None;
        };
        let to = w.list(cx, "to");
        let each = w.value(cx, "each");
        let scope = match &each {
            None => ItemScope::None,
            Some(each @ Expr::Query(q)) => match (&q.of, &q.get) {
                (crate::terms::expr::QuerySource::List(n), None) if q.steps.is_empty() => cx.rows_of(*n),
                _ => cx.elements_of(each),
            },
            Some(each) => cx.elements_of(each),
        };
        let target = to.map(|n| cx.rows_of(n));
        let before = std::mem::take(&mut cx.reads_index);
        let types = match target.as_ref().unwrap_or(w.scope) {
            ItemScope::Rows(rows) => Some(rows.clone()),
            _ => None,
        };
        let target_of = TargetList { scope: target.as_ref(), types: types.as_deref() };
        let template = cx.within(scope, |cx| template(cx, item, target_of));
        let index = cx.reads_index;
        cx.reads_index |= before;
        let placed = target.clone().unwrap_or(ItemScope::Open);
        let at = w.node("at").map(|node| cx.within(ItemScope::Open, |cx| cx.place(node, &placed)));
        let at_varies = w.node("at").is_some_and(mentions_item);
        let remembered = match &template {
            ItemTemplate::Value(value) if !index => ItemCache::of(value),
            _ => None,
        };
        let at = at.unwrap_or(InsertPosition::End);
        Some(Self { each, template: Arc::new(template), to, at, at_varies, index, cells: cx.cells.clone(), remembered })
    }

    fn made(&self, run: &PassRun<'_>, st: &BuildState) -> Result<Vec<Item>, EvalFault> {
        let env = run.env(st);
        let Some(each) = &self.each else { return self.template.make(&env) };
        let elements = env.eval(each)?;
        let elements = elements.elements();
        st.visit(elements.len())?;
        let mut out = Vec::with_capacity(elements.len());
        for (n, element) in elements.iter().enumerate() {
            let here = env.inner(CurrentItem::Value(element, n));
            match &self.remembered {
                Some(remembered) => out.extend(remembered.items(element, &here, || self.template.make(&here))?),
                None => out.extend(self.template.make(&here)?),
            }
        }
        Ok(out)
    }

    /// A long list of the scene becomes a cursor. True if it did.
    fn add_lazily(&self, run: &PassRun<'_>, st: &mut BuildState, to: usize) -> Result<bool, EvalFault> {
        let (Some(Expr::Path(path)), ItemTemplate::Fields(fields), false) = (&self.each, &*self.template, self.at_varies) else {
            return Ok(false);
        };
        let (mut source, tail) = match &path.root {
            PathRoot::Scene { list: Some((id, used)) }
                if path.segs.len() == *used && st.rules.lists.get(*id).is_some_and(|l| l.from.is_some()) =>
            {
                match st.unread_source(*id) {
                    Some((source, read)) if !(self.index && source.leaves_out()) => (source, read),
                    _ => return Ok(false),
                }
            }
            PathRoot::Scene { list: None } => match run.env(st).path(path)? {
                Value::List(elements) => match UnreadSource::of(elements) {
                    Some(source) => (source, Vec::new()),
                    None => return Ok(false),
                },
                _ => return Ok(false),
            },
            _ => return Ok(false),
        };
        if fields.iter().any(|(_, _, value)| value.draws()) {
            return Ok(false);
        }
        // what depends on no element is evaluated now, as if all items were made at once
        let made_now = run.fresh_memo();
        for cell in &self.cells {
            cell.fill(&pass_env(st, &made_now))?;
        }
        let remaining = source.remaining();
        source.then(Rc::new(MakeStep(self.template.clone())), Rc::new(made_now));
        let mut shape = UnreadShape::default();
        let env = run.env(st);
        for (id, rest, value) in fields {
            if rest.is_empty() && !value.refers(0) && !value.draws() {
                shape.known.set(*id, env.eval(value)?);
            } else {
                shape.varies.push(*id);
            }
        }
        let mut made = Vec::new();
        for (n, item) in tail.iter().filter(|i| i.enabled()).enumerate() {
            let element = st.table(item);
            made.extend(self.template.make(&env.inner(CurrentItem::Value(&element, remaining + n)))?);
        }
        st.load_all(to)?;
        let at = self.at.gap(to, &env)?;
        let Some(at) = at else { return Ok(true) };
        let list = st.list_mut(to);
        let at = at.at.min(list.items.len());
        let gap = ItemGap { at, early: false };
        list.insert(made.into_iter().map(|i| (gap, i)).collect());
        list.insert_unread(at, source, shape);
        Ok(true)
    }
}

impl Verb for AddTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Own
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let to = self.to.unwrap_or(run.list);
        if self.add_lazily(run, st, to)? {
            return Ok(());
        }
        let made = self.made(run, st)?;
        insert(run, st, to, &self.at, made)?;
        Ok(())
    }
}

/// Inserts new or moved items into a list; items that lost their place are recorded.
pub fn insert(run: &PassRun<'_>, st: &mut BuildState, to: usize, at: &InsertPosition, made: Vec<Item>) -> Result<(), EvalFault> {
    let mut placed = Vec::with_capacity(made.len());
    let mut shift = 0;
    for mut item in made {
        if item.seq == 0 {
            item.seq = st.number();
        }
        let before = st.list(to).items.len();
        let gap = {
            let env = run.env(st);
            at.gap(to, &env.inner(CurrentItem::Item(&item, 0)))?
        };
        // finding a gap may read more of a history before the gaps found so far
        shift += st.list(to).items.len() - before;
        match gap {
            Some(gap) => {
                run.note(&item, "placed", st);
                let moves = st.list(to).is_after_unread(gap);
                placed.push((gap, moves.then_some(shift), item));
            }
            None => {
                run.note(&item, "lost", st);
                st.lose(&item);
            }
        }
    }
    let moved = |gap: ItemGap, by: usize| ItemGap { at: gap.at + by, early: gap.early };
    let placed = placed.into_iter().map(|(gap, then, item)| (moved(gap, then.map_or(0, |then| shift - then)), item)).collect();
    st.list_mut(to).insert(placed);
    Ok(())
}

/// The list that receives the items.
#[derive(Clone, Copy)]
struct TargetList<'a> {
    /// What `@` means in it, if the pass names it.
    scope: Option<&'a ItemScope>,
    /// The row types of its items, for the types of fields.
    types: Option<&'a [Arc<str>]>,
}

fn template(cx: &mut CompileContext<'_>, node: &DocumentNode, target: TargetList<'_>) -> ItemTemplate {
    let Some(table) = node.as_table().filter(|t| !crate::terms::names::is_form(t)) else {
        let value = cx.expr(node);
        check_parts(cx, node, target, 0);
        return ItemTemplate::Value(value);
    };
    let mut fields = Vec::new();
    for (key, field) in table {
        let (name, rest) = key.split_once('.').unwrap_or((key, ""));
        check_target(cx, target.scope, name, field.key);
        let kind = cx.names.field_type(target.types, name);
        let value = cx.field_value(&field.node, kind.filter(|_| rest.is_empty()), name);
        let value = cx.sealed(value);
        let id = cx.fields.intern(name);
        fields.push((id, rest.split('.').filter(|s| !s.is_empty()).map(Arc::from).collect(), value));
    }
    ItemTemplate::Fields(fields)
}

/// Checks the fields of items that a value makes: those in a list of items, and those that are laid over another item.
fn check_parts(cx: &mut CompileContext<'_>, node: &DocumentNode, target: TargetList<'_>, depth: usize) {
    if let Some(list) = node.as_list() {
        list.iter().for_each(|part| check_parts(cx, part, target, depth));
    }
    let Some(table) = node.as_table() else { return };
    if !crate::terms::names::is_form(table) {
        for (key, field) in table {
            let (name, rest) = key.split_once('.').unwrap_or((key, ""));
            check_target(cx, target.scope, name, field.key);
            if rest.is_empty() {
                let kind = cx.names.field_type(target.types, name);
                cx.check_literal(&field.node, kind, name);
                cx.check_constant(&field.node, kind);
            }
        }
    } else if depth < limits::CHAIN {
        for word in ["merge", "first", "then", "else", "get"] {
            table.get(word).into_iter().for_each(|field| check_parts(cx, &field.node, target, depth + 1));
        }
    }
}

fn check_target(cx: &mut CompileContext<'_>, target: Option<&ItemScope>, name: &str, span: Span) {
    let scope = target.cloned().unwrap_or(ItemScope::Open);
    cx.within(scope, |cx| cx.check_field(0, name, span));
}

/// Whether a place may depend on the item, either directly or through a row that it names.
fn mentions_item(node: &DocumentNode) -> bool {
    let text = node.to_json().to_string();
    ["@", "\"value\":", "\"fact\":", "\"form\":", "\"read\":"].iter().any(|word| text.contains(word))
}

impl ItemTemplate {
    fn make(&self, env: &Env<'_>) -> Result<Vec<Item>, EvalFault> {
        match self {
            ItemTemplate::Fields(fields) => {
                let mut item = Item::default();
                for (id, rest, value) in fields {
                    super::set::assign(&mut item, *id, rest, env.eval(value)?);
                }
                Ok(vec![item])
            }
            ItemTemplate::Value(value) => {
                let names = &env.st.rules.fields;
                Ok(match env.eval(value)? {
                    Value::List(l) => l.iter().filter(|v| !v.is_null()).map(|v| Item::from_value(v, names)).collect(),
                    Value::Null => Vec::new(),
                    other => vec![Item::from_value(&other, names)],
                })
            }
        }
    }
}

/// The step that makes an item of an element that has just been read.
struct MakeStep(SharedTemplate);

impl LocalChange for MakeStep {
    fn apply(&self, read: ReadElement, place: usize, env: &Env<'_>) -> Result<Option<Item>, EvalFault> {
        // what an element of a list is when the list is given as a value: without the defaults of a list's fields
        let element = match read {
            ReadElement::Item(item) if item.get(core::ENABLED) == Some(&Value::Bool(false)) => return Ok(None),
            ReadElement::Item(item) => env.st.table(&item),
            ReadElement::Value(value) => value,
        };
        let mut made = self.0.make(&env.inner(CurrentItem::Value(&element, place)))?.into_iter().next();
        if let Some(item) = &mut made {
            item.seq = env.st.number();
            env.st.note(item, "made", None);
        }
        Ok(made)
    }

    fn leaves_out(&self) -> bool {
        false
    }
}
