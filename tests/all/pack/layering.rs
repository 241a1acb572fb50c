//! How layers merge, and where each value came from.

use super::*;

#[test]
fn a_new_row_is_appended_and_an_old_one_patched_key_by_key() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "[[slot]]\nname = \"a\"\nn = 1\nwhere = { x = 1, y = 2 }\n");
    dir.pack("p", BASE, "[[slot]]\nname = \"b\"\n[[slot]]\nname = \"a\"\nwhere = { x = 3 }\nfresh = true\n");
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "slot"), ["a", "b"]);
    // a term is one value: `y` does not survive
    assert_eq!(row(&loaded, "slot", "a"), serde_json::json!({ "n": 1, "where": { "x": 3 }, "fresh": true }));
    let pack = loaded.pack.unwrap();
    assert_eq!(pack.layers.iter().map(|l| &*l.name).collect::<Vec<_>>(), ["low", "p"]);
    assert_eq!(pack.tables["slot"]["a"].patched.len(), 1);
    assert_eq!(pack.shadowed.len(), 1);
    assert_eq!(loaded.sources.snippet(pack.shadowed[0].old), "{ x = 1, y = 2 }");
    assert_eq!(loaded.sources.snippet(pack.shadowed[0].by), "{ x = 3 }");
}

#[test]
fn every_value_knows_where_it_came_from() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "[lore]\ndepth = 4\nnames = true\n[[slot]]\nname = \"a\"\nn = 1\n");
    dir.pack("p", BASE, "[lore]\ndepth = 2\n[[slot]]\nname = \"a\"\nm = 2\n");
    let loaded = dir.load("p");
    let pack = loaded.pack.as_ref().unwrap();
    let place = |span| pack.sources.place(span).unwrap();
    let lore = pack.values["lore"].node.as_table().unwrap();
    let (depth, names) = (place(lore["depth"].node.span), place(lore["names"].node.span));
    assert_eq!((&*depth.layer, depth.line, depth.column), ("p", 4, 9));
    assert_eq!((&*names.layer, names.line, names.column), ("low", 5, 9));
    let a = &pack.tables["slot"]["a"];
    assert_eq!((&*place(a.span).layer, place(a.span).line), ("low", 6));
    assert_eq!(place(a.fields["n"].key).to_string(), format!("{}:8:1", dir.path("low/rules.toml").display()));
    assert_eq!((&*place(a.fields["m"].node.span).layer, place(a.patched[0]).line), ("p", 5));
}

#[test]
fn values_merge_key_by_key_and_lists_are_replaced() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "[lore]\ndepth = 4\nkeys = [1, 2]\n[lore.deep]\na = 1\nb = 2\n");
    dir.pack("p", BASE, "[lore]\nkeys = [3]\ndeep.b = 3\n");
    let loaded = dir.load("p");
    clean(&loaded);
    let values = loaded.pack.unwrap().values;
    assert_eq!(values["lore"].node.to_json(), serde_json::json!({ "depth": 4, "keys": [3], "deep": { "a": 1, "b": 3 } }));
}

#[test]
fn limits_of_manifests_are_values_and_the_rest_of_them_is_not() {
    let dir = Folder::new("pack");
    dir.pack("p", "[limits]\nrounds = 3\n", "");
    let pack = dir.load("p").pack.unwrap();
    assert_eq!(pack.values.keys().map(|k| &**k).collect::<Vec<_>>(), ["limits"]);
}

#[test]
fn rows_are_replaced_removed_and_moved() {
    let dir = Folder::new("pack");
    dir.pack("low", "", &format!("{THREE}[[slot]]\nname = \"d\"\n"));
    let rules = "[[slot]]\nname = \"a\"\nreplace = true\nm = 9\n[[slot]]\nname = \"b\"\nremove = true\n\
                 [[slot]]\nname = \"d\"\nbefore = \"a\"\n[[slot]]\nname = \"e\"\nafter = \"f\"\n[[slot]]\nname = \"f\"\nafter = \"b\"\n";
    dir.pack("p", BASE, rules);
    let loaded = dir.load("p");
    clean(&loaded);
    // `f` stands where it was put although its neighbour `b` goes; `e` follows it, although written first
    assert_eq!(names(&loaded, "slot"), ["d", "a", "f", "e", "c"]);
    assert_eq!(row(&loaded, "slot", "a"), serde_json::json!({ "m": 9 }));
    assert_eq!(row(&loaded, "slot", "d"), serde_json::json!({}));
}

