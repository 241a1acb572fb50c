//! Installing, listing, updating and removing packs: from files, folders, addresses and indexes, with their lock.

use crate::peers::{Peer, Step};
use crate::share::{Folder, bytes};

const BASE: &str = "{ name = \"base\", release = \"^0.1\" }";
const NOIR: &str = "{ name = \"noir\", release = \"^1\" }";

#[test]
fn a_pack_comes_with_what_it_extends() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE), ("dark", "1.0.0", NOIR)]);
    let site = folder.at("site");
    let ran = folder.run(&["install", "dark", "--index", &site]).done();
    assert!(ran.out.contains("installed dark 1.0.0") && ran.out.contains("installed noir 1.0.0"), "{}", ran.out);
    assert_eq!(folder.names("home"), ["dark", "noir", "tapster.lock"]);
    folder.run(&["check", "dark"]).done();
    let lock: toml::Table = toml::from_str(&folder.read("home/tapster.lock")).unwrap();
    let rows = lock["pack"].as_array().unwrap();
    let archive = bytes(&folder.path("site/noir-1.0.0.tapster"));
    assert_eq!(rows[1]["digest"].as_str().unwrap(), tapster_exchange::share::digest(&archive));
    assert_eq!(rows[1]["source"].as_str().unwrap(), folder.at("site/noir-1.0.0.tapster"));
    // once more changes nothing
    let before = folder.read("home/tapster.lock");
    let again = folder.run(&["install", "dark", "--index", &site]).done();
    assert!(again.out.contains("there already"), "{}", again.out);
    assert_eq!(folder.read("home/tapster.lock"), before);
    folder.run(&["list", "--locked"]).done();
}

#[test]
fn files_folders_and_addresses_are_installed() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE), ("dark", "1.0.0", BASE)]);
    folder.run(&["install", &folder.at("site/noir-1.0.0.tapster")]).done();
    folder.run(&["install", &format!("file://{}", folder.at("site/dark-1.0.0.tapster"))]).done();
    let third = folder.source("third", "1.0.0", NOIR);
    folder.run(&["install", &third]).done();
    assert_eq!(folder.names("home"), ["dark", "noir", "tapster.lock", "third"]);
    folder.run(&["list", "--locked"]).done();
    folder.run(&["install", "./nowhere"]).refused(2, "file.missing", &["nowhere"]);
    folder.run(&["install", "nowhere"]).refused(2, "share.unmet", &["not found"]);
    folder.run(&["install", "dark@one"]).refused(2, "pack.version", &["range"]);
    folder.run(&["install", &folder.at("site/index.json")]).refused(1, "share.archive", &["not an archive"]);
}

fn answer(status: &str, more: &str, body: &[u8]) -> Vec<Step> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{more}connection: close\r\n\r\n", body.len());
    vec![Step::Send([head.as_bytes(), body].concat())]
}

#[test]
fn a_web_server_is_enough() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE)]);
    let (index, archive) = (bytes(&folder.path("site/index.json")), bytes(&folder.path("site/noir-1.0.0.tapster")));
    let peer = Peer::new(vec![
        answer("200 OK", "", &index),
        answer("302 Found", "location: /elsewhere/noir\r\n", b""),
        answer("200 OK", "", &archive),
        answer("404 Not Found", "", b""),
    ]);
    let url = format!("http://{}/packs", peer.address);
    folder.run(&["install", "noir", "--index", &url]).done();
    assert!(folder.read("home/tapster.lock").contains(&format!("source = \"{url}/noir-1.0.0.tapster\"")));
}

