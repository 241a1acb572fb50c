//! What differs between two prompts: block by block, with the rules that are responsible, and then the payload and the
//! warnings.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value as Json, json};

use tapster::text_utils::escape_pointer_token;

use crate::build::{BuildError, dialect_of, dialects};
use crate::diag::Diagnostic;
use crate::diff::DifferenceKind;
use crate::diff::rules::{self, DiffStep, RuleDiff, change_places, diff_steps};
use crate::explain::condition;
use crate::explain::why::slot_item;
use crate::layout::place_of;
use crate::model::options::TABLE;
use crate::model::plan::TrackedItem;
use crate::model::{Plan, PlanBlock, Scene};
use crate::pack::Ruleset;

/// The most differences of a payload that are collected.
const MOST_OF_PAYLOAD: usize = 200;
/// Events of a block that lead to a pass, and rules that are named for a block.
const MOST_RULES: usize = 6;

/// A prompt with the rules that it was built by.
pub struct BuiltPrompt {
    pub rules: Ruleset,
    pub plan: Plan,
    /// `null` for a pack without dialects.
    pub payload: Json,
    /// Where to send it; `null` if the dialect does not say.
    pub request: Json,
    /// The warnings of the build and of the dialect.
    pub warnings: Vec<Diagnostic>,
}

impl BuiltPrompt {
    /// Builds a prompt, in the dialect of the scene or else of the pack.
    ///
    /// # Errors
    /// As for [`tapster::build`] and [`tapster::emit`].
    pub fn build(rules: Ruleset, scene: &Scene) -> Result<Self, BuildError> {
        let plan = tapster::build(&rules, scene)?;
        let mut warnings = plan.warnings.clone();
        let (payload, request) = if dialects(&rules).is_empty() {
            (Json::Null, Json::Null)
        } else {
            let emitted = tapster::emit(&rules, &plan, &dialect_of(&rules, scene))?;
            warnings.extend(emitted.warnings);
            (emitted.payload, emitted.request)
        };
        Ok(Self { rules, plan, payload, request, warnings })
    }
}

/// Everything that differs between two prompts.
#[derive(Debug, Default)]
pub struct PromptDiff {
    pub blocks: Vec<BlockChange>,
    /// Values of the payload that differ, by JSON pointer. The messages are left out if the blocks differ.
    pub payload: Vec<(String, Option<Json>, Option<Json>)>,
    /// Whether the payloads differ at all.
    pub payload_differs: bool,
    /// Warnings that are new and that are gone.
    pub warnings: Vec<(DifferenceKind, String)>,
    /// The number of blocks that are sent, before and now.
    pub sent: (usize, usize),
    /// Their tokens, where both prompts were counted.
    pub tokens: Option<(u64, u64)>,
}

/// One block that differs.
#[derive(Debug)]
pub struct BlockChange {
    pub what: DifferenceKind,
    /// Its place, its fields and its tokens, before and now.
    pub was: Option<BlockView>,
    pub is: Option<BlockView>,
    /// It stands elsewhere, and is changed too.
    pub moved: bool,
    /// The rules that are responsible.
    pub rules: Vec<Culprit>,
}

/// What is told of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockView {
    pub index: usize,
    pub id: String,
    pub slot: String,
    pub role: String,
    pub text: String,
    pub tokens: u64,
}

/// A rule that is responsible for a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Culprit {
    /// `pass inject/in_chat`.
    pub rule: String,
    /// `file:line`, or two of them if it differs.
    pub place: String,
    /// How the rule itself differs; `None` for a rule that only placed or removed the block.
    pub what: Option<DifferenceKind>,
    /// What it did, for a rule that does not differ.
    pub did: String,
}

impl PromptDiff {
    /// Compares two prompts. `rules` is what differs between their rules.
    pub fn of(a: &BuiltPrompt, b: &BuiltPrompt, rules: &RuleDiff) -> Self {
        let (was, is) = (sent_blocks(&a.plan), sent_blocks(&b.plan));
        let blocks = changed_blocks(&was, &is, (a, b), rules);
        let counted = a.plan.trim_report.is_some() && b.plan.trim_report.is_some();
        let sum = |blocks: &[&PlanBlock]| blocks.iter().map(|b| b.tokens).fold(0, u64::saturating_add);
        let mut payload = Vec::new();
        // messages that differ are told as blocks, so only what stands beside them is told of the payload
        let depth = if blocks.is_empty() { usize::MAX } else { 1 };
        pointers(&a.payload, &b.payload, String::new(), depth, &mut payload);
        Self {
            payload,
            payload_differs: a.payload != b.payload,
            warnings: warnings(&a.warnings, &b.warnings),
            sent: (was.len(), is.len()),
            tokens: counted.then(|| (sum(&was), sum(&is))),
            blocks,
        }
    }

