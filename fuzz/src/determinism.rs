//! One digest of what the command line prints for the examples, and of what builds of strange scenes give: the same in every process, folder, language, time zone and
//! thread.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use tapster::{Value, fingerprint};

use crate::dice::Dice;
use crate::{seeds, strangers};

/// Scenes with all that they need in their folders.
const EXAMPLES: &[&str] = &["hello", "hybrid", "cache-friendly", "storyforge", "new-provider", "template-in-pack"];

/// How many builds stand behind one digest.
pub const BUILDS: usize = EXAMPLES.len() + strangers::BUILDS;

/// The digest of what is printed for all examples (payloads, warnings, exit codes), and of the strange scenes.
#[must_use]
pub fn digest() -> String {
    let mut all = Vec::new();
    for example in EXAMPLES {
        let folder = seeds::root().join("examples").join(example).display().to_string();
        let (mut input, mut out, mut err) = (&b""[..], Vec::new(), Vec::new());
        let env = |name: &str| -> Option<OsString> { std::env::var_os(name) };
        let mut io = tapster::cli::Io { input: &mut input, out: &mut out, err: &mut err, terminal: false, env: &env };
        let args = ["tapster", "build", &folder, "--error-format", "plain"].map(OsString::from);
        let exit = tapster::cli::run(args, &mut io).code();
        all.push(format!("{example} {exit}\n{}\n{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)));
    }
    all.extend(strangers::said());
    fingerprint(&Value::text(all.join("\n")))
}

/// Digests of child processes, each with another environment. `command` makes the command of a child that prints `digest `
/// and its digest.
///
/// # Errors
/// A child that could not be started or printed no digest, and what it printed.
pub fn children(count: usize, mut command: impl FnMut() -> Command) -> Result<Vec<String>, String> {
    let mut dice = Dice::new(17, "determinism");
    let zones = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", ":/nonsense"];
    let languages = ["C", "de_DE.UTF-8", "tr_TR.UTF-8", "ja_JP.eucJP", ""];
    let folders = [PathBuf::from("/"), std::env::temp_dir(), seeds::root()];
    let one = |n: usize| {
        let mut command = command();
        command.env("HOME", std::env::temp_dir().join(format!("home-{n}"))).env("TZ", dice.pick(&zones));
        command
            .env("LANG", dice.pick(&languages))
            .env("LC_ALL", dice.pick(&languages))
            .env("RUST_TEST_THREADS", (1 + dice.below(4)).to_string());
        // the addresses of the environment differ with its length
        command.env("PADDING", "x".repeat(dice.below(3_000))).current_dir(dice.pick(&folders));
        let ran = command.output().map_err(|e| e.to_string())?;
        let out = String::from_utf8_lossy(&ran.stdout);
        let said = out.lines().find_map(|line| line.split("digest ").nth(1)).map(str::to_owned);
        said.ok_or_else(|| format!("{out}{}", String::from_utf8_lossy(&ran.stderr)))
    };
    (0..count).map(one).collect()
}

/// Digests of threads of this process: rounds of one to `most` threads at once.
#[must_use]
pub fn threads(rounds: usize, most: usize) -> Vec<String> {
    let round = |n: usize| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..1 + n % most).map(|_| scope.spawn(digest)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect::<Vec<_>>()
        })
    };
    (0..rounds).flat_map(round).collect()
}