#[test]
fn what_a_web_server_does_wrong_changes_nothing() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE)]);
    let index = bytes(&folder.path("site/index.json"));
    let archive = bytes(&folder.path("site/noir-1.0.0.tapster"));
    let mut other = archive.clone();
    let last = other.len() - 60;
    other[last] ^= 1;
    let endless = vec![Step::Send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec()), Step::Endless(vec![b'x'; 4096])];
    for (answers, code, text) in [
        (vec![answer("404 Not Found", "", b"")], "share.unreachable", "nothing at"),
        (vec![answer("500 Oops", "", b"")], "share.unreachable", "status 500"),
        (vec![answer("200 OK", "", b"<html>")], "share.index", "no index"),
        (vec![answer("200 OK", "content-encoding: gzip\r\n", &index)], "share.unreachable", "compressed"),
        (vec![answer("200 OK", "", &index), answer("200 OK", "", &other)], "share.digest", "another digest"),
        (vec![answer("200 OK", "", &index), endless], "share.unreachable", "larger than"),
        (vec![answer("302 Found", "location: /\r\n", b""); 6], "share.unreachable", "redirects"),
    ] {
        let peer = Peer::new(answers);
        let ran = folder.run(&["install", "noir", "--index", &format!("http://{}", peer.address)]);
        let exit = if code == "share.unreachable" { 2 } else { 1 };
        ran.refused(exit, code, &[text]);
        assert!(folder.names("home").is_empty());
    }
}

#[test]
fn two_packs_of_one_name_are_refused_with_the_remedy() {
    let folder = Folder::new("share");
    let first = folder.source("noir", "1.0.0", BASE);
    folder.run(&["install", &first]).done();
    folder.source("noir", "2.0.0", BASE);
    let before = folder.read("home/noir/pack.toml");
    folder.run(&["install", &first]).refused(1, "share.taken", &["`noir`", "tapster update noir", "--replace"]);
    assert_eq!(folder.read("home/noir/pack.toml"), before);
    folder.run(&["install", &first, "--replace"]).done();
    assert!(folder.read("home/noir/pack.toml").contains("2.0.0"));
    assert_eq!(folder.names("home"), ["noir", "tapster.lock"]);
    // on systems that do not tell upper from lower case, this is the same folder
    let loud = folder.source("Noir", "1.0.0", BASE);
    folder.run(&["install", &loud]).refused(1, "share.taken", &["already"]);
    // nobody takes the place of a shipped pack in passing
    let base = folder.source("base", "0.1.5", "");
    folder.run(&["install", &base]).refused(1, "share.taken", &["shipped with the program", "--replace"]);
    let twice = Folder::new("share");
    let other = twice.source("same", "1.0.0", BASE);
    let same = folder.source("same", "1.0.1", BASE);
    folder.run(&["install", &same, &other]).refused(1, "share.taken", &["two of the packs"]);
}

#[test]
fn conflicts_and_circles_are_clear_errors() {
    let folder = Folder::new("share");
    folder.site(&[("low", "1.0.0", BASE), ("low", "2.0.0", BASE)]);
    for (name, needs) in [("one", "low ^1"), ("two", "low ^2"), ("three", "low ^3")] {
        let (low, range) = needs.split_once(' ').unwrap();
        folder.source(name, "1.0.0", &format!("{{ name = \"{low}\", release = \"{range}\" }}"));
    }
    let (site, of) = (folder.at("site"), |name: &str| folder.at(&format!("src/{name}")));
    folder.run(&["install", &of("one"), &of("two"), "--index", &site]).refused(1, "pack.version", &["`low`", "`one`", "`two`"]);
    folder.run(&["install", &of("three"), "--index", &site]).refused(1, "pack.version", &["`^3`", "2.0.0, 1.0.0"]);
    assert!(folder.names("home").is_empty());
    folder.run(&["install", &of("one"), "--index", &site]).done();
    assert!(folder.read("home/low/pack.toml").contains("1.0.0"));
    // an installed pack is not changed in passing, and not taken away from those who stand on it
    folder.run(&["install", &of("two"), "--index", &site]).refused(1, "pack.version", &["1.0.0", "tapster update"]);
    folder.run(&["update", "low", "--index", &site]).done();
    assert!(folder.read("home/low/pack.toml").contains("1.0.0"));
    folder.run(&["remove", "low"]).refused(1, "share.taken", &["`one` extends `low`"]);
    let ring = Folder::new("share");
    let (a, b) = (ring.source("ring-a", "1.0.0", "\"ring-b\""), ring.source("ring-b", "1.0.0", "\"ring-a\""));
    ring.run(&["install", &a, &b]).refused(1, "cycle.pack", &["ring-a → ring-b → ring-a"]);
}