    /// Whether the model would get something else.
    pub fn differs(&self) -> bool {
        !self.blocks.is_empty() || self.payload_differs
    }

    pub fn as_json(&self) -> Json {
        let shown = |s: &Option<BlockView>| {
            s.as_ref().map(|s| json!({ "index": s.index, "id": s.id, "slot": s.slot, "role": s.role, "tokens": s.tokens, "text": s.text }))
        };
        let culprit = |c: &Culprit| json!({ "rule": c.rule, "place": c.place, "what": c.what.map(DifferenceKind::word), "did": c.did });
        let block = |b: &BlockChange| {
            json!({
                "what": b.what.word(), "was": shown(&b.was), "is": shown(&b.is), "moved": b.moved || b.what == DifferenceKind::Moved,
                "rules": b.rules.iter().map(culprit).collect::<Vec<_>>(),
            })
        };
        json!({
            "differs": self.differs(),
            "blocks": self.blocks.iter().map(block).collect::<Vec<_>>(),
            "payload": self.payload.iter().map(|(at, was, is)| json!({ "at": at, "was": was, "is": is })).collect::<Vec<_>>(),
            "warnings": self.warnings.iter().map(|(what, text)| json!({ "what": what.word(), "text": text })).collect::<Vec<_>>(),
            "sent": [self.sent.0, self.sent.1],
            "tokens": self.tokens.map(|(was, is)| [was, is]),
        })
    }
}

fn sent_blocks(plan: &Plan) -> Vec<&PlanBlock> {
    plan.blocks.iter().filter(|b| b.enabled()).collect()
}

fn block_view(index: usize, block: &PlanBlock) -> BlockView {
    let text = |field: &str| block.text(field);
    BlockView { index, id: text("id"), slot: text("slot"), role: text("role"), text: text("text"), tokens: block.tokens }
}

/// By what a changed block is found again: its slot and its id.
fn slot_and_id(block: &PlanBlock) -> (String, String) {
    (block.text("slot"), block.text("id"))
}

/// The blocks that differ, in the order of the second prompt; what is gone stands where it was.
fn changed_blocks(was: &[&PlanBlock], is: &[&PlanBlock], (a, b): (&BuiltPrompt, &BuiltPrompt), rules: &RuleDiff) -> Vec<BlockChange> {
    let message = |block: &&PlanBlock| block.message().to_json().to_string();
    let (old, new): (Vec<String>, Vec<String>) = (was.iter().map(message).collect(), is.iter().map(message).collect());
    let steps = diff_steps(&old, &new);
    let pairs = paired_blocks(&steps, (was, &old), (is, &new));
    let taken: BTreeSet<usize> = pairs.values().map(|(old, _)| *old).collect();
    let mut out = Vec::new();
    for step in steps {
        match step {
            DiffStep::Same(..) => {}
            DiffStep::Gone(n) if taken.contains(&n) => {}
            DiffStep::Gone(n) => {
                let Some(block) = was.get(n) else { continue };
                let rules = removing_rules(block, (a, b), rules);
                out.push(BlockChange { what: DifferenceKind::Gone, was: Some(block_view(n, block)), is: None, moved: false, rules });
            }
            DiffStep::New(n) => {
                let Some(block) = is.get(n) else { continue };
                let pair = pairs.get(&n).and_then(|(old, moved)| Some((*old, *was.get(*old)?, *moved)));
                let Some((at, before, moved)) = pair else {
                    let rules = changing_rules(None, Some(block), (a, b), rules);
                    out.push(BlockChange { what: DifferenceKind::New, was: None, is: Some(block_view(n, block)), moved: false, rules });
                    continue;
                };
                let what = if old.get(at) == new.get(n) { DifferenceKind::Moved } else { DifferenceKind::Changed };
                let rules = changing_rules(Some(before), Some(block), (a, b), rules);
                let (was, is) = (Some(block_view(at, before)), Some(block_view(n, block)));
                out.push(BlockChange { what, was, is, moved, rules });
            }
        }
    }
    out
}

