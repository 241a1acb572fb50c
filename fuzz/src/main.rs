//! The command line of the fuzz driver; [`HELP`] says what it can do.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use tapster_fuzz::{TARGETS, Target, Verdict, find, limits, run_mutations, seeds};

/// The stack of the thread that runs targets: that of threads of Rust programs, and more where nothing is optimised.
const STACK: usize = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };

/// Where findings are written.
const OUT: &str = "target/fuzz";

const HELP: &str = "\
Gives mutated inputs to the doors of Tapster, and looks for panics, for ways that disagree, and for what takes more than 10 s of the
processor or 512 MiB.

Usage:
  tapster-fuzz                                   lists the targets
  tapster-fuzz TARGET… [OPTIONS]                 tries the targets; `all` stands for all of them
  tapster-fuzz TARGET --replay FILE              gives one input to the door again
  tapster-fuzz TARGET --corpus FOLDER            writes the seeds of a target, for fuzzers that choose inputs by coverage

Options:
  --executions N   so many inputs (as many as CI gives to the target without this)
  --seed N         the seed of the random numbers (17)

Findings are written to `target/fuzz`.
Exit codes: 0 nothing was found, 1 something was found, 2 the arguments are wrong or a file cannot be used.
";

struct Args {
    targets: Vec<&'static Target>,
    executions: Option<u32>,
    seed: u64,
    replay: Option<PathBuf>,
    corpus: Option<PathBuf>,
    /// This process tries a target, and notes each input before.
    worker: bool,
}

fn main() -> ExitCode {
    if std::env::args_os().any(|word| word == "--help" || word == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let done = read(std::env::args().skip(1)).and_then(|args| run(args).map_err(|e| e.to_string()));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("tapster-fuzz: {why}");
            ExitCode::from(2)
        }
    }
}

fn read(mut given: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args { targets: Vec::new(), executions: None, seed: 17, replay: None, corpus: None, worker: false };
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("`{word}` needs a value"));
        let number = |text: String| text.parse::<u32>().map_err(|_| format!("`{text}` is not a whole number"));
        match word.as_str() {
            "--executions" => args.executions = Some(number(value()?)?),
            "--seed" => args.seed = number(value()?)?.into(),
            "--replay" => args.replay = Some(value()?.into()),
            "--corpus" => args.corpus = Some(value()?.into()),
            "--worker" => args.worker = true,
            "all" => args.targets.extend(TARGETS),
            option if option.starts_with('-') => return Err(format!("there is no option `{option}`; `--help` lists them")),
            name => args.targets.push(find(name).ok_or_else(|| format!("there is no target `{name}`; without arguments they are listed"))?),
        }
    }
    Ok(args)
}

/// Whether nothing was found.
fn run(args: Args) -> io::Result<bool> {
    let Some(&target) = args.targets.first() else {
        TARGETS.iter().for_each(|target| println!("{:<20} {}", target.name, target.door));
        return Ok(true);
    };
    if let Some(folder) = &args.corpus {
        std::fs::create_dir_all(folder)?;
        let mut all = seeds::of(target).into_iter().enumerate();
        return all.try_for_each(|(n, seed)| std::fs::write(folder.join(format!("seed-{n}")), seed)).map(|()| true);
    }
    std::fs::create_dir_all(OUT)?;
    if args.worker || args.replay.is_some() {
        let work = std::thread::Builder::new().stack_size(STACK).spawn(move || work(target, &args))?;
        return work.join().unwrap_or_else(|_| Err(io::Error::other("the driver panicked")));
    }
    // each target in a process of its own: what ends the process is a finding of its last input
    let mut sound = true;
    for target in &args.targets {
        let mut worker = Command::new(std::env::current_exe()?);
        worker.args([target.name, "--worker", "--seed", &args.seed.to_string()]);
        worker.args(["--executions", &args.executions.unwrap_or(target.fixed).to_string()]);
        let status = worker.stdin(Stdio::null()).status()?;
        let last = last(target);
        match status.code() {
            Some(0) => std::fs::remove_file(last)?,
            Some(1) => {}
            _ => eprintln!("{}: {status}: its last input is {}", target.name, last.display()),
        }
        sound &= status.success();
    }
    Ok(sound)
}

/// Where the input that is tried is noted.
fn last(target: &Target) -> PathBuf {
    Path::new(OUT).join(format!("{}-last", target.name))
}

fn work(target: &'static Target, args: &Args) -> io::Result<bool> {
    let longest = Cell::new(0);
    let timed = |input: &[u8]| {
        let began = limits::begin();
        let verdict = (target.run)(input);
        longest.set(longest.get().max(limits::taken() - began));
        verdict
    };
    let caught = |run: &dyn Fn() -> Verdict| panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("it panics".to_owned()));
    // once to make what is made once
    let _ = caught(&|| (target.run)(b""));
    limits::limit_memory();
    if let Some(file) = &args.replay {
        let input = std::fs::read(file)?;
        let verdict = caught(&|| timed(&input));
        println!("{}: {verdict:?}, {:.3} ms", target.name, longest.get() as f64 / 1e3);
        return Ok(verdict.is_ok());
    }
    let note = File::create(last(target))?;
    let noted = |input: &[u8]| {
        let write = (&note).rewind().and_then(|()| (&note).write_all(input)).and_then(|()| note.set_len(input.len() as u64));
        write.map_err(|e| format!("the input cannot be noted: {e}"))?;
        timed(input)
    };
    let count = args.executions.unwrap_or(target.fixed);
    let mut all = seeds::of(target);
    all.retain(|seed| seed.len() <= target.longest);
    all.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    let mutations = count.saturating_sub(u32::try_from(all.len()).unwrap_or(u32::MAX));
    let mut found: Vec<_> = all.into_iter().filter_map(|seed| Some((caught(&|| noted(&seed)).err()?, seed))).collect();
    found.extend(run_mutations(target, args.seed, mutations, noted).err().map(|(input, why)| (why, input)));
    for (n, (why, input)) in found.iter().enumerate() {
        let file = Path::new(OUT).join(format!("{}-{n}", target.name));
        std::fs::write(&file, input)?;
        eprintln!("{}: {why}: {}", target.name, file.display());
    }
    println!("{:<20} {count:>9} inputs, the longest took {:>9.3} ms, {} findings", target.name, longest.get() as f64 / 1e3, found.len());
    Ok(found.is_empty())
}
