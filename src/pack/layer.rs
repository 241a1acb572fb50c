//! Merges layers: rows merge by name, values key by key, and everything keeps its source place.
//!
//! Within one layer, a row can be moved next to any other row, whatever the order of files is: all rows are first added
//! and patched, then moved, then removed, then arranged. A *term is one value*: a patch replaces the whole value of a
//! key and never merges into it, because a mixture of an old and a new condition would be unreadable. Each key of a
//! form is a term of its own, so forms merge key by key.

mod checks;

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::extends::LayerDocs;
use super::read::RuleDocument;
use super::rows;
use super::rows::{IncomingRow, RowMove};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Help, NodeValue, Report, Span, TableField, limits};
use crate::model::pack::{OverlayDecision, PackRow, PackRows, ShadowedValue};
use crate::program::condition_terms;
use crate::template;
use checks::{changed_verb, stale};

/// The merged layers.
#[derive(Debug, Default)]
pub(super) struct MergedLayers {
    pub(super) tables: IndexMap<Arc<str>, PackRows>,
    pub(super) values: FieldMap,
    pub(super) shadowed: Vec<ShadowedValue>,
    /// The rows that higher layers have removed, so that a name that is still used can be traced to its removal.
    pub(super) removed: Vec<RemovedRow>,
}

/// A row that a higher layer has removed.
#[derive(Debug, Clone)]
pub struct RemovedRow {
    /// Its table.
    pub table: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Where the removal is written.
    pub by: Span,
}

/// Merges layers, lowest first. The documents of packs are used up. `complete` says that every file could be read; only then
/// is a name that no layer defines a mistake.
pub(super) fn merge(layers: &mut [LayerDocs], complete: bool, report: &mut Report) -> MergedLayers {
    // what overlays decide is read from theirs
    let take = |layer: &mut LayerDocs| if layer.overlay { layer.docs.clone() } else { std::mem::take(&mut layer.docs) };
    let docs: Vec<Vec<RuleDocument>> = layers.iter_mut().map(take).collect();
    let mut merger = LayerMerger {
        merged: MergedLayers::default(),
        report,
        complete,
        decided: FxHashMap::default(),
        layer: "",
        overlay: None,
        layers,
        nearly: Vec::new(),
        complaints: 0,
        compared: 0,
        compared_new: 0,
        below: FxHashMap::default(),
    };
    for (number, (layer, docs)) in layers.iter().zip(docs).enumerate() {
        merger.layer = &layer.name;
        merger.overlay = layer.overlay.then_some(number);
        merger.layer(docs);
    }
    merger.tell_nearly();
    merger.merged
}

struct LayerMerger<'a> {
    merged: MergedLayers,
    report: &'a mut Report,
    complete: bool,
    /// What overlays have set: from table and row, then from key (or the path of a value), to the overlay and the place.
    decided: FxHashMap<[Arc<str>; 2], DecidedKeys>,
    layer: &'a str,
    /// The number of the current layer, if it is an overlay.
    overlay: Option<usize>,
    layers: &'a [LayerDocs],
    /// New rows of overlays with nearly the name of a row of a lower layer.
    nearly: Vec<checks::SuspectRow>,
    complaints: usize,
    /// Names compared so far for "did you mean".
    compared: usize,
    /// Names of rows compared so far with names of new rows.
    compared_new: usize,
    /// How many rows each table had below the current layer. What the layer itself adds stands behind them until its
    /// rows are moved.
    below: FxHashMap<Arc<str>, usize>,
}

