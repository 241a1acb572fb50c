//! Operations and their effects, row against row: keys that are missing or have no effect, names that nothing has, circles,
//! conditions that cannot be met, and effects that come too late or too early.
//!
//! A row of a layer may only patch some keys, so missing keys are not reported by the schema, which sees one layer, but of the
//! row that results.

use std::collections::BTreeSet;

use super::circles;
use super::push;
use crate::artifact::Declarations;
use crate::diag::{Code, Diagnostic, DocumentNode, Report, Span, short, suggest};
use crate::model::Pack;
use crate::model::pack::PackRow;

/// The table of operations, and those that say which keys operations and effects have.
const OPERATION: &str = "operation";
const KINDS: &str = "operation_kind";
const TYPES: &str = "effect_type";
/// The hook of an operation that says none: in front of the main request.
const BEFORE: &str = "before";

/// Reports what contradicts each other in the rows of `operation` and `effect`.
pub(super) fn check(pack: &Pack, declared: &Declarations, found: &mut Report) {
    let mut check = OperationCheck { pack, declared, found };
    pack.rows(OPERATION).for_each(|row| check.operation(row));
    pack.rows("effect").for_each(|row| check.effect(row));
    check.circles();
}

struct OperationCheck<'a> {
    pack: &'a Pack,
    declared: &'a Declarations,
    found: &'a mut Report,
}

fn hooks(row: &PackRow) -> Vec<&str> {
    let said: Vec<&str> = row.words("hooks").map(|(word, _)| word).collect();
    if said.is_empty() { vec![BEFORE] } else { said }
}

impl<'a> OperationCheck<'a> {
    fn operation(&mut self, row: &'a PackRow) {
        keys_of_operation(self.pack, row).into_iter().for_each(|complaint| self.push(row, complaint));
        self.writer(row);
        for (name, span) in row.words("depends") {
            let Some(other) = self.pack.row(OPERATION, name) else {
                let message = format!("operation `{}` depends on `{name}`, which no row declares", row.name);
                self.unknown(row, name, span, message);
                continue;
            };
            let other_hooks = hooks(other);
            if let Some(hook) = hooks(row).into_iter().find(|hook| !other_hooks.contains(hook)) {
                let message = format!("operation `{}` runs `{hook}`, but `{name}`, on which it depends, does not", row.name);
                let complaint = Diagnostic::new(Code::OperationContradiction, message).at(span);
                let complaint = complaint.related(other.place("hooks"), "its hooks are said here");
                self.push(row, complaint.help("a dependency must run wherever its dependent runs: give both the same `hooks`"));
            }
        }
        let conditions = row.node("conditions").and_then(DocumentNode::as_list).into_iter().flatten();
        conditions.for_each(|condition| self.condition(row, condition));
    }

