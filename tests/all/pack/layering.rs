//! How layers merge, and where each value came from.

use crate::pack::*;

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
fn long_chains_of_moves_end_in_order() {
    let dir = Folder::new("pack");
    let row = |n: usize| format!("[[slot]]\nname = \"s{n}\"\nafter = \"s{}\"\n", n + 1);
    dir.pack("p", "", &format!("{}[[slot]]\nname = \"s3000\"\n", (0..3000).map(row).collect::<String>()));
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "slot"), (0..=3000).rev().map(|n| format!("s{n}")).collect::<Vec<_>>());
}

#[test]
fn the_fingerprint_is_of_what_the_rules_say() {
    let print = |rules: &str, json: bool| {
        let dir = Folder::new("pack");
        dir.pack("p", "", "");
        dir.file(if json { "p/x.json" } else { "p/x.toml" }, rules);
        super::fingerprint::of_pack(&dir.load("p").pack.unwrap())
    };
    let toml = print("kind = \"lore\"\nversion = 1\n# why\n[[slot]]\nname = \"a\"\nn = 1\nm = 2\n", false);
    let json = print("{\"kind\": \"lore\", \"version\": 1, \"slot\": [{ \"m\": 2, \"n\": 1, \"name\": \"a\" }]}", true);
    assert_eq!(toml, json);
    assert_ne!(toml, print("kind = \"lore\"\nversion = 1\n[[slot]]\nname = \"a\"\nn = 1\nm = 3\n", false));
}

// Changes of single elements of a list that a lower layer wrote.

const LOW: &str = "[[slot]]\nname = \"a\"\nby = [\"-order\", { role = [\"x\", \"y\"] }, \"index\", { key = \"id\", collate = \"utf16\" }]\n\
                   steps = [{ trim = \"both\" }, { when = { x = 1 }, prefix = \"(\" }, { name = \"end\", suffix = \")\" }]\n\
                   numbers = [1, 2, 3]\nwhere = { text = \"t\", any = [{ x = 1 }, { fact = \"one\" }, { fact = \"two\" }] }\n";

fn edited(edit: &str) -> serde_json::Value {
    let dir = Folder::new("pack");
    dir.pack("low", "", LOW).pack("p", BASE, &format!("[[slot]]\nname = \"a\"\n{edit}\n"));
    let loaded = dir.load("p");
    clean(&loaded);
    row(&loaded, "slot", "a")
}

fn refused(edit: &str, code: Code) -> (String, String, String) {
    let dir = Folder::new("pack");
    dir.pack("low", "", LOW).pack("p", BASE, &format!("[[slot]]\nname = \"a\"\n{edit}\n"));
    let loaded = dir.load("p");
    let found = one(&loaded, code);
    (found.message.clone(), at(&loaded, found).1.to_owned(), found.help.clone().unwrap_or_default())
}

#[test]
fn elements_are_found_by_what_they_are_called() {
    let by = |edit: &str| edited(edit)["by"].clone();
    let (role, id) = (serde_json::json!({ "role": ["x", "y"] }), serde_json::json!({ "key": "id", "collate": "utf16" }));
    assert_eq!(by("edit.by = { insert = \"-front\", before = \"index\" }"), serde_json::json!(["-order", role, "-front", "index", id]));
    assert_eq!(by("edit.by = { insert = [\"b\", \"c\"], after = \"role\" }"), serde_json::json!(["-order", role, "b", "c", "index", id]));
    assert_eq!(by("edit.by = { insert = \"last\" }"), serde_json::json!(["-order", role, "index", id, "last"]));
    assert_eq!(by("edit.by = { remove = \"-order\" }"), serde_json::json!([role, "index", id]));
    assert_eq!(by("edit.by = { remove = [\"id\", \"role\"] }"), serde_json::json!(["-order", "index"]));
    assert_eq!(by("edit.by = { replace = \"id\", with = \"id\" }"), serde_json::json!(["-order", role, "index", "id"]));
    assert_eq!(
        by("edit.by = { replace = \"index\", with = [\"round\", \"-index\"] }"),
        serde_json::json!(["-order", role, "round", "-index", id])
    );
    assert_eq!(by("edit.by = { remove = { role = [\"x\", \"y\"] } }"), serde_json::json!(["-order", "index", id]));
    // places count from 0; changes are made one after another
    assert_eq!(
        by("edit.by = [{ remove = 0 }, { insert = \"new\", before = 0 }, { remove = \"new\" }]"),
        serde_json::json!([role, "index", id])
    );
    assert_eq!(edited("edit.numbers = { insert = 9, before = 1 }")["numbers"], serde_json::json!([1, 9, 2, 3]));
}

