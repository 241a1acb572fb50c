//! The command line of the fuzz driver; [`HELP`] says what it can do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value as Json;
use tapster_fuzz::campaign::{self, Limits, Settings};
use tapster_fuzz::memory::{self, Counting};
use tapster_fuzz::report::{HEAD, Tally};
use tapster_fuzz::{TARGETS, Target, determinism, find, ledger, parent, seeds};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The seed of the fixed campaigns.
const SEED: u64 = 17;
/// The stack of the thread that runs targets: that of threads of Rust programs.
const STACK: usize = 2 << 20;

const HELP: &str = "\
Gives mutated inputs to the doors of Tapster, and looks for panics, for ways that disagree, and for what takes too much time or memory.

Usage:
  tapster-fuzz                                   lists the targets
  tapster-fuzz TARGET… [OPTIONS]                 a campaign for each target; `all` stands for all of them
  tapster-fuzz TARGET --replay FILE              gives one input to the door again
  tapster-fuzz determinism                       compares a thousand builds under different surroundings
  tapster-fuzz table FILE                        prints a ledger as a table
  tapster-fuzz corpus TARGET FOLDER              writes the seeds of a target, for fuzzers that choose inputs by coverage

Options:
  --seconds N      ends each campaign after N seconds (10 without this, `--executions` and `--fixed`)
  --executions N   ends each campaign after N inputs
  --fixed          as many inputs as CI gives to the target
  --seed N         the seed of the random numbers (17)
  --out FOLDER     where findings are written (target/fuzz)
  --json FILE      writes the counts as JSON
  --ledger FILE    adds the counts to a ledger

Exit codes: 0 nothing was found, 1 something was found, 2 the arguments are wrong or a file cannot be used.

Examples:
  cargo run --release -p tapster-fuzz -- pattern --seconds 600
  cargo run --release -p tapster-fuzz -- all --fixed
";

#[derive(Default)]
struct Args {
    targets: Vec<&'static Target>,
    seconds: Option<u64>,
    executions: Option<u64>,
    fixed: bool,
    seed: Option<u64>,
    replay: Option<PathBuf>,
    worker: Option<PathBuf>,
    out: Option<PathBuf>,
    json: Option<PathBuf>,
    ledger: Option<PathBuf>,
}

fn main() -> ExitCode {
    if asks_for_help(std::env::args_os().skip(1)) {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match std::env::args().nth(1).as_deref() {
        Some("determinism") => return deterministic(),
        Some("digest") => {
            println!("digest {}", determinism::digest());
            return ExitCode::SUCCESS;
        }
        Some("table") => {
            let Some(file) = std::env::args_os().nth(2) else {
                eprintln!("tapster-fuzz: `table` needs the file of a ledger");
                return ExitCode::from(2);
            };
            return table(Path::new(&file));
        }
        Some("corpus") => {
            let given: Vec<String> = std::env::args().skip(2).collect();
            return corpus(&given).unwrap_or_else(|why| {
                eprintln!("tapster-fuzz: {why}");
                ExitCode::from(2)
            });
        }
        _ => {}
    }
    let done = read(std::env::args().skip(1)).and_then(|args| go(&args));
    done.unwrap_or_else(|why| {
        eprintln!("tapster-fuzz: {why}");
        ExitCode::from(2)
    })
}

/// Whether the arguments ask for help: `help` as the first one, or an option of that meaning anywhere.
fn asks_for_help(given: impl Iterator<Item = OsString>) -> bool {
    given.enumerate().any(|(n, word)| word == "--help" || word == "-h" || n == 0 && word == "help")
}

fn read(mut given: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args::default();
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("`{word}` needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a whole number"));
        match word.as_str() {
            "--seconds" => args.seconds = Some(number(value()?)?),
            "--executions" => args.executions = Some(number(value()?)?),
            "--seed" => args.seed = Some(number(value()?)?),
            "--fixed" => args.fixed = true,
            "--replay" => args.replay = Some(value()?.into()),
            "--worker" => args.worker = Some(value()?.into()),
            "--out" => args.out = Some(value()?.into()),
            "--json" => args.json = Some(value()?.into()),
            "--ledger" => args.ledger = Some(value()?.into()),
            "all" | "--all" => args.targets.extend(TARGETS),
            option if option.starts_with('-') => return Err(format!("there is no option `{option}`; `--help` lists them")),
            name => args.targets.push(named(name)?),
        }
    }
    Ok(args)
}

fn named(name: &str) -> Result<&'static Target, String> {
    find(name)
        .ok_or_else(|| format!("there is no target `{name}`; without arguments they are listed, and `--help` says what else there is"))
}

