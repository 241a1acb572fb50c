//! Kinds of task: the data that a template may ask for, and where each part of it comes from.
//!
//! A task, its sources and its lanes are rows of a pack, so a new kind of task needs no code. A source is a value of
//! the rule language over the state of a build, with `@` as the table of arguments; [`steps`] then change the list that
//! it returns.

pub mod steps;

use std::sync::Arc;

use super::revision::Revisions;
use super::view::SourceValue;
use crate::diag::{Code, Diagnostic, DocumentNode, Report};
use crate::model::pack::PackRow;
use crate::model::term::{RowTerms, TEXTS, WHEN};
use crate::model::{Map, Pack, Term, Value};
use crate::terms::eval::CurrentItem;
use crate::terms::select::pass_env;
use crate::terms::{BuildState, CompiledRules, Env, EvalFault, PassContext, PassMemo};
use steps::TaskStep;

/// Keys of `task`.
const TASK: &[Term] = &[
    Term::text("for", "what templates call it").default("the row's name"),
    Term::text("revision", "the revision of templates that it is for: a row of table `revision`")
        .default("all that have no row of their own"),
    Term::new("sources", TEXTS, "further sources: rows of other tasks, by their full names"),
    Term::new("lanes", TEXTS, "further lanes: rows of other tasks, by their full names"),
    Term::text("doc", "what it is for"),
    WHEN,
];

/// Keys of `source`.
const SOURCE: &[Term] = &[
    Term::json(
        "args",
        r#"{ "type": "object", "additionalProperties": { "$ref": "task.v2.json#/definitions/argument" } }"#,
        "its arguments: name = type, or `{ type, default, doc }`. The default is used for an argument that is missing or null",
    ),
    Term::json(
        "gives",
        r#"{ "type": ["string", "object", "array"] }"#,
        "the shape of what it gives, for the reader: a type, a list with the shape of its elements, or a table of field = shape",
    ),
    Term::defined("value", "value", "what it gives. `@` is the table of arguments"),
    Term::json(
        "list",
        r#"{ "type": "array", "items": { "$ref": "task.v2.json#/definitions/step" } }"#,
        "the steps that are applied to the list that `value` gives, in this order",
    ),
    Term::text("doc", "what it means"),
    WHEN,
];