#[test]
fn steps_and_conditions_are_lists_too() {
    let steps = edited("[[slot.edit.steps]]\ninsert = { replace = { find = \"a\", with = \"b\" } }\nbefore = \"prefix\"\n[[slot.edit.steps]]\nremove = \"end\"")["steps"].clone();
    assert_eq!(
        steps,
        serde_json::json!([{ "trim": "both" }, { "replace": { "find": "a", "with": "b" } }, { "when": { "x": 1 }, "prefix": "(" }])
    );
    let whole = edited("edit.where.any = [{ insert = { y = 2 } }, { remove = { fact = \"two\" } }, { remove = \"x\" }]");
    assert_eq!(whole["where"], serde_json::json!({ "text": "t", "any": [{ "fact": "one" }, { "y": 2 }] }));
    // the same path in quotes, and beside a term that is written whole
    let whole = edited("numbers = [7]\nedit.\"where.any\" = { remove = 0 }");
    assert_eq!((&whole["numbers"], &whole["where"]["any"][0]), (&serde_json::json!([7]), &serde_json::json!({ "fact": "one" })));
}

#[test]
fn what_the_list_does_not_have_is_told_with_the_nearest() {
    let (message, place, help) = refused("edit.by = { remove = \"-ordr\" }", Code::MoveUnknown);
    assert_eq!((message.as_str(), place.as_str()), ("the list below has no element `-ordr`", "\"-ordr\""));
    assert_eq!(help, "did you mean `-order`?");
    let (message, _, help) = refused("edit.by = { insert = \"x\", after = \"nothing_like_it\" }", Code::MoveUnknown);
    assert_eq!(
        (message.as_str(), help.as_str()),
        ("the list below has no element `nothing_like_it`", "known here: `-order`, `id`, `index`, `role`")
    );
    let (message, _, _) = refused("edit.by = { remove = 4 }", Code::MoveUnknown);
    assert_eq!(message, "the list below has no element 4: it has 4 elements, from 0");
    let (message, place, help) = refused("edit.where.any = { remove = \"fact\" }", Code::MoveUnknown);
    assert_eq!((message.as_str(), place.as_str()), ("the list below has 2 elements of that name", "\"fact\""));
    assert_eq!(help, "name it by its place, from 0 (the first is 1), or write it out");
}

#[test]
fn what_the_row_does_not_have_cannot_be_edited() {
    let (message, place, help) = refused("edit.step = { remove = \"trim\" }", Code::PatchesNothing);
    assert_eq!((message.as_str(), place.as_str()), ("`edit` changes `step`, which the row below does not have", "step"));
    assert_eq!(help, "did you mean `steps`?");
    let (message, _, _) = refused("edit.where = { remove = \"text\" }", Code::PatchesNothing);
    assert_eq!(message, "`edit` changes `where`, but `where` of the row below is a table");
    let (message, _, _) = refused("edit.with.any = { remove = \"text\" }", Code::PatchesNothing);
    assert_eq!(message, "`edit` changes `with.any`, but the row below has no table `with`");
    let dir = Folder::new("pack");
    dir.pack("p", "", "[[slot]]\nname = \"new\"\nedit.by = { remove = \"x\" }\n");
    assert!(one(&dir.load("p"), Code::PatchesNothing).message.ends_with("and it says `edit`"));
    let (message, ..) = refused("by = []\nedit.by = { insert = \"x\" }", Code::SchemaValue);
    assert_eq!(message, "`by` of slot `a` is both written whole and edited");
    let (message, ..) = refused("replace = true\nedit.by = { insert = \"x\" }", Code::SchemaValue);
    assert_eq!(message, "slot `a` is taken whole, and yet `by` of the row below is edited");
}

#[test]
fn both_layers_decide_an_edited_term() {
    let dir = Folder::new("pack");
    dir.pack("low", "", LOW).pack("p", BASE, "[[slot]]\nname = \"a\"\nedit.by = { remove = \"index\" }\nedit.where.any = { remove = 0 }\n");
    let loaded = dir.load("p");
    let pack = loaded.pack.as_ref().unwrap();
    let row = &pack.tables["slot"]["a"];
    assert_eq!(row.patched.len(), 1);
    for (term, change, below) in [("by", "{ remove = \"index\" }", "[\"-order\""), ("where", "{ remove = 0 }", "{ text = \"t\"")] {
        let span = row.fields[term].node.span;
        assert_eq!(loaded.sources.snippet(span), change);
        let old = pack.shadowed.iter().find(|s| s.by == span).unwrap();
        assert!(old.edited && loaded.sources.snippet(old.old).starts_with(below));
        assert_eq!((&*pack.sources.place(span).unwrap().layer, &*pack.sources.place(old.old).unwrap().layer), ("p", "low"));
    }
}

