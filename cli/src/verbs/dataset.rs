//! `tapster build --jsonl`: a file of scenes, one on each line, becomes a file of prompts, on all processors and in order.
//!
//! The lines are answered by processes of `tapster serve --stdio`, so that a scene that takes too much ends with an error on its
//! own line. Prompts are written a batch at a time; what is there already when the program is started again stays.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value as Json};

use crate::diag::Code;
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::unwritable;
use crate::layout::progress_bar;
use crate::output::Console;
use crate::worker::{LineWorker, MAX_LINE, id_of, read_line, refusal, too_long};

/// Lines of a batch for each process.
const BATCH: usize = 64;
/// The most bytes of the lines of a batch.
const BATCH_BYTES: usize = 64 << 20;
/// How long one prompt may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// Many scenes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Many scenes")]
pub(crate) struct DatasetArgs {
    /// Build a prompt for each line of IN, a scene as JSON (docs/reference/serve.md#lines), and write the answers to OUT in the same
    /// order. What OUT has already is not built again. `-` is standard input or output.
    #[arg(long, num_args = 2, value_names = ["IN", "OUT"], conflicts_with_all = [
        "scene", "character", "preset", "chat", "lorebook", "persona", "persona_file", "message", "kind", "seed", "now", "set", "choose",
        "tokenizer", "previous", "model", "strict", "locked", "dump", "turns", "draws", "state", "template", "revision", "task", "data", "max_tokens",
    ])]
    jsonl: Vec<PathBuf>,
    /// How many processes build at the same time.
    /// [default: the number of processors]
    #[arg(long, value_name = "N", requires = "jsonl")]
    jobs: Option<usize>,
}

impl DatasetArgs {
    /// The files, if there are any.
    pub(crate) fn files(&self) -> Option<(&Path, &Path)> {
        Some((self.jsonl.first()?, self.jsonl.get(1)?))
    }

    /// Builds all scenes. `defaults` are the keys of lines that do not have them.
    pub(crate) fn run(&self, defaults: &Map<String, Json>, allowed: &[PathBuf], show: &mut Console<'_>) -> Result<RunExit> {
        let Some((from, to)) = self.files() else { return Ok(RunExit::Done) };
        if show.arguments.is_none() {
            let message = "many scenes are built by processes of the program `tapster`, and this is none";
            return Err(EarlyExit::could_not(Code::FileMissing, message, "run `tapster build --jsonl IN OUT`"));
        }
        let mut output = PromptFile::open(to)?;
        let mut input: Box<dyn BufRead + '_> = if from == Path::new("-") {
            Box::new(BufReader::new(&mut *show.io.input))
        } else {
            let file = File::open(from).map_err(|error| unreadable(from, &error))?;
            Box::new(BufReader::new(file))
        };
        for done in 0..output.lines {
            if next_line(&mut input, from)?.is_none() {
                let message = format!("`{}` has {} lines, and `{}` only {done}", to.display(), output.lines, from.display());
                return Err(EarlyExit::could_not(Code::FileMissing, message, "name another file for the prompts"));
            }
        }
        let jobs = self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
        let (kept, bar) = (output.lines, progress_bar(0, show.io.terminal));
        bar.unset_length();
        let (lines, waiting) = channel::<(usize, Vec<u8>)>();
        let (answered, answers) = channel();
        let waiting = Mutex::new(waiting);
        // each thread lives as long as its processes, which end with the one that has started them
        let failed = std::thread::scope(|scope| {
            for _ in 0..jobs {
                let answered = answered.clone();
                scope.spawn(|| answer_lines(&waiting, answered, defaults, allowed));
            }
            drop(answered);
            let lines = lines;
            let mut failed = 0;
            loop {
                let (mut sent, mut bytes) = (0, 0);
                while sent < BATCH * jobs && bytes < BATCH_BYTES {
                    let Some(line) = next_line(&mut input, from)? else { break };
                    bytes += line.len();
                    // the threads wait for lines as long as this sender is there
                    let _ = lines.send((sent, line));
                    sent += 1;
                }
                if sent == 0 {
                    return Ok::<_, EarlyExit>(failed);
                }
                let mut batch: Vec<(usize, Vec<u8>)> = answers.iter().take(sent).inspect(|_| bar.inc(1)).collect();
                batch.sort_unstable_by_key(|(at, _)| *at);
                failed += batch.iter().filter(|(_, answer)| !is_built(answer)).count();
                output.write(batch.iter().map(|(_, answer)| answer)).map_err(|error| unwritable(to, &error))?;
            }
        })?;
        bar.finish_and_clear();
        drop(input);
        let built = output.lines - kept - failed;
        let _ = writeln!(show.io.err, "{built} built, {failed} failed, {kept} there before");
        Ok(if failed == 0 { RunExit::Done } else { RunExit::No })
    }
}

