//! `tapster explain --why-not THING`: the first rule that kept a block, a lore entry, an injection, a slot, a text or a pass
//! out of the prompt, with the values that it looked at, and what would have to change.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::diag::DocumentNode;
use crate::explain::condition::{self, ConditionPart, ConditionProbe, RunKnowledge, field, paths_in};
use crate::explain::lore::{self, EntryReasons};
use crate::explain::remedy::{ChangeTrials, SceneEdit, ScenePathStep, TrialBudget, entry_steps, steps_of_path, try_parts, value_at};
use crate::explain::why;
use crate::layout::{head, one_line};
use crate::model::plan::TrackedItem;
use crate::model::{Plan, Scene, Value};

/// The most things that are explained at once.
const THINGS: usize = 5;
/// The most characters of a text.
const TEXT: usize = 160;
/// The most values of a scene that are looked through.
const LOOKED_AT: usize = 100_000;
/// The field of rows that holds their condition.
const WHEN: &str = "when";

/// A question about one build.
pub struct BuildQuestion<'a> {
    pub probe: &'a ConditionProbe<'a>,
    pub scene: &'a Scene,
    pub budget: &'a TrialBudget,
}

/// The name of an item: its id, else its name.
fn name_of(fields: &Value) -> String {
    let id = field(fields, "id");
    if id.is_empty() { field(fields, "name") } else { id }
}

/// Whether a block with this id, or else of this slot, is sent with a text.
pub fn is_sent(plan: &Plan, name: &str) -> bool {
    plan.blocks.iter().any(|b| b.enabled() && (b.text("id") == name || b.text("slot") == name) && !b.text("text").is_empty())
}

fn holds_text(plan: &Plan, text: &str) -> bool {
    let text = text.trim();
    plan.blocks.iter().any(|b| b.enabled() && b.text("text").contains(text))
}