#[test]
fn newer_releases_are_taken_and_older_ones_never() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE), ("noir", "1.2.0", BASE), ("noir", "2.0.0-beta.1", BASE)]);
    let site = folder.at("site");
    folder.run(&["install", "noir@=1.0.0", "--index", &site]).done();
    let ran = folder.run(&["update"]).done();
    assert!(ran.out.contains("updated noir from 1.0.0 to 1.2.0"), "{}", ran.out);
    assert!(folder.run(&["update"]).done().out.contains("1.2.0 is the newest"));
    folder.write("site/index.json", folder.read("site/index.json").replace("\"1.2.0\"", "\"0.9.0\""));
    assert!(folder.run(&["update", "noir"]).done().out.contains("1.2.0 is the newest"));
    // changes of one's own are not overwritten
    folder.write("home/noir/mine.md", "mine");
    folder.run(&["update", "noir"]).refused(1, "share.taken", &["changed since"]);
    folder.run(&["update", "nowhere"]).refused(2, "share.unmet", &["not in the lock"]);
}

#[test]
fn a_pack_is_taken_back_to_an_older_release_only_where_that_is_asked_for() {
    let folder = Folder::new("share");
    folder.site(&[("low", "1.0.0", BASE), ("low", "1.2.0", BASE), ("low", "2.0.0", BASE)]);
    let (site, one) = (folder.at("site"), folder.source("one", "1.0.0", "{ name = \"low\", release = \"^1.2\" }"));
    folder.run(&["install", &one, "low@=1.2.0", "--index", &site]).done();
    folder.run(&["install", "low@=2.0.0", "--index", &site]).refused(1, "pack.version", &["1.2.0", "tapster update"]);
    // what stands on it has a say
    folder.run(&["install", "low@=1.0.0", "--index", &site, "--replace"]).refused(1, "pack.version", &["`one` 1.0.0, which is installed"]);
    folder.run(&["remove", "one"]).done();
    folder.run(&["install", "low@=1.0.0", "--index", &site, "--replace"]).done();
    assert!(folder.read("home/low/pack.toml").contains("1.0.0"));
    // one that fits stays
    folder.run(&["install", "low@^1", "--index", &site, "--replace"]).done();
    assert!(folder.read("home/low/pack.toml").contains("1.0.0"));
}

#[test]
fn a_pack_from_a_file_is_taken_from_there_again() {
    let folder = Folder::new("share");
    let source = folder.source("noir", "1.0.0", BASE);
    folder.run(&["install", &source]).done();
    folder.source("noir", "1.1.0", BASE);
    assert!(folder.run(&["update"]).done().out.contains("to 1.1.0"));
    folder.source("noir", "1.0.5", BASE);
    folder.run(&["update"]).refused(1, "share.digest", &["older than 1.1.0"]);
}

