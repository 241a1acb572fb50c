//! Rows that are new or patches by mistake, patches that do not fit the row below, and passes that name a neighbour in another
//! program.

use std::sync::Arc;

use super::{LayerMerger, condition_change};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, TableField, limits, short, suggest};
use crate::model::pack::PackRow;
use crate::pack::fingerprint;
use crate::pack::read::has_word;
use crate::pack::rows::{ExpectedFingerprint, IncomingRow};
use crate::program::condition_terms;
use crate::template;

/// By table, the keys that a new row needs. A row of an overlay that has all of them is probably meant as a new one.
const NEEDED: &[(&str, &[&str])] = &[("pass", &["do"]), ("hook", &["event", "run"]), ("tool", &["function", "description"])];

/// A new row of an overlay whose name is nearly that of a row of a lower layer.
pub(super) struct SuspectRow {
    table: Arc<str>,
    name: Arc<str>,
    span: Span,
    near: Arc<str>,
}

impl LayerMerger<'_> {
    /// What to say of a row that meets a row of its name in a lower layer, although it is said to be new or looks new.
    pub(super) fn taken(&self, new: &IncomingRow, old: &PackRow) -> Option<Diagnostic> {
        let help = "choose another name; to patch the row of the lower layer, take `new` out";
        if new.is_new {
            let complaint = Diagnostic::new(Code::LayerTaken, format!("{} is said to be new, but a lower layer has it", new.title()));
            let complaint = complaint.at(new.name_span).label("not new").related(old.name_span, "the row below").help(help);
            return Some(complaint.rule(self.rule(&new.table, &new.name)));
        }
        let patches = new.replace || new.edit.is_some() || new.expects.is_some();
        let complete = NEEDED
            .iter()
            .find(|(table, _)| *table == &*new.table)
            .is_some_and(|(_, keys)| keys.iter().all(|key| new.fields.contains_key(*key)));
        if self.overlay.is_none() || patches || !complete || changed_verb(new, old).is_some() {
            return None;
        }
        let complaint =
            Diagnostic::new(Code::LayerPatches, format!("{} states all that a new row needs, and patches a lower layer", new.title()));
        let help = "if a new row is meant, choose another name and write `new = true`; for a patch, leave out what stays";
        let complaint = complaint.at(new.name_span).label("patches").related(old.name_span, "the row below").help(help);
        Some(complaint.rule(self.rule(&new.table, &new.name)))
    }

    /// What to say of a row of an overlay that says nothing but what the row of the lower layer says.
    pub(super) fn unchanged(&self, new: &IncomingRow, old: &PackRow) -> Option<Diagnostic> {
        let is_same =
            |(key, field): (&Arc<str>, &TableField)| old.fields.get(key).is_some_and(|below| below.node.to_json() == field.node.to_json());
        let changes = new.replace || new.is_new || new.edit.is_some() || new.place.is_some() || !new.fields.iter().all(is_same);
        // a template that lies in a pack is laid over that pack as the one that is built
        if self.overlay.is_none() || changes || &*new.table == template::KIND {
            return None;
        }
        let why = if new.fields.is_empty() { "it has no key besides its name" } else { "all its keys are as in the row below" };
        let complaint = Diagnostic::new(Code::LayerUnchanged, format!("{} changes nothing: {why}", new.title()));
        let complaint = complaint.at(new.name_span).related(old.name_span, "the row below").rule(self.rule(&new.table, &new.name));
        Some(complaint.help("write what is to change, or take the row away"))
    }

    /// A patch of an overlay whose condition takes the place of the one below, and leaves a part of it out.
    pub(super) fn dropped(&self, new: &IncomingRow, old: &PackRow) -> Vec<Diagnostic> {
        // who says what the row was has looked at it
        if self.overlay.is_none() || new.replace || new.expects.is_some() {
            return Vec::new();
        }
        let one = |term: &str| {
            let (field, below) = (new.fields.get(term)?, old.fields.get(term)?);
            let (own, tests) = (field.node.as_table()?, below.node.as_table()?);
            if condition_change(&new.table, term, &field.node).is_some() {
                return None;
            }
            let gone: Vec<&str> = tests.keys().filter(|key| !own.contains_key(*key)).map(AsRef::as_ref).collect();
            if gone.is_empty() {
                return None;
            }
            let message =
                format!("`{term}` of {} takes the place of the one below, whose {} no longer counts", new.title(), short::listed(gone));
            let seen: String = fingerprint::of_row(&old.name, &old.fields).chars().take(12).collect();
            let complaint = Diagnostic::new(Code::LayerDrops, message).at(field.key).related(below.key, "the condition below");
            let complaint = complaint.rule(self.rule(&new.table, &new.name));
            Some(complaint.help(format!("write `{term}.and = …` to keep it, or say that it is to go: `expects = \"{seen}\"`")))
        };
        condition_terms().filter_map(one).collect()
    }

    /// Remembers a new row of an overlay whose name is nearly that of a row of a lower layer.
    pub(super) fn suspect(&mut self, new: &IncomingRow) {
        if self.overlay.is_none() || new.is_new || self.nearly.len() >= limits::REPORTED {
            return;
        }
        let Some(rows) = self.merged.tables.get(&new.table) else { return };
        let below = self.below.get(&new.table).copied().unwrap_or_default();
        self.compared_new += below;
        if self.compared_new > limits::COMPARISONS {
            return;
        }
        let (of, last) = parts(&new.name);
        let near = rows.iter().take(below).find(|(known, row)| {
            let (known_of, known_last) = parts(known);
            // two passes of one verb are seldom told apart by an `s`
            let same_verb = || &*new.table == "pass" && verb(&new.fields).is_some_and(|own| verb(&row.fields) == Some(own));
            known_of == of && (suggest::is_slip(last, known_last) || suggest::differ_in_s(last, known_last) && same_verb())
        });
        if let Some((near, _)) = near {
            let near = near.clone();
            self.nearly.push(SuspectRow { table: new.table.clone(), name: new.name.clone(), span: new.name_span, near });
        }
    }

    /// Warns of those suspects that nothing else names: a row that is used is meant as it is.
    pub(super) fn tell_nearly(&mut self) {
        for SuspectRow { table, name, span, near } in std::mem::take(&mut self.nearly) {
            let last = name.rsplit_once('/').map_or(&*name, |(_, last)| last);
            let own = self.merged.tables.get(&table).and_then(|rows| rows.get(&name)).map(|row| row.span);
            let rows = self.merged.tables.values().flat_map(|rows| rows.values()).filter(|row| Some(row.span) != own);
            let named = rows.flat_map(|row| row.fields.values()).chain(self.merged.values.values()).any(|f| mentions(&f.node, last));
            if !named {
                let message = format!("{table} `{name}` is new, and nearly has the name of {table} `{near}`");
                let complaint = Diagnostic::new(Code::LayerNearly, message).at(span).label("a new row");
                let help = format!("to patch that row write `{near}`; if a new row is meant, write `new = true`");
                self.complain(complaint.rule(format!("{table} {name}")).help(help));
            }
        }
    }

    /// Reports a pass or round that is to stand next to one of another program or pass, whose order is another one.
    pub(super) fn lost_abroad(&mut self, table: &str, name: &str, anchor: &str, span: Span) {
        let own = name.rsplit_once('/').map_or("", |(of, _)| of);
        let last = anchor.rsplit_once('/').map_or(anchor, |(_, last)| last);
        let what = if table == "pass" { "program" } else { "pass" };
        let message = format!("{table} `{name}` is to stand next to `{anchor}`, which is not of its {what} `{own}`");
        let here = format!("{own}/{last}");
        let rows = self.merged.tables.get(table);
        let help = match rows.filter(|rows| rows.contains_key(here.as_str())) {
            Some(_) => format!("did you mean `{last}`?"),
            None => {
                let names: Vec<&str> =
                    rows.into_iter().flat_map(|rows| rows.keys()).filter_map(|n| n.strip_prefix(own)?.strip_prefix('/')).collect();
                let some = names.iter().take(limits::LISTED).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
                let more = if names.len() > limits::LISTED { " …" } else { "" };
                if names.is_empty() { format!("name a {table} of `{own}`") } else { format!("name a {table} of `{own}`: {some}{more}") }
            }
        };
        let complaint = Diagnostic::new(Code::MoveUnknown, message).at(span).label(format!("of another {what}")).missing(anchor);
        self.complain(complaint.rule(self.rule(table, name)).help(help));
    }
}

