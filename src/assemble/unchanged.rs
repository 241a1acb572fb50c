//! How much of a request is the same as in the previous one: what a provider's prompt cache can serve, and which rule
//! changed the rest.
//!
//! Two plans are compared block by block from the front, in the order in which the provider reads them. The trace of
//! the later plan names the rule: the macro or script whose text covers the first character that differs, else the
//! pass.

use serde_json::Value as Json;

use crate::engine::BuildError;
use crate::engine::counting::{common, count, counter, whole};
use crate::model::plan::{PlanDifference, UnchangedPrefix};
use crate::model::{Plan, PlanBlock, Value};
use crate::pack::Ruleset;

use super::ENTRY;

/// How much of `plan` is the same as in the blocks of an earlier plan. The fields that the pack declares as `sent` are
/// compared, and tokens are counted with the account that the plan was trimmed to. The rule behind the first difference
/// is only known if the plan has a trace.
///
/// # Errors
/// The pack names a tokenizer that does not exist.
pub fn unchanged(rules: &Ruleset, plan: &Plan, previous: &[PlanBlock]) -> Result<UnchangedPrefix, BuildError> {
    let counter = counter(rules, plan)?;
    let sent = SentFields::of(rules);
    let now: Vec<&PlanBlock> = plan.blocks.iter().filter(|b| b.enabled()).collect();
    let before: Vec<&PlanBlock> = previous.iter().filter(|b| b.enabled()).collect();
    let blocks = now.iter().zip(&before).take_while(|(a, b)| sent.same(a, b)).count();
    let cost = |block: &PlanBlock| if block.tokens > 0 { block.tokens } else { count(&counter, &block.text("text")) };
    let mut tokens: u64 = now.iter().take(blocks).map(|b| cost(b)).fold(0, u64::saturating_add);
    if let (Some(a), Some(b)) = (now.get(blocks), before.get(blocks))
        && a.text("role") == b.text("role")
    {
        let (text, old) = (a.text("text"), b.text("text"));
        let head = text.get(..common(&text, &old)).unwrap_or("");
        tokens = tokens.saturating_add(count(&counter, head).min(cost(a)));
    }
    let total = now.iter().map(|b| cost(b)).fold(0, u64::saturating_add);
    Ok(UnchangedPrefix { tokens, total, blocks, differs: ComparedBlocks { plan, sent, now, before }.difference(blocks) })
}

/// The blocks of a plan that was serialised as JSON; `None` if the JSON is not a plan. Counts of tokens are rounded up.
#[must_use]
pub fn blocks_of(plan: &Json) -> Option<Vec<PlanBlock>> {
    let blocks = plan.get("blocks")?.as_array()?;
    let block = |b: &Json| {
        let fields = Value::from(b.get("fields")?);
        fields.as_map()?;
        Some(PlanBlock { fields, tokens: b.get("tokens").and_then(Json::as_f64).map_or(0, whole), history: Vec::new() })
    };
    blocks.iter().map(block).collect()
}

/// The fields of a block that a provider reads: those that the pack declares as `sent`.
struct SentFields<'a>(Vec<&'a str>);

impl<'a> SentFields<'a> {
    fn of(rules: &'a Ruleset) -> Self {
        let programs = rules.programs();
        let list = programs.find(ENTRY).and_then(|p| programs.rules.lists.get(programs.list.get(p)?.list));
        let types = list.map(|l| l.rows.as_slice()).unwrap_or_default();
        let rows = rules.pack().tables.get("field").into_iter().flat_map(|rows| rows.iter());
        let fields = rows.filter_map(|(name, row)| {
            let (row_type, field) = name.split_once('/')?;
            let sent = row.fields.get("sent").and_then(|f| f.node.as_bool()).unwrap_or(false);
            (sent && types.iter().any(|t| t.as_ref() == row_type)).then_some(field)
        });
        Self(fields.collect())
    }

    /// Whether a provider reads both blocks as the same.
    fn same(&self, a: &PlanBlock, b: &PlanBlock) -> bool {
        self.0.iter().all(|field| {
            let (a, b) = (a.fields.at(field), b.fields.at(field));
            a == b || a.is_none_or(Value::is_empty) && b.is_none_or(Value::is_empty)
        })
    }

    /// Whether both are versions of the same block, changed or not.
    fn akin(&self, a: &PlanBlock, b: &PlanBlock) -> bool {
        let (one, other) = (a.text("id"), b.text("id"));
        if one.is_empty() && other.is_empty() { self.same(a, b) } else { one == other && a.text("slot") == b.text("slot") }
    }
}

/// The blocks of two plans that are sent.
struct ComparedBlocks<'a> {
    plan: &'a Plan,
    sent: SentFields<'a>,
    now: Vec<&'a PlanBlock>,
    before: Vec<&'a PlanBlock>,
}

