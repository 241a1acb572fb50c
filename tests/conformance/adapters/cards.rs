//! `contract-cards`: one card out of many.

use serde_json::{Value as Json, json};

use crate::case::{Case, Check};
use crate::compare::fits;
use crate::engine::{self, CONTRACT, Scene};

/// Members with their cards, merged.
pub(crate) fn contract(case: &Case) -> Vec<Check> {
    let input = &case.input;
    let members = input["members"].as_array().into_iter().flatten();
    let members: Json = members.map(|id| member(id, &input["cards"][id.as_str().unwrap_or("")])).collect();
    let scene = Scene::new(json!({
        "group": {
            "active": true, "mode": input["generation_mode"], "disabled_members": input["disabled_members"],
            "join_prefix": input["join_prefix"], "join_suffix": input["join_suffix"],
        },
        "speaker": input["current_speaker"],
        "overrides": input["overrides"],
        "members": members,
    }));
    let actual = match engine::run(CONTRACT, "merge_cards", scene, &[]) {
        Ok(ran) => json!({ "merged": merged(&ran.get("card")) }),
        Err(error) => error,
    };
    vec![case.check(actual, fits)]
}

/// The joined fields of a card; nothing if there is none.
pub(super) fn merged(card: &Json) -> Json {
    let fields = ["description", "personality", "scenario", "mes_example"];
    if fields.iter().all(|f| card[*f].is_null()) {
        return Json::Null;
    }
    fields.iter().map(|f| ((*f).to_owned(), card[*f].clone())).collect::<serde_json::Map<_, _>>().into()
}

fn member(id: &Json, card: &Json) -> Json {
    json!({ "id": id, "name": card["name"], "card": card })
}
