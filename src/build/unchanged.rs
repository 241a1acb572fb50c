//! How much of a request is the same as in the previous one: what a provider's prompt cache can serve, and which rule
//! changed the rest.
//!
//! Two plans are compared block by block from the front, in the order in which the provider reads them. The trace of
//! the later plan names the rule: the macro or script whose text covers the first character that differs, else the
//! pass.
//!
//! Two payloads are compared by their texts, in the order that the pack defines: a row `[[reading]]` names the keys of a
//! dialect's payload. The order of keys in the JSON means nothing, because a provider may read the last key first.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::diag::DocumentNode;
use crate::model::plan::{PlanDifference, UnchangedPrefix};
use crate::model::{Plan, PlanBlock, Scene, Value};
use crate::pack::Ruleset;
use crate::terms::PassMemo;
use crate::terms::ledger::{self, whole_tokens};
use crate::terms::select::pass_env;
use crate::text::tokens::TokenCounter;

use super::ENTRY;
use super::error::BuildError;
use super::state::state;

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
        Some(PlanBlock { fields, tokens: b.get("tokens").and_then(Json::as_f64).map_or(0, whole_tokens), history: Vec::new() })
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

/// How much of the payload of a plan in a dialect is the same as in a previous payload, up to the first value that
/// differs. The tokens of texts are counted with the pack's account; keys and numbers are not counted.
///
/// # Errors
/// The pack names a tokenizer that does not exist.
pub fn unchanged_payload(
    rules: &Ruleset,
    plan: &Plan,
    dialect: &str,
    payload: &Json,
    previous: &Json,
) -> Result<UnchangedPrefix, BuildError> {
    let counter = counter(rules, plan)?;
    let (now, before) = (read(rules, dialect, payload), read(rules, dialect, previous));
    let cost = |leaf: &(String, &Json)| leaf.1.as_str().map_or(0, |text| count(&counter, text));
    let same = now.iter().zip(&before).take_while(|(a, b)| a == b).count();
    let mut tokens: u64 = now.iter().take(same).map(cost).sum();
    let mut differs = None;
    if let Some((path, value)) = now.get(same) {
        let (text, old) = (shown(value), before.get(same).filter(|(p, _)| p == path).map(|(_, v)| shown(v)).unwrap_or_default());
        let at = common(&text, &old);
        if value.is_string() {
            tokens += count(&counter, text.get(..at).unwrap_or(""));
        }
        let what = if old.is_empty() { "new" } else { "changed" };
        differs =
            Some(PlanDifference { index: same, id: path.clone(), what, at: Some(at), is: text, was: old, ..PlanDifference::default() });
    }
    Ok(UnchangedPrefix { tokens, total: now.iter().map(cost).sum(), blocks: same, differs })
}

/// The values of a payload in the order in which the provider reads them: those under the keys of the dialect's row, or
/// all if it has no row.
fn read<'a>(rules: &Ruleset, dialect: &str, payload: &'a Json) -> Vec<(String, &'a Json)> {
    let row = rules.pack().tables.get("reading").and_then(|rows| rows.get(dialect));
    let Some(keys) = row.and_then(|row| row.fields.get("keys")?.node.as_list()) else { return leaves("", payload) };
    let keys = keys.iter().filter_map(DocumentNode::as_text);
    keys.filter_map(|key| Some(leaves(key, key.split('.').try_fold(payload, |at, step| at.get(step))?))).flatten().collect()
}

/// All values of a JSON document that are neither objects nor arrays, in order, with their paths.
fn leaves<'a>(path: &str, json: &'a Json) -> Vec<(String, &'a Json)> {
    let mut out = Vec::new();
    let mut open = vec![(path.to_owned(), json)];
    while let Some((path, value)) = open.pop() {
        let dot = if path.is_empty() { "" } else { "." };
        match value {
            Json::Object(map) => open.extend(map.iter().rev().map(|(key, v)| (format!("{path}{dot}{key}"), v))),
            Json::Array(list) => open.extend(list.iter().enumerate().rev().map(|(n, v)| (format!("{path}{dot}{n}"), v))),
            _ => out.push((path, value)),
        }
    }
    out
}

fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The counter for the texts of a plan: the estimator of the account that it was trimmed to, or of the pack's first
/// account.
fn counter(rules: &Ruleset, plan: &Plan) -> Result<Arc<TokenCounter>, BuildError> {
    let st = state(rules, &Scene { data: plan.scene.clone(), ..plan.given.clone() });
    *st.set.borrow_mut() = plan.set.clone();
    let named = plan.trim_report.as_ref().map(|report| report.account.as_str());
    let account = st.rules.accounts.iter().position(|a| Some(a.name.as_ref()) == named).unwrap_or(0);
    let memo = PassMemo::default();
    ledger::counter_of(&pass_env(&st, &memo), account).map_err(BuildError::fault)
}

/// The number of tokens of a text.
fn count(counter: &TokenCounter, text: &str) -> u64 {
    counter.count(text) as u64
}

/// The length of the common beginning of two texts, in bytes, on a character boundary.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}
