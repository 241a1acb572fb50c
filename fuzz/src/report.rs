//! What campaigns have counted, as JSON between processes and as a table for people.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::campaign::Outcome;
use crate::{Target, Verdict};

/// What is wrong with an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The door panicked.
    Panic,
    /// Two ways that must agree do not.
    Wrong,
    /// It took too long.
    Slow,
    /// It took too much memory.
    Memory,
    /// It took so long that the process was ended.
    Hang,
    /// It took so much memory that the process was ended.
    Exhausted,
    /// The process ended for another reason, such as an overflow of its stack.
    Died,
}

impl Kind {
    const ALL: [Self; 7] = [Self::Panic, Self::Wrong, Self::Slow, Self::Memory, Self::Hang, Self::Exhausted, Self::Died];

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Wrong => "wrong",
            Self::Slow => "slow",
            Self::Memory => "memory",
            Self::Hang => "hang",
            Self::Exhausted => "exhausted",
            Self::Died => "died",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether its words are a measurement, which no two inputs share.
    #[must_use]
    pub fn is_measured(self) -> bool {
        matches!(self, Self::Slow | Self::Memory)
    }
}

/// An input with which something is wrong.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What.
    pub kind: Kind,
    /// The place and words of a panic, what differs, or the measurement.
    pub why: String,
    /// How many inputs showed it.
    pub times: u64,
    /// The length of the smallest one.
    pub bytes: usize,
    /// Its file.
    pub input: PathBuf,
}

/// What a campaign has counted.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The name of the target.
    pub target: String,
    /// The door.
    pub door: String,
    /// Inputs.
    pub executions: u64,
    /// Inputs that the door took.
    pub taken: u64,
    /// The longest time, in microseconds of the processor.
    pub time: u64,
    /// The most memory, in bytes.
    pub memory: u64,
    /// The time of all inputs together, in microseconds.
    pub total: u64,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Tally {
    /// A tally of nothing.
    #[must_use]
    pub fn new(target: &Target) -> Self {
        Self { target: target.name.to_owned(), door: target.door.to_owned(), ..Self::default() }
    }

    /// Counts one input.
    pub fn count(&mut self, outcome: &Outcome) {
        self.executions += 1;
        self.taken += u64::from(matches!(outcome.verdict, Ok(Verdict::Taken)));
        self.time = self.time.max(outcome.time);
        self.memory = self.memory.max(outcome.peak as u64);
        self.total += outcome.time;
    }

    /// Adds what another process has counted of the same target.
    pub fn add(&mut self, other: Self) {
        self.executions += other.executions;
        self.taken += other.taken;
        self.time = self.time.max(other.time);
        self.memory = self.memory.max(other.memory);
        self.total += other.total;
        for new in other.findings {
            match self.findings.iter_mut().find(|f| f.kind == new.kind && (f.kind.is_measured() || f.why == new.why)) {
                Some(known) => known.times += new.times,
                None => self.findings.push(new),
            }
        }
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let findings = self
            .findings
            .iter()
            .map(|f| json!({ "kind": f.kind.word(), "why": f.why, "times": f.times, "bytes": f.bytes, "input": f.input }));
        json!({
            "target": self.target, "door": self.door, "executions": self.executions, "taken": self.taken, "worst_time_us": self.time,
            "worst_memory_bytes": self.memory, "total_time_us": self.total, "findings": findings.collect::<Vec<_>>(),
        })
    }

    /// Reads what [`save`](Self::save) has written.
    #[must_use]
    pub fn from_json(json: &Json) -> Self {
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        let number = |name: &str| json[name].as_u64().unwrap_or_default();
        let finding = |f: &Json| {
            let (times, bytes) = (f["times"].as_u64()?, usize::try_from(f["bytes"].as_u64()?).ok()?);
            Some(Finding { kind: Kind::named(f["kind"].as_str()?)?, why: text(&f["why"]), times, bytes, input: text(&f["input"]).into() })
        };
        Self {
            target: text(&json["target"]),
            door: text(&json["door"]),
            executions: number("executions"),
            taken: number("taken"),
            time: number("worst_time_us"),
            memory: number("worst_memory_bytes"),
            total: number("total_time_us"),
            findings: json["findings"].as_array().into_iter().flatten().filter_map(finding).collect(),
        }
    }

    /// Writes it to a file, completely or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("new");
        std::fs::write(&new, self.to_json().to_string())?;
        std::fs::rename(new, path)
    }

    /// One row of the table.
    #[must_use]
    pub fn row(&self) -> String {
        let found: Vec<String> = self.findings.iter().map(|f| format!("{} ×{}", f.kind.word(), f.times)).collect();
        format!(
            "| `{}` | {} | {} | {:.0} % | {} | {} | {} |",
            self.target,
            self.door,
            grouped(self.executions),
            self.taken as f64 * 100.0 / self.executions.max(1) as f64,
            shown_time(self.time),
            shown_bytes(self.memory),
            if found.is_empty() { "–".to_owned() } else { found.join(", ") },
        )
    }
}

/// The head of the table.
pub const HEAD: &str =
    "| target | door | inputs | taken | worst time | worst memory | findings |\n| --- | --- | --- | --- | --- | --- | --- |";

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

fn shown_time(us: u64) -> String {
    match us {
        0..10_000 => format!("{:.1} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

fn shown_bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..10_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
