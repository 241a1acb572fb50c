//! Files of a pack's folder that nothing reads, because of the folder in which they lie or because of how their names end.
//! Files that are honestly no rules, such as a text about the pack or a picture, are no mistake.

use super::endings::{meant, name_of};
use super::files::RuleFile;
use super::read::{self, Document};
use super::scripts;
use crate::diag::{Code, Diagnostic, Span};

fn is_inside(path: &str, folder: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| part == folder)
}

/// Whether a case speaks of a file that lies beside it: it may read what is no rule.
fn is_of_case(path: &str, cases: &[RuleFile]) -> bool {
    is_inside(path, "cases") && cases.iter().any(|case| String::from_utf8_lossy(&case.bytes).contains(name_of(path)))
}

/// The warnings about files that are no part of the pack although their names say so, and about rule tests in a folder
/// `cases` that lies deeper than the pack's own. They stand at the manifest, because the files are not read.
pub(super) fn left(strays: &[RuleFile], cases: &[RuleFile], manifest: &Document) -> Vec<Diagnostic> {
    let strays = strays.iter().filter(|file| !is_of_case(&file.path_in_pack, cases)).map(misnamed);
    let is_test = |file: &&RuleFile| read::peek(file, "kind").as_deref() == Some("case");
    let deeper = cases.iter().filter(|file| !file.path_in_pack.starts_with("cases/")).filter(is_test).map(test);
    let at = beginning(manifest);
    strays.chain(deeper).map(|complaint| complaint.at(at)).collect()
}

/// The beginning of a file.
fn beginning(doc: &Document) -> Span {
    Span::new(doc.root.span.source, 0, 0)
}

fn misnamed(file: &RuleFile) -> Diagnostic {
    let path = &*file.path_in_pack;
    let (stem, written) = path.rsplit_once('.').unwrap_or((path, ""));
    let (why, help) = match meant(path) {
        Some(known) if known == written => ("a folder `scripts` holds no rules".to_owned(), "move it out of `scripts/`".to_owned()),
        Some(known) => (format!("its name ends in `.{written}`"), format!("call it `{stem}.{known}`")),
        None => (format!("its name ends in `.{written}`"), format!("write its rules in TOML, as `{stem}.toml`")),
    };
    let help = help + ", or keep it outside of the pack's folder";
    Diagnostic::new(Code::FileStray, format!("nothing reads `{}`: {why}", file.name)).help(help)
}

fn test(file: &RuleFile) -> Diagnostic {
    let message = format!("`tapster test` does not find the rule tests of `{}` in the pack", file.name);
    Diagnostic::new(Code::FileStray, message).help("move it to the folder `cases` of the pack")
}

/// The warning about a file of rule tests that lies outside of the folder `cases`.
pub(super) fn outside_of_cases(file: &RuleFile, doc: &Document) -> Diagnostic {
    test(file).at(beginning(doc))
}

/// The warning about a script that is not compiled because it lies outside of the folder `scripts`. An overlay may name one
/// that lies beside it, and so may the overlay of a case.
pub(super) fn outside_of_scripts(file: &RuleFile, at: Span, docs: &[Document], cases: &[RuleFile]) -> Option<Diagnostic> {
    let path = &*file.path_in_pack;
    let name = name_of(path);
    let is_named = || docs.iter().flat_map(scripts::files).any(|(_, named, _)| *named == *name);
    if !path.ends_with(".rhai") || path.starts_with("scripts/") || is_of_case(path, cases) || is_named() {
        return None;
    }
    let message = format!("the script `{}` is not compiled, because it lies outside of the pack's folder `scripts`", file.name);
    Some(Diagnostic::new(Code::FileStray, message).at(at).help(format!("move it to `scripts/{name}`")))
}
