//! Signatures: those of `minisign` are understood, and whatever does not fit is refused.

use tapster_exchange::share::signature::{SignatureVerdict, TrustedKey, public_key, verify};

use crate::share::{Folder, bytes};

const BASE: &str = "\"base\"";

/// The public key of the author of minisign, as the documentation of `minisign` and its libraries use it.
const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
/// Signatures of the four bytes `test`: with the hash, and without it as older versions made them.
const PREHASHED: &str = "untrusted comment: signature from minisign secret key
RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
trusted comment: timestamp:1556193335\tfile:test
y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==
";
const LEGACY: &str = "untrusted comment: signature from minisign secret key
RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=
trusted comment: timestamp:1555779966\tfile:test
QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==
";

fn trusted() -> Vec<TrustedKey> {
    vec![TrustedKey { name: "Frank".to_owned(), key: KEY.to_owned() }]
}

#[test]
fn signatures_of_minisign_are_understood() {
    for signature in [PREHASHED, LEGACY] {
        let verdict = verify("test", b"test", signature.as_bytes(), &trusted()).unwrap();
        assert!(matches!(verdict, SignatureVerdict::By(key) if key.name == "Frank"));
        let fault = verify("test", b"Test", signature.as_bytes(), &trusted()).unwrap_err();
        assert!(fault.message.contains("does not fit"), "{}", fault.message);
        assert_eq!(verify("test", b"test", signature.as_bytes(), &[]).unwrap(), SignatureVerdict::Unknown("E7620F1842B4E81F".to_owned()));
    }
    assert_eq!(public_key(&format!("untrusted comment: minisign public key E7620F1842B4E81F\n{KEY}\n")).unwrap(), KEY);
    for wrong in ["", "RWQ", "untrusted comment: x", &KEY.replace('R', "x")] {
        assert!(public_key(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_changed_signature_is_refused() {
    for at in 0..PREHASHED.len() {
        let mut changed = PREHASHED.as_bytes().to_vec();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        // the first line is a comment that nobody signs; the number of the key says only by whom it claims to be
        let told = verify("test", b"test", &changed, &trusted());
        let first = PREHASHED.find('\n').unwrap();
        assert!(at < first || !matches!(told, Ok(SignatureVerdict::By(_))), "{at}: {told:?}");
        assert!(verify("test", b"test", &PREHASHED.as_bytes()[..at], &trusted()).is_err() || at + 1 == PREHASHED.len(), "cut at {at}");
    }
    let short = PREHASHED.replace("y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==", "AAAA");
    assert!(verify("test", b"test", short.as_bytes(), &trusted()).is_err());
    assert!(verify("test", b"test", &[0xFF; 100], &trusted()).is_err());
}

#[test]
fn who_signed_a_pack_is_said_and_can_be_required() {
    let folder = Folder::new("share");
    let source = folder.source("noir", "1.0.0", BASE);
    let archive = folder.at("noir-1.0.0.tapster");
    let password = [("TAPSTER_KEY_PASSWORD", "deep water")];
    folder.run(&["keys", "new", &folder.at("mara")]).refused(2, "share.signature", &["TAPSTER_KEY_PASSWORD"]);
    let empty = [("TAPSTER_KEY_PASSWORD", "")];
    folder.run_with(&["keys", "new", &folder.at("mara")], &empty).refused(2, "share.signature", &["needs a password", "--no-password"]);
    folder.run(&["keys", "new", &folder.at("mara"), "--no-password"]).done();
    folder.run(&["keys", "new", &folder.at("mara"), "--no-password"]).refused(2, "share.taken", &["exists already"]);
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&folder.path("mara.key").metadata().unwrap().permissions()) & 0o777, 0o600);
    // not signed
    folder.run(&["pack", &source, "--out", &archive]).done();
    folder.run(&["install", &archive, "--require-signature"]).refused(1, "share.signature", &["is not signed"]);
    // signed, and nobody knows by whom
    folder.run_with(&["sign", &archive, "--key", &folder.at("mara.key")], &password).done();
    folder.run(&["install", &archive, "--require-signature"]).refused(1, "share.signature", &["not trusted"]);
    assert!(folder.names("home").is_empty());
    // trusted for once, and for good
    let ran = folder.run(&["install", &archive, "--require-signature", "--trust", &folder.at("mara.pub")]).done();
    assert!(ran.out.contains("signed by") && !ran.err.contains("warning"), "{}{}", ran.out, ran.err);
    folder.run(&["remove", "noir"]).done();
    folder.run(&["keys", "trust", &folder.at("mara.pub"), "--name", "Mara"]).done();
    assert!(folder.run(&["keys", "list"]).done().out.contains("Mara"));
    let ran = folder.run(&["install", &archive, "--require-signature"]).done();
    assert!(ran.out.contains("signed by Mara"), "{}", ran.out);
    assert!(folder.read("home/tapster.lock").contains("signed_by = \"RW"));
    // the next release is by somebody else
    folder.run(&["keys", "new", &folder.at("eve"), "--no-password"]).done();
    folder.run(&["keys", "trust", &folder.at("eve.pub"), "--name", "Eve"]).done();
    folder.source("noir", "1.1.0", BASE);
    folder.run(&["pack", &source, "--out", &archive, "--sign", &folder.at("eve.key")]).done();
    folder.run(&["update", "noir"]).refused(
        1,
        "share.signature",
        &["`noir` 1.1.0 is signed by Eve", "but the installed release is signed by key"],
    );
    folder.run(&["keys", "distrust", "Eve"]).done();
    folder.run(&["keys", "distrust", "Eve"]).refused(2, "share.signature", &["Eve"]);
}

#[test]
fn a_signed_pack_is_replaced_by_another_signer_only_on_demand() {
    let folder = Folder::new("share");
    let (source, archive) = (folder.source("noir", "1.0.0", BASE), folder.at("noir-1.0.0.tapster"));
    for who in ["mara", "eve"] {
        folder.run(&["keys", "new", &folder.at(who), "--no-password"]).done();
        folder.run(&["keys", "trust", &folder.at(&format!("{who}.pub")), "--name", who]).done();
    }
    folder.run(&["pack", &source, "--out", &archive, "--sign", &folder.at("mara.key")]).done();
    folder.run(&["install", &archive]).done();
    let before = folder.read("home/tapster.lock");
    let refused = |given: &[&str], text: &str| {
        folder.run(given).refused(1, "share.signature", &["`noir` 2.0.0", text, "--allow-other-signer"]);
        assert_eq!(folder.read("home/tapster.lock"), before);
        assert!(folder.read("home/noir/pack.toml").contains("1.0.0"));
    };
    // nobody has signed the folder
    folder.source("noir", "2.0.0", BASE);
    refused(&["install", &source, "--replace"], "is not signed by a trusted key");
    // another trusted key has signed the archive
    let second = folder.at("noir-2.0.0.tapster");
    folder.run(&["pack", &source, "--out", &second, "--sign", &folder.at("eve.key")]).done();
    refused(&["install", &second, "--replace"], "is signed by eve");
    // a folder that was lost does not open the door
    std::fs::rename(folder.path("home/noir"), folder.path("lost")).unwrap();
    folder.run(&["install", &second]).refused(1, "share.signature", &["--allow-other-signer"]);
    std::fs::rename(folder.path("lost"), folder.path("home/noir")).unwrap();
    // the flag alone replaces nothing
    folder.run(&["install", &second, "--allow-other-signer"]).refused(1, "share.taken", &["--replace"]);
    // the same key needs no flag
    folder.run(&["pack", &source, "--out", &second, "--sign", &folder.at("mara.key")]).done();
    folder.run(&["install", &second, "--replace"]).done();
    assert!(folder.read("home/noir/pack.toml").contains("2.0.0"));
    let ran = folder.run(&["install", &folder.source("noir", "3.0.0", BASE), "--replace", "--allow-other-signer"]).done();
    assert!(ran.err.contains("warning[share.unsigned]"), "{}", ran.err);
    assert!(!folder.read("home/tapster.lock").contains("signed_by"));
}

#[test]
fn tampered_archives_and_signatures_are_refused() {
    let folder = Folder::new("share");
    let source = folder.source("noir", "1.0.0", BASE);
    let archive = folder.at("noir-1.0.0.tapster");
    folder.run(&["keys", "new", &folder.at("mara"), "--no-password"]).done();
    folder.run(&["keys", "trust", &folder.at("mara.pub"), "--name", "Mara"]).done();
    folder.run(&["pack", &source, "--out", &archive, "--sign", &folder.at("mara.key")]).done();
    let signature = folder.read("noir-1.0.0.tapster.minisig");
    // another pack under the name and signature of this one: refused also where no signature is required
    let honest = bytes(&folder.path("noir-1.0.0.tapster"));
    folder.write("src/noir/README.md", "evil");
    folder.run(&["pack", &source, "--out", &archive, "--force"]).done();
    folder.write("noir-1.0.0.tapster.minisig", &signature);
    folder.run(&["install", &archive]).refused(1, "share.signature", &["does not fit", "noir-1.0.0.tapster"]);
    folder.write("noir-1.0.0.tapster", &honest);
    folder.write("noir-1.0.0.tapster.minisig", signature.replace("release:1.0.0", "release:9.0.0"));
    folder.run(&["install", &archive]).refused(1, "share.signature", &["does not fit"]);
    folder.write("noir-1.0.0.tapster.minisig", "nonsense");
    folder.run(&["install", &archive]).refused(1, "share.signature", &["is no signature"]);
    assert!(folder.names("home").is_empty());
    folder.write("noir-1.0.0.tapster.minisig", &signature);
    folder.run(&["install", &archive]).done();
    // nobody signed it: it is installed, and that is said
    folder.run(&["remove", "noir"]).done();
    std::fs::remove_file(folder.path("noir-1.0.0.tapster.minisig")).unwrap();
    assert!(folder.run(&["install", &archive]).done().err.contains("warning[share.unsigned]"));
    // a signature that the index promises, and that is gone
    folder.run(&["remove", "noir"]).done();
    folder.write("site/noir-1.0.0.tapster", &honest);
    folder.write("site/noir-1.0.0.tapster.minisig", &signature);
    folder.run(&["index", &folder.at("site")]).done();
    std::fs::remove_file(folder.path("site/noir-1.0.0.tapster.minisig")).unwrap();
    folder.run(&["install", "noir", "--index", &folder.at("site")]).refused(1, "share.signature", &["its signature is gone"]);
    // keys that cannot be used
    folder.write("trusted.toml", "[[key]]\nname = \"x\"\nkey = \"nonsense\"\n");
    folder.run(&["install", &archive]).refused(1, "share.index", &["trusted keys"]);
    folder.run(&["sign", &archive, "--key", &folder.at("mara.pub")]).refused(1, "share.signature", &["secret key"]);
}

#[test]
fn a_release_and_its_signature_stay_what_they_are() {
    let folder = Folder::new("share");
    let source = folder.source("noir", "1.0.0", BASE);
    std::fs::create_dir_all(folder.path("site")).unwrap();
    let site = folder.at("site");
    folder.run(&["keys", "new", &folder.at("mara"), "--no-password"]).done();
    folder.run(&["pack", &source, "--out", &site, "--sign", &folder.at("mara.key")]).done();
    let (honest, signature) = (bytes(&folder.path("site/noir-1.0.0.tapster")), folder.read("site/noir-1.0.0.tapster.minisig"));
    folder.run(&["index", &site]).done();
    // the same files are the same archive, and its signature stays
    folder.run(&["pack", &source, "--out", &site]).done();
    assert_eq!(folder.read("site/noir-1.0.0.tapster.minisig"), signature);
    // other files are another release
    folder.write("src/noir/README.md", "New.");
    folder.run(&["pack", &source, "--out", &site]).refused(1, "share.taken", &["noir-1.0.0.tapster", "raise the `release`", "--force"]);
    assert_eq!(bytes(&folder.path("site/noir-1.0.0.tapster")), honest);
    let ran = folder.run(&["pack", &source, "--out", &site, "--force"]).done();
    assert!(ran.err.contains("warning[share.signature]") && ran.err.contains("noir-1.0.0.tapster.minisig` is removed"), "{}", ran.err);
    assert!(!folder.path("site/noir-1.0.0.tapster.minisig").exists());
    folder.run(&["index", &site]).done();
    // a signature of another archive is found by an index, with and without the key
    folder.write("site/noir-1.0.0.tapster.minisig", &signature);
    folder.run(&["index", &site]).refused(1, "share.signature", &["made for another archive", "tapster sign"]);
    folder.run(&["keys", "trust", &folder.at("mara.pub"), "--name", "Mara"]).done();
    folder.run(&["index", &site]).refused(1, "share.signature", &["does not fit"]);
    // a signature of `minisign` names no digest, and nobody can check it without the key
    folder.run(&["keys", "distrust", "Mara"]).done();
    let plain: String = signature.lines().map(|line| format!("{}\n", line.split(" digest:").next().unwrap_or(line))).collect();
    folder.write("site/noir-1.0.0.tapster.minisig", plain);
    let ran = folder.run(&["index", &site]).done();
    assert!(ran.out.contains("not checked: 1 signature by"), "{}", ran.out);
}

#[test]
fn an_installed_pack_that_nobody_signed_does_not_pass_where_signatures_are_required() {
    let folder = Folder::new("share");
    let (noir, dusk) = (folder.at("noir.tapster"), folder.at("dusk.tapster"));
    folder.run(&["keys", "new", &folder.at("mara"), "--no-password"]).done();
    folder.run(&["keys", "trust", &folder.at("mara.pub"), "--name", "Mara"]).done();
    folder.run(&["pack", &folder.source("noir", "1.0.0", BASE), "--out", &noir]).done();
    folder.run(&["install", &noir]).done();
    let source = folder.source("dusk", "1.0.0", "{ name = \"noir\", release = \"^1.0\" }");
    let key = folder.at("mara.key");
    folder.run(&["pack", &source, "--out", &dusk, "--sign", &key]).done();
    let asked = ["install", &dusk, "--require-signature"];
    folder.run(&asked).refused(1, "share.signature", &["`noir` 1.0.0", "without a signature"]);
    // its signed archive puts the signature into the lock
    folder.run(&["sign", &noir, "--key", &key]).done();
    folder.run(&["install", &noir, "--require-signature"]).done();
    folder.run(&asked).done();
    folder.write("home/noir/notes.md", "changed");
    let ran = folder.run(&["install", "--locked", "--require-signature"]);
    assert!(ran.exit == 1 && ran.err.contains("error[share."), "{}", ran.err);
}

/// An interrupted change is finished, and never through links of a folder that somebody else has made.
#[cfg(unix)]
#[test]
fn a_journal_of_a_stranger_moves_nothing() {
    let folder = Folder::new("share");
    folder.write("secret/id_rsa", "key");
    folder.write("home/.tapster-change/journal.json", r#"{"put":["id_rsa"],"gone":[],"lock":""}"#);
    std::os::unix::fs::symlink(folder.path("secret"), folder.path("home/.tapster-change/new")).unwrap();
    std::fs::create_dir_all(folder.path("home/.tapster-change/old")).unwrap();
    folder.write("home/.tapster-mine", "mine");
    folder.run(&["list"]).done();
    assert!(folder.path("secret/id_rsa").is_file() && !folder.path("home/id_rsa").exists());
    assert!(folder.path("home/.tapster-mine").is_file() && !folder.path("home/.tapster-change").exists());
}