#[test]
fn long_chains_of_moves_end_in_order() {
    let dir = Folder::new("pack");
    let row = |n: usize| format!("[[slot]]\nname = \"s{n}\"\nafter = \"s{}\"\n", n + 1);
    dir.pack("p", "", &format!("{}[[slot]]\nname = \"s3000\"\n", (0..3000).map(row).collect::<String>()));
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "slot"), (0..=3000).rev().map(|n| format!("s{n}")).collect::<Vec<_>>());
}

#[test]
fn rows_that_chase_each_other_or_themselves_are_harmless() {
    let dir = Folder::new("pack");
    dir.pack("low", "", THREE);
    dir.pack(
        "p",
        BASE,
        "[[slot]]\nname = \"a\"\nafter = \"b\"\n[[slot]]\nname = \"b\"\nafter = \"a\"\n[[slot]]\nname = \"c\"\nbefore = \"c\"\n",
    );
    let loaded = dir.load("p");
    assert!(one(&loaded, Code::MoveUnknown).message.ends_with("which is itself"));
    assert_eq!(names(&loaded, "slot"), ["b", "a", "c"]);
}

#[test]
fn files_of_the_pack_come_before_those_of_its_folders() {
    let dir = Folder::new("pack");
    let file = |name: &str| format!("kind = \"lore\"\nversion = 1\n[[slot]]\nname = \"{name}\"\n");
    dir.pack("p", "", "")
        .file("p/a/x.toml", file("in a folder"))
        .file("p/z.toml", file("z"))
        .file("p/b.json", "{\"kind\": \"lore\", \"version\": 1, \"slot\": [{\"name\": \"b\"}]}");
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "slot"), ["b", "z", "in a folder"]);
}

#[test]
fn passes_move_inside_their_own_program() {
    let dir = Folder::new("pack");
    dir.pack(
        "low",
        "",
        "[[pass]]\nname = \"x/a\"\ndo = \"drop\"\n[[pass]]\nname = \"y/a\"\ndo = \"drop\"\n[[pass]]\nname = \"y/b\"\ndo = \"drop\"\n",
    );
    dir.pack(
        "p",
        BASE,
        "[[pass]]\nname = \"y/new\"\ndo = \"drop\"\nafter = \"a\"\n[[pass]]\nname = \"x/new\"\ndo = \"drop\"\nbefore = \"x/a\"\n",
    );
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "pass"), ["x/new", "x/a", "y/a", "y/new", "y/b"]);
}

#[test]
fn a_pass_keeps_its_verb_unless_replaced() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "[[pass]]\nname = \"x/a\"\ndo = \"drop\"\n[[pass]]\nname = \"x/b\"\ndo = \"drop\"\nwhere = {}\n");
    dir.pack("p", BASE, "[[pass]]\nname = \"x/a\"\ndo = \"add\"\n[[pass]]\nname = \"x/b\"\ndo = \"add\"\nreplace = true\n");
    let loaded = dir.load("p");
    let verb = one(&loaded, Code::ChangesVerb);
    assert_eq!(at(&loaded, verb), ("5:6".to_owned(), "\"add\""));
    assert_eq!(loaded.sources.snippet(verb.related[0].0), "\"drop\"");
    assert_eq!(loaded.report.items().len(), 1);
    assert_eq!(row(&loaded, "pass", "x/b"), serde_json::json!({ "do": "add" }));
}

