//! Sharing packs: archives, installing, locks, indexes, signatures, all through the command line or the room's door.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod archive;
mod install;
mod resolve;
mod trust;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::support::{Folder, tapster_with};

impl Folder {
    /// The folder of a pack that holds nothing but its manifest.
    fn source(&self, name: &str, release: &str, extends: &str) -> String {
        let manifest = format!(
            "kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"{release}\"\nengine = \">=0.1\"\nlicence = \"MIT\"\nextends = [{extends}]\n\
             about = \"The pack {name}.\"\n"
        );
        self.write(&format!("src/{name}/pack.toml"), manifest);
        self.at(&format!("src/{name}"))
    }

    /// Runs the program; packs of a folder `home` are found, and trusted keys are kept in the folder.
    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let mut all: BTreeMap<String, OsString> = env.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect();
        all.insert("TAPSTER_TRUSTED_KEYS".to_owned(), self.path("trusted.toml").into());
        all.entry("TAPSTER_PACKS".to_owned()).or_insert_with(|| self.path("home").into());
        let (exit, out, err) = tapster_with(args, b"", &|name| all.get(name).cloned());
        Ran { exit, out, err }
    }

    /// Packs these packs into `site`, and writes its index.
    fn site(&self, packs: &[(&str, &str, &str)]) {
        std::fs::create_dir_all(self.path("site")).unwrap();
        for (name, release, extends) in packs {
            let folder = self.source(name, release, extends);
            self.run(&["pack", &folder, "--out", &self.at("site")]).done();
        }
        self.run(&["index", &self.at("site")]).done();
    }

    /// The names in a folder, sorted, hidden ones too.
    fn names(&self, inside: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(inside)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

struct Ran {
    exit: u8,
    out: String,
    err: String,
}

impl Ran {
    #[track_caller]
    fn done(self) -> Self {
        assert_eq!(self.exit, 0, "{}\n{}", self.out, self.err);
        self
    }

    /// It was refused with this code, with all of these texts, and with a remedy.
    #[track_caller]
    fn refused(self, exit: u8, code: &str, texts: &[&str]) -> Self {
        assert_eq!(self.exit, exit, "{}\n{}", self.out, self.err);
        assert!(self.err.contains(&format!("error[{code}]")), "{code}: {}", self.err);
        assert!(self.err.contains("help: "), "no remedy: {}", self.err);
        for text in texts {
            assert!(self.err.contains(text), "`{text}` is missing: {}", self.err);
        }
        self
    }
}

/// The bytes of a file.
fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
