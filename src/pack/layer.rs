//! Merges layers: rows merge by name, values key by key, and everything keeps its source place.
//!
//! Within one layer, a row can be moved next to any other row, whatever the order of files is: all rows are first added
//! and patched, then moved, then removed, then arranged. A *term is one value*: a patch replaces the whole value of a
//! key and never merges into it, because a mixture of an old and a new condition would be unreadable. Each key of a
//! form is a term of its own, so forms merge key by key.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::edits;
use super::extends::LayerDocs;
use super::fingerprint;
use super::order::{self, Order, anchor};
use super::rows::{self, Expects, Incoming, Move};
use crate::diag::{Code, Data, Diagnostic, Field, Node, Report, Span, Table, suggest};
use crate::model::pack::{Row, Rows, Shadowed};
use crate::template;

/// Most rows of one layer.
const MAX_ROWS: usize = 20_000;
/// The most diagnostics about layering that are reported; further ones are mostly consequences of these.
const MAX_COMPLAINTS: usize = 200;
/// The most names that are compared for "did you mean" in total, because comparing is slow.
const MAX_COMPARED: usize = 50_000;
/// The most names of rows that a diagnostic lists.
const MAX_NAMED: usize = 12;
/// By table, the keys that a new row needs. A row of an overlay that has all of them is probably meant as a new one.
const NEEDED: &[(&str, &[&str])] = &[("pass", &["do"]), ("hook", &["event", "run"]), ("tool", &["function", "description"])];
/// The longest text of a row that a diagnostic shows, in characters.
const MAX_SHOWN: usize = 300;

/// The merged layers.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) tables: IndexMap<Arc<str>, Rows>,
    pub(super) values: Table,
    pub(super) shadowed: Vec<Shadowed>,
    /// The rows that higher layers have removed, so that a name that is still used can be traced to its removal.
    pub(super) removed: Vec<Removed>,
}

/// A row that a higher layer has removed.
#[derive(Debug, Clone)]
pub struct Removed {
    /// Its table.
    pub table: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Where the removal is written.
    pub by: Span,
}

/// Merges layers, lowest first. `complete` says that every file could be read; only then is a name that no layer
/// defines a mistake.
pub(super) fn merge(layers: &[LayerDocs], complete: bool, report: &mut Report) -> Merged {
    let mut merger = Merger {
        merged: Merged::default(),
        report,
        complete,
        decided: HashMap::new(),
        layer: "",
        overlay: None,
        layers,
        nearly: Vec::new(),
        complaints: 0,
        compared: 0,
    };
    for (number, layer) in layers.iter().enumerate() {
        merger.layer = &layer.name;
        merger.overlay = layer.overlay.then_some(number);
        merger.layer(layer);
    }
    merger.tell_nearly();
    merger.merged
}

struct Merger<'a> {
    merged: Merged,
    report: &'a mut Report,
    complete: bool,
    /// What overlays have set: from table, row and key (or the path of a value) to the overlay and the place.
    decided: HashMap<[Arc<str>; 3], (usize, Field)>,
    layer: &'a str,
    /// The number of the current layer, if it is an overlay.
    overlay: Option<usize>,
    layers: &'a [LayerDocs],
    /// New rows of overlays with nearly the name of a row of a lower layer: the table, the name, its place, and the
    /// other name.
    nearly: Vec<(Arc<str>, Arc<str>, Span, Arc<str>)>,
    complaints: usize,
    /// Names compared so far.
    compared: usize,
}

