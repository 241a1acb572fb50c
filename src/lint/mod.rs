//! Checks of what can be read and yet cannot be meant: rules that contradict each other or have no effect, and data that no
//! rule reads. Here stand the codes that are about rules as a whole; what cannot be read is reported by who reads it.
//!
//! Each file is about one subject, with its messages, and `tests/diagnostics` holds an example of each. The entrances are few:
//! [`declarations`] at the end of compiling, [`rules`] when a ruleset is made, [`typos`] when its author asks, [`SceneRules`] for
//! what is given to a build, and [`payload`] for what is sent.

mod artifacts;
mod columns;
mod declarations;
mod directives;
mod fields;
mod inclusions;
mod mentioned;
mod operations;
mod options;
mod payload;
mod programs;
mod scene;
mod texts;
mod typos;

use std::collections::HashSet;

use serde_json::Value as Json;

use crate::artifact::Declarations;
use crate::diag::{Diagnostic, Report};
use crate::model::Pack;
use crate::model::pack::PackRow;
use crate::syntax::CompileContext;

pub(crate) use mentioned::MentionedNames;
pub(crate) use payload::check as payload;
pub use scene::{SceneRules, SceneTypeError, TypeMismatch, UndeclaredPath};
pub(crate) use typos::{SchemaWords, check as typos};

/// The rules of a pack, and what is known of them when they are checked.
pub(crate) struct CheckedRules<'a> {
    /// The merged rules.
    pub(crate) pack: &'a Pack,
    /// What they declare as artifacts.
    pub(crate) artifacts: &'a Declarations,
    /// The programs that builds of the pack run.
    pub(crate) run: HashSet<&'a str>,
    /// The programs that builds of another pack run, given its name.
    pub(crate) run_by: &'a dyn Fn(&str) -> HashSet<String>,
    /// The schemas of rule files.
    pub(crate) schemas: Vec<&'a Json>,
    /// Whether the schemas know a key of the rows of a table.
    pub(crate) schema_has: &'a dyn Fn(&str, &str) -> bool,
}

/// Checks what rows declare: the names in it, columns, and the literals that are to be of a declared type. The programs of the
/// pack are compiled.
pub(crate) fn declarations(cx: &mut CompileContext<'_>) {
    declarations::check(cx);
    columns::check_cells(cx);
    columns::check_defaults(cx);
    declarations::check_lists(cx);
    declarations::check_references(cx);
    fields::check(cx);
}

/// Checks the rows of a pack against each other.
pub(crate) fn rules(rules: &CheckedRules<'_>, found: &mut Report) {
    let CheckedRules { pack, artifacts, .. } = rules;
    artifacts::check(pack, artifacts, found);
    operations::check(pack, artifacts, found);
    directives::check(pack, found);
    texts::check_operations(pack, found);
    texts::check_times(pack, found);
    options::check(pack, found);
    columns::check(rules, found);
    programs::check(rules, found);
}

/// Adds a complaint about a row, which programs find under `row`.
fn push(found: &mut Report, row: &PackRow, mut complaint: Diagnostic) {
    complaint.details.insert("row".into(), row.name.as_ref().into());
    found.push(complaint);
}

/// A circle among numbered things.
pub(crate) struct Circle<E> {
    /// Its members, each of which needs the next one; the last one needs the first one.
    pub(crate) members: Vec<usize>,
    /// By what the last one needs the first one.
    pub(crate) closed_by: E,
}

/// How far a member has been looked at.
#[derive(Clone, Copy, PartialEq)]
enum Progress {
    Unseen,
    OnTheWay,
    Done,
}

/// The circles among so many things, found from the first one on. `needs` gives what one needs, and by what.
pub(crate) fn circles<E>(count: usize, needs: impl Fn(usize) -> Vec<(usize, E)>) -> Vec<Circle<E>> {
    let mut progress = vec![Progress::Unseen; count];
    let mut found = Vec::new();
    for root in 0..count {
        if progress.get(root) != Some(&Progress::Unseen) {
            continue;
        }
        set_progress(&mut progress, root, Progress::OnTheWay);
        let mut open = vec![(root, needs(root).into_iter())];
        while let Some((at, rest)) = open.last_mut() {
            let Some((next, by)) = rest.next() else {
                set_progress(&mut progress, *at, Progress::Done);
                open.pop();
                continue;
            };
            match progress.get(next) {
                Some(Progress::Unseen) => {
                    set_progress(&mut progress, next, Progress::OnTheWay);
                    open.push((next, needs(next).into_iter()));
                }
                Some(Progress::OnTheWay) => {
                    let members = open.iter().map(|(member, _)| *member).skip_while(|member| *member != next).collect();
                    found.push(Circle { members, closed_by: by });
                }
                Some(Progress::Done) | None => {}
            }
        }
    }
    found
}

fn set_progress(progress: &mut [Progress], member: usize, to: Progress) {
    if let Some(of) = progress.get_mut(member) {
        *of = to;
    }
}