#[test]
fn the_lock_is_kept() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE), ("dark", "1.0.0", NOIR)]);
    folder.run(&["install", "dark", "--index", &folder.at("site")]).done();
    // a folder that lacks the packs gets just what the lock says
    std::fs::remove_dir_all(folder.path("home/noir")).unwrap();
    folder.run(&["list", "--locked"]).refused(1, "share.digest", &["home/noir", "missing", "install --locked"]);
    let lock = folder.read("home/tapster.lock");
    folder.run(&["install", "--locked"]).done();
    folder.run(&["list", "--locked"]).done();
    assert_eq!(folder.read("home/tapster.lock"), lock);
    // a file of a pack that was changed
    let manifest = folder.read("home/noir/pack.toml");
    folder.write("home/noir/pack.toml", format!("{manifest}# changed\n"));
    folder.run(&["list", "--locked"]).refused(1, "share.digest", &["home/noir", "tapster.lock"]);
    folder.run(&["install", "--locked"]).refused(1, "share.digest", &["home/noir", "files were changed"]);
    folder.write("home/noir/pack.toml", manifest);
    folder.run(&["list", "--locked"]).done();
    // a pack that nobody locked
    folder.write("home/extra/pack.toml", folder.read("home/noir/pack.toml").replace("noir", "extra"));
    folder.run(&["list", "--locked"]).refused(1, "share.digest", &["home/extra", "is not in"]);
    std::fs::remove_dir_all(folder.path("home/extra")).unwrap();
    // an archive at the source that is another one now
    std::fs::remove_dir_all(folder.path("home/noir")).unwrap();
    let other = folder.path("site/dark-1.0.0.tapster");
    std::fs::copy(other, folder.path("site/noir-1.0.0.tapster")).unwrap();
    folder.run(&["install", "--locked"]).refused(1, "share.digest", &["noir-1.0.0.tapster", "tapster.lock"]);
    assert!(!folder.path("home/noir").exists());
    // a lock that was changed
    let digest = lock.split("blake3:").nth(1).unwrap().split('"').next().unwrap();
    folder.write("home/tapster.lock", lock.replace(digest, &digest.chars().rev().collect::<String>()));
    folder.run(&["list", "--locked"]).refused(1, "share.digest", &["home/dark"]);
    for (broken, why) in [
        (lock.replace("version = 1", "version = 2"), "version 2"),
        (lock.replace("blake3:", "md5:"), "at `pack.0.digest`"),
        (lock.replace("name = \"dark\"", "name = \"../dark\""), "is a path"),
        (lock.replace("name = \"dark\"", "name = \"noir\""), "twice"),
        (lock.replace("source", "sauce"), "`pack.0`: \"source\" is a required"),
    ] {
        folder.write("home/tapster.lock", broken);
        folder.run(&["install", "--locked"]).refused(1, "share.index", &["tapster.lock", why]);
        folder.run(&["list"]).refused(1, "share.index", &["tapster.lock"]);
    }
}

#[test]
fn an_index_that_lies_is_refused() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE)]);
    let (site, index) = (folder.at("site"), folder.read("site/index.json"));
    for (broken, code, why) in [
        (index.replace("noir-1.0.0.tapster", "../src/noir-1.0.0.tapster"), "share.index", "leads out"),
        (index.replace("noir-1.0.0.tapster", "/noir-1.0.0.tapster"), "share.index", "absolute"),
        (index.replace("\"^0.1\"", "\"^0.0.1\""), "pack.version", "`base`"),
        (index.replace("\"release\": \"1.0.0\"", "\"release\": \"1.0.1\""), "share.digest", "says something else"),
        (index.replace("blake3:", "blake3:0"), "share.index", "at `packs.0.digest`"),
        (index.replace("tapster-index", "other-index"), "share.index", "other-index"),
    ] {
        folder.write("site/index.json", broken);
        folder.run(&["install", "noir", "--index", &site]).refused(1, code, &[why]);
        assert!(folder.names("home").is_empty());
    }
    folder.write("site/other.tapster", bytes(&folder.path("site/noir-1.0.0.tapster")));
    folder.run(&["index", &site]).refused(1, "share.index", &["another name"]);
}