/// Keys of `lane`.
const LANE: &[Term] = &[
    Term::json("enabled", r#"{ "type": "boolean" }"#, "if off, requests for it are ignored").default("on"),
    Term::text("role", "role of its messages: one of the `roles` of the template's revision"),
    Term::text("template", "text of its messages; it sees `payload` and `ctx`"),
    Term::json("order", r#"{ "type": "integer" }"#, "lower runs first").default("0"),
    Term::defined("reserve", "number", "tokens that are reserved for it"),
    Term::defined("budget", "number", "the greatest number of tokens for it"),
    Term::json("payload", r#"{ "type": "object" }"#, "what all its texts see as `payload`"),
    Term::json("groups", r#"{ "type": "array", "items": { "$ref": "task.v2.json#/definitions/group" } }"#, "groups of requests for it"),
    Term::defined("each", "value", "the requests for it: a list of tables `{ target, payload?, priority?, groupId?, role?, template? }`"),
    Term::text("doc", "what it is for"),
    WHEN,
];

/// The keys of rows about tasks.
pub(crate) const ROWS: &[RowTerms] =
    &[("revision", &[super::revision::REVISION]), ("task", &[TASK]), ("source", &[SOURCE]), ("lane", &[LANE])];

/// The kinds of task of a pack. Immutable.
#[derive(Debug, Default)]
pub struct Tasks {
    list: Vec<Task>,
}

/// A kind of task.
#[derive(Debug)]
pub struct Task {
    /// The name of its row.
    pub name: Arc<str>,
    /// Its name in templates.
    pub kind: Arc<str>,
    /// The revision of templates that it is for; `None`: every revision that has no row of its own.
    pub revision: Option<Arc<str>>,
    /// Its sources.
    pub sources: Vec<Arc<TaskSource>>,
    /// The lanes that it offers.
    pub lanes: Vec<Arc<TaskLane>>,
}

impl Tasks {
    /// Compiles the rows of tables `task`, `source` and `lane` of a pack whose values have been compiled.
    #[must_use]
    pub fn compile(rules: &CompiledRules, pack: &Pack, revisions: &Revisions) -> (Self, Report) {
        let mut report = Report::default();
        let sources: Vec<Arc<TaskSource>> = pack.rows("source").map(|row| Arc::new(TaskSource::compile(rules, row, &mut report))).collect();
        let lanes: Vec<Arc<TaskLane>> = pack.rows("lane").map(|row| Arc::new(TaskLane::compile(rules, row))).collect();
        let list: Vec<Task> = pack.rows("task").map(|row| Task::compile(row, &sources, &lanes, &mut report)).collect();
        for row in pack.rows("task") {
            let named = row.fields.get("revision").and_then(|field| Some((&field.node, field.node.as_text()?)));
            if let Some((node, name)) = named.filter(|(_, name)| revisions.get(name).is_none()) {
                report.push(revisions.unknown(name, node).rule(format!("task {}", row.name)));
            }
        }
        for row in pack.rows("source").filter(|row| !list.iter().any(|t| t.sources.iter().any(|s| s.whole == row.name))) {
            homeless("source", row, &list, &mut report);
        }
        for row in pack.rows("lane").filter(|row| !list.iter().any(|t| t.lanes.iter().any(|l| l.whole == row.name))) {
            homeless("lane", row, &list, &mut report);
        }
        (Self { list }, report)
    }

    /// The task that templates call `kind`, for a revision: the row of that revision, else the row without one.
    #[must_use]
    pub fn find(&self, kind: &str, revision: &str) -> Option<&Task> {
        let of = |wanted: Option<&str>| self.list.iter().find(|t| &*t.kind == kind && t.revision.as_deref() == wanted);
        of(Some(revision)).or_else(|| of(None))
    }

    /// The names of the tasks in templates, each once.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = Vec::new();
        for task in &self.list {
            if !kinds.contains(&&*task.kind) {
                kinds.push(&task.kind);
            }
        }
        kinds
    }

    /// All tasks, in the order of their rows.
    #[must_use]
    pub fn all(&self) -> &[Task] {
        &self.list
    }
}

impl Task {
    fn compile(row: &PackRow, sources: &[Arc<TaskSource>], lanes: &[Arc<TaskLane>], report: &mut Report) -> Self {
        let sources = own_and_lent(row, "source", sources, |s| (&s.task, &s.whole), report);
        let lanes = own_and_lent(row, "lane", lanes, |l| (&l.task, &l.whole), report);
        let kind = row.text("for").map_or_else(|| row.name.clone(), Arc::from);
        Self { name: row.name.clone(), kind, revision: row.text("revision").map(Arc::from), sources, lanes }
    }

    /// The source that templates call `name`; `None` if there is none.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&TaskSource> {
        self.sources.iter().find(|s| &*s.name == name).map(AsRef::as_ref)
    }

    /// The names of its sources.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.sources.iter().map(|s| s.name.as_ref()).collect()
    }
}

/// The rows of the sources that a task of a pack offers to templates of a revision, by their names in templates; `None`
/// if the pack has no such task. It needs no compiled values, so it also works for a pack with mistakes.
#[must_use]
pub fn offered<'a>(pack: &'a Pack, kind: &str, revision: &str) -> Option<Vec<(&'a str, &'a PackRow)>> {
    let tasks = pack.tables.get("task")?;
    let of =
        |wanted: Option<&str>| tasks.values().find(|row| row.text("for").unwrap_or(&row.name) == kind && row.text("revision") == wanted);
    let task = of(Some(revision)).or_else(|| of(None))?;
    let lent: Vec<&str> = task.words("sources").map(|(name, _)| name).collect();
    let visible = pack.rows("source").filter_map(|row| {
        let (of, name) = row.name.rsplit_once('/')?;
        (of == &*task.name || lent.contains(&&*row.name)).then_some((name, row))
    });
    Some(visible.collect())
}

