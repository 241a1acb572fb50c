//! What a chat keeps from one turn to the next: the state of the scene, with the variables of macros.

use serde_json::{Map, Value as Json};

use crate::model::{Scene, Value};

/// What the scene of a turn begins with: its `state`, with its `vars`.
#[must_use]
pub fn kept(scene: &Scene) -> Json {
    let mut state = match scene.get("state").to_json() {
        Json::Object(state) => state,
        _ => Map::new(),
    };
    if let vars @ Json::Object(_) = scene.get("vars").to_json() {
        state.insert("vars".to_owned(), vars);
    }
    Json::Object(state)
}

/// Puts what was kept into a scene, in the place of what the scene says.
pub fn restore(scene: &mut Scene, kept: &Json) {
    let Json::Object(mut state) = kept.clone() else { return };
    if let Some(vars) = state.remove("vars") {
        scene.set("vars", Value::from(&vars));
    }
    scene.set("state", Value::from(&Json::Object(state)));
}

/// The state with a patch laid over it: each name of the patch replaces the one of the state, and each variable the
/// variable of that store and name. What is null is removed.
#[must_use]
pub fn patched(state: Json, patch: &Json) -> Json {
    let mut state = match state {
        Json::Object(state) => state,
        _ => Map::new(),
    };
    for (name, value) in patch.as_object().into_iter().flatten() {
        match value {
            Json::Object(stores) if name == "vars" => {
                for (store, values) in stores {
                    for (key, value) in values.as_object().into_iter().flatten() {
                        put_at(&mut state, &["vars", store, key], value);
                    }
                }
            }
            value => put(&mut state, name, value),
        }
    }
    Json::Object(state)
}

/// Sets `within.names[0].names[1]…`, or removes it if the value is null; what is in the way and not a table is replaced.
fn put_at(within: &mut Map<String, Json>, names: &[&str], value: &Json) {
    match names {
        [] => {}
        [name] => put(within, name, value),
        [name, rest @ ..] => {
            let mut inner = match within.get_mut(*name).map(Json::take) {
                Some(Json::Object(inner)) => inner,
                _ => Map::new(),
            };
            put_at(&mut inner, rest, value);
            within.insert((*name).to_owned(), Json::Object(inner));
        }
    }
}

fn put(within: &mut Map<String, Json>, key: &str, value: &Json) {
    if value.is_null() {
        within.shift_remove(key);
    } else {
        within.insert(key.to_owned(), value.clone());
    }
}
