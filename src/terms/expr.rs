//! Compiled value expressions: references are resolved, holes are parsed, queries are ready to run.
//!
//! The forms are described in the section "Values" of the language page. An expression is immutable; what it refers
//! to at run time is read through an [`super::Env`].

use std::sync::Arc;

use crate::model::{FieldId, Value};
use crate::text::Language;

use super::expression::Operation;
use super::memo::SharedValue;
use super::steps::{StepPipe, TextStep};
use super::types::ValueType;
use super::{Cond, Select, calc::Calc};

/// A compiled value expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A literal.
    Const(Value),
    /// `$path`: the build so far, the scene, a list, the pack's values.
    Path(Arc<ScenePath>),
    /// `@field`, `@`, `@outer.field`.
    Field(FieldRef),
    /// A text with `{{$x}}` and `{{@x}}` holes.
    Text(Box<[Expr]>),
    /// A list of values.
    List(Box<[Expr]>),
    /// A plain table.
    Table(Box<[(Arc<str>, Expr)]>),
    /// `{ of = … }`.
    Query(Box<ItemQuery>),
    /// `{ lookup = key, in = table, by?, get?, else? }`.
    Lookup(Box<TableLookup>),
    /// `{ first = […] }`: the first value that is not empty.
    First(Box<[Expr]>),
    /// `{ over = […] }`: tables merged, later ones over earlier ones.
    Over(Box<[Expr]>),
    /// `{ calc = "…" }`.
    Calc(Box<Calc>),
    /// `{ read = "@cell" }`: the value of the reference that a pack's own table cell names.
    Read(Box<Expr>),
    /// `{ if = condition, then = value, else = value }`.
    If(Box<ValueChoice>),
    /// `{ is = condition }`: true or false.
    Is(Box<Cond>),
    /// `{ try = value }`: a table with the `value`, or with the `error` of an evaluation that failed.
    Try(Box<Expr>),
    /// `{ of = value, steps = […] }`.
    Pipe(Box<StepPipe>),
    /// `{ fold = list, from = value, give = value }`: one value made of all elements, one after another.
    Fold(Box<ValueFold>),
    /// `{ script = function, args? }`.
    Script(Box<ScriptCall>),
    /// An operation of an expression as text.
    Operation(Box<Operation>),
    /// `{ fn = name, … }`.
    Fn(Box<ExprCall>),
    /// `{ form = name }`: the item in the shape of a form.
    Form(usize),
    /// `{ table = name, value = cell }`: one cell of each row of a table, by the row's name. The number says how many
    /// levels of items the rows depend on, as in [`ScenePath::depends`].
    Cells(Arc<str>, Arc<str>, u8),
    /// A part that depends on no item: evaluated once per pass.
    Memo(u32, Box<Expr>),
    /// A large value of the table `value`, which several places hold.
    Shared(Arc<SharedValue<Expr>>),
}

/// A `$path`.
#[derive(Debug)]
pub struct ScenePath {
    /// The path as written, without the `$`.
    pub text: Arc<str>,
    /// The root that it starts from.
    pub root: PathRoot,
    /// The steps below the root.
    pub segs: Box<[PathSegment]>,
    /// How many levels of items its target depends on: 0 for none, 1 for the current item, 2 for the item around it.
    pub depends: u8,
    /// The steps, if this is a path of the scene without computed steps.
    names: Option<Box<[Arc<str>]>>,
}

impl ScenePath {
    /// A path as it was parsed.
    #[must_use]
    pub fn new(text: Arc<str>, root: PathRoot, segs: Box<[PathSegment]>, depends: u8) -> Self {
        let name = |seg: &PathSegment| if let PathSegment::Name(name) = seg { Some(name.clone()) } else { None };
        let names = if let PathRoot::Scene { .. } = root { segs.iter().map(name).collect() } else { None };
        Self { text, root, segs, depends, names }
    }

    /// The names along a path of the scene, if none of its steps is computed.
    #[must_use]
    pub fn names(&self) -> Option<&[Arc<str>]> {
        self.names.as_deref()
    }
}