/// The blocks that are only changed or moved: the place in the second prompt, then the place in the first, and whether
/// other blocks stand between them.
fn paired_blocks(
    steps: &[DiffStep],
    (was, old): (&[&PlanBlock], &[String]),
    (is, new): (&[&PlanBlock], &[String]),
) -> BTreeMap<usize, (usize, bool)> {
    // the number of equal blocks in front of each
    let (mut gone, mut come, mut gap) = (Vec::new(), Vec::new(), 0usize);
    for step in steps {
        match step {
            DiffStep::Same(..) => gap += 1,
            DiffStep::Gone(n) => gone.push((*n, gap)),
            DiffStep::New(n) => come.push((*n, gap)),
        }
    }
    let mut pairs = BTreeMap::new();
    let mut found = |(a, gap_a): BlockPosition, (b, gap_b): BlockPosition| {
        pairs.insert(b, (a, gap_a != gap_b || old.get(a) == new.get(b)));
    };
    pair_blocks(&mut gone, &mut come, |(n, _)| old.get(n), |(n, _)| new.get(n), &mut found);
    let named = |block: &&PlanBlock| Some(slot_and_id(block)).filter(|(_, id)| !id.is_empty());
    pair_blocks(&mut gone, &mut come, |(n, _)| was.get(n).and_then(named), |(n, _)| is.get(n).and_then(named), &mut found);
    let in_gap = |block: &&PlanBlock, gap: usize| (gap, slot_and_id(block), block.text("role"));
    let (was_there, is_there) =
        (|(n, gap): BlockPosition| Some(in_gap(was.get(n)?, gap)), |(n, gap): BlockPosition| Some(in_gap(is.get(n)?, gap)));
    pair_blocks(&mut gone, &mut come, was_there, is_there, &mut found);
    pairs
}

/// The number of a block, and the number of equal blocks in front of it.
type BlockPosition = (usize, usize);

/// Pairs each new block with the first one that is gone and looks the same, and takes both out of their lists. Each is looked up
/// once, because a prompt may have many thousands of blocks.
fn pair_blocks<K: Ord>(
    gone: &mut Vec<BlockPosition>,
    come: &mut Vec<BlockPosition>,
    was: impl Fn(BlockPosition) -> Option<K>,
    is: impl Fn(BlockPosition) -> Option<K>,
    found: &mut impl FnMut(BlockPosition, BlockPosition),
) {
    let mut alike: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
    for (at, block) in gone.iter().enumerate() {
        if let Some(look) = was(*block) {
            alike.entry(look).or_default().push_back(at);
        }
    }
    let mut paired = BTreeSet::new();
    come.retain(|block| {
        let at = is(*block).and_then(|look| alike.get_mut(&look)?.pop_front());
        let Some((at, before)) = at.and_then(|at| Some((at, *gone.get(at)?))) else { return true };
        found(before, *block);
        paired.insert(at);
        false
    });
    let mut at = 0..gone.len();
    gone.retain(|_| at.next().is_none_or(|at| !paired.contains(&at)));
}

/// The rules responsible for a block that is new, changed or moved.
fn changing_rules(was: Option<&PlanBlock>, is: Option<&PlanBlock>, (a, b): (&BuiltPrompt, &BuiltPrompt), rules: &RuleDiff) -> Vec<Culprit> {
    let mut out = Vec::new();
    for (block, built) in [(was, a), (is, b)] {
        let Some(block) = block else { continue };
        // what was done to the slot comes before what was done to the block that was made of it
        let of_slot = slot_item(&built.plan, &block.text("slot")).map_or(&[][..], |slot| &slot.history);
        for event in of_slot.iter().chain(&block.history) {
            push_changed_rule(&mut out, "pass", &event.pass, rules);
        }
        for name in [block.text("slot"), block.text("id")] {
            for row in rules.rows.iter().filter(|row| row.table != "pass" && row.name == name) {
                push_changed_rule(&mut out, &row.table, &name, rules);
            }
        }
        push_writers(block, built, rules, &mut out);
    }
    for (block, built) in [(was, a), (is, b)] {
        block.into_iter().for_each(|block| push_options(block, built, (a, b), rules, &mut out));
    }
    out.truncate(MOST_RULES);
    if out.is_empty() {
        // no trail leads to a pass that works on something else, and yet one of those that differ and ran must be it
        let passes = rules.rows.iter().filter(|row| row.table == "pass" && [a, b].into_iter().any(|built| has_run(&row.name, &built.plan)));
        passes.take(MOST_RULES).for_each(|row| push_changed_rule(&mut out, "pass", &row.name, rules));
    }
    if out.is_empty() {
        out.extend(is.or(was).and_then(|block| placing_rule(block, if is.is_some() { &b.rules } else { &a.rules })));
    }
    out
}

