//! Building many scenes: the same prompts as one by one, in order, also after an interruption.

use std::path::Path;
use std::process::{Command, Output};

use super::folder::TempFolder;

fn build(folder: &Path, flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tapster")).arg("build").args(flags).current_dir(folder).output().unwrap()
}

#[test]
fn many_scenes_are_built_in_order_and_go_on_where_they_ended() {
    let folder = TempFolder::new("dataset");
    let main = |n: usize| format!("{{\"id\":{n},\"message\":\"Number {n}.\"}}\n");
    let mut lines: String = (0..300).map(main).collect();
    lines.push_str("\n[]\n{\"id\":\"b\",\"pack\":\"nowhere\"}\n");
    lines.push_str("{\"id\":\"last\",\"message\":\"No end.\"}");
    std::fs::write(folder.0.join("in.jsonl"), &lines).unwrap();
    std::fs::create_dir(folder.0.join("rules")).unwrap();
    std::fs::write(folder.0.join("rules/brief.toml"), "kind = \"overlay\"\nversion = 1\n[preset]\nmain = \"Be brief.\"\n").unwrap();
    let flags = ["--jsonl", "in.jsonl", "out.jsonl", "--overlay", "rules/brief.toml", "--jobs", "3"];
    let ran = build(&folder.0, &flags);
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!((ran.status.code(), told.as_str()), (Some(1), "301 built, 2 failed, 0 there before\n"));
    let whole = std::fs::read_to_string(folder.0.join("out.jsonl")).unwrap();
    let answers: Vec<serde_json::Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 303);
    for (n, answer) in answers.iter().take(300).enumerate() {
        let messages = &answer["payload"]["messages"];
        assert_eq!((&answer["id"], &messages[0]["content"]), (&n.into(), &"Be brief.".into()));
        assert_eq!(messages[1]["content"], format!("Number {n}."));
    }
    assert_eq!((&answers[300]["ok"], &answers[301]["id"], &answers[302]["id"]), (&false.into(), &"b".into(), &"last".into()));

    // a killed program leaves a part of a line
    let cut = whole.match_indices('\n').nth(99).unwrap().0 + 20;
    std::fs::write(folder.0.join("out.jsonl"), whole.get(..cut).unwrap()).unwrap();
    let ran = build(&folder.0, &flags);
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "201 built, 2 failed, 100 there before\n");
    assert_eq!(std::fs::read_to_string(folder.0.join("out.jsonl")).unwrap(), whole);
    assert_eq!(String::from_utf8_lossy(&build(&folder.0, &flags).stderr), "0 built, 0 failed, 303 there before\n");
    // a file of something else is not touched, whichever way round the two are named
    let swapped = build(&folder.0, &["--jsonl", "out.jsonl", "in.jsonl"]);
    assert!(swapped.status.code() == Some(2) && String::from_utf8_lossy(&swapped.stderr).contains("is no file of prompts"), "{swapped:?}");
    assert_eq!(std::fs::read_to_string(folder.0.join("in.jsonl")).unwrap(), lines);
    std::fs::write(folder.0.join("in.jsonl"), main(0)).unwrap();
    let ran = build(&folder.0, &flags);
    assert!(ran.status.code() == Some(2) && String::from_utf8_lossy(&ran.stderr).contains("name another file"), "{ran:?}");
}
