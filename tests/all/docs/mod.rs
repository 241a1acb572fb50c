//! Holds the documentation against what it describes: examples are test cases and shipped rules, tables come from
//! the code and the schemas.
//!
//! A page says where a block comes from in a comment in front of it: `<!-- case: FILE#NAME -->`,
//! `<!-- rule: FILE [[table]] NAME -->`, `<!-- rust: NAME -->`, or `<!-- generated: WHAT -->` up to `<!-- end -->`.
//! `UPDATE=1 cargo test --test all docs::` writes the blocks; without it, a page that differs is a failure.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test that panics has failed")]

mod embedding;
mod generate;
mod pages;
mod wishes;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use tapster::machinery::pack::KINDS;
use tapster::machinery::pack::library::shipped_names;
use tapster::machinery::terms::calc;
use tapster::machinery::text::TextLimits;
use tapster::{Ruleset, Scene, WorkLimits, run};

use crate::docs::pages::{pages, read, root, updating};

#[test]
fn blocks_say_what_their_source_says() {
    let update = updating();
    let mut stale = Vec::new();
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        let fresh = filled(&text, &path);
        if fresh != text && update {
            std::fs::write(&path, fresh).unwrap();
        } else if fresh != text {
            let line = text.lines().zip(fresh.lines()).position(|(a, b)| a != b).map_or(text.lines().count(), |n| n + 1);
            stale.push(format!("{}:{line}", path.strip_prefix(root()).unwrap().display()));
        }
    }
    assert!(stale.is_empty(), "these pages are not up to date; `UPDATE=1 cargo test --test all docs::` writes them: {stale:#?}");
}

