//! Hooks and stages of a contract scene as functions of the application.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster::{Hook, HookView, Value};

use crate::adapters::wire::parts;

/// What hooks have seen.
#[derive(Clone, Default)]
pub(super) struct Seen {
    observed: Arc<Mutex<Json>>,
    evaluated: Arc<AtomicU64>,
}

impl Seen {
    /// What hooks observed, by their ids.
    pub(super) fn observed(&self) -> Json {
        self.observed.lock().map(|seen| seen.clone()).unwrap_or_default()
    }

    /// How often a payload for the trace was worked out.
    pub(super) fn evaluated(&self) -> u64 {
        self.evaluated.load(Ordering::Relaxed)
    }
}

/// The hooks of a case in the order of registration, and those that are its own stages.
pub(super) fn of(input: &Json, seen: &Seen) -> Vec<Hook> {
    let list = |key: &str| input[key].as_array().cloned().unwrap_or_default();
    let hooks = list("hooks").into_iter().map(|h| (h["phase"].clone(), h["id"].clone(), h["do"].clone()));
    let stages = list("custom_stages").into_iter().map(|s| {
        let name = s["name"].as_str().unwrap_or("").to_owned();
        (json!(format!("before_{name}")), json!(name), s["do"].clone())
    });
    hooks.chain(stages).map(|(event, id, actions)| hook(&event, &id, actions, seen.clone())).collect()
}

fn hook(event: &Json, id: &Json, actions: Json, seen: Seen) -> Hook {
    let id = id.as_str().unwrap_or("").to_owned();
    let named = id.clone();
    let run =
        move |view: &mut HookView<'_>| actions.as_array().into_iter().flatten().try_for_each(|action| act(action, &named, view, &seen));
    Hook { event: event.as_str().unwrap_or("").into(), id: id.into(), run: Arc::new(run) }
}

fn act(action: &Json, id: &str, view: &mut HookView<'_>, seen: &Seen) -> Result<(), String> {
    let Some((what, with)) = action.as_object().and_then(|map| map.iter().find(|(key, _)| WORDS.contains(&key.as_str()))) else {
        return Err(format!("the adapter does not know the action {action}"));
    };
    match what.as_str() {
        "log" => {}
        "warn" => view.warn(with.as_str().unwrap_or("")),
        "raise" => return Err(with.as_str().unwrap_or("").to_owned()),
        "set" => view.set(&path(with), Value::from(&action["to"]))?,
        "append_text" => {
            let path = path(with);
            let text = format!("{}{}", view.get(&path).to_text(), action["value"].as_str().unwrap_or(""));
            view.set(&path, Value::text(text))?;
        }
        "copy" => view.set(&path(&action["into"]), view.get(&path(with)))?,
        "append_history" => {
            change(view, "history", |list| list.extend(parts::history(&json!([with])).as_array().cloned().unwrap_or_default()))?
        }
        "remove_history" => change(view, "history", |list| drop(with.as_u64().map(|n| list.remove(n as usize))))?,
        "set_entry" => change(view, "preset.entries", |list| {
            list.iter_mut().filter(|e| e["name"] == *with).for_each(|e| parts::set(e, "text", action["content"].clone()));
        })?,
        // refused, since there are no blocks yet: that is what the case is about
        "set_blocks" => drop(view.set("blocks", Value::from(with))),
        "add_block" => view.add_block(place(&action["at"])?, block(with))?,
        "remove_block" => view.remove_block(find(with, view)?)?,
        "modify_block" => view.set_block(find(with, view)?, "text", Value::from(&action["to"]))?,
        "instrument_lazy" => view.instrument("lazy", || {
            seen.evaluated.fetch_add(1, Ordering::Relaxed);
            Value::Null
        }),
        _ => observe(id, view, seen),
    }
    Ok(())
}

const WORDS: &[&str] = &[
    "log",
    "warn",
    "raise",
    "set",
    "append_text",
    "copy",
    "append_history",
    "remove_history",
    "set_entry",
    "set_blocks",
    "add_block",
    "remove_block",
    "modify_block",
    "instrument_lazy",
    "observe",
];

/// A path of the contract as a path of the scene.
fn path(names: &Json) -> String {
    let names = names.as_array().into_iter().flatten().filter_map(Json::as_str).collect::<Vec<_>>();
    let whole = names.join(".");
    let known = [
        ("macro_vars.", "vars.local."),
        ("character.", "card."),
        ("user.", "names."),
        ("user_message", "input"),
        ("generation_type", "type"),
    ];
    let whole = if whole == "user.name" { "names.user".to_owned() } else { whole };
    known.iter().find_map(|(theirs, ours)| whole.strip_prefix(theirs).map(|rest| format!("{ours}{}", rest))).unwrap_or(whole)
}

fn change(view: &mut HookView<'_>, path: &str, change: impl FnOnce(&mut Vec<Json>)) -> Result<(), String> {
    let mut list = view.get(path).to_json().as_array().cloned().unwrap_or_default();
    change(&mut list);
    view.set(path, Value::from(&Json::Array(list)))
}

fn place(at: &Json) -> Result<usize, String> {
    match at.as_str() {
        Some("start") => Ok(0),
        Some("end") => Ok(usize::MAX),
        _ => at.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(|| format!("the adapter does not know the place {at}")),
    }
}

fn block(message: &Json) -> Value {
    Value::from(&json!({ "role": message["role"], "text": message["content"] }))
}

fn find(by: &Json, view: &HookView<'_>) -> Result<usize, String> {
    view.blocks()
        .iter()
        .position(|b| b.get("text").map(Value::to_json).unwrap_or_default() == by["content"])
        .ok_or_else(|| format!("no block {by}"))
}

fn observe(id: &str, view: &HookView<'_>, seen: &Seen) {
    let on = |b: &Value| b.get("enabled").is_none_or(Value::truthy);
    let contents: Json = view.blocks().iter().filter(|b| on(b)).map(|b| b.get("text").map(Value::to_json).unwrap_or_default()).collect();
    if let Ok(mut observed) = seen.observed.lock() {
        parts::put(&mut observed, id, json!({ "enabled_contents": contents }));
    }
}