    fn writer(&mut self, row: &PackRow) {
        let Some(name) = row.text("writer").filter(|name| !self.declared.writers.contains_key(*name)) else { return };
        let near = self.found.words.help(name, self.declared.writers.keys().map(AsRef::as_ref));
        let message = format!("operation `{}` writes in the name of `{name}`, which is neither a writer nor an operation", row.name);
        let complaint = Diagnostic::new(Code::NameUnknown, message).at(row.place("writer")).missing_row(&["writer", "operation"], name);
        self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[writer]]`".into())));
    }

    fn condition(&mut self, row: &'a PackRow, condition: &DocumentNode) {
        let Some((name, span)) = condition.get("operation").and_then(|node| Some((node.as_text()?, node.span))) else { return };
        let Some(guard) = self.pack.row(OPERATION, name) else {
            let message = format!("a condition of operation `{}` is about `{name}`, which no row declares", row.name);
            return self.unknown(row, name, span, message);
        };
        if !row.words("depends").any(|(other, _)| other == name) {
            let message = format!("a condition of operation `{}` is about `{name}`, on which it does not depend", row.name);
            let complaint = Diagnostic::new(Code::OperationContradiction, message).at(span);
            self.push(row, complaint.help(format!("only results of dependencies are known: add `{name}` to `depends`")));
        }
        if !gives_answers(self.pack, guard) {
            let message = format!("a condition of operation `{}` is about `{name}`, which is no guard", row.name);
            let complaint = Diagnostic::new(Code::OperationContradiction, message).at(span);
            let complaint = complaint.related(guard.place("kind"), "its kind is said here");
            return self.push(row, complaint.help("only an operation of kind `guard` gives answers"));
        }
        let Some((output, span)) = condition.get("output").and_then(|node| Some((node.as_text()?, node.span))) else { return };
        if !guard.words("outputs").any(|(known, _)| known == output) {
            let near = self.found.words.help(output, guard.words("outputs").map(|(known, _)| known));
            let message = format!("guard `{name}` has no answer `{output}`");
            let complaint = Diagnostic::new(Code::NameUnknown, message).at(span).missing(output);
            self.push(row, complaint.help(near.unwrap_or_else(|| format!("add it to `outputs` of `{name}`").into())));
        }
    }

    fn effect(&mut self, row: &'a PackRow) {
        keys_of_effect(self.pack, row).into_iter().for_each(|complaint| self.push(row, complaint));
        let Some(name) = row.text("operation") else {
            let complaint = Diagnostic::new(Code::TermMissing, format!("effect `{}` belongs to no operation", row.name)).at(row.name_span);
            return self.push(row, complaint.help("add `operation = \"…\"`"));
        };
        let Some(operation) = self.pack.row(OPERATION, name) else {
            let message = format!("effect `{}` belongs to operation `{name}`, which no row declares", row.name);
            return self.unknown(row, name, row.place("operation"), message);
        };
        let Some(wanted) = type_of(self.pack, row).and_then(|what| what.text("hook")) else { return };
        if !hooks(operation).contains(&wanted) {
            let message = format!("effects like `{}` need the hook `{wanted}`, which operation `{name}` does not have", row.name);
            let complaint = Diagnostic::new(Code::OperationContradiction, message).at(row.place("type"));
            let complaint = complaint.related(operation.place("hooks"), "its hooks are said here");
            self.push(row, complaint.help(format!("add `{wanted}` to the `hooks` of `{name}`, or take the effect out")));
        }
    }

    /// Reports operations that depend on each other in a circle.
    fn circles(&mut self) {
        let mut rows: Vec<&PackRow> = self.pack.rows(OPERATION).collect();
        rows.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let depends = |n: usize| {
            let names = rows.get(n).into_iter().flat_map(|row| row.words("depends"));
            let known: BTreeSet<usize> = names.filter_map(|(name, _)| rows.binary_search_by(|row| (*row.name).cmp(name)).ok()).collect();
            known.into_iter().map(|n| (n, ())).collect()
        };
        for circle in circles(rows.len(), depends) {
            let members: Vec<&PackRow> = circle.members.iter().filter_map(|n| rows.get(*n).copied()).collect();
            let Some((first, others)) = members.split_first() else { continue };
            let message = if others.is_empty() {
                format!("operation `{}` depends on itself", first.name)
            } else {
                format!("operations {} depend on each other in a circle", short::listed(members.iter().map(|row| &*row.name)))
            };
            let complaint = Diagnostic::new(Code::CycleOperation, message).at(first.place("depends"));
            let related = |complaint: Diagnostic, row: &&PackRow| complaint.related(row.place("depends"), "the circle goes on here");
            self.push(first, others.iter().fold(complaint, related).help("take one of them out of `depends`"));
        }
    }

    fn unknown(&mut self, row: &PackRow, name: &str, span: Span, message: String) {
        let near = self.found.words.help(name, self.pack.rows(OPERATION).map(|row| &*row.name));
        let complaint = Diagnostic::new(Code::NameUnknown, message).at(span).missing_row(&["operation"], name);
        self.push(row, complaint.help(near.unwrap_or_else(|| "declare it: a row `[[operation]]`".into())));
    }

    fn push(&mut self, row: &PackRow, complaint: Diagnostic) {
        push(self.found, row, complaint);
    }
}

/// The kind of an operation, with the row that says what the kind takes.
fn kind<'a>(pack: &'a Pack, row: &'a PackRow) -> (&'a str, Option<&'a PackRow>) {
    let kind = row.text("kind").unwrap_or("template");
    (kind, closest(pack, KINDS, kind, row.text("engine")))
}

/// The type of an effect.
fn type_of<'a>(pack: &'a Pack, row: &PackRow) -> Option<&'a PackRow> {
    closest(pack, TYPES, row.text("type")?, row.text("target"))
}

/// Whether an operation gives answers that conditions may ask for.
fn gives_answers(pack: &Pack, row: &PackRow) -> bool {
    kind(pack, row).1.is_some_and(|kind| kind.words("needs").any(|(key, _)| key == "outputs"))
}

/// The row `WORD/DETAIL`, or else the row `WORD`.
fn closest<'a>(pack: &'a Pack, table: &str, word: &str, detail: Option<&str>) -> Option<&'a PackRow> {
    let detailed = detail.and_then(|detail| pack.row(table, &format!("{word}/{detail}")));
    detailed.or_else(|| pack.row(table, word))
}

fn keys(row: &PackRow) -> impl Iterator<Item = &str> {
    row.words("needs").chain(row.words("takes")).map(|(key, _)| key)
}

/// The keys that belong to some rows of a vocabulary and not to this one.
fn unfit<'a>(pack: &'a Pack, table: &str, fitting: &'a PackRow) -> BTreeSet<&'a str> {
    let own: BTreeSet<&str> = keys(fitting).collect();
    pack.rows(table).flat_map(keys).filter(|key| !own.contains(key)).collect()
}