#[test]
fn every_kind_has_a_page_with_an_example() {
    if updating() {
        return;
    }
    let mut complaints = Vec::new();
    for (kind, _) in KINDS {
        let page = format!("docs/reference/{kind}.md");
        let Ok(text) = std::fs::read_to_string(root().join(&page)) else {
            complaints.push(format!("{page} is missing"));
            continue;
        };
        if !text.contains(&format!("<!-- generated: kind {kind} -->")) {
            complaints.push(format!("{page} has no table of its schema"));
        }
        let shown = text.contains("<!-- rule: ") || text.contains("<!-- case: ") || text.contains("<!-- file: ");
        if !shown && shipped(kind) {
            complaints.push(format!("{page} shows no example, though `rules/` has some"));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn links_between_pages_lead_somewhere() {
    if updating() {
        return;
    }
    let mut broken = Vec::new();
    let top = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(|page| root().join(page));
    for path in pages().into_iter().chain(top) {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link)) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            if file.starts_with("http") || link.contains(['\n', '`']) {
                continue;
            }
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let known = std::fs::read_to_string(&target).is_ok_and(|t| heading.is_empty() || headings(&t).any(|h| h == heading));
            if !known && !target.is_dir() {
                broken.push(format!("{}: {link}", path.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The anchors of a page's headings, as GitHub makes them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|l| l.strip_prefix('#')).map(|l| {
        let kept = l.trim_start_matches('#').trim().to_lowercase();
        kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Whether a file of that kind ships in `rules/`.
fn shipped(kind: &str) -> bool {
    let line = format!("kind = \"{kind}\"");
    let mut folders = vec![root().join("rules")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path).is_ok_and(|t| t.lines().take(3).any(|l| l.starts_with(&line))) {
                return true;
            }
        }
    }
    false
}

/// The page with every block from its source.
fn filled(text: &str, page: &Path) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some((word, what)) = line.strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->")).and_then(|l| l.split_once(": ")) else {
            continue;
        };
        let (end, body) = match word {
            "case" => ("```", example(&case(what))),
            "rule" => ("```", example(&rule(what))),
            "file" => ("```", example(&whole_file(what))),
            "rust" => ("```", format!("```rust\n{}", embedding::code(what))),
            "generated" => ("<!-- end -->", generate::block(what)),
            _ => continue,
        };
        if end == "```" {
            let fence = lines.next();
            let wanted = if word == "rust" { "```rust" } else { "```toml" };
            assert_eq!(fence, Some(wanted), "{}: `{line}` needs a block {wanted} behind it", page.display());
        }
        out.push_str(&body);
        let found = lines.by_ref().any(|l| l == end);
        assert!(found, "{}: the block of `{line}` never ends", page.display());
        out.push_str(end);
        out.push('\n');
    }
    out
}

fn example(body: &str) -> String {
    format!("```toml\n{}\n", body.trim())
}

/// A case, from its `[[case]]` to the next, with the rows that stand behind it.
fn case(what: &str) -> String {
    let (path, name) = what.split_once('#').expect("a case is FILE#NAME");
    let text = read(path);
    let found = text.split("[[case]]\n").skip(1).find(|c| c.lines().next() == Some(&format!("name = \"{name}\"")));
    format!("[[case]]\n{}", found.unwrap_or_else(|| panic!("there is no case `{what}`")))
}

/// A row or value of a rule file, up to the next blank line or header: `FILE [[table]] NAME` or `FILE [value]`.
fn rule(what: &str) -> String {
    let (path, row) = what.split_once(' ').expect("a rule is FILE [[table]] NAME");
    let (header, name) = row.split_once(' ').unwrap_or((row, ""));
    let text = read(path);
    let lines: Vec<&str> = text.lines().collect();
    let named = |at: usize| name.is_empty() || lines.get(at + 1).is_some_and(|l| l.starts_with(&format!("name = \"{name}\"")));
    let is_header = |l: &str| l.split('#').next().unwrap_or("").trim() == header;
    let start = (0..lines.len()).find(|n| lines.get(*n).is_some_and(|l| is_header(l)) && named(*n));
    let start = start.unwrap_or_else(|| panic!("`{path}` has no {row}"));
    let rest = lines.iter().skip(start + 1).take_while(|l| !l.is_empty() && !l.starts_with('['));
    std::iter::once(lines.get(start).unwrap()).chain(rest).copied().collect::<Vec<_>>().join("\n")
}

/// A whole file, or its first lines: `FILE` or `FILE:20`.
fn whole_file(what: &str) -> String {
    let (path, count) = what.split_once(':').map_or((what, usize::MAX), |(path, n)| (path, n.parse().expect("a number of lines")));
    read(path).lines().take(count).collect::<Vec<_>>().join("\n")
}

// What pages say that no block of them shows: tables that are written by hand are held against the program.

/// The first cells of the rows of the table under a heading.
pub(super) fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = page.split_once(heading).unwrap_or_else(|| panic!("no heading `{heading}`")).1;
    let lines = section.lines().skip_while(|l| !l.starts_with("| ")).take_while(|l| l.starts_with('|')).skip(2);
    lines.map(|l| l.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The words in backticks of a cell.
pub(super) fn words(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// What a command writes to standard error.
fn complaints(args: &[&str]) -> String {
    crate::support::tapster(args).2
}

/// A scene file with an unknown key is refused, and the complaint lists the keys that there are.
#[test]
fn the_page_of_scene_files_names_every_key() {
    let page = read("docs/reference/scene-file.md");
    let shown: BTreeSet<&str> = rows(&page, "## Keys\n").iter().flat_map(|row| words(row[0])).collect();
    let folder = std::env::temp_dir().join(format!("tapster-docs-{}-keys", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("scene.toml"), "no_such_key_at_all = 1\n").unwrap();
    let said = complaints(&["build", folder.to_str().unwrap()]);
    std::fs::remove_dir_all(&folder).unwrap();
    let list = said.split_once("known here: ").and_then(|(_, rest)| rest.split_once(';')).expect("the keys are listed").0;
    let known: BTreeSet<&str> = list.split(", ").collect();
    assert_eq!(shown, known);
}

#[test]
fn the_page_of_values_names_every_function_of_calc() {
    let page = read("docs/reference/language/values.md");
    let section = page.split("\n## ").find(|section| section.starts_with("calc\n")).expect("a section `calc`");
    let sentence = section.split_once("Functions are ").expect("a list of functions").1.split_once('.').expect("its end").0;
    let known: BTreeSet<&str> = calc::NAMES.iter().map(|(name, _)| *name).collect();
    assert_eq!(words(sentence).collect::<BTreeSet<_>>(), known);
}

/// Every program that an application is told to start can be started in its pack.
#[test]
fn programs_that_are_meant_to_be_started_can_be() {
    let page = read("docs/reference/running-programs.md");
    let rows = rows(&page, "These programs are meant to be started:");
    assert!(rows.len() > 8, "{rows:?}");
    for row in rows {
        let pack = words(row[1]).next().expect("a row names its pack");
        let rules = Ruleset::open(pack, &[]).unwrap();
        for program in words(row[0]) {
            let scene = Scene::new(&serde_json::json!({ "context": { "window": 4096 } }));
            let outcome = run(&rules, program, &scene, &[]);
            assert!(outcome.is_ok(), "{pack}: {program}: {:?}", outcome.err());
        }
    }
}

/// The index leads to every page.
#[test]
fn the_index_names_every_page() {
    let index = read("docs/README.md");
    let names = pages().into_iter().map(|p| p.strip_prefix(root().join("docs")).unwrap().display().to_string());
    let missing: Vec<String> = names
        .map(|name| name.replace('\\', "/"))
        // pages that are made from the packs have an index of their own
        .filter(|name| name != "README.md" && !name.starts_with("programs/"))
        .filter(|name| !index.contains(&format!("({name})")))
        .collect();
    assert!(missing.is_empty(), "docs/README.md does not lead to {missing:#?}");
}

// The pages of `docs/programs`: what a shipped pack does, program by program and pass by pass, as the merged rules
// say it.

/// The tables of a pack: one for each program that the pack changes, its passes in the order in which they run, and
/// the names of the programs that it takes over as they are.
pub(crate) fn block(pack: &str) -> String {
    let rules = Ruleset::open(pack, &[]).unwrap_or_else(|rejected| panic!("{rejected}"));
    let (rows, sources) = (&rules.pack().tables, &rules.pack().sources);
    let text = |table: &str, name: &str, key: &str| -> String {
        let row = rows.get(table).and_then(|rows| rows.get(name));
        row.and_then(|row| row.fields.get(key)?.node.as_text()).unwrap_or_default().replace('|', "\\|")
    };
    // where a pass is written, or patched last
    let place = |id: &str| {
        let row = rows.get("pass").and_then(|rows| rows.get(id)).unwrap_or_else(|| panic!("{id}: no row"));
        let place = sources.place(*row.patched.last().unwrap_or(&row.span)).unwrap_or_else(|| panic!("{id}: no place"));
        (place.file.to_owned(), place.line)
    };
    let own = format!("rules/{pack}/");
    let (mut out, mut taken) = (String::new(), Vec::new());
    for program in rules.programs().list.iter().filter(|program| !program.passes().is_empty()) {
        if !program.passes().iter().any(|pass| place(&pass.id).0.starts_with(&own)) {
            taken.push(format!("`{}`", program.name));
            continue;
        }
        let about = text("program", &program.name, "about");
        let over = text("program", &program.name, "over");
        write!(out, "\n## `{}`\n\n{about}{}Works on `{over}`.\n\n", program.name, if about.is_empty() { "" } else { " " }).unwrap();
        out.push_str("| pass | verb | what it is for | where |\n| --- | --- | --- | --- |\n");
        for pass in program.passes() {
            let short = pass.id.rsplit_once('/').map_or(pass.id.as_ref(), |(_, name)| name);
            let (file, line) = place(&pass.id);
            let about = text("pass", &pass.id, "about");
            writeln!(out, "| `{short}` | `{}` | {about} | [{file}:{line}](../../{file}) |", pass.info.name).unwrap();
        }
    }
    if !taken.is_empty() {
        write!(out, "\n## Taken over unchanged\n\nFrom the packs that it extends: {}.\n", taken.join(", ")).unwrap();
    }
    out.push('\n');
    out
}

#[test]
fn every_shipped_pack_has_a_page_of_its_programs() {
    if updating() {
        return;
    }
    let index = read("docs/programs/README.md");
    for pack in shipped_names() {
        let page = read(&format!("docs/programs/{pack}.md"));
        assert!(page.contains(&format!("<!-- generated: programs {pack} -->")), "the page of {pack} is not generated");
        assert!(index.contains(&format!("({pack}.md)")), "docs/programs/README.md does not name {pack}");
    }
}

#[test]
fn every_pass_says_what_it_is_for() {
    let mut without = Vec::new();
    for pack in shipped_names() {
        let rules = Ruleset::open(&pack, &[]).unwrap_or_else(|rejected| panic!("{rejected}"));
        let passes = rules.pack().tables.get("pass").into_iter().flatten();
        let silent = passes.filter(|(_, row)| row.fields.get("about").and_then(|f| f.node.as_text()).is_none_or(str::is_empty));
        without.extend(silent.map(|(name, _)| format!("{pack}: {name}")));
    }
    assert!(without.is_empty(), "passes without `about`: {without:#?}");
}

// The numbers of the page of limits are those of the program.

/// `10,000`, `4 MiB`, `16 KiB`, `any`.
fn number(cell: &str) -> u64 {
    let (digits, factor) = match cell.split_once(' ') {
        Some((digits, "MiB")) => (digits, 1 << 20),
        Some((digits, "KiB")) => (digits, 1 << 10),
        _ => (cell, 1),
    };
    digits.replace(',', "").parse::<u64>().unwrap_or_else(|_| panic!("`{cell}` is no number")) * factor
}

/// What a constant or a field of a default is set to: `4 << 20`, `10_000`.
fn set_to(source: &str, name: &str) -> Option<u64> {
    let constant = source.lines().find(|line| {
        line.trim_start_matches("pub ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("pub(crate) ")
            .starts_with(&format!("const {name}:"))
    });
    let expression = match constant {
        Some(line) => line.split_once(" = ")?.1.trim_end_matches(';'),
        None => {
            source.split(['{', ',', '\n']).find_map(|part| part.trim().strip_prefix(&format!("{name}: ")))?.trim_end_matches([' ', '}'])
        }
    };
    let mut factors = expression.split(" << ").map(|n| n.replace('_', "").parse::<u64>());
    let first = factors.next()?.ok()?;
    factors.try_fold(first, |value, shift| Some(value << shift.ok()?))
}

const LIMITS: &str = "crates/text/src/diag/limits.rs";

/// The constant behind each row of the table of sizes.
const SIZES: &[(&str, &str, &str)] = &[
    ("a file of a pack", LIMITS, "FILE_BYTES"),
    ("files of a pack", LIMITS, "FILES"),
    ("bytes of a pack", LIMITS, "PACK_BYTES"),
    ("memory of all rule files", LIMITS, "RULES_MEMORY"),
    ("memory of a scene", LIMITS, "SCENE_MEMORY"),
    ("packs under a pack", LIMITS, "PACKS"),
    ("rows of a layer", LIMITS, "ENTRIES"),
    ("errors shown", "crates/text/src/diag/mod.rs", "MOST_SHOWN"),
    ("a file of another program", "crates/exchange/src/import/mod.rs", "MAX_FILE"),
    ("a document in it", "crates/exchange/src/import/json.rs", "MAX_JSON"),
    ("memory of its values", "crates/exchange/src/import/json.rs", "MAX_MEMORY"),
    ("lines of a chat", "crates/exchange/src/import/json.rs", "MAX_LINES"),
    ("parts of a pattern", "crates/text/src/text/pattern/size.rs", "MOST_PARTS"),
    ("parts of all patterns in data", "src/terms/patterns.rs", "MOST_PARTS"),
    ("text for back references", LIMITS, "LONG_TEXT"),
    ("text for a far look-behind", LIMITS, "SHORT_TEXT"),
    ("text for a backtracking pattern of a schema", LIMITS, "SHORT_TEXT"),
    ("text made by a function", LIMITS, "OUTPUT_BYTES"),
    ("bytes of a script", "crates/text/src/text/script/calls.rs", "MOST_BYTES"),
    ("a list or table written out", LIMITS, "OUTPUT_BYTES"),
    ("nesting of values", LIMITS, "NESTING"),
    ("a value of a store", "crates/session/src/store/sessions.rs", "MAX_VALUE"),
    ("a line of `serve`", "cli/src/worker.rs", "MAX_LINE"),
    ("a reply of a provider", "crates/client/src/receive.rs", "MAX_REPLY"),
    ("an archive", "crates/exchange/src/share/archive.rs", "MAX_ARCHIVE"),
];

#[test]
fn sizes_are_those_of_the_constants() {
    let page = read("docs/reference/limits.md");
    let rows = rows(&page, "## Sizes\n");
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), SIZES.iter().map(|size| size.0).collect::<Vec<_>>());
    for (row, (_, path, name)) in rows.iter().zip(SIZES) {
        let source = std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(set_to(&source, name), Some(number(row[1])), "{path} {name}");
    }
}

#[test]
fn the_budget_of_work_and_the_limits_of_a_pack_are_as_said() {
    let page = read("docs/reference/limits.md");
    let most = WorkLimits::default();
    let work: Vec<u64> = rows(&page, "## The work of one call\n").iter().map(|row| number(row[1])).collect();
    assert_eq!(work, [most.steps, most.bytes]);
    let schema: serde_json::Value = serde_json::from_str(&read("schemas/pack.v1.json")).unwrap();
    let keys = &schema["properties"]["limits"]["properties"];
    for (key, most) in [("work_steps", most.steps), ("work_bytes", most.bytes)] {
        assert_eq!(keys[key]["maximum"].as_u64(), Some(most), "{key}: a pack can only lower it");
    }
    let default = tapster::machinery::terms::rules::BuildLimits::default();
    let scripts = default.scripts;
    let known = [
        default.pass_visits,
        default.rounds.into(),
        default.text_bytes as u64,
        scripts.operations,
        scripts.calls as u64,
        scripts.text as u64,
        scripts.list as u64,
        scripts.map as u64,
    ];
    let rows = rows(&page, "## Limits of a pack\n");
    assert_eq!(rows.len(), known.len());
    for (row, known) in rows.iter().zip(known) {
        let key = words(row[0]).next().unwrap();
        assert_eq!((number(row[1]), keys[key]["maximum"].as_u64()), (known, Some(number(row[2]))), "{key}");
    }
}

#[test]
fn the_limits_of_the_text_languages_are_as_said() {
    let page = read("docs/reference/limits.md");
    let known = [TextLimits::HANDLEBARS, TextLimits::LIQUID, TextLimits::MACROS, TextLimits::LEAF, TextLimits::CALC];
    for (row, known) in rows(&page, "## Limits of the text languages\n").iter().zip(known) {
        for (cell, known) in row[1..].iter().zip([known.length, known.depth, known.steps, known.output]) {
            let said = if *cell == "any" { usize::MAX as u64 } else { number(cell) };
            assert_eq!(said, known as u64, "{row:?}");
        }
    }
}

/// The picture of the README: a prompt as a bar, drawn from what `explain --format json` says of `examples/hello` in a small
/// window, on light and on dark pages. `UPDATE=1 cargo test --test all docs::` draws it anew.
mod picture {
    use crate::docs::pages::{root, updating};
    use serde_json::Value;
    use std::fmt::Write as _;

    const WINDOW: &str = "context.window=530";
    /// Width of the bar, and of the whole picture.
    const BAR: f64 = 820.0;
    const WIDTH: f64 = 860.0;

    /// Ink, quieter ink, page, and the colors of the groups: rules, character, lore, examples, chat.
    struct Colors {
        ink: &'static str,
        quiet: &'static str,
        page: &'static str,
        groups: [&'static str; 5],
    }

    const LIGHT: Colors =
        Colors { ink: "#1f2328", quiet: "#59636e", page: "#ffffff", groups: ["#8250df", "#0969da", "#1a7f37", "#9a6700", "#57606a"] };
    const DARK: Colors =
        Colors { ink: "#f0f6fc", quiet: "#9198a1", page: "#0d1117", groups: ["#ab7df8", "#4493f8", "#3fb950", "#d29922", "#9198a1"] };

    fn explained(flags: &[&str]) -> Value {
        let example = root().join("examples/hello").display().to_string();
        let (exit, out, err) = crate::support::tapster(&[&["explain", &example, "--format", "json"], flags].concat());
        assert_eq!(exit, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    }

    /// The group of a slot, as a number of `Colors::groups`.
    fn group(slot: &str) -> usize {
        match slot {
            "chat_history" => 4,
            slot if slot.starts_with("world_info") => 2,
            slot if slot.contains("examples") => 3,
            slot if slot.starts_with("character") || slot == "scenario" => 1,
            _ => 0,
        }
    }

    fn escaped(text: &str) -> String {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    }

    fn number(value: &Value) -> f64 {
        value.as_f64().unwrap_or_default()
    }

    /// The picture.
    fn drawn(colors: &Colors) -> String {
        let plan = explained(&["--set", WINDOW]);
        let reef = explained(&["--why-not", "Halcyon"]);
        let blocks = plan["blocks"].as_array().unwrap();
        let evicted = plan["trim_report"]["records"].as_array().unwrap();
        let total: f64 = number(&plan["trim_report"]["initial_tokens"]);
        let kept = number(&plan["trim_report"]["final_tokens"]);
        let budget = number(&plan["trim_report"]["budget_tokens"]);
        let scale = BAR / total;
        let Colors { ink, quiet, page, groups } = colors;

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} 246\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"246\" fill=\"{page}\"/>\n\
         <text x=\"20\" y=\"28\" fill=\"{ink}\" font-weight=\"600\">examples/hello in a window for {budget} tokens: {kept} are sent, {} are not</text>\n",
            total - kept
        );
        let (mut x, mut lore) = (20.0, 0.0);
        let mut part = |svg: &mut String, color: &str, tokens: f64, is_kept: bool, title: &str| {
            let width = tokens * scale;
            let style =
                if is_kept { format!("fill=\"{color}\"") } else { format!("fill=\"none\" stroke=\"{color}\" stroke-dasharray=\"3 2\"") };
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"64\" width=\"{:.1}\" height=\"34\" {style}><title>{}</title></rect>",
                x + 1.0,
                width - 2.0,
                escaped(title)
            );
            if width > 22.0 {
                let paint = if is_kept { page } else { quiet };
                let _ = writeln!(
                    svg,
                    "<text x=\"{:.1}\" y=\"86\" fill=\"{paint}\" text-anchor=\"middle\" font-size=\"12\">{tokens}</text>",
                    x + width / 2.0
                );
            }
            x += width;
            x - width / 2.0
        };
        for block in blocks {
            let slot = block["slot"].as_str().unwrap();
            let title = format!("{slot}, {}: {}", block["role"].as_str().unwrap(), block["text"].as_str().unwrap());
            let middle = part(&mut svg, groups[group(slot)], number(&block["tokens"]), true, &title);
            if group(slot) == 2 {
                lore = middle;
            }
        }
        let first_evicted = evicted.first().map(|record| record["pass"].as_str().unwrap()).unwrap();
        let mut dropped = 0.0;
        for record in evicted {
            let color = if record["group"] == "history" { groups[4] } else { groups[3] };
            dropped = part(&mut svg, color, number(&record["tokens"]), false, record["pass"].as_str().unwrap());
        }
        let names = ["main prompt", "character", "lore", "examples", "chat"];
        for (n, name) in names.iter().enumerate() {
            let at = 20.0 + 118.0 * n as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{at}\" y=\"40\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"49\" fill=\"{quiet}\" font-size=\"12\">{name}</text>",
                groups[n],
                at + 15.0
            );
        }
        let placed = blocks.iter().find(|block| group(block["slot"].as_str().unwrap()) == 2).unwrap();
        let answer = &reef["answers"][0];
        let lines = [
            (
                lore,
                128,
                format!("The lore is here because of {} in {}", placed["pass"].as_str().unwrap(), placed["rule"].as_str().unwrap()),
            ),
            (dropped, 164, format!("Dashed: left out by {first_evicted} and the passes after it, in the pack's order")),
        ];
        for (at, y, text) in &lines {
            let (start, anchor) = if *at > 430.0 { (840.0, "end") } else { (20.0, "start") };
            let _ = writeln!(svg, "<path d=\"M{at:.1} 100 V{}\" stroke=\"{quiet}\" fill=\"none\"/>", y - 14);
            let _ = writeln!(svg, "<text x=\"{start}\" y=\"{y}\" fill=\"{ink}\" text-anchor=\"{anchor}\">{}</text>", escaped(text));
        }
        let remedy = format!("It would be sent if {}.", answer["remedies"][0]["change"].as_str().unwrap());
        let absent = [
            (196, ink, format!("Not there: {}", answer["name"].as_str().unwrap())),
            (214, quiet, answer["says"].as_str().unwrap().to_owned()),
            (232, quiet, remedy),
        ];
        for (y, color, text) in &absent {
            let _ = writeln!(svg, "<text x=\"20\" y=\"{y}\" fill=\"{color}\">{}</text>", escaped(text));
        }
        svg + "</svg>\n"
    }

    #[test]
    fn the_picture_of_the_readme_is_fresh() {
        for (file, colors) in [("docs/prompt-light.svg", LIGHT), ("docs/prompt-dark.svg", DARK)] {
            let (path, fresh) = (root().join(file), drawn(&colors));
            if updating() {
                std::fs::write(&path, &fresh).unwrap();
            }
            assert_eq!(
                std::fs::read_to_string(&path).unwrap_or_default(),
                fresh,
                "{file}: `UPDATE=1 cargo test --test all docs::` draws it"
            );
        }
    }
}