impl<'a> Merger<'a> {
    fn layer(&mut self, layer: &'a LayerDocs) {
        let mut incoming = Vec::new();
        for doc in &layer.docs {
            if let Some(table) = doc.table() {
                rows::collect(table, &doc.kind, doc.root.span, &mut incoming, &mut |complaint| self.complain(complaint));
            }
        }
        if let Some(row) = incoming.get(MAX_ROWS) {
            let complaint =
                Diagnostic::new(Code::BoundExceeded, format!("layer `{}` has more than {MAX_ROWS} rows", self.layer)).at(row.span);
            self.complain(complaint.help("split the pack"));
            incoming.truncate(MAX_ROWS);
        }
        self.drop_twice(&mut incoming);
        self.drop_programs(&incoming);
        let (removals, kept): (Vec<Incoming>, Vec<Incoming>) = incoming.into_iter().partition(|row| row.remove);
        let mut moves: IndexMap<Arc<str>, Vec<(Arc<str>, Move)>> = IndexMap::new();
        for row in &kept {
            if let Some(place) = &row.place {
                moves.entry(row.table.clone()).or_default().push((row.name.clone(), place.clone()));
            }
        }
        kept.into_iter().for_each(|row| self.put(row));
        moves.iter().for_each(|(table, moves)| self.moves(table, moves));
        removals.iter().for_each(|row| self.remove(row));
        for doc in &layer.docs {
            let Some(table) = doc.table() else { continue };
            self.values(table, &doc.kind);
            let arrange = table.get("arrange").filter(|_| &*doc.kind != template::KIND);
            if let Some(arrange) = arrange.and_then(|f| f.node.as_table()) {
                self.arrange(arrange);
            }
        }
    }

    /// If a layer has a row twice, only the first one counts.
    fn drop_twice(&mut self, incoming: &mut Vec<Incoming>) {
        let mut first: HashMap<(Arc<str>, Arc<str>), Span> = HashMap::new();
        incoming.retain(|row| {
            let key = (row.table.clone(), row.name.clone());
            let Some(before) = first.get(&key).copied() else {
                first.insert(key, row.name_span);
                return true;
            };
            let message = format!("layer `{}` names {} twice", self.layer, row.title());
            let complaint = Diagnostic::new(Code::LayerTwice, message).at(row.name_span).label("again here");
            self.complain(complaint.related(before, "first written here").help("make them one row, or give one another name"));
            false
        });
    }

    /// Replacing a whole program removes its passes and rounds of all lower layers.
    fn drop_programs(&mut self, incoming: &[Incoming]) {
        for program in incoming.iter().filter(|row| &*row.table == "program" && row.replace) {
            let prefix = format!("{}/", program.name);
            for table in ["pass", "round"] {
                let Some(rows) = self.merged.tables.get_mut(table) else { continue };
                let shadowed = &mut self.merged.shadowed;
                rows.retain(|name, row| {
                    let stays = !name.starts_with(&prefix);
                    if !stays {
                        shadowed.push(Shadowed { by: program.span, old: row.span, edited: false });
                    }
                    stays
                });
            }
        }
    }

    /// Adds, patches or replaces a row.
    fn put(&mut self, new: Incoming) {
        let old = self.merged.tables.get(&new.table).and_then(|rows| rows.get(&new.name));
        let Some(old) = old else {
            self.add(new);
            return;
        };
        let stale = new.expects.as_ref().and_then(|expects| stale(expects, &new, old));
        let verb = changed_verb(&new, old);
        let taken = self.taken(&new, old);
        let old_span = old.span;
        // a pass keeps its verb, so that its terms are not reported too
        let keeps_verb = verb.is_some();
        stale.into_iter().chain(verb).chain(taken).for_each(|complaint| self.complain(complaint));
        self.conflicts(&new);
        self.check_edit(&new);
        let Some(row) = self.merged.tables.get_mut(&new.table).and_then(|rows| rows.get_mut(&new.name)) else { return };
        if new.replace {
            self.merged.shadowed.push(Shadowed { by: new.span, old: old_span, edited: false });
            *row = Row { name: new.name, fields: new.fields, span: new.span, name_span: new.name_span, patched: Vec::new() };
            return;
        }
        row.patched.push(new.span);
        for (key, field) in new.fields.into_iter().filter(|(key, _)| !(keeps_verb && &**key == "do")) {
            let by = field.node.span;
            if let Some(patch) = field.node.as_table().filter(|_| merges(&new.table, &key))
                && let Some(Field { node: Node { data: Data::Table(below), .. }, .. }) = row.fields.get_mut(&key)
            {
                patch_keys(below, patch, &mut self.merged.shadowed);
            } else if let Some(hidden) = row.fields.insert(key, field) {
                self.merged.shadowed.push(Shadowed { by, old: hidden.node.span, edited: false });
            }
        }
        if let Some(edit) = new.edit.as_ref().and_then(|f| f.node.as_table()) {
            let mut complaints = Vec::new();
            edits::apply(&mut row.fields, edit, &mut self.merged.shadowed, &mut |complaint| complaints.push(complaint));
            let rule = self.rule(&new.table, &new.name);
            complaints.into_iter().for_each(|complaint| self.complain(complaint.rule(rule.clone())));
        }
    }

