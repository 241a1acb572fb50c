//! `tapster explain --value PATH`: which part of the inputs decided a value of the scene: the pack, an overlay, a preset, the
//! card, the scene file or a flag; or which hook, script or pass of the build did.

use serde_json::{Value as Json, json};

use crate::build::ScenePart;
use crate::explain::cache::setter;
use crate::explain::changes;
use crate::explain::condition::{ConditionProbe, short};
use crate::explain::rules::place;
use crate::layout::{place_of, table};
use crate::model::options::TABLE;
use crate::model::plan::TracedChange;
use crate::model::{Plan, Value};

/// What one part says about a value: its name, the value, and where it is written.
type ValueLayer = (String, Value, Option<String>);

/// What each part of the inputs and of the build says about a value, lowest first, and which of them decided.
pub fn as_json(path: &str, probe: &ConditionProbe<'_>, parts: &[ScenePart]) -> Json {
    let path = path.trim_start_matches('$');
    let now = probe.read(path);
    let mut layers: Vec<ValueLayer> = path_layer(path, probe).into_iter().chain(pack_layers(path, probe)).collect();
    for part in parts {
        if let Some(value) = part.scene.at(path).filter(|value| !value.is_null()) {
            layers.push((part_name(part), value.clone(), None));
        }
    }
    let given = probe.given.at(path).cloned().unwrap_or_default();
    if !given.is_null() && !layers.iter().any(|(_, value, _)| value.is_same(&given)) {
        layers.push((assembler_name(probe), given, None));
    }
    layers.extend(build_layers(path, &now, probe));
    // the seed has a value although nobody gives one
    if layers.is_empty() && probe.plan.scene.at(path).is_some_and(|value| value.is_same(&now)) && !now.is_null() {
        layers.push(("default of the build".to_owned(), now.clone(), None));
    }
    let decided = layers.iter().rposition(|(_, value, _)| value.is_same(&now));
    let layer = |(n, (name, value, place)): (usize, &ValueLayer)| json!({ "layer": name, "value": short(value), "place": place, "decides": decided == Some(n) });
    let decided_by = decided.and_then(|n| layers.get(n)).map(|(name, ..)| name);
    json!({ "path": path, "value": short(&now), "decided_by": decided_by, "layers": layers.iter().enumerate().map(layer).collect::<Vec<_>>() })
}

/// The default of a path that the pack declares.
fn path_layer(path: &str, probe: &ConditionProbe<'_>) -> Option<ValueLayer> {
    let pack = probe.rules.pack();
    let default = pack.tables.get("path")?.get(path)?.fields.get("default")?;
    Some(("default of the path".to_owned(), Value::from(&default.node.to_json()), place(pack, default.node.span)))
}

/// What the pack says with its overlays: one of its values, or an option.
fn pack_layers(path: &str, probe: &ConditionProbe<'_>) -> Vec<ValueLayer> {
    let pack = probe.rules.pack();
    let (section, rest) = path.split_once('.').unwrap_or((path, ""));
    if section == TABLE && !pack.options.is_empty() {
        return option_layers(rest, probe);
    }
    let node = pack.values.get(section).map(|field| &field.node);
    let node = rest.split('.').filter(|name| !name.is_empty()).try_fold(node, |node, name| Some(node?.get(name))).flatten();
    node.map(|node| (format!("pack {}", pack.name), Value::from(&node.to_json()), place(pack, node.span))).into_iter().collect()
}

/// The default of an option, and what the highest overlay makes of it.
fn option_layers(name: &str, probe: &ConditionProbe<'_>) -> Vec<ValueLayer> {
    let pack = probe.rules.pack();
    if name.is_empty() {
        return vec![(format!("options of pack {}", pack.name), pack.options.values(&Value::Null), None)];
    }
    let Some(option) = pack.options.get(name) else { return Vec::new() };
    let decides = |layer: &str| {
        let is_overlay = pack.layers.iter().any(|known| known.overlay && *known.name == *layer);
        format!("{} {layer}", if is_overlay { "overlay" } else { "pack" })
    };
    let mut out = vec![(format!("{}, default", decides(&option.default_from)), option.default.clone(), place(pack, option.default_span))];
    if option.value_span != option.default_span {
        out.push((decides(&option.value_from), option.value.clone(), place(pack, option.value_span)));
    }
    out
}

/// What made the scene of its parts, if it is what none of them says.
fn assembler_name(probe: &ConditionProbe<'_>) -> String {
    match probe.rules.programs().find("scene") {
        Some(_) => "program `scene` of the pack".to_owned(),
        None => "the parts of the scene, laid over each other".to_owned(),
    }
}

/// What hooks, scripts and passes set, in the order in which they ran.
fn build_layers(path: &str, now: &Value, probe: &ConditionProbe<'_>) -> Vec<ValueLayer> {
    let (plan, rules) = (probe.plan, probe.rules);
    let mut found: Vec<(Option<usize>, ValueLayer)> = Vec::new();
    for change in plan.trace.iter().flat_map(|trace| &trace.changes).filter(|change| change.list.is_empty()) {
        let Some(value) = changed_value(change, path, now) else { continue };
        let below = if change.path.len() > path.len() { format!(" ({})", change.path) } else { String::new() };
        let layer = format!("{}{below}", changes::change_source(change));
        found.push((last_run(plan, &change.pass), (layer, value, changes::change_place(change, rules))));
    }
    if let Some(pass) = setter(plan, rules, &format!("${path}")).filter(|_| plan.set.at(path).is_some()) {
        found.push((last_run(plan, &pass), (format!("pass {pass}"), now.clone(), place_of(rules, &pass))));
    }
    found.sort_by_key(|(ran, _)| *ran);
    found.into_iter().map(|(_, layer)| layer).collect()
}

/// The value that a change gave to a path: its own, one below it, or one that it lies in.
fn changed_value(change: &TracedChange, path: &str, now: &Value) -> Option<Value> {
    let below = |long: &str, short: &str| long.strip_prefix(short).and_then(|rest| rest.strip_prefix('.')).map(str::to_owned);
    match below(path, &change.path) {
        _ if change.path == path => Some(change.is.clone()),
        Some(rest) => change.is.at(&rest).filter(|value| !value.is_null()).cloned(),
        None => below(&change.path, path).map(|_| now.clone()),
    }
}

/// When a pass ran last.
fn last_run(plan: &Plan, pass: &str) -> Option<usize> {
    plan.trace.as_ref()?.passes.iter().rposition(|known| known.pass == pass)
}

fn part_name(part: &ScenePart) -> String {
    match part.kind.as_str() {
        "file" => "scene file".to_owned(),
        "flags" => "flags, and keys of the scene file beside `scene`".to_owned(),
        kind if part.stem.is_empty() => kind.to_owned(),
        kind => format!("{kind} {}", part.stem),
    }
}

pub fn as_text(json: &Json) -> String {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let mut out = format!("{} = {}\n", text(&json["path"]), text(&json["value"]));
    let row = |layer: &Json| {
        let mark = if layer["decides"] == true { "decides" } else { "hidden" };
        vec![mark.to_owned(), text(&layer["layer"]), text(&layer["place"]), text(&layer["value"])]
    };
    let rows: Vec<Vec<String>> = json["layers"].as_array().into_iter().flatten().map(row).collect();
    if rows.is_empty() {
        out.push_str("  nothing gives it a value; `tapster ops --scene` lists the paths that a pack reads\n");
    }
    out.push_str(&table(&rows));
    out
}
