//! What a folder means to the program that runs in it: `./scene.toml` is the scene, and a program that serves answers each
//! line as soon as it has come.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A fresh folder that goes away with its owner.
struct WorkingFolder(PathBuf);

impl WorkingFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tapster-here-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The output of the program in this folder; it must succeed.
    fn run(&self, args: &[&str]) -> String {
        let ran = Command::new(env!("CARGO_BIN_EXE_tapster")).args(args).current_dir(&self.0).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }
}

impl Drop for WorkingFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_scene_in_the_working_folder_is_the_scene() {
    let folder = WorkingFolder::new("scene");
    std::fs::write(folder.0.join("scene.toml"), "pack = \"base\"\nmessage = \"From the file.\"\n").unwrap();
    assert!(folder.run(&["build"]).contains("From the file."));
    assert!(folder.run(&["build", "--message", "From the flag."]).contains("From the flag."));
    assert!(folder.run(&["explain"]).contains("From the file."));
    // a flag that names a pack or a part says what the scene is
    let other = folder.run(&["build", "--pack", "base", "--message", "Other."]);
    assert!(other.contains("Other.") && !other.contains("From the file."));
}

#[test]
fn a_copy_of_a_shipped_pack_in_rules_wins() {
    let folder = WorkingFolder::new("eject");
    assert!(folder.run(&["packs", "--eject", "base"]).contains("it wins over the shipped pack `base`"));
    let listed = folder.run(&["packs"]);
    assert!(listed.lines().any(|line| line.trim_start().starts_with("base ") && line.contains("rules/base")), "{listed}");
    assert!(folder.run(&["check", "base"]).contains("0 errors"));
}

/// With an index a word is the name of a pack in it, whatever lies in the working folder.
#[test]
fn a_word_is_a_name_where_an_index_is_named() {
    let folder = WorkingFolder::new("index");
    let pack = |inside: &str, about: &str| {
        let manifest =
            format!("kind = \"pack\"\nversion = 1\nname = \"alpha\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\nabout = \"{about}\"\n");
        std::fs::create_dir_all(folder.0.join(inside)).unwrap();
        std::fs::write(folder.0.join(inside).join("pack.toml"), manifest).unwrap();
    };
    pack("published/alpha", "Published.");
    pack("alpha", "Of the working folder.");
    std::fs::create_dir_all(folder.0.join("web")).unwrap();
    folder.run(&["pack", "./published/alpha", "--out", "web"]);
    folder.run(&["index", "web"]);
    let about = |home: &str| std::fs::read_to_string(folder.0.join(home).join("alpha/pack.toml")).unwrap();
    for (home, word) in [("one", "alpha"), ("two", "alpha@^1")] {
        let said = folder.run(&["install", word, "--index", "web", "--to", home]);
        assert!(about(home).contains("Published."), "{word}: {said}");
    }
    assert!(folder.run(&["install", "alpha", "--index", "web", "--to", "three"]).contains("the folder `alpha` here is `./alpha`"));
    folder.run(&["install", "./alpha", "--index", "web", "--to", "four"]);
    folder.run(&["install", "alpha", "--to", "five"]);
    assert!(about("four").contains("Of the working folder.") && about("five").contains("Of the working folder."));
}

#[test]
fn a_line_is_answered_before_the_next_one_comes() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tapster"))
        .args(["serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for n in 1..=3 {
        writeln!(input, "{{\"id\":{n},\"pack\":\"base\",\"message\":\"Line {n}.\"}}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"id\":{n},\"ok\":true")) && line.contains(&format!("Line {n}.")), "{line}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