#[test]
fn a_pack_that_does_not_load_is_not_installed() {
    let folder = Folder::new("share");
    let good = folder.source("noir", "1.0.0", BASE);
    folder.run(&["install", &good]).done();
    folder.source("noir", "1.1.0", BASE);
    folder.write("src/noir/x.toml", "kind = \"slots\"\nversion = 1\n[[slot]]\nname = \"x\"\ncolour = \"red\"\n");
    let ran = folder.run(&["update", "noir"]).refused(1, "schema.unknown_key", &["colour", "is not installed"]);
    assert!(ran.out.is_empty());
    assert!(folder.read("home/noir/pack.toml").contains("1.0.0"));
    assert_eq!(folder.names("home"), ["noir", "tapster.lock"]);
    folder.run(&["list", "--locked"]).done();
}

#[test]
fn packs_are_found_and_removed() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE), ("noir", "1.1.0", BASE), ("dark", "1.0.0", NOIR)]);
    let site = folder.at("site");
    let found = folder.run(&["search", "THE", "noir", "--index", &site]).done();
    assert!(found.out.contains("noir  1.1.0") && !found.out.contains("1.0.0"), "{}", found.out);
    assert!(folder.run(&["search", "--all", "noir", "--index", &site]).done().out.contains("1.0.0"));
    assert_eq!(folder.run(&["search", "nothing", "--index", &site]).exit, 1);
    folder.run(&["search", "noir"]).refused(2, "share.unmet", &["no index"]);
    folder.run(&["install", "dark", "--index", &site]).done();
    folder.run(&["remove", "nior"]).refused(2, "share.unmet", &["noir"]);
    folder.run(&["remove", "../site"]).refused(2, "share.unmet", &["not installed"]);
    folder.run(&["remove", "dark", "noir"]).done();
    assert!(folder.names("home").is_empty());
}

// What installing and updating must not do: throw away what lies there, take a pack from somebody else, or put something
// in the place of a shipped pack.

/// A folder in which `dark` 1.0.0 is installed from the index `site`.
fn with_dark() -> Folder {
    let folder = Folder::new("share");
    folder.site(&[("dark", "1.0.0", BASE)]);
    folder.run(&["install", "dark", "--index", &folder.at("site")]).done();
    folder
}

#[test]
fn an_update_leaves_folders_of_others_alone() {
    let folder = with_dark();
    folder.write("home/noir/draft.md", "mine");
    folder.site(&[("noir", "1.0.0", BASE), ("dark", "1.1.0", NOIR)]);
    for more in [&[][..], &["--replace"]] {
        let args = [&["update", "dark"][..], more].concat();
        folder.run(&args).refused(1, "share.taken", &["home/noir"]);
        assert_eq!(folder.read("home/noir/draft.md"), "mine");
        assert!(folder.read("home/tapster.lock").contains("1.0.0"));
    }
}

#[test]
fn an_update_does_not_replace_a_shipped_pack() {
    let folder = with_dark();
    folder.site(&[("base", "9.0.0", ""), ("dark", "1.1.0", "{ name = \"base\", release = \"^9\" }")]);
    folder.run(&["update"]).refused(1, "share.taken", &["`base`", "shipped"]);
    assert_eq!(folder.names("home"), ["dark", "tapster.lock"]);
}

#[test]
fn what_lies_at_the_place_of_a_locked_pack_stays() {
    let folder = with_dark();
    std::fs::remove_file(folder.path("home/dark/pack.toml")).unwrap();
    folder.write("home/dark/mine.txt", "mine");
    folder.run(&["install", "--locked"]).refused(1, "share.taken", &["home/dark"]);
    assert_eq!(folder.read("home/dark/mine.txt"), "mine");
}

#[test]
fn a_pack_stays_with_its_index() {
    let folder = Folder::new("share");
    folder.site(&[("dark", "1.0.0", BASE)]);
    std::fs::rename(folder.path("site"), folder.path("first")).unwrap();
    folder.site(&[("dark", "1.1.0", BASE)]);
    let both = format!("{} {}", folder.at("first"), folder.at("site"));
    let env = [("TAPSTER_INDEX", both.as_str())];
    folder.run_with(&["install", "dark@=1.0.0"], &env).done();
    let ran = folder.run_with(&["update"], &env).done();
    assert!(ran.out.contains("1.0.0 is the newest"), "{}", ran.out);
    // unless somebody says so
    let ran = folder.run(&["update", "--index", &folder.at("site"), "--allow-other-index"]).done();
    assert!(ran.out.contains("from 1.0.0 to 1.1.0"), "{}", ran.out);
}

