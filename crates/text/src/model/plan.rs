//! The result of a build: ordered blocks, what was trimmed and why, warnings, and state for the caller to store.

use std::sync::Arc;

use super::pack::RulesFingerprint;
use super::{Map, Scene, Value};
use crate::diag::Diagnostic;

/// One block that trimming removed from the prompt, or a stretch of history that was never read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct EvictionRecord {
    /// The id of the block; for a stretch, a text that describes it.
    pub id: String,
    /// What it cost, in tokens: rounded up where the pack's ruler gives fractions.
    pub tokens: u64,
    /// The budget group of the block.
    pub group: String,
    /// Whether it was removed as part of a bundle, which is removed as a whole.
    pub group_eviction: bool,
    /// The pass that removed it, as `program/pass`.
    pub pass: String,
    /// The number of messages, if this is a stretch of history that was never read; `None` for a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
}

impl EvictionRecord {
    /// Why it was removed: `group_overflow` for part of a bundle, `overflow` for a single block, `unread` for a stretch
    /// of history.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match (self.unread, self.group_eviction) {
            (Some(_), _) => "unread",
            (None, true) => "group_overflow",
            (None, false) => "overflow",
        }
    }
}

/// One block whose text trimming made shorter.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ShorteningRecord {
    /// The id of the block.
    pub id: String,
    /// What it cost before, in tokens: rounded up where the pack's ruler gives fractions.
    pub tokens: u64,
    /// What it costs with its shorter text, in tokens, rounded up.
    pub tokens_after: u64,
    /// The budget group of the block.
    pub group: String,
    /// The pass that made it shorter, as `program/pass`.
    pub pass: String,
}

/// What trimming did. Token counts are rounded up where the pack's rulers give fractions. Source of the fields:
/// `wave4-contracts.md`, Trimmer Contract, Observability.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TrimReport {
    /// The program of the last pass that trimmed.
    pub strategy: String,
    /// The account that was trimmed to.
    #[serde(skip)]
    pub account: String,
    /// The size of the budget, in tokens.
    pub budget_tokens: u64,
    /// What all blocks cost before trimming, in tokens; a stretch that was never read is not included.
    pub initial_tokens: u64,
    /// What the remaining blocks cost, in tokens.
    pub final_tokens: u64,
    /// The number of blocks and unread messages that were removed.
    pub eviction_count: usize,
    /// One record for each removed block or unread stretch, in the order of removal.
    pub records: Vec<EvictionRecord>,
    /// One record for each text that was made shorter, in the order in which that was done; a block may get several, and be
    /// removed afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<ShorteningRecord>,
    /// Where the blocks were trimmed to several accounts: each of them, in the order in which they were trimmed to last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<TrimmedAccount>,
}

/// One of several accounts that the blocks were trimmed to.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TrimmedAccount {
    /// Its name.
    pub account: String,
    /// The program of the pass that trimmed to it last.
    pub strategy: String,
    /// Its size, in tokens.
    pub budget_tokens: u64,
}

/// One event in the history of a block: what a pass did to it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BlockEvent {
    /// The pass, as `program/pass`.
    pub pass: Arc<str>,
    /// What it did: `made`, `set`, `shaped`, `placed`, `split`, `merged`, `dropped`, `admitted` or `evicted`.
    pub did: &'static str,
}

/// One run of a pass, for the trace.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PassStat {
    /// The pass, as `program/pass`.
    pub pass: String,
    /// The number of items in its list after the run.
    pub items: usize,
}

/// Why a pass treated an item as it did; recorded by passes with a `reason`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RecordedReason {
    /// The number of the item in this build, ascending in the order in which items are made: two items may have the
    /// same list, book and id. 0 for an item of the scene that no pass has made.
    pub item: u32,
    /// The list of the item: `entries`, `blocks` …
    pub list: String,
    /// The id of the item.
    pub id: String,
    /// The book of a lore entry, because ids are not unique across books; empty for other items.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub book: String,
    /// The pass, as `program/pass`.
    pub pass: String,
    /// The code that the pass gives as `reason`; the codes of lore are in `docs/reference/lore.md`.
    pub because: String,
    /// What the pass knows about it: for example the key that matched and where, the draw, what was left of an account,
    /// or which item won instead; and what the pass adds with `reason_details`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// What a `match` searched for an item of which nothing was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SearchRecord {
    /// The number of the item in this build, as in [`RecordedReason`].
    pub item: u32,
    /// The pass, as `program/pass`.
    pub pass: String,
    /// The keys as written, the secondary ones last.
    pub keys: Vec<String>,
    /// The scan sources with the number of texts of each that were searched.
    pub sources: Vec<(String, usize)>,
    /// The primary keys that were found although the item was not: its secondary keys decided against it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
}

/// An item that is not among the blocks of the plan: one that a pass has removed, or one of another list.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TrackedItem {
    /// The number of the item in this build, as in [`RecordedReason`].
    pub item: u32,
    /// The list of the item: `slots`, `injections`, `entries` …
    pub list: String,
    /// Its fields as they were last.
    pub fields: Value,
    /// The pass that removed it; `None` for an item that is still in its list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<BlockEvent>,
    /// What passes did to it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<BlockEvent>,
}

