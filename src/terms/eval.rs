//! Evaluates expressions: what `$` and `@` refer to at the place of an expression.
//!
//! An [`Env`] is the current item, inside the items of enclosing queries, over the [`BuildState`] of a build. It only
//! reads; draws and warnings go through cells of the state, so that evaluation can borrow lists.

use std::rc::Rc;
use std::sync::Arc;

use crate::diag::limits;
use crate::model::item::core;
use crate::model::{Item, Map, RuleRef, Value};
use crate::text::written::{self, ToText as _};
use crate::text::{Language, functions, js, work};

use super::expr::{CalledFunction, Expr, FieldRef, ItemQuery, PathRoot, PathSegment, QuerySource, ScenePath, TableLookup};
use super::fault::tried;
use super::memo::{PassMemo, ValueSet};
use super::select::SelectSequence;
use super::{BuildState, Cond};

pub use super::fault::{EvalFault, FaultKind};

/// The current item.
#[derive(Clone, Copy)]
pub enum CurrentItem<'a> {
    /// No item: only the scene.
    None,
    /// An item of a list, and its index there.
    Item(&'a Item, usize),
    /// An element of a list value, and its index.
    Value(&'a Value, usize),
}

/// The environment in which an expression is evaluated.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    /// The state of the build.
    pub st: &'a BuildState,
    /// The current item.
    pub cur: CurrentItem<'a>,
    /// The environment of the enclosing query or pass.
    pub outer: Option<&'a Env<'a>>,
    /// What this pass has evaluated already.
    pub memo: &'a PassMemo,
    /// The items of the part that a pass with `group_by` is processing.
    pub part: Option<SelectSequence<'a>>,
}

impl<'a> Env<'a> {
    /// The same environment with another current item; the previous one becomes `@outer`.
    #[must_use]
    pub fn inner<'b>(&'b self, cur: CurrentItem<'b>) -> Env<'b> {
        Env { st: self.st, cur, outer: Some(self), memo: self.memo, part: self.part }
    }

    /// Evaluates an expression.
    pub fn eval(&self, expr: &Expr) -> Result<Value, EvalFault> {
        expr.eval(self)
    }

    /// Whether a condition holds here.
    pub fn holds(&self, cond: &Cond) -> Result<bool, EvalFault> {
        cond.holds(self)
    }

    /// If the pass says so, a filter that fails keeps its item; every other error is returned.
    pub fn forgive(&self, fault: EvalFault) -> Result<(), EvalFault> {
        if self.memo.pass.spares && !fault.is_bound() {
            let title = self.title();
            self.st.warn_failed(format!("the condition of `{title}` fails: {}; the item is not selected", fault.message), &fault);
            return Ok(());
        }
        Err(fault)
    }

    /// What messages call the current item: its id, or else its name or title, its slot, the beginning of its text, or its
    /// number in the list.
    #[must_use]
    pub fn title(&self) -> String {
        let whole = self.whole();
        let of = |field: &&str| whole.get(field).filter(|value| !value.is_empty()).map(Value::to_text);
        if let Some(title) = ["id", "name", "title", "slot", "text"].iter().find_map(of) {
            let short: String = title.chars().take(limits::QUOTED).collect();
            return if short.len() < title.len() { format!("{short}…") } else { short };
        }
        match self.cur {
            CurrentItem::Item(_, place) | CurrentItem::Value(_, place) => format!("number {place}"),
            CurrentItem::None => String::new(),
        }
    }

    /// The value of a field reference.
    pub fn field(&self, r: &FieldRef) -> Result<Value, EvalFault> {
        let mut env = self;
        for _ in 0..r.up {
            match env.outer {
                Some(outer) => env = outer,
                None => return Ok(Value::Null),
            }
        }
        let Some((id, name)) = &r.field else { return Ok(env.whole()) };
        let value = match env.cur {
            CurrentItem::None => Value::Null,
            CurrentItem::Item(_, place) | CurrentItem::Value(_, place) if *id == core::INDEX => {
                Value::Int(i64::try_from(place).unwrap_or(i64::MAX))
            }
            CurrentItem::Item(item, _) => match item.get(*id) {
                Some(v) => v.clone(),
                None if *id == core::ENABLED => Value::Bool(true),
                None => {
                    let aside = item.rest(name).cloned().or_else(|| scalar_field(item, name));
                    aside.or_else(|| env.st.rules.defaults.get(&(item.list, *id)).cloned()).unwrap_or_default()
                }
            },
            CurrentItem::Value(value, _) => step(value, name),
        };
        self.walk(value, &r.rest)
    }

