//! Advice about budgets: those that are too small for anything in them, and those that are larger than the budget
//! around them.

use super::parts;
use super::revision::Revision;
use super::walk::in_order;
use crate::diag::{Code, Diagnostic, DocumentNode, limits};

/// A ceiling that applies at the current part, and the place where it is written.
type InheritedCeiling = Option<(u64, String)>;

/// Reports ceilings that nothing fits under, and ceilings that never limit anything.
pub(super) fn check(root: &DocumentNode, revision: &Revision, said: &mut Vec<Diagnostic>) {
    let mut ceilings = CeilingCheck { revision, said };
    let slots = root.get("slots").and_then(DocumentNode::as_table).map(in_order).unwrap_or_default();
    for (name, slot) in slots {
        ceilings.part(slot, &format!("slots.{name}"), &None, 0);
    }
}

struct CeilingCheck<'a> {
    revision: &'a Revision,
    said: &'a mut Vec<Diagnostic>,
}

impl CeilingCheck<'_> {
    /// The least cost of the smallest message of a part by the default estimate; `None` if it has no message.
    fn part(&mut self, node: &DocumentNode, path: &str, above: &InheritedCeiling, depth: usize) -> Option<u64> {
        if depth > limits::NESTING {
            return Some(0);
        }
        let kind = node.get("kind").and_then(DocumentNode::as_text);
        // a branch has no ceiling of its own
        let own = if kind == Some("if") { None } else { parts::budget(node).ok().flatten() };
        let here = match (own, above) {
            (Some(own), Some((most, place))) if own > *most => {
                self.useless(node, own, *most, path, place);
                above.clone()
            }
            (Some(own), _) => Some((own, path.to_owned())),
            (None, _) => above.clone(),
        };
        let least = self.least(node, kind, path, &here, depth);
        if let (Some(own), Some(least)) = (own, least)
            && least > own
        {
            self.never(node, own, least, path);
        }
        least
    }

    fn least(&mut self, node: &DocumentNode, kind: Option<&str>, path: &str, here: &InheritedCeiling, depth: usize) -> Option<u64> {
        let mut lists = |keys: &[&str]| {
            let mut least = None;
            for key in keys {
                for (n, inner) in node.get(key).and_then(DocumentNode::as_list).unwrap_or(&[]).iter().enumerate() {
                    least = smaller(least, self.part(inner, &format!("{path}.{key}.{n}"), here, depth + 1));
                }
            }
            least
        };
        match kind {
            None => lists(&["plan"]),
            Some("if") => lists(&["then", "else"]),
            Some("forEach") => {
                let least = lists(&["map"]);
                smaller(least, node.get("interleave").and_then(|between| self.text(between, "text")))
            }
            Some("message") if node.get("from").is_some() => Some(0),
            Some("message") => self.text(node, "content"),
            _ => None,
        }
    }

    /// The least cost of a text that is not left out: the cost of the text outside of its tags.
    fn text(&self, node: &DocumentNode, key: &str) -> Option<u64> {
        let text = node.get(key).and_then(DocumentNode::as_text).filter(|text| !text.is_empty())?;
        let units = parts::leaf(text, self.revision).parts().map_or(0, |(units, _)| units);
        Some((units as u64).div_ceil(4))
    }

    fn never(&mut self, node: &DocumentNode, own: u64, least: u64, path: &str) {
        let span = node.get("budget").map_or(node.span, |budget| budget.span);
        let message = format!("no message fits under the budget of `{path}`: it is {own}, and the smallest costs {least} or more");
        let remark = Diagnostic::new(Code::TemplateBudget, message).at(span);
        self.said.push(remark.help(format!("raise `maxTokens` to {least} at least, or shorten the text")));
    }

    fn useless(&mut self, node: &DocumentNode, own: u64, most: u64, path: &str, place: &str) {
        let span = node.get("budget").map_or(node.span, |budget| budget.span);
        let message = format!("the budget of `{path}`, {own}, never binds: that of `{place}` is {most}");
        self.said.push(Diagnostic::new(Code::TemplateBudget, message).at(span).help("make it smaller, or take it away"));
    }
}

fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