/// One step of a build, in the order in which they ran. Serialised as `{ "stage": NAME }` or `{ "hook": ID }`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildStep {
    /// The stage of this name has ended.
    Stage(String),
    /// The hook of this id was called.
    Hook(String),
}

/// A value that a stage, a hook or a pass recorded.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RecordedValue {
    /// The stage that was running; empty for values that passes set under `$stat`.
    pub stage: String,
    /// The name of the value.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// One macro that was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Expansion {
    /// The name of the macro, as written.
    pub name: String,
    /// The arguments after expansion; an argument that the macro takes unexpanded is empty.
    pub args: Vec<String>,
    /// The text that replaces the macro; `None` if the macro was left as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The byte offset of the macro in its text.
    pub at: usize,
    /// The pass that expanded the text, as `program/pass`.
    pub pass: String,
}

/// One change that a script made to a text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TextRewrite {
    /// The pass, as `program/pass`.
    pub pass: String,
    /// The name of the rewriting script, or the function of a script (`file.rhai::name`).
    pub script: String,
    /// The text before the change.
    pub before: String,
    /// The text after the change.
    pub after: String,
}

/// One thing that a function changed: a hook, or a pass with `script`. Changes of the field `text` are in
/// [`PlanTrace::rewrites`].
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TracedChange {
    /// The function, as `file.rhai::name`; of a hook of the embedding program, its id.
    pub by: String,
    /// The hook that the function runs as; `None` for a pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The pass that was running, as `program/pass`.
    pub pass: String,
    /// What was done: `set` a value or a field of an item, or `made` or `dropped` an item.
    pub did: &'static str,
    /// The list of the item; empty for a value of the scene.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub list: String,
    /// The number of the item in this build, as in [`RecordedReason`].
    pub item: u32,
    /// The id of the item.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The path of the value (`card.description`), or the field of the item; empty for an item that was made or dropped.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The value before; of an item that was dropped, its text.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub was: Value,
    /// The value after; of an item that was made, its text.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub is: Value,
}

/// What was recorded during a build; only present if the scene sets `trace`.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct PlanTrace {
    /// Every pass that ran, in order.
    pub passes: Vec<PassStat>,
    /// Every random draw: the name of its stream, and the number in [0, 1).
    pub draws: Vec<(String, f64)>,
    /// Passes that read a long list completely, and its number of elements.
    pub read_whole: Vec<(String, usize)>,
    /// The enabled blocks after each stage, as far as they had been read.
    pub stages: Vec<(String, Vec<Value>)>,
    /// Why items were selected, dropped or placed, in order; recorded by passes with a `reason`.
    pub reasons: Vec<RecordedReason>,
    /// What was searched for the items of which no key was found in the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub searched: Vec<SearchRecord>,
    /// The changes that scripts made to texts, in order: rewriting ones, and functions of hooks, passes and steps.
    pub rewrites: Vec<TextRewrite>,
    /// What else functions of hooks and passes changed, in order; only the first thousands of a long build.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<TracedChange>,
    /// Stages and hooks in the order in which they ran.
    pub steps: Vec<BuildStep>,
    /// Values that stages, hooks and passes recorded: `trim` of the stage that trimmed, and every value that passes set
    /// under `$stat`.
    pub stats: Vec<RecordedValue>,
    /// The macros that were evaluated, in order; only the first thousands of a long build.
    pub macros: Vec<Expansion>,
    /// Passes that did not run because their own `when` did not hold, and how often.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<(String, usize)>,
    /// Items that are not among the blocks: those that were removed, in that order, then those of other lists; only
    /// the first thousands of a long build.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<TrackedItem>,
}

/// How much of a plan or payload is the same as in an earlier one, from the front: the part that a provider's prompt
/// cache can serve.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct UnchangedPrefix {
    /// The number of tokens at the front that are the same; of the first text that differs, those before the
    /// difference.
    pub tokens: u64,
    /// The number of tokens of all blocks.
    pub total: u64,
    /// The number of blocks (of a payload: values) at the front that are completely the same.
    pub blocks: usize,
    /// The first difference; `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<PlanDifference>,
}

/// The first block that differs from the earlier plan, and the rule that caused the difference as far as the trace
/// shows it.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct PlanDifference {
    /// The index of the block among the blocks that are sent; of a payload, the index of the value in reading order.
    pub index: usize,
    /// The id of the block, or its slot or role if it has no id; of a payload, the path of the value.
    pub id: String,
    /// How it differs: `changed`, `new`, `gone` or `moved`.
    pub what: &'static str,
    /// The byte offset at which the texts begin to differ; `None` if the text is not what differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// The pass that wrote, placed or trimmed the block, as `program/pass`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// The macro that produced the part that differs.
    #[serde(skip_serializing_if = "Option::is_none", rename = "macro")]
    pub by_macro: Option<String>,
    /// The rewriting script that produced the part that differs.
    #[serde(skip_serializing_if = "Option::is_none", rename = "script")]
    pub by_script: Option<String>,
    /// The value of the build that the text is equal to, such as `$lore.before`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The earlier text; empty for a new block.
    pub was: String,
    /// The present text; empty for a block that is gone.
    pub is: String,
}

