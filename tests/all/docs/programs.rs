//! The pages of `docs/programs`: what a shipped pack does, program by program and pass by pass, as the merged rules
//! say it.

use std::fmt::Write as _;

use tapster::Ruleset;
use tapster::machinery::pack::library::shipped_names;

use super::pages::{read, updating};

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
    for program in rules.programs().list.iter().filter(|program| !program.passes.is_empty()) {
        if !program.passes.iter().any(|pass| place(&pass.id).0.starts_with(&own)) {
            taken.push(format!("`{}`", program.name));
            continue;
        }
        let about = text("program", &program.name, "about");
        let over = text("program", &program.name, "over");
        write!(out, "\n## `{}`\n\n{about}{}Works on `{over}`.\n\n", program.name, if about.is_empty() { "" } else { " " }).unwrap();
        out.push_str("| pass | verb | what it is for | where |\n| --- | --- | --- | --- |\n");
        for pass in &program.passes {
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
