//! A newcomer's session as it was recorded: a pack over a shipped one, three edits, and the same prompt elsewhere. Every
//! step is a verb of the program, as in docs/how-to/share-a-pack.md.

use semver::{Version, VersionReq};
use tapster_exchange::share::index::PackDependency;
use tapster_exchange::share::resolve::{PackRequest, ReleaseCandidate, resolve};

use crate::share::{Folder, Ran, bytes};

/// The payload of the example, built with a pack.
fn build(folder: &Folder, pack: &str) -> String {
    folder.run(&["build", "examples/hello", "--pack", pack]).done().out
}

#[test]
fn a_newcomer_shares_a_pack() {
    let mine = Folder::new("share");
    let to = mine.at("work");
    let made = mine.run(&["new", "pack", "lantern", "--extends", "sillytavern", "--to", &to]).done();
    assert!(made.out.contains("lantern/pack.toml") && made.out.contains("lantern/cases/first.toml"), "{}", made.out);
    let pack = mine.at("work/lantern");
    mine.run(&["check", &pack]).done().says("0 errors, 0 warnings");
    mine.run(&["test", &pack]).done().says("1 passed, 0 failed");
    let plain = build(&mine, "sillytavern");
    let mut seen = vec![plain, build(&mine, &pack)];
    assert_ne!(seen.first(), seen.last(), "a new pack has a text of its own");

    // three edits: the new slot gets a place and another text, a slot of the pack below another role, a third one goes
    let before = mine.read("work/lantern/slots.toml");
    let mut text = before.replace("Use short sentences.\"", "Describe the light of every scene.\"\nafter = \"main_prompt\"");
    assert_ne!(text, before);
    for edit in ["", "\n[[slot]]\nname = \"scenario\"\nrole = \"user\"\n", "\n[[slot]]\nname = \"character_description\"\nremove = true\n"]
    {
        text.push_str(edit);
        mine.write("work/lantern/slots.toml", &text);
        mine.run(&["check", &pack]).done().says("0 errors, 0 warnings");
        let now = build(&mine, &pack);
        assert_ne!(seen.last(), Some(&now), "this edit changes the prompt: {edit}");
        seen.push(now);
    }

    // the test that came with the pack expects the old text: it says so, and takes the new one
    let failed = mine.run(&["test", &pack]);
    assert_eq!(failed.exit, 1);
    assert!(failed.out.contains("Use short sentences.") && failed.out.contains("0 passed, 1 failed"), "{}", failed.out);
    let case = mine.read("work/lantern/cases/first.toml").replace("Use short sentences.", "Describe the light of every scene.");
    mine.write("work/lantern/cases/first.toml", case);
    mine.run(&["test", &pack]).done().says("1 passed, 0 failed");

    // a slip is told, and mended
    let wrong = text.replace("role = \"user\"", "rolle = \"user\"");
    mine.write("work/lantern/slots.toml", &wrong);
    mine.run(&["check", &pack]).refused(1, "schema.unknown_key", &["did you mean `role`?"]);
    mine.run(&["check", &pack, "--fix"]).done().says("1 change made");
    assert_eq!(mine.read("work/lantern/slots.toml"), text);

    // against the pack below: rules and prompts differ
    let differs = mine.run(&["diff", "sillytavern", &pack, "--scene", "examples/hello"]);
    assert_eq!(differs.exit, 1, "{}", differs.err);
    for shown in ["+ lantern_style", "Describe the light of every scene.", "blocks differ"] {
        assert!(differs.out.contains(shown), "`{shown}` is missing: {}", differs.out);
    }

    let archive = mine.at("lantern-0.1.0.tapster");
    mine.run(&["pack", &pack, "--out", &archive]).done();

    // somebody else, in another folder
    let theirs = Folder::new("share");
    std::fs::copy(&archive, theirs.path("lantern-0.1.0.tapster")).unwrap();
    theirs.run(&["install", &theirs.at("lantern-0.1.0.tapster")]).done();
    assert_eq!(theirs.names("home"), ["lantern", "tapster.lock"]);
    assert_eq!(build(&theirs, "lantern"), *seen.last().unwrap(), "the same prompt, byte for byte");
    assert_eq!(bytes(&theirs.path("home/lantern/slots.toml")), bytes(&mine.path("work/lantern/slots.toml")));
    theirs.run(&["test", "lantern"]).done().says("1 passed, 0 failed");
    theirs.run(&["diff", &pack, "lantern", "--scene", "examples/hello"]).done();
    theirs.run(&["list", "--locked"]).done();
    theirs.run(&["build", "examples/hello", "--pack", "lantern", "--locked"]).done();
}