#[test]
fn what_does_not_exist_cannot_be_patched_removed_or_named() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "[[pass]]\nname = \"lore/print\"\ndo = \"drop\"\n");
    let rules = "[[pass]]\nname = \"lore/prnt\"\nwhere = {}\n[[slot]]\nname = \"x\"\nremove = true\n\
                 [[pass]]\nname = \"lore/new\"\ndo = \"drop\"\nafter = \"prin\"\n";
    dir.pack("p", BASE, rules);
    let loaded = dir.load("p");
    assert_eq!(one(&loaded, Code::PatchesNothing).help.as_deref(), Some("did you mean `lore/print`?"));
    assert_eq!(at(&loaded, one(&loaded, Code::RemoveUnknown)).1, "\"x\"");
    let moved = one(&loaded, Code::MoveUnknown);
    assert_eq!((at(&loaded, moved).1, moved.help.as_deref()), ("\"prin\"", Some("did you mean `lore/print`?")));
}

#[test]
fn a_replaced_program_drops_the_passes_below() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "[[program]]\nname = \"x\"\n[[pass]]\nname = \"x/a\"\ndo = \"drop\"\n[[pass]]\nname = \"xy/a\"\ndo = \"drop\"\n");
    dir.pack("p", BASE, "[[program]]\nname = \"x\"\nover = \"slots\"\nreplace = true\n[[pass]]\nname = \"x/b\"\ndo = \"set\"\n");
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "pass"), ["xy/a", "x/b"]);
}

#[test]
fn arrange_orders_rows_among_their_places() {
    let dir = Folder::new("pack");
    dir.pack("low", "", &format!("{THREE}[[pass]]\nname = \"x/a\"\ndo = \"drop\"\n[[pass]]\nname = \"x/b\"\ndo = \"drop\"\n"));
    dir.pack("p", BASE, "[arrange]\nslot = [\"c\", \"a\"]\npass.\"x\" = [\"b\", \"a\"]\n");
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "slot"), ["c", "b", "a"]);
    assert_eq!(names(&loaded, "pass"), ["x/b", "x/a"]);
    assert!(!loaded.pack.unwrap().values.contains_key("arrange"));
    dir.pack("q", BASE, "[arrange]\nslot = [\"c\", \"zzzz\", \"c\"]\n");
    let loaded = dir.load("q");
    assert_eq!(at(&loaded, one(&loaded, Code::MoveUnknown)).1, "\"zzzz\"");
    one(&loaded, Code::LayerTwice);
}

#[test]
fn a_patch_of_another_text_is_stale() {
    let dir = Folder::new("pack");
    dir.pack("p", "", THREE);
    let fields = &dir.load("p").pack.unwrap().tables["slot"]["a"].fields;
    let print = tapster::machinery::pack::fingerprint::of_row("a", fields);
    clean(&dir.load_over("p", &[&format!("[[slot]]\nname = \"a\"\nexpects = \"{}\"\nn = 5\n", &print[..8])]));
    let loaded = dir.load_over("p", &["[[slot]]\nname = \"a\"\nexpects = \"0123456789\"\nn = 5\n"]);
    let stale = one(&loaded, Code::LayerStale);
    assert_eq!(stale.severity, Severity::Warning);
    assert!(stale.related[0].1.contains("\"n\":1") && stale.related[1].1.contains("\"n\":5"), "{stale:?}");
    assert!(stale.help.as_ref().unwrap().contains(&print[..12]));
    assert_eq!(row(&loaded, "slot", "a"), serde_json::json!({ "n": 5 }));
    one(&dir.load_over("p", &["[[slot]]\nname = \"a\"\nexpects = \"012\"\n"]), Code::SchemaValue);
}