    /// The current item as a value.
    #[must_use]
    pub fn whole(&self) -> Value {
        match self.cur {
            CurrentItem::None => Value::Null,
            CurrentItem::Item(item, _) => self.st.table(item),
            CurrentItem::Value(value, _) => value.clone(),
        }
    }

    /// Follows the steps of a path from a value.
    fn walk(&self, mut value: Value, segs: &[PathSegment]) -> Result<Value, EvalFault> {
        for seg in segs {
            let name = self.seg(seg)?;
            // a cell that refers to something inside is one expression
            value = step(&self.settle(value)?, &name);
            if value.is_null() {
                break;
            }
        }
        self.settle(value)
    }

    /// A compiled cell of the pack's own values, evaluated; any other value as it is.
    pub fn settle(&self, value: Value) -> Result<Value, EvalFault> {
        match value {
            Value::Rule(RuleRef::Expr(n)) => self.value_cell(n),
            other => Ok(other),
        }
    }

    /// Whether a row applies by its cell `when`; without one it does.
    pub(crate) fn applies(&self, when: Option<&Value>) -> Result<bool, EvalFault> {
        match when {
            None => Ok(true),
            Some(Value::Rule(RuleRef::Cond(n))) => self.condition_cell(*n),
            Some(plain) => Ok(plain.truthy()),
        }
    }

    /// Evaluates a value cell of a row.
    pub(crate) fn value_cell(&self, n: u32) -> Result<Value, EvalFault> {
        self.saw_value(n);
        self.cell(|| self.st.rules.expr(n).eval(self))
    }

    /// Evaluates a value cell of a macro. Macros count their depth themselves.
    pub(crate) fn value_of_macro(&self, n: u32) -> Result<Value, EvalFault> {
        self.saw_value(n);
        self.eval(self.st.rules.expr(n))
    }

    /// Evaluates a condition cell of a macro. Macros count their depth themselves.
    pub(crate) fn condition_of_macro(&self, n: u32) -> Result<bool, EvalFault> {
        let held = self.holds(self.st.rules.cond(n))?;
        if let Some(seen) = &self.st.coverage {
            seen.cell(RuleRef::Cond(n), held);
        }
        Ok(held)
    }

    /// Notes for the measure of coverage that a value cell is evaluated.
    pub(super) fn saw_value(&self, n: u32) {
        if let Some(seen) = &self.st.coverage {
            seen.cell(RuleRef::Expr(n), true);
        }
    }

    /// Evaluates a condition cell of a row.
    pub(crate) fn condition_cell(&self, n: u32) -> Result<bool, EvalFault> {
        let held = self.cell(|| self.st.rules.cond(n).holds(self))?;
        if let Some(seen) = &self.st.coverage {
            seen.cell(RuleRef::Cond(n), held);
        }
        Ok(held)
    }

    /// Evaluates a compiled cell, which may refer to other cells, and so to itself.
    pub(super) fn cell<T>(&self, eval: impl FnOnce() -> Result<T, EvalFault>) -> Result<T, EvalFault> {
        if !self.st.usage.enter_level() {
            return Err(EvalFault::bound("values refer to each other too deeply"));
        }
        let result = eval();
        self.st.usage.leave_level();
        result
    }

    fn seg(&self, seg: &PathSegment) -> Result<Arc<str>, EvalFault> {
        match seg {
            PathSegment::Name(n) => Ok(n.clone()),
            PathSegment::Computed(e) => Ok(self.eval(e)?.shown()),
        }
    }

