//! Breaks each pass, one after another, and sees whether a case notices: the `where` of the pass is negated, else its
//! `when`; a pass that has neither is dropped.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::pack::{Ruleset, Shelf};
use crate::terms::Cond;
use crate::verbs::Pass;

use super::files::CaseFile;
use super::play::SceneReader;
use super::runner::{Tested, each, judge, rules_of};

/// What became of the broken passes.
#[derive(Debug, Default)]
pub struct Mutated {
    /// Passes whose breaking was noticed.
    pub killed: BTreeSet<String>,
    /// Passes that a case runs, and whose breaking no case noticed.
    pub survived: BTreeSet<String>,
}

/// How a pass is broken, in words.
#[must_use]
pub fn how(pass: &Pass) -> &'static str {
    if pass.select.filter.is_some() {
        "with its `where` negated"
    } else if pass.when.is_some() {
        "with its `when` negated"
    } else {
        "dropped"
    }
}

/// Breaks every pass that cases of these files have exercised. `files` and `tested` belong together.
#[must_use]
pub fn mutate(files: &[&CaseFile], tested: &[&Tested], shelf: &Shelf, scenes: SceneReader<'_>, jobs: usize) -> Mutated {
    let out = Mutex::new(Mutated::default());
    let lock = || out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let both: Vec<(&CaseFile, &Tested)> = files.iter().copied().zip(tested.iter().copied()).collect();
    each(&both, jobs, |(file, tested)| {
        let Ok(mut shared) = file.rules(shelf) else { return };
        for ran in tested.cases.iter().filter(|ran| ran.complaints.is_empty()) {
            let Some(case) = file.cases.iter().find(|case| case.name == ran.name) else { continue };
            let Some(covered) = &ran.covered else { continue };
            let Ok(mut own) = rules_of(file, case, shelf) else { continue };
            for pass in covered.passes.keys() {
                if lock().killed.contains(pass) {
                    continue;
                }
                let rules = own.as_mut().unwrap_or(&mut shared);
                let Some(undo) = break_pass(rules, pass) else { continue };
                let noticed = judge(file, case, rules, scenes, false).iter().any(|turn| !turn.holds());
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

/// The conditions that a pass had before it was broken.
type Undo = (Option<Cond>, Option<Cond>);

fn break_pass(rules: &mut Ruleset, name: &str) -> Option<Undo> {
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

fn mend_pass(rules: &mut Ruleset, name: &str, (when, filter): Undo) {
    if let Some(pass) = rules.programs_mut().and_then(|programs| programs.pass_mut(name)) {
        pass.when = when;
        pass.select.filter = filter;
    }
}
