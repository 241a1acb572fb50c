//! What a build does with its whole input: a seed counts wherever it is written, and a report names every account.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use serde_json::{Value as Json, json};
use tapster::{Ruleset, Scene};

const SHUFFLED: &str = r#"
kind = "overlay"
version = 1
name = "shuffled"
[[path]]
name = "shuffled"
type = "list"
[[program]]
name = "shuffled"
over = "blocks"
[[pass]]
name = "shuffled/all"
do = "set"
set = { "$shuffled" = { of = { fn = "split", of = "abcdefghijklmnop", sep = "" }, draw = "shuffle", take = 5, get = "@" } }
"#;

fn shuffled(seed: &str, data: &Json) -> Json {
    let rules = Ruleset::open_with("base", &[("shuffled.toml", SHUFFLED)]).unwrap();
    let scene = Scene { seed: seed.to_owned(), ..Scene::new(data) };
    tapster::run(&rules, "shuffled", &scene, &[]).unwrap().get("shuffled").to_json()
}

#[test]
fn a_seed_in_the_data_of_a_scene_decides_draws() {
    let of_scene = shuffled("x", &json!({}));
    assert_eq!(shuffled("", &json!({ "seed": "x" })), of_scene);
    assert_eq!(shuffled("", &json!({ "seed": 7 })), shuffled("7", &json!({})));
    assert_ne!(shuffled("", &json!({ "seed": "y" })), of_scene);
}

const TWICE: &str = r#"
kind = "overlay"
version = 1
name = "twice"
[[account]]
name = "short"
size = 6
ruler = "chat_message"
[[pass]]
name = "group_order/short"
before = "history"
do = "evict"
account = "short"
where = { group = "history" }
"#;

#[test]
fn a_trim_report_names_every_account() {
    let scene = Scene::new(&json!({ "context": { "window": 12, "tokenizer": "words" } }));
    let blocks = json!([
        { "id": "1", "role": "user", "group": "history", "text": "one two three" },
        { "id": "2", "role": "user", "group": "history", "text": "four five six" },
        { "id": "3", "role": "user", "group": "history", "text": "seven" },
    ]);
    let report = |overlays: &[(&str, &str)]| {
        let rules = Ruleset::open_with("base", overlays).unwrap();
        let outcome = tapster::run(&rules, "group_order", &scene, &[("blocks", blocks.clone())]).unwrap();
        json!(outcome.trim_report("blocks").unwrap().unwrap())
    };
    assert!(report(&[]).get("accounts").is_none(), "one account is the account of the report");
    let both = report(&[("twice.toml", TWICE)]);
    let accounts: Vec<&str> = both["accounts"].as_array().unwrap().iter().map(|a| a["account"].as_str().unwrap()).collect();
    assert_eq!(accounts, ["short", "prompt"]);
    assert_eq!(both["accounts"][0]["budget_tokens"], 6);
}
