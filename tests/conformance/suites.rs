//! The suites: finding case files, running their cases, counting.
//!
//! Cases run in child processes of the harness itself, so that one that overflows its stack or never ends costs
//! that case and not the run.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value as Json;

use crate::case::{Case, Check};
use crate::{adapters, report};

/// A case file.
pub(crate) struct Suite {
    /// Its path under the folder, without ending.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) file: PathBuf,
    /// Its cases.
    pub(crate) cases: Vec<Case>,
}

/// What became of a suite.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Cases as recorded.
    pub(crate) passed: usize,
    /// All cases.
    pub(crate) total: usize,
    /// Cases that are not, in the order of the file, with what was compared.
    pub(crate) failed: Vec<(String, Check)>,
}

/// All case files under a folder, by name behind a prefix. Files that are no list of cases are passed over.
pub(crate) fn find(folder: &Path, prefix: &str) -> Vec<Suite> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "json") {
                found.extend(read(&path, format!("{prefix}{}", name(folder, &path))));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The suite of a case file.
pub(crate) fn read(file: &Path, name: String) -> Option<Suite> {
    Some(Suite { name, cases: cases(file)?, file: file.to_owned() })
}

/// The cases of a file, if it is a list of cases. A case that names a file which is not there cannot run and is left out.
pub(crate) fn cases(file: &Path) -> Option<Vec<Case>> {
    let bytes = std::fs::read(file).ok()?;
    let Ok(mut cases) = serde_json::from_slice::<Vec<Case>>(&bytes) else {
        return report::fault_cases(file).or_else(|| adapters::expression::cases(file));
    };
    let folder = file.parent().unwrap_or(Path::new(""));
    cases.retain_mut(|case| resolve(&mut case.input, folder).is_some());
    (!cases.is_empty()).then_some(cases)
}

/// Puts documents in place of `{"$file": PATH}`, which is relative to the case file: many cases share one document. With
/// `$key` it is a part of the document; other keys are laid over it.
fn resolve(value: &mut Json, folder: &Path) -> Option<()> {
    match value {
        Json::Object(map) => {
            if let Some(path) = map.get("$file").and_then(Json::as_str) {
                let bytes = std::fs::read(folder.join(path)).ok()?;
                let mut document: Json = serde_json::from_slice(&bytes).ok()?;
                if let Some(key) = map.get("$key").and_then(Json::as_str) {
                    document = document[key].take();
                }
                for (key, laid) in map.iter().filter(|(key, _)| !key.starts_with('$')) {
                    document[key] = laid.clone();
                }
                *value = document;
                return Some(());
            }
            map.values_mut().try_for_each(|value| resolve(value, folder))
        }
        Json::Array(list) => list.iter_mut().try_for_each(|value| resolve(value, folder)),
        _ => Some(()),
    }
}

fn name(folder: &Path, file: &Path) -> String {
    let path = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    path.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Runs all cases; the tallies by suite, stricter levels as suites of their own.
pub(crate) fn run(suites: &[Suite]) -> BTreeMap<String, Tally> {
    let mut jobs = VecDeque::new();
    let mut results: Vec<Vec<Vec<Check>>> = Vec::new();
    for (n, suite) in suites.iter().enumerate() {
        results.push(vec![Vec::new(); suite.cases.len()]);
        for (k, case) in suite.cases.iter().enumerate() {
            match adapters::find(case) {
                Some(_) => jobs.push_back((n, k)),
                None => store(&mut results, n, k, vec![Check::broken("", case, "no adapter for this kind yet")]),
            }
        }
    }
    let (jobs, results) = (Mutex::new(jobs), Mutex::new(results));
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(suites, &jobs, &results));
        }
    });
    tally(suites, results.into_inner().unwrap_or_default())
}

fn work(suites: &[Suite], jobs: &Mutex<VecDeque<(usize, usize)>>, results: &Mutex<Vec<Vec<Vec<Check>>>>) {
    let mut worker = None;
    loop {
        let job = jobs.lock().ok().and_then(|mut jobs| jobs.pop_front());
        let Some((n, k)) = job else { return };
        let Some((suite, case)) = suites.get(n).and_then(|s| Some((s, s.cases.get(k)?))) else { continue };
        let checks = match worker.get_or_insert_with(worker::Worker::start).run(&suite.file, k) {
            Ok(checks) => checks,
            Err(why) => {
                worker = None; // it is gone or stuck: the next case gets a new one
                adapters::find(case).map_or(&[""][..], |a| a.levels).iter().map(|level| Check::broken(level, case, &why)).collect()
            }
        };
        if let Ok(mut results) = results.lock() {
            store(&mut results, n, k, checks);
        }
    }
}

