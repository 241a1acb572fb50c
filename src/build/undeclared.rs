//! Names in a scene that no rule reads; most of them are misspelt.
//!
//! Only names are checked, from the top down to the first one that the pack declares as a whole, so the cost is small
//! compared to a build.

use crate::diag::{Code, suggest};
use crate::model::options::TABLE;
use crate::model::{Scene, Value};
use crate::pack::Ruleset;
use crate::terms::BuildState;

use super::typed::misfits;

/// The most paths that one build warns of.
const MOST: usize = 20;
/// How many names of one table are compared with the declared ones.
const MOST_KEYS: usize = 500;

/// Warns of the scene's paths that no rule of the pack declares.
pub(super) fn warn(rules: &Ruleset, scene: &Scene, st: &BuildState) {
    for (_, message) in unread(rules, &scene.data) {
        st.warn(Code::SceneField, message);
    }
    for fault in rules.options().faults(scene.data.get(TABLE).unwrap_or(&Value::Null)) {
        st.warn_with(fault.code, fault.message, Some(fault.help), None);
    }
    for misfit in misfits(rules, &scene.data) {
        st.warn_with(misfit.code(), misfit.message, Some(misfit.help), None);
    }
}

/// The paths of a scene that no rule of the pack declares, each with what is said of it.
pub fn unread(rules: &Ruleset, data: &Value) -> Vec<(String, String)> {
    let said = |path: String| {
        let near = suggest::nearest(&path, rules.programs().rules.names.path_names());
        let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = format!("no rule of pack `{}` reads `{path}`{help}", rules.pack().name);
        (path, message)
    };
    undeclared(rules, data).into_iter().map(said).collect()
}

fn undeclared(rules: &Ruleset, data: &Value) -> Vec<String> {
    let names = &rules.programs().rules.names;
    let mut found = Vec::new();
    let mut open = vec![(String::new(), data)];
    while let Some((path, value)) = open.pop() {
        if found.len() >= MOST {
            break;
        }
        match value {
            Value::Null => {}
            // options are checked as such
            _ if path == TABLE => {}
            // a table that is declared as such may hold anything but a misspelt name of its own
            Value::Map(map) if names.paths.contains_key(path.as_str()) => {
                let paths = map.keys().take(MOST_KEYS).map(|key| format!("{path}.{key}"));
                found.extend(paths.filter(|path| names.near_sibling(path).is_some()));
            }
            _ if names.paths.contains_key(path.as_str()) => {}
            Value::Map(map) if path.is_empty() || names.knows_path(&path) => {
                let dot = if path.is_empty() { "" } else { "." };
                open.extend(map.iter().rev().map(|(key, value)| (format!("{path}{dot}{key}"), value)));
            }
            _ if names.knows_path(&path) => {}
            _ => found.push(path),
        }
    }
    found.truncate(MOST);
    found
}