#[test]
fn overlays_may_edit_one_list_each_but_not_write_over_an_edit() {
    let dir = Folder::new("pack");
    dir.pack("p", "", LOW);
    let over = |text: &str| format!("[[slot]]\nname = \"a\"\n{text}\n");
    let (one_more, another, whole) = (over("edit.by = { insert = \"x\" }"), over("edit.by = { remove = \"index\" }"), over("by = [\"z\"]"));
    let loaded = dir.load_over("p", &[&one_more, &another]);
    clean(&loaded);
    assert_eq!(row(&loaded, "slot", "a")["by"].as_array().unwrap().last().unwrap(), "x");
    // written first and edited then, both count
    clean(&dir.load_over("p", &[&whole, &one_more]));
    let loaded = dir.load_over("p", &[&one_more, &whole]);
    assert!(one(&loaded, Code::LayerConflict).message.contains("`by` of slot `a`"));
    assert_eq!(row(&loaded, "slot", "a")["by"], serde_json::json!(["z"]));
}

// Files that are about one program: short names of passes and rounds, and what layers make of them.

const PROGRAM: &str = "[[program]]\nname = \"lore\"\nover = \"entries\"\n";

#[test]
fn a_file_says_its_program_once() {
    let dir = Folder::new("pack");
    dir.pack(
        "p",
        "",
        "program = \"lore\"\n[[pass]]\nname = \"scan\"\ndo = \"drop\"\n[[pass]]\nname = \"other/scan\"\ndo = \"drop\"\n\
         [[pass]]\nname = \"loop\"\ndo = \"repeat\"\nprogram = \"x\"\n[[round]]\nname = \"loop/again\"\n[[round]]\nname = \"other/loop/again\"\n",
    );
    dir.file("p/programs.toml", format!("kind = \"lore\"\nversion = 1\n{PROGRAM}"));
    let loaded = dir.load("p");
    clean(&loaded);
    assert_eq!(names(&loaded, "pass"), ["lore/scan", "other/scan", "lore/loop"]);
    assert_eq!(names(&loaded, "round"), ["lore/loop/again", "other/loop/again"]);
    assert_eq!(names(&loaded, "program"), ["lore"]);
    // the program is no value of the pack, and a name keeps its place
    assert!(loaded.pack.as_ref().unwrap().values.is_empty());
    let pass = &loaded.pack.as_ref().unwrap().tables["pass"]["lore/scan"];
    assert_eq!(loaded.sources.snippet(pass.name_span), "\"scan\"");
    assert_eq!(row(&loaded, "pass", "lore/loop")["program"], "x");
}

#[test]
fn layers_and_fingerprints_know_full_names_only() {
    let long = "[[pass]]\nname = \"lore/scan\"\ndo = \"drop\"\n[[pass]]\nname = \"lore/print\"\ndo = \"drop\"\n";
    let short = "program = \"lore\"\n[[pass]]\nname = \"scan\"\ndo = \"drop\"\n[[pass]]\nname = \"print\"\ndo = \"drop\"\n";
    let patch = "program = \"lore\"\n[[pass]]\nname = \"scan\"\nlist = \"x\"\nafter = \"print\"\n[[pass]]\nname = \"new\"\ndo = \"drop\"\nbefore = \"print\"\n";
    let prints = [long, short].map(|low| {
        let dir = Folder::new("pack");
        dir.pack("low", "", low).pack("p", BASE, patch);
        let loaded = dir.load("p");
        clean(&loaded);
        assert_eq!(names(&loaded, "pass"), ["lore/new", "lore/print", "lore/scan"]);
        super::fingerprint::of_pack(&loaded.pack.unwrap())
    });
    assert_eq!(prints[0], prints[1]);
    // what `expects` names is the row under its full name
    let dir = Folder::new("pack");
    dir.pack("low", "", short).pack("p", BASE, "program = \"lore\"\n[[pass]]\nname = \"scan\"\nexpects = \"00000000\"\nlist = \"x\"\n");
    let loaded = dir.load("p");
    let stale = one(&loaded, Code::LayerStale);
    assert!(stale.message.starts_with("pass `lore/scan` was patched"), "{}", stale.message);
    let fresh = stale.help.as_ref().unwrap().split('"').nth(1).unwrap().to_owned();
    dir.pack("p", BASE, &format!("[[pass]]\nname = \"lore/scan\"\nexpects = \"{fresh}\"\nlist = \"x\"\n"));
    clean(&dir.load("p"));
}
