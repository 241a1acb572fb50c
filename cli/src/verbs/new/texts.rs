//! The texts of the files that `tapster new` writes.

use std::path::PathBuf;

use semver::Version;
use serde_json::json;

use crate::pack::Schemas;

/// A file that is written: its path below the folder, and its text.
pub(super) type NewFile = (PathBuf, String);

/// A name as rules and scripts can use it: lower-case letters, digits and `_`, with a letter first.
pub(super) fn word(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { format!("n{word}") }
}

/// The first lines of a file: the kind and its version.
fn head(kind: &str) -> String {
    format!("kind = \"{kind}\"\nversion = {}\n", Schemas::shipped().newest(kind).unwrap_or(1))
}

/// A manifest. A pack whose release is known is extended in the releases that are compatible with it.
pub(super) fn manifest(name: &str, extends: &str, release: Option<&Version>) -> String {
    let extends = match release.filter(|release| release.pre.is_empty()) {
        Some(release) => format!("{{ name = \"{extends}\", release = \"^{}.{}\" }}", release.major, release.minor),
        None => format!("\"{extends}\""),
    };
    format!(
        "{}name = \"{name}\"\nrelease = \"0.1.0\"\nextends = [{extends}]\n# about = \"…\": what the pack is for, in a sentence; others see it\n",
        head("pack")
    )
}

pub(super) fn overlay(name: &str, extends: &str, word: &str) -> String {
    format!(
        "{}name = \"{name}\"\nextends = \"{extends}\"\n\n# A text of its own in the prompt; other rows change rows of the pack by their names.\n[[slot]]\nname = \"{word}_style\"\ntext = \"Use short sentences.\"\n",
        head("overlay")
    )
}

pub(super) fn slots(slot: &str) -> String {
    format!(
        "{}\n# A text of its own in the prompt. `tapster explain` shows where it stands.\n[[slot]]\nname = \"{slot}\"\ntext = \"Use short sentences.\"\n",
        head("slots")
    )
}

/// A rule test that builds a prompt and looks for the text of a slot.
pub(super) fn case_of_slot(slot: &str) -> String {
    format!(
        "{}\n[[case]]\nname = \"the style is in the prompt\"\nbuild = true\n[[case.expect.lists.blocks.includes]]\nslot = \"{slot}\"\ntext = \"Use short sentences.\"\n",
        head("case")
    )
}

/// A rule test with rules of its own, which passes over every pack.
pub(super) fn case(pack: Option<&str>) -> String {
    let pack = pack.map(|pack| format!("pack = \"{pack}\"\n")).unwrap_or_default();
    format!(
        "{}{pack}\n[[case]]\nname = \"empty blocks go\"\nrun = \"example\"\nlists = {{ blocks = [{{ id = \"a\", text = \"Hello.\" }}, {{ id = \"b\", text = \"\" }}] }}\nexpect = {{ lists = {{ blocks = [{{ id = \"a\", text = \"Hello.\" }}] }} }}\n\n# Rules of the test alone. `run` may name any program or pass of the pack instead.\n[[program]]\nname = \"example\"\nover = \"blocks\"\n\n[[pass]]\nname = \"example/drop\"\ndo = \"drop\"\nwhere = {{ text = {{ nonempty = false }} }}\n",
        head("case")
    )
}

pub(super) fn hook(word: &str) -> String {
    format!("{}\n[[hook]]\nname = \"{word}\"\nevent = \"before_build\"\nrun = \"{word}.rhai::{word}\"\n", head("hooks"))
}

pub(super) fn script(word: &str) -> String {
    format!(
        "// Gets the items (none before a build) and the scene. Returns nothing, or what it changes:\n// `#{{ set: #{{ \"names.user\": \"Mara\" }}, warnings: [\"…\"] }}`.\nfn {word}(items, scene) {{\n}}\n"
    )
}

/// A template that shows every source of its task: a list in a slot with a message for each element, anything else in a
/// message.
pub(super) fn template(name: &str, task: &str, sources: &[(String, bool)]) -> String {
    let mut layout = vec![json!({ "kind": "message", "role": "system", "content": "Write the next turn." })];
    let mut slots = serde_json::Map::new();
    for (number, (source, is_list)) in sources.iter().enumerate() {
        if !is_list {
            layout.push(json!({ "kind": "message", "role": "system", "from": { "source": source } }));
            continue;
        }
        layout.push(json!({ "kind": "slot", "name": source }));
        let each = json!({ "kind": "message", "role": "user", "content": "{{item.content}}" });
        let plan = json!([{ "kind": "forEach", "source": { "source": source }, "map": [each] }]);
        slots.insert(source.clone(), json!({ "priority": number, "plan": plan }));
    }
    let template = json!({ "id": name, "task": task, "name": name, "version": 1, "layout": layout, "slots": slots });
    format!("{}\n", serde_json::to_string_pretty(&template).unwrap_or_default())
}
