//! One campaign: the seeds of one target, then mutations of them, until so many were tried or so much time is over.

use std::cell::RefCell;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::memory::Count;
use crate::mutate::{Stock, mutate};
use crate::report::{Finding, Kind, Tally};
use crate::watch::{self, BlackBox};
use crate::{Target, Verdict, clock, memory, seeds, shrink};

/// When an input is a finding, and when it ends the process.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The time of one input, in microseconds of the processor.
    pub time: u64,
    /// The memory of one input, in bytes.
    pub memory: usize,
    /// The time after which the process is ended.
    pub hang: u64,
    /// The memory at which the process is ended.
    pub most: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: 2_000_000, memory: 256 << 20, hang: 20_000_000, most: 2 << 30 }
    }
}

/// How long a campaign is, and where it leaves what it finds.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Seconds on the wall; `None`: no end by time.
    pub seconds: Option<u64>,
    /// Inputs to try; `None`: no end by number.
    pub executions: Option<u64>,
    /// The seed of all dice.
    pub seed: u64,
    /// Bounds of one input.
    pub limits: Limits,
    /// The folder for findings.
    pub out: PathBuf,
}

/// The result of one input.
pub struct Outcome {
    /// What the target said, or the place and words of its panic.
    pub verdict: Result<Verdict, String>,
    /// Microseconds of the processor.
    pub time: u64,
    /// The most bytes in use at once.
    pub peak: usize,
    /// All bytes that were asked for.
    pub made: usize,
}

impl Outcome {
    /// What is wrong with it, and a key by which the same finding is known again.
    #[must_use]
    pub fn finding(&self, limits: &Limits) -> Option<(Kind, String)> {
        match &self.verdict {
            Err(panic) => Some((Kind::Panic, panic.clone())),
            Ok(Verdict::Wrong(why)) => Some((Kind::Wrong, why.clone())),
            Ok(_) if self.time > limits.time => Some((Kind::Slow, format!("{:.1} s", self.time as f64 / 1e6))),
            Ok(_) if self.peak > limits.memory => Some((Kind::Memory, format!("{} MB", self.peak >> 20))),
            Ok(_) => None,
        }
    }
}

thread_local! {
    /// Where the last panic of this thread was, and what it said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics of targets from being printed.
pub fn quiet() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        PANIC.with_borrow_mut(|last| *last = format!("{place}: {}", info.payload_as_str().unwrap_or("a panic")));
    }));
}

/// Gives one input to a target.
#[must_use]
pub fn run(target: &Target, input: &[u8]) -> Outcome {
    watch::begin();
    let (count, began) = (Count::begin(), clock::of_thread());
    let verdict = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let (time, peak, made) = (clock::of_thread() - began, count.peak(), count.made());
    watch::end();
    Outcome { verdict: verdict.map_err(|_| PANIC.with_borrow(String::clone)), time, peak, made }
}

/// Inputs that were interesting: ordinary ones that the door took, and those that cost most.
#[derive(Default)]
struct Corpus {
    seeds: Vec<Vec<u8>>,
    taken: Vec<Vec<u8>>,
    costly: Vec<(usize, Vec<u8>)>,
}

impl Corpus {
    /// Costly inputs are rare, because one of them takes the time of hundreds of others.
    fn pick(&self, dice: &mut Dice) -> &[u8] {
        match dice.below(40) {
            0 if !self.costly.is_empty() => &dice.pick(&self.costly).1,
            1..=24 if !self.taken.is_empty() => short(&self.taken, dice),
            _ if self.seeds.is_empty() => &[],
            _ => short(&self.seeds, dice),
        }
    }

    fn learn(&mut self, input: &[u8], outcome: &Outcome, dice: &mut Dice) {
        if matches!(outcome.verdict, Ok(Verdict::Taken)) && dice.once_in(50) {
            keep(&mut self.taken, input.to_vec(), dice);
        }
        // by memory and not by time, so that the campaign is the same on every machine
        let least = self.costly.iter().enumerate().min_by_key(|(_, (made, _))| *made);
        match least {
            Some((at, (made, _))) if self.costly.len() >= 32 => {
                if outcome.made > *made {
                    self.costly[at] = (outcome.made, input.to_vec());
                }
            }
            _ => self.costly.push((outcome.made, input.to_vec())),
        }
    }
}

