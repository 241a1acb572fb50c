//! What a store leaves behind when the program has ended: one file, which only its owner may read.

use std::path::Path;
use std::process::Command;

use super::folder::TempFolder;

fn tapster(args: &[&str]) -> std::process::Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    Command::new(env!("CARGO_BIN_EXE_tapster")).args(args).current_dir(root).output().unwrap()
}

#[test]
fn a_store_is_one_whole_file_when_the_program_has_ended() {
    let folder = TempFolder::new("store");
    let [file, copy, broken] = ["a.db", "copy.db", "turns.jsonl"].map(|name| folder.0.join(name));
    let turns = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/living-world/turns.jsonl")).unwrap();
    std::fs::write(&broken, format!("{turns}no turn\n")).unwrap();
    // the verb ends with an error behind the turns, which are stored all the same
    let ran = tapster(&["turn", "examples/living-world", "--replies", broken.to_str().unwrap(), "--store", file.to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut names: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.db", "turns.jsonl"]);
    std::fs::copy(&file, &copy).unwrap();
    let shown = |store: &Path| tapster(&["artifact", "show", "world", "--store", store.to_str().unwrap()]);
    let (there, copied) = (shown(&file), shown(&copy));
    assert!(there.status.success() && !there.stdout.is_empty());
    assert_eq!(there.stdout, copied.stdout);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
}