    /// The value of a `$path`.
    pub fn path(&self, path: &ScenePath) -> Result<Value, EvalFault> {
        match &path.root {
            PathRoot::Table(name) => Ok(self.walk(self.st.rules.table(name), &path.segs)?),
            PathRoot::Given => self.walk(self.st.scene.clone(), &path.segs),
            PathRoot::Code(name) => {
                let values = self.st.rules.row("code", name).and_then(|row| row.get("values").cloned());
                self.walk(values.unwrap_or_default(), &path.segs)
            }
            PathRoot::Account(n) => {
                let what = match path.segs.first() {
                    Some(seg) => self.seg(seg)?,
                    None => Arc::from("left"),
                };
                super::ledger::read(self, *n, &what)
            }
            PathRoot::Scene { list } => {
                if let Some(names) = path.names() {
                    return self.settle(self.st.lookup(names, *list));
                }
                let names = path.segs.iter().map(|s| self.seg(s)).collect::<Result<Vec<_>, _>>()?;
                self.settle(self.st.lookup(&names, *list))
            }
        }
    }

    /// Whether `subject` is an element of a list; a list that depends on no item is hashed once per pass.
    pub fn is_in(&self, subject: &Value, list: &Expr) -> Result<bool, EvalFault> {
        if let Expr::Memo(slot, inner) = list {
            let set = match self.memo.set(*slot) {
                Some(set) => set,
                None => {
                    let value = inner.eval(self)?;
                    let made = Arc::new(ValueSet::of(value.elements())?);
                    super::memo::put(&self.memo.sets, *slot, made.clone());
                    made
                }
            };
            return Ok(set.has(subject)?);
        }
        Ok(match list.eval(self)? {
            Value::List(l) => written::holds(&l, subject)?,
            Value::Null => false,
            other => written::same(&other, subject)?,
        })
    }

    /// A condition from the scene's data, as `path = test` or `{ path, op, value }`.
    pub fn foreign_condition(&self, value: &Value) -> Result<bool, EvalFault> {
        let cond = super::cond::compile(value, &self.st.rules).map_err(EvalFault::failed)?;
        cond.holds(self)
    }

    /// A function of the embedding program.
    pub fn host(&self, name: &str) -> Result<bool, EvalFault> {
        match self.st.host.get(name) {
            Some(f) => f(&self.whole()).map(|v| v.truthy()).map_err(EvalFault::failed),
            None => Err(EvalFault::failed(format!("the embedding program offers no function `{name}`"))),
        }
    }
}

/// `@1`, `@name` of a scalar item: its own fields if the scalar is a table.
fn scalar_field(item: &Item, name: &str) -> Option<Value> {
    item.get(core::SELF).and_then(|v| v.get(name)).cloned()
}

/// One step: a field, an index, or `last`.
fn step(value: &Value, name: &str) -> Value {
    match (value, name) {
        (Value::List(l), "last") => l.last().cloned().unwrap_or_default(),
        (Value::List(l), "count") => Value::Int(i64::try_from(l.len()).unwrap_or(i64::MAX)),
        _ => value.get(name).cloned().unwrap_or_default(),
    }
}

