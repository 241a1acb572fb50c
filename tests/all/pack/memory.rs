//! Rules that are read again and again while their author edits them, as an editor does.

use tapster::Ruleset;
use tapster::diag::Report;
use tapster::machinery::pack::{DocumentMemory, PackFiles, PackLibrary, Start};

/// One pack, and what its files held before.
struct EditedPack<'e> {
    files: &'e [(&'e str, &'e str)],
    memory: Option<&'e DocumentMemory>,
}

impl PackLibrary for EditedPack<'_> {
    fn find(&self, name: &str, _: &mut Report) -> Option<PackFiles> {
        Some(PackFiles::of(name, self.files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))))
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn memory(&self) -> Option<&DocumentMemory> {
        self.memory
    }
}

/// What a check says of the files, with the places of what is wrong, or the rules that they are.
fn checked(files: &[(&str, &str)], memory: Option<&DocumentMemory>) -> String {
    match Ruleset::check(&Start::Name("edited".into()), &[], &EditedPack { files, memory }) {
        Ok(rules) => format!("{} {:?}", rules.fingerprint(), rules.warnings().items()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn files_that_were_read_before_say_what_they_say_alone() {
    let manifest = ("pack.toml", "kind = \"pack\"\nversion = 1\nname = \"edited\"\nrelease = \"1.0.0\"\n");
    let sound = "kind = \"lore\"\nversion = 2\n[[program]]\nname = \"own\"\nover = \"blocks\"\n";
    let (marked, wrong) = (format!("\u{feff}{sound}"), format!("{sound}overt = 1\n"));
    let other = sound.replace("own", "other");
    let memory = DocumentMemory::default();
    for files in [
        &[manifest, ("rules.toml", sound)][..],
        &[manifest, ("rules.toml", &wrong)],
        &[manifest, ("another.toml", &other), ("rules.toml", &wrong)],
        &[manifest, ("another.toml", &wrong), ("rules.toml", &other)],
        &[manifest, ("rules.toml", &marked)],
        &[manifest, ("rules.toml", "kind = \"lore\"\nversion")],
        &[manifest, ("rules.toml", sound)],
    ] {
        let alone = checked(files, None);
        for _ in 0..2 {
            assert_eq!(checked(files, Some(&memory)), alone, "{files:?}");
        }
    }
}
