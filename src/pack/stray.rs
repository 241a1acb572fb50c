//! Files of a pack's folder that nothing reads, because of the folder in which they lie or because of how their names end.
//! Files that are honestly no rules, such as a text about the pack or a picture, are no mistake.

use std::collections::HashSet;
use std::sync::Arc;

use super::endings::{meant, name_of};
use super::files::{PackFiles, RuleFile};
use super::read::{self, RuleDocument};
use super::scripts;
use crate::diag::{Code, Diagnostic, Span};

fn is_inside(path: &str, folder: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| part == folder)
}

/// The names of files that a file of the pack speaks of, gathered once for all of them.
pub(super) struct SpokenNames {
    /// Files among the cases, of which a text in a case speaks: it may read what is no rule.
    by_cases: HashSet<String>,
    /// Scripts that an overlay names, which may lie beside it.
    by_overlays: HashSet<Arc<str>>,
}

impl SpokenNames {
    /// What the cases and the rule files of a pack speak of.
    pub(super) fn of(pack: &PackFiles, docs: &[RuleDocument]) -> Self {
        let by_overlays = docs.iter().flat_map(scripts::files).map(|(_, name, _)| name).collect();
        let paths = pack.strays.iter().chain(pack.assets.values()).map(|file| &*file.path_in_pack);
        let wanted: HashSet<&str> = paths.filter(|path| is_inside(path, "cases")).map(name_of).collect();
        // such a name is never found as a part, so it may be spoken of
        let mut by_cases: HashSet<String> = wanted.iter().filter(|name| name.contains(ends_part)).map(|name| (*name).to_owned()).collect();
        let cases: &[RuleFile] = if wanted.is_empty() { &[] } else { &pack.cases };
        for case in cases {
            let text = String::from_utf8_lossy(&case.bytes);
            for name in last_parts(&text).filter(|name| wanted.contains(name)) {
                if !by_cases.contains(name) {
                    by_cases.insert(name.to_owned());
                }
            }
        }
        Self { by_cases, by_overlays }
    }

    /// Whether a case speaks of a file that lies beside it.
    fn is_of_case(&self, path: &str) -> bool {
        is_inside(path, "cases") && self.by_cases.contains(name_of(path))
    }
}

/// Everything in a text that may be the last part of a path: what stands between quotes, slashes and the ends of lines, and
/// each word of it. A case may be unreadable, so it is not asked for its values.
fn last_parts(text: &str) -> impl Iterator<Item = &str> {
    let ends_word = |c: char| c.is_whitespace() || ",;:=()[]{}<>`".contains(c);
    text.split(ends_part).flat_map(move |part| std::iter::once(part).chain(part.split(ends_word)))
}

fn ends_part(c: char) -> bool {
    matches!(c, '"' | '\'' | '/' | '\\') || c.is_control()
}

/// The warnings about files that are no part of the pack although their names say so, and about rule tests in a folder
/// `cases` that lies deeper than the pack's own. They stand at the manifest, because the files are not read.
pub(super) fn left(strays: &[RuleFile], cases: &[RuleFile], manifest: &RuleDocument, spoken: &SpokenNames) -> Vec<Diagnostic> {
    let strays = strays.iter().filter(|file| !spoken.is_of_case(&file.path_in_pack)).map(misnamed);
    let is_test = |file: &&RuleFile| read::peek(file, "kind").as_deref() == Some("case");
    let deeper = cases.iter().filter(|file| !file.path_in_pack.starts_with("cases/")).filter(is_test).map(test);
    let at = beginning(manifest);
    strays.chain(deeper).map(|complaint| complaint.at(at)).collect()
}

/// The beginning of a file.
fn beginning(doc: &RuleDocument) -> Span {
    Span::new(doc.root.span.source, 0, 0)
}

fn misnamed(file: &RuleFile) -> Diagnostic {
    let path = &*file.path_in_pack;
    let (stem, written) = path.rsplit_once('.').unwrap_or((path, ""));
    let name = name_of(stem);
    let ends = || format!("its name ends in `.{written}`");
    let no_rules = || "a folder `scripts` holds no rules".to_owned();
    // among the cases, rule files are found in every folder
    let is_in_scripts = is_inside(path, "scripts") && !is_inside(path, "cases");
    // a file that is called as the help says must not be a stray again
    let (why, help) = match meant(path) {
        Some("rhai") => (ends(), format!("call it `scripts/{}.rhai`", stem.strip_prefix("scripts/").unwrap_or(name))),
        Some(known) if is_in_scripts && known == written => (no_rules(), "move it out of `scripts/`".to_owned()),
        Some(known) if is_in_scripts => (no_rules(), format!("move it out of `scripts/`, as `{name}.{known}`")),
        Some(known) => (ends(), format!("call it `{stem}.{known}`")),
        None if is_in_scripts => (no_rules(), format!("write its rules in TOML outside of `scripts/`, as `{name}.toml`")),
        None => (ends(), format!("write its rules in TOML, as `{stem}.toml`")),
    };
    let help = help + ", or keep it outside of the pack's folder";
    Diagnostic::new(Code::FileStray, format!("nothing reads `{}`: {why}", file.name)).help(help)
}

fn test(file: &RuleFile) -> Diagnostic {
    let message = format!("`tapster test` does not find the rule tests of `{}` in the pack", file.name);
    Diagnostic::new(Code::FileStray, message).help("move it to the folder `cases` of the pack")
}

/// The warning about a file of rule tests that lies outside of the folder `cases`.
pub(super) fn outside_of_cases(file: &RuleFile, doc: &RuleDocument) -> Diagnostic {
    test(file).at(beginning(doc))
}

/// The warning about a script that is not compiled because it lies outside of the folder `scripts`. An overlay may name one
/// that lies beside it, and so may the overlay of a case.
pub(super) fn outside_of_scripts(file: &RuleFile, at: Span, spoken: &SpokenNames) -> Option<Diagnostic> {
    let path = &*file.path_in_pack;
    let name = name_of(path);
    let is_named = || spoken.is_of_case(path) || spoken.by_overlays.contains(name);
    if !path.ends_with(".rhai") || path.starts_with("scripts/") || is_named() {
        return None;
    }
    let message = format!("the script `{}` is not compiled, because it lies outside of the pack's folder `scripts`", file.name);
    Some(Diagnostic::new(Code::FileStray, message).at(at).help(format!("move it to `scripts/{name}`")))
}
