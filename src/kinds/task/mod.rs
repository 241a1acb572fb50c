//! Kinds of task: what data a template may ask for, and where each piece comes from.
//!
//! A task, its sources and its lanes are rows of a pack, so a new kind of task is a file. What a source gives is a value of
//! the rule language over the state of a build, with `@` as the table of arguments; [`steps`] then handle the list that it is.

pub mod lanes;
pub mod sources;
pub mod steps;
mod window;

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Node, Report, suggest};
use crate::model::Pack;
use crate::model::pack::Row;
use crate::terms::Rules;

pub use lanes::Lane;
pub use sources::Source;

/// The kinds of task of a pack. Immutable.
#[derive(Debug, Default)]
pub struct Tasks {
    list: Vec<Task>,
}

/// A kind of task.
#[derive(Debug)]
pub struct Task {
    /// Name of its row.
    pub name: Arc<str>,
    /// What templates call it.
    pub kind: Arc<str>,
    /// The revision of templates that it is for; `None`: all that have no row of their own.
    pub revision: Option<Arc<str>>,
    /// Its sources.
    pub sources: Vec<Arc<Source>>,
    /// The lanes that it offers.
    pub lanes: Vec<Lane>,
}

impl Tasks {
    /// Compiles the rows of tables `task`, `source` and `lane` of a pack whose values have been compiled.
    #[must_use]
    pub fn compile(rules: &Rules, pack: &Pack) -> (Self, Report) {
        let mut report = Report::default();
        let rows = |table: &str| pack.tables.get(table).into_iter().flatten().map(|(_, row)| row);
        let sources: Vec<Arc<Source>> = rows("source").map(|row| Arc::new(Source::compile(rules, row, &mut report))).collect();
        let mut list: Vec<Task> = rows("task").map(|row| Task::compile(row, &sources, &mut report)).collect();
        for row in rows("lane") {
            let lane = Lane::compile(rules, row);
            if let Some(task) = list.iter_mut().find(|t| t.name == lane.task) {
                task.lanes.push(lane);
            } else {
                homeless("lane", row, &list, &mut report);
            }
        }
        let lent = |source: &Source| list.iter().any(|t| t.sources.iter().any(|s| s.whole == source.whole));
        let wrong: Vec<&Row> = rows("source").zip(&sources).filter(|(_, s)| !lent(s)).map(|(row, _)| row).collect();
        wrong.into_iter().for_each(|row| homeless("source", row, &list, &mut report));
        (Self { list }, report)
    }

    /// The task that templates call `kind`, for a revision: the row of that revision, else the one of none.
    #[must_use]
    pub fn find(&self, kind: &str, revision: &str) -> Option<&Task> {
        let of = |wanted: Option<&str>| self.list.iter().find(|t| &*t.kind == kind && t.revision.as_deref() == wanted);
        of(Some(revision)).or_else(|| of(None))
    }

    /// What templates call the tasks, each once.
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
    fn compile(row: &Row, sources: &[Arc<Source>], report: &mut Report) -> Self {
        let text = |key: &str| row.fields.get(key).and_then(|f| f.node.as_text()).map(Arc::from);
        let mut own: Vec<Arc<Source>> = sources.iter().filter(|s| s.task == row.name).cloned().collect();
        for node in row.fields.get("sources").and_then(|f| f.node.as_list()).unwrap_or(&[]) {
            let name = node.as_text().unwrap_or("");
            match sources.iter().find(|s| &*s.whole == name) {
                Some(lent) => own.push(lent.clone()),
                None => {
                    let help = suggest::help(name, sources.iter().map(|s| s.whole.as_ref()));
                    let help = help.unwrap_or_else(|| "name a [[source]] row: `TASK/SOURCE`".to_owned());
                    report.push(unknown("source", name, node, row).help(help));
                }
            }
        }
        let kind = text("for").unwrap_or_else(|| row.name.clone());
        Self { name: row.name.clone(), kind, revision: text("revision"), sources: own, lanes: Vec::new() }
    }

    /// A source, by the name that templates use.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources.iter().find(|s| &*s.name == name).map(AsRef::as_ref)
    }

    /// The names of its sources.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.sources.iter().map(|s| s.name.as_ref()).collect()
    }
}

/// The rows of the sources that a task of a pack offers to templates of a revision, by the names that templates use;
/// `None` where the pack has no such task. It needs no compiled values: a pack with mistakes answers too.
#[must_use]
pub fn offered<'a>(pack: &'a Pack, kind: &str, revision: &str) -> Option<Vec<(&'a str, &'a Row)>> {
    let text = |row: &'a Row, key: &str| row.fields.get(key).and_then(|field| field.node.as_text());
    let tasks = pack.tables.get("task")?;
    let of =
        |wanted: Option<&str>| tasks.values().find(|row| text(row, "for").unwrap_or(&row.name) == kind && text(row, "revision") == wanted);
    let task = of(Some(revision)).or_else(|| of(None))?;
    let lent: Vec<&str> =
        task.fields.get("sources").and_then(|f| f.node.as_list()).into_iter().flatten().filter_map(Node::as_text).collect();
    let sources = pack.tables.get("source").into_iter().flat_map(|rows| rows.values());
    let visible = sources.filter_map(|row| {
        let (of, name) = row.name.rsplit_once('/')?;
        (of == &*task.name || lent.contains(&&*row.name)).then_some((name, row))
    });
    Some(visible.collect())
}

/// A row's name as `TASK/NAME`.
fn halves(row: &Row) -> (Arc<str>, Arc<str>) {
    row.name.rsplit_once('/').map_or_else(|| (Arc::from(""), row.name.clone()), |(task, name)| (task.into(), name.into()))
}

fn unknown(what: &str, name: &str, node: &Node, row: &Row) -> Diagnostic {
    let complaint = Diagnostic::new(Code::NameUnknown, format!("there is no {what} `{name}`")).at(node.span).missing(name);
    complaint.rule(format!("task {}", row.name))
}

/// A row of a task that there is not.
fn homeless(table: &str, row: &Row, tasks: &[Task], report: &mut Report) {
    let (task, _) = halves(row);
    let help = suggest::help(&task, tasks.iter().map(|t| t.name.as_ref()));
    let help = help.unwrap_or_else(|| {
        format!(
            "name the row `TASK/NAME`, with a [[task]] row `TASK`{}",
            if table == "source" { ", or name it in `sources` of a task" } else { "" }
        )
    });
    let message = if task.is_empty() { format!("{table} `{}` belongs to no task", row.name) } else { format!("there is no task `{task}`") };
    report.push(
        Diagnostic::new(Code::NameUnknown, message).at(row.name_span).missing(&*task).rule(format!("{table} {}", row.name)).help(help),
    );
}
