//! `tapster watch` as a process: it notices by itself that files on the disk change, vanish and return.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::pages::root;

/// How long a change may go unnoticed until the test fails; a step takes a second or two.
const LONG: Duration = Duration::from_secs(180);

/// A process that ends with its owner, in a folder that goes away with it.
struct WatchProcess {
    folder: PathBuf,
    child: Child,
    lines: Receiver<String>,
}

impl WatchProcess {
    fn start(name: &str, files: &[(&str, &str)], args: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("tapster-watch-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(file, text)| write(&folder.join(file), text));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapster"));
        command.args(args).current_dir(&folder).env("TAPSTER_PACKS", root().join("rules"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (send, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { folder, child, lines }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Waits for a line with this text.
    fn until(&self, piece: &str) {
        let mut seen = Vec::new();
        while !seen.last().is_some_and(|line: &String| line.contains(piece)) {
            match self.lines.recv_timeout(LONG) {
                Ok(line) => seen.push(line),
                Err(why) => panic!("`{piece}` does not come ({why}):\n{}", seen.join("\n")),
            }
        }
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Writes a file, with its folder.
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// As many editors save: a new file takes the place of the old one.
fn save(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

#[test]
fn saved_files_are_noticed() {
    let scene = "pack = \"base\"\nmessage = \"Hello.\"\nnow = \"2026-01-31T20:15:00Z\"\noverlays = [\"tweak.toml\"]\n";
    let tone = |text: &str| format!("kind = \"overlay\"\nversion = 1\n[[slot]]\nname = \"tone\"\ntext = \"{text}\"\n");
    let files = [("story/scene.toml", scene), ("story/tweak.toml", &tone("Short."))];
    let watching = WatchProcess::start("files", &files, &["watch", "story"]);
    let tweak = watching.file("story/tweak.toml");
    let (fails, stays) = ("the build fails", "the last good prompt stays");
    watching.until("tone  Short.");
    save(&tweak, &tone("Rather long."));
    watching.until("+ Rather long.");
    write(&tweak, "kind = [");
    watching.until(stays);
    std::fs::remove_file(&tweak).unwrap();
    watching.until(stays);
    save(&tweak, &tone("Back."));
    watching.until("+ Back.");
    std::fs::remove_dir_all(watching.file("story")).unwrap();
    watching.until(fails);
    write(&tweak, &tone("Again."));
    write(&watching.file("story/scene.toml"), scene);
    watching.until("+ Again.");
}

#[test]
fn rule_tests_run_again_when_their_pack_is_saved() {
    let pack = "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n";
    let rules = |action: &str| format!("kind = \"pipeline\"\nversion = 1\n[[program]]\nname = \"clean\"\nover = \"blocks\"\n{action}");
    let drops = "[[pass]]\nname = \"clean/all\"\ndo = \"drop\"\n";
    let case = "kind = \"case\"\nversion = 2\n[[case]]\nname = \"empties\"\nrun = \"clean\"\nlists = { blocks = [{ text = \"x\" }] }\nexpect = { lists = { blocks = [] } }\n";
    let files = [("mine/pack.toml", pack), ("mine/clean.toml", &rules(drops)), ("mine/cases/clean.toml", case)];
    let watching = WatchProcess::start("cases", &files, &["test", "mine", "--watch"]);
    watching.until("1 passed, 0 failed");
    save(&watching.file("mine/clean.toml"), &rules(""));
    watching.until("0 passed, 1 failed");
    save(&watching.file("mine/clean.toml"), &rules(drops));
    watching.until("1 passed, 0 failed");
}