/// A row's name split as `TASK/NAME`.
fn halves(row: &PackRow) -> (Arc<str>, Arc<str>) {
    row.name.rsplit_once('/').map_or_else(|| (Arc::default(), row.name.clone()), |(task, name)| (task.into(), name.into()))
}

/// The rows of a table that belong to a task: its own, and those that its cell `sources` or `lanes` names.
fn own_and_lent<T>(
    task: &PackRow,
    table: &'static str,
    all: &[Arc<T>],
    names: impl Fn(&T) -> (&Arc<str>, &Arc<str>),
    report: &mut Report,
) -> Vec<Arc<T>> {
    let mut has: Vec<Arc<T>> = all.iter().filter(|row| *names(row).0 == task.name).cloned().collect();
    for node in task.fields.get(format!("{table}s").as_str()).and_then(|f| f.node.as_list()).unwrap_or(&[]) {
        let name = node.as_text().unwrap_or("");
        match all.iter().find(|row| &**names(row).1 == name) {
            Some(lent) => has.push(lent.clone()),
            None => {
                let help = report.words.help(name, all.iter().map(|row| names(row).1.as_ref()));
                let help = help.unwrap_or_else(|| format!("name a [[{table}]] row: `TASK/NAME`").into());
                report.push(unknown(table, name, node, task).help(help));
            }
        }
    }
    has
}

fn unknown(what: &'static str, name: &str, node: &DocumentNode, row: &PackRow) -> Diagnostic {
    let complaint = Diagnostic::new(Code::NameUnknown, format!("there is no {what} `{name}`")).at(node.span).missing_row(&[what], name);
    complaint.rule(format!("task {}", row.name))
}

/// The diagnostic about a row of a task that does not exist.
fn homeless(table: &str, row: &PackRow, tasks: &[Task], report: &mut Report) {
    let (task, _) = halves(row);
    let help = report.words.help(&task, tasks.iter().map(|t| t.name.as_ref()));
    let help =
        help.unwrap_or_else(|| format!("name the row `TASK/NAME`, with a [[task]] row `TASK`, or name it in `{table}s` of a task").into());
    let message = if task.is_empty() { format!("{table} `{}` belongs to no task", row.name) } else { format!("there is no task `{task}`") };
    report.push(
        Diagnostic::new(Code::NameUnknown, message)
            .at(row.name_span)
            .missing_row(&["task"], &*task)
            .rule(format!("{table} {}", row.name))
            .help(help),
    );
}

/// A lane that a task offers.
#[derive(Debug)]
pub struct TaskLane {
    /// The name of its row, `TASK/LANE`.
    pub whole: Arc<str>,
    /// The task that it belongs to.
    pub task: Arc<str>,
    /// Its id.
    pub id: Arc<str>,
    cells: Value,
}

/// The lanes of a task over one state and the requests for them, in the form of a template's own `attachments`.
#[derive(Debug, Default)]
pub struct OfferedLanes {
    /// The lanes.
    pub lanes: Vec<Value>,
    /// The requests: tables with `lane`.
    pub requests: Vec<Value>,
}

impl TaskLane {
    pub(super) fn compile(rules: &CompiledRules, row: &PackRow) -> Self {
        let (task, id) = halves(row);
        Self { whole: row.name.clone(), task, id, cells: rules.row("lane", &row.name).unwrap_or_default() }
    }

