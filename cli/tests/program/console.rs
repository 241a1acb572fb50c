//! Runs what the pages show. A block ```` ```console ```` holds commands, each behind `$ `, and what they print, standard
//! error first; `…` stands for anything, on a line of its own for any number of lines.
//!
//! A block behind `<!-- save: NAME -->` is a file: it is written into a fresh folder, and the commands behind it run
//! there. A page that saves nothing is run in the checkout.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::pages::{pages, read, root, updating};

/// Commands that a page may show without having them run: they are not ours.
const FOREIGN: &[&str] = &["cargo new", "cargo add", "cargo run", "cargo test", "cargo install", "mkdir", "cd"];

/// What runs a saved script, which finds the program in `PATH`. A machine without it runs no such script.
const PYTHON: &str = "python3 ";

/// A fenced block of a page.
struct PageBlock<'a> {
    /// The comment on the line in front of it.
    marker: Option<&'a str>,
    /// The text in front of it, back to the block or heading before.
    before: String,
    language: &'a str,
    body: String,
}

/// The fenced blocks of a page, in order.
fn blocks(page: &str) -> Vec<PageBlock<'_>> {
    let mut all = Vec::new();
    let (mut before, mut marker) = (String::new(), None);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
            let body = body.iter().map(|l| format!("{l}\n")).collect();
            all.push(PageBlock { marker: marker.take(), before: std::mem::take(&mut before), language, body });
            continue;
        }
        marker = line.strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->"));
        if line.starts_with('#') {
            before.clear();
        }
        before.push_str(line);
        before.push('\n');
    }
    all
}

/// One step of a page.
enum PageStep {
    Save(String, String),
    Run { typed: String, lines: Vec<String> },
}

/// A fresh folder that goes away with its owner.
struct PageFolder(PathBuf);

impl PageFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tapster-docs-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for PageFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a page saves and runs, in order.
fn steps(page: &str, text: &str) -> Vec<PageStep> {
    let mut all = Vec::new();
    for block in blocks(text) {
        if let Some(name) = block.marker.and_then(|m| m.strip_prefix("save: ")) {
            let named = block.before.contains(&format!("`{name}`"));
            assert!(named, "{page}: the paragraph in front of the file `{name}` does not name it");
            all.push(PageStep::Save(name.to_owned(), block.body.clone()));
        } else if block.language == "console" {
            let mut open = false;
            for line in block.body.lines() {
                if let Some(typed) = line.strip_prefix("$ ") {
                    // the README runs the program through cargo
                    let ours = typed.strip_prefix("cargo run --release -- ").or_else(|| typed.strip_prefix("tapster "));
                    let ours = ours.or_else(|| Some(typed).filter(|typed| typed.starts_with(PYTHON)));
                    open = ours.is_some();
                    assert!(open || FOREIGN.iter().any(|c| typed.starts_with(c)), "{page}: nobody runs `{typed}`");
                    all.extend(ours.map(|typed| PageStep::Run { typed: typed.to_owned(), lines: Vec::new() }));
                } else if let Some(PageStep::Run { lines, .. }) = all.last_mut().filter(|_| open) {
                    lines.push(line.trim_end().to_owned());
                }
            }
        }
    }
    all
}

