//! Prompt templates of slots and a layout, which ask the sources of a task for their data and fill slots by priority
//! within a token budget.
//!
//! [`compile`] turns a file of any [`revision`] into a [`form::Template`]. Rendering fills the slots by priority
//! within nested budgets and then builds the layout. A template only names its sources; the caller provides the values.

pub mod form;
pub mod revision;

#[doc(hidden)]
pub mod task;

mod advice;
mod calls;
mod contradictions;
mod lengths;
mod parts;
mod read;
mod render;
mod rows;
mod shape;
mod view;
mod walk;

pub use crate::text::leaf::{Leaf, LeafSyntax};
pub use advice::{SourceOffer, advice};
pub(crate) use calls::TemplateCalls;
pub use form::Template;
pub use render::{
    Budget, ErrorKind, Inputs, Message, QuarterRuler, RenderError, RenderLimits, RenderedTemplate, Ruler, SourceProvider, UnreadSource,
    offers, render,
};
pub use revision::{MessageRole, Revision, Revisions};
pub(crate) use rows::{checked, compile_all, forgive_twice, is_one, is_shaped};
pub use view::SourceValue;

pub use rows::{CompiledTemplates, WrittenCondition, conditions, sources_of};

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, DocumentNode, Report};
use contradictions::contradictions;

/// The `kind` of rule files that are templates.
pub const KIND: &str = "template";

/// The names that every task has as sources: the loop's item and index, the items of outer loops, globals, and the
/// context.
pub const RESERVED: [&str; 5] = ["$item", "$index", "$parent", "$globals", "$ctx"];

/// What a template is checked against when it is compiled. The default checks nothing beyond the file itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemplateContract<'a> {
    /// The kind of task that it must be written for; `None`: any.
    pub task: Option<&'a str>,
    /// The sources that it may name in addition to the [`RESERVED`] ones; `None`: any.
    pub sources: Option<&'a [&'a str]>,
    /// The revision of a file that does not name one; `None`: the first.
    pub revision: Option<&'a str>,
    /// The revisions that it may be written in; `None`: those of the shipped packs.
    pub revisions: Option<&'a Revisions>,
}

/// Compiles a file of a revision that has passed its schema.
///
/// # Errors
/// All mistakes, in this order: `schema.value` if the file is written for another task; `template.source` for all unknown
/// sources together; `template.structure` for each contradiction of slots, layout and prefixes. `schema.*` for a file that has
/// not passed its schema.
pub fn compile(root: &DocumentNode, revision: &Arc<Revision>, asked: &TemplateContract<'_>) -> Result<Template, Report> {
    let mut report = Report::default();
    asked.task.and_then(|task| task_differs(root, task)).into_iter().for_each(|complaint| report.push(complaint));
    contradictions(root, revision, asked).into_iter().for_each(|complaint| report.push(complaint));
    if !report.is_empty() {
        return Err(report);
    }
    read::template(root, revision).map_err(|complaint| Report::from(*complaint))
}

/// The diagnostic about a template that is written for another task than the requested one.
#[must_use]
pub fn task_differs(root: &DocumentNode, task: &str) -> Option<Diagnostic> {
    let node = root.get("task")?;
    let written = node.as_text().filter(|written| *written != task)?;
    let complaint = Diagnostic::new(Code::SchemaValue, format!("`task` is `{written}`, but must be `{task}`")).at(node.span);
    Some(complaint.label("another task").help(format!("write `{task}`, or use the template for `{written}`")))
}
