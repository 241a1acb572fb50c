//! Slots and the plans that fill them: messages, branches, points. Loops are in [`super::each`].

use std::sync::Arc;

use super::{ErrorKind, Message, OutputPiece, RenderError, RenderRun};
use crate::diag::limits;
use crate::model::{Map, Value};
use crate::template::form::{
    ConditionInput, ConditionTest, MessageBlock, NamedAnchor, RuleCondition, Slot, SlotCondition, SlotNode, Template, TextSource,
    TypedCondition,
};
use crate::text::leaf::{Leaf, PrintedLeaf, TooLong, same, value_text};

impl RenderRun<'_, '_> {
    /// The content of each slot, by its index. All slots run and are paid for, also those that the layout never places.
    pub(super) fn slots(&mut self, template: &Template) -> Result<Vec<Vec<OutputPiece>>, RenderError> {
        let mut filled: Vec<Vec<OutputPiece>> = template.slots.iter().map(|_| Vec::new()).collect();
        for &place in &template.order {
            let (Some(slot), Some(out)) = (template.slots.get(place), filled.get_mut(place)) else { continue };
            self.slot(slot, out).map_err(|e| e.under(format_args!("slots.{}", slot.name)))?;
        }
        Ok(filled)
    }

    fn slot(&mut self, slot: &Slot, out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        if let Some(when) = &slot.when
            && !self.holds(when).map_err(|e| e.under("when"))?
        {
            return Ok(());
        }
        let depth = self.budget.enter(slot.budget);
        let ran = self.nodes(&slot.plan, out);
        self.budget.leave(depth);
        ran.map_err(|e| e.under("plan"))
    }

    /// Runs nodes in order.
    pub(super) fn nodes(&mut self, nodes: &[SlotNode], out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        self.meter.sink()?;
        for (n, node) in nodes.iter().enumerate() {
            self.node(node, out).map_err(|e| e.under(n))?;
        }
        self.meter.rise();
        Ok(())
    }

    /// Runs one node.
    pub(super) fn node(&mut self, node: &SlotNode, out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        self.meter.step(1)?;
        match node {
            SlotNode::Message(block, ceiling) => self.message(block, *ceiling, out),
            SlotNode::Each(each) => self.each(each, out),
            SlotNode::If { when, then, otherwise } => {
                let (branch, name) = if self.holds(when)? { (then, "then") } else { (otherwise, "else") };
                self.nodes(branch, out).map_err(|e| e.under(name))
            }
            SlotNode::Anchor(anchor) => {
                if let Some(key) = self.anchor(anchor)? {
                    self.meter.keep(&key)?;
                    out.push(OutputPiece::Anchor(key));
                }
                Ok(())
            }
        }
    }

    fn message(&mut self, block: &MessageBlock, ceiling: Option<u64>, out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        if !self.budget.has_any() || !self.all(&block.when)? {
            return Ok(());
        }
        let Some(text) = self.text(block)? else { return Ok(()) };
        let depth = self.budget.enter(ceiling);
        let taken = self.budget.take(self.inputs.ruler.cost(&text));
        self.budget.leave(depth);
        if taken && !text.is_empty() {
            self.meter.keep(&text)?;
            out.push(OutputPiece::Message(message(block, text)));
        }
        Ok(())
    }

    /// Whether a condition holds.
    pub(super) fn holds(&mut self, when: &SlotCondition) -> Result<bool, RenderError> {
        let when = match when {
            SlotCondition::Typed(when) => when,
            SlotCondition::Rule(when) => return self.holds_rule(when),
        };
        let found = match when.test {
            // the first element says as much as all of them
            ConditionTest::Exists | ConditionTest::NonEmpty => self.data.see(&when.on).map(|seen| seen.part(0..1).to_value()),
            _ => self.data.resolve(&when.on),
        };
        let mut left = limits::COMPARISONS;
        let holds = holds(when, found.as_ref(), &mut left).map_err(|why| self.meter.refused(why))?;
        self.meter.step(((limits::COMPARISONS - left) / 16) as u64)?;
        Ok(holds)
    }

