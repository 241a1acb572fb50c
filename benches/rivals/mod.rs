//! What the benches share: runs that take turns, times of the processor, the table at the end, and their sections of
//! `docs/performance.md`.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the table is for people")]
#![allow(dead_code, reason = "each bench uses its part")]

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The best time of each of `runs` over `turns` turns. The runs take turns, so that other work on the machine disturbs
/// all alike; a turn repeats a run until it is long enough for the clock.
pub(crate) fn best(runs: &mut [&mut dyn FnMut() -> usize], turns: usize) -> Vec<Duration> {
    const REPEATS: u32 = 20;
    let mut best = vec![Duration::MAX; runs.len()];
    for _ in 0..turns {
        for (run, best) in runs.iter_mut().zip(&mut best) {
            let start = Instant::now();
            for _ in 0..REPEATS {
                black_box(run());
            }
            *best = (*best).min(start.elapsed() / REPEATS);
        }
    }
    best
}

/// What the system counts too coarsely.
const SHORT: Duration = Duration::from_millis(50);

/// The time that this thread has run, as the system counts it; of a short run, or where it does not count, on the clock.
pub(crate) fn processor_time(run: impl FnOnce()) -> Duration {
    let read = || std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok();
    let (before, clock): (Option<u64>, _) = (read(), Instant::now());
    run();
    let (elapsed, after) = (clock.elapsed(), read());
    let counted = before.zip(after).map(|(before, after)| Duration::from_nanos(after.saturating_sub(before)));
    counted.filter(|_| elapsed >= SHORT).unwrap_or(elapsed)
}

/// The least time of so many runs.
pub(crate) fn least_time(runs: usize, mut run: impl FnMut()) -> Duration {
    (0..runs).map(|_| processor_time(&mut run)).min().unwrap_or_default()
}

/// The exponent of growth: the slope of the line through the logarithms of sizes and times.
pub(crate) fn growth_exponent(points: &[(usize, Duration)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(size, time)| ((*size as f64).ln(), time.as_secs_f64().ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (size, time) = (mean(|log| log.0), mean(|log| log.1));
    let both: f64 = logs.iter().map(|log| (log.0 - size) * (log.1 - time)).sum();
    both / logs.iter().map(|log| (log.0 - size).powi(2)).sum::<f64>()
}

fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
}

/// Prints a table in Markdown, and with `UPDATE=1` writes it into the section of that bench in `docs/performance.md`.
pub(crate) fn report(bench: &str, rows: &[String]) {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1)).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let versions = [("date", "+%F"), ("rustc", "--version"), ("node", "--version")].map(|(program, arg)| {
        first_line(program, &[arg]).map_or_else(String::new, |line| if program == "node" { format!("node {line}") } else { line })
    });
    let section = format!("{}\n\n{}, {cores} cores; {}.\n", rows.join("\n"), cpu.trim(), versions.join("; "));
    println!("\n{section}");
    if std::env::var_os("UPDATE").is_none() {
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
    let text = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    let (start, end) = (format!("<!-- cargo bench --bench {bench} -->\n"), "<!-- end -->");
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{}: no section {start}", page.display()));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("{}: no end of {start}", page.display()));
    std::fs::write(&page, format!("{before}{start}{section}{end}{after}")).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
}

/// A number of up to six digits, with a comma.
pub(crate) fn thousands(number: usize) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

/// A duration as a cell of a table.
pub(crate) fn format_time(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    match ms {
        ..0.1 => format!("{:.1} µs", ms * 1e3),
        ..10.0 => format!("{ms:.2} ms"),
        _ => format!("{ms:.0} ms"),
    }
}

/// How many times `b` fits into `a`.
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// One line a run: its name, its time, and that in times of the first.
pub(crate) fn table(names: &[&str], times: &[Duration]) {
    let first = times.first().copied().unwrap_or_default();
    for (name, time) in names.iter().zip(times) {
        println!("  {name:<28} {:>10.2} us {:>8.2} x", time.as_secs_f64() * 1e6, ratio(*time, first));
    }
}

/// The small part of Handlebars that the benches use, in Jinja's words.
pub(crate) fn as_jinja(template: &str) -> String {
    let text = template.replace("{{else}}", "{% else %}").replace("{{/if}}", "{% endif %}");
    text.split("{{#if ").enumerate().fold(String::new(), |out, (n, part)| match (n, part.split_once("}}")) {
        (0, _) | (_, None) => out + part,
        (_, Some((name, rest))) => out + "{% if " + name + " %}" + rest,
    })
}

/// An environment that escapes nothing and keeps the last line's end, as the others do.
pub(crate) fn jinja<'a>() -> minijinja::Environment<'a> {
    let mut env = minijinja::Environment::new();
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    let syntax = minijinja::syntax::SyntaxConfig::builder().keep_trailing_newline(true).build();
    env.set_syntax(syntax.unwrap_or_else(|e| panic!("{e}")));
    env
}

/// The fields, each a text, as that crate's own value.
pub(crate) fn jinja_values(fields: &serde_json::Value) -> minijinja::Value {
    let fields = fields.as_object().into_iter().flatten();
    minijinja::Value::from_pairs(fields.map(|(name, text)| (name.as_str(), text.as_str().unwrap_or_default())))
}
