//! Every package that is built into the program may be: its licence expression can be met with licences of the list.
//!
//! `deny.toml` says the same to `cargo deny`; this test needs nothing but cargo, and no network.

use std::process::Command;

use serde_json::Value;

/// Licences that may be built upon.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "Unicode-3.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "MIT-0",
    "MPL-2.0",
    "Unlicense",
];

/// Whether an SPDX expression can be met: `OR` needs one side, `AND` both. `/` is an old way to write `OR`.
fn fits(expression: &str) -> bool {
    let words = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = words.split_whitespace().collect();
    let (fits, rest) = either(&words);
    fits && rest.is_empty()
}

fn either<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut fits, mut rest) = both(words);
    while let ["OR", more @ ..] = rest {
        let (other, after) = both(more);
        (fits, rest) = (fits || other, after);
    }
    (fits, rest)
}

fn both<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut fits, mut rest) = one(words);
    while let ["AND", more @ ..] = rest {
        let (other, after) = one(more);
        (fits, rest) = (fits && other, after);
    }
    (fits, rest)
}

fn one<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inner @ ..] => {
            let (fits, rest) = either(inner);
            (fits, rest.get(1..).unwrap_or(&[]))
        }
        [name, "WITH", exception, rest @ ..] => (ALLOWED.contains(&format!("{name} WITH {exception}").as_str()), rest),
        [name, rest @ ..] => (ALLOWED.contains(&name.trim_end_matches('+')), rest),
        [] => (false, words),
    }
}

#[test]
fn expressions_are_read() {
    assert!(fits("MIT OR Apache-2.0") && fits("Unlicense/MIT") && fits("GPL-3.0 OR MIT") && fits("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(fits("Apache-2.0 WITH LLVM-exception OR GPL-2.0") && fits("MPL-2.0+"));
    assert!(!fits("GPL-3.0") && !fits("MIT AND GPL-3.0") && !fits("") && !fits("Apache-2.0 WITH Other-exception"));
}

#[test]
fn every_package_has_a_licence_that_may_be_built_upon() {
    let host = Command::new("rustc").arg("-vV").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host.lines().find_map(|l| l.strip_prefix("host: ")).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", host];
    let out = Command::new(cargo).args(args).current_dir(env!("CHECKOUT")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let data: Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = data["packages"].as_array().unwrap();
    assert!(packages.len() > 50);
    let licence = |p: &Value| p["license"].as_str().unwrap_or("").to_owned();
    let wrong: Vec<String> =
        packages.iter().filter(|p| !fits(&licence(p))).map(|p| format!("{} {}: {}", p["name"], p["version"], licence(p))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
