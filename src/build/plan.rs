//! The plan of a finished build, from the state at its end.

use std::sync::Arc;

use crate::diag::limits;
use crate::model::plan::{EvictionRecord, PlanTrace, ShorteningRecord, TrimReport, TrimmedAccount};
use crate::model::{Map, Plan, PlanBlock, Scene, Value, budget};
use crate::pack::Ruleset;
use crate::terms::ledger::{self, LedgerEviction, LedgerShortening, TrimmedList, whole_tokens};
use crate::terms::select::pass_env;
use crate::terms::usage::read_size;
use crate::terms::{BuildState, PassMemo};

use super::error::{BuildError, placed_warnings};
use super::trace::{ItemHistories, elsewhere, trace};

/// The plan of a finished build.
pub(super) fn plan(rules: &Ruleset, st: &BuildState, list: usize, stages: Vec<(String, Vec<Value>)>) -> Result<Plan, BuildError> {
    st.load_all(list).map_err(BuildError::fault)?;
    let items = st.list(list);
    let memo = PassMemo::over(list);
    let env = pass_env(st, &memo);
    let trimmed = st.ledger.borrow().trimmed(list).cloned();
    let histories = ItemHistories::new(st);
    let mut blocks = Vec::with_capacity(items.items.len());
    let mut kept = 0.0;
    for item in &items.items {
        let cost = match &trimmed {
            Some(by) => ledger::cost(&env, by.account, item).map_err(BuildError::fault)?,
            None => 0.0,
        };
        kept += if item.enabled() { cost } else { 0.0 };
        blocks.push(PlanBlock { fields: st.table(item), tokens: whole_tokens(cost), history: histories.of(item.seq) });
    }
    let patch = patch(st);
    printable(&blocks, &patch, st)?;
    let report = report(st, kept, trimmed.as_ref())?;
    let names = |name: &str| vec![Arc::<str>::from(name)];
    Ok(Plan {
        blocks,
        warnings: placed_warnings(rules, st),
        outlets: st.lookup(&names("outlet"), None),
        trace: trace(st, report.as_ref().zip(trimmed.as_ref()), stages)
            .map(|t| PlanTrace { elsewhere: elsewhere(st, list, &histories), ..t }),
        trim_report: report,
        patch,
        set: st.set.borrow().clone(),
        lost: st.lost.borrow().clone(),
        fingerprint: rules.shared_fingerprint(),
        unchanged: None,
        scene: st.scene.clone(),
        given: Scene::default(),
    })
}

/// Checks that the plan can be written out: many blocks may share one large list or table.
fn printable(blocks: &[PlanBlock], patch: &Value, st: &BuildState) -> Result<(), BuildError> {
    let fields = blocks.iter().filter_map(|block| block.fields.as_map()).flat_map(Map::values);
    let mut bytes = 0_usize;
    for value in fields.chain([patch]).filter(|value| matches!(value, Value::List(_) | Value::Map(_))) {
        let written = read_size(value).map_err(BuildError::fault)?;
        bytes = bytes.saturating_add(written.bytes);
    }
    if bytes > limits::OUTPUT_BYTES {
        // what the scene holds may be in the plan as it is
        let given = read_size(&st.scene).map_err(BuildError::fault)?;
        budget::check_room(bytes.saturating_sub(given.bytes)).map_err(|exceeded| BuildError::bound(exceeded.to_string()))?;
    }
    Ok(())
}

/// What to store with the chat: `$state`, and the variables that macros have written.
pub(super) fn patch(st: &BuildState) -> Value {
    let set = st.set.borrow();
    let state = set.get("state").cloned().unwrap_or_default();
    match set.get("vars") {
        Some(vars) => Value::map([(Arc::from("vars"), vars.clone())].into_iter().collect()).over(state),
        None => state,
    }
}

/// The report of the last pass that trimmed; `kept` is the cost of the remaining blocks. Costs may be fractions, so
/// they are summed first and rounded once.
fn report(st: &BuildState, kept: f64, trimmed: Option<&TrimmedList>) -> Result<Option<TrimReport>, BuildError> {
    let Some(TrimmedList { account, pass, list: trimmed_list, .. }) = trimmed else { return Ok(None) };
    let trimmed_list = *trimmed_list;
    let memo = PassMemo::over(trimmed_list);
    let size = ledger::size(&pass_env(st, &memo), *account).map_err(BuildError::fault)?;
    let several: Vec<TrimmedList> = st.ledger.borrow().trims(trimmed_list).cloned().collect();
    let accounts = several.iter().filter(|_| several.len() > 1);
    let accounts = accounts.map(|by| trimmed_account(st, by)).collect::<Result<_, _>>()?;
    let ledger = st.ledger.borrow();
    let evictions = ledger.records.iter().map(|r| r.tokens);
    let is_counted = |r: &&LedgerShortening| (r.list, r.account) == (trimmed_list, *account);
    let saved = ledger.shortened.iter().filter(is_counted).map(|r| r.tokens - r.tokens_after);
    let gone: f64 = evictions.chain(saved).sum();
    Ok(Some(TrimReport {
        strategy: strategy(pass),
        account: st.rules.accounts.get(*account).map(|a| a.name.to_string()).unwrap_or_default(),
        budget_tokens: whole_tokens(size),
        initial_tokens: whole_tokens(kept + gone),
        final_tokens: whole_tokens(kept),
        eviction_count: ledger.records.iter().map(|r| r.unread.unwrap_or(1)).sum(),
        records: ledger.records.iter().map(evicted).collect(),
        shortened: ledger.shortened.iter().map(shortened).collect(),
        accounts,
    }))
}

/// The program of a pass that trimmed.
fn strategy(pass: &str) -> String {
    pass.rsplit_once('/').map_or(pass, |(program, _)| program).to_owned()
}

fn trimmed_account(st: &BuildState, by: &TrimmedList) -> Result<TrimmedAccount, BuildError> {
    let memo = PassMemo::over(by.list);
    let size = ledger::size(&pass_env(st, &memo), by.account).map_err(BuildError::fault)?;
    let account = st.rules.accounts.get(by.account).map(|account| account.name.to_string()).unwrap_or_default();
    Ok(TrimmedAccount { account, strategy: strategy(&by.pass), budget_tokens: whole_tokens(size) })
}

/// A record of the ledger as the plan reports it.
pub(super) fn evicted(record: &LedgerEviction) -> EvictionRecord {
    let LedgerEviction { id, tokens, group, group_eviction, pass, unread } = record.clone();
    EvictionRecord { id, tokens: whole_tokens(tokens), group, group_eviction, pass, unread }
}

fn shortened(record: &LedgerShortening) -> ShorteningRecord {
    let LedgerShortening { id, tokens, tokens_after, group, pass, .. } = record.clone();
    ShorteningRecord { id, tokens: whole_tokens(tokens), tokens_after: whole_tokens(tokens_after), group, pass }
}
