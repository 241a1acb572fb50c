//! Sharing packs: archives, installing, locks, indexes, signatures, all through the command line or the room's door.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod archive;
mod export;
mod install;
mod keeping;
mod newcomer;
mod resolve;
mod trust;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tapster::cli::{Io, run};

/// A fresh folder that goes away with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("tapster-share-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.join(inside)
    }

    fn at(&self, inside: &str) -> String {
        self.path(inside).display().to_string()
    }

    fn write(&self, inside: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(inside);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn read(&self, inside: &str) -> String {
        std::fs::read_to_string(self.path(inside)).unwrap()
    }

    /// The folder of a pack that holds nothing but its manifest.
    fn pack(&self, name: &str, release: &str, extends: &str) -> String {
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
        let (mut input, mut out, mut err): (&[u8], Vec<u8>, Vec<u8>) = (&[], Vec::new(), Vec::new());
        let env = |name: &str| all.get(name).cloned();
        let mut io = Io { input: &mut input, out: &mut out, err: &mut err, terminal: false, env: &env };
        let exit = run(std::iter::once("tapster").chain(args.iter().copied()).map(OsString::from), &mut io).code();
        Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
    }

    /// Packs these packs into `site`, and writes its index.
    fn site(&self, packs: &[(&str, &str, &str)]) {
        std::fs::create_dir_all(self.path("site")).unwrap();
        for (name, release, extends) in packs {
            let folder = self.pack(name, release, extends);
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

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
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
