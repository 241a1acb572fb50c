//! Values that an overlay sets and the scene has too: the scene's wins, which whoever wrote the overlay must be told.
//!
//! A pack's own values are only defaults, so only overlays are looked at.

use crate::diag::{Code, FieldMap};
use crate::model::options::TABLE;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::terms::BuildState;

/// The most values that one build warns of.
const MOST: usize = 20;

/// Warns of the values of overlays that have no effect because the scene has its own.
pub(super) fn warn(rules: &Ruleset, scene: &Scene, st: &BuildState) {
    let pack = rules.pack();
    if !pack.layers.iter().any(|layer| layer.overlay) {
        return;
    }
    let mut left = MOST;
    let mut open: Vec<(String, &FieldMap, &Value)> = vec![(String::new(), &pack.values, &scene.data)];
    while let Some((above, values, data)) = open.pop() {
        for (key, field) in values {
            let Some(given) = data.get(key).filter(|given| !given.is_null()) else { continue };
            let path = if above.is_empty() { key.to_string() } else { format!("{above}.{key}") };
            if path == TABLE {
                // options are checked as such
                continue;
            }
            if let (Some(values), Some(_)) = (field.node.as_table(), given.as_map()) {
                open.push((path, values, given));
                continue;
            }
            let layer = pack.sources.layer(field.node.span);
            let is_overlay = pack.layers.iter().any(|known| known.overlay && *known.name == *layer);
            if !is_overlay || Value::from(&field.node) == *given || left == 0 {
                continue;
            }
            left -= 1;
            let message = format!("overlay `{layer}` sets `{path}`, but the scene has a value of its own for it, which wins");
            let help = format!("change it where the scene gets it from, such as a preset or the scene file, or write `--set {path}=…`");
            st.warn_with(Code::LayerBeaten, message, Some(help), None);
        }
    }
}