/// The words of a command, as a shell parts them at blanks outside of quotes.
fn words(typed: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in typed.chars() {
        match (c, quote) {
            (_, Some(q)) if c == q => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ', None) => all.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    all
}

/// What a command prints: standard error, then standard output. `> FILE` at its end saves the latter.
fn printed(typed: &str, folder: &Path, store: Option<&Path>) -> String {
    let (typed, target) = typed.split_once(" > ").map_or((typed, None), |(typed, file)| (typed, Some(file)));
    let program = Path::new(env!("CARGO_BIN_EXE_tapster"));
    let script = typed.strip_prefix(PYTHON);
    let mut command = Command::new(if script.is_some() { Path::new(PYTHON.trim()) } else { program });
    command.args(words(script.unwrap_or(typed))).current_dir(folder).stdin(Stdio::null());
    let found = std::env::var_os("PATH").unwrap_or_default();
    let beside = program.parent().map(Path::to_path_buf).into_iter().chain(std::env::split_paths(&found));
    command.env("PATH", std::env::join_paths(beside).unwrap());
    command.env_remove("TAPSTER_PACKS").env_remove("TAPSTER_TEMPLATES").env("NO_COLOR", "1");
    match store {
        Some(store) => command.env("TAPSTER_STORE", store),
        None => command.env_remove("TAPSTER_STORE"),
    };
    let ran = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let Some(target) = target else { return format!("{err}{out}") };
    std::fs::write(folder.join(target), out.as_bytes()).unwrap();
    err.into_owned()
}

/// Whether `lines` say what `out` says.
fn says(lines: &[String], out: &[&str]) -> bool {
    match lines.split_first() {
        None => out.is_empty(),
        Some((first, rest)) if first.trim() == "…" => (0..=out.len()).any(|skip| out.get(skip..).is_some_and(|out| says(rest, out))),
        Some((first, rest)) => out.split_first().is_some_and(|(line, out)| matches(first, line) && says(rest, out)),
    }
}

fn matches(shown: &str, line: &str) -> bool {
    let mut left = line;
    for (n, piece) in shown.split('…').enumerate() {
        match left.find(piece) {
            Some(at) if n > 0 || at == 0 => left = left.split_at(at + piece.len()).1,
            _ => return false,
        }
    }
    left.is_empty() || shown.ends_with('…')
}

/// Runs a page, and tells where it differs from what is printed.
fn run(page: &str) -> Vec<String> {
    let text = read(page);
    let steps = steps(page, &text);
    let own = steps.iter().any(|s| matches!(s, PageStep::Save(..))).then(|| PageFolder::new(&page.replace('/', "-")));
    let folder = own.as_ref().map_or(root(), |f| f.0.as_path());
    // sessions of a page that runs in the checkout are not left there
    let beside = own.is_none().then(|| PageFolder::new(&format!("store-{}", page.replace('/', "-"))));
    let store = beside.as_ref().map(|f| f.0.join("tapster.db"));
    let mut wrong = Vec::new();
    for step in steps {
        match step {
            PageStep::Save(name, body) => {
                let path = folder.join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, body).unwrap();
            }
            PageStep::Run { typed, .. } if typed.starts_with(PYTHON) && Command::new(PYTHON.trim()).arg("-V").output().is_err() => {
                println!("notice: {page}: `{typed}` is not run, because this machine has no Python");
            }
            PageStep::Run { typed, lines } => {
                let printed = printed(&typed, folder, store.as_deref());
                let out: Vec<&str> = printed.lines().map(str::trim_end).collect();
                if !says(&lines, &out) {
                    wrong.push(format!("{page}: `tapster {typed}` prints\n{}", out.join("\n")));
                }
            }
        }
    }
    wrong
}

/// The pages of `docs/`, the README, and those of the examples.
fn shown() -> Vec<String> {
    let folders = std::fs::read_dir(root().join("examples")).unwrap().map(|e| e.unwrap().path());
    let examples = folders.map(|f| f.join("README.md")).filter(|p| p.is_file());
    let name = |path: PathBuf| path.strip_prefix(root()).unwrap().display().to_string().replace('\\', "/");
    let mut all: Vec<String> = examples.chain(pages()).map(name).chain(["README.md".to_owned()]).collect();
    all.sort();
    all
}

/// What the pages show is what the program prints. A page may be named in `PAGE`, to try it alone.
#[test]
fn pages_show_what_comes_out() {
    if updating() {
        return;
    }
    let only = std::env::var("PAGE").unwrap_or_default();
    let pages: Vec<String> = shown().into_iter().filter(|page| page.contains(&only)).collect();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        // two at a time: nearly all of a page's time is spent in the programs that it starts
        let halves: Vec<_> = [0, 1]
            .map(|half| {
                let mine = pages.iter().skip(half).step_by(2);
                scope.spawn(move || mine.flat_map(|page| run(page)).collect::<Vec<String>>())
            })
            .into();
        halves.into_iter().flat_map(|h| h.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Whoever opens an example or a page that teaches finds a command to type.
#[test]
fn pages_that_teach_show_a_command() {
    let teaches = |page: &str| {
        let folder = page.split('/').nth(1).unwrap_or("");
        page.starts_with("examples/") || folder == "tutorials" || folder == "how-to"
    };
    let silent = |page: &String| !steps(page, &read(page)).iter().any(|s| matches!(s, PageStep::Run { .. }));
    let silent: Vec<String> = shown().into_iter().filter(|page| teaches(page)).filter(silent).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

/// No rule stands on a page that nothing reads: it is saved for a command, laid over a pack, or comes from a file.
#[test]
fn every_rule_on_a_page_is_read_by_something() {
    if updating() {
        return;
    }
    let mut wrong = Vec::new();
    for page in shown() {
        for block in blocks(&read(&page)) {
            let marker = block.marker.unwrap_or("");
            let word = marker.split(':').next().unwrap_or("");
            match word {
                "save" | "case" | "rule" | "file" | "rust" => {}
                "over" => wrong.extend(over(&page, marker, &block.body)),
                _ if matches!(block.language, "toml" | "json" | "rust" | "rhai") && page.starts_with("docs/") => {
                    let first = block.body.lines().next().unwrap_or("");
                    wrong.push(format!("{page}: nothing reads the block that begins `{first}`"));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// `<!-- over: PACK -->`: the block is a part of an overlay that the pack takes without a complaint.
fn over(page: &str, marker: &str, body: &str) -> Option<String> {
    let pack = marker.trim_start_matches("over: ");
    let folder = PageFolder::new(&format!("over-{}-{}", page.replace('/', "-"), body.len()));
    std::fs::write(folder.0.join("overlay.toml"), format!("kind = \"overlay\"\nversion = 2\n\n{body}")).unwrap();
    let pack = if pack.contains('/') { root().join(pack).display().to_string() } else { pack.to_owned() };
    let said = printed(&format!("check overlay.toml --pack '{pack}'"), &folder.0, None);
    (said.trim() != "0 errors, 0 warnings")
        .then(|| format!("{page}: the block that begins `{}` over {pack}:\n{said}", body.lines().next().unwrap_or("")))
}
