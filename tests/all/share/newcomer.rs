//! A newcomer's session as it was recorded: a pack over a shipped one, three edits, and the same prompt elsewhere.

use super::{Folder, bytes};

#[test]
fn a_newcomer_shares_a_pack() {
    let mine = Folder::new();
    // `tapster new pack lantern --extends sillytavern` makes this folder; here it is written by hand
    let pack = mine.pack("lantern", "0.1.0", "{ name = \"sillytavern\", release = \"^0.1\" }");
    let build = |folder: &Folder, pack: &str| {
        let ran = folder.run(&["build", "examples/hello", "--pack", pack]).done();
        ran.out
    };
    let plain = build(&mine, "sillytavern");
    assert_eq!(build(&mine, &pack), plain, "a pack that changes nothing builds the same prompt");

    // three edits: a slot gets another role, an order of utility text changes, a slot of the pack's own
    let edits = [
        "[[slot]]\nname = \"world_info_before\"\nrole = \"user\"\n",
        "[[slot]]\nname = \"scenario\"\nrole = \"assistant\"\n",
        "[[slot]]\nname = \"lantern\"\nrole = \"system\"\ntext = \"Describe the light of every scene.\"\norder = 5\n",
    ];
    let mut text = "kind = \"slots\"\nversion = 1\n".to_owned();
    let mut seen = vec![plain];
    for edit in edits {
        text.push_str(edit);
        mine.write("src/lantern/slots.toml", &text);
        mine.run(&["check", &pack]).done();
        let now = build(&mine, &pack);
        assert_ne!(seen.last(), Some(&now), "this edit changes the prompt: {edit}");
        seen.push(now);
    }
    let wrong = text.replace("role = \"user\"", "rule = \"user\"");
    mine.write("src/lantern/slots.toml", &wrong);
    mine.run(&["check", &pack]).refused_anyhow("rule");
    mine.write("src/lantern/slots.toml", &text);

    // `tapster test` and `tapster diff` come in here
    let archive = mine.at("lantern-0.1.0.tapster");
    mine.run(&["pack", &pack, "--out", &archive]).done();

    // somebody else, in another folder
    let theirs = Folder::new();
    std::fs::copy(&archive, theirs.path("lantern-0.1.0.tapster")).unwrap();
    theirs.run(&["install", &theirs.at("lantern-0.1.0.tapster")]).done();
    assert_eq!(theirs.names("home"), ["lantern", "tapster.lock"]);
    assert_eq!(build(&theirs, "lantern"), *seen.last().unwrap(), "the same prompt, byte for byte");
    assert_eq!(bytes(&theirs.path("home/lantern/slots.toml")), bytes(&mine.path("src/lantern/slots.toml")));
    theirs.run(&["list", "--locked"]).done();
}

impl super::Ran {
    #[track_caller]
    fn refused_anyhow(self, text: &str) {
        assert_eq!(self.exit, 1, "{}{}", self.out, self.err);
        assert!(self.err.contains(text), "{}", self.err);
    }
}