impl ComparedBlocks<'_> {
    /// The first difference, and which rule caused it.
    fn difference(&self, index: usize) -> Option<PlanDifference> {
        let Self { plan, sent, now, before } = self;
        let (a, b) = (now.get(index).copied(), before.get(index).copied());
        let later = |block: &PlanBlock| now.iter().skip(index).find(|n| sent.akin(n, block)).copied();
        let stood = |block: &PlanBlock| before.iter().skip(index).any(|p| sent.akin(p, block));
        let base = |block: &PlanBlock| PlanDifference { index, id: name(block), ..PlanDifference::default() };
        Some(match (a, b) {
            (None, None) => return None,
            (Some(a), Some(b)) if sent.akin(a, b) => changed(plan, a, b, base(a)),
            // the earlier block is still there, further back, and was not only moved by a new one
            (Some(a), Some(b)) if stood(a) && later(b).is_some() => {
                let moved = if before.get(index + 1).is_some_and(|next| sent.akin(a, next)) { later(b).unwrap_or(a) } else { a };
                PlanDifference { what: "moved", pass: placed(moved), is: moved.text("text"), ..base(moved) }
            }
            (Some(a), _) if !stood(a) => new(plan, a, base(a)),
            (_, Some(b)) => PlanDifference { what: "gone", pass: removed(plan, b), was: b.text("text"), ..base(b) },
            (Some(a), None) => new(plan, a, base(a)),
        })
    }
}

fn new(plan: &Plan, block: &PlanBlock, base: PlanDifference) -> PlanDifference {
    let is = block.text("text");
    PlanDifference { what: "new", pass: placed(block), from: source(plan, &is), is, ..base }
}

/// A block with a changed text: names the macro or the script whose text covers the first difference, else the last
/// pass that changed the text.
fn changed(plan: &Plan, a: &PlanBlock, b: &PlanBlock, base: PlanDifference) -> PlanDifference {
    let (is, was) = (a.text("text"), b.text("text"));
    let at = common(&is, &was);
    let from = source(plan, &is);
    // a text that equals a value of the build was not written by the passes that shaped it since
    let pass = if from.is_some() { a.history.first().map(|e| e.pass.to_string()) } else { wrote(a) };
    let at_end = at == is.len() && at == was.len();
    let mut out = PlanDifference { what: "changed", at: (!at_end).then_some(at), pass, from, ..base };
    if let Some(trace) = &plan.trace {
        let texts = trace.macros.iter().filter_map(|m| Some((m, m.result.as_deref()?)));
        let by = texts.filter(|(_, text)| covers(&is, text, at)).min_by_key(|(_, text)| text.len());
        if let Some((found, _)) = by {
            out.by_macro = Some(found.name.clone());
            out.pass = Some(found.pass.clone());
        } else if let Some(found) = trace.rewrites.iter().rev().find(|r| covers(&is, &r.after, at) && !covers(&was, &r.after, at)) {
            out.by_script = Some(found.script.clone());
            out.pass = Some(found.pass.clone());
        }
    }
    PlanDifference { is, was, ..out }
}

/// Whether `piece` occurs in `text` at a place that covers byte `at`.
fn covers(text: &str, piece: &str, at: usize) -> bool {
    if piece.is_empty() {
        return false;
    }
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(piece)) {
        let start = from + found;
        if start > at {
            return false;
        }
        if at < start + piece.len() {
            return true;
        }
        from = start + text.get(start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
    false
}

/// The path of the value of the build that the text is equal to, such as `$lore.before`.
fn source(plan: &Plan, text: &str) -> Option<String> {
    let mut open = vec![(String::from("$"), &plan.set)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Text(t) if !t.is_empty() && t.as_ref() == text => return Some(path),
            Value::Map(map) if path.len() < 200 => {
                let dot = if path == "$" { "" } else { "." };
                open.extend(map.iter().map(|(key, value)| (format!("{path}{dot}{key}"), value)));
            }
            _ => {}
        }
    }
    None
}

fn placed(block: &PlanBlock) -> Option<String> {
    event(block, &["made", "placed", "split"])
}

fn wrote(block: &PlanBlock) -> Option<String> {
    event(block, &["shaped", "merged", "made", "split"])
}

fn event(block: &PlanBlock, did: &[&str]) -> Option<String> {
    block.history.iter().rfind(|e| did.contains(&e.did)).map(|e| e.pass.to_string())
}

/// The pass that trimmed a block. An unread stretch stands for every message that has no record of its own.
fn removed(plan: &Plan, block: &PlanBlock) -> Option<String> {
    let (id, group) = (block.text("id"), block.text("group"));
    let records = plan.evicted();
    let own = records.iter().find(|r| !id.is_empty() && r.id == id && r.group == group);
    own.or_else(|| records.iter().find(|r| r.unread.is_some() && r.group == group)).map(|r| r.pass.clone())
}

fn name(block: &PlanBlock) -> String {
    [block.text("id"), block.text("slot"), block.text("role")].into_iter().find(|t| !t.is_empty()).unwrap_or_default()
}
