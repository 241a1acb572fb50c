//! Rendering a compiled template: slots by priority within nested budgets, then the layout, then the requests of lanes.
//!
//! All revisions use this engine and differ in options ([`super::revision`]). Missing data leaves a gap and is not an
//! error; a render only fails if it reaches a bound, or if a group has a pattern that cannot be compiled.

mod budget;
mod each;
mod lanes;
mod layout;
pub mod offers;
mod plan;
mod reach;
mod sources;

use std::sync::Arc;

pub use budget::{Budget, QuarterRuler, Ruler};

pub use budget::{ErrorKind, RenderError, RenderLimits};
pub use sources::{SourceProvider, UnreadSource};

use super::form::{AttachmentLane, PlacementRequest, Template};
use super::revision::{MessageRole, Revision};
use crate::model::Value;
use crate::text::work::BudgetScope;
use budget::LimitMeter;
use reach::LoopLists;
use sources::RenderData;

/// The input of a render.
pub struct Inputs<'a> {
    /// The context: a table whose fields leaves print, and which `$ctx` returns.
    pub context: &'a Value,
    /// The sources of the task.
    pub sources: &'a dyn SourceProvider,
    /// Counts the tokens of texts.
    pub ruler: &'a dyn Ruler,
    /// The lanes that the task offers, before the template's own are merged over them.
    pub lanes: &'a [AttachmentLane],
    /// The requests for places in the finished layout.
    pub requests: &'a [PlacementRequest],
    /// The bounds.
    pub limits: RenderLimits,
}

/// The result of a render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedTemplate {
    /// The conversation. Neighbours never have the same role.
    pub messages: Vec<Message>,
    /// The tokens that the budget has spent, including those of earlier renders with the same budget.
    pub tokens: u64,
    /// One warning for each time that a source could not be read.
    pub warnings: Vec<UnreadSource>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The role of the message.
    pub role: MessageRole,
    /// The text; never empty.
    pub content: Arc<str>,
    /// Whether the model continues this message.
    pub prefix: bool,
}

/// Renders a template.
///
/// # Errors
/// A bound is reached, or a group of a lane has a pattern that cannot be compiled; the error names the node.
pub fn render(template: &Template, inputs: &Inputs<'_>, budget: &mut Budget) -> Result<RenderedTemplate, RenderError> {
    let _door = BudgetScope::join();
    budget.begin();
    let data = RenderData::new(inputs.context, inputs.sources);
    let mut run = RenderRun {
        inputs,
        budget,
        data,
        meter: LimitMeter::new(inputs.limits),
        lists: LoopLists::of(&template.lengths),
        revision: &template.revision,
    };
    let messages = run.template(template)?;
    run.lists.keep();
    Ok(RenderedTemplate { messages, tokens: run.budget.total(), warnings: run.data.warnings })
}

/// One render.
struct RenderRun<'a, 'b> {
    revision: &'b Revision,
    inputs: &'b Inputs<'a>,
    budget: &'b mut Budget,
    data: RenderData<'a>,
    meter: LimitMeter,
    lists: LoopLists<'b>,
}

/// The output of a plan: messages, and points between them.
#[derive(Debug)]
enum OutputPiece {
    Message(Message),
    Anchor(Arc<str>),
}

impl RenderRun<'_, '_> {
    fn template(&mut self, template: &Template) -> Result<Vec<Message>, RenderError> {
        let layout: Arc<str> = Arc::from("layout");
        let prepared = if template.revision.reserves_layout { Some(self.prepare(template)?) } else { None };
        let reserved = prepared.as_ref().map_or(0, layout::PreparedLayout::cost);
        self.budget.reserve(&layout, reserved);
        let lanes = lanes::merged_lanes(template, self.inputs.lanes)?;
        let queues = lanes::queues(&lanes, self.inputs.requests);
        self.reserve_lanes(&lanes, &queues);
        let slots = self.slots(template)?;
        let mut page = match prepared {
            Some(prepared) => self.lay_prepared(template, &prepared, slots, &layout)?,
            None => self.lay(template, slots)?,
        };
        self.budget.release(&layout, reserved);
        self.inject(&lanes, &queues, &mut page)?;
        layout::squash(page, &template.revision.joint, &mut self.meter)
    }
}
