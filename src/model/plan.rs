//! What a build gives: ordered blocks, what was left out and why, and everything a caller may want to keep.

use super::{Map, Scene, Value};
use crate::diag::Diagnostic;

/// One block that trimming took out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct EvictionRecord {
    /// Its id.
    pub id: String,
    /// What it cost, in tokens: rounded up where the pack's ruler gives fractions.
    pub tokens: u64,
    /// Its budget group.
    pub group: String,
    /// It went as part of a bundle.
    pub group_eviction: bool,
    /// The pass that took it out.
    pub pass: String,
    /// A stretch of history that was never read: how many messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<usize>,
}

impl EvictionRecord {
    /// Why it went: `group_overflow` for a bundle, `overflow` for a single block, `unread` for a stretch of history.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match (self.unread, self.group_eviction) {
            (Some(_), _) => "unread",
            (None, true) => "group_overflow",
            (None, false) => "overflow",
        }
    }
}

/// What trimming did. Source: `wave4-contracts.md`, Trimmer Contract, Observability.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct TrimReport {
    /// The program that trimmed.
    pub strategy: String,
    /// The account that it trimmed to.
    #[serde(skip)]
    pub account: String,
    /// What could be spent.
    pub budget_tokens: u64,
    /// What everything cost before; a stretch that was never read is not in it.
    pub initial_tokens: u64,
    /// What the kept blocks cost.
    pub final_tokens: u64,
    /// How many blocks went.
    pub eviction_count: usize,
    /// One for each.
    pub records: Vec<EvictionRecord>,
}

/// One event of the trail: what a pass did to a block.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Event {
    /// The pass.
    pub pass: String,
    /// `made`, `set`, `shaped`, `placed`, `dropped`, `merged`, `evicted`, `admitted`.
    pub did: &'static str,
}

/// Numbers of one run of a pass.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PassStat {
    /// The pass.
    pub pass: String,
    /// Items in its list afterwards.
    pub items: usize,
}

/// Why something became of an item.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Reason {
    /// The item's number in this build, ascending as items are made: two items may have the same list, book and id. 0
    /// for an item that the scene holds and no pass has made.
    pub item: u32,
    /// The item's list: `entries`, `blocks` …
    pub list: String,
    /// The item's id.
    pub id: String,
    /// The item's book, for lore entries: ids are not unique across books; empty for other items.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub book: String,
    /// The pass.
    pub pass: String,
    /// The pass's `because`; the codes of lore are in `docs/reference/lore.md`.
    pub because: String,
    /// What the verb knows about it, such as the key that was found and where, the draw, what was left of an account or
    /// who won instead, and what the pass adds by `why`.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub detail: Value,
}

/// Something that happened in a build, in order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A stage has ended.
    Stage(String),
    /// A hook was called, by its id.
    Hook(String),
}

/// A number or another value that a stage noted.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Stat {
    /// The stage.
    pub stage: String,
    /// What it is.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// A macro that was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Expansion {
    /// Its name, as written.
    pub name: String,
    /// Its arguments, expanded; those that it takes unexpanded are empty.
    pub args: Vec<String>,
    /// What stands in its place; nothing if it stayed as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Where it stood in its text, in bytes.
    pub at: usize,
    /// The pass that had the text expanded.
    pub pass: String,
}

/// What a rewriting script made of a text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Rewrite {
    /// The pass.
    pub pass: String,
    /// The script.
    pub script: String,
    /// The text before.
    pub before: String,
    /// The text it made.
    pub after: String,
}

/// What was watched; only there when the scene asked for it.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Trace {
    /// Every pass that ran, in order.
    pub passes: Vec<PassStat>,
    /// Every draw: stream and number.
    pub draws: Vec<(String, f64)>,
    /// Passes that had all of a long list read, and how many elements that were.
    pub read_whole: Vec<(String, usize)>,
    /// The live blocks after each stage, as far as they had been read.
    pub stages: Vec<(String, Vec<Value>)>,
    /// Why items fared as they did, in order: what passes with `because` did.
    pub reasons: Vec<Reason>,
    /// What rewriting scripts made of texts, in order.
    pub rewrites: Vec<Rewrite>,
    /// Stages and hooks in the order in which they ran.
    pub steps: Vec<Step>,
    /// What stages, hooks and passes noted: `trim` of the stage that trimmed, and everything that passes set under `$stat`.
    pub stats: Vec<Stat>,
    /// The first macros that were evaluated, in order.
    pub macros: Vec<Expansion>,
}

