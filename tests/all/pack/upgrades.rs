//! Files of older schema versions.

use super::*;

#[test]
fn a_case_of_version_one_is_read_as_version_two() {
    let dir = Folder::new("pack");
    let text = "kind = \"case\"\nversion = 1\n[[case]]\nname = \"c\"\nrun = \"x/a\"\nlist = \"entries\"\ngiven = [{ id = \"1\" }]\nthen = []\nwarnings = [\"w\"]\n";
    dir.file("c.toml", text);
    let (doc, report, sources) = load_file(&dir.path("c.toml"), Schemas::shipped());
    assert_eq!(report.items().len(), 1, "{}", render::human(&report, &sources, false));
    assert_eq!(report.items()[0].code, Code::SchemaUpgraded);
    let case = &doc.unwrap().root.get("case").unwrap().as_list().unwrap()[0].clone();
    let expected = serde_json::json!({
        "name": "c", "run": "x/a", "lists": { "entries": [{ "id": "1" }] },
        "expect": { "lists": { "entries": [] }, "warnings": ["w"] },
    });
    assert_eq!(case.to_json(), expected);
    let id = case.get("lists").unwrap().get("entries").unwrap().as_list().unwrap()[0].get("id").unwrap();
    assert_eq!(sources.place(id.span).unwrap().to_string(), format!("{}:7:17", dir.path("c.toml").display()));
}

#[test]
fn mistakes_of_an_old_file_are_still_placed() {
    let dir = Folder::new("pack");
    dir.file("c.toml", "kind = \"case\"\nversion = 1\n[[case]]\nname = \"c\"\nrun = 7\nthen = []\n");
    let (_, report, sources) = load_file(&dir.path("c.toml"), Schemas::shipped());
    let wrong = report.items().iter().find(|d| d.code == Code::SchemaType).unwrap();
    assert_eq!(sources.place(wrong.span.unwrap()).unwrap().line, 5);
}
