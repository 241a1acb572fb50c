//! `tapster check --fix` and the documents of diagnostics: what is changed, what is left alone, and what is never written.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use serde_json::Value as Json;

use crate::support::{Folder, tapster};

const MANIFEST: &str = "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"0.1.0\"\nextends = [\"base\"]\n";

/// Slips of keys and names, each with one near word; comments, blanks and line ends as nobody else writes them.
const WRONG: &str = "\u{FEFF}kind   = 'slots'  # a file\r\nversion = 1\r\n\r\n# the first\r\n[[slot]]\r\nname=\"tone_of_mine\"\r\nrolle = \"user\"\t# whose\r\n\
    text = \"Be kind.\"\r\nafter = 'scenaro'\r\n\r\n\r\n[[ slot ]]\r\nname = \"other_of_mine\"\r\ntxet = \"It's {{user}}.\"";
const RIGHT: &str = "kind   = 'slots'  # a file\r\nversion = 1\r\n\r\n# the first\r\n[[slot]]\r\nname=\"tone_of_mine\"\r\nrole = \"user\"\t# whose\r\n\
    text = \"Be kind.\"\r\nafter = 'scenario'\r\n\r\n\r\n[[ slot ]]\r\nname = \"other_of_mine\"\r\ntext = \"It's {{user}}.\"";