    /// What to say of a row that meets a row of its name in a lower layer, although it is said to be new or looks new.
    fn taken(&self, new: &Incoming, old: &Row) -> Option<Diagnostic> {
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

    /// Remembers a new row of an overlay whose name is nearly that of a row of a lower layer.
    fn suspect(&mut self, new: &Incoming) {
        if self.overlay.is_none() || new.is_new || self.nearly.len() >= MAX_COMPLAINTS {
            return;
        }
        let Some(rows) = self.merged.tables.get(&new.table) else { return };
        self.compared += rows.len();
        if self.compared > MAX_COMPARED {
            return;
        }
        let split =
            |name: &str| name.rsplit_once('/').map_or((String::new(), name.to_owned()), |(of, last)| (of.to_owned(), last.to_owned()));
        let (of, last) = split(&new.name);
        let near = rows.keys().find(|known| {
            let (known_of, known_last) = split(known);
            known_of == of && suggest::is_slip(&last, &known_last)
        });
        if let Some(near) = near.cloned() {
            self.nearly.push((new.table.clone(), new.name.clone(), new.name_span, near));
        }
    }

    /// Warns of those suspects that nothing else names: a row that is used is meant as it is.
    fn tell_nearly(&mut self) {
        for (table, name, span, near) in std::mem::take(&mut self.nearly) {
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

    /// Reports edits of terms that the row also sets, and edits in a row that replaces the whole lower one.
    fn check_edit(&mut self, new: &Incoming) {
        let also = [("remove", new.remove), ("replace", new.replace), ("edit", new.edit.is_some()), ("expects", new.expects.is_some())];
        if let Some((word, _)) = also.into_iter().find(|(_, also)| *also && new.is_new) {
            let message = format!("{} is said to be new, and yet it says `{word}` about a row of a lower layer", new.title());
            self.complain(
                Diagnostic::new(Code::SchemaValue, message).at(new.name_span).help(format!("keep one of them: `new` or `{word}`")),
            );
        }
        let edited = new.edit.as_ref().and_then(|f| f.node.as_table()).map(|edit| edits::terms(edit).collect::<Vec<_>>());
        for (term, field) in edited.unwrap_or_default() {
            let complaint = if new.remove {
                let message = format!("{} is removed, and yet its `{term}` is edited", new.title());
                Diagnostic::new(Code::SchemaValue, message).help("keep one of them: `remove` or `edit`")
            } else if new.replace {
                let message = format!("{} is taken whole, and yet `{term}` of the row below is edited", new.title());
                Diagnostic::new(Code::SchemaValue, message).help("write the whole term, or take `replace` out")
            } else if let Some(whole) = new.fields.get(&term) {
                let message = format!("`{term}` of {} is both written whole and edited", new.title());
                Diagnostic::new(Code::SchemaValue, message).related(whole.key, "written whole here").help("keep one of them")
            } else {
                continue;
            };
            self.complain(complaint.at(field.key));
        }
    }

    fn add(&mut self, new: Incoming) {
        let lacks_verb = &*new.table == "pass" && !new.fields.contains_key("do");
        let says = [(new.replace, "replace"), (new.expects.is_some(), "expects"), (new.edit.is_some(), "edit")];
        let word = says.into_iter().find(|(says, _)| *says).map(|(_, word)| word);
        let patch = word.map(|word| (format!("it says `{word}`"), format!("take `{word}` out for a row of its own")));
        let verb = || ("it has no `do`".to_owned(), "add `do = \"…\"` for a pass of its own".to_owned());
        let patch = if lacks_verb { Some(verb()) } else { patch };
        if let Some((why, instead)) = patch {
            if self.complete {
                let message = format!("{} patches nothing: no lower layer has it, and {why}", new.title());
                let help = self
                    .near(&new.table, &new.name)
                    .unwrap_or_else(|| format!("{instead}, or write the name of the row that is to be patched"));
                let complaint =
                    Diagnostic::new(Code::PatchesNothing, message).at(new.name_span).label("no such row below").missing(&*new.name);
                self.complain(complaint.rule(self.rule(&new.table, &new.name)).help(help));
            }
            return;
        }
        self.conflicts(&new);
        self.check_edit(&new);
        self.suspect(&new);
        let row = Row { name: new.name.clone(), fields: new.fields, span: new.span, name_span: new.name_span, patched: Vec::new() };
        self.merged.tables.entry(new.table).or_default().insert(new.name, row);
    }

    fn remove(&mut self, row: &Incoming) {
        self.check_edit(row);
        let rows = self.merged.tables.get_mut(&row.table);
        let Some(old) = rows.and_then(|rows| rows.shift_remove(&row.name)) else {
            if self.complete {
                let help = self.near(&row.table, &row.name).unwrap_or_else(|| "nothing is to be removed; take this row away".to_owned());
                let complaint = Diagnostic::new(Code::RemoveUnknown, format!("{} is removed, but no lower layer has it", row.title()));
                self.complain(
                    complaint
                        .at(row.name_span)
                        .label("no such row below")
                        .missing(&*row.name)
                        .rule(self.rule(&row.table, &row.name))
                        .help(help),
                );
            }
            return;
        };
        if let Some(complaint) = row.expects.as_ref().and_then(|expects| stale(expects, row, &old)) {
            self.complain(complaint);
        }
        self.removal_conflict(row);
        self.merged.removed.push(Removed { table: row.table.clone(), name: row.name.clone(), by: row.name_span });
        self.merged.shadowed.push(Shadowed { by: row.span, old: old.span, edited: false });
    }

    /// Moves rows in the order written, except that a row moves after its anchor if the anchor moves too.
    fn moves(&mut self, table: &str, moves: &[(Arc<str>, Move)]) {
        let Some(rows) = self.merged.tables.get(table) else { return };
        let mut order = Order::of(rows.len());
        // by index of the row that moves; a row that could not be added has already been reported
        let mut pending: IndexMap<usize, &Move> = IndexMap::new();
        let mut lost = Vec::new();
        for (name, place) in moves {
            if let Some(row) = rows.get_index_of(name) {
                pending.insert(row, place);
            }
        }
        let mut done = vec![false; rows.len()];
        for first in pending.keys() {
            let mut chain = Vec::new();
            let mut next = Some(*first);
            while let Some((row, place)) = next.and_then(|row| Some((row, *pending.get(&row)?))) {
                if done.get(row).copied().unwrap_or(true) {
                    break;
                }
                done.iter_mut().skip(row).take(1).for_each(|d| *d = true);
                let anchor = rows.get_index(row).and_then(|(name, _)| anchor(rows, table, name, &place.anchor)).filter(|to| *to != row);
                chain.push((row, anchor, place));
                next = anchor;
            }
            for (row, anchor, place) in chain.into_iter().rev() {
                match anchor {
                    Some(to) => order.put(row, to, place.before),
                    None => lost.extend(rows.get_index(row).map(|(name, _)| (name.clone(), place))),
                }
            }
        }
        let rank = order.ranks();
        let now: HashMap<Arc<str>, usize> = rows.keys().cloned().zip(rank).collect();
        if let Some(rows) = self.merged.tables.get_mut(table) {
            rows.sort_by_cached_key(|name, _| now.get(name).copied());
        }
        for (name, place) in lost {
            if self.complete {
                self.lost(table, &name, &place.anchor, place.span);
            }
        }
    }

    fn lost(&mut self, table: &str, name: &str, anchor: &str, span: Span) {
        let itself = name == anchor || name.rsplit_once('/').is_some_and(|(_, last)| last == anchor);
        let of = |name: &str| name.rsplit_once('/').map(|(of, _)| of.to_owned());
        let (own, other) = (of(name), of(anchor));
        let foreign = order::is_ordered_apart(table) && !itself && other.is_some() && own != other;
        if foreign {
            self.lost_abroad(table, name, anchor, span);
            return;
        }
        let why = if itself { "which is itself" } else { "which no layer has" };
        let message = format!("{table} `{name}` is to stand next to `{anchor}`, {why}");
        let full = name.rsplit_once('/').map_or_else(|| anchor.to_owned(), |(program, _)| format!("{program}/{anchor}"));
        let help =
            self.near(table, &full).or_else(|| self.near(table, anchor)).unwrap_or_else(|| "name a row of the same table".to_owned());
        let complaint = Diagnostic::new(Code::MoveUnknown, message).at(span).label("no such row").missing(anchor);
        self.complain(complaint.rule(self.rule(table, name)).help(help));
    }

    /// Reports a pass or round that is to stand next to one of another program or pass, whose order is another one.
    fn lost_abroad(&mut self, table: &str, name: &str, anchor: &str, span: Span) {
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
                let some = names.iter().take(MAX_NAMED).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
                let more = if names.len() > MAX_NAMED { " …" } else { "" };
                if names.is_empty() { format!("name a {table} of `{own}`") } else { format!("name a {table} of `{own}`: {some}{more}") }
            }
        };
        let complaint = Diagnostic::new(Code::MoveUnknown, message).at(span).label(format!("of another {what}")).missing(anchor);
        self.complain(complaint.rule(self.rule(table, name)).help(help));
    }

    /// Top-level values: tables merge key by key, anything else is replaced.
    fn values(&mut self, doc: &Table, kind: &str) {
        let fields = doc.iter().filter(|(key, field)| !rows::is_meta(key, kind) && !rows::is_rows(&field.node));
        for (key, field) in fields {
            // an empty list is a table without rows if rows of that name exist
            let no_rows = field.node.as_list().is_some_and(<[Node]>::is_empty) && self.merged.tables.contains_key(key);
            if !no_rows {
                let mut hidden = Vec::new();
                let mut leaves = Vec::new();
                over(&mut self.merged.values, key, field, &mut hidden, &mut leaves, key);
                self.merged.shadowed.append(&mut hidden);
                for (path, leaf) in leaves {
                    self.decide([Arc::from(""), Arc::from(""), Arc::from(path)], leaf);
                }
            }
        }
    }

    /// `[arrange]`: reorders the named rows among the positions that they occupy.
    fn arrange(&mut self, arrange: &Table) {
        for (table, field) in arrange {
            if let Some(order) = field.node.as_list() {
                self.reorder(table, "", order);
            }
            for (program, order) in field.node.as_table().into_iter().flatten() {
                self.reorder(table, &format!("{program}/"), order.node.as_list().unwrap_or(&[]));
            }
        }
    }

    fn reorder(&mut self, table: &str, prefix: &str, order: &[Node]) {
        let mut listed: Vec<(usize, Arc<str>)> = Vec::new();
        for node in order {
            let Some(name) = node.as_text().map(|name| format!("{prefix}{name}")) else { continue };
            match self.merged.tables.get(table).and_then(|rows| rows.get_full(name.as_str())) {
                Some((_, name, _)) if listed.iter().any(|(_, n)| n == name) => {
                    let complaint = Diagnostic::new(Code::LayerTwice, format!("`{name}` is arranged twice")).at(node.span);
                    self.complain(complaint.label("again here").help("name each row once"));
                }
                Some((place, name, _)) => listed.push((place, name.clone())),
                None if self.complete => {
                    let help = self.near(table, &name).unwrap_or_else(|| format!("name rows of table `{table}`"));
                    let complaint = Diagnostic::new(Code::MoveUnknown, format!("{table} `{name}` is arranged, but no layer has it"));
                    self.complain(complaint.at(node.span).label("no such row").missing(name).help(help));
                }
                None => {}
            }
        }
        let Some(rows) = self.merged.tables.get_mut(table) else { return };
        let mut places: Vec<usize> = listed.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        let target: HashMap<Arc<str>, usize> = listed.into_iter().map(|(_, name)| name).zip(places).collect();
        let now: HashMap<Arc<str>, usize> = rows.keys().cloned().zip(0..).collect();
        rows.sort_by_cached_key(|name, _| target.get(name).or_else(|| now.get(name)).copied());
    }

    /// Warns if an earlier overlay has set the same keys differently.
    fn conflicts(&mut self, new: &Incoming) {
        if self.overlay.is_some() {
            for (key, field) in &new.fields {
                let inner = field.node.as_table().filter(|_| merges(&new.table, key));
                for (inner, field) in inner.into_iter().flatten() {
                    self.decide([new.table.clone(), new.name.clone(), format!("{key}.{inner}").into()], field.clone());
                }
                if inner.is_none() {
                    self.decide([new.table.clone(), new.name.clone(), key.clone()], field.clone());
                }
            }
            // an edit keeps what other overlays have set, but is lost if a later overlay sets the whole term
            for (term, field) in new.edit.iter().filter_map(|f| f.node.as_table()).flat_map(edits::terms) {
                let number = self.overlay.unwrap_or_default();
                self.decided.insert([new.table.clone(), new.name.clone(), term], (number, field.clone()));
            }
        }
    }

    fn removal_conflict(&mut self, row: &Incoming) {
        let Some(number) = self.overlay else { return };
        let same_row = |key: &&[Arc<str>; 3]| matches!(key, [table, name, _] if *table == row.table && *name == row.name);
        let earlier = self.decided.iter().filter(|(key, (by, _))| same_row(key) && *by != number).map(|(_, (_, field))| field.key).min();
        if let Some(earlier) = earlier {
            let message = format!("overlay `{}` removes {}, which an earlier overlay patches", self.layer, row.title());
            let complaint = Diagnostic::new(Code::LayerConflict, message).at(row.name_span).label("this wins");
            self.complain(complaint.related(earlier, "patched here").help("drop one of the two"));
        }
    }

    fn decide(&mut self, key: [Arc<str>; 3], field: Field) {
        let Some(number) = self.overlay else { return };
        let [table, name, last] = &key;
        let what = if table.is_empty() { format!("value `{last}`") } else { format!("`{last}` of {table} `{name}`") };
        let Some((before, old)) = self.decided.insert(key.clone(), (number, field.clone())) else { return };
        let meant =
            self.layers.get(number).zip(self.layers.get(before)).is_some_and(|(now, below)| now.extends.as_ref() == Some(&below.name));
        if before != number && !meant && old.node.to_json() != field.node.to_json() {
            let message = format!("two overlays decide {what}; `{}` wins, being later", self.layer);
            let complaint = Diagnostic::new(Code::LayerConflict, message).at(field.node.span).label("this wins");
            self.complain(
                complaint.related(old.node.span, "this does not count").help("drop one of the two, or load them in the other order"),
            );
        }
    }

    fn rule(&self, table: &str, name: &str) -> String {
        format!("{table} {name}, from layer `{}`", self.layer)
    }

    /// The nearest name among the rows of a table for "did you mean", until too many names have been compared.
    fn near(&mut self, table: &str, name: &str) -> Option<String> {
        let rows = self.merged.tables.get(table)?;
        self.compared += rows.len();
        if self.compared > MAX_COMPARED {
            return None;
        }
        suggest::help(name, rows.keys().map(AsRef::as_ref))
    }

    fn complain(&mut self, complaint: Diagnostic) {
        // the schema check may have reported the missing name already
        let told = |d: &Diagnostic| d.code == Code::SchemaMissingKey && d.span == complaint.span;
        if complaint.code == Code::LayerNoName && self.report.items().iter().any(told) {
            return;
        }
        self.complaints += 1;
        if self.complaints <= MAX_COMPLAINTS {
            self.report.push(complaint);
        }
    }
}

/// Whether a name occurs in a text of a value, or as a key.
fn mentions(node: &Node, name: &str) -> bool {
    match &node.data {
        Data::Text(text) => text.contains(name),
        Data::List(list) => list.iter().any(|node| mentions(node, name)),
        Data::Table(table) => table.iter().any(|(key, field)| key.contains(name) || mentions(&field.node, name)),
        _ => false,
    }
}

/// Whether a key of a table's rows holds terms of its own, as the keys of a form do, so that a patch merges into it.
fn merges(table: &str, key: &str) -> bool {
    (table, key) == ("form", "keys")
}

/// Merges the keys of a form over those of the lower layer: a key that is set to nothing is removed, the others keep
/// their positions.
fn patch_keys(below: &mut Table, patch: &Table, shadowed: &mut Vec<Shadowed>) {
    for (key, field) in patch {
        let none = field.node.as_table().and_then(|table| table.get("none")).is_some_and(|f| f.node.as_bool() == Some(true));
        let hidden = if none { below.shift_remove(key) } else { below.insert(key.clone(), field.clone()) };
        if let Some(hidden) = hidden {
            shadowed.push(Shadowed { by: field.node.span, old: hidden.node.span, edited: false });
        }
    }
}

/// Merges `field` over the value `key` of `low`. Recursion is bounded by the readers of TOML and JSON.
fn over(low: &mut Table, key: &Arc<str>, field: &Field, hidden: &mut Vec<Shadowed>, leaves: &mut Vec<(String, Field)>, path: &str) {
    if let (Some(Field { node: Node { data: Data::Table(below), .. }, .. }), Data::Table(top)) = (low.get_mut(key), &field.node.data) {
        for (inner, value) in top {
            over(below, inner, value, hidden, leaves, &format!("{path}.{inner}"));
        }
        return;
    }
    leaves.push((path.to_owned(), field.clone()));
    if let Some(old) = low.insert(key.clone(), field.clone()) {
        hidden.push(Shadowed { by: field.node.span, old: old.node.span, edited: false });
    }
}

/// A patch that was written against another text of the row.
fn stale(expects: &Expects, new: &Incoming, old: &Row) -> Option<Diagnostic> {
    let now = fingerprint::of_row(&old.name, &old.fields);
    if now.starts_with(&expects.prefix) {
        return None;
    }
    let short = |text: String| -> String {
        let cut: String = text.chars().take(MAX_SHOWN).collect();
        if cut.len() < text.len() { format!("{cut}…") } else { cut }
    };
    let message = format!("{} was patched as it read at `{}`, but now it reads otherwise", new.title(), expects.prefix);
    let complaint = Diagnostic::new(Code::LayerStale, message).at(expects.span).label("the row as the patch knew it");
    let below = short(fingerprint::row_text(&old.name, &old.fields));
    let patch = short(fingerprint::row_text(&new.name, &new.fields));
    let complaint = complaint.related(old.span, format!("the row now: {below}")).related(new.span, format!("the patch: {patch}"));
    let fresh: String = now.chars().take(12).collect();
    Some(complaint.help(format!("check the patch against the row, then write `expects = \"{fresh}\"`")))
}

fn changed_verb(new: &Incoming, old: &Row) -> Option<Diagnostic> {
    let (field, was) = (new.fields.get("do")?, old.fields.get("do")?);
    if &*new.table != "pass" || new.replace || field.node.to_json() == was.node.to_json() {
        return None;
    }
    let name = |node: &Node| node.as_text().unwrap_or("?").to_owned();
    let message = format!("{} changes its verb from `{}` to `{}`", new.title(), name(&was.node), name(&field.node));
    let complaint =
        Diagnostic::new(Code::ChangesVerb, message).at(field.node.span).label("another verb").related(was.node.span, "the verb below");
    Some(complaint.help("say `replace = true` and write the whole pass"))
}