    /// Adds the lane and its requests to what a task offers; does nothing if its `when` does not hold.
    ///
    /// # Errors
    /// A cell cannot be evaluated.
    pub fn offer(&self, env: &Env<'_>, to: &mut OfferedLanes) -> Result<(), EvalFault> {
        let memo = PassMemo::of(env.memo.pass);
        let env = pass_env(env.st, &memo);
        if !env.applies(self.cells.get("when"))? {
            return Ok(());
        }
        let mut lane = Map::default();
        lane.insert("id".into(), Value::Text(self.id.clone()));
        for (key, cell) in self.cells.as_map().into_iter().flatten() {
            let key = match key.as_ref() {
                "name" | "doc" | "about" | "when" | "each" => continue,
                "reserve" => Arc::from("reserveTokens"),
                "budget" => {
                    lane.insert("budget".into(), budget(env.settle(cell.clone())?));
                    continue;
                }
                _ => key.clone(),
            };
            lane.insert(key, env.settle(cell.clone())?);
        }
        to.lanes.push(Value::map(lane));
        let each = self.cells.get("each").map(|cell| env.settle(cell.clone())).transpose()?.unwrap_or_default();
        let asks = each.as_list().unwrap_or(&[]);
        env.st.visit(asks.len())?;
        for ask in asks {
            let mut request = ask.as_map().cloned().unwrap_or_default();
            request.insert("lane".into(), Value::Text(self.id.clone()));
            to.requests.push(Value::map(request));
        }
        Ok(())
    }
}

fn budget(most: Value) -> Value {
    Value::map([(Arc::from("maxTokens"), most)].into_iter().collect())
}

/// A named source of data.
#[derive(Debug)]
pub struct TaskSource {
    /// The name of its row, `TASK/SOURCE`.
    pub whole: Arc<str>,
    /// The task that it belongs to.
    pub task: Arc<str>,
    /// Its name in templates.
    pub name: Arc<str>,
    /// Arguments that have a default value.
    defaults: Vec<(Arc<str>, Value)>,
    /// A literal value, or a compiled cell.
    value: Value,
    /// The condition on which it returns anything: a truth value, or a compiled cell.
    when: Option<Value>,
    steps: Vec<TaskStep>,
}

impl TaskSource {
    pub(super) fn compile(rules: &CompiledRules, row: &PackRow, report: &mut Report) -> Self {
        let (task, name) = halves(row);
        let cells = rules.row("source", &row.name).unwrap_or_default();
        let declared = cells.get("args").and_then(Value::as_map).into_iter().flatten();
        let defaults = declared.filter_map(|(arg, shape)| Some((arg.clone(), shape.get("default")?.clone()))).collect();
        let list = row.fields.get("list").and_then(|f| f.node.as_list()).unwrap_or(&[]);
        let steps = list.iter().filter_map(|node| TaskStep::compile(node, row, report)).collect();
        let value = cells.get("value").cloned().unwrap_or_default();
        Self { whole: row.name.clone(), task, name, defaults, value, when: cells.get("when").cloned(), steps }
    }

    /// The value of the source for these arguments; `None` is absent, which is not the same as `null`.
    ///
    /// # Errors
    /// A cell cannot be evaluated, a value that should be changed by steps is not a list, or a bound is reached.
    pub fn resolve(&self, args: Option<&Value>, pass: PassContext, st: &BuildState) -> Result<Option<SourceValue>, EvalFault> {
        let mut given = args.and_then(Value::as_map).cloned().unwrap_or_default();
        for (name, default) in &self.defaults {
            if given.get(name).is_none_or(Value::is_null) {
                given.insert(name.clone(), default.clone());
            }
        }
        let args = Value::map(given);
        let memo = PassMemo::of(pass);
        let env = Env { st, cur: CurrentItem::Value(&args, 0), outer: None, memo: &memo, part: None };
        if !env.applies(self.when.as_ref())? {
            return Ok(None);
        }
        let value = env.settle_present(&self.value)?;
        st.visit(value.as_ref().and_then(Value::as_list).map_or(0, <[Value]>::len))?;
        let nothing = Map::default();
        steps::apply(&self.steps, value.map(SourceValue::from), args.as_map().unwrap_or(&nothing))
    }
}