impl Expr {
    /// Evaluates the expression in `env`, and charges the budget with the size of the value: whoever asked for it reads it.
    pub fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let value = self.evaluate(env)?;
        work::spend(value.steps())?;
        Ok(value)
    }

    fn evaluate(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        Ok(match self {
            Expr::Const(v) => v.clone(),
            Expr::Path(p) => env.path(p)?,
            Expr::Field(f) => env.field(f)?,
            Expr::Text(pieces) => {
                let mut out = String::new();
                for piece in pieces {
                    out.push_str(&piece.eval(env)?.shown());
                    if out.len() > env.st.rules.limits.text_bytes {
                        break;
                    }
                }
                env.st.check_text_size(out.len())?;
                Value::text(out)
            }
            Expr::List(list) => Value::list(list.iter().map(|e| e.eval(env)).collect::<Result<_, _>>()?),
            Expr::Table(table) => {
                let mut map = Map::default();
                for (key, e) in table {
                    map.insert(key.clone(), e.eval(env)?);
                }
                Value::map(map)
            }
            Expr::Query(q) => q.run(env)?,
            Expr::Lookup(l) => l.eval(env)?,
            Expr::First(list) => {
                for e in list {
                    let v = e.eval(env)?;
                    if !v.is_empty() {
                        return Ok(v);
                    }
                }
                Value::text("")
            }
            Expr::Over(list) => over(list, env)?,
            Expr::Calc(c) => c.eval(env)?,
            Expr::Operation(operation) => operation.eval(env)?,
            Expr::Read(e) => match e.eval(env)? {
                Value::Rule(RuleRef::Expr(n)) => env.value_cell(n)?,
                other => other,
            },
            Expr::If(choice) => match choice.cond.holds(env)? {
                true => choice.then.eval(env)?,
                false => choice.other.eval(env)?,
            },
            Expr::Is(cond) => Value::Bool(cond.holds(env)?),
            Expr::Try(inner) => tried(inner.eval(env))?,
            Expr::Pipe(pipe) => pipe.eval(env)?,
            Expr::Fold(fold) => fold.eval(env)?,
            Expr::Script(scripted) => scripted.eval(env)?,
            Expr::Fn(call) => {
                let mut args = Map::default();
                for (name, e) in &call.args {
                    args.insert(name.clone(), e.eval(env)?);
                }
                match call.function {
                    CalledFunction::Text(n) => functions::FUNCTIONS.get(n).map_or(Ok(Value::Null), |f| env.st.called(f, &args))?,
                    CalledFunction::Cost => super::ledger::cost_of(env, &args)?,
                    CalledFunction::Render(language) => env.render(RenderRequest::Text(language), &args)?,
                    CalledFunction::Template => env.render(RenderRequest::Template, &args)?,
                }
            }
            Expr::Form(n) => env.st.rules.form(*n, env)?,
            Expr::Cells(table, cell, _) => cells(table, cell, env)?,
            Expr::Shared(shared) => env.memo.shares.result(env, shared, |expr| expr.eval(env))?,
            Expr::Memo(slot, inner) => match env.memo.get(*slot) {
                Some(v) => v,
                None => {
                    let v = inner.eval(env)?;
                    env.memo.put(*slot, v.clone());
                    v
                }
            },
        })
    }
}

/// `{ table, value }`: one cell of each row by the row's name; empty where the row's `when` does not hold.
fn cells(table: &str, cell: &str, env: &Env<'_>) -> Result<Value, EvalFault> {
    let mut out = Map::default();
    for row in env.st.rules.table(table).as_list().unwrap_or(&[]) {
        let held = match row.get("when") {
            Some(Value::Rule(RuleRef::Cond(n))) => env.condition_cell(*n)?,
            Some(other) => other.truthy(),
            None => true,
        };
        let value = if held { env.settle(row.get(cell).cloned().unwrap_or_default())? } else { Value::text("") };
        out.insert(row.get("name").map(Value::shown).unwrap_or_default(), value);
    }
    Ok(Value::map(out))
}

/// Merges tables: a later field replaces an earlier one if it is present.
fn over(list: &[Expr], env: &Env<'_>) -> Result<Value, EvalFault> {
    let mut out = Map::default();
    for e in list {
        if let Value::Map(map) = e.eval(env)? {
            // exactly: there may be a hundred thousand tables with a few of their many fields
            out.reserve(map.values().filter(|value| !value.is_null()).count());
            for (key, value) in map.iter() {
                if !value.is_null() {
                    out.insert(key.clone(), value.clone());
                }
            }
        }
    }
    Ok(Value::map(out))
}

impl ItemQuery {
    /// Runs the query.
    pub fn run(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        match &self.of {
            QuerySource::List(n) => {
                if self.alone {
                    env.st.load_all(*n)?;
                }
                let list = env.st.list(*n);
                self.over(list.seq(), env)
            }
            QuerySource::Part => self.over(env.part.unwrap_or(SelectSequence::Values(&[])), env),
            QuerySource::Value(e) => {
                let value = e.eval(env)?;
                self.over(SelectSequence::Values(value.elements()), env)
            }
        }
    }