impl BuildQuestion<'_> {
    /// The answers, one for each thing that is meant.
    pub fn as_json(&self, wanted: &str) -> Json {
        let plan = self.probe.plan;
        let mut answers = Vec::new();
        if self.probe.rules.pack().tables.get("pass").is_some_and(|rows| rows.contains_key(wanted)) {
            answers.push(self.pass(wanted));
        }
        for exact in [true, false] {
            if !answers.is_empty() {
                break;
            }
            let entries = lore::all_entries(plan)
                .into_iter()
                .filter(|entry| if exact { entry.is_named(wanted) } else { self.entry_holds(entry, wanted) });
            answers.extend(entries.take(THINGS).map(|entry| self.entry(&entry)));
            let off = plan.blocks.iter().filter(|b| !b.enabled());
            let off =
                off.filter(|b| if exact { b.text("id") == wanted || b.text("slot") == wanted } else { b.text("text").contains(wanted) });
            answers.extend(off.take(THINGS).map(|block| self.trimmed(&block.fields)));
            let found = self.items(wanted, exact);
            answers.extend(found.into_iter().take(THINGS).map(|item| self.item(item)));
            let slots = self.probe.rules.pack().tables.get("slot");
            if exact && answers.is_empty() && slots.is_some_and(|rows| rows.contains_key(wanted)) && !is_sent(plan, wanted) {
                answers.push(self.slot(wanted));
            }
            if answers.is_empty() {
                answers.extend(self.sent(wanted, exact));
            }
        }
        if answers.is_empty() {
            answers.extend(self.unread(wanted).or_else(|| self.in_scene(wanted)));
        }
        let left_out = answers.len().saturating_sub(THINGS);
        answers.truncate(THINGS);
        json!({ "asked": wanted, "answers": answers, "left_out": left_out })
    }

    /// The answer for the entry at a place of the scene: the number of its book, and of it in the book.
    pub fn entry_at(&self, place: (usize, usize)) -> Option<Json> {
        let entry = lore::all_entries(self.probe.plan).into_iter().find(|entry| entry.place == Some(place))?;
        Some(self.entry(&entry))
    }

    fn entry_holds(&self, entry: &EntryReasons<'_>, wanted: &str) -> bool {
        let content = entry
            .place
            .and_then(|place| value_at(&self.scene.data, &entry_steps(place)))
            .map(|entry| field(entry, "text"))
            .unwrap_or_default();
        entry.fits(wanted) || content.to_lowercase().contains(&wanted.to_lowercase())
    }

    /// The items that are meant and of which no block is sent: the last that became of each.
    fn items(&self, wanted: &str, exact: bool) -> Vec<&TrackedItem> {
        let plan = self.probe.plan;
        let all = plan.trace.iter().flat_map(|trace| &trace.elsewhere).filter(|item| item.list != "entries" && item.list != "books");
        let meant = |item: &&TrackedItem| match exact {
            true => ["id", "name", "slot"].iter().any(|f| item.fields.get(f).and_then(Value::as_str) == Some(wanted)),
            false => field(&item.fields, "text").contains(wanted),
        };
        let mut out: Vec<&TrackedItem> = Vec::new();
        for item in all.filter(meant) {
            let name = name_of(&item.fields);
            let is_there = if exact { is_sent(plan, &name) } else { holds_text(plan, wanted) };
            if is_there {
                continue;
            }
            // the same thing in two lists: what removed it says more than where it is left
            match out.iter_mut().find(|known| name_of(&known.fields) == name) {
                Some(known) if item.gone.is_some() => *known = item,
                Some(_) => {}
                None => out.push(item),
            }
        }
        out
    }

    pub fn answer(&self, kind: &str, name: &str, says: &str, pass: Option<Json>, trials: ChangeTrials<'_>) -> Json {
        json!({ "kind": kind, "name": name, "sent": false, "says": says, "stopped_by": pass, "remedies": trials.found, "builds": trials.builds, "given_up": trials.is_given_up() })
    }

    fn entry(&self, entry: &EntryReasons<'_>) -> Json {
        let plan = self.probe.plan;
        let (code, steps) = (entry.code().unwrap_or("-").to_owned(), entry.place.map(entry_steps));
        let own = steps.as_ref().and_then(|steps| value_at(&self.scene.data, steps)).cloned().unwrap_or_default();
        if entry.active {
            let says = match entry.block {
                Some(n) => format!("it is active, and its text stands in block {n}"),
                None => {
                    format!("it is active, but no block holds its text as it was placed: its position is `{}`", field(&own, "position"))
                }
            };
            let (name, block) = (entry.name(), entry.block);
            return json!({ "kind": "lore entry", "name": name, "sent": true, "block": block, "says": says, "remedies": [], "builds": 0 });
        }
        let last = entry.reasons.last();
        let sent = |plan: &Plan| lore::all_entries(plan).iter().any(|e| e.place == entry.place && e.active);
        let mut trials = ChangeTrials::new(self.probe.rules, self.scene, &sent, self.budget);
        if let Some(steps) = &steps {
            self.try_keys(entry, &own, &mut trials);
            self.try_fields("entry", steps, &own, &["id", "name", "title", "text", "keys", "order", "comment"], &mut trials);
        }
        let mut paths = BTreeSet::new();
        if let Some(reason) = last {
            self.read_by(&reason.pass, &mut paths);
            if reason.detail.get("needs").is_some() || reason.detail.get("size").is_some() {
                self.table("budget", &mut paths);
            }
        }
        if entry.searched.is_some() {
            self.table("scan_source", &mut paths);
            self.table("matcher", &mut paths);
        }
        condition::follow_paths(self.probe.rules.pack(), &mut paths);
        trials.paths(&paths, &|path| self.probe.read(path));
        let detail = last.filter(|r| !r.detail.is_null()).map(|r| lore::detail_text(r, plan));
        let detail = [detail, entry.searched.map(lore::search_text)].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let stands = lore::block_of(plan, entry).map(|n| format!("its text stands in block {n}, but not by this entry: "));
        let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
        let says = format!("{}its code is `{code}`{detail}", stands.unwrap_or_default());
        let tracked =
            plan.trace.iter().flat_map(|trace| &trace.elsewhere).find(|item| last.is_some_and(|r| r.item != 0 && r.item == item.item));
        let fields = tracked.map_or(&own, |item| &item.fields);
        let pass = last.map(|reason| self.probe.pass(&reason.pass, Some(fields), RunKnowledge::Ran));
        self.answer("lore entry", &format!("{} of book {}", entry.name(), entry.book), &says, pass, trials)
    }

    /// Tries what the newest message would have to say.
    fn try_keys(&self, entry: &EntryReasons<'_>, own: &Value, trials: &mut ChangeTrials<'_>) {
        let Some(searched) = entry.searched else { return };
        let list = |name: &str| {
            own.get(name).and_then(Value::as_list).unwrap_or_default().iter().map(|key| key.to_text().to_string()).collect::<Vec<_>>()
        };
        let is_plain = |key: &&String| !key.is_empty() && !key.starts_with('/') && key.chars().count() <= 60;
        let (first, more) = (list("keys"), list("secondary_keys"));
        let name = |name: &str| ScenePathStep::Name(name.to_owned());
        let history = self.scene.data.get("history").and_then(Value::as_list).unwrap_or_default();
        // the typed message is not part of the chat yet
        let steps = match history.len().checked_sub(1) {
            _ if self.scene.data.get("input").is_some_and(|input| !input.is_empty()) => vec![name("input")],
            Some(newest) => vec![name("history"), ScenePathStep::Index(newest), name("text")],
            None => return,
        };
        let mut say = |words: &str| {
            trials.attempt(&format!("the newest message holds {words:?}"), None, &[(steps.clone(), SceneEdit::Append(words.to_owned()))])
        };
        let candidates = if searched.found.is_empty() { &first } else { &more };
        for key in candidates.iter().filter(is_plain).take(2) {
            if say(key) {
                return;
            }
        }
        if let (Some(key), Some(other)) = (first.iter().find(is_plain), more.iter().find(is_plain))
            && !say(&format!("{key} {other}"))
        {
            let all: Vec<&str> = std::iter::once(key).chain(more.iter().filter(is_plain)).map(String::as_str).collect();
            say(&all.join(" "));
        }
    }

    /// Tries each field of an item of the scene with its default.
    fn try_fields(&self, kind: &str, steps: &[ScenePathStep], own: &Value, but: &[&str], trials: &mut ChangeTrials<'_>) {
        let rows = self.probe.rules.pack().tables.get("field");
        for (name, now) in own.as_map().into_iter().flatten().filter(|(name, _)| !but.contains(&&***name)) {
            let row = rows.and_then(|rows| rows.get(format!("{kind}/{name}").as_str()));
            let default = row.and_then(|row| row.fields.get("default")).map(|field| Value::from(&field.node.to_json()));
            if default.as_ref().is_some_and(|default| default.is_same(now)) || (default.is_none() && now.is_empty()) {
                continue;
            }
            let steps: Vec<ScenePathStep> = steps.iter().cloned().chain([ScenePathStep::Name(name.to_string())]).collect();
            trials.leave_out(&steps, default.as_ref().map(crate::explain::condition::short));
        }
    }

    /// The paths that the rule of a pass reads, and its account.
    fn read_by(&self, pass: &str, out: &mut BTreeSet<String>) {
        let Some(row) = self.probe.rules.pack().tables.get("pass").and_then(|rows| rows.get(pass)) else { return };
        for (name, field) in &row.fields {
            let node = field.node.to_json();
            if &**name == "budget"
                && let Some(account) = node.as_str()
            {
                condition::paths_of_row(self.probe.rules.pack(), "budget", account, out);
            }
            paths_in(&json!({ &**name: node }), out);
        }
    }

    fn table(&self, table: &str, out: &mut BTreeSet<String>) {
        let pack = self.probe.rules.pack();
        for name in pack.tables.get(table).into_iter().flat_map(|rows| rows.keys()) {
            condition::paths_of_row(pack, table, name, out);
        }
    }

    /// A block that trimming has switched off.
    fn trimmed(&self, fields: &Value) -> Json {
        let (plan, name) = (self.probe.plan, name_of(fields));
        let (id, group) = (field(fields, "id"), field(fields, "group"));
        let record = plan.evicted().iter().find(|record| record.id == id && record.group == group);
        let text = field(fields, "text");
        let sent = |plan: &Plan| plan.blocks.iter().any(|b| b.enabled() && b.text("id") == id && b.text("text") == text);
        let mut trials = ChangeTrials::new(self.probe.rules, self.scene, &sent, self.budget);
        let mut paths = BTreeSet::new();
        if let Some(record) = record {
            self.read_by(&record.pass, &mut paths);
        }
        if let Some(report) = &plan.trim_report {
            condition::paths_of_row(self.probe.rules.pack(), "budget", &report.account, &mut paths);
        }
        trials.paths(&paths, &|path| self.probe.read(path));
        let pass = record.map(|record| self.probe.pass(&record.pass, Some(fields), RunKnowledge::Ran));
        let room = plan
            .trim_report
            .as_ref()
            .map(|r| format!(": {} tokens are to fit into {} ", r.initial_tokens, r.budget_tokens))
            .unwrap_or_default();
        let says = match record {
            Some(r) => format!("it was trimmed ({}, {} tokens, group `{}`){}", r.reason(), r.tokens, r.group, room.trim_end()),
            None => "it is switched off".to_owned(),
        };
        self.answer("block", &name, &says, pass, trials)
    }

    /// An item that is in no block.
    fn item(&self, item: &TrackedItem) -> Json {
        // trimming switches a block off, and a later pass may drop what is off
        if matches!(item.fields.get("enabled"), Some(Value::Bool(false)))
            && self.probe.plan.evicted().iter().any(|r| r.id == field(&item.fields, "id"))
        {
            return self.trimmed(&item.fields);
        }
        let name = name_of(&item.fields);
        let slot = field(&item.fields, "slot");
        let kind = format!("item of list `{}`", item.list);
        let sent = |plan: &Plan| is_sent(plan, &name);
        let mut trials = ChangeTrials::new(self.probe.rules, self.scene, &sent, self.budget);
        let Some(gone) = &item.gone else {
            self.try_source(&name, &mut trials);
            let last = item.history.last().map(|event| self.probe.pass(&event.pass, Some(&item.fields), RunKnowledge::Ran));
            let empty = if field(&item.fields, "text").is_empty() { ", and it has no text" } else { "" };
            let says = format!("it is still in the list `{}`: no pass has made a block of it{empty}", item.list);
            return self.answer(&kind, &name, &says, last, trials);
        };
        let pass = self.probe.pass(&gone.pass, Some(&item.fields), RunKnowledge::Ran);
        let tested: Vec<String> = pass
            .get("where")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(|part| part["path"].as_str()?.strip_prefix('@').map(str::to_owned))
            .collect();
        self.try_source(if slot.is_empty() { &name } else { &slot }, &mut trials);
        if tested.iter().any(|field| field == WHEN) {
            self.gates(&name, &item.list).for_each(|when| try_parts(&self.probe.parts(when, None), &mut trials));
        }
        for steps in self.places(&name) {
            for field in &tested {
                let steps: Vec<ScenePathStep> = steps.iter().cloned().chain([ScenePathStep::Name(field.clone())]).collect();
                match value_at(&self.scene.data, &steps) {
                    Some(Value::Bool(now)) => _ = trials.set(&steps, Value::Bool(!now)),
                    Some(_) => _ = trials.leave_out(&steps, None),
                    None => {}
                }
            }
        }
        let mut paths = BTreeSet::new();
        self.read_by(&gone.pass, &mut paths);
        trials.paths(&paths, &|path| self.probe.read(path));
        let says = match gone.did {
            "lost" => "it lost its place: the place that the pass names does not exist",
            "merged" => "it was merged into another item",
            _ => "it was dropped",
        };
        let mut answer = self.answer(&kind, &name, says, Some(pass), trials);
        if let Some(fields) = answer.as_object_mut() {
            fields.insert("rows".into(), self.rows_of(&name, &item.list, &tested));
        }
        answer
    }

    /// The conditions of the rows with this name from which items of a list come.
    fn gates<'s>(&'s self, name: &'s str, list: &str) -> impl Iterator<Item = &'s DocumentNode> {
        let lists = &self.probe.rules.programs().rules.lists;
        let tables = lists.iter().find(|known| &*known.name == list).map(|list| list.rows.as_slice()).unwrap_or_default();
        let rows = tables.iter().filter_map(move |table| self.probe.rules.pack().tables.get(table)?.get(name));
        rows.filter_map(|row| row.fields.get(WHEN)).map(|field| &field.node)
    }

    /// Where the rules give an item of this name the fields that decided.
    fn rows_of(&self, name: &str, list: &str, fields: &[String]) -> Json {
        let gates: &[&DocumentNode] = &self.gates(name, list).collect::<Vec<_>>();
        let pack = self.probe.rules.pack();
        let rows = pack.tables.iter().filter_map(|(table, rows)| Some((table, rows.get(name)?)));
        let said = rows.flat_map(|(table, row)| {
            let of = row.fields.iter().filter(|(key, _)| fields.iter().any(|field| field.as_str() == &***key));
            of.filter_map(move |(key, field)| {
                let value = head(&field.node.to_json().to_string(), TEXT);
                let is_gate = &**key == WHEN && gates.iter().any(|gate| std::ptr::eq(*gate, &field.node));
                let parts: Vec<Json> = self.probe.parts(&field.node, None).iter().filter(|_| is_gate).map(ConditionPart::as_json).collect();
                Some(json!({ "row": format!("[[{table}]] {name}"), "field": &**key, "value": value, "parts": parts, "place": super::rules::place(pack, field.node.span)? }))
            })
        });
        said.collect()
    }

    /// Tries to give the value that a slot is read from a text.
    pub fn try_source(&self, slot: &str, trials: &mut ChangeTrials<'_>) {
        let row = self.probe.rules.pack().tables.get("slot").and_then(|rows| rows.get(slot));
        let source =
            row.and_then(|row| row.fields.get("source")).and_then(|field| field.node.as_text()).and_then(|source| source.strip_prefix('$'));
        let Some(source) = source.filter(|source| self.probe.read(source).is_empty()) else { return };
        let flag = format!("--set '{source}=…'");
        trials.attempt(
            &format!("give {source} a text (it is empty now)"),
            Some(flag),
            &[(steps_of_path(source), SceneEdit::Set(Value::text("x")))],
        );
    }

    /// The places of the scene that hold a table with this id or name.
    fn places(&self, name: &str) -> Vec<Vec<ScenePathStep>> {
        let mut open: Vec<(Vec<ScenePathStep>, &Value)> = vec![(Vec::new(), &self.scene.data)];
        let (mut out, mut looked) = (Vec::new(), 0);
        while let Some((steps, value)) = open.pop() {
            looked += 1;
            if looked > LOOKED_AT || steps.len() > 8 {
                continue;
            }
            let below = |step: ScenePathStep| steps.iter().cloned().chain([step]).collect::<Vec<_>>();
            match value {
                Value::List(list) => open.extend(
                    list.iter().enumerate().filter(|(_, v)| v.as_map().is_some()).map(|(n, v)| (below(ScenePathStep::Index(n)), v)),
                ),
                Value::Map(map) => {
                    if ["id", "name", "slot"].iter().any(|key| value.get(key).and_then(Value::as_str) == Some(name)) {
                        out.push(steps.clone());
                    }
                    let inner = map.iter().filter(|(key, v)| &***key != "history" && matches!(v, Value::List(_) | Value::Map(_)));
                    open.extend(inner.map(|(key, v)| (below(ScenePathStep::Name(key.to_string())), v)));
                }
                _ => {}
            }
        }
        out
    }

    /// A block that is sent after all.
    fn sent(&self, wanted: &str, exact: bool) -> Option<Json> {
        let plan = self.probe.plan;
        let of = |b: &&crate::model::PlanBlock| {
            if exact { b.text("id") == wanted || b.text("slot") == wanted } else { b.text("text").contains(wanted) }
        };
        let index = plan.blocks.iter().position(|b| b.enabled() && of(&b))?;
        let says = format!("it is sent, in block {index}");
        Some(json!({ "kind": "block", "name": wanted, "sent": true, "block": index, "says": says, "remedies": [], "builds": 0 }))
    }

    /// A message of the chat that no pass has read.
    fn unread(&self, wanted: &str) -> Option<Json> {
        let history = self.scene.data.get("history").and_then(Value::as_list)?;
        let index = history.iter().rposition(|message| field(message, "id") == wanted || field(message, "text").contains(wanted))?;
        let text = history.get(index).map(|message| field(message, "text"))?;
        let sent = |plan: &Plan| holds_text(plan, &text);
        let mut trials = ChangeTrials::new(self.probe.rules, self.scene, &sent, self.budget);
        let record = self.probe.plan.evicted().iter().find(|record| record.unread.is_some());
        let mut paths = BTreeSet::new();
        if let Some(record) = record {
            self.read_by(&record.pass, &mut paths);
        }
        if let Some(report) = &self.probe.plan.trim_report {
            condition::paths_of_row(self.probe.rules.pack(), "budget", &report.account, &mut paths);
        }
        trials.paths(&paths, &|path| self.probe.read(path));
        let read = record.map_or_else(
            || "no block holds it".to_owned(),
            |r| format!("there was no room for it: {} older messages were never read", r.unread.unwrap_or_default()),
        );
        let says = format!("it is message {index} of {} of the chat; {read}", history.len());
        let pass = record.map(|record| self.probe.pass(&record.pass, None, RunKnowledge::Ran));
        Some(self.answer("message", &head(wanted, TEXT), &says, pass, trials))
    }

    /// A text of the scene that no block holds.
    fn in_scene(&self, wanted: &str) -> Option<Json> {
        let mut open: Vec<(Vec<ScenePathStep>, &Value)> = vec![(Vec::new(), &self.scene.data)];
        let mut looked = 0;
        while let Some((steps, value)) = open.pop() {
            looked += 1;
            if looked > LOOKED_AT {
                return None;
            }
            let below = |step: ScenePathStep| steps.iter().cloned().chain([step]).collect::<Vec<_>>();
            match value {
                Value::Text(text) if text.contains(wanted) => {
                    let place = crate::explain::remedy::path_text(&steps);
                    let readers = self.readers(&place);
                    let says = format!("the text stands in the scene at `{place}`, but no block holds it{readers}");
                    return Some(
                        json!({ "kind": "text", "name": head(wanted, TEXT), "sent": false, "says": says, "remedies": [], "builds": 0 }),
                    );
                }
                Value::List(list) => open.extend(list.iter().enumerate().map(|(n, v)| (below(ScenePathStep::Index(n)), v))),
                Value::Map(map) => open.extend(map.iter().map(|(key, v)| (below(ScenePathStep::Name(key.to_string())), v))),
                _ => {}
            }
        }
        None
    }

    /// The passes that read a path, and whether they ran.
    fn readers(&self, place: &str) -> String {
        let pack = self.probe.rules.pack();
        let passes = pack.tables.get("pass").into_iter().flat_map(|rows| rows.keys());
        let reading = passes.filter(|name| {
            let mut paths = BTreeSet::new();
            condition::paths_of_row(pack, "pass", name, &mut paths);
            paths.contains(place)
        });
        let named: Vec<String> = reading.take(4).map(|name| format!("`{name}`")).collect();
        if named.is_empty() { String::new() } else { format!("; it is read by {} (ask `--why-not PASS`)", named.join(", ")) }
    }
}

