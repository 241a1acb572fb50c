//! The rows of `directive` against each other: names that mean two types, payloads that check nothing, rows without effect.

use std::collections::HashMap;

use super::push;
use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, short};
use crate::model::pack::PackRow;
use crate::model::{Pack, Value};
use crate::text::loose_name::loose_name;
use crate::text::schema;

/// The program that reads the rows.
const PROGRAM: &str = "directives";

/// Who has a name, and where it is written.
struct NameClaim<'a> {
    row: &'a str,
    name: &'a str,
    span: Span,
}

/// Reports what is wrong with the types of directives of a pack.
pub(super) fn check(pack: &Pack, found: &mut Report) {
    let mut claims: HashMap<String, NameClaim<'_>> = HashMap::new();
    let read = pack.row("program", PROGRAM).is_some();
    for row in pack.rows("directive") {
        let mut told: Vec<Diagnostic> = Vec::new();
        for (name, span) in std::iter::once((&*row.name, row.name_span)).chain(row.words("aliases")) {
            let claim = NameClaim { row: &row.name, name, span };
            match claims.get(&loose_name(name)) {
                Some(other) if other.row == claim.row => told.push(same(&claim, other)),
                Some(other) => told.push(collision(&claim, other)),
                None => drop(claims.insert(loose_name(name), claim)),
            }
        }
        told.extend(row.node("payload").and_then(|node| payload(row, node)));
        told.extend(idle(row, read));
        told.into_iter().for_each(|complaint| push(found, row, complaint));
    }
}

fn collision(claim: &NameClaim<'_>, other: &NameClaim<'_>) -> Diagnostic {
    let message = format!("directives `{}` and `{}` share the name `{}`", other.row, claim.row, claim.name);
    let complaint = Diagnostic::new(Code::DirectiveCollision, message).at(claim.span).related(other.span, "the other one is here");
    complaint.help("names and aliases that differ only in case, blanks and hyphens are the same: choose another one")
}

fn same(claim: &NameClaim<'_>, other: &NameClaim<'_>) -> Diagnostic {
    let message = format!("alias `{}` of directive `{}` has no effect: `{}` means the same", claim.name, claim.row, other.name);
    let complaint = Diagnostic::new(Code::DirectiveUnused, message).at(claim.span);
    complaint.help("names are compared without case, and with `_` for blanks and hyphens: remove the alias")
}

fn payload(row: &PackRow, node: &DocumentNode) -> Option<Diagnostic> {
    let why = schema::usable(&Value::from(node)).err()?;
    let message = short::cut(format!("the payload of directive `{}` is no JSON Schema: {why}", row.name));
    let complaint = Diagnostic::new(Code::DirectivePayload, message).at(node.span);
    Some(complaint.help("write a JSON Schema of an object, or leave `payload` out to accept any object"))
}

/// A row that nothing uses.
fn idle(row: &PackRow, read: bool) -> Option<Diagnostic> {
    let never = row.node("when").filter(|node| node.as_bool() == Some(false));
    let (span, why, help) = match never {
        Some(node) => (node.span, "its `when` never holds", "remove the row, or write a condition"),
        None if !read => (row.name_span, "the pack has no program `directives`", "extend pack `base`, whose program reads the rows"),
        None => return None,
    };
    let message = format!("directive `{}` has no effect: {why}", row.name);
    Some(Diagnostic::new(Code::DirectiveUnused, message).at(span).help(help))
}