    fn over(&self, seq: SelectSequence<'_>, env: &Env<'_>) -> Result<Value, EvalFault> {
        let mut chosen = if self.select.is_all() && matches!(seq, SelectSequence::Some(..) | SelectSequence::Values(_)) {
            (0..seq.len()).collect()
        } else {
            self.select.run(seq, env)?
        };
        if self.select.from == super::select::SelectEnd::Last {
            chosen.reverse();
        }
        if self.count {
            return Ok(Value::Int(i64::try_from(chosen.len()).unwrap_or(i64::MAX)));
        }
        let mut out = match &self.after {
            Some(e) => Some(e.eval(env)?).filter(|value| !value.is_empty()).map(|value| value.elements().to_vec()).unwrap_or_default(),
            None => Vec::new(),
        };
        for n in chosen {
            let inner = env.inner(seq.cur(n));
            let one = match (&self.get, self.form) {
                (_, Some(form)) => inner.st.rules.form(form, &inner)?,
                (Some(get), None) => get.eval(&inner)?,
                (None, None) => inner.whole(),
            };
            out.push(if self.steps.is_empty() { one } else { super::steps::through(&self.steps, one, &inner)? });
        }
        if let Some(join) = &self.join {
            let join = join.eval(env)?.shown();
            let texts = out.iter().map(Value::shown).collect::<Vec<_>>();
            env.st.check_text_size(texts.iter().map(|t| t.len() + join.len()).sum())?;
            let text = texts.join(&join);
            let mut trimmed = text.as_str();
            if self.trim.0 {
                trimmed = js::trim_start(trimmed);
            }
            if self.trim.1 {
                trimmed = js::trim_end(trimmed);
            }
            return Ok(Value::text(trimmed));
        }
        if self.one {
            return Ok(out.into_iter().next().unwrap_or_default());
        }
        Ok(Value::list(out))
    }
}

impl Env<'_> {
    /// [`Env::settle`], which distinguishes a missing value from null.
    pub(crate) fn settle_present(&self, cell: &Value) -> Result<Option<Value>, EvalFault> {
        match cell {
            Value::Rule(RuleRef::Expr(n)) => {
                self.saw_value(*n);
                self.cell(|| self.present(self.st.rules.expr(*n)))
            }
            literal => Ok(Some(literal.clone()).filter(|value| !value.is_null())),
        }
    }

    /// Evaluates an expression. `None` means that there is no value; `Some(Null)` is a null that the data itself
    /// contains at the end of a reference or a lookup.
    pub fn present(&self, expr: &Expr) -> Result<Option<Value>, EvalFault> {
        let value = self.eval(expr)?;
        if !value.is_null() {
            return Ok(Some(value));
        }
        let said = match expr {
            Expr::Path(path) => {
                let scene = |names: &[Arc<str>]| says_null(&self.st.set.borrow(), names) || says_null(&self.st.scene, names);
                path.names().is_some_and(scene)
            }
            Expr::Field(field) => self.field_is_null(field),
            Expr::Lookup(lookup) => self.lookup_is_null(lookup)?,
            Expr::Memo(_, inner) => return self.present(inner),
            Expr::Shared(shared) => return self.present(&shared.of),
            _ => false,
        };
        Ok(said.then_some(Value::Null))
    }

    fn field_is_null(&self, field: &FieldRef) -> bool {
        let mut env = self;
        for _ in 0..field.up {
            let Some(outer) = env.outer else { return false };
            env = outer;
        }
        let Some((id, name)) = &field.field else { return false };
        let names: Option<Vec<Arc<str>>> =
            field.rest.iter().map(|seg| if let PathSegment::Name(name) = seg { Some(name.clone()) } else { None }).collect();
        let Some(names) = names else { return false };
        match env.cur {
            CurrentItem::None => false,
            CurrentItem::Item(item, _) if names.is_empty() => item.says_null(*id),
            CurrentItem::Item(item, _) => item.get(*id).is_some_and(|value| says_null(value, &names)),
            CurrentItem::Value(value, _) => value.get(name).is_some_and(|value| says_null(value, &names)),
        }
    }

    fn lookup_is_null(&self, lookup: &TableLookup) -> Result<bool, EvalFault> {
        let (key, table) = (self.eval(&lookup.key)?, self.eval(&lookup.table)?);
        Ok(lookup.get.is_none() && says_null(&table, &[key.shown()]))
    }
}