#[test]
fn certain_changes_are_made_and_everything_else_stays() {
    let folder = Folder::new("certain");
    folder.write("mine/pack.toml", MANIFEST);
    folder.write("mine/slots.toml", WRONG);
    let pack = folder.at("mine");
    let (exit, out, _) = tapster(&["check", &pack, "--fix", "--dry-run"]);
    assert_eq!((exit, folder.read("mine/slots.toml").as_str()), (1, WRONG), "a dry run writes nothing: {out}");
    assert!(out.contains("would fix") && out.contains("+ rol"), "{out}");
    let (exit, out, err) = tapster(&["check", &pack, "--fix"]);
    assert_eq!(folder.read("mine/slots.toml"), RIGHT, "{out}{err}");
    assert_eq!((exit, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("4 changes made\n0 errors, 0 warnings\n"), "{out}");
    // a second run has nothing to do
    let (exit, out, err) = tapster(&["check", &pack, "--fix"]);
    assert_eq!((exit, out.as_str(), err.as_str()), (0, "nothing here has a remedy that is certain\n0 errors, 0 warnings\n", ""));
    assert_eq!(folder.read("mine/slots.toml"), RIGHT);
    assert_eq!(folder.read("mine/pack.toml"), MANIFEST);
    assert_eq!(std::fs::read_dir(folder.0.join("mine")).unwrap().count(), 2, "nothing is left beside");
}

#[test]
fn what_is_not_certain_is_left_alone() {
    let folder = Folder::new("doubtful");
    let overlay = |rows: &str| format!("kind = \"overlay\"\nversion = 1\nextends = \"base\"\n{rows}");
    for (name, rows) in [
        // two known words are equally near
        (
            "two",
            "[[slot]]\nname = \"tone_a\"\ntext = \"a\"\n[[slot]]\nname = \"tone_b\"\ntext = \"b\"\n[[slot]]\nname = \"own_text\"\ntext = \"c\"\nafter = \"tone_c\"\n",
        ),
        // the right key is there already
        ("there", "[[slot]]\nname = \"own_text\"\nrole = \"user\"\nrolle = \"system\"\ntext = \"c\"\n"),
        // nothing is near
        ("far", "[[slot]]\nname = \"own_text\"\ntext = \"c\"\nafter = \"zebra_crossing\"\n"),
    ] {
        let file = format!("{name}.toml");
        let text = overlay(rows);
        folder.write(&file, &text);
        let (exit, out, err) = tapster(&["check", &folder.at(&file), "--fix"]);
        assert_eq!(exit, 1, "{name}: {out}{err}");
        assert!(out.starts_with("nothing here has a remedy that is certain\n"), "{name}: {out}");
        assert_eq!(folder.read(&file), text, "{name}");
    }
}

/// A word that is a part of what is underlined, keys of scenes and items, and a name that a case expects.
#[test]
fn names_inside_of_texts_and_keys_of_scenes_are_mended() {
    let folder = Folder::new("inside");
    let files = |[name, card, user, slot, depth]: [&str; 5]| {
        let value = format!("[[value]]\nname = \"speaker_name\"\nover = \"message\"\nis = \"@{name}\"\n");
        let pass = "[[pass]]\nname = \"assemble/mine\"\ndo = \"set\"\nlist = \"blocks\"\nset = { name = { value = \"speaker_name\" } }\n";
        let hook = format!("[[hook]]\nname = \"watch_card\"\nevent = \"before_build\"\nrun = \"watch.rhai::{card}\"\n");
        let given =
            format!("scene = {{ names = {{ {user} = \"Ada\" }} }}\nlists = {{ members = [{{ id = \"ada\", {name} = \"Ada\" }}] }}\n");
        let expect =
            format!("expect = {{ lists = {{ blocks = {{ excludes = [{{ slot = \"{slot}\" }}] }}, chosen = {{ count = 1 }} }} }}\n");
        let scene = format!("[scene]\nnames.{user} = \"Ada\"\ninjections = [{{ id = \"n\", text = \"x\", \"{depth}\" = 1 }}]\n");
        [
            ("mine/rules.toml", format!("kind = \"pipeline\"\nversion = 1\n{value}{pass}")),
            ("mine/hooks.toml", format!("kind = \"hooks\"\nversion = 1\n{hook}")),
            ("mine/cases/c.toml", format!("kind = \"case\"\nversion = 2\n[[case]]\nname = \"a\"\nrun = \"schedule\"\n{given}{expect}")),
            ("scene.toml", format!("pack = \"base\"\nmessage = \"Hi.\"\n{scene}")),
        ]
    };
    folder.write("mine/pack.toml", MANIFEST);
    folder.write("mine/scripts/watch.rhai", "fn card(blocks, scene) {\n    #{}\n}\n");
    files(["nmae", "cart", "usr", "chat_histroy", "dpeth"]).iter().for_each(|(name, text)| folder.write(name, text));
    let (exit, out, err) = tapster(&["check", &folder.at("mine"), &folder.at("scene.toml"), "--fix"]);
    assert_eq!((exit, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("7 changes made\n0 errors, 0 warnings\n"), "{out}");
    for (name, text) in files(["name", "card", "user", "chat_history", "depth"]) {
        assert_eq!(folder.read(name), text, "{name}");
    }
}

/// A key whose value would not fit the known one, one that is there already, and a word that is only usual.
#[test]
fn keys_of_a_scene_that_are_not_certain_are_left_alone() {
    let folder = Folder::new("unsure");
    for (name, scene) in [
        ("type", "lore.dpeth = \"deep\"\n"),
        ("there", "names = { user = \"Ada\", usr = \"Bo\" }\n"),
        ("word", "injections = [{ id = \"n\", text = \"x\", role = \"asistant\" }]\n"),
    ] {
        let (file, text) = (format!("{name}.toml"), format!("pack = \"base\"\nmessage = \"Hi.\"\n[scene]\n{scene}"));
        folder.write(&file, &text);
        let (_, out, err) = tapster(&["check", &folder.at(&file), "--fix"]);
        assert!(out.starts_with("nothing here has a remedy that is certain\n") && err.contains("scene.field"), "{name}: {out}{err}");
        assert_eq!(folder.read(&file), text, "{name}");
    }
}

#[test]
fn an_old_number_is_raised_where_nothing_else_is_old() {
    let folder = Folder::new("old");
    let case = |version: u8, given: &str| {
        format!(
            "kind = \"case\"\nversion = {version} # ours\n[[case]]\nname = \"a\"\nrun = \"own\"\n{given}\n[[program]]\nname = \"own\"\nover = \"blocks\"\n"
        )
    };
    folder.write("new.toml", case(1, ""));
    let (exit, out, err) = tapster(&["check", &folder.at("new.toml"), "--fix"]);
    assert_eq!((exit, folder.read("new.toml")), (0, case(2, "")), "{out}{err}");
    // the words of version 1 need more than another number
    let old = case(1, "given = []\nthen = []");
    folder.write("old.toml", &old);
    let (_, out, err) = tapster(&["check", &folder.at("old.toml"), "--fix"]);
    assert!(out.starts_with("nothing here") && err.contains("schema.upgraded"), "{out}{err}");
    assert_eq!(folder.read("old.toml"), old);
}

/// Of two lines that say the same in one table one goes; two that say different things are left to their author.
#[test]
fn a_line_that_is_there_twice_goes() {
    let folder = Folder::new("twice");
    let file = |rows: &str| format!("kind = \"overlay\"\nversion = 1\nextends = \"base\"\n[[slot]]\nname = \"own_text\"\n{rows}");
    let file_at = folder.at("twice.toml");
    for (before, after) in [
        (
            file("role = \"user\"\ntext = \"a\"\n  role = \"user\"\nafter = \"scenario\"\n"),
            Some(file("role = \"user\"\ntext = \"a\"\nafter = \"scenario\"\n")),
        ),
        (file("role = \"user\"\ntext = \"a\"\nrole = \"user\""), Some(file("role = \"user\"\ntext = \"a\"\n"))),
        (file("role = \"user\"\ntext = \"a\"\nrole = \"system\"\n"), None),
        (file("text = \"\"\"\nrole = \"user\"\n\"\"\"\nrole = \"system\"\nrole = \"user\"\n"), None),
        (file("role = \"user\"\ntext = \"a\"\nrole = \"user\"\nrole = \"user\"\n"), None),
    ] {
        folder.write("twice.toml", &before);
        let (exit, out, err) = tapster(&["check", &file_at, "--fix"]);
        assert_eq!(folder.read("twice.toml"), *after.as_ref().unwrap_or(&before), "{out}{err}");
        assert_eq!(exit, u8::from(after.is_none()), "{out}{err}");
    }
}

#[test]
fn files_elsewhere_are_never_written() {
    let folder = Folder::new("elsewhere");
    folder.write("below/pack.toml", MANIFEST.replace("mine", "below"));
    let slots = "kind = \"slots\"\nversion = 1\n[[slot]]\nname = \"tone_of_mine\"\nrolle = \"user\"\ntext = \"a\"\n";
    folder.write("below/slots.toml", slots);
    folder.write("mine/pack.toml", MANIFEST.replace("\"base\"", "\"below\""));
    folder.write("linked.toml", slots);
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.0.join("linked.toml"), folder.0.join("mine/linked.toml")).unwrap();
    let (exit, out, err) = tapster(&["check", &folder.at("mine"), "--fix"]);
    assert_eq!(exit, 1, "{out}");
    assert!(out.starts_with("nothing here") && err.contains("did you mean `role`?"), "{out}{err}");
    assert_eq!((folder.read("below/slots.toml").as_str(), folder.read("linked.toml").as_str()), (slots, slots));
    // given by name, it is not given as a path
    let beside = ["check", "below", "--fix"];
    let (_, out, _) = tapster(&beside);
    assert!(out.starts_with("nothing here"), "{out}");
    let (exit, out, err) = tapster(&["check", &folder.at("below"), "--fix"]);
    assert_eq!(exit, 0, "{out}{err}");
    assert!(!folder.read("below/slots.toml").contains("rolle"));
}

/// A SARIF document meets its schema, with the places of files: for errors, warnings and a change, for a run without
/// findings, and for one that cannot begin.
#[test]
fn a_run_is_one_sarif_document() {
    let folder = Folder::new("sarif");
    folder.write("my pack/pack.toml", MANIFEST);
    folder.write(
        "my pack/slots.toml",
        "kind = \"slots\"\nversion = 1\n[[slot]]\nname = \"tone_of_mine\"\ntext = \"é\"\nrolle = \"user\"\nrole = 7\n",
    );
    folder
        .write("mine.toml", "kind = \"overlay\"\nversion = 1\nextends = \"base\"\n[[slot]]\nname = \"own\"\nafter = \"nowhere_at_all\"\n");
    folder.write(
        "warned.toml",
        "kind = \"overlay\"\nversion = 1\nextends = \"base\"\n[[allow]]\ncode = \"layer.stale\"\nreason = \"none\"\n[[slot]]\nname = \"own\"\n",
    );
    let sarif = |args: &[&str]| -> (u8, String, Json) {
        let (exit, out, err) = tapster(&[args, &["--error-format", "sarif"]].concat());
        let document: Json = serde_json::from_str(&err).unwrap_or_else(|error| panic!("{args:?}: {error}\n{err}"));
        assert_eq!(mistakes(&document), Vec::<String>::new(), "{args:?}");
        (exit, out, document)
    };
    let (exit, out, document) = sarif(&["check", &folder.at("my pack"), &folder.at("mine.toml"), &folder.at("warned.toml")]);
    assert_eq!((exit, out.as_str()), (1, "3 errors, 1 warning\n"));
    let results = document["runs"][0]["results"].as_array().unwrap();
    let levels: Vec<&str> = results.iter().map(|r| r["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["error", "error", "error", "warning"], "{document}");
    let slip = results.iter().find(|r| r["ruleId"] == "schema.unknown_key").unwrap();
    let place = &slip["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("/my%20pack/slots.toml"), "{place}");
    assert_eq!(place["region"], serde_json::json!({ "startLine": 6, "startColumn": 1, "endLine": 6, "endColumn": 6 }));
    assert_eq!(slip["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"], "role");
    // without a mistake, and where the program cannot run, there is a document too
    for (args, levels) in [(&["check", "base"][..], &[][..]), (&["build", "nowhere"], &["error"])] {
        let (_, _, document) = sarif(args);
        let found = document["runs"][0]["results"].as_array().unwrap().iter().map(|r| r["level"].as_str().unwrap());
        assert_eq!(found.collect::<Vec<_>>(), levels, "{args:?}");
    }
    // the check itself finds what is wrong
    type Spoil = fn(&mut Json);
    let spoiled: [(&str, Spoil); 8] = [
        ("a level", |result| result["level"] = "fatal".into()),
        ("no message", |result| drop(result.as_object_mut().unwrap().remove("message"))),
        ("no code", |result| drop(result.as_object_mut().unwrap().remove("ruleId"))),
        ("another code", |result| result["ruleId"] = "name.unknown".into()),
        ("no such code", |result| result["ruleIndex"] = 99.into()),
        ("line 0", |result| result["locations"][0]["physicalLocation"]["region"]["startLine"] = 0.into()),
        ("a region that ends before it begins", |result| {
            result["locations"][0]["physicalLocation"]["region"]["endLine"] = 1.into();
        }),
        ("a change of nothing", |result| result["fixes"][0]["artifactChanges"][0]["replacements"] = serde_json::json!([])),
    ];
    let at = results.iter().position(|r| r["ruleId"] == "schema.unknown_key").unwrap();
    for (what, spoil) in spoiled {
        let mut document = document.clone();
        spoil(&mut document["runs"][0]["results"][at]);
        assert!(!mistakes(&document).is_empty(), "{what} is not noticed");
    }
}

/// What is wrong with a SARIF document by `tests/sarif/written.json`, and by what a schema cannot say.
fn mistakes(document: &Json) -> Vec<String> {
    let schema: Json = serde_json::from_str(include_str!("../sarif/written.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut wrong: Vec<String> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    let rules = &document["runs"][0]["tool"]["driver"]["rules"];
    for result in document["runs"][0]["results"].as_array().into_iter().flatten() {
        let index = result["ruleIndex"].as_u64().and_then(|n| usize::try_from(n).ok());
        if index.is_none_or(|n| rules[n]["id"] != result["ruleId"]) {
            wrong.push(format!("`ruleIndex` of {}", result["ruleId"]));
        }
        let places = ["locations", "relatedLocations"].into_iter().filter_map(|key| result[key].as_array()).flatten();
        let regions = places.map(|place| &place["physicalLocation"]["region"]);
        let changes = result["fixes"].as_array().into_iter().flatten().filter_map(|fix| fix["artifactChanges"].as_array()).flatten();
        let replaced = changes.filter_map(|change| change["replacements"].as_array()).flatten().map(|one| &one["deletedRegion"]);
        for region in regions.chain(replaced) {
            let at = |line: &str, column: &str| (region[line].as_u64(), region[column].as_u64());
            if at("startLine", "startColumn") > at("endLine", "endColumn") {
                wrong.push(format!("{region} ends before it begins"));
            }
        }
    }
    wrong
}

/// Every verb has a page, and no page has a date.
#[test]
fn the_manual_has_a_page_for_every_verb() {
    let folder = Folder::new("man");
    let (exit, out, err) = tapster(&["man", &folder.at("man1")]);
    assert_eq!((exit, err.as_str()), (0, ""));
    for page in ["tapster.1", "tapster-check.1", "tapster-template-render.1", "tapster-man.1"] {
        assert!(out.contains(&format!("man1/{page}\n")), "{page}: {out}");
    }
    assert!(!out.contains("help"), "{out}");
    assert_eq!(std::fs::read_dir(folder.0.join("man1")).unwrap().count(), out.lines().count());
    let check = folder.read("man1/tapster-check.1");
    assert!(check.contains(".TH tapster-check 1") && check.contains("\\-\\-fix") && check.contains("\"tapster "), "{check}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (exit, out, _) = tapster(&["completions", shell]);
        assert!(exit == 0 && out.contains("completions") && out.contains("dry-run"), "{shell}");
    }
}