fn go(args: &Args) -> Result<ExitCode, String> {
    let told = |error: std::io::Error| error.to_string();
    let Some(first) = args.targets.first() else {
        TARGETS.iter().for_each(|target| println!("{:<20} {}", target.name, target.door));
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(file) = &args.replay {
        return replay(first, file);
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("target/fuzz"));
    std::fs::create_dir_all(&out).map_err(told)?;
    let seconds = args.seconds.or(if args.executions.is_none() && !args.fixed { Some(10) } else { None });
    let seed = args.seed.unwrap_or(SEED);
    let settings = Settings { seconds, executions: args.executions, seed, limits: Limits::default(), out };
    if let Some(progress) = args.worker.clone() {
        let target: &'static Target = first;
        let work = std::thread::Builder::new().stack_size(STACK).spawn(move || campaign::worker(target, &settings, &progress).map(drop));
        let ended = work.map_err(told)?.join().map_err(|_| "the driver panicked".to_owned())?;
        return ended.map(|()| ExitCode::SUCCESS).map_err(told);
    }
    let scratch = scratch().map_err(told)?;
    let mut all = Vec::new();
    println!("{HEAD}");
    for target in &args.targets {
        let executions = if args.fixed { Some(target.fixed) } else { settings.executions };
        let tally = parent::campaign(target, &Settings { executions, ..settings.clone() }, &scratch).map_err(told)?;
        println!("{}", tally.row());
        tell(&tally);
        if let Some(path) = &args.ledger {
            ledger::add(path, &tally).map_err(told)?;
        }
        all.push(tally);
    }
    let _ = std::fs::remove_dir_all(&scratch);
    if let Some(path) = &args.json {
        let json = Json::Array(all.iter().map(Tally::to_json).collect());
        std::fs::write(path, format!("{json:#}\n")).map_err(told)?;
    }
    Ok(if all.iter().all(|tally| tally.findings.is_empty()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The rows of a ledger, in the order of the targets.
fn table(file: &Path) -> ExitCode {
    match ledger::read(file) {
        Ok(all) => {
            println!("{HEAD}");
            let known = TARGETS.iter().filter_map(|target| all.iter().find(|tally| tally.target == target.name));
            known.for_each(|tally| println!("{}", tally.row()));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("tapster-fuzz: {}: {why}", file.display());
            ExitCode::from(2)
        }
    }
}

/// Writes the seeds of a target into a folder, a file each.
fn corpus(given: &[String]) -> Result<ExitCode, String> {
    let [name, folder] = given else { return Err("`corpus` needs a target and a folder".to_owned()) };
    let target = named(name)?;
    let told = |error: std::io::Error| format!("{folder}: {error}");
    std::fs::create_dir_all(folder).map_err(told)?;
    let all = seeds::of(target);
    for (n, seed) in all.iter().enumerate() {
        std::fs::write(Path::new(folder).join(format!("seed-{n}")), seed).map_err(told)?;
    }
    println!("{} seeds in {folder}", all.len());
    Ok(ExitCode::SUCCESS)
}

/// A thousand builds and more, in processes and threads: one digest.
fn deterministic() -> ExitCode {
    let expected = determinism::digest();
    let program = std::env::current_exe().unwrap_or_default();
    let child = || {
        let mut command = Command::new(&program);
        command.arg("digest");
        command
    };
    let processes = determinism::children(50, child).unwrap_or_else(|printed| vec![printed]);
    let threads = determinism::threads(24, 10);
    let count = (1 + processes.len() + threads.len()) * determinism::BUILDS;
    let other: Vec<&String> = processes.iter().chain(&threads).filter(|said| **said != expected).collect();
    println!(
        "{count} builds, {} in {} processes; {} other digests than {expected}",
        processes.len() * determinism::BUILDS,
        processes.len(),
        other.len()
    );
    other.iter().for_each(|said| println!("{said}"));
    if other.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(tally: &Tally) {
    for found in &tally.findings {
        eprintln!(
            "{}: {} ×{}, {} bytes in {}: {}",
            tally.target,
            found.kind.word(),
            found.times,
            found.bytes,
            found.input.display(),
            found.why
        );
    }
}

/// A folder in memory where there is one: a file of it is written for every input.
fn scratch() -> std::io::Result<PathBuf> {
    let shared = Path::new("/dev/shm");
    let base = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let folder = base.join(format!("tapster-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn replay(target: &'static Target, file: &Path) -> Result<ExitCode, String> {
    let input = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    campaign::quiet();
    let work = move || {
        memory::watch_this_thread(usize::MAX);
        // once to make what is made once
        let _ = campaign::run(target, b"");
        let outcome = campaign::run(target, &input);
        println!(
            "{:?}, {:.3} ms, {} kB at once, {} kB in all",
            outcome.verdict,
            outcome.time as f64 / 1e3,
            outcome.peak >> 10,
            outcome.made >> 10
        );
        outcome.finding(&Limits::default()).is_none()
    };
    let work = std::thread::Builder::new().stack_size(STACK).spawn(work).map_err(|e| e.to_string())?;
    let sound = work.join().map_err(|_| "the driver panicked".to_owned())?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::asks_for_help;

    #[test]
    fn help_is_given_wherever_it_is_asked_for() {
        let asks = |line: &str| asks_for_help(line.split(' ').map(Into::into));
        for line in ["--help", "-h", "help", "pattern --help", "pattern --seconds 5 -h", "table --help"] {
            assert!(asks(line), "{line}");
        }
        for line in ["", "pattern", "pattern help", "pattern --seconds 5"] {
            assert!(!asks(line), "{line}");
        }
    }
}
