//! What was recorded during a run, as the plan and the payload report it. Empty unless the scene asks for a trace.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::Value;
use crate::model::plan::{BlockEvent, PassStat, PlanTrace, RecordedReason, RecordedValue, TrackedItem, TrimReport};
use crate::terms::BuildState;
use crate::terms::ledger::TrimmedList;
use crate::terms::trace::{BuildTrace, TraceEvent};
use crate::text::script::take_log;

/// The trace of a run; `None` if the scene did not ask for one.
pub(crate) fn trace(st: &BuildState, report: Option<(&TrimReport, &TrimmedList)>, stages: Vec<(String, Vec<Value>)>) -> Option<PlanTrace> {
    let recorded = st.trace.as_ref()?;
    let passes = recorded.runs.borrow().iter().map(|s| PassStat { pass: s.pass.to_string(), items: s.items }).collect();
    let draws = st.draws.borrow().taken().iter().map(|(stream, n)| (stream.to_string(), *n)).collect();
    let read_whole = recorded.read_whole.borrow().iter().map(|(pass, n)| (pass.to_string(), *n)).collect();
    Some(PlanTrace {
        passes,
        draws,
        read_whole,
        stages,
        steps: recorded.steps.borrow().clone(),
        stats: stats(st, recorded, report),
        reasons: reasons(st),
        searched: recorded.all_searched(),
        macros: recorded.macros.borrow().clone(),
        rewrites: recorded.rewrites.borrow().clone(),
        changes: recorded.changes.borrow().clone(),
        skipped: recorded.all_skipped(),
        elsewhere: Vec::new(),
    })
}

/// What passes did to each item, by the item's number; empty without a trace.
pub(crate) struct ItemHistories(FxHashMap<u32, Vec<BlockEvent>>);

impl ItemHistories {
    pub(crate) fn new(st: &BuildState) -> Self {
        let mut all: FxHashMap<u32, Vec<BlockEvent>> = FxHashMap::default();
        if let Some(trace) = &st.trace {
            for event in trace.events.borrow().iter().filter(|event| event.item != 0) {
                all.entry(event.item).or_default().push(told(event));
            }
        }
        Self(all)
    }

    /// The events of one item, in order.
    pub(crate) fn of(&self, item: u32) -> Vec<BlockEvent> {
        self.0.get(&item).cloned().unwrap_or_default()
    }
}

fn told(event: &TraceEvent) -> BlockEvent {
    BlockEvent { pass: event.pass.clone(), did: event.did }
}

/// The items of a build that are not in its list of blocks.
pub(crate) fn elsewhere(st: &BuildState, blocks: usize, histories: &ItemHistories) -> Vec<TrackedItem> {
    let of = |(list, item, gone): (Arc<str>, crate::model::Item, Option<TraceEvent>)| TrackedItem {
        item: item.seq,
        list: list.to_string(),
        fields: st.table(&item),
        gone: gone.as_ref().map(told),
        history: histories.of(item.seq),
    };
    st.elsewhere(blocks).into_iter().map(of).collect()
}

/// The recorded values: those of the pass that trimmed, of hooks, of `print` in scripts, and of passes under `$stat`.
fn stats(st: &BuildState, recorded: &BuildTrace, report: Option<(&TrimReport, &TrimmedList)>) -> Vec<RecordedValue> {
    let mut stats = recorded.notes.borrow().clone();
    if let Some((report, by)) = report {
        let numbers = [
            ("initial_tokens", report.initial_tokens),
            ("final_tokens", report.final_tokens),
            ("budget_tokens", report.budget_tokens),
            ("eviction_count", report.eviction_count as u64),
        ];
        let number = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let value = Value::map(numbers.into_iter().map(|(name, n)| (Arc::from(name), number(n))).collect());
        stats.push(RecordedValue { stage: by.stage.to_string(), name: "trim".to_owned(), value });
    }
    stats.extend(take_log().into_iter().map(|line| RecordedValue {
        stage: String::new(),
        name: "print".to_owned(),
        value: Value::from(line.as_str()),
    }));
    let set = st.set.borrow();
    let noted = set.get("stat").and_then(Value::as_map).into_iter().flat_map(|m| m.iter());
    stats.extend(noted.map(|(name, value)| RecordedValue { stage: String::new(), name: name.to_string(), value: value.clone() }));
    stats
}

/// Why passes treated items as they did, in order.
pub(crate) fn reasons(st: &BuildState) -> Vec<RecordedReason> {
    let Some(trace) = &st.trace else { return Vec::new() };
    let told = trace.reasons.borrow();
    let reasons = told.iter().map(|r| RecordedReason {
        item: r.item,
        list: r.list.to_string(),
        id: r.id.to_string(),
        book: r.book.to_string(),
        pass: r.pass.to_string(),
        because: r.because.to_string(),
        detail: r.detail.clone(),
    });
    reasons.collect()
}

/// The enabled blocks after each stage, if a trace is kept.
pub(crate) type StageBlocks = Vec<(String, Vec<Value>)>;

/// The items after each stage. A stage leaves most of them as they were, and these have one table for all stages.
#[derive(Default)]
pub(crate) struct StageItems {
    stages: StageBlocks,
    /// The last table of each item, by the item's number.
    last: FxHashMap<u32, Value>,
}

impl StageItems {
    /// Records the enabled items of the list of a stage, as far as they have been read.
    pub(crate) fn end(&mut self, stage: &str, list: usize, st: &BuildState) {
        let list = st.list(list);
        let tables = list.items.iter().filter(|item| item.enabled()).map(|item| {
            let table = st.table(item);
            let last = self.last.entry(item.seq).or_default();
            if !last.is_same(&table) {
                *last = table;
            }
            last.clone()
        });
        let tables = tables.collect();
        self.stages.push((stage.to_owned(), tables));
    }

    /// The stages in the order in which they ended.
    pub(crate) fn stages(self) -> StageBlocks {
        self.stages
    }
}
