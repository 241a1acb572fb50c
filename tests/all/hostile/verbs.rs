//! Verbs that could do more than one build may: lists that grow, texts that are joined, items that are cut.

use serde_json::json;
use tapster::{BuildError, ErrorKind, Scene, build};

use crate::own;

/// A build that makes `count` items, each with `item`, and then runs one more pass.
fn ended(count: usize, item: &str, pass: &str) -> Result<(), BuildError> {
    let rules = format!(
        "kind = \"pipeline\"\nversion = 1\n\
         [[pass]]\nname = \"build/made\"\nbefore = \"hooks\"\ndo = \"add\"\nitem = {{ id = \"k\", text = \"t\" }}\n\
         [[pass]]\nname = \"build/many\"\nafter = \"made\"\nlist = \"blocks\"\ndo = \"add\"\n\
         each = {{ fn = \"range\", of = 0, to = {count} }}\nitem = {{ id = \"{{{{@}}}}\", role = \"user\", {item} }}\n\
         [[pass]]\nname = \"build/first\"\nafter = \"many\"\nlist = \"blocks\"\n{pass}\n"
    );
    let rules = own::pack("", &[("pipeline.toml", &rules)]).unwrap_or_else(|e| panic!("{e}"));
    build(&rules, &Scene::new(&json!({ "dialect": "openai" }))).map(drop)
}

#[test]
fn verbs_that_do_too_much_end_with_the_bound() {
    let long = "do = \"set\"\nset = { \"$own\" = { fn = \"repeat\", of = \"a\", times = 7_900_000 } }\n";
    let joins =
        "[[pass]]\nname = \"build/second\"\nafter = \"first\"\nlist = \"blocks\"\ndo = \"merge\"\nsame = [\"role\"]\njoin = \"{{$own}}\"";
    let (letter, named) = ("text = \"a\"", "text = \"a\", name = { fn = \"repeat\", of = \"a\", times = 1_000 }");
    let pieces = "text = { fn = \"repeat\", of = \"a,\", times = 100_000 }";
    for (count, item, pass) in [
        (20_000, letter, "do = \"place\"\nagainst = \"now\"\nat = \"start\"".to_owned()),
        (1_000, letter, format!("{long}{joins}")),
        // the text of each item joins a text that becomes longer and longer
        (5_000, named, "do = \"merge\"\ninto = { id = \"k\" }\nfield = \"name\"\njoin = \"x\"".to_owned()),
        // no item accepts another one, so each is asked
        (30_000, letter, "do = \"merge\"\ninto = { id = \"zz\" }".to_owned()),
        (60, pieces, "do = \"split\"\ncut = \"/,/\"".to_owned()),
        (60, pieces, format!("do = \"split\"\ncut = \"/{}a/\"", "()".repeat(1_500))),
    ] {
        let error = ended(count, item, &pass).err().unwrap_or_else(|| panic!("`{pass}` over {count} items has no bound"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{pass}: {error}");
        assert!(matches!(error.stage.as_deref(), Some("first" | "second")), "{error}");
    }
}

#[test]
fn verbs_that_do_much_at_once_end() {
    let placed = ended(20_000, "text = \"a\"", "do = \"place\"\nat = \"start\"");
    assert!(placed.err().is_none_or(|error| *error.kind() != ErrorKind::Bound), "all at once move the list once");
    let heads = "do = \"split\"\ncut = \"/([0-9]),/\"\nheads = { fn = \"range\", of = 0, to = 20_000 }";
    assert!(ended(1, "text = { fn = \"repeat\", of = \"7,\", times = 20_000 }", heads).is_ok());
}

#[test]
fn thousands_of_dice_in_one_text_end_with_the_bound() {
    for pack in ["base", "sillytavern", "sillytavern-exact"] {
        let rules = tapster::Ruleset::open(pack, &[]).unwrap();
        let scene = |rolls: usize| Scene::new(&json!({ "card": { "description": "{{roll::9999d9999}}".repeat(rolls) }, "history": [] }));
        let error = build(&rules, &scene(9_000)).err().unwrap_or_else(|| panic!("{pack}: dice without a bound"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{pack}: {error}");
        assert!(build(&rules, &scene(20)).is_ok(), "{pack}");
    }
}