impl<'a> LayerMerger<'a> {
    fn layer(&mut self, mut docs: Vec<RuleDocument>) {
        let mut incoming = Vec::new();
        for doc in &mut docs {
            if let NodeValue::Table(table) = &mut doc.root.data {
                rows::collect(table, &doc.kind, doc.root.span, &mut incoming, &mut |complaint| self.complain(complaint));
            }
        }
        if let Some(row) = incoming.get(limits::ENTRIES) {
            let complaint =
                Diagnostic::new(Code::BoundExceeded, format!("layer `{}` has more than {} rows", self.layer, limits::ENTRIES)).at(row.span);
            self.complain(complaint.help("split the pack"));
            incoming.truncate(limits::ENTRIES);
        }
        self.drop_twice(&mut incoming);
        self.drop_programs(&incoming);
        let (removals, kept): (Vec<IncomingRow>, Vec<IncomingRow>) = incoming.into_iter().partition(|row| row.remove);
        let mut moves: IndexMap<Arc<str>, Vec<(Arc<str>, RowMove)>> = IndexMap::new();
        for row in &kept {
            if let Some(place) = &row.place {
                moves.entry(row.table.clone()).or_default().push((row.name.clone(), place.clone()));
            }
        }
        self.below = self.merged.tables.iter().map(|(table, rows)| (table.clone(), rows.len())).collect();
        kept.into_iter().for_each(|row| self.put(row));
        moves.iter().for_each(|(table, moves)| self.moves(table, moves));
        removals.iter().for_each(|row| self.remove(row));
        for doc in &docs {
            let Some(table) = doc.table() else { continue };
            self.values(table, &doc.kind);
            let arrange = table.get("arrange").filter(|_| &*doc.kind != template::KIND);
            if let Some(arrange) = arrange.and_then(|f| f.node.as_table()) {
                self.arrange(arrange);
            }
        }
    }

