//! Kinds of task: the data that a template may ask for, and where each part of it comes from.
//!
//! A task, its sources and its lanes are rows of a pack, so a new kind of task needs no code. A source is a value of
//! the rule language over the state of a build, with `@` as the table of arguments; [`steps`] then change the list that
//! it returns.

pub mod lanes;
pub mod sources;
pub mod steps;
mod window;

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, Report};
use crate::model::Pack;
use crate::model::pack::PackRow;
use crate::terms::CompiledRules;

use super::revision::Revisions;

pub use lanes::TaskLane;
pub use sources::TaskSource;

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