/// `--locked` refuses packs that are not what their lock says, wherever they stand below the pack.
#[test]
fn a_locked_build_refuses_changed_packs() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", "\"base\""), ("dark", "1.0.0", "\"noir\"")]);
    let site = folder.at("site");
    folder.run(&["install", "dark", "--index", &site]).done();
    let locked = ["build", "--pack", "dark", "--message", "Hello.", "--locked"];
    let plain = ["build", "--pack", "dark", "--message", "Hello."];
    folder.run(&locked).done();
    folder.run(&["check", "dark", "--locked"]).done().says("0 errors, 0 warnings");

    // a pack of one's own over locked ones need not be locked itself
    let own = folder.at("work/own");
    folder.write("work/own/pack.toml", "kind = \"pack\"\nversion = 1\nname = \"own\"\nrelease = \"1.0.0\"\nextends = [\"dark\"]\n");
    folder.run(&["build", "--pack", &own, "--message", "Hello.", "--locked"]).done();

    let manifest = folder.read("home/noir/pack.toml");
    folder.write("home/noir/pack.toml", manifest.replace("The pack noir.", "Another pack."));
    folder.run(&plain).done();
    folder.run(&locked).refused(1, "share.digest", &["noir", "has other files than those in", "tapster.lock"]);
    folder.run(&["check", "dark", "--locked"]).refused(1, "share.digest", &["noir"]);
    folder.run(&["check", &own, "--locked"]).refused(1, "share.digest", &["noir"]);
    folder.write("home/noir/pack.toml", manifest);
    folder.run(&locked).done();

    let lock = folder.read("home/tapster.lock");
    std::fs::remove_file(folder.path("home/tapster.lock")).unwrap();
    folder.run(&plain).done();
    folder.run(&locked).refused(1, "share.digest", &["dark", "is not in"]);
    folder.write("home/tapster.lock", lock.replace("blake3:", "md5:"));
    folder.run(&locked).refused(1, "share.index", &["pack.0.digest"]);
    folder.write("home/tapster.lock", b"\xff\xfe");
    folder.run(&locked).refused(1, "share.index", &["UTF-8"]);
}

/// Locks name places as they were typed.
#[test]
fn a_lock_keeps_paths_as_typed() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", "\"base\""), ("dark", "1.0.0", "\"base\"")]);
    let typed = format!("{}/./site/../site", folder.at(""));
    folder.run(&["install", "noir", "--index", &typed]).done();
    folder.run(&["install", &format!("{typed}/dark-1.0.0.tapster")]).done();
    let lock = folder.read("home/tapster.lock");
    for kept in [format!("index = \"{typed}\""), format!("source = \"{typed}/dark-1.0.0.tapster\"")] {
        assert!(lock.contains(&kept), "`{kept}` is missing: {lock}");
    }
}

/// Locks and indexes are checked by their schemas, which the program prints.
#[test]
fn locks_and_indexes_are_checked_by_their_schemas() {
    let folder = Folder::new("share");
    for (kind, title) in [("lock", "tapster.lock"), ("index", "index.json")] {
        folder.run(&["schema", kind]).done().says(&format!("\"title\": \"{title}\""));
    }
    let digest = format!("blake3:{}", "0".repeat(64));
    let row = format!("[[pack]]\nname = \"a\"\nrelease = \"1.0.0\"\ndigest = \"{digest}\"\nsource = \"x\"\n");
    for (lock, place) in [
        (format!("version = 1\ncolour = 1\n{row}"), "colour"),
        (format!("version = 1\n{row}size = 7\n"), "pack.0"),
        (format!("version = 1\n{}", row.replace("source = \"x\"", "source = 7")), "pack.0.source"),
        (format!("version = 2\n{row}"), "version 2"),
        (row.clone(), "version"),
        ("version = 1\npack = \"a\"\n".to_owned(), "pack"),
    ] {
        folder.write("home/tapster.lock", &lock);
        folder.run(&["list"]).refused(1, "share.index", &[place]);
    }
    let entry = format!("{{ \"name\": \"a\", \"release\": \"1.0.0\", \"file\": \"a\", \"digest\": \"{digest}\", \"size\": 1 }}");
    let index = |entry: &str| format!("{{ \"format\": \"tapster-index\", \"version\": 1, \"packs\": [{entry}] }}");
    for (text, place) in [
        (index(&entry.replace("\"size\": 1", "\"size\": -1")), "packs.0.size"),
        (index(&entry.replace("\"file\": \"a\", ", "")), "packs.0"),
        (index("7"), "packs.0"),
        (index(&entry).replace(": 1, \"packs\"", ": 3, \"packs\""), "tapster-index` 3"),
    ] {
        folder.write("site/index.json", &text);
        folder.run(&["search", "a", "--index", &folder.at("site")]).refused(1, "share.index", &[place]);
    }
    // keys of later releases are ignored
    folder.write("site/index.json", index(&entry.replace('{', "{ \"stars\": 5, ")));
    folder.run(&["search", "a", "--index", &folder.at("site")]).done();
}

impl Ran {
    #[track_caller]
    fn says(self, text: &str) -> Self {
        assert!(self.out.contains(text), "`{text}` is missing: {}{}", self.out, self.err);
        self
    }
}

// Which releases are taken: the newest that fit everybody, what is there first, and clear errors otherwise.