/// How much of a plan or payload stands as it stood in an earlier one: what a provider's cache can serve.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Unchanged {
    /// Tokens from the front that are the same; of the first text that differs, those up to the difference.
    pub tokens: u64,
    /// Tokens of all.
    pub total: u64,
    /// Blocks (of a payload: values) that are wholly the same.
    pub blocks: usize,
    /// The first difference; nothing where all is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<Difference>,
}

/// The first block that is not as it was, and who made it so, as far as the trace tells.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Difference {
    /// Its place among the blocks that are sent.
    pub index: usize,
    /// Its id, else its slot or role; of a payload the path of the value.
    pub id: String,
    /// `changed`, `new`, `gone`, `moved`.
    pub what: &'static str,
    /// Where the text begins to differ, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// The pass that wrote, placed or trimmed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// The macro that gave the text that differs.
    #[serde(skip_serializing_if = "Option::is_none", rename = "macro")]
    pub by_macro: Option<String>,
    /// The rewriting script that did.
    #[serde(skip_serializing_if = "Option::is_none", rename = "script")]
    pub by_script: Option<String>,
    /// The value of the build that the text is, such as `$lore.before`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The text before; empty for what is new.
    pub was: String,
    /// The text now; empty for what is gone.
    pub is: String,
}

/// One block of the plan.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Block {
    /// All fields: `id slot role text group removable enabled …`.
    pub fields: Value,
    /// What it costs, in tokens: rounded up where the pack's ruler gives fractions; 0 where no pass has trimmed.
    pub tokens: u64,
    /// What passes did to it; empty without a trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Event>,
}

impl Block {
    /// A field as a text.
    #[must_use]
    pub fn text(&self, field: &str) -> String {
        self.fields.get(field).map(|v| v.to_text().to_string()).unwrap_or_default()
    }

    /// Whether the block is part of the prompt.
    #[must_use]
    pub fn enabled(&self) -> bool {
        !matches!(self.fields.get("enabled"), Some(Value::Bool(false)))
    }

    /// The block as a message: role, content, and name and metadata where it has them.
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

/// The result of a build.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Plan {
    /// All blocks in prompt order, those that trimming took out among them (`enabled` is false).
    pub blocks: Vec<Block>,
    /// What is probably not intended, in the order found. Each names the pass that was running; its span points into the
    /// ruleset's [sources](crate::Ruleset::sources).
    pub warnings: Vec<Diagnostic>,
    /// Texts for named outlets.
    pub outlets: Value,
    /// What trimming did; nothing where no pass trims.
    pub trim_report: Option<TrimReport>,
    /// What to write into the chat's store once the build is accepted: `$state`, and under `vars` the variables that macros
    /// have written, by store and name (one that was removed is there as nothing).
    pub patch: Value,
    /// Everything that passes have set (`$name`).
    pub set: Value,
    /// Ids of blocks that lost their place, and the pass that would have placed them.
    pub lost: Vec<(String, String)>,
    /// The rules' fingerprint.
    pub fingerprint: String,
    /// What was watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// What stands as in an earlier plan, for callers who have compared them (`tapster::unchanged`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Unchanged>,
    /// The scene that was built from, for the dialect's forms.
    #[serde(skip)]
    pub scene: Value,
    /// What else the build was given and a dialect may use: seed, host functions, hooks, strictness, whether to trace.
    /// Its `data` is empty, see `scene`; its draws are those that the build has left.
    #[serde(skip)]
    pub given: Scene,
}

impl Plan {
    /// What trimming took out, in order.
    #[must_use]
    pub fn evicted(&self) -> &[EvictionRecord] {
        self.trim_report.as_ref().map_or(&[], |report| &report.records)
    }

    /// What the pack tells about the plan beside its blocks (`$plan.NAME`): `assistant_prefill`, `continue_postfix` …;
    /// nothing where it does not say.
    #[must_use]
    pub fn told(&self, name: &str) -> Value {
        self.set.at("plan").and_then(|p| p.get(name)).cloned().unwrap_or_default()
    }

    /// What is put between a continued message and the answer, for whoever joins them.
    #[must_use]
    pub fn continue_postfix(&self) -> Option<String> {
        self.told_text("continue_postfix")
    }

    /// What the answer begins with, where the provider is told so.
    #[must_use]
    pub fn assistant_prefill(&self) -> Option<String> {
        self.told_text("assistant_prefill")
    }

    /// The greeting that a new chat begins with.
    #[must_use]
    pub fn greeting(&self) -> Option<String> {
        self.told_text("greeting")
    }

    fn told_text(&self, name: &str) -> Option<String> {
        let value = self.told(name);
        (!value.is_null()).then(|| value.to_text().to_string())
    }

    /// The messages of the prompt, in order.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        self.blocks.iter().filter(|b| b.enabled()).map(Block::message).collect()
    }
}
