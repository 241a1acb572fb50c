//! Verbs that could do more than they pay for: lists that grow, texts that are joined, items that are cut. Each test counts
//! steps and bytes of work, never time.

use serde_json::json;
use tapster::{BuildError, ErrorKind, Scene, WorkLimits, build};

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

/// That the work of a build ends in this pass, before it has taken more than one build may.
fn is_bounded(count: usize, item: &str, pass: &str) {
    let error = ended(count, item, pass).err().unwrap_or_else(|| panic!("`{pass}` over {count} items has no bound"));
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
    assert!(matches!(error.stage.as_deref(), Some("first" | "second")), "{error}");
}

#[test]
fn placing_one_after_another_pays_for_the_list_that_moves() {
    is_bounded(20_000, "text = \"a\"", "do = \"place\"\nagainst = \"now\"\nat = \"start\"");
    let at_once = ended(20_000, "text = \"a\"", "do = \"place\"\nat = \"start\"");
    assert!(at_once.err().is_none_or(|error| *error.kind() != ErrorKind::Bound), "all at once move the list once");
}

#[test]
fn what_merge_joins_is_paid_before_it_is_made() {
    let long = "do = \"set\"\nset = { \"$own\" = { fn = \"repeat\", of = \"a\", times = 7_900_000 } }\n";
    let joins =
        "[[pass]]\nname = \"build/second\"\nafter = \"first\"\nlist = \"blocks\"\ndo = \"merge\"\nsame = [\"role\"]\njoin = \"{{$own}}\"";
    is_bounded(1_000, "text = \"a\"", &format!("{long}{joins}"));
    // the text of each item joins a text that becomes longer and longer
    let item = "text = \"a\", name = { fn = \"repeat\", of = \"a\", times = 1_000 }";
    is_bounded(5_000, item, "do = \"merge\"\ninto = { id = \"k\" }\nfield = \"name\"\njoin = \"x\"");
    // no item accepts another one, so each is asked
    is_bounded(12_000, "text = \"a\"", "do = \"merge\"\ninto = { id = \"zz\" }");
}

#[test]
fn each_piece_that_split_makes_is_paid_when_it_is_made() {
    let item = "text = { fn = \"repeat\", of = \"a,\", times = 100_000 }";
    is_bounded(60, item, "do = \"split\"\ncut = \"/,/\"");
    is_bounded(60, item, &format!("do = \"split\"\ncut = \"/{}a/\"", "()".repeat(1_500)));
}

#[test]
fn split_finds_a_head_among_many_without_asking_each() {
    let item = "text = { fn = \"repeat\", of = \"7,\", times = 20_000 }";
    let pass = "do = \"split\"\ncut = \"/([0-9]),/\"\nheads = { fn = \"range\", of = 0, to = 20_000 }";
    assert!(ended(1, item, pass).is_ok());
}

#[test]
fn thousands_of_dice_in_one_text_are_paid() {
    for pack in ["base", "sillytavern", "sillytavern-exact"] {
        let rules = tapster::Ruleset::open(pack, &[]).unwrap();
        let scene = |rolls: usize| Scene::new(&json!({ "card": { "description": "{{roll::9999d9999}}".repeat(rolls) }, "history": [] }));
        let error = build(&rules, &scene(9_000)).err().unwrap_or_else(|| panic!("{pack}: dice without a bound"));
        assert_eq!(*error.kind(), ErrorKind::Bound, "{pack}: {error}");
        assert!(build(&rules, &scene(20)).is_ok(), "{pack}");
        // a draw is remembered, so a small bound of bytes ends sooner
        let scene = Scene { work: WorkLimits { bytes: 4 << 20, ..WorkLimits::default() }, ..scene(100) };
        assert_eq!(*build(&rules, &scene).err().unwrap().kind(), ErrorKind::Bound, "{pack}");
    }
}