fn has_run(pass: &str, plan: &Plan) -> bool {
    plan.trace.iter().flat_map(|trace| &trace.passes).any(|stat| stat.pass == pass)
}

/// Macros and rewriting scripts that differ, and whose result stands in the block.
fn push_writers(block: &PlanBlock, built: &BuiltPrompt, rules: &RuleDiff, out: &mut Vec<Culprit>) {
    let (Some(trace), text) = (&built.plan.trace, block.text("text")) else { return };
    let holds = |part: &str| !part.is_empty() && text.contains(part);
    for row in rules.rows.iter().filter(|row| row.table == "macro") {
        let used = |e: &&crate::model::plan::Expansion| e.name.eq_ignore_ascii_case(&row.name);
        if trace.macros.iter().filter(used).any(|e| e.result.as_deref().is_some_and(holds)) {
            push_changed_rule(out, "macro", &row.name, rules);
        }
    }
    for row in rules.rows.iter().filter(|row| matches!(row.table.as_str(), "script" | "rewrite")) {
        if trace.rewrites.iter().any(|r| r.script == row.name && holds(&r.after)) {
            push_changed_rule(out, &row.table, &row.name, rules);
        }
    }
}

/// Options that have another value, and that a rule of the block reads: its slot, a pass of its history, or what these read.
fn push_options(block: &PlanBlock, built: &BuiltPrompt, (a, b): (&BuiltPrompt, &BuiltPrompt), rules: &RuleDiff, out: &mut Vec<Culprit>) {
    let differ = rules::chosen_options((&a.rules, &a.plan), (&b.rules, &b.plan));
    if differ.is_empty() {
        return;
    }
    let (pack, mut paths) = (built.rules.pack(), BTreeSet::new());
    for pass in &block.history {
        condition::paths_of_row(pack, "pass", &pass.pass, &mut paths);
    }
    for name in [block.text("slot"), block.text("id")] {
        condition::paths_of_row(pack, "slot", &name, &mut paths);
    }
    condition::follow_paths(pack, &mut paths);
    for (name, was, is) in differ.iter().filter(|(name, ..)| paths.contains(&format!("{TABLE}.{name}"))) {
        let rule = format!("option {name}");
        if out.iter().any(|culprit| culprit.rule == rule) {
            continue;
        }
        let row = rules.options.iter().find(|row| row.name == *name);
        let did = if row.is_some() { String::new() } else { format!("is {was} in the first scene and {is} in the second") };
        let place = row.map(change_places).unwrap_or_default();
        out.push(Culprit { rule, place, what: row.map(|row| row.what), did });
    }
}

/// The rules responsible for a block that is gone: what removed it, or what no longer makes it.
fn removing_rules(block: &PlanBlock, (a, b): (&BuiltPrompt, &BuiltPrompt), rules: &RuleDiff) -> Vec<Culprit> {
    // the block is still in the plan, but switched off
    let off =
        b.plan.blocks.iter().find(|other| !other.enabled() && slot_and_id(other) == slot_and_id(block) && !block.text("id").is_empty());
    let record = b.plan.evicted().iter().find(|record| record.id == block.text("id") && !record.id.is_empty());
    let mut out = Vec::new();
    if let Some(off) = off {
        let event = off.history.iter().rfind(|e| matches!(e.did, "evicted" | "dropped" | "set"));
        let pass = record.map(|r| r.pass.as_str()).or(event.map(|e| &*e.pass));
        out.extend(pass.map(|pass| unchanged_rule(pass, "removed it", &b.rules)));
    } else if let Some((_, pass)) = b.plan.lost.iter().find(|(id, _)| *id == block.text("id") && !id.is_empty()) {
        out.push(unchanged_rule(pass, "lost its place", &b.rules));
    } else if let Some(pass) = dropping_pass(block, &b.plan) {
        push_changed_rule(&mut out, "pass", pass, rules);
        if out.is_empty() {
            out.push(unchanged_rule(pass, "removed it", &b.rules));
        }
    }
    let mut more = changing_rules(Some(block), off, (a, b), rules);
    more.retain(|culprit| culprit.what.is_some() || out.is_empty());
    out.extend(more);
    out.truncate(MOST_RULES);
    out
}