    /// If a layer has a row twice, only the first one counts.
    fn drop_twice(&mut self, incoming: &mut Vec<IncomingRow>) {
        let mut first: FxHashMap<(Arc<str>, Arc<str>), Span> = FxHashMap::default();
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
    fn drop_programs(&mut self, incoming: &[IncomingRow]) {
        for program in incoming.iter().filter(|row| &*row.table == "program" && row.replace) {
            let prefix = format!("{}/", program.name);
            for table in ["pass", "round"] {
                let Some(rows) = self.merged.tables.get_mut(table) else { continue };
                let shadowed = &mut self.merged.shadowed;
                rows.retain(|name, row| {
                    let stays = !name.starts_with(&prefix);
                    if !stays {
                        shadowed.push(ShadowedValue { by: program.span, old: row.span, edited: false });
                    }
                    stays
                });
            }
        }
    }

    /// Adds, patches or replaces a row.
    fn put(&mut self, new: IncomingRow) {
        let old = self.merged.tables.get(&new.table).and_then(|rows| rows.get(&new.name));
        let Some(old) = old else {
            self.add(new);
            return;
        };
        let stale = new.expects.as_ref().and_then(|expects| stale(expects, &new, old));
        let verb = changed_verb(&new, old);
        let taken = self.taken(&new, old);
        let unchanged = self.unchanged(&new, old).filter(|_| stale.is_none() && verb.is_none() && taken.is_none());
        let dropped: Vec<Diagnostic> = self.dropped(&new, old).into_iter().chain(self.stray_changes(&new, Some(old))).collect();
        let old_span = old.span;
        // a pass keeps its verb, so that its terms are not reported too
        let keeps_verb = verb.is_some();
        stale.into_iter().chain(verb).chain(taken).chain(unchanged).chain(dropped).for_each(|complaint| self.complain(complaint));
        self.conflicts(&new);
        self.check_edit(&new);
        let Some(row) = self.merged.tables.get_mut(&new.table).and_then(|rows| rows.get_mut(&new.name)) else { return };
        if new.replace {
            self.merged.shadowed.push(ShadowedValue { by: new.span, old: old_span, edited: false });
            *row = PackRow { name: new.name, fields: new.fields, span: new.span, name_span: new.name_span, patched: Vec::new() };
            return;
        }
        row.patched.push(new.span);
        for (key, mut field) in new.fields.into_iter().filter(|(key, _)| !(keeps_verb && &**key == "do")) {
            let by = field.node.span;
            if let Some(patch) = field.node.as_table().filter(|_| merges(&new.table, &key))
                && let Some(TableField { node: DocumentNode { data: NodeValue::Table(below), .. }, .. }) = row.fields.get_mut(&key)
            {
                patch_keys(below, patch, &mut self.merged.shadowed);
                continue;
            }
            if let Some((joint, _)) = condition_change(&new.table, &key, &field.node)
                && let Some(below) = row.fields.get_mut(&key)
            {
                below.node = join_conditions(joint, &below.node, &field.node);
                continue;
            }
            unwrap_change(&new.table, &key, &mut field.node);
            if let Some(hidden) = row.fields.insert(key, field) {
                self.merged.shadowed.push(ShadowedValue { by, old: hidden.node.span, edited: false });
            }
        }
        if let Some(edit) = new.edit.as_ref().and_then(|f| f.node.as_table()) {
            let mut complaints = Vec::new();
            rows::apply_edits(&mut row.fields, edit, &mut self.merged.shadowed, &mut |complaint| complaints.push(complaint));
            let rule = self.rule(&new.table, &new.name);
            complaints.into_iter().for_each(|complaint| self.complain(complaint.rule(rule.clone())));
        }
    }

    /// Reports edits of terms that the row also sets, and edits in a row that replaces the whole lower one.
    fn check_edit(&mut self, new: &IncomingRow) {
        let also = [("remove", new.remove), ("replace", new.replace), ("edit", new.edit.is_some()), ("expects", new.expects.is_some())];
        if let Some((word, _)) = also.into_iter().find(|(_, also)| *also && new.is_new) {
            let message = format!("{} is said to be new, and yet it says `{word}` about a row of a lower layer", new.title());
            self.complain(
                Diagnostic::new(Code::SchemaValue, message).at(new.name_span).help(format!("keep one of them: `new` or `{word}`")),
            );
        }
        let edited = new.edit.as_ref().and_then(|f| f.node.as_table()).map(|edit| rows::edited_terms(edit).collect::<Vec<_>>());
        for (term, field) in edited.unwrap_or_default() {
            let complaint = if new.remove {
                let message = format!("{} is removed, and yet its `{term}` is edited", new.title());
                Diagnostic::new(Code::SchemaValue, message).help("keep one of them: `remove` or `edit`")
            } else if new.replace {
                let message = format!("{} is taken whole, and yet `{term}` of the row below is edited", new.title());
                Diagnostic::new(Code::SchemaValue, message).help("write the whole term, or take `replace` out")
            } else if let Some(whole) = new.fields.get(&term).filter(|whole| condition_change(&new.table, &term, &whole.node).is_none()) {
                let message = format!("`{term}` of {} is both written whole and edited", new.title());
                Diagnostic::new(Code::SchemaValue, message).related(whole.key, "written whole here").help("keep one of them")
            } else {
                continue;
            };
            self.complain(complaint.at(field.key));
        }
    }

    /// `and` and `or` of conditions that no lower layer has.
    fn stray_changes(&self, new: &IncomingRow, old: Option<&PackRow>) -> Vec<Diagnostic> {
        let lacks = |term: &Arc<str>| old.is_none_or(|old| new.replace || !old.fields.contains_key(term));
        let stray = new.fields.iter().filter(|(term, _)| lacks(term));
        let stray = stray.filter_map(|(term, field)| Some((term, field, condition_change(&new.table, term, &field.node)?.1)));
        stray
            .map(|(term, field, word)| {
                let message = format!("`{term}.{word}` of {} changes nothing: no lower layer has a condition there", new.title());
                let complaint = Diagnostic::new(Code::PatchesNothing, message).at(field.key).rule(self.rule(&new.table, &new.name));
                complaint.help(format!("write the condition itself: `{term} = …`"))
            })
            .collect()
    }

    fn add(&mut self, new: IncomingRow) {
        self.stray_changes(&new, None).into_iter().for_each(|complaint| self.complain(complaint));
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
                    .unwrap_or_else(|| format!("{instead}, or write the name of the row that is to be patched").into());
                let complaint =
                    Diagnostic::new(Code::PatchesNothing, message).at(new.name_span).label("no such row below").missing(&*new.name);
                self.complain(complaint.rule(self.rule(&new.table, &new.name)).help(help));
            }
            return;
        }
        self.conflicts(&new);
        self.check_edit(&new);
        self.suspect(&new);
        let mut fields = new.fields;
        fields.iter_mut().for_each(|(key, field)| unwrap_change(&new.table, key, &mut field.node));
        let row = PackRow { name: new.name.clone(), fields, span: new.span, name_span: new.name_span, patched: Vec::new() };
        self.merged.tables.entry(new.table).or_default().insert(new.name, row);
    }

    fn remove(&mut self, row: &IncomingRow) {
        self.check_edit(row);
        let rows = self.merged.tables.get_mut(&row.table);
        let Some(old) = rows.and_then(|rows| rows.shift_remove(&row.name)) else {
            if self.complete {
                let help = self.near(&row.table, &row.name).unwrap_or_else(|| "nothing is to be removed; take this row away".into());
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
        self.merged.removed.push(RemovedRow { table: row.table.clone(), name: row.name.clone(), by: row.name_span });
        self.merged.shadowed.push(ShadowedValue { by: row.span, old: old.span, edited: false });
    }

    /// Top-level values: tables merge key by key, anything else is replaced.
    fn values(&mut self, doc: &FieldMap, kind: &str) {
        let fields = doc.iter().filter(|(key, field)| !rows::is_meta(key, kind) && !rows::is_rows(&field.node));
        for (key, field) in fields {
            // an empty list is a table without rows if rows of that name exist
            if kind == "pack" && &**key == OPTIONS {
                self.options(key, field);
                continue;
            }
            let no_rows = field.node.as_list().is_some_and(<[DocumentNode]>::is_empty) && self.merged.tables.contains_key(key);
            if !no_rows {
                let mut hidden = Vec::new();
                let mut leaves = Vec::new();
                over(&mut self.merged.values, key, field, &mut hidden, &mut leaves, key);
                self.merged.shadowed.append(&mut hidden);
                for (path, leaf) in leaves {
                    self.decide([Arc::default(), Arc::default(), Arc::from(path)], leaf);
                }
            }
        }
    }

    /// `[arrange]`: reorders the named rows among the positions that they occupy.
    fn arrange(&mut self, arrange: &FieldMap) {
        for (table, field) in arrange {
            if let Some(order) = field.node.as_list() {
                if order.is_empty() {
                    self.orders_nothing(field, &format!("table `{table}`"));
                }
                self.reorder(table, "", order);
            }
            for (program, order) in field.node.as_table().into_iter().flatten() {
                if order.node.as_list().is_some_and(<[DocumentNode]>::is_empty) {
                    self.orders_nothing(order, &format!("program `{program}`"));
                }
                self.reorder(table, &format!("{program}/"), order.node.as_list().unwrap_or(&[]));
            }
        }
    }

    /// Warns of an order that names no row.
    fn orders_nothing(&mut self, field: &TableField, what: &str) {
        let message = format!("the order of {what} names no row, and changes nothing");
        let complaint = Diagnostic::new(Code::LayerUnchanged, message).at(field.key);
        self.complain(complaint.help("name rows in the order that is meant, or take the key away"));
    }

    fn reorder(&mut self, table: &str, prefix: &str, order: &[DocumentNode]) {
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
                    let help = self.near(table, &name).unwrap_or_else(|| format!("name rows of table `{table}`").into());
                    let complaint = Diagnostic::new(Code::MoveUnknown, format!("{table} `{name}` is arranged, but no layer has it"));
                    self.complain(complaint.at(node.span).label("no such row").missing(name).help(help));
                }
                None => {}
            }
        }
        let Some(rows) = self.merged.tables.get_mut(table) else { return };
        let mut places: Vec<usize> = listed.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        let target: FxHashMap<Arc<str>, usize> = listed.into_iter().map(|(_, name)| name).zip(places).collect();
        let now: FxHashMap<Arc<str>, usize> = rows.keys().cloned().zip(0..).collect();
        rows.sort_by_cached_key(|name, _| target.get(name).or_else(|| now.get(name)).copied());
    }

    /// Warns if an earlier overlay has set the same keys differently.
    fn conflicts(&mut self, new: &IncomingRow) {
        if self.overlay.is_some() {
            for (key, field) in &new.fields {
                let inner = field.node.as_table().filter(|_| merges(&new.table, key));
                for (inner, field) in inner.into_iter().flatten() {
                    self.decide([new.table.clone(), new.name.clone(), format!("{key}.{inner}").into()], field.clone());
                }
                // what is joined to a condition keeps what other overlays have set, as an edit does
                if condition_change(&new.table, key, &field.node).is_some() {
                    let number = self.overlay.unwrap_or_default();
                    self.decided.entry([new.table.clone(), new.name.clone()]).or_default().insert(key.clone(), (number, field.clone()));
                } else if inner.is_none() {
                    self.decide([new.table.clone(), new.name.clone(), key.clone()], field.clone());
                }
            }
            // an edit keeps what other overlays have set, but is lost if a later overlay sets the whole term
            for (term, field) in new.edit.iter().filter_map(|f| f.node.as_table()).flat_map(rows::edited_terms) {
                let number = self.overlay.unwrap_or_default();
                self.decided.entry([new.table.clone(), new.name.clone()]).or_default().insert(term, (number, field.clone()));
            }
        }
    }

    fn removal_conflict(&mut self, row: &IncomingRow) {
        let Some(number) = self.overlay else { return };
        let decided = self.decided.get(&[row.table.clone(), row.name.clone()]).into_iter().flat_map(FxHashMap::values);
        let earlier = decided.filter(|(by, _)| *by != number).map(|(_, field)| field.key).min();
        if let Some(earlier) = earlier {
            let message = format!("overlay `{}` removes {}, which an earlier overlay patches", self.layer, row.title());
            let complaint = Diagnostic::new(Code::LayerConflict, message).at(row.name_span).label("this wins");
            self.complain(complaint.related(earlier, "patched here").help("drop one of the two"));
        }
    }

    fn decide(&mut self, key: [Arc<str>; 3], field: TableField) {
        let Some(number) = self.overlay else { return };
        let [table, name, last] = key;
        let what = if table.is_empty() { format!("value `{last}`") } else { format!("`{last}` of {table} `{name}`") };
        let Some((before, old)) = self.decided.entry([table, name]).or_default().insert(last, (number, field.clone())) else { return };
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
    fn near(&mut self, table: &str, name: &str) -> Option<Help> {
        let rows = self.merged.tables.get(table)?;
        self.compared += rows.len();
        if self.compared > limits::COMPARISONS {
            return None;
        }
        self.report.words.help(name, rows.keys().map(AsRef::as_ref))
    }

    fn complain(&mut self, complaint: Diagnostic) {
        // the schema check may have reported the missing name already
        let told = |d: &Diagnostic| d.code == Code::SchemaMissingKey && d.span == complaint.span;
        if complaint.code == Code::LayerNoName && self.report.items().iter().any(told) {
            return;
        }
        self.complaints += 1;
        if self.complaints <= limits::REPORTED {
            self.report.push(complaint);
        }
    }
}

