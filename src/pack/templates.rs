//! Templates as files: alone, and as rows of a pack's table `template`, named by their `id`.
//!
//! A file of a pack may hold some keys only, to be laid over those of a lower layer; so the schema is held against
//! the merged row, not against each file. A template that came from elsewhere names no `kind` and is known by its shape.

use std::sync::Arc;

use indexmap::IndexMap;

use super::files::RuleFile;
use super::ruleset::Rejected;
use super::schemas::Schemas;
use super::validate::{self, Names};
use super::{read, rows};
use crate::diag::{Code, Data, Diagnostic, Field, Node, Report, Sources, Span, Table, short, suggest};
use crate::kinds::template::{self, Asked, KIND, Offer, Template};
use crate::model::Pack;
use crate::model::pack::Row;

/// The schema of templates.
const SCHEMA: &str = "template.v1.json";
/// Keys that a template has and no other rule file; two of them without a `kind` make a template.
const SHAPE: [&str; 3] = ["task", "layout", "slots"];

/// The compiled templates of a pack, by `id`.
pub type Templates = IndexMap<Arc<str>, Arc<Template>>;

/// A template that was read alone.
#[derive(Debug)]
pub struct Opened {
    /// The compiled template.
    pub template: Template,
    /// What its author should look at.
    pub warnings: Report,
    /// The text that the warnings point into.
    pub sources: Sources,
}

/// Reads and compiles one file that is known to be a template; a name that ends in `.json` says that it is JSON.
///
/// # Errors
/// All mistakes of the first phase that has any: syntax, schema (with `task`), sources, structure.
pub fn open_template(file: &RuleFile, asked: &Asked<'_>) -> Result<Opened, Rejected> {
    let (mut sources, mut report) = (Sources::default(), Report::default());
    let template = compile_file(file, asked, &mut sources, &mut report);
    report.sort();
    match template.filter(|_| !report.has_errors()) {
        Some(template) => Ok(Opened { template, warnings: report, sources }),
        None => Err(Rejected { report, sources }),
    }
}

fn compile_file(file: &RuleFile, asked: &Asked<'_>, sources: &mut Sources, report: &mut Report) -> Option<Template> {
    let (_, mut root) = read::tree(file, "", true, sources, report)?;
    if let (Some(revision), Data::Table(table)) = (asked.revision, &mut root.data)
        && !table.contains_key("revision")
    {
        let node = Node { span: root.span, data: Data::Text(Arc::from(revision.name)) };
        table.insert(Arc::from("revision"), Field { key: root.span, node });
    }
    compiled(&root, asked, None, Schemas::shipped(), report)
}

/// Schema, then compiling, then advice; `None` where there is an error.
fn compiled(root: &Node, asked: &Asked<'_>, offers: Option<&[Offer<'_>]>, schemas: &Schemas, report: &mut Report) -> Option<Template> {
    let mut found = Report::default();
    check(root, schemas, &mut found);
    asked.task.and_then(|task| template::task_differs(root, task)).into_iter().for_each(|complaint| found.push(complaint));
    let wrong = found.has_errors();
    report.extend(found);
    if wrong {
        return None;
    }
    report.extend(template::advice(root, offers));
    template::compile(root, asked).map_err(|complaints| report.extend(complaints)).ok()
}

/// Holds a whole template against the schema.
fn check(root: &Node, schemas: &Schemas, report: &mut Report) {
    validate::check(root, SCHEMA, "", Names::Paths, schemas, report);
}

/// Checks a template file that stands alone: all that can be said without the task that it is for.
pub(super) fn alone(root: &Node, schemas: &Schemas, report: &mut Report) {
    compiled(root, &Asked::default(), None, schemas, report);
}

/// Whether a file without `kind` is a template from elsewhere.
pub(super) fn is_shaped(table: &Table) -> bool {
    !table.contains_key("kind") && SHAPE.iter().filter(|key| table.contains_key(**key)).count() >= 2
}