/// One block of the plan.
#[derive(Debug, Clone, serde::Serialize)]
pub struct PlanBlock {
    /// All fields as a table: `id`, `slot`, `role`, `text`, `group`, `removable`, `enabled` …, as the pack declares
    /// them.
    pub fields: Value,
    /// What it costs, in tokens, rounded up where the pack's ruler gives fractions; 0 if no pass trimmed the list.
    pub tokens: u64,
    /// What passes did to it, in order; empty without a trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<BlockEvent>,
}

impl PlanBlock {
    /// A field as text; empty if the block does not have it.
    #[must_use]
    pub fn text(&self, field: &str) -> String {
        self.fields.get(field).map(|v| v.to_text().to_string()).unwrap_or_default()
    }

    /// Whether the block is part of the prompt. Trimming disables blocks and keeps them in the plan.
    #[must_use]
    pub fn enabled(&self) -> bool {
        !matches!(self.fields.get("enabled"), Some(Value::Bool(false)))
    }

    /// The block as a message: a table with `role` and `content`, and `name` and `meta` if the block has them.
    #[must_use]
    pub fn message(&self) -> Value {
        let mut out = Map::default();
        for (to, from) in [("role", "role"), ("content", "text"), ("name", "name"), ("meta", "meta")] {
            let value = self.fields.get(from).cloned().unwrap_or_default();
            if to == "content" || !value.is_empty() {
                out.insert(to.into(), if to == "content" && value.is_null() { Value::text("") } else { value });
            }
        }
        Value::map(out)
    }
}

/// The result of a build. Serialise it with serde to write it as JSON.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Plan {
    /// All blocks in prompt order. Those that trimming removed are included with `enabled = false`.
    pub blocks: Vec<PlanBlock>,
    /// Warnings, in the order in which they were raised. Each names the pass that was running; its span points into the
    /// ruleset's sources.
    pub warnings: Vec<Diagnostic>,
    /// Texts for named outlets, by name.
    pub outlets: Value,
    /// What trimming did; `None` if no pass trimmed.
    pub trim_report: Option<TrimReport>,
    /// What to store with the chat once the caller accepts the build: the fields of `$state`, and under `vars` the
    /// variables that macros have written, by store and name. A variable that was removed is `null`.
    pub patch: Value,
    /// Every value that passes have set (`$name`), as a table.
    pub set: Value,
    /// Items that lost their place: the id, and the pass that would have placed it.
    pub lost: Vec<(String, String)>,
    /// The fingerprint of the rules: `Ruleset::fingerprint`.
    pub fingerprint: RulesFingerprint,
    /// What was recorded during the build; only present if the scene sets `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PlanTrace>,
    /// What is the same as in an earlier plan; set by callers that compare them with
    /// `unchanged`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<UnchangedPrefix>,
    /// The data of the scene that the plan was built from; `emit` reads it. Not serialised.
    #[serde(skip)]
    pub scene: Value,
    /// The rest of the scene, for `emit`: seed, host functions, hooks, strictness, trace, and the
    /// scripted draws that the build has left. Its `data` is empty. Not serialised.
    #[serde(skip)]
    pub given: Scene,
}

impl Plan {
    /// The blocks that trimming removed, in the order of removal; empty if no pass trimmed.
    #[must_use]
    pub fn evicted(&self) -> &[EvictionRecord] {
        self.trim_report.as_ref().map_or(&[], |report| &report.records)
    }

    /// A value that the pack reports about the plan beside its blocks (`$plan.NAME`), such as `assistant_prefill`;
    /// [`Value::Null`] if it reports none of this name.
    #[must_use]
    pub fn reported(&self, name: &str) -> Value {
        self.set.at("plan").and_then(|p| p.get(name)).cloned().unwrap_or_default()
    }

    /// The text between a continued message and the model's answer, for the caller who joins them; `None` if the pack
    /// reports none.
    #[must_use]
    pub fn continue_postfix(&self) -> Option<String> {
        self.reported_text("continue_postfix")
    }

    /// The text that the model's answer begins with, for providers that accept one; `None` if the pack reports none.
    #[must_use]
    pub fn assistant_prefill(&self) -> Option<String> {
        self.reported_text("assistant_prefill")
    }

    /// The greeting that a new chat begins with; `None` if the pack reports none.
    #[must_use]
    pub fn greeting(&self) -> Option<String> {
        self.reported_text("greeting")
    }

    fn reported_text(&self, name: &str) -> Option<String> {
        let value = self.reported(name);
        (!value.is_null()).then(|| value.to_text().to_string())
    }

    /// The messages of the prompt, in order: every enabled block as a table with `role` and `content` (see
    /// [`PlanBlock::message`]).
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        self.blocks.iter().filter(|b| b.enabled()).map(PlanBlock::message).collect()
    }
}
