//! The same rules and the same scene give the same bytes: in any process, folder, language, time zone and thread. What
//! differs from run to run (the seeds of hash tables, addresses, the order of threads) must not show.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use tapster::{Value, fingerprint};

/// Scenes for the command line, with all that they need in their folders.
const EXAMPLES: &[&str] = &["hello", "hybrid", "cache-friendly", "storyforge", "new-provider", "template-in-pack"];
/// Builds in child processes, each of all examples; and builds in threads of this one.
const CHILDREN: usize = 10;
const ROUNDS: usize = 32;
const THREADS: usize = 10;
/// Asks a child for its digest.
const CHILD: &str = "TAPSTER_DETERMINISM_CHILD";

/// What the command line prints for every example: payload and plan.
fn digest() -> String {
    let mut all = Vec::new();
    for example in EXAMPLES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example).display().to_string();
        let (mut input, mut out, mut err) = (&b""[..], Vec::new(), Vec::new());
        let env = |name: &str| -> Option<OsString> { std::env::var_os(name) };
        let mut io = tapster::cli::Io { input: &mut input, out: &mut out, err: &mut err, terminal: false, env: &env };
        let args = ["tapster", "build", &folder, "--error-format", "plain"].map(OsString::from);
        let exit = tapster::cli::run(args, &mut io).code();
        assert_eq!(exit, 0, "{example}: {}", String::from_utf8_lossy(&err));
        all.push(format!("{example}\n{}\n{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)));
    }
    fingerprint(&Value::text(all.join("\n")))
}

/// Prints the digest for the test below, which runs this test in processes of its own.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        println!("digest {}", digest());
    }
}

#[test]
fn every_process_says_the_same() {
    let expected = digest();
    let home = std::env::temp_dir();
    let zones = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", ":/nonsense"];
    let languages = ["C", "de_DE.UTF-8", "tr_TR.UTF-8", "ja_JP.eucJP", ""];
    let folders = ["/", "/tmp", env!("CARGO_MANIFEST_DIR")];
    for n in 0..CHILDREN {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "determinism::child", "--nocapture"]).env(CHILD, "1");
        command.env("HOME", home.join(format!("home-{n}"))).env("TZ", zones[n % zones.len()]).env("LANG", languages[n % languages.len()]);
        command.env("LC_ALL", languages[(n / 2) % languages.len()]).env("RUST_TEST_THREADS", ((n % 4) + 1).to_string());
        // the addresses of the environment differ with its length
        command.env("PADDING", "x".repeat(n * 37));
        let folder = folders[n % folders.len()];
        command.current_dir(if Path::new(folder).is_dir() { folder } else { env!("CARGO_MANIFEST_DIR") });
        let ran = command.output().unwrap();
        let out = String::from_utf8_lossy(&ran.stdout);
        let said = out.lines().find_map(|line| line.split("digest ").nth(1)).unwrap_or_else(|| panic!("no digest: {out}"));
        assert_eq!(said, expected, "process {n}");
    }
}

#[test]
fn every_thread_says_the_same() {
    let expected = digest();
    for round in 0..ROUNDS {
        let said: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..1 + round % THREADS).map(|_| scope.spawn(digest)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(said.iter().all(|one| *one == expected), "round {round}: {said:?}");
    }
}
