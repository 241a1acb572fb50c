//! How long answers take, measured with `cargo test -p tapster-lsp --release -- --ignored --nocapture speed`.

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::editor::{Editor, address};

/// The time of the processor that all threads of this process have used, in milliseconds; the clock where it is not known.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let of_tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let all = of_tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    let sum: f64 = all.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum();
    if stat.is_empty() { 0.0 } else { sum / 1e6 }
}

fn percentiles(name: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{name}: median {:.1} ms, 95th percentile {:.1} ms, most {:.1} ms, of {}", at(0.5), at(0.95), at(1.0), times.len());
}

#[test]
#[ignore = "a measurement"]
fn keystrokes_and_proposals_in_a_large_pack() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules").canonicalize().unwrap();
    // the largest of the shipped packs
    let folders = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let pack = folders.filter(|folder| folder.join("prompts.toml").is_file()).max().unwrap();
    let path = pack.join("prompts.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut editor = Editor::start();
    let start = Instant::now();
    editor.open(&path, &text);
    editor.settle(&path);
    println!("{}: first check {:.0} ms", pack.display(), start.elapsed().as_secs_f64() * 1e3);
    let (mut checks, mut walls, mut proposals) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..60 {
        // a comment that grows, a broken value, and a mended one
        let typed = match n % 3 {
            0 => format!("{text}\n# {}", "x".repeat(n)),
            1 => format!("{text}\n[[pass]]\nname = \"build/typed\"\ndo = \"ord"),
            _ => format!("{text}\n[[pass]]\nname = \"build/typed\"\ndo = \"drop\"\nwhere = {{ role = \"{n}\" }}\n"),
        };
        let (before, clock) = (processor(), Instant::now());
        editor.change(&path, &typed);
        editor.settle(&path);
        checks.push(processor() - before);
        walls.push(clock.elapsed().as_secs_f64() * 1e3);
        let line = typed.matches('\n').count();
        let column = typed.rsplit('\n').next().unwrap().len();
        let before = processor();
        editor.ask(
            "textDocument/completion",
            json!({ "textDocument": { "uri": address(&path) }, "position": { "line": line, "character": column } }),
        );
        proposals.push(processor() - before);
    }
    percentiles("diagnostics after a keystroke, processor", checks);
    percentiles("diagnostics after a keystroke, clock", walls);
    percentiles("completion, processor", proposals);
}