/// What is missing in the row of an operation, and what has no effect in it.
fn keys_of_operation(pack: &Pack, row: &PackRow) -> Vec<Diagnostic> {
    let (kind, Some(fitting)) = kind(pack, row) else { return vec![unsupported(pack, row)] };
    let decided = row.text("engine").filter(|_| keys(fitting).any(|key| key == "engine"));
    let decided = decided.map(|engine| format!(" with `engine = \"{engine}\"`")).unwrap_or_default();
    let mut found = Vec::new();
    for (key, _) in fitting.words("needs").filter(|(key, _)| !row.fields.contains_key(*key)) {
        let message = format!("operation `{}` has no `{key}`, and is of kind `{kind}`{decided}", row.name);
        found.push(Diagnostic::new(Code::TermMissing, message).at(row.name_span).help(format!("add `{key}`")));
    }
    for key in unfit(pack, KINDS, fitting) {
        let why = format!("the operation is of kind `{kind}`{decided}");
        found.extend(idle(row, "operation", key, &why, "remove it, or write another `kind`"));
    }
    if keys(fitting).any(|key| key == "output_mode") {
        found.extend(json_only(row));
    }
    if !row.fields.contains_key("artifact") {
        let why = "the operation writes no artifact";
        found.extend(idle(row, "operation", "writer", why, "remove it, or say by `artifact` what is written"));
    }
    found
}

/// What belongs to replies in JSON, and to one way to find it in them.
fn json_only(row: &PackRow) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if row.text("output_mode") != Some("json") {
        for key in ["parse", "pattern", "schema"] {
            found.extend(idle(row, "operation", key, "the reply is a text", "remove it, or write `output_mode = \"json\"`"));
        }
    } else if row.text("parse") != Some("custom_regex") {
        let help = "remove it, or write `parse = \"custom_regex\"`";
        found.extend(idle(row, "operation", "pattern", "the JSON of the reply is not found by a pattern", help));
    } else if !row.fields.contains_key("pattern") {
        let message = format!("operation `{}` finds the JSON of its reply by a pattern, and has no `pattern`", row.name);
        let complaint = Diagnostic::new(Code::TermMissing, message).at(row.place("parse"));
        found.push(complaint.help("add `pattern = \"/…/\"`, or write another `parse`"));
    }
    found
}

/// The words of a vocabulary without their details.
fn plain<'a>(pack: &'a Pack, table: &str) -> impl Iterator<Item = &'a str> {
    pack.rows(table).map(|row| &*row.name).filter(|name| !name.contains('/'))
}

fn unsupported(pack: &Pack, row: &PackRow) -> Diagnostic {
    let (kind, _) = kind(pack, row);
    let message = format!("operation `{}` is of kind `{kind}`, which is not carried out: the operation is skipped", row.name);
    let help = suggest::help(kind, plain(pack, KINDS));
    let help = help.unwrap_or_else(|| "declare the kind: a row `[[operation_kind]]`, and passes that carry it out".into());
    Diagnostic::warning(Code::NameUnknown, message).at(row.place("kind")).help(help)
}

/// What is missing in the row of an effect, and what has no effect in it.
fn keys_of_effect(pack: &Pack, row: &PackRow) -> Vec<Diagnostic> {
    let known = || suggest::help("", plain(pack, TYPES)).unwrap_or_else(|| "declare it: a row `[[effect_type]]`".into());
    let Some(what) = row.text("type") else {
        let message = format!("effect `{}` has no type", row.name);
        // a type of a wrong shape is told by the schema
        let missing = !row.fields.contains_key("type");
        return missing.then(|| Diagnostic::new(Code::TermMissing, message).at(row.name_span).help(known())).into_iter().collect();
    };
    let Some(fitting) = type_of(pack, row) else {
        let near = suggest::help(what, plain(pack, TYPES));
        let message = format!("effect `{}` is of type `{what}`, which no row of `effect_type` is called", row.name);
        let complaint = Diagnostic::new(Code::NameUnknown, message).at(row.place("type")).missing_row(&["effect_type"], what);
        return vec![complaint.help(near.unwrap_or_else(known))];
    };
    let why = format!("the effect is of type `{what}`");
    let unfit = unfit(pack, TYPES, fitting).into_iter();
    let mut found: Vec<Diagnostic> = unfit.filter_map(|key| idle(row, "effect", key, &why, "remove it, or write another `type`")).collect();
    if keys(fitting).any(|key| key == "depth") && row.text("anchor") != Some("depth_from_end") {
        let why = "the effect is not placed by its depth";
        found.extend(idle(row, "effect", "depth", why, "remove it, or write `anchor = \"depth_from_end\"`"));
    }
    found
}

/// A key that is written, and that nothing reads.
fn idle(row: &PackRow, what: &str, key: &str, why: &str, help: &str) -> Option<Diagnostic> {
    let node = row.node(key)?;
    let message = format!("`{key}` of {what} `{}` is accepted and has no effect: {why}", row.name);
    let mut complaint = Diagnostic::new(Code::OperationUnused, message).at(node.span).help(help);
    complaint.details.insert("key".into(), key.into());
    Some(complaint)
}