/// The root of a `$path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathRoot {
    /// What the build has set, then the scene, then the pack's values; `list` is a list of that name, which is read
    /// between the scene and the values.
    Scene {
        /// A list whose name the path begins with, and how many steps that name takes.
        list: Option<(usize, usize)>,
    },
    /// `$given.PATH`: the scene as it was passed in, whatever passes have changed since.
    Given,
    /// `$table.NAME`.
    Table(Arc<str>),
    /// `$code.NAME`: the values of a row of table `code`.
    Code(Arc<str>),
    /// `$account.NAME.left | size | spent`.
    Account(usize),
}

/// One step of a path.
#[derive(Debug, Clone)]
pub enum PathSegment {
    /// A name, an index, or `last`.
    Name(Arc<str>),
    /// `[$ref]` or `[@ref]`: a computed name.
    Computed(Box<Expr>),
}

/// An `@field` reference.
#[derive(Debug, Clone)]
pub struct FieldRef {
    /// 0 is the current item, 1 the item of the enclosing query.
    pub up: u8,
    /// The field; `None` is the item itself.
    pub field: Option<(FieldId, Arc<str>)>,
    /// Steps below the field.
    pub rest: Box<[PathSegment]>,
}

/// Where a query takes its items from.
#[derive(Debug, Clone)]
pub enum QuerySource {
    /// A list of the build.
    List(usize),
    /// The part that a pass with `group_by` is processing.
    Part,
    /// Any value that is a list.
    Value(Expr),
}

/// `{ of, <select>, get?, join?, trim?, count?, form?, after? }`.
#[derive(Debug, Clone)]
pub struct ItemQuery {
    /// Where the items come from.
    pub of: QuerySource,
    /// The selection.
    pub select: Select,
    /// The value that is taken of each item.
    pub get: Option<Expr>,
    /// The JSON form of each item.
    pub form: Option<usize>,
    /// What is then done to each.
    pub steps: Box<[TextStep]>,
    /// A list that the result is appended to.
    pub after: Option<Expr>,
    /// Joins the result to one text.
    pub join: Option<Expr>,
    /// Trims the joined text: at its start, at its end.
    pub trim: (bool, bool),
    /// Returns the number of items instead of the items.
    pub count: bool,
    /// `take = 1` without `group_by`: the one item instead of a list.
    pub one: bool,
    /// The query is not inside a pass, which would have read the list for it, so it reads the list itself.
    pub alone: bool,
}

impl ItemQuery {
    /// A query that gives the items themselves. `alone`: it is not inside a pass.
    #[must_use]
    pub fn of_items(of: QuerySource, select: Select, alone: bool) -> Self {
        Self {
            of,
            select,
            get: None,
            form: None,
            steps: Box::default(),
            after: None,
            join: None,
            trim: (false, false),
            count: false,
            one: false,
            alone,
        }
    }
}

/// `{ lookup, in, key?, get?, else? }`.
#[derive(Debug, Clone)]
pub struct TableLookup {
    /// What is looked up.
    pub key: Expr,
    /// A table of rows (by name), a map (by key) or a list (by index).
    pub table: Expr,
    /// The field of a row that is its key.
    pub by: Arc<str>,
    /// The field of the found row that is returned; without it the whole row.
    pub get: Option<Arc<str>>,
    /// The value if nothing is found.
    pub default: Option<Expr>,
}

/// `{ if, then, else? }`. Only the chosen value is evaluated.
#[derive(Debug, Clone)]
pub struct ValueChoice {
    /// The condition.
    pub cond: Cond,
    /// The value if it holds.
    pub then: Expr,
    /// The value if it does not hold; nothing if none is written.
    pub other: Expr,
}

/// `{ fold, from?, give }`.
#[derive(Debug, Clone)]
pub struct ValueFold {
    /// The list.
    pub of: Expr,
    /// The value before the first element.
    pub from: Expr,
    /// The value after each element; `@` is the table `{ so_far, element, index }`.
    pub give: Expr,
}

/// `{ fn = name, argument = value, … }`.
#[derive(Debug, Clone)]
pub struct ExprCall {
    /// Index into the library, or one of the functions that need the build.
    pub function: CalledFunction,
    /// The arguments, in the order written.
    pub args: Box<[(Arc<str>, Expr)]>,
}