/// Releases of packs: name, release, what it extends (`name range`).
type World = &'static [(&'static str, &'static str, &'static [&'static str])];

fn need(text: &str) -> PackDependency {
    let (name, range) = text.split_once(' ').map_or((text, None), |(name, range)| (name, Some(range)));
    PackDependency { name: name.to_owned(), release: range.map(|range| VersionReq::parse(range).unwrap()) }
}

/// What is chosen, as `name release`, or the error.
fn chosen(world: World, asked: &[&str]) -> Result<Vec<String>, String> {
    let candidates = |name: &str| {
        let of = world.iter().filter(|(n, ..)| *n == name);
        let candidate = |(_, release, extends): &(&str, &str, &[&str])| ReleaseCandidate {
            release: Version::parse(release).unwrap(),
            extends: extends.iter().map(|text| need(text)).collect(),
            engine: (*release == "9.0.0").then(|| VersionReq::parse(">=99").unwrap()),
            source: (),
        };
        of.map(candidate).collect()
    };
    let asked = asked.iter().map(|text| PackRequest { need: need(text), by: "you".to_owned() }).collect();
    let done = resolve(asked, &Version::new(0, 1, 0), &candidates).map_err(|fault| {
        assert!(fault.help.is_some());
        format!("{}: {}", fault.code.as_str(), fault.message)
    })?;
    Ok(done.into_iter().map(|(name, candidate)| format!("{name} {}", candidate.release)).collect())
}

#[test]
fn the_first_that_fits_everybody_is_taken() {
    let world: World = &[
        ("top", "1.0.0", &["left ^1", "right ^1"]),
        ("left", "1.1.0", &["low ^2"]),
        ("left", "1.0.0", &["low ^1"]),
        ("right", "1.0.0", &["low ^1"]),
        ("low", "2.0.0", &[]),
        ("low", "1.5.0", &[]),
    ];
    // the newest `left` asks for a `low` that `right` cannot use, so an older one is taken
    assert_eq!(chosen(world, &["top"]).unwrap(), ["left 1.0.0", "low 1.5.0", "right 1.0.0", "top 1.0.0"]);
    assert_eq!(chosen(world, &["left"]).unwrap(), ["left 1.1.0", "low 2.0.0"]);
    assert_eq!(chosen(world, &["left", "low <2"]).unwrap(), ["left 1.0.0", "low 1.5.0"]);
}

#[test]
fn what_cannot_be_had_is_said_with_who_asks() {
    let world: World = &[
        ("a", "1.0.0", &["low ^1"]),
        ("b", "1.0.0", &["low ^2"]),
        ("low", "2.0.0", &[]),
        ("low", "1.0.0", &[]),
        ("gone", "1.0.0", &["nowhere"]),
        ("far", "1.0.0", &["low ^7"]),
        ("engine", "9.0.0", &[]),
    ];
    let conflict = chosen(world, &["a", "b"]).unwrap_err();
    assert!(
        conflict.starts_with("pack.version: no release of `low` fits") && conflict.contains("`a`") && conflict.contains("`b`"),
        "{conflict}"
    );
    let missing = chosen(world, &["gone"]).unwrap_err();
    assert!(missing.starts_with("share.unmet: `nowhere` is needed by `gone` 1.0.0"), "{missing}");
    let range = chosen(world, &["far"]).unwrap_err();
    assert!(range.contains("`^7`") && range.contains("2.0.0, 1.0.0"), "{range}");
    let engine = chosen(world, &["engine"]).unwrap_err();
    assert!(engine.contains("does not work with this engine"), "{engine}");
}

#[test]
fn circles_are_shown() {
    let world: World = &[("a", "1.0.0", &["b"]), ("b", "1.0.0", &["c"]), ("c", "1.0.0", &["b"]), ("self", "1.0.0", &["self"])];
    assert_eq!(chosen(world, &["a"]).unwrap_err(), "cycle.pack: packs extend each other in a circle: b → c → b");
    assert_eq!(chosen(world, &["self"]).unwrap_err(), "cycle.pack: packs extend each other in a circle: self → self");
}

#[test]
fn the_search_is_bounded() {
    // every combination of 40 releases of 10 packs fails at the last one
    let names: Vec<String> = (0..10).map(|n| format!("p{n}")).collect();
    let candidates = |name: &str| -> Vec<ReleaseCandidate<()>> {
        let at = names.iter().position(|n| n == name);
        let releases = (0..40).rev().filter(|_| at.is_some());
        releases
            .map(|n| {
                let next = at.map_or_else(|| "end".to_owned(), |at| names.get(at + 1).cloned().unwrap_or_else(|| "end".to_owned()));
                ReleaseCandidate { release: Version::new(1, n, 0), extends: vec![need(&next)], engine: None, source: () }
            })
            .collect()
    };
    let asked = vec![PackRequest { need: need("p0"), by: "you".to_owned() }];
    let fault = resolve(asked, &Version::new(0, 1, 0), &candidates).unwrap_err();
    assert!(fault.message.contains("too many"), "{}", fault.message);
}