#[test]
fn an_archive_holds_what_a_pack_has() {
    let folder = Folder::new("share");
    let source = folder.source("dark", "1.0.0", BASE);
    let manifest = bytes(&folder.path("src/dark/pack.toml"));
    let schema = br#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#.to_vec();
    for (name, contents) in [("evil.sh", b"rm -r".to_vec()), ("a.schema.json", schema)] {
        let files = vec![("pack.toml".to_owned(), manifest.clone()), (name.to_owned(), contents)];
        let archive = folder.put("odd.tapster", tapster_exchange::share::pack(files).unwrap());
        folder.run(&["install", &archive]).refused(1, "share.archive", &[name, "no part of a pack"]);
    }
    folder.run(&["install", &source]).done();
}

#[test]
fn a_folder_with_other_files_is_not_as_it_was_installed() {
    let folder = with_dark();
    folder.write("home/dark/.git/HEAD", "work");
    folder.run(&["list", "--locked"]).refused(1, "share.digest", &["home/dark"]);
    folder.site(&[("dark", "1.1.0", BASE)]);
    folder.run(&["update"]).refused(1, "share.taken", &["home/dark", "--replace"]);
    folder.run(&["remove", "dark"]).refused(1, "share.taken", &["home/dark"]);
    assert_eq!(folder.read("home/dark/.git/HEAD"), "work");
    // what a system writes into every folder is not missed
    std::fs::remove_dir_all(folder.path("home/dark/.git")).unwrap();
    folder.write("home/dark/.DS_Store", "x");
    folder.run(&["list", "--locked"]).done();
}

#[test]
fn a_newer_release_that_stays_out_is_named() {
    let folder = Folder::new("share");
    folder.site(&[("noir", "1.0.0", BASE), ("dark", "1.0.0", NOIR)]);
    folder.run(&["install", "dark", "--index", &folder.at("site")]).done();
    folder.site(&[("noir", "2.0.0", BASE), ("dark", "2.0.0", "{ name = \"noir\", release = \"^2\" }")]);
    let ran = folder.run(&["update", "dark"]).done();
    assert!(ran.out.contains("dark 1.0.0 stays: 2.0.0 does not fit"), "{}", ran.out);
    let ran = folder.run(&["update"]).done();
    assert!(ran.out.contains("updated dark from 1.0.0 to 2.0.0"), "{}", ran.out);
}

#[test]
fn a_strangers_pack_is_not_called_shipped() {
    let folder = Folder::new("share");
    folder.source("base", "0.1.0", "");
    let mine = folder.source("mine", "1.0.0", BASE);
    let ran = folder.run(&["audit", &mine, "--format", "json"]).done();
    let found: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let base = found["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "base").unwrap();
    assert_eq!(base["shipped"], false, "{found}");
}

#[test]
fn a_refused_installation_leaves_no_folder_behind() {
    let folder = Folder::new("share");
    let source = folder.source("noir", "1.0.0", BASE);
    folder.write("src/noir/rules.toml", "kind = \"lore\"\nversion = 1\n[[entry]]\nnonsense = 1\n");
    for to in ["packs", "deep/er/packs"] {
        let place = folder.at(to);
        folder.run(&["install", &source, "--to", &place]).refused(1, "share.archive", &["not installed"]);
        assert_eq!(folder.names(""), ["src"], "{to}");
    }
    // a folder that was there stays
    std::fs::create_dir_all(folder.path("packs")).unwrap();
    folder.run(&["install", &source, "--to", &folder.at("packs")]).refused(1, "share.archive", &["not installed"]);
    assert_eq!(folder.names(""), ["packs", "src"]);
}
