//! The command line of the fuzz driver; [`HELP`] says what it can do.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use tapster_fuzz::trial::Inputs;
use tapster_fuzz::{TARGETS, Target, Verdict, clock, find, limits};

/// The stack of the thread that runs targets: that of threads of Rust programs, and more where nothing is optimised.
const STACK: usize = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };

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
  --out FOLDER     where findings are written (target/fuzz)

Exit codes: 0 nothing was found, 1 something was found, 2 the arguments are wrong or a file cannot be used.

Examples:
  cargo run --release -p tapster-fuzz -- pattern --executions 1000000
  cargo run --release -p tapster-fuzz -- all
";

struct Args {
    targets: Vec<&'static Target>,
    executions: Option<u64>,
    seed: u64,
    out: PathBuf,
    replay: Option<PathBuf>,
    corpus: Option<PathBuf>,
    /// The process that tries a target: it notes each input in this file before.
    worker: Option<PathBuf>,
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
    let out = PathBuf::from("target/fuzz");
    let mut args = Args { targets: Vec::new(), executions: None, seed: 17, out, replay: None, corpus: None, worker: None };
    while let Some(word) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("`{word}` needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a whole number"));
        match word.as_str() {
            "--executions" => args.executions = Some(number(value()?)?),
            "--seed" => args.seed = number(value()?)?,
            "--out" => args.out = value()?.into(),
            "--replay" => args.replay = Some(value()?.into()),
            "--corpus" => args.corpus = Some(value()?.into()),
            "--worker" => args.worker = Some(value()?.into()),
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
        let mut all = tapster_fuzz::seeds::of(target).into_iter().enumerate();
        return all.try_for_each(|(n, seed)| std::fs::write(folder.join(format!("seed-{n}")), seed)).map(|()| true);
    }
    std::fs::create_dir_all(&args.out)?;
    if args.worker.is_some() || args.replay.is_some() {
        let work = std::thread::Builder::new().stack_size(STACK).spawn(move || Worker { target, args, worst: 0 }.run())?;
        return work.join().unwrap_or_else(|_| Err(io::Error::other("the driver panicked")));
    }
    let mut sound = true;
    for target in &args.targets {
        sound &= try_target(target, &args)?;
    }
    Ok(sound)
}

/// Tries a target in a process of its own: what ends the process is a finding of its last input.
fn try_target(target: &Target, args: &Args) -> io::Result<bool> {
    let note = args.out.join(format!("{}-last", target.name));
    let mut worker = Command::new(std::env::current_exe()?);
    worker.args([target.name, "--seed", &args.seed.to_string(), "--executions", &args.executions.unwrap_or(target.fixed).to_string()]);
    let status = worker.arg("--out").arg(&args.out).arg("--worker").arg(&note).stdin(Stdio::null()).status()?;
    match status.code() {
        Some(0) => std::fs::remove_file(&note)?,
        Some(1) => {}
        _ => eprintln!("{}: {status}: its last input is {}", target.name, note.display()),
    }
    Ok(status.success())
}

struct Worker {
    target: &'static Target,
    args: Args,
    /// The most time that an input has taken, in microseconds.
    worst: u64,
}

impl Worker {
    fn run(mut self) -> io::Result<bool> {
        // once to make what is made once
        let _ = self.find_fault(b"");
        limits::limit_memory();
        if let Some(file) = self.args.replay.clone() {
            let found = self.find_fault(&std::fs::read(file)?);
            println!("{}: {}, {:.3} ms", self.target.name, found.as_deref().unwrap_or("nothing is found"), self.worst as f64 / 1e3);
            return Ok(found.is_none());
        }
        let mut note = File::create(self.args.worker.as_deref().unwrap_or(Path::new("last")))?;
        let count = self.args.executions.unwrap_or(self.target.fixed);
        let mut found = 0;
        for input in Inputs::of(self.target, self.args.seed).take(usize::try_from(count).unwrap_or(usize::MAX)) {
            note.rewind()?;
            note.write_all(&input)?;
            note.set_len(input.len() as u64)?;
            if let Some(why) = self.find_fault(&input) {
                let file = self.args.out.join(format!("{}-{found}", self.target.name));
                std::fs::write(&file, &input)?;
                eprintln!("{}: {why}: {}", self.target.name, file.display());
                found += 1;
            }
        }
        println!("{:<20} {count:>9} inputs, the longest took {:>9.3} ms, {found} findings", self.target.name, self.worst as f64 / 1e3);
        Ok(found == 0)
    }

    /// What is wrong with an input.
    fn find_fault(&mut self, input: &[u8]) -> Option<String> {
        limits::limit_time();
        let began = clock::of_thread();
        let verdict = panic::catch_unwind(AssertUnwindSafe(|| (self.target.run)(input)));
        self.worst = self.worst.max(clock::of_thread() - began);
        match verdict {
            Err(_) => Some("it panics".to_owned()),
            Ok(Verdict::Wrong(why)) => Some(why),
            Ok(_) => None,
        }
    }
}