/// What stands in front of the last `/` of a name, and what stands behind it.
fn parts(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

fn verb(fields: &FieldMap) -> Option<&str> {
    fields.get("do").and_then(|field| field.node.as_text())
}

/// Whether a name occurs in a text of a value, or as a key.
fn mentions(node: &DocumentNode, name: &str) -> bool {
    match &node.data {
        NodeValue::Text(text) => has_word(text, name),
        NodeValue::List(list) => list.iter().any(|node| mentions(node, name)),
        NodeValue::Table(table) => table.iter().any(|(key, field)| has_word(key, name) || mentions(&field.node, name)),
        _ => false,
    }
}

/// A patch that was written against another text of the row.
pub(super) fn stale(expects: &ExpectedFingerprint, new: &IncomingRow, old: &PackRow) -> Option<Diagnostic> {
    let now = fingerprint::of_row(&old.name, &old.fields);
    if now.starts_with(&expects.prefix) {
        return None;
    }
    let message = format!("{} was patched as it read at `{}`, but now it reads otherwise", new.title(), expects.prefix);
    let complaint = Diagnostic::new(Code::LayerStale, message).at(expects.span).label("the row as the patch knew it");
    let below = short::cut(fingerprint::row_text(&old.name, &old.fields));
    let patch = short::cut(fingerprint::row_text(&new.name, &new.fields));
    let complaint = complaint.related(old.span, format!("the row now: {below}")).related(new.span, format!("the patch: {patch}"));
    let fresh: String = now.chars().take(12).collect();
    Some(complaint.help(format!("check the patch against the row, then write `expects = \"{fresh}\"`")))
}

/// A patch that changes the verb of a pass.
pub(super) fn changed_verb(new: &IncomingRow, old: &PackRow) -> Option<Diagnostic> {
    let (field, was) = (new.fields.get("do")?, old.fields.get("do")?);
    if &*new.table != "pass" || new.replace || field.node.to_json() == was.node.to_json() {
        return None;
    }
    let name = |node: &DocumentNode| node.as_text().unwrap_or("?").to_owned();
    let message = format!("{} changes its verb from `{}` to `{}`", new.title(), name(&was.node), name(&field.node));
    let complaint =
        Diagnostic::new(Code::ChangesVerb, message).at(field.node.span).label("another verb").related(was.node.span, "the verb below");
    Some(complaint.help("say `replace = true` and write the whole pass"))
}
