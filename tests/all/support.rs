//! The program, run inside of a test, and fresh folders.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Once};

use tapster::Ruleset;
use tapster::machinery::pack::{PackError, PackFiles, PackShelf, Start};
use tapster_cli::{Io, run};

/// Makes the checkout the working folder, where the relative paths of tests, cases and pages begin; cargo starts the tests in
/// the folder of their package. Whoever uses such a path calls this first.
pub(crate) fn in_checkout() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::env::set_current_dir(env!("CHECKOUT")).unwrap());
}

/// Runs the program: the exit code, results, diagnostics.
pub(crate) fn tapster<A: AsRef<OsStr>>(args: &[A]) -> (u8, String, String) {
    tapster_with(args, b"", &|_| None)
}

/// Runs it with a standard input and an environment.
pub(crate) fn tapster_with<A: AsRef<OsStr>>(args: &[A], input: &[u8], env: &dyn Fn(&str) -> Option<OsString>) -> (u8, String, String) {
    run_program(args, input, env, false)
}

/// Runs it with all that the system gives a program.
pub(crate) fn run_program<A: AsRef<OsStr>>(
    args: &[A],
    mut input: &[u8],
    env: &dyn Fn(&str) -> Option<OsString>,
    terminal: bool,
) -> (u8, String, String) {
    in_checkout();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = Io { input: &mut input, out: &mut out, err: &mut err, terminal, env };
    let args = std::iter::once(OsStr::new("tapster")).chain(args.iter().map(AsRef::as_ref));
    let exit = run(args.map(OsStr::to_os_string), &mut io).code();
    (exit, String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
}

/// The rows of a list of texts in a data file; `name` is its key where the file holds several.
pub(crate) fn text_rows(file: &str, name: &str) -> Vec<String> {
    let file: serde_json::Value = serde_json::from_str(file).unwrap();
    serde_json::from_value(if name.is_empty() { file } else { file[name].clone() }).unwrap()
}

/// A fresh folder that goes away with its owner.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("tapster-{process}-{number}-{}", name.replace(' ', "-")));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.0.join(inside)
    }

    pub(crate) fn at(&self, inside: &str) -> String {
        self.path(inside).display().to_string()
    }

    pub(crate) fn write(&self, inside: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(inside);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Writes a file, and gives its path.
    pub(crate) fn put(&self, inside: &str, bytes: impl AsRef<[u8]>) -> String {
        self.write(inside, bytes);
        self.at(inside)
    }

    pub(crate) fn read(&self, inside: &str) -> String {
        std::fs::read_to_string(self.path(inside)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

// A pack that a test writes itself, over the packs that ship.

/// Pack `p` of these files (path and text) over `base`; `limits` stand in its manifest.
pub(crate) fn pack_over_base(limits: &str, files: &[(&str, &str)]) -> Result<Ruleset, PackError> {
    let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n{limits}");
    let files = std::iter::once(("pack.toml", manifest.as_str())).chain(files.iter().copied());
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    Ruleset::load(&Start::Name("p".into()), &[], &PackShelf { packs: vec![PackFiles::of("p", files)], ..PackShelf::default() })
}

// The shipped packs that many tests build with, each opened once.

pub(crate) static BASE: LazyLock<Ruleset> = LazyLock::new(|| open("base"));
pub(crate) static SILLYTAVERN: LazyLock<Ruleset> = LazyLock::new(|| open("sillytavern"));
pub(crate) static EXACT: LazyLock<Ruleset> = LazyLock::new(|| open("sillytavern-exact"));

/// One of the three, by its name.
pub(crate) fn shipped(pack: &str) -> &'static Ruleset {
    match pack {
        "base" => &BASE,
        "sillytavern" => &SILLYTAVERN,
        "sillytavern-exact" => &EXACT,
        _ => panic!("`{pack}` is not opened for all tests"),
    }
}

fn open(pack: &str) -> Ruleset {
    Ruleset::open(pack, &[]).unwrap_or_else(|rejected| panic!("{pack}:\n{rejected}"))
}

// A test that measures its process needs one of its own, since all tests of this binary share one.

/// Whether this process runs the test of that name alone. If it does not, a process that does is started here, and
/// fails the test where it fails.
pub(crate) fn runs_alone(name: &str) -> bool {
    const ALONE: &str = "TAPSTER_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|given| given == name) {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let ran = Command::new(program).args(["--exact", name, "--nocapture"]).env(ALONE, name).output().unwrap();
    let out = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("1 passed"), "{out}");
    false
}
