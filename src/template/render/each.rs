//! Loops: a sorted and limited list, whose items each run the loop's nodes under one common ceiling.
//!
//! An item that cannot fit is skipped by its length, if that is known without printing the item ([`super::reach`]).

use std::sync::Arc;

use super::super::form::SourceLoop;
use super::reach::{ListId, LoopDemand};
use super::{Message, OutputPiece, RenderError, RenderRun, order};
use crate::model::Value;

/// Where the output of the loop goes.
enum LoopOutput<'o> {
    /// After the existing output.
    Append(&'o mut Vec<OutputPiece>),
    /// Item by item in the order in which they ran; later ones are placed first. Separators follow at the end.
    Prepend { runs: Vec<Vec<OutputPiece>>, behind: Vec<OutputPiece>, out: &'o mut Vec<OutputPiece> },
}

impl RenderRun<'_, '_> {
    /// Runs a loop.
    pub(super) fn each(&mut self, each: &SourceLoop, out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        if each.budget.is_some() && each.stops && !self.budget.has_any() {
            return Ok(());
        }
        let Some(Value::List(items)) = self.data.resolve(&each.source) else { return Ok(()) };
        let items = order::ordered(&mut self.lists, items, each.order, &mut self.meter)?;
        let count = each.limit.and_then(|n| usize::try_from(n).ok()).map_or(items.len(), |n| n.min(items.len()));
        let fill = if each.prepend { LoopOutput::Prepend { runs: Vec::new(), behind: Vec::new(), out } } else { LoopOutput::Append(out) };
        let depth = self.budget.enter(each.budget);
        let ran = self.items(each, &items, count, fill);
        self.budget.leave(depth);
        ran
    }

    fn items(&mut self, each: &SourceLoop, items: &Arc<Vec<Value>>, count: usize, mut fill: LoopOutput<'_>) -> Result<(), RenderError> {
        let mut reach = LoopDemand::of(each, count, self.budget.room(), self.inputs.ruler);
        self.meter.step(reach.as_ref().map_or(0, |reach| reach.work))?;
        let list = reach.is_some().then(|| self.lists.enter(items));
        let mut at = 0;
        while at < count {
            if each.stops && !self.budget.has_any() {
                break;
            }
            match self.next(reach.as_mut(), list, at, count)? {
                Some(next) => at = next,
                None => break,
            }
            let Some(item) = items.get(at) else { break };
            self.data.push(item.clone(), at);
            let ran = self.item(each, &mut fill, at + 1 < count);
            self.data.pop();
            ran?;
            at += 1;
        }
        if let LoopOutput::Prepend { runs, behind, out } = fill {
            out.extend(runs.into_iter().rev().flatten().chain(behind));
        }
        Ok(())
    }

    /// The next item from index `at` that may give output.
    fn next(
        &mut self,
        reach: Option<&mut LoopDemand>,
        list: Option<ListId>,
        at: usize,
        count: usize,
    ) -> Result<Option<usize>, RenderError> {
        let (Some(reach), Some(list), Some(room)) = (reach, list, self.budget.room()) else { return Ok(Some(at)) };
        if !self.budget.has_any() {
            return Ok(None); // not even an empty text gets through
        }
        let (found, looked) = self.lists.next(list, reach, at..count, |units| self.inputs.ruler.least(units) <= room);
        self.meter.step(looked)?;
        Ok(found)
    }

    fn item(&mut self, each: &SourceLoop, fill: &mut LoopOutput<'_>, more: bool) -> Result<(), RenderError> {
        match fill {
            LoopOutput::Append(out) => self.map(each, out)?,
            LoopOutput::Prepend { runs, .. } => {
                let mut run = Vec::new();
                self.map(each, &mut run)?;
                if !run.is_empty() {
                    runs.push(run);
                }
            }
        }
        if more && let Some(separator) = self.separator(each)? {
            match fill {
                LoopOutput::Append(out) => out.push(separator),
                LoopOutput::Prepend { behind, .. } => behind.push(separator),
            }
        }
        Ok(())
    }

    /// Runs the nodes of one item. Those after the one that spent the last token do not run.
    fn map(&mut self, each: &SourceLoop, out: &mut Vec<OutputPiece>) -> Result<(), RenderError> {
        self.meter.sink()?;
        for (n, node) in each.map.iter().enumerate() {
            self.node(node, out).map_err(|e| e.under(n).under("map"))?;
            if each.stops && !self.budget.has_any() {
                break;
            }
        }
        self.meter.rise();
        self.meter.step(1)
    }

    fn separator(&mut self, each: &SourceLoop) -> Result<Option<OutputPiece>, RenderError> {
        let Some(leaf) = &each.separator else { return Ok(None) };
        let text = self.print(leaf).map_err(|e| e.under("interleave"))?.text;
        if text.is_empty() || !self.budget.take(self.inputs.ruler.cost(&text)) {
            return Ok(None);
        }
        self.meter.keep(&text)?;
        Ok(Some(OutputPiece::Message(Message { role: self.revision.separator_role.clone(), content: text, prefix: false })))
    }
}
