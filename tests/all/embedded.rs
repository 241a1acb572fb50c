//! The library embeds the rules of the shipped packs, and not their rule tests.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeSet;
use std::path::Path;

use tapster::machinery::pack::library::{files_of_shipped, shipped, shipped_names};

use crate::program::Folder;

#[path = "../../build.rs"]
#[expect(dead_code, reason = "its `main` runs in front of the compiler")]
mod build_script;

/// All files below a folder, by their paths from it.
fn below(root: &Path) -> BTreeSet<String> {
    let (mut open, mut all) = (vec![root.to_owned()], BTreeSet::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                all.insert(path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    all
}

fn is_case(path: &str) -> bool {
    path.split('/').any(|part| part == "cases")
}

#[test]
fn no_shipped_pack_holds_a_case_file() {
    for name in shipped_names() {
        let cases: Vec<&str> = files_of_shipped(&name).map(|(path, _)| path).filter(|path| is_case(path)).collect();
        assert!(cases.is_empty(), "{name} holds {cases:?}");
        assert!(shipped(&name).unwrap().cases.is_empty(), "{name}");
    }
}

#[test]
fn the_copy_that_is_embedded_holds_everything_but_the_cases() {
    let (rules, copy) = (Path::new(env!("CHECKOUT")).join("rules"), Folder::new("copy"));
    build_script::copy_without_cases(&rules, &copy.0).unwrap();
    let mut wanted = below(&rules);
    wanted.retain(|path| !is_case(path));
    assert_eq!(below(&copy.0), wanted);
    // the library reads the same files from the disk
    let read: BTreeSet<String> =
        shipped_names().iter().flat_map(|name| files_of_shipped(name).map(move |(path, _)| format!("{name}/{path}"))).collect();
    assert_eq!(read, wanted);
}

#[test]
fn the_copy_leaves_out_cases_at_any_depth_and_files_of_an_earlier_copy() {
    let (from, to) = (Folder::new("from"), Folder::new("to"));
    for path in ["a/pack.toml", "a/cases/one.toml", "a/part/cases/deep/two.toml", "a/part/cases.toml"] {
        from.write(path, "");
    }
    std::fs::write(to.0.join("gone.toml"), "").unwrap();
    build_script::copy_without_cases(&from.0, &to.0).unwrap();
    assert_eq!(below(&to.0), ["a/pack.toml", "a/part/cases.toml"].map(str::to_owned).into());
}
