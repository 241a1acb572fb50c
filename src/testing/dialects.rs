//! The dialects that cases name: one that the pack does not have is a mistake of the file, which needs no run to be found.

use std::collections::HashMap;

use crate::diag::{Code, Diagnostic, Node, Report, Span, suggest};
use crate::emit::dialects;
use crate::pack::{Overlay, Ruleset, Shelf, Start};

use super::case::{Action, Case, Turn};
use super::files::CaseFile;

/// Checks the dialects of case files; what a pack has is looked up once.
pub struct Dialects<'s> {
    shelf: &'s Shelf,
    packs: HashMap<Start, Option<Vec<String>>>,
}

impl<'s> Dialects<'s> {
    /// A checker that finds packs on this shelf.
    #[must_use]
    pub fn new(shelf: &'s Shelf) -> Self {
        Self { shelf, packs: HashMap::new() }
    }

    /// What is wrong with the dialects that the cases of a file name.
    pub fn check(&mut self, file: &CaseFile) -> Report {
        let mut report = Report::default();
        let mut told: Vec<Span> = Vec::new();
        for case in &file.cases {
            for (node, name) in case.turns.iter().filter_map(|turn| named(file, case, turn)) {
                if told.contains(&node.span) || self.of_pack(&file.pack).is_some_and(|known| known.iter().any(|d| d == name)) {
                    continue;
                }
                let overlays = [file.overlays.as_slice(), &file.overlays_of(case)].concat();
                // an overlay may bring the dialect
                let own = if overlays.is_empty() { self.of_pack(&file.pack).cloned() } else { of(&file.pack, &overlays, self.shelf) };
                let complaint = match own {
                    Some(known) if known.iter().any(|d| d == name) => continue,
                    Some(known) => {
                        let help = suggest::help(name, known.iter().map(String::as_str));
                        let help = help.unwrap_or_else(|| format!("the dialects are {}", known.join(", ")));
                        Diagnostic::new(Code::DialectUnknown, format!("the pack of this case has no dialect `{name}`")).help(help)
                    }
                    None => {
                        let message =
                            format!("whether the dialect `{name}` exists is not known, because the rules of the case do not load");
                        Diagnostic::new(Code::CaseNotRun, message).help(format!("`tapster test {}` says why", file.shown))
                    }
                };
                told.push(node.span);
                report.push(complaint.at(node.span));
            }
        }
        report
    }

    fn of_pack(&mut self, pack: &Start) -> Option<&Vec<String>> {
        let shelf = self.shelf;
        self.packs.entry(pack.clone()).or_insert_with(|| of(pack, &[], shelf)).as_ref()
    }
}

/// The dialects of rules; `None` if they do not load.
fn of(pack: &Start, overlays: &[Overlay], shelf: &Shelf) -> Option<Vec<String>> {
    Ruleset::load(pack, overlays, shelf).ok().map(|rules| dialects(&rules))
}

/// The dialect that a turn names, where it stands; nothing for a case that expects it to be unknown.
fn named<'f>(file: &'f CaseFile, case: &'f Case, turn: &'f Turn) -> Option<(&'f Node, &'f str)> {
    let expected = turn.expect.as_ref().and_then(|expect| expect.get("error")?.as_text());
    if expected == Some(Code::DialectUnknown.as_str()) {
        return None;
    }
    let mut nodes = [Some(&turn.node), Some(&case.node), file.given.as_ref()].into_iter().flatten();
    let node = match turn.action {
        Action::Payload(Some(_)) => nodes.find_map(|node| node.get("dialect")),
        Action::Payload(None) => nodes.find_map(|node| node.get("scene")?.get("dialect")),
        _ => None,
    }?;
    Some((node, node.as_text()?))
}