/// What overlays have set in one row: from a key to the number of the overlay and the field.
type DecidedKeys = FxHashMap<Arc<str>, (usize, TableField)>;

/// Whether a key of a table's rows holds terms of its own, as the keys of a form do, so that a patch merges into it.
pub(super) fn merges(table: &str, key: &str) -> bool {
    (table, key) == ("form", "keys")
}

/// Whether a term of the rows of a table is a condition.
fn is_condition(table: &str, term: &str) -> bool {
    (table, term) == ("fact", "is") || condition_terms().any(|known| known == term)
}

/// How a patch changes the condition of the lower layer (`where.and = …`): the key of a condition that joins both, and the word.
fn condition_change(table: &str, term: &str, node: &DocumentNode) -> Option<(&'static str, &'static str)> {
    let (key, _) = node.as_table().filter(|table| table.len() == 1)?.first()?;
    [("all", "and"), ("any", "or")].into_iter().find(|(_, word)| *word == &**key && is_condition(table, term))
}

/// The condition itself, where a change of one changes nothing.
fn unwrap_change(table: &str, term: &str, node: &mut DocumentNode) {
    if condition_change(table, term, node).is_some()
        && let NodeValue::Table(change) = &mut node.data
        && let Some((_, inner)) = change.shift_remove_index(0)
    {
        *node = inner.node;
    }
}

