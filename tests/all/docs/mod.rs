//! Holds the documentation against what it describes: examples are test cases and shipped rules, tables come from
//! the code and the schemas.
//!
//! A page says where a block comes from in a comment in front of it: `<!-- case: FILE#NAME -->`,
//! `<!-- rule: FILE [[table]] NAME -->`, `<!-- rust: NAME -->`, or `<!-- generated: WHAT -->` up to `<!-- end -->`.
//! `UPDATE=1 cargo test --test all docs::` writes the blocks; without it, a page that differs is a failure.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that panics has failed")]

mod embedding;
mod facts;
mod generate;
mod limits;
mod pages;
mod picture;
mod programs;
mod wishes;

use std::path::Path;

use tapster::machinery::pack::KINDS;

use pages::{pages, read, root, updating};

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