/// Whether a line, or its beginning, is an answer.
fn is_answer(line: &[u8]) -> bool {
    let beginning = String::from_utf8_lossy(line);
    beginning.starts_with("{\"id\":") && beginning.contains(",\"ok\":")
}

/// Whether an answer has a prompt.
fn is_built(answer: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct AnswerStatus {
        ok: bool,
    }
    serde_json::from_slice::<AnswerStatus>(answer).is_ok_and(|answer| answer.ok)
}

/// The next line that is not blank.
fn next_line(input: &mut dyn BufRead, from: &Path) -> Result<Option<Vec<u8>>> {
    loop {
        let line = read_line(input).map_err(|error| unreadable(from, &error))?;
        if line.as_ref().is_none_or(|line| !line.iter().all(u8::is_ascii_whitespace)) {
            return Ok(line);
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> EarlyExit {
    EarlyExit::could_not(Code::FileMissing, format!("`{}` cannot be read: {error}", path.display()), "check the path and its permissions")
}

/// Answers lines until there are no more, by a process that is started when it is first needed.
fn answer_lines(
    waiting: &Mutex<Receiver<(usize, Vec<u8>)>>,
    answered: Sender<(usize, Vec<u8>)>,
    defaults: &Map<String, Json>,
    allowed: &[PathBuf],
) {
    let mut worker = None;
    loop {
        let Ok((at, line)) = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv() else { return };
        if answered.send((at, answer_line(&mut worker, &line, defaults, allowed))).is_err() {
            return;
        }
    }
}

fn answer_line(worker: &mut Option<LineWorker>, line: &[u8], defaults: &Map<String, Json>, allowed: &[PathBuf]) -> Vec<u8> {
    if line.len() > MAX_LINE {
        return format!("{}\n", refusal(Json::Null, too_long())).into_bytes();
    }
    let line: Arc<[u8]> = with_defaults(line, defaults).into();
    let arguments = ["serve", "--stdio"].map(Into::into).into_iter();
    let arguments = arguments.chain(allowed.iter().flat_map(|folder| ["--allow".into(), folder.clone().into_os_string()]));
    let started = worker.take().map_or_else(|| LineWorker::start(arguments), Ok);
    match started.and_then(|mut worker| Ok((worker.ask(&line, DEADLINE)?, worker))) {
        Ok((answer, alive)) => {
            *worker = Some(alive);
            answer
        }
        Err(complaint) => format!("{}\n", refusal(id_of(&line), *complaint)).into_bytes(),
    }
}

/// A line with the keys of the flags, where it has none of its own. One that is no object is answered with an error.
fn with_defaults(line: &[u8], defaults: &Map<String, Json>) -> Vec<u8> {
    let object = (!defaults.is_empty()).then(|| serde_json::from_slice::<Map<String, Json>>(line).ok()).flatten();
    let Some(mut object) = object else { return line.to_owned() };
    for (key, value) in defaults {
        object.entry(key).or_insert_with(|| value.clone());
    }
    Json::Object(object).to_string().into_bytes()
}

/// Where prompts go.
struct PromptFile {
    to: Box<dyn Write>,
    /// The prompts that it holds.
    lines: usize,
}

impl PromptFile {
    /// Opens a file behind its last whole line; a part of a line, which a killed program leaves, is cut off.
    fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { to: Box::new(std::io::stdout()), lines: 0 });
        }
        let failed = |error: std::io::Error| unwritable(path, &error);
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let (mut lines, mut end) = (0, 0);
        let mut reader = BufReader::new(&mut file);
        loop {
            let (mut line, start) = (Vec::new(), end);
            let read = reader.read_until(b'\n', &mut line).map_err(failed)?;
            // another file would lose its last line
            if start == 0 && read > 0 && !is_answer(&line) {
                let message = format!("`{}` is there, and is no file of prompts", path.display());
                return Err(EarlyExit::could_not(Code::FileMissing, message, "name another file, or remove this one"));
            }
            if line.last() != Some(&b'\n') {
                break;
            }
            (lines, end) = (lines + 1, start + read as u64);
        }
        file.set_len(end).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { to: Box::new(BufWriter::new(file)), lines })
    }

    fn write<'a>(&mut self, answers: impl Iterator<Item = &'a Vec<u8>>) -> std::io::Result<()> {
        for answer in answers {
            self.to.write_all(answer)?;
            self.lines += 1;
        }
        self.to.flush()
    }
}
