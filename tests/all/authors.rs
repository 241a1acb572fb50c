//! What authors of packs and overlays meet at the command line and one run cannot show: snapshots that are written, a patch that is
//! confirmed, data of rule tests. What one run shows stands in `tests/cli/authors.toml`.

use crate::support::{Folder, tapster};

#[test]
fn a_marked_snapshot_is_written() {
    let folder = Folder::new("snapshot");
    let head = "kind = \"case\"\nversion = 2\npack = \"base\"\n\n";
    let row = "[[case]]\nname = \"x\"\nbuild = true\nsnapshot = true\nscene.history = [{ role = \"user\", text = \"x\" }]\n";
    let turns =
        "[[case]]\nname = \"y\"\nbuild = true\nturns = [{ scene.history = [{ role = \"user\", text = \"x\" }], snapshot = true }]\n";
    for case in [row, turns] {
        let file = folder.put("case.toml", format!("{head}{case}"));
        assert_eq!(tapster(&["test", &file]).0, 1);
        let (exit, out, err) = tapster(&["test", &file, "--update"]);
        assert_eq!(exit, 0, "{out}{err}");
        let text = folder.read("case.toml");
        assert_eq!((text.matches("snapshot = true").count(), text.matches("expect = ").count()), (1, 1), "{text}");
        assert_eq!(tapster(&["test", &file]).0, 0, "{text}");
    }
}

/// A preset with a macro that nobody knows.
const PRESET: &str = r#"{"temperature": 1, "openai_max_context": 4000, "prompts": [{"identifier": "main", "name": "Main", "role": "system",
    "content": "{{char}} and {{usr}} meet at {{time}}. {{unknownmacro}}"}, {"identifier": "chatHistory", "marker": true}],
    "prompt_order": [{"character_id": 100001, "order": [{"identifier": "main", "enabled": true}, {"identifier": "chatHistory", "enabled": true}]}]}"#;

#[test]
fn a_patch_that_drops_a_condition_is_told() {
    let folder = Folder::new("drops");
    let overlay = |patch: &str| {
        let head = "kind = \"overlay\"\nversion = 1\nextends = \"sillytavern\"\n[[pass]]\nname = \"lore_print/scripts\"\n";
        let file = folder.put("own.toml", format!("{head}{patch}\n"));
        tapster(&["check", &file])
    };
    let (exit, _, err) = overlay("where = { constant = false }");
    assert!(exit == 0 && err.contains("layer.drops") && err.contains("`text` no longer counts") && err.contains("own.toml:6"), "{err}");
    let expects = err.split("`expects = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(!overlay(&format!("where = {{ constant = false }}\nexpects = \"{expects}\"")).2.contains("layer.drops"));
    assert!(!overlay("where = { constant = false, text = { nonempty = true } }").2.contains("layer.drops"));
}

#[test]
fn a_pack_holds_the_data_of_its_cases() {
    let folder = Folder::new("data");
    folder.put(
        "mine/pack.toml",
        "kind = \"pack\"\nversion = 1\nname = \"mine\"\nrelease = \"0.1.0\"\nabout = \"Mine.\"\nextends = [\"sillytavern-exact\"]\n",
    );
    let case = |scene: &str| {
        format!(
            "kind = \"case\"\nversion = 2\npack = \"..\"\n[[case]]\nname = \"one\"\nbuild = true\nscene_file = \"{scene}\"\n\
            expect = {{ lists = {{ blocks = {{ contains = {{ text = \"Hello.\" }} }} }} }}\n"
        )
    };
    let scene = |preset: &str| format!("pack = \"sillytavern-exact\"\npreset = \"{preset}\"\nmessage = \"Hello.\"\n");
    folder.put("mine/cases/one.toml", case("data/scene.toml"));
    folder.put("mine/cases/data/scene.toml", scene("preset.json"));
    folder.put("mine/cases/data/preset.json", PRESET);
    let pack = folder.0.join("mine").display().to_string();
    let (exit, out, err) = tapster(&["check", &pack]);
    assert_eq!((exit, err.contains("schema.kind")), (0, false), "{out}{err}");
    assert_eq!(tapster(&["test", &pack]).0, 0);
    let archive = folder.0.join("mine.tapster").display().to_string();
    let (exit, out, err) = tapster(&["pack", &pack, "-o", &archive]);
    assert_eq!(exit, 0, "{out}{err}");
    folder.put("mine/cases/one.toml", case("../../outside.toml"));
    folder.put("outside.toml", scene("mine/cases/data/preset.json"));
    let (_, _, err) = tapster(&["check", &pack]);
    assert!(err.contains("file.outside") && err.contains("one.toml:7"), "{err}");
}
