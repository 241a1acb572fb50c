//! What it takes to start: whole commands of the release build, beside a Node that does nothing, all in one run. Times are
//! those of the processor, in the program and the system for it, as `/usr/bin/time` says them.
//!
//! Wants `target/release/tapster` (`cargo build --release`), or the program that `TAPSTER` names.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; its table is for people")]

mod rivals;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rivals::{format_time, ratio, report};

const RUNS: u32 = 30;
/// The mean time of the processor and the largest memory, in MB, of a command; `cache` is where it remembers checks.
fn measure(program: &str, args: &[&str], cache: &Path) -> (Duration, f64) {
    let run = || {
        let output = Command::new("/usr/bin/time")
            .args(["-f", "%U %S %M", "--", program])
            .args(args)
            .env("NO_COLOR", "1")
            .env("TAPSTER_CACHE", cache)
            .output()
            .unwrap_or_else(|e| panic!("/usr/bin/time: {e}"));
        let text = String::from_utf8_lossy(&output.stderr);
        let numbers: Vec<f64> = text.lines().last().unwrap_or_default().split(' ').filter_map(|n| n.parse().ok()).collect();
        let [user, system, memory] = numbers.as_slice() else { panic!("{program} {args:?}: {text}") };
        assert!(output.status.success(), "{program} {args:?}: {text}");
        (user + system, memory / 1024.0)
    };
    let (times, memory): (Vec<f64>, Vec<f64>) = (0..RUNS).map(|_| run()).unzip();
    (Duration::from_secs_f64(times.iter().sum::<f64>() / f64::from(RUNS)), memory.into_iter().fold(0.0, f64::max))
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let tapster = std::env::var("TAPSTER").unwrap_or_else(|_| "target/release/tapster".to_owned());
    if !Path::new(&tapster).is_file() || !Path::new("/usr/bin/time").is_file() {
        println!("notice: there is no {tapster} or no /usr/bin/time; starts are not measured");
        return;
    }
    let cache = std::env::temp_dir().join(format!("tapster-start-{}", std::process::id()));
    let nothing = Path::new("");
    let overlaid: &[&str] = &["build", "examples/hello", "--overlay", "examples/hello/lore-last.toml"];
    let commands: [(&[&str], &Path, &str); 5] = [
        (&["--version"], nothing, ""),
        (&["build", "examples/hello"], nothing, ""),
        (overlaid, &cache, ""),
        (overlaid, nothing, ", for the first time"),
        (&["check", "rules/sillytavern-exact"], nothing, ""),
    ];
    let node = measure("node", &["-e", "0"], nothing);
    let row = |name: &str, (time, memory): (Duration, f64)| {
        format!("| {name} | {} | {:.2} × | {memory:.0} MB |", format_time(time), ratio(time, node.0))
    };
    let mut rows = vec!["| command | processor time | of `node -e 0` | memory |".to_owned(), "| --- | --- | --- | --- |".to_owned()];
    rows.push(row("`node -e 0`", node));
    for (args, cache, which) in commands {
        let name = format!("`tapster {}`{which}", args.join(" "));
        rows.push(row(&name, measure(&tapster, args, cache)));
    }
    let _ = std::fs::remove_dir_all(cache);
    report("start", &rows);
}
