//! A pack that a test writes itself, over the packs that ship.

use tapster::Ruleset;
use tapster::machinery::pack::{PackError, PackFiles, PackShelf, Start};

/// Pack `p` of these files (path and text) over `base`; `limits` stand in its manifest.
pub(crate) fn pack(limits: &str, files: &[(&str, &str)]) -> Result<Ruleset, PackError> {
    let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n{limits}");
    let files = std::iter::once(("pack.toml", manifest.as_str())).chain(files.iter().copied());
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    Ruleset::load(&Start::Name("p".into()), &[], &PackShelf { packs: vec![PackFiles::of("p", files)], ..PackShelf::default() })
}