impl BuildQuestion<'_> {
    /// A row of `slot` that is not among the slots of the prompt.
    pub fn slot(&self, name: &str) -> Json {
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
    pub fn pass(&self, name: &str) -> Json {
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

/// All answers.
pub fn as_text(json: &Json) -> String {
    let text = |json: &Json| one_line(json.as_str().unwrap_or_default());
    let mut out = String::new();
    let answers = json["answers"].as_array().cloned().unwrap_or_default();
    for (n, answer) in answers.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        let more = match answer.get("block") {
            Some(Json::Null) => "; `--lore` and `--changes` say more".to_owned(),
            Some(block) => format!("; `--why {block}` says why"),
            None => String::new(),
        };
        out.push_str(&format!("{} {}: {}{more}\n", text(&answer["kind"]), text(&answer["name"]), text(&answer["says"])));
        if !answer["stopped_by"].is_null() {
            why::pass_text(if answer["sent"] == true { "pass" } else { "stopped at" }, &answer["stopped_by"], &mut out);
        }
        for row in answer["rows"].as_array().into_iter().flatten() {
            out.push_str(&format!(
                "  {} has `{}` = {} ({}); an overlay can say otherwise\n",
                text(&row["row"]),
                text(&row["field"]),
                text(&row["value"]),
                text(&row["place"])
            ));
            why::indented(&condition::condition_lines(&row["parts"]), &mut out);
        }
        let remedies = answer["remedies"].as_array().cloned().unwrap_or_default();
        if !remedies.is_empty() {
            out.push_str("  each of these changes would let it pass (built again to make sure)\n");
        } else if answer["sent"] != true && answer["builds"].as_u64() > Some(0) {
            out.push_str(&format!("  none of the {} changes that were tried lets it pass\n", answer["builds"]));
        }
        if answer["given_up"] == true {
            out.push_str("  the builds became too much work, so not every change was tried\n");
        }
        for remedy in &remedies {
            let flag = remedy["flag"].as_str().map(|flag| format!("    {}", one_line(flag))).unwrap_or_default();
            out.push_str(&format!("    {}{flag}\n", text(&remedy["change"])));
        }
    }
    if let Some(more) = json["left_out"].as_u64().filter(|more| *more > 0) {
        out.push_str(&format!("\n{more} more are meant; say more of its name or text\n"));
    }
    out
}