/// The pass that removed a block from a list: one with its id, or else one with its text.
fn dropping_pass<'p>(block: &PlanBlock, plan: &'p Plan) -> Option<&'p str> {
    let (id, text) = (block.text("id"), block.text("text"));
    let mut items = plan.trace.iter().flat_map(|trace| &trace.elsewhere).filter(|item| item.gone.is_some());
    let has = |item: &&TrackedItem, name: &str, wanted: &str| {
        !wanted.is_empty() && item.fields.get(name).is_some_and(|value| *value.to_text() == *wanted)
    };
    let found = items.clone().rfind(|item| has(item, "id", &id));
    let found = found.or_else(|| items.rfind(|item| has(item, "text", &text)));
    found.and_then(|item| item.gone.as_ref()).map(|event| &*event.pass)
}

/// The pass that placed a block.
fn placing_rule(block: &PlanBlock, rules: &Ruleset) -> Option<Culprit> {
    let event = block.history.iter().rfind(|e| matches!(e.did, "made" | "placed" | "split")).or(block.history.last())?;
    Some(unchanged_rule(&event.pass, "placed it", rules))
}

fn unchanged_rule(pass: &str, did: &str, rules: &Ruleset) -> Culprit {
    Culprit { rule: format!("pass {pass}"), place: place_of(rules, pass).unwrap_or_default(), what: None, did: did.to_owned() }
}

/// Adds a rule, if it differs and is not named yet.
fn push_changed_rule(out: &mut Vec<Culprit>, table: &str, name: &str, rules: &RuleDiff) {
    let Some(row) = rules.row(table, name) else { return };
    let rule = format!("{table} {name}");
    if !out.iter().any(|culprit| culprit.rule == rule) {
        out.push(Culprit { rule, place: change_places(row), what: Some(row.what), did: String::new() });
    }
}

/// Warnings that only one of two builds gives; of equal ones, the number counts.
fn warnings(was: &[Diagnostic], is: &[Diagnostic]) -> Vec<(DifferenceKind, String)> {
    let mut count: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let text = |w: &Diagnostic| format!("{}: {}", w.code, w.message);
    was.iter().for_each(|w| count.entry(text(w)).or_default().0 += 1);
    is.iter().for_each(|w| count.entry(text(w)).or_default().1 += 1);
    let change = |(text, (was, is)): (String, (usize, usize))| match was.cmp(&is) {
        std::cmp::Ordering::Less => Some((DifferenceKind::New, text)),
        std::cmp::Ordering::Greater => Some((DifferenceKind::Gone, text)),
        std::cmp::Ordering::Equal => None,
    };
    count.into_iter().filter_map(change).collect()
}

/// The values that differ, by JSON pointer.
pub fn differing_values(was: &Json, is: &Json) -> Vec<(String, Option<Json>, Option<Json>)> {
    let mut out = Vec::new();
    pointers(was, is, String::new(), usize::MAX, &mut out);
    out
}

/// The values that differ, by JSON pointer. Lists and tables below `depth` levels are left out.
fn pointers(was: &Json, is: &Json, at: String, depth: usize, out: &mut Vec<(String, Option<Json>, Option<Json>)>) {
    if was == is || out.len() >= MOST_OF_PAYLOAD {
        return;
    }
    let step = |key: &str| format!("{at}/{}", escape_pointer_token(key));
    match (was, is) {
        (Json::Object(old), Json::Object(new)) if depth > 0 => {
            for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
                match (old.get(key), new.get(key)) {
                    (Some(a), Some(b)) => pointers(a, b, step(key), depth - 1, out),
                    (a, b) => out.push((step(key), a.cloned(), b.cloned())),
                }
            }
        }
        (Json::Array(old), Json::Array(new)) if depth > 0 && old.len() == new.len() => {
            for (n, (a, b)) in old.iter().zip(new).enumerate() {
                pointers(a, b, step(&n.to_string()), depth - 1, out);
            }
        }
        // with blocks that differ, the text that they became is told already
        (a, b) if depth == 0 && (a.is_array() || a.is_object() || b.is_array() || b.is_object()) => {}
        _ => out.push((at, Some(was.clone()), Some(is.clone()))),
    }
}
