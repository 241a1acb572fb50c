//! What installing and updating must not do: throw away what lies there, take a pack from somebody else, or put something
//! in the place of a shipped pack.

use super::{Folder, bytes};

const BASE: &str = "{ name = \"base\", release = \"^0.1\" }";
const NOIR: &str = "{ name = \"noir\", release = \"^1\" }";

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