/// The condition of the lower layer, and that of the patch under `and` or `or`.
fn join_conditions(joint: &'static str, below: &DocumentNode, change: &DocumentNode) -> DocumentNode {
    let added = change.as_table().and_then(|table| table.values().next()).map(|field| field.node.clone());
    let list = DocumentNode { span: change.span, data: NodeValue::List([Some(below.clone()), added].into_iter().flatten().collect()) };
    let table = FieldMap::from_iter([(Arc::from(joint), TableField { key: change.span, node: list })]);
    DocumentNode { span: change.span, data: NodeValue::Table(table) }
}

/// Merges the keys of a form over those of the lower layer: a key that is set to nothing is removed, the others keep
/// their positions.
fn patch_keys(below: &mut FieldMap, patch: &FieldMap, shadowed: &mut Vec<ShadowedValue>) {
    for (key, field) in patch {
        let none = field.node.as_table().and_then(|table| table.get("none")).is_some_and(|f| f.node.as_bool() == Some(true));
        let hidden = if none { below.shift_remove(key) } else { below.insert(key.clone(), field.clone()) };
        if let Some(hidden) = hidden {
            shadowed.push(ShadowedValue { by: field.node.span, old: hidden.node.span, edited: false });
        }
    }
}

/// Merges `field` over the value `key` of `low`. Recursion is bounded by the readers of TOML and JSON.
pub(super) fn over(
    low: &mut FieldMap,
    key: &Arc<str>,
    field: &TableField,
    hidden: &mut Vec<ShadowedValue>,
    leaves: &mut Vec<(String, TableField)>,
    path: &str,
) {
    if let (Some(TableField { node: DocumentNode { data: NodeValue::Table(below), .. }, .. }), NodeValue::Table(top)) =
        (low.get_mut(key), &field.node.data)
    {
        for (inner, value) in top {
            over(below, inner, value, hidden, leaves, &format!("{path}.{inner}"));
        }
        return;
    }
    leaves.push((path.to_owned(), field.clone()));
    if let Some(old) = low.insert(key.clone(), field.clone()) {
        hidden.push(ShadowedValue { by: field.node.span, old: old.node.span, edited: false });
    }
}