fn says_null(value: &Value, names: &[Arc<str>]) -> bool {
    names.iter().try_fold(value, |at, name| at.get(name)).is_some_and(Value::is_null)
}

impl<'a> Env<'a> {
    /// A reference to the value of a field that the current item holds itself, so that nothing is copied.
    pub(super) fn held(&self, r: &FieldRef) -> Option<&'a Value> {
        let (Some((id, name)), 0, true) = (&r.field, r.up, r.rest.is_empty()) else { return None };
        match self.cur {
            _ if *id == core::INDEX => None,
            CurrentItem::None => None,
            CurrentItem::Item(item, _) => item.get(*id),
            CurrentItem::Value(value, _) => value.get(name),
        }
    }

    /// Whether a field of the current item is certainly not true, which is the answer for most items of a long list.
    pub(super) fn is_off(&self, r: &FieldRef) -> bool {
        let (Some((id, _)), CurrentItem::Item(item, _), 0, true) = (&r.field, self.cur, r.up, r.rest.is_empty()) else { return false };
        let lacks = || item.lacks(*id) && self.st.rules.is_off_by_default(item.list, *id);
        *id != core::INDEX && (item.is_off(*id) || lacks())
    }
}

impl TableLookup {
    /// The row or element that the key names.
    pub(super) fn eval(&self, env: &Env<'_>) -> Result<Value, EvalFault> {
        let key = self.key.eval(env)?;
        let found = match self.named_table() {
            Some(table) => env.st.rules.row(table, &key.shown()),
            None => match self.table.eval(env)? {
                Value::Map(m) => m.get(key.shown().as_ref()).cloned(),
                Value::List(l) => match key.as_i64() {
                    Some(n) => usize::try_from(n).ok().and_then(|n| l.get(n).cloned()),
                    None => {
                        let mut found = None;
                        for row in l.iter() {
                            if row.get(&self.by).map_or(Ok(false), |value| written::same(value, &key))? {
                                found = Some(row.clone());
                                break;
                            }
                        }
                        found
                    }
                },
                _ => None,
            },
        };
        let found = match (found, &self.get) {
            (Some(row), Some(field)) => row.get(field).cloned(),
            (found, _) => found,
        };
        match (found, &self.default) {
            (Some(v), _) if !v.is_null() => env.settle(v),
            (_, Some(e)) => e.eval(env),
            _ => Ok(Value::Null),
        }
    }

    /// A plain `$table.NAME` that is looked up by name, answered from the index.
    fn named_table(&self) -> Option<&Arc<str>> {
        match &self.table {
            Expr::Path(p) => match &p.root {
                PathRoot::Table(name) if p.segs.is_empty() && self.by.as_ref() == "name" => Some(name),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What is to be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderRequest {
    /// A text in one of the text languages: `of`, `with`, and the options of the language.
    Text(Language),
    /// A template of slots and layout, by its id.
    Template,
}

/// Renders with the arguments of a call, for what is evaluated in an environment.
pub type RenderFunction = Rc<dyn Fn(RenderRequest, &Map, &Env<'_>) -> Result<Value, EvalFault>>;

impl Env<'_> {
    /// Renders a text, a template or the result of a script.
    pub fn render(&self, what: RenderRequest, args: &Map) -> Result<Value, EvalFault> {
        match &self.st.renderer {
            Some(renderer) => renderer(what, args, self),
            None => Ok(args.get("of").cloned().unwrap_or_default()),
        }
    }
}
