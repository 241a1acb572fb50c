//! `tapster watch` and `tapster test --watch`, step by step: the test edits files, and then says by a line that it has.

use std::ffi::OsString;
use std::io::Read;

use tapster_cli::{Io, run};

use crate::support::Folder;

/// Standard input whose lines arrive one at a time; in front of each, something happens.
struct Edits<'e> {
    steps: std::vec::IntoIter<Box<dyn FnOnce() + 'e>>,
}

impl Read for Edits<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(edit) = self.steps.next() else { return Ok(0) };
        edit();
        b"saved\n".as_slice().read(buffer)
    }
}

/// Runs the program while these edits are made.
fn watched<'e>(args: &[&str], edits: Vec<Box<dyn FnOnce() + 'e>>) -> (u8, String, String) {
    let mut input = Edits { steps: edits.into_iter() };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = Io { input: &mut input, out: &mut out, err: &mut err, terminal: false, env: &|_| None };
    let all = ["tapster"].iter().chain(args).map(OsString::from);
    let exit = run(all, &mut io).code();
    assert!(input.steps.next().is_none(), "not every edit was waited for");
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

/// The texts occur one behind the other.
fn in_order(text: &str, wanted: &[&str]) {
    let mut rest = text;
    for piece in wanted {
        let found = rest.split_once(piece);
        assert!(found.is_some(), "`{piece}` is missing behind what was found before:\n{text}");
        rest = found.map_or("", |(_, behind)| behind);
    }
}

const OVERLAY: &str =
    "kind = \"overlay\"\nversion = 1\n[[slot]]\nname = \"tone\"\ntext = \"Use short sentences.\"\nafter = \"main_prompt\"\n";

const SCENE: &str = "pack = \"sillytavern-exact\"\nmessage = \"Hello.\"\nnow = \"2026-01-31T20:15:00Z\"\noverlays = [\"tweak.toml\"]\n";

/// A scene with an overlay; its path.
fn scene(folder: &Folder) -> String {
    folder.write("scene.toml", SCENE);
    folder.write("tweak.toml", OVERLAY);
    folder.0.join("scene.toml").display().to_string()
}

#[test]
fn a_saved_edit_shows_what_it_changes_in_the_prompt() {
    let folder = Folder::new("watch-edit");
    let scene = scene(&folder);
    let edit = || folder.write("tweak.toml", OVERLAY.replace("short", "long"));
    let (exit, out, err) = watched(&["watch", &scene, "--on", "lines"], vec![Box::new(edit), Box::new(|| {})]);
    assert_eq!((exit, err.as_str()), (0, ""));
    in_order(
        &out,
        &[
            "tone  Use short sentences.",
            "rules: row 1 changed",
            "1 block differs",
            "- Use short sentences.",
            "+ Use long sentences.",
            "the same prompt",
        ],
    );
}

#[test]
fn a_broken_edit_keeps_the_last_good_prompt() {
    let folder = Folder::new("watch-broken");
    let scene = scene(&folder);
    let (exit, out, err) = watched(
        &["watch", &scene, "--on", "lines"],
        vec![
            Box::new(|| folder.write("tweak.toml", "kind = \"overlay\"\nversion = 1\n[[slot]\n")),
            Box::new(|| folder.write("tweak.toml", OVERLAY.replace("short", "long"))),
        ],
    );
    assert_eq!(exit, 0);
    // the prompt behind the broken one is compared with the one in front of it
    in_order(
        &out,
        &["Use short sentences.", "the build fails; the last good prompt stays", "- Use short sentences.", "+ Use long sentences."],
    );
    in_order(&err, &["error[syntax.toml]", "tweak.toml:3"]);
}

#[test]
fn files_may_vanish_and_return() {
    let folder = Folder::new("watch-vanish");
    let scene = scene(&folder);
    let file = |name: &str| folder.0.join(name);
    let (exit, out, err) = watched(
        &["watch", &scene, "--on", "lines"],
        vec![
            Box::new(|| std::fs::remove_file(file("tweak.toml")).unwrap()),
            Box::new(|| folder.write("tweak.toml", OVERLAY)),
            Box::new(|| std::fs::remove_dir_all(&folder.0).unwrap()),
            Box::new(|| drop(self::scene(&folder))),
            Box::new(|| std::fs::remove_file(file("scene.toml")).unwrap()),
        ],
    );
    let stays = "the build fails; the last good prompt stays";
    in_order(&out, &["prompt: ", stays, "the same prompt", stays, "the same prompt", stays]);
    assert_eq!(exit, 2, "the last build could not run");
    in_order(&err, &["tweak.toml", "scene.toml", "scene.toml"]);
}

#[test]
fn each_step_is_a_line_of_json() {
    let folder = Folder::new("watch-json");
    let scene = scene(&folder);
    let (_, out, _) = watched(
        &["watch", &scene, "--on", "lines", "--format", "json"],
        vec![Box::new(|| folder.write("tweak.toml", "kind")), Box::new(|| folder.write("tweak.toml", OVERLAY.replace("short", "long")))],
    );
    let events: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 3);
    assert_eq!((events[0]["event"].as_str(), events[1]["event"].as_str()), (Some("built"), Some("failed")));
    assert_eq!(events[1]["last_good"], true);
    assert_eq!(events[1]["diagnostics"][0]["code"], "syntax.toml");
    assert_eq!((events[2]["event"].as_str(), events[2]["differs"].as_bool()), (Some("changed"), Some(true)));
}

#[test]
fn a_stream_is_not_watched() {
    for args in
        [&["watch", "-", "--on", "lines"][..], &["watch", "examples/hello", "--message", "-"], &["watch", "examples/hello", "--chat", "-"]]
    {
        let (exit, _, err) = watched(args, Vec::new());
        assert_eq!(exit, 2);
        assert!(err.contains("standard input can be read only once"), "{err}");
    }
}

#[test]
fn cases_run_again_after_each_edit() {
    let folder = Folder::new("watch-cases");
    let case = |wanted: &str| {
        format!(
            "kind = \"case\"\nversion = 2\npack = \"base\"\n[[case]]\nname = \"one\"\nrun = \"clean\"\nlists = {{ blocks = [{{ text = \"x\" }}] }}\nexpect = {{ lists = {{ blocks = [{wanted}] }} }}\n[[program]]\nname = \"clean\"\nover = \"blocks\"\n[[pass]]\nname = \"clean/all\"\ndo = \"drop\"\n"
        )
    };
    folder.write("one.toml", case(""));
    let path = folder.0.join("one.toml").display().to_string();
    let (exit, out, err) = watched(
        &["test", &path, "--watch=lines"],
        vec![
            Box::new(|| folder.write("one.toml", case("{ text = \"x\" }"))),
            Box::new(|| folder.write("one.toml", "kind = \"case\"\n[[case]\n")),
            Box::new(|| std::fs::remove_file(folder.0.join("one.toml")).unwrap()),
            Box::new(|| folder.write("one.toml", case(""))),
        ],
    );
    in_order(&out, &["1 passed, 0 failed", "FAILED", "0 passed, 1 failed", "FAILED", "1 passed, 0 failed"]);
    assert!(err.contains("syntax.toml") && err.contains("file.missing"), "{err}");
    assert_eq!(exit, 0);
}
