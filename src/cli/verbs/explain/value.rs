//! `tapster explain --value PATH`: which part of the inputs decided a value of the scene: the pack, a preset, the card, the
//! scene file or a flag.

use serde_json::{Value as Json, json};

use crate::assemble::ScenePart;
use crate::model::Value;

use crate::cli::layout::table;

use super::cache::setter;
use super::gate::{Probe, short};
use super::rules::place;
use crate::cli::layout::place_of;

/// What each part of the inputs says about a value, lowest first, and which of them decided.
pub(super) fn as_json(path: &str, probe: &Probe<'_>, parts: &[ScenePart]) -> Json {
    let path = path.trim_start_matches('$');
    let pack = probe.rules.pack();
    let now = probe.read(path);
    let (section, rest) = path.split_once('.').unwrap_or((path, ""));
    let node = pack.values.get(section).map(|field| &field.node);
    let node = rest.split('.').filter(|name| !name.is_empty()).try_fold(node, |node, name| Some(node?.get(name))).flatten();
    let mut layers: Vec<(String, Value, Option<String>)> = Vec::new();
    if let Some(node) = node {
        layers.push((format!("pack {}", pack.name), Value::from(&node.to_json()), place(pack, node.span)));
    }
    for part in parts {
        if let Some(value) = part.scene.at(path).filter(|value| !value.is_null()) {
            layers.push((label(part), value.clone(), None));
        }
    }
    let scene = probe.plan.scene.at(path).cloned().unwrap_or_default();
    if !scene.is_null() && !layers.iter().any(|(_, value, _)| value.is_same(&scene)) {
        layers.push(("program `scene` of the pack".to_owned(), scene, None));
    }
    if let Some(pass) = setter(probe.plan, probe.rules, &format!("${path}")).filter(|_| probe.plan.set.at(path).is_some()) {
        layers.push((format!("pass {pass}"), now.clone(), place_of(probe.rules, &pass)));
    }
    let decided = layers.iter().rposition(|(_, value, _)| value.is_same(&now));
    let layer = |(n, (name, value, place)): (usize, &(String, Value, Option<String>))| json!({ "layer": name, "value": short(value), "place": place, "decides": decided == Some(n) });
    let decided_by = decided.and_then(|n| layers.get(n)).map(|(name, ..)| name);
    json!({ "path": path, "value": short(&now), "decided_by": decided_by, "layers": layers.iter().enumerate().map(layer).collect::<Vec<_>>() })
}

fn label(part: &ScenePart) -> String {
    match part.kind.as_str() {
        "file" => "scene file".to_owned(),
        "flags" => "flags, and keys of the scene file beside `scene`".to_owned(),
        kind if part.stem.is_empty() => kind.to_owned(),
        kind => format!("{kind} {}", part.stem),
    }
}

pub(super) fn as_text(json: &Json) -> String {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let mut out = format!("{} = {}\n", text(&json["path"]), text(&json["value"]));
    let row = |layer: &Json| {
        let mark = if layer["decides"] == true { "decides" } else { "hidden" };
        vec![mark.to_owned(), text(&layer["layer"]), text(&layer["place"]), text(&layer["value"])]
    };
    let rows: Vec<Vec<String>> = json["layers"].as_array().into_iter().flatten().map(row).collect();
    if rows.is_empty() {
        out.push_str("  nothing gives it a value; `tapster ops` lists the paths that a pack reads\n");
    }
    out.push_str(&table(&rows));
    out
}