/// Whether a tree is a template, by its `kind` or by its shape.
pub(super) fn is_one(root: &Node) -> bool {
    root.as_table().is_some_and(|table| is_shaped(table) || root.get("kind").and_then(Node::as_text) == Some(KIND))
}

/// Makes a key that is written twice a warning, as JavaScript has it: the later one counts.
pub(super) fn forgive_twice(found: Report) -> Report {
    let mut out = Report::default();
    for complaint in found.items() {
        let mut complaint = complaint.clone();
        if complaint.code == Code::SyntaxDuplicate {
            complaint.severity = crate::diag::Severity::Warning;
            complaint.help = Some("the later one counts; keep one of them".to_owned());
        }
        out.push(complaint);
    }
    out
}

/// Compiles the templates of a pack, each against the sources of its task as the pack has them.
pub(super) fn compile_all(pack: &Pack, schemas: &Schemas, report: &mut Report) -> Templates {
    let mut out = Templates::default();
    for row in pack.tables.get(KIND).into_iter().flat_map(IndexMap::values) {
        let root = whole(row);
        let (task, revision) = (root.get("task").and_then(Node::as_text), template::revision_of(&root));
        let offers = task.and_then(|task| offers(pack, task, revision.name));
        if let (None, Some(task)) = (&offers, root.get("task")) {
            unknown_task(pack, task, report);
        }
        let names: Option<Vec<&str>> = offers.as_ref().map(|all| all.iter().map(|offer| offer.name).collect());
        let asked = Asked { sources: names.as_deref(), ..Asked::default() };
        let made = compiled(&root, &asked, offers.as_deref(), schemas, report);
        out.extend(made.map(|template| (row.name.clone(), Arc::new(template))));
    }
    out
}

/// A warning: the pack has no such task, so nobody can say which sources there are.
fn unknown_task(pack: &Pack, task: &Node, report: &mut Report) {
    let Some(name) = task.as_text() else { return };
    let rows = pack.tables.get("task").into_iter().flat_map(IndexMap::values);
    let known = rows.map(|row| row.fields.get("for").and_then(|f| f.node.as_text()).unwrap_or(&row.name));
    let help = suggest::help(name, known);
    let message = format!("no row of the pack defines the task `{}`: the template's sources are not checked", short::word(name));
    let remark = Diagnostic::new(Code::TemplateDoubtful, message).at(task.span).missing(name);
    report.push(remark.help(help.unwrap_or_else(|| "add a `[[task]]` row of that name, and its `[[source]]` rows".to_owned())));
}

/// A row as the file that it would be.
fn whole(row: &Row) -> Node {
    let mut table = row.fields.clone();
    let id = Node { span: row.name_span, data: Data::Text(row.name.clone()) };
    // a row of an overlay has no title beside the name that layers know it by
    for key in ["id", "name"] {
        table.entry(Arc::from(key)).or_insert(Field { key: row.name_span, node: id.clone() });
    }
    Node { span: row.span, data: Data::Table(table) }
}

/// The sources of a task in a revision; `None` where the pack does not have that task.
fn offers<'a>(pack: &'a Pack, task: &str, revision: &str) -> Option<Vec<Offer<'a>>> {
    let sources = crate::kinds::task::offered(pack, task, revision)?;
    Some(sources.into_iter().map(|(name, row)| Offer::of(name, &row.fields)).collect())
}

/// The row of a template file of a layer; `None`, with a complaint, where it has no `id`.
pub(super) fn row(root: &Table, span: Span, complain: &mut dyn FnMut(Diagnostic)) -> Option<rows::Incoming> {
    let Some((id, id_span)) = root.get("id").and_then(|field| Some((field.node.as_text()?, field.node.span))) else {
        let complaint = Diagnostic::new(Code::LayerNoName, "a template has no `id`").at(span).label("needs `id`");
        complain(complaint.help("add `id = \"…\"`; layers find a template by it"));
        return None;
    };
    Some(rows::incoming(&Arc::from(KIND), (Arc::from(id), id_span), root, span, complain))
}
