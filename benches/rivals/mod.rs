//! What the benches beside other template engines share: turns taken in turn, and the table at the end.

#![expect(clippy::panic, clippy::print_stdout, reason = "a bench that panics has failed; the table is for people")]
#![allow(dead_code, reason = "each bench uses its part")]

use std::hint::black_box;
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
