//! A few inputs for each of the doors that hold no C code, for Miri (`.ci/miri`): `few COUNT [TARGET…]`.

use std::process::ExitCode;

use tapster_fuzz::{find, trial};

/// Readers and renderers of the rooms `text` and `import`.
const TARGETS: &[&str] = &[
    "macros",
    "handlebars",
    "story",
    "liquid",
    "leaf",
    "calc",
    "arithmetic",
    "verbatim",
    "small",
    "times",
    "pattern",
    "keys",
    "function",
    "script",
    "container",
];

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1);
    let count = given.next().and_then(|count| count.parse().ok()).unwrap_or(5);
    let named: Vec<String> = given.collect();
    let names = if named.is_empty() { TARGETS.iter().map(ToString::to_string).collect() } else { named };
    let mut sound = true;
    for name in names {
        let Some(target) = find(&name) else {
            eprintln!("there is no target `{name}`");
            return ExitCode::from(2);
        };
        let (taken, wrong) = trial::some(target, 17, count);
        println!("{name}: {taken} of {count} inputs taken");
        wrong.iter().for_each(|(input, why)| println!("{name}: {why}: {}", String::from_utf8_lossy(input)));
        sound &= wrong.is_empty();
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
