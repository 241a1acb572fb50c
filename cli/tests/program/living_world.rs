//! The example `living-world`: five turns with recorded replies, and a process that is killed between two of them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::pages::root;

/// A folder that goes away with its owner.
struct WorldFolder(PathBuf);

impl WorldFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tapster-living-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> PathBuf {
        self.0.join("world.db")
    }
}

impl Drop for WorldFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn turns() -> Vec<String> {
    let file = root().join("examples/living-world/turns.jsonl");
    std::fs::read_to_string(file).unwrap().lines().map(|line| format!("{line}\n")).collect()
}

/// A process that plays the turns that it is told.
fn player(store: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapster"));
    command.args(["turn", "examples/living-world", "--format", "json", "--replies", "-", "--store"]).arg(store).current_dir(root());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a process prints about the turns that it is told.
fn play(store: &Path, turns: &[String]) -> Vec<String> {
    let mut child = player(store);
    child.stdin.take().unwrap().write_all(turns.concat().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// What is stored, without the log.
fn exported(store: &Path) -> String {
    let command = ["artifact", "export", "--store"];
    let done = Command::new(env!("CARGO_BIN_EXE_tapster")).args(command).arg(store).current_dir(root()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_killed_process_goes_on_where_it_ended() {
    let turns = turns();
    assert_eq!(turns.len(), 5);
    let (whole, parted) = (WorldFolder::new("whole"), WorldFolder::new("parted"));
    let lines = play(&whole.store(), &turns);
    assert_eq!(lines.len(), 5);

    // two turns, then the process is killed while it waits for the third
    let mut child = player(&parted.store());
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for n in 0..2 {
        input.write_all(turns[n].as_bytes()).unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), lines[n]);
    }
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(play(&parted.store(), &turns), lines[2..], "only the missing turns are played");
    assert_eq!(exported(&parted.store()), exported(&whole.store()));
    assert_eq!(play(&parted.store(), &turns), [] as [String; 0]);
}

/// Each part of the example is seen at work: the guard, the state after the reply, the panel, and the next prompt.
#[test]
fn the_world_is_read_written_shown_and_included() {
    let folder = WorldFolder::new("parts");
    let lines = play(&folder.store(), &turns());
    let night: Vec<bool> = lines.iter().map(|line| line.contains("It is night in")).collect();
    // the world of each turn is the one that the turn before has left
    assert_eq!(night, [false, false, true, true, true]);
    assert!(lines[0].contains(r#""surface":"panel:world""#) && lines[0].contains(r#""hour":18"#), "{}", lines[0]);
    assert!(lines[1].contains(r#"{\"hour\":18,"#), "the next prompt includes the world: {}", lines[1]);
    assert!(lines[4].contains("7:00, gallery: clear"), "{}", lines[4]);
}

/// What a process says on standard error about turns, and how it ends.
fn complaints(store: &Path, turns: &[String]) -> (Option<i32>, String) {
    let mut child = player(store);
    child.stdin.take().unwrap().write_all(turns.concat().as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn a_reply_that_nobody_asked_for_is_told() {
    let folder = WorldFolder::new("misspelt");
    let turns = turns();
    let misspelt = turns[0].replace("\"keep_world\"", "\"keep_wrold\"");
    let (exit, said) = complaints(&folder.store(), &[misspelt]);
    assert_eq!(exit, Some(0));
    assert!(said.contains("operation `keep_world` failed") && said.contains("did you mean `keep_world`?"), "{said}");
}

#[test]
fn lines_that_are_no_turns_are_refused_with_their_place() {
    let folder = WorldFolder::new("malformed");
    for (line, word) in
        [("{\n", "line 1"), ("[1]\n", "line 1"), ("{\"message\": \"a\", \"reply\": \"b\", \"extra\": 1}\n", "unknown field `extra`")]
    {
        let (exit, said) = complaints(&folder.store(), &[line.to_owned()]);
        assert_eq!(exit, Some(1), "{said}");
        assert!(said.contains("is not a recorded turn") && said.contains(word), "{said}");
    }
}

/// Writes by hand, refused or not, and whatever turn they name, neither skip a turn nor play one twice.
#[test]
fn writes_by_hand_do_not_move_the_turns() {
    let (folder, turns) = (WorldFolder::new("by-hand"), turns());
    assert_eq!(play(&folder.store(), &turns[..2]).len(), 2);
    let put = |based_on: &str, turn: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapster"));
        command.args(["artifact", "put", "world", "--pack", "examples/living-world/rules", "--value", "{\"hour\": 3}"]);
        command.args(["--based-on", based_on, "--turn", turn, "--store"]).arg(folder.store()).current_dir(root());
        command.output().unwrap().status.code()
    };
    assert_eq!((put("77", "5"), put("2", "1"), put("3", "40")), (Some(1), Some(0), Some(0)));
    assert_eq!(play(&folder.store(), &turns).len(), 3);
    assert_eq!(play(&folder.store(), &turns).len(), 0);
}