impl LayerMerger<'_> {
    /// Moves rows in the order written, except that a row moves after its anchor if the anchor moves too.
    pub(super) fn moves(&mut self, table: &str, moves: &[(Arc<str>, RowMove)]) {
        let Some(rows) = self.merged.tables.get(table) else { return };
        let mut order = RowOrder::of(rows.len());
        // by index of the row that moves; a row that could not be added has already been reported
        let mut pending: IndexMap<usize, &RowMove> = IndexMap::new();
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
        let now: FxHashMap<Arc<str>, usize> = rows.keys().cloned().zip(rank).collect();
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
        let foreign = is_ordered_apart(table) && !itself && other.is_some() && own != other;
        if foreign {
            self.lost_abroad(table, name, anchor, span);
            return;
        }
        let why = if itself { "which is itself" } else { "which no layer has" };
        let message = format!("{table} `{name}` is to stand next to `{anchor}`, {why}");
        let full = name.rsplit_once('/').map_or_else(|| anchor.to_owned(), |(program, _)| format!("{program}/{anchor}"));
        let help = self.near(table, &full).or_else(|| self.near(table, anchor)).unwrap_or_else(|| "name a row of the same table".into());
        let complaint = Diagnostic::new(Code::MoveUnknown, message).at(span).label("no such row").missing(anchor);
        self.complain(complaint.rule(self.rule(table, name)).help(help));
    }
}

