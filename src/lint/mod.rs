//! Checks of what can be read and yet cannot be meant: rules that contradict each other or have no effect.
//!
//! Each check is one file with its messages; whoever makes a ruleset asks for all of them at once.

mod artifacts;
mod inclusions;
mod operations;

use crate::artifact::Declarations;
use crate::diag::{Diagnostic, Report};
use crate::model::Pack;
use crate::model::pack::PackRow;

/// Checks the rows of a pack against each other.
pub(crate) fn rules(pack: &Pack, declared: &Declarations, found: &mut Report) {
    artifacts::check(pack, declared, found);
    operations::check(pack, declared, found);
}

/// Adds a complaint about a row, which programs find under `row`.
fn push(found: &mut Report, row: &PackRow, mut complaint: Diagnostic) {
    complaint.details.insert("row".into(), row.name.as_ref().into());
    found.push(complaint);
}