/// What a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalledFunction {
    /// A pure function of the text library.
    Text(usize),
    /// `cost`: what a text costs on a ruler.
    Cost,
    /// `render`: a text through one of the text languages.
    Render(Language),
    /// `template`: a template of slots and layout, by its id.
    Template,
}

impl CalledFunction {
    /// Its arguments, and whether each is required; `None` where the compiler checks them by other means.
    #[must_use]
    pub fn arguments(self) -> Option<&'static [(&'static str, bool)]> {
        match self {
            CalledFunction::Text(n) => crate::text::functions::FUNCTIONS.get(n).map(|function| function.args),
            CalledFunction::Cost => Some(&[("of", true), ("role", false), ("name", false), ("cost_model", false)]),
            CalledFunction::Render(_) | CalledFunction::Template => None,
        }
    }
}

impl Expr {
    /// A literal text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Expr::Const(Value::text(text))
    }

    /// Whether the expression depends on the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        let any = |list: &[Expr]| list.iter().any(|e| e.refers(depth));
        match self {
            Expr::Const(_) | Expr::Memo(..) => false,
            Expr::Shared(shared) => shared.depends > depth,
            Expr::Cells(_, _, depends) => *depends > depth,
            Expr::Path(p) => p.depends > depth || p.segs.iter().any(|s| s.refers(depth)),
            Expr::Field(f) => f.up >= depth || f.rest.iter().any(|s| s.refers(depth)),
            Expr::Text(l) | Expr::List(l) | Expr::First(l) | Expr::Over(l) => any(l),
            Expr::Table(t) => t.iter().any(|(_, e)| e.refers(depth)),
            Expr::Query(q) => q.refers(depth),
            Expr::Lookup(l) => l.key.refers(depth) || l.table.refers(depth) || l.default.as_ref().is_some_and(|e| e.refers(depth)),
            Expr::Calc(c) => c.refers(depth),
            Expr::Operation(o) => o.parts().any(|(part, more)| part.refers(depth.saturating_add_signed(more))),
            Expr::If(c) => c.cond.refers(depth) || c.then.refers(depth) || c.other.refers(depth),
            Expr::Is(c) => c.refers(depth),
            Expr::Try(e) => e.refers(depth),
            Expr::Pipe(p) => p.refers(depth),
            Expr::Fold(f) => f.of.refers(depth) || f.from.refers(depth) || f.give.refers(depth + 1),
            Expr::Script(s) => s.refers(depth),
            Expr::Read(_) | Expr::Form(_) => true,
            Expr::Fn(c) => c.args.iter().any(|(_, e)| e.refers(depth)),
        }
    }

    /// Whether evaluation may take a draw, so that it must happen each time and in order.
    #[must_use]
    pub fn draws(&self) -> bool {
        match self {
            Expr::Query(q) => q.draws(),
            Expr::Shared(shared) => shared.draws,
            Expr::If(c) => c.cond.draws() || c.then.draws() || c.other.draws(),
            Expr::Is(c) => c.draws(),
            Expr::Try(e) => e.draws(),
            Expr::Operation(o) => o.parts().any(|(part, _)| part.draws()),
            Expr::Pipe(p) => p.draws(),
            Expr::Script(s) => s.draws(),
            Expr::Fold(f) => f.of.draws() || f.from.draws() || f.give.draws(),
            Expr::Text(l) | Expr::List(l) | Expr::First(l) | Expr::Over(l) => l.iter().any(Expr::draws),
            Expr::Table(t) => t.iter().any(|(_, e)| e.draws()),
            Expr::Lookup(l) => l.key.draws() || l.table.draws(),
            Expr::Fn(c) => {
                matches!(c.function, CalledFunction::Render(_) | CalledFunction::Template) || c.args.iter().any(|(_, e)| e.draws())
            }
            _ => false,
        }
    }
}

impl Expr {
    /// Whether it does nothing but read paths of the scene that lead into no list, and `known` holds for each of them: then
    /// it has the same value until something is set.
    pub fn reads_scene(&self, known: &mut dyn FnMut(&[Arc<str>]) -> bool) -> bool {
        match self {
            Expr::Const(_) => true,
            Expr::Path(path) => match (&path.root, path.names()) {
                // a list may be read further at any time
                (PathRoot::Scene { list: None }, Some(names)) => known(names),
                _ => false,
            },
            Expr::Text(list) | Expr::First(list) => list.iter().all(|e| e.reads_scene(known)),
            Expr::If(choice) => choice.cond.reads_scene(known) && choice.then.reads_scene(known) && choice.other.reads_scene(known),
            _ => false,
        }
    }
}

