//! Templates as rows of a pack, and how a file is recognised as a template.
//!
//! A template that was written elsewhere has no `kind` and is recognised by its keys. As a row of table `template` it
//! is named by its `id` and read like a file.

use std::sync::Arc;

use indexmap::IndexMap;

use super::revision::Revisions;
use super::walk::{PartKind, walk};
use super::{KIND, RESERVED, SourceOffer, Template, TemplateContract, shape, task};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Report, TableField, short};
use crate::model::Pack;
use crate::model::pack::PackRow;

/// Keys that no other rule file has; a file with two of them and without a `kind` is a template.
const SHAPE: [&str; 3] = ["task", "layout", "slots"];

/// The compiled templates of a pack, by `id`.
pub type CompiledTemplates = IndexMap<Arc<str>, Arc<Template>>;

/// Whether this is a template that was written elsewhere, without a `kind`.
pub(crate) fn is_shaped(table: &FieldMap) -> bool {
    !table.contains_key("kind") && SHAPE.iter().filter(|key| table.contains_key(**key)).count() >= 2
}

/// Whether a tree is a template, by its `kind` or by its keys.
pub(crate) fn is_one(root: &DocumentNode) -> bool {
    root.as_table().is_some_and(|table| is_shaped(table) || root.get("kind").and_then(DocumentNode::as_text) == Some(KIND))
}

/// Turns the error about a key that is written twice into a warning, because the later one counts as in JavaScript.
pub(crate) fn forgive_twice(found: Report) -> Report {
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

/// A check of a whole template against its schema, which the caller provides.
pub(crate) type SchemaCheck<'a> = &'a dyn Fn(&DocumentNode, &mut Report);

/// Checks the schema, compiles the template and gives advice; `None` if there is an error.
pub(crate) fn checked(
    root: &DocumentNode,
    asked: &TemplateContract<'_>,
    revisions: &Revisions,
    offers: Option<&[SourceOffer<'_>]>,
    schema: SchemaCheck<'_>,
    report: &mut Report,
) -> Option<Template> {
    let revision = match revisions.of_file(root, asked.revision) {
        Ok(revision) => revision,
        Err(complaint) => {
            report.push(*complaint);
            return None;
        }
    };
    let root = &shape::respelled(root, revision);
    let mut found = Report::default();
    schema(&shape::known(root, revision), &mut found);
    shape::check(root, revision, &mut found);
    asked.task.and_then(|task| super::task_differs(root, task)).into_iter().for_each(|complaint| found.push(complaint));
    let wrong = found.has_errors();
    report.extend(found);
    report.extend(super::advice(root, revision, revisions, offers));
    if wrong {
        // the rest is told too, so that one run tells all
        super::contradictions(root, revision, asked).into_iter().for_each(|complaint| report.push(complaint));
        return None;
    }
    super::compile(root, revision, asked).map_err(|complaints| report.extend(complaints)).ok()
}

/// Compiles the templates of a pack, each against the sources that the pack offers to its task.
pub(crate) fn compile_all(pack: &Pack, revisions: &Revisions, schema: SchemaCheck<'_>, report: &mut Report) -> CompiledTemplates {
    let mut out = CompiledTemplates::default();
    for row in pack.rows(KIND) {
        let root = whole(row);
        let task = root.get("task").and_then(DocumentNode::as_text);
        let revision = revisions.of_file(&root, None).map(|revision| &*revision.name);
        let offers = task.zip(revision.as_ref().ok()).and_then(|(task, revision)| offers(pack, task, revision));
        // an unknown revision is reported by the check of the file
        if let (None, Some(task), Ok(revision)) = (&offers, root.get("task"), revision) {
            unknown_task(pack, task, revision, report);
        }
        let names: Option<Vec<&str>> = offers.as_ref().map(|all| all.iter().map(|offer| offer.name).collect());
        let asked = TemplateContract { sources: names.as_deref(), ..TemplateContract::default() };
        let made = checked(&root, &asked, revisions, offers.as_deref(), schema, report);
        out.extend(made.map(|template| (row.name.clone(), Arc::new(template))));
    }
    out
}

/// The warning that the pack has no such task, so the sources of the template cannot be checked.
fn unknown_task(pack: &Pack, task: &DocumentNode, revision: &str, report: &mut Report) {
    let Some(name) = task.as_text() else { return };
    let rows = pack.rows("task");
    let known: Vec<&str> = rows.map(|row| row.text("for").unwrap_or(&row.name)).collect();
    let of = if known.contains(&name) { format!(" for templates of revision `{revision}`") } else { String::new() };
    let help = report.words.help(name, known).filter(|_| of.is_empty());
    let message = format!("no row of the pack defines the task `{}`{of}: the template's sources are not checked", short::word(name));
    let remark = Diagnostic::new(Code::TemplateDoubtful, message).at(task.span).missing_row(&["task"], name);
    report.push(remark.help(help.unwrap_or_else(|| "add a `[[task]]` row of that name, and its `[[source]]` rows".into())));
}

/// A row in the form of a file.
pub(super) fn whole(row: &PackRow) -> DocumentNode {
    let mut table = row.fields.clone();
    let id = DocumentNode { span: row.name_span, data: NodeValue::Text(row.name.clone()) };
    // a row of an overlay has no title; layers know it by its name
    for key in ["id", "name"] {
        table.entry(Arc::from(key)).or_insert(TableField { key: row.name_span, node: id.clone() });
    }
    DocumentNode { span: row.span, data: NodeValue::Table(table) }
}

/// The names of the sources that a task offers to a template that names no revision, each with whether it is a list.
pub fn sources_of(pack: &Pack, revisions: &Revisions, task: &str) -> Vec<(String, bool)> {
    let revision = revisions.all().next();
    let found = revision.and_then(|revision| offers(pack, task, &revision.name)).unwrap_or_default();
    found.into_iter().map(|offer| (offer.name.to_owned(), offer.is_list == Some(true))).collect()
}

/// The sources of a task in a revision; `None` if the pack does not have that task.
pub(super) fn offers<'a>(pack: &'a Pack, task: &str, revision: &str) -> Option<Vec<SourceOffer<'a>>> {
    let sources = task::offered(pack, task, revision)?;
    Some(sources.into_iter().map(|(name, row)| SourceOffer::of(name, &row.fields)).collect())
}

/// A condition of a pack's template.
#[derive(Debug)]
pub struct WrittenCondition {
    /// The condition.
    pub node: DocumentNode,
    /// The names that it may read; `None` if they are not known.
    pub names: Option<Arc<[Arc<str>]>>,
    /// The row that it stands in, for messages.
    pub rule: String,
}

/// The conditions of the rule language in all templates of a pack.
#[must_use]
pub fn conditions(pack: &Pack, revisions: &Revisions) -> Vec<WrittenCondition> {
    let mut all = Vec::new();
    for row in pack.rows(KIND) {
        let root = whole(row);
        let Ok(revision) = revisions.of_file(&root, None) else { continue };
        let root = shape::known(&shape::respelled(&root, revision), revision);
        let offers = root.get("task").and_then(DocumentNode::as_text).and_then(|task| offers(pack, task, &revision.name));
        let reserved = RESERVED.iter().map(|name| name.trim_start_matches('$'));
        let names = offers.map(|offers| reserved.chain(offers.iter().map(|offer| offer.name)).map(Arc::from).collect::<Arc<[_]>>());
        walk(&root, revision, &mut |sort, node, _| {
            if matches!(sort, PartKind::Rule) {
                all.push(WrittenCondition { node: node.clone(), names: names.clone(), rule: format!("{KIND} {}", row.name) });
            }
        });
    }
    all
}
