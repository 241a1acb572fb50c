//! Breaks each pass, one after another, and sees whether a case notices: the `where` of the pass is negated, else its
//! `when`; a pass that has neither is dropped.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::model::WorkLimits;
use crate::pack::{PackShelf, Ruleset};
use crate::terms::Cond;
use crate::text::work::BudgetScope;
use crate::verbs::CompiledPass;

use super::case::CaseFile;
use super::play::SceneReader;
use super::runner::{CaseResult, each, notices, rules_of};

/// A case may take so many times its own work with a broken pass, and this more. One that takes still more has noticed it: it
/// does not end as it did.
const TIMES: u64 = 10;
const MORE: WorkLimits = WorkLimits { steps: 1_000_000, bytes: 16 << 20 };

/// What became of the broken passes.
#[derive(Debug, Default)]
pub struct MutationResult {
    /// Passes whose breaking was noticed.
    pub killed: BTreeSet<String>,
    /// Passes that a case runs, and whose breaking no case noticed.
    pub survived: BTreeSet<String>,
}

/// How a pass is broken, in words.
#[must_use]
pub fn how(pass: &CompiledPass) -> &'static str {
    if pass.select.filter.is_some() {
        "with its `where` negated"
    } else if pass.when.is_some() {
        "with its `when` negated"
    } else {
        "dropped"
    }
}

/// The cases of a file that exercise the same passes.
#[derive(Debug, Clone)]
pub struct MutationCases<'t> {
    /// The file.
    pub file: &'t CaseFile,
    /// What came of its cases.
    pub ran: Vec<&'t CaseResult>,
}

impl MutationCases<'_> {
    /// The cases that may notice something, which are those that pass, with the passes among `own` that each has exercised.
    fn able<'c>(&'c self, own: &'c BTreeSet<String>) -> impl Iterator<Item = (&'c CaseResult, Vec<&'c String>)> {
        let passing = self.ran.iter().filter(|ran| ran.complaints.is_empty());
        passing.filter_map(|ran| Some((*ran, ran.covered.as_ref()?.passes.keys().filter(|pass| own.contains(*pass)).collect())))
    }
}

/// How many runs of a case with a broken pass [`mutate`] asks for at most.
#[must_use]
pub fn runs(cases: &[MutationCases<'_>], own: &BTreeSet<String>) -> usize {
    cases.iter().flat_map(|cases| cases.able(own)).map(|(_, passes)| passes.len()).sum()
}

/// Breaks those of the passes `own` that the cases have exercised. `done` is called for each of the [`runs`], also for those
/// that are not needed because another case has noticed.
#[must_use]
pub fn mutate(
    cases: &[MutationCases<'_>],
    own: &BTreeSet<String>,
    shelf: &PackShelf,
    scenes: SceneReader<'_>,
    jobs: usize,
    done: &(dyn Fn() + Sync),
) -> MutationResult {
    let out = Mutex::new(MutationResult::default());
    let lock = || out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    each(cases, jobs, |cases| {
        let file = cases.file;
        let Ok(mut shared) = file.rules(shelf) else { return };
        for (ran, passes) in cases.able(own).filter(|(_, passes)| !passes.is_empty()) {
            let Some(case) = file.cases.iter().find(|case| case.name == ran.name) else { continue };
            let Ok(mut laid) = rules_of(file, case, shelf) else { continue };
            let mut bounds = None;
            for pass in passes {
                done();
                if lock().killed.contains(pass) {
                    continue;
                }
                let rules = laid.as_mut().unwrap_or(&mut shared);
                let bounds = *bounds.get_or_insert_with(|| bounds_of(|| notices(file, case, rules, scenes)));
                let Some(undo) = break_pass(rules, pass) else { continue };
                let noticed = {
                    let _door = bounds.map(BudgetScope::open);
                    notices(file, case, rules, scenes)
                };
                mend_pass(rules, pass, undo);
                let mut found = lock();
                if noticed {
                    found.survived.remove(pass);
                    found.killed.insert(pass.clone());
                } else if !found.killed.contains(pass) {
                    found.survived.insert(pass.clone());
                }
            }
        }
    });
    out.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The bounds of a case whose pass is broken, by the work of the case as it is. None are set where a counter around the whole
/// case makes it fail: the size of what a build is given is then not added to the bounds of the build.
fn bounds_of(notices: impl FnOnce() -> bool) -> Option<WorkLimits> {
    let door = BudgetScope::open(WorkLimits { steps: u64::MAX, bytes: u64::MAX });
    let failed = notices();
    let (steps, bytes) = door.spent();
    let of = |spent: u64, more: u64| spent.saturating_mul(TIMES).saturating_add(more);
    (!failed).then(|| WorkLimits { steps: of(steps, MORE.steps), bytes: of(bytes, MORE.bytes) })
}

/// The conditions that a pass had before it was broken.
type PassConditions = (Option<Cond>, Option<Cond>);

fn break_pass(rules: &mut Ruleset, name: &str) -> Option<PassConditions> {
    let pass = rules.programs_mut()?.pass_mut(name)?;
    let undo = (pass.when.clone(), pass.select.filter.clone());
    let not = |cond: Cond| Some(Cond::Not(Box::new(cond)));
    match (pass.select.filter.take(), pass.when.take()) {
        (Some(filter), when) => {
            pass.when = when;
            pass.select.filter = not(filter);
        }
        (None, Some(when)) => pass.when = not(when),
        (None, None) => pass.when = Some(Cond::Const(false)),
    }
    Some(undo)
}

fn mend_pass(rules: &mut Ruleset, name: &str, (when, filter): PassConditions) {
    if let Some(pass) = rules.programs_mut().and_then(|programs| programs.pass_mut(name)) {
        pass.when = when;
        pass.select.filter = filter;
    }
}