    /// Whether a condition of the rule language holds for the values of its sources.
    fn holds_rule(&mut self, when: &RuleCondition) -> Result<bool, RenderError> {
        self.meter.step(1 + when.reads.len() as u64)?;
        let mut values = Map::default();
        for ConditionInput { name, on, or } in &when.reads {
            let value = self.data.resolve(on).or_else(|| self.data.resolve(or.as_ref()?));
            values.extend(value.map(|value| (name.clone(), value)));
        }
        let held = self.inputs.sources.holds(when.place, &Value::map(values));
        held.map_err(|why| RenderError::new(ErrorKind::Render, why))
    }

    /// Whether all conditions hold.
    pub(super) fn all(&mut self, when: &[SlotCondition]) -> Result<bool, RenderError> {
        for when in when {
            if !self.holds(when)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The text of a block, which may be empty; `None` if it has none, or if it is left out because its tags printed
    /// nothing.
    pub(super) fn text(&mut self, block: &MessageBlock) -> Result<Option<Arc<str>>, RenderError> {
        match &block.text {
            TextSource::None => Ok(None),
            TextSource::Leaf(leaf) => {
                let printed = self.print(leaf)?;
                let skipped = block.skip_if_empty && leaf.has_tags() && !printed.produced;
                Ok((!skipped).then_some(printed.text))
            }
            TextSource::From(from) => {
                let Some(value) = self.data.resolve(from).filter(|v| !v.is_null()) else { return Ok(None) };
                let text = match value {
                    Value::Text(text) => text,
                    other => value_text(&other, self.meter.most()).map_err(|why| self.meter.refused(why))?.into(),
                };
                self.meter.made(&text)?;
                Ok(Some(text))
            }
        }
    }

    /// Prints a leaf in the current scope.
    pub(super) fn print(&mut self, leaf: &Leaf) -> Result<PrintedLeaf, RenderError> {
        let printed = self.data.print(leaf, self.meter.most()).map_err(|why| self.meter.refused(why))?;
        self.meter.printed(leaf, &printed)?;
        Ok(printed)
    }

    /// The key of an anchor; `None` if it is empty or its conditions do not hold.
    pub(super) fn anchor(&mut self, anchor: &NamedAnchor) -> Result<Option<Arc<str>>, RenderError> {
        if !self.all(&anchor.when)? {
            return Ok(None);
        }
        Ok(Some(self.print(&anchor.key)?.text).filter(|key| !key.is_empty()))
    }
}

/// The message of a block with its text.
pub(super) fn message(block: &MessageBlock, content: Arc<str>) -> Message {
    Message { role: block.role.clone(), content, prefix: block.prefix }
}

/// Whether a condition holds for the value of its reference; `None` is absent, which is not the same as `null`.
/// Comparing counts as steps of `left`.
pub(super) fn holds(condition: &TypedCondition, found: Option<&Value>, left: &mut usize) -> Result<bool, TooLong> {
    let with = condition.value.as_ref();
    Ok(match condition.test {
        ConditionTest::Exists => found.is_some_and(|v| !v.is_null()),
        ConditionTest::NonEmpty => matches!(found, Some(v @ (Value::Text(_) | Value::List(_))) if !v.is_empty()),
        ConditionTest::Eq => same(found, with, left)?,
        ConditionTest::Neq => !same(found, with, left)?,
        ConditionTest::Gt => numbers(found, with).is_some_and(|(a, b)| a > b),
        ConditionTest::Lt => numbers(found, with).is_some_and(|(a, b)| a < b),
    })
}

fn numbers(a: Option<&Value>, b: Option<&Value>) -> Option<(f64, f64)> {
    Some((a?.as_f64()?, b?.as_f64()?))
}