/// The table of a manifest that declares options.
pub(super) const OPTIONS: &str = "options";

impl LayerMerger<'_> {
    pub(super) fn options(&mut self, key: &Arc<str>, field: &TableField) {
        // anything but a table is reported by the schema
        let Some(table) = field.node.as_table() else { return };
        let removed = |field: &TableField| field.node.get("remove").and_then(DocumentNode::as_bool) == Some(true);
        let kept: FieldMap = table.iter().filter(|(_, field)| !removed(field)).map(|(name, field)| (name.clone(), field.clone())).collect();
        let kept = TableField { key: field.key, node: DocumentNode { span: field.node.span, data: NodeValue::Table(kept) } };
        let (mut hidden, mut leaves) = (Vec::new(), Vec::new());
        over(&mut self.merged.values, key, &kept, &mut hidden, &mut leaves, key);
        self.merged.shadowed.append(&mut hidden);
        for (name, field) in table.iter().filter(|(_, field)| removed(field)) {
            self.remove_option(name, field);
        }
    }

    fn remove_option(&mut self, name: &Arc<str>, field: &TableField) {
        if let Some((word, other)) = field.node.as_table().and_then(|table| table.iter().find(|(key, _)| &***key != "remove")) {
            let message = format!("option `{name}` is removed, and yet `{word}` of it is set");
            self.complain(
                Diagnostic::new(Code::SchemaValue, message).at(other.key).help(format!("keep one of them: `remove` or `{word}`")),
            );
        }
        let below = self.merged.values.get_mut(OPTIONS).map(|field| &mut field.node.data);
        let Some(NodeValue::Table(below)) = below else { return };
        if let Some(old) = below.shift_remove(name) {
            self.merged.shadowed.push(ShadowedValue { by: field.node.span, old: old.node.span, edited: false });
            self.merged.removed.push(RemovedRow { table: OPTIONS.into(), name: name.clone(), by: field.key });
        } else if self.complete {
            let near = self.report.words.help(name, below.keys().map(AsRef::as_ref));
            let complaint = Diagnostic::new(Code::RemoveUnknown, format!("option `{name}` is removed, but no lower pack declares it"));
            let help = near.unwrap_or_else(|| "nothing is to be removed; take this table away".into());
            self.complain(complaint.at(field.key).label("no such option below").help(help));
        }
    }
}

/// The order of rows while they are moved: `0..len` as a ring with an end mark, which has the number `len`, so that a move
/// costs the same in any table.
struct RowOrder {
    next: Vec<usize>,
    before: Vec<usize>,
}

impl RowOrder {
    /// The current order of the rows.
    pub(super) fn of(len: usize) -> Self {
        let next = (1..=len).chain([0]).collect();
        let before = std::iter::once(len).chain(0..len).collect();
        RowOrder { next, before }
    }

    /// Moves `row` directly before or after another row.
    pub(super) fn put(&mut self, row: usize, other: usize, is_before: bool) {
        let (left, right) = (link(&self.before, row), link(&self.next, row));
        self.join(left, right);
        let left = if is_before { link(&self.before, other) } else { other };
        let right = link(&self.next, left);
        self.join(left, row);
        self.join(row, right);
    }

    /// The new position of each row.
    pub(super) fn ranks(&self) -> Vec<usize> {
        let end = self.next.len().saturating_sub(1);
        let mut ranks = vec![0; end];
        let mut row = link(&self.next, end);
        for rank in 0..end {
            set_link(&mut ranks, row, rank);
            row = link(&self.next, row);
        }
        ranks
    }

    fn join(&mut self, left: usize, right: usize) {
        set_link(&mut self.next, left, right);
        set_link(&mut self.before, right, left);
    }
}