fn store(results: &mut [Vec<Vec<Check>>], n: usize, k: usize, checks: Vec<Check>) {
    if let Some(cell) = results.get_mut(n).and_then(|suite| suite.get_mut(k)) {
        *cell = checks;
    }
}

fn tally(suites: &[Suite], results: Vec<Vec<Vec<Check>>>) -> BTreeMap<String, Tally> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for (suite, results) in suites.iter().zip(results) {
        for (case, checks) in suite.cases.iter().zip(results) {
            for check in checks {
                let name = if check.level.is_empty() { suite.name.clone() } else { format!("{}+{}", suite.name, check.level) };
                let tally = tallies.entry(name).or_default();
                tally.total += 1;
                if check.passed {
                    tally.passed += 1;
                } else {
                    tally.failed.push((case.name.clone(), check));
                }
            }
        }
    }
    tallies
}

/// One child process that runs cases: a line in (`file<TAB>number`), a line out (the checks as JSON).
pub(crate) mod worker {
    use std::io::{BufRead, BufReader, Write};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::{Path, PathBuf};
    use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
    use std::sync::OnceLock;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use crate::adapters;
    use crate::case::{Case, Check};

    /// How long a case may take.
    const LIMIT: Duration = Duration::from_secs(60);
    /// Deep inputs are part of the cases.
    const STACK: usize = 256 << 20;

    /// A running child.
    pub(crate) struct Worker {
        child: Option<(Child, ChildStdin, Receiver<String>)>,
    }

    impl Worker {
        /// Starts a child.
        pub(crate) fn start() -> Self {
            Self { child: spawn().ok() }
        }

        /// Runs one case; an error if the child ends or does not answer in time, and is of no more use.
        pub(crate) fn run(&mut self, file: &Path, number: usize) -> Result<Vec<Check>, String> {
            let Some((_, input, answers)) = &mut self.child else { return Err("the worker process does not start".into()) };
            writeln!(input, "{}\t{number}", file.display())
                .and_then(|()| input.flush())
                .map_err(|e| format!("the worker process is gone: {e}"))?;
            let line = answers.recv_timeout(LIMIT).map_err(|e| match e {
                std::sync::mpsc::RecvTimeoutError::Timeout => format!("no answer within {} seconds", LIMIT.as_secs()),
                std::sync::mpsc::RecvTimeoutError::Disconnected => "the worker process died (stack overflow?)".to_owned(),
            })?;
            serde_json::from_str(&line).map_err(|e| format!("the worker process answers nonsense ({e}): {line}"))
        }
    }

    impl Drop for Worker {
        fn drop(&mut self) {
            if let Some((child, ..)) = &mut self.child {
                // a child that has ended cannot be killed, which is what is wanted
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }

    /// The address of a PostgreSQL server for cases about stores, where one can be started.
    pub(crate) static POSTGRES: OnceLock<String> = OnceLock::new();

    fn spawn() -> std::io::Result<(Child, ChildStdin, Receiver<String>)> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--worker")
            .envs(POSTGRES.get().map(|address| (adapters::POSTGRES, address)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("no pipes"));
        };
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Ok((child, input, answers))
    }

    /// The child's side: answers until its input ends.
    pub(crate) fn serve() -> ExitCode {
        let served = std::thread::Builder::new().stack_size(STACK).spawn(|| {
            let mut held: Option<(PathBuf, Vec<Case>)> = None;
            for line in std::io::stdin().lines().map_while(Result::ok) {
                let Some((file, number)) = line.rsplit_once('\t') else { continue };
                let file = PathBuf::from(file);
                if held.as_ref().is_none_or(|(name, _)| *name != file) {
                    held = super::cases(&file).map(|cases| (file, cases));
                }
                let case = held.as_ref().zip(number.parse::<usize>().ok()).and_then(|((_, cases), n)| cases.get(n));
                let Some(case) = case else { continue };
                let checks = run(case);
                println!("{}", serde_json::to_string(&checks).unwrap_or_else(|_| "[]".into()));
            }
        });
        match served.map(std::thread::JoinHandle::join) {
            Ok(Ok(())) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }

    fn run(case: &Case) -> Vec<Check> {
        let Some(adapter) = adapters::find(case) else { return vec![Check::broken("", case, "no adapter for this kind yet")] };
        match catch_unwind(AssertUnwindSafe(|| (adapter.run)(case))) {
            Ok(checks) => checks,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                let why = format!("panic: {}", text.unwrap_or_default());
                adapter.levels.iter().map(|level| Check::broken(level, case, &why)).collect()
            }
        }
    }
}