/// One of these, short ones more often than long ones: more of them are tried in the same time, and a change of them is
/// more likely to meet what matters.
fn short<'a>(list: &'a [Vec<u8>], dice: &mut Dice) -> &'a [u8] {
    let tries = 1 + dice.below(4);
    let tried = std::iter::repeat_with(|| dice.pick::<Vec<u8>>(list)).take(tries);
    tried.min_by_key(|input| input.len()).map_or(&[], Vec::as_slice)
}

fn keep(list: &mut Vec<Vec<u8>>, input: Vec<u8>, dice: &mut Dice) {
    if list.len() < 256 {
        list.push(input);
    } else {
        let at = dice.below(list.len());
        list[at] = input;
    }
}

/// Runs a campaign in this process, and writes what it has counted to `progress` once a second and at its end.
///
/// # Errors
/// Files cannot be written.
pub fn worker(target: &Target, settings: &Settings, progress: &std::path::Path) -> io::Result<Tally> {
    quiet();
    watch::start(settings.limits.hang, progress.with_extension("reason"));
    memory::watch_this_thread(settings.limits.most);
    let mut dice = Dice::new(settings.seed, target.name);
    let mut corpus = Corpus { seeds: seeds::own(target.name), ..Corpus::default() };
    corpus.seeds.extend((target.seeds)());
    corpus.seeds.retain(|seed| seed.len() <= target.longest);
    let mut work =
        Work { target, settings, tally: Tally::new(target), box_: BlackBox::create(&progress.with_extension("input"))?, worst: (0, 0) };
    // what is made once for all inputs is not the work of the first one
    let _ = run(target, corpus.seeds.first().map_or(&[], Vec::as_slice));
    let begun = Instant::now();
    let over = |tally: &Tally| {
        settings.executions.is_some_and(|most| tally.executions >= most)
            || settings.seconds.is_some_and(|most| begun.elapsed() >= Duration::from_secs(most))
    };
    for n in 0..corpus.seeds.len() {
        if over(&work.tally) {
            break;
        }
        let seed = corpus.seeds[n].clone();
        work.one(&seed)?;
    }
    let mut input = Vec::new();
    let mut saved = Instant::now();
    while !over(&work.tally) {
        input.clear();
        input.extend_from_slice(corpus.pick(&mut dice));
        let other = corpus.pick(&mut dice).to_vec();
        mutate(&mut input, target.shape, &Stock { words: target.words, other: &other, longest: target.longest }, &mut dice);
        let outcome = work.one(&input)?;
        corpus.learn(&input, &outcome, &mut dice);
        if saved.elapsed() > Duration::from_secs(1) {
            saved = Instant::now();
            work.tally.save(progress)?;
        }
    }
    work.tally.save(progress)?;
    Ok(work.tally)
}

struct Work<'a> {
    target: &'a Target,
    settings: &'a Settings,
    tally: Tally,
    box_: BlackBox,
    worst: (u64, usize),
}

impl Work<'_> {
    fn one(&mut self, input: &[u8]) -> io::Result<Outcome> {
        self.box_.note(input)?;
        let outcome = run(self.target, input);
        self.tally.count(&outcome);
        if outcome.time > self.worst.0 {
            self.worst.0 = outcome.time;
            self.write("worst-time", input)?;
        }
        if outcome.peak > self.worst.1 {
            self.worst.1 = outcome.peak;
            self.write("worst-memory", input)?;
        }
        if let Some((kind, why)) = outcome.finding(&self.settings.limits) {
            self.found(kind, why, input)?;
        }
        Ok(outcome)
    }

    /// Keeps a finding once, as small as it can be made.
    fn found(&mut self, kind: Kind, why: String, input: &[u8]) -> io::Result<()> {
        if let Some(known) = self.tally.findings.iter_mut().find(|f| f.kind == kind && (kind.is_measured() || f.why == why)) {
            known.times += 1;
            return Ok(());
        }
        // a variant may end the process, and what was found must not be lost
        self.write(&format!("{}-{}", kind.word(), self.tally.findings.len()), input)?;
        let (small, limits) = (shrink::shrink(self.target, input, kind, &why, &self.settings.limits, &mut self.box_), self.settings.limits);
        let name = format!("{}-{}", kind.word(), self.tally.findings.len());
        let path = self.write(&name, &small)?;
        let why = run(self.target, &small).finding(&limits).map_or(why, |(_, why)| why);
        self.tally.findings.push(Finding { kind, why, times: 1, bytes: small.len(), input: path });
        Ok(())
    }

    fn write(&self, name: &str, input: &[u8]) -> io::Result<PathBuf> {
        let path = self.settings.out.join(format!("{}-{name}", self.target.name));
        std::fs::write(&path, input)?;
        Ok(path)
    }
}
