//! Rendering a compiled template: slots by priority under nested budgets, then the layout, then what lanes put into it.
//!
//! One engine for both revisions; they differ in manner only ([`super::revision`]). What is missing leaves a gap and
//! never fails; only a bound that is reached, or a pattern of a group that is broken, ends a render.

mod budget;
mod condition;
mod each;
mod lanes;
mod layout;
mod merge;
mod meter;
pub mod offers;
mod order;
mod plan;
mod reach;
mod sources;
mod squash;

use std::sync::Arc;

pub use budget::{Budget, QuarterRuler, Ruler};
pub use meter::{ErrorKind, Limits, RenderError};
pub use sources::{Sources, Unread};

use super::form::{Lane, Request, Role, Template};
use crate::model::Value;
use meter::Meter;
use reach::Lists;
use sources::Data;

/// What a template is rendered with.
pub struct Inputs<'a> {
    /// What leaves print, and `$ctx` is; a table.
    pub context: &'a Value,
    /// Answers the sources of the task.
    pub sources: &'a dyn Sources,
    /// Counts texts.
    pub ruler: &'a dyn Ruler,
    /// The lanes that the task offers, as they stand before the template lays its own over them.
    pub lanes: &'a [Lane],
    /// What asks for a place in the finished layout.
    pub requests: &'a [Request],
    /// The bounds.
    pub limits: Limits,
}

/// What a render gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The conversation. Neighbours never have the same role.
    pub messages: Vec<Message>,
    /// What the budget has spent so far, in tokens; of earlier renders too where it was used for them.
    pub tokens: u64,
    /// One for each time that a source could not be read.
    pub warnings: Vec<Unread>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text; never empty.
    pub content: Arc<str>,
    /// The model is to go on from this message.
    pub prefix: bool,
}

/// Renders a template.
///
/// # Errors
/// A bound that was reached, with the node; or a lane whose group has a broken pattern.
pub fn render(template: &Template, inputs: &Inputs<'_>, budget: &mut Budget) -> Result<Rendered, RenderError> {
    budget.begin();
    let data = Data::new(inputs.context, inputs.sources);
    let mut run = Run { inputs, budget, data, meter: Meter::new(inputs.limits), lists: Lists::default() };
    let messages = run.template(template)?;
    Ok(Rendered { messages, tokens: run.budget.total(), warnings: run.data.warnings })
}

/// One render.
struct Run<'a, 'b> {
    inputs: &'b Inputs<'a>,
    budget: &'b mut Budget,
    data: Data<'a>,
    meter: Meter,
    lists: Lists,
}

/// What a plan gives: messages, and points between them.
#[derive(Debug)]
enum Piece {
    Message(Message),
    Anchor(Arc<str>),
}

impl Run<'_, '_> {
    fn template(&mut self, template: &Template) -> Result<Vec<Message>, RenderError> {
        let layout: Arc<str> = Arc::from("layout");
        let prepared = if template.revision.reserves_layout { Some(self.prepare(template)?) } else { None };
        let reserved = prepared.as_ref().map_or(0, layout::Prepared::cost);
        self.budget.reserve(&layout, reserved);
        let lanes = merge::lanes(template, self.inputs.lanes)?;
        let queues = lanes::queues(&lanes, self.inputs.requests);
        self.reserve_lanes(&lanes, &queues);
        let slots = self.slots(template)?;
        let mut page = match prepared {
            Some(prepared) => self.lay_prepared(template, &prepared, slots, &layout)?,
            None => self.lay(template, slots)?,
        };
        self.budget.release(&layout, reserved);
        self.inject(&lanes, &queues, &mut page)?;
        squash::squash(page, &mut self.meter)
    }
}