impl Cond {
    /// The same for a condition.
    fn reads_scene(&self, known: &mut dyn FnMut(&[Arc<str>]) -> bool) -> bool {
        match self {
            Cond::Const(_) => true,
            Cond::All(list) | Cond::Any(list) => list.iter().all(|c| c.reads_scene(known)),
            Cond::Not(cond) => cond.reads_scene(known),
            Cond::Test { subject, test, condition: false } => {
                subject.reads_scene(known) && test.operands().iter().all(|e| e.reads_scene(known))
            }
            _ => false,
        }
    }
}

impl PathSegment {
    fn refers(&self, depth: u8) -> bool {
        matches!(self, PathSegment::Computed(e) if e.refers(depth))
    }
}

impl ItemQuery {
    /// Whether any part of the query depends on the item `depth` levels up from the query.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        let of = match &self.of {
            QuerySource::List(_) => false,
            QuerySource::Part => true,
            QuerySource::Value(e) => e.refers(depth),
        };
        of || self.select.refers(depth + 1)
            || self.get.as_ref().is_some_and(|e| e.refers(depth + 1))
            || self.steps.iter().any(|step| step.refers(depth + 1))
            || self.after.as_ref().is_some_and(|e| e.refers(depth))
            || self.join.as_ref().is_some_and(|e| e.refers(depth))
    }

    /// Whether it must be run each time and in order.
    #[must_use]
    pub fn draws(&self) -> bool {
        self.select.draw.is_some() || self.get.as_ref().is_some_and(Expr::draws) || self.steps.iter().any(TextStep::draws)
    }
}

impl Cond {
    /// Whether the condition depends on the item `depth` levels up.
    #[must_use]
    pub fn refers(&self, depth: u8) -> bool {
        match self {
            Cond::Const(_) | Cond::Memo(..) => false,
            Cond::Shared(shared) => shared.depends > depth,
            Cond::All(l) | Cond::Any(l) => l.iter().any(|c| c.refers(depth)),
            Cond::Not(c) => c.refers(depth),
            Cond::Test { subject, test, .. } => subject.refers(depth) || test.operands().iter().any(|e| e.refers(depth)),
            Cond::Query(q, test) => q.refers(depth) || test.operands().iter().any(|e| e.refers(depth)),
            Cond::Script(s) => s.refers(depth),
            Cond::Rhai(_) | Cond::Host(_) => true,
        }
    }

    /// Whether evaluating it for an item may take a draw.
    #[must_use]
    pub fn draws(&self) -> bool {
        match self {
            Cond::Const(_) | Cond::Memo(..) | Cond::Rhai(_) | Cond::Host(_) => false,
            Cond::Shared(shared) => shared.draws,
            Cond::Script(s) => s.draws(),
            Cond::All(l) | Cond::Any(l) => l.iter().any(Cond::draws),
            Cond::Not(c) => c.draws(),
            Cond::Test { subject, test, .. } => subject.draws() || test.operands().iter().any(|e| e.draws()),
            Cond::Query(q, test) => q.draws() || test.operands().iter().any(|e| e.draws()),
        }
    }
}

/// `{ script = "file.rhai::function", args = [value, …] }`.
#[derive(Debug, Clone)]
pub struct ScriptCall {
    /// The function.
    pub function: Arc<str>,
    /// What it is given; without it, the current item and the scene.
    pub args: Option<Box<[Expr]>>,
    /// The field or path that is set to what it gives, and its declared type.
    pub sets: Option<(Arc<str>, ValueType)>,
}

impl Expr {
    /// The same value, which is checked where it is computed if a function gives it: it is for a field or path of this name.
    #[must_use]
    pub fn meant_for(mut self, name: &str, kind: Option<ValueType>) -> Self {
        if let Self::Script(scripted) = &mut self {
            scripted.sets = kind.map(|kind| (name.into(), kind));
        }
        self
    }
}
