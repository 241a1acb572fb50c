//! Files of very many mistakes: what is told is bounded, and what is left out is said. None of them may take long.

use std::fmt::Write;

use super::tapster;
use crate::program::Folder;

fn run(args: &[&str]) -> (u8, String, String) {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let ran = tapster(&args, "", &std::collections::BTreeMap::new(), false);
    (ran.exit, ran.out, ran.err)
}

fn path(folder: &Folder, inside: &str) -> String {
    folder.0.join(inside).display().to_string()
}

#[test]
fn unknown_keys_in_one_long_line_are_counted() {
    let folder = Folder::new("keys of one line");
    let keys: String = (0..40_000).fold(String::new(), |mut out, n| {
        let _ = write!(out, ",\"k{n}\":1");
        out
    });
    folder.write("scene.json", format!("{{\"pack\":\"base\",\"message\":\"x\"{keys}}}"));
    let (exit, _, err) = run(&["build", &path(&folder, "scene.json")]);
    assert_eq!(exit, 1);
    assert!(err.contains("39700 more errors are not shown"), "{err}");
    assert!(err.len() < 300_000);
}

#[test]
fn of_very_many_packs_in_one_extends_the_first_are_looked_for() {
    let folder = Folder::new("extends");
    let names: Vec<String> = (0..16_000).map(|n| format!("\"../n{n}\"")).collect();
    let manifest = "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\n";
    folder.write("pack.toml", format!("{manifest}extends = [{}]\n", names.join(", ")));
    for verb in ["check", "audit"] {
        let (exit, _, err) = run(&[verb, &folder.0.display().to_string()]);
        assert_ne!(exit, 0);
        assert!(err.contains("`extends` has 16000 entries"), "{err}");
        assert!(err.matches("error[").count() <= 70, "{err}");
    }
}

#[test]
fn overlays_that_do_not_exist_are_counted() {
    let folder = Folder::new("overlays");
    folder.write("scene.json", "{\"pack\":\"base\",\"message\":\"x\"}");
    let (scene, missing) = (path(&folder, "scene.json"), path(&folder, "none"));
    let names: Vec<String> = (0..16_000).map(|n| format!("{missing}{n}.toml")).collect();
    let mut args = vec!["build", scene.as_str()];
    args.extend(names.iter().flat_map(|name| ["--overlay", name.as_str()]));
    let (exit, _, err) = run(&args);
    assert_ne!(exit, 0);
    assert!(err.contains("more errors are not shown"), "{}", err.len());
}

#[test]
fn blocks_of_leaves_are_read_once_each() {
    let folder = Folder::new("leaves");
    let content = format!("{}{}", "{{#if 1}}".repeat(14_000), "{{#endif}}".repeat(12_000));
    let message = serde_json::json!({ "kind": "message", "role": "system", "content": content });
    let plan = vec![message; 15];
    let template = serde_json::json!({
        "kind": "template", "version": 1, "id": "t", "task": "chapter_summarization", "name": "n", "revision": "head",
        "layout": [{ "kind": "slot", "name": "a" }], "slots": { "a": { "priority": 0, "plan": plan } },
    });
    folder.write("templates/t.json", template.to_string());
    folder.write("pack.toml", "kind = \"pack\"\nversion = 1\nname = \"t\"\nrelease = \"0.1.0\"\nextends = [\"storyforge\"]\n");
    let (exit, _, err) = run(&["check", &folder.0.display().to_string()]);
    assert!(exit < 2, "{err}");
}

#[test]
fn fields_that_a_conversion_loses_are_tried_out_together() {
    let folder = Folder::new("lost fields");
    let mut card = serde_json::json!({ "name": "Ines", "description": "d", "first_mes": "hi" });
    for n in 0..1_500 {
        card[format!("unknown{n}")] = format!("value {n}").into();
    }
    folder.write("card.json", serde_json::json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": card }).to_string());
    let (exit, out, err) = run(&["convert", &path(&folder, "card.json"), "--to", "risuai", "--report"]);
    assert_eq!(exit, 0, "{err}");
    assert!(!out.contains("were not tried out") && !err.contains("were not tried out"), "{out}{err}");
}
