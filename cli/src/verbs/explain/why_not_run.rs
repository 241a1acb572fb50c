//! Why a pass has not run or a slot is not among those of the prompt: the `when` that did not hold, and values with which it
//! would.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::model::Plan;

use super::gate::RunKnowledge;
use super::meeting::try_parts;
use super::remedy::ChangeTrials;
use super::why;
use super::why_not::{BuildQuestion, is_sent};

impl BuildQuestion<'_> {
    /// A row of `slot` that is not among the slots of the prompt.
    pub(super) fn slot(&self, name: &str) -> Json {
        let sent = |plan: &Plan| is_sent(plan, name);
        let mut trials = ChangeTrials::new(self.probe.rules, self.scene, &sent, self.budget);
        self.try_source(name, &mut trials);
        let skipped = self.probe.plan.trace.iter().flat_map(|trace| &trace.skipped);
        let rows = self.probe.rules.pack().tables.get("pass");
        let adds = |pass: &str| {
            rows.and_then(|rows| rows.get(pass))
                .and_then(|row| row.fields.get("each"))
                .is_some_and(|each| each.node.to_json().to_string().contains("$table.slot"))
        };
        let pass = skipped.map(|(pass, _)| pass).find(|pass| adds(pass));
        let says = match pass {
            Some(pass) => {
                try_parts(&self.probe.when(pass), &mut trials);
                "the prompt has no such slot: the pass that adds all slots was skipped, so the prompt order of the preset decides"
            }
            None => "the prompt has no such slot",
        };
        self.answer("slot", name, says, pass.map(|pass| self.probe.pass(pass, None, RunKnowledge::Nothing)), trials)
    }

    /// A pass that has not run.
    pub(super) fn pass(&self, name: &str) -> Json {
        let trace = self.probe.plan.trace.as_ref();
        let ran = |plan: &Plan| plan.trace.iter().flat_map(|trace| &trace.passes).any(|pass| pass.pass == name);
        let times = trace.iter().flat_map(|trace| &trace.passes).filter(|pass| pass.pass == name).count();
        let item = trace.iter().flat_map(|trace| &trace.elsewhere).find(|item| item.gone.as_ref().is_some_and(|gone| &*gone.pass == name));
        let pass = self.probe.pass(name, item.map(|item| &item.fields), RunKnowledge::Nothing);
        if times > 0 {
            let says = format!("it ran {times} time{}", if times == 1 { "" } else { "s" });
            return json!({ "kind": "pass", "name": name, "sent": true, "says": says, "stopped_by": pass, "remedies": [], "builds": 0 });
        }
        let mut trials = ChangeTrials::new(self.probe.rules, self.scene, &ran, self.budget);
        if trace.is_some_and(|trace| trace.skipped.iter().any(|(pass, _)| pass == name)) {
            try_parts(&self.probe.when(name), &mut trials);
            return self.answer("pass", name, "it was skipped, because its `when` does not hold", Some(pass), trials);
        }
        // nothing has called its program: the first caller that was skipped says why
        let (mut program, mut seen) = (name.rsplit_once('/').map_or(name, |(program, _)| program).to_owned(), BTreeSet::new());
        while seen.insert(program.clone()) {
            let callers = why::callers(self.probe, &program);
            let was_skipped = |caller: &&String| trace.is_some_and(|trace| trace.skipped.iter().any(|(pass, _)| pass == *caller));
            if let Some(caller) = callers.iter().find(was_skipped) {
                try_parts(&self.probe.when(caller), &mut trials);
                let says = format!("its program was not run: pass `{caller}`, which leads to it, was skipped");
                return self.answer("pass", name, &says, Some(self.probe.pass(caller, None, RunKnowledge::Nothing)), trials);
            }
            let Some(caller) = callers.first() else { break };
            program = caller.rsplit_once('/').map_or(caller.as_str(), |(program, _)| program).to_owned();
        }
        self.answer("pass", name, "no pass that ran has run its program in this build", Some(pass), trials)
    }
}