#[test]
fn overlays_that_disagree_are_told_and_the_later_wins() {
    let dir = Folder::new("pack");
    dir.pack("p", "", &format!("{THREE}[lore]\ndepth = 1\n"));
    let loaded = dir.load_over(
        "p",
        &["[[slot]]\nname = \"a\"\nn = 5\nm = 1\n[lore]\ndepth = 2\n", "[[slot]]\nname = \"a\"\nn = 6\nm = 1\n[lore]\ndepth = 3\n"],
    );
    let conflicts: Vec<_> = loaded.report.items().iter().map(|d| (d.code.known(), at(&loaded, d).1)).collect();
    assert_eq!(conflicts, [(Some(Code::LayerConflict), "6"), (Some(Code::LayerConflict), "3")]);
    assert_eq!(row(&loaded, "slot", "a"), serde_json::json!({ "n": 6, "m": 1 }));
    let loaded = dir.load_over("p", &["[[slot]]\nname = \"a\"\nn = 5\n", "[[slot]]\nname = \"a\"\nremove = true\n"]);
    one(&loaded, Code::LayerConflict);
    assert_eq!(names(&loaded, "slot"), ["b", "c"]);
}

#[test]
fn an_overlay_says_what_it_is_for() {
    let dir = Folder::new("pack");
    dir.pack("p", "", THREE);
    clean(&dir.load_over("p", &["name = \"mine\"\nextends = \"p\"\ndirection = \"new to old\"\n[[slot]]\nname = \"a\"\nn = 0\n"]));
    let loaded = dir.load_over("p", &["extends = \"q\"\n"]);
    assert_eq!(one(&loaded, Code::PackMissing).severity, Severity::Warning);
    assert!(loaded.pack.unwrap().layers[1].overlay);
}

#[test]
fn each_pack_counts_once_and_lower_ones_come_first() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "[[slot]]\nname = \"low\"\n").pack("left", BASE, "").pack("right", BASE, "[[slot]]\nname = \"right\"\n");
    dir.pack("top", "extends = [{ name = \"left\" }, { name = \"right\" }]\n", "");
    let loaded = dir.load("top");
    clean(&loaded);
    let pack = loaded.pack.unwrap();
    assert_eq!(pack.layers.iter().map(|l| &*l.name).collect::<Vec<_>>(), ["low", "left", "right", "top"]);
    assert_eq!(&*pack.name, "top");
}

#[test]
fn the_fingerprint_is_of_what_the_rules_say() {
    let print = |rules: &str, json: bool| {
        let dir = Folder::new("pack");
        dir.pack("p", "", "");
        dir.file(if json { "p/x.json" } else { "p/x.toml" }, rules);
        dir.load("p").pack.unwrap().fingerprint
    };
    let toml = print("kind = \"lore\"\nversion = 1\n# why\n[[slot]]\nname = \"a\"\nn = 1\nm = 2\n", false);
    let json = print("{\"kind\": \"lore\", \"version\": 1, \"slot\": [{ \"m\": 2, \"n\": 1, \"name\": \"a\" }]}", true);
    assert_eq!(toml, json);
    assert_ne!(toml, print("kind = \"lore\"\nversion = 1\n[[slot]]\nname = \"a\"\nn = 1\nm = 3\n", false));
}

#[test]
fn scripts_and_templates_are_kept_apart_and_hidden_by_higher_ones() {
    let dir = Folder::new("pack");
    dir.pack("low", "", "")
        .file("low/scripts/a.rhai", "1")
        .file("low/templates/t.txt", "not = rules")
        .file("low/templates/t.json", r#"{"id":"t","task":"x","name":"T","version":1,"layout":[],"slots":{}}"#)
        .file("low/cases/c.toml", "not read");
    dir.pack("p", BASE, "").file("p/scripts/a.rhai", "2").file("p/README.md", "read me");
    let loaded = dir.load("p");
    clean(&loaded);
    let pack = loaded.pack.unwrap();
    let texts: Vec<_> = pack.assets.iter().map(|(path, id)| (path.to_string(), pack.sources.get(*id).unwrap().text.to_string())).collect();
    assert_eq!(texts, [("scripts/a.rhai".to_owned(), "2".to_owned()), ("templates/t.txt".to_owned(), "not = rules".to_owned())]);
    assert!(pack.tables["template"].contains_key("t"), "a rule file is a template");
}