fn link(list: &[usize], place: usize) -> usize {
    list.get(place).copied().unwrap_or(0)
}

fn set_link(list: &mut [usize], place: usize, value: usize) {
    if let Some(slot) = list.get_mut(place) {
        *slot = value;
    }
}

/// The index of the row that a move names. Within its own program a pass is named without the program.
pub(super) fn anchor(rows: &PackRows, table: &str, name: &str, anchor: &str) -> Option<usize> {
    let own = name.rsplit_once('/').map(|(program, _)| program);
    let inside = own.map(|program| format!("{program}/{anchor}"));
    let other = anchor.rsplit_once('/').map(|(program, _)| program);
    let near = !is_ordered_apart(table) || own == other;
    inside.and_then(|n| rows.get_index_of(n.as_str())).or_else(|| rows.get_index_of(anchor).filter(|_| near))
}

/// Whether only rows of the same program, or of the same pass, have an order among each other.
fn is_ordered_apart(table: &str) -> bool {
    matches!(table, "pass" | "round")
}

/// The key of a decision about the place of a row.
const PLACE: &str = "place";
/// The key of a decision that a row exists.
const ROW: &str = "row";

/// What the overlays among the layers decide about the rows that are left, lowest first: rules read it as
/// `$table.overlaid`, to tell where data has the last word.
pub(super) fn overlay_decisions(layers: &[LayerDocs], tables: &IndexMap<Arc<str>, PackRows>, report: &mut Report) -> Vec<OverlayDecision> {
    let mut out = Vec::new();
    for layer in layers.iter().filter(|layer| layer.overlay) {
        let by: Arc<str> = layer.name.as_str().into();
        for doc in &layer.docs {
            let Some(table) = doc.table() else { continue };
            out.extend(arranged(table, tables).map(|(table, row)| OverlayDecision { table, row, key: PLACE.into(), by: by.clone() }));
            let mut incoming = Vec::new();
            // mistakes have been reported when the layers were merged
            rows::collect(&mut table.clone(), &doc.kind, doc.root.span, &mut incoming, &mut |_| {});
            for row in incoming {
                if out.len() > limits::RECORDED {
                    let message = format!(
                        "rules see the first {} decisions of overlays in `$table.overlaid`, and not those from here on",
                        limits::RECORDED
                    );
                    let complaint = Diagnostic::warning(Code::BoundExceeded, message).at(row.name_span);
                    report.push(complaint.help("make a pack of the overlay: a pack has no such limit"));
                    out.truncate(limits::RECORDED);
                    return out;
                }
                let Some(merged) = tables.get(&row.table).and_then(|rows| rows.get(&row.name)) else { continue };
                let is_new = merged.span == row.span;
                let keys = row.fields.keys().cloned().chain(row.place.map(|_| PLACE.into())).chain(is_new.then(|| ROW.into()));
                out.extend(keys.map(|key| OverlayDecision { table: row.table.clone(), row: row.name.clone(), key, by: by.clone() }));
            }
        }
    }
    out
}

/// The rows that `[arrange]` of a file puts into another order.
fn arranged<'a>(doc: &'a FieldMap, tables: &'a IndexMap<Arc<str>, PackRows>) -> impl Iterator<Item = (Arc<str>, Arc<str>)> + 'a {
    let arrange = doc.get("arrange").and_then(|field| field.node.as_table()).into_iter().flatten();
    arrange.flat_map(move |(table, field)| {
        let listed = field.node.as_list().into_iter().flatten().filter_map(DocumentNode::as_text).map(str::to_owned);
        let within = field.node.as_table().into_iter().flatten().flat_map(|(program, order)| {
            let names = order.node.as_list().into_iter().flatten().filter_map(DocumentNode::as_text);
            names.map(move |name| format!("{program}/{name}"))
        });
        let known = move |name: String| tables.get(table)?.get_key_value(name.as_str()).map(|(name, _)| name.clone());
        listed.chain(within).filter_map(known).map(|name| (table.clone(), name)).collect::<Vec<_>>()
    })
}
