//! Why a pass has not run or a slot is not among those of the prompt: the `when` that did not hold, and values with which it
//! would.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::model::{Plan, Value};

use super::gate::Known;
use super::remedy::{Edit, Trials, path};
use super::why;
use super::why_not::{Asked, is_sent};

impl Asked<'_> {
    /// A row of `slot` that is not among the slots of the prompt.
    pub(super) fn slot(&self, name: &str) -> Json {
        let sent = |plan: &Plan| is_sent(plan, name);
        let mut trials = Trials::new(self.probe.rules, self.scene, &sent, self.budget);
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
                self.try_gate(pass, &mut trials);
                "the prompt has no such slot: the pass that adds all slots was skipped, so the prompt order of the preset decides"
            }
            None => "the prompt has no such slot",
        };
        self.answer("slot", name, says, pass.map(|pass| self.probe.pass(pass, None, Known::Nothing)), trials)
    }

    /// Tries to make the parts of a gate hold that do not.
    fn try_gate(&self, pass: &str, trials: &mut Trials<'_>) {
        let (mut edits, mut said) = (Vec::new(), Vec::new());
        for part in self.probe.when(pass).iter().filter(|part| part.holds == Some(false) && !part.path.is_empty()) {
            let steps = path(&part.path);
            match meeting(&part.test, part.how == "not") {
                Some(Some(value)) => {
                    trials.set(&steps, value.clone());
                    said.push(format!("{} = {}", part.path, super::gate::short(&value)));
                    edits.push((steps, Edit::Set(value)));
                }
                Some(None) => {
                    trials.leave_out(&steps, None);
                    said.push(format!("no {}", part.path));
                    edits.push((steps, Edit::Remove));
                }
                None => {}
            }
        }
        if trials.found.is_empty() && edits.len() > 1 {
            trials.attempt(&format!("together: {}", said.join(", ")), None, &edits);
        }
    }

    /// A pass that has not run.
    pub(super) fn pass(&self, name: &str) -> Json {
        let trace = self.probe.plan.trace.as_ref();
        let ran = |plan: &Plan| plan.trace.iter().flat_map(|trace| &trace.passes).any(|pass| pass.pass == name);
        let times = trace.iter().flat_map(|trace| &trace.passes).filter(|pass| pass.pass == name).count();
        let item = trace.iter().flat_map(|trace| &trace.elsewhere).find(|item| item.gone.as_ref().is_some_and(|gone| gone.pass == name));
        let pass = self.probe.pass(name, item.map(|item| &item.fields), Known::Nothing);
        if times > 0 {
            let says = format!("it ran {times} time{}", if times == 1 { "" } else { "s" });
            return json!({ "kind": "pass", "name": name, "sent": true, "says": says, "stopped_by": pass, "remedies": [], "builds": 0 });
        }
        let mut trials = Trials::new(self.probe.rules, self.scene, &ran, self.budget);
        if trace.is_some_and(|trace| trace.skipped.iter().any(|(pass, _)| pass == name)) {
            self.try_gate(name, &mut trials);
            return self.answer("pass", name, "it was skipped, because its `when` does not hold", Some(pass), trials);
        }
        // nothing has called its program: the first caller that was skipped says why
        let (mut program, mut seen) = (name.rsplit_once('/').map_or(name, |(program, _)| program).to_owned(), BTreeSet::new());
        while seen.insert(program.clone()) {
            let callers = why::callers(self.probe, &program);
            let was_skipped = |caller: &&String| trace.is_some_and(|trace| trace.skipped.iter().any(|(pass, _)| pass == *caller));
            if let Some(caller) = callers.iter().find(was_skipped) {
                self.try_gate(caller, &mut trials);
                let says = format!("its program was not run: pass `{caller}`, which leads to it, was skipped");
                return self.answer("pass", name, &says, Some(self.probe.pass(caller, None, Known::Nothing)), trials);
            }
            let Some(caller) = callers.first() else { break };
            program = caller.rsplit_once('/').map_or(caller.as_str(), |(program, _)| program).to_owned();
        }
        self.answer("pass", name, "no pass that ran has run its program in this build", Some(pass), trials)
    }
}

/// A value with which a test holds: `Some(None)` if the path must have no value; `None` if it cannot be said.
fn meeting(test: &Json, negated: bool) -> Option<Option<Value>> {
    let literal = |json: &Json| (!json.as_str().is_some_and(|text| text.starts_with(['$', '@']))).then(|| Some(Value::from(json)));
    match test {
        Json::Bool(wanted) => Some(Some(Value::Bool(*wanted != negated))),
        _ if negated => Some(None),
        Json::String(_) | Json::Number(_) => literal(test),
        Json::Array(list) => list.first().and_then(literal),
        Json::Object(tests) if tests.len() == 1 => {
            let (word, value) = tests.iter().next()?;
            let number = |by: f64| value.as_f64().map(|n| Some(Value::from(&json!(n + by))));
            match (word.as_str(), value) {
                ("exists" | "nonempty" | "given", Json::Bool(true)) => Some(Some(Value::text("x"))),
                ("exists" | "nonempty" | "given", Json::Bool(false)) => Some(None),
                ("ne", Json::Bool(is)) => Some(Some(Value::Bool(!is))),
                ("ge" | "le", _) => number(0.0),
                ("gt", _) => number(1.0),
                ("lt", _) => number(-1.0),
                ("in" | "starts", Json::Array(list)) => list.first().and_then(literal),
                _ => None,
            }
        }
        _ => None,
    }
}
