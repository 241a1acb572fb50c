//! Rows of the tables `slot` and `alias`: cells that name what is nowhere, and a depth that nothing reads.
//!
//! What the cells mean is said by the schemas of these tables: a slot is used for generation types, and has a depth only if
//! its position is one in the chat. A cell that is computed, and a position that a pass may still change, are not judged.

use rustc_hash::FxHashSet;

use crate::diag::{Code, Diagnostic, Node, Span, suggest};
use crate::model::pack::Row;
use crate::syntax::CompileContext;
use crate::terms::names::is_reference;

use super::functions::origin;

/// The table of slots, and the row type of the items that its rows become.
const SLOT: &str = "slot";
/// The values that a slot has where its row says nothing.
const DEFAULTS: &str = "slot_default";
/// The table of other spellings.
const ALIAS: &str = "alias";
/// The path of the scene that holds the generation type.
const TYPE: &str = "type";
/// The position of a slot that stands in the prompt order.
const RELATIVE: &str = "relative";

/// Checks the rows of both tables, and the defaults of slots.
pub(super) fn check(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    let is_moved = is_moved(cx);
    for row in pack.tables.get(SLOT).into_iter().flat_map(|rows| rows.values()) {
        cx.rule = origin(cx, SLOT, row);
        if let Some(types) = row.fields.get("types") {
            check_types(cx, &types.node);
        }
        if !is_moved {
            check_depth(cx, row);
        }
    }
    check_defaults(cx);
    check_aliases(cx);
}

/// The values of `[slot_default]`, as those of a row.
fn check_defaults(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for (key, field) in pack.values.get(DEFAULTS).and_then(|field| field.node.as_table()).into_iter().flatten() {
        cx.rule = format!("value {DEFAULTS}.{key}");
        let kind = cx.names.fields.get(SLOT).and_then(|fields| fields.get(key)).map(|declared| declared.kind);
        cx.check_literal(&field.node, kind, key);
        cx.check_words(key, &field.node);
        cx.check_constant(&field.node, kind);
        if key.as_ref() == "types" {
            check_types(cx, &field.node);
        }
    }
}

/// Warns of generation types that no build has: words that the path of the type does not declare.
fn check_types(cx: &mut CompileContext<'_>, types: &Node) {
    let Some(known) = cx.names.words.get(TYPE).filter(|known| !known.is_empty()).cloned() else { return };
    for (word, at) in types.as_list().unwrap_or(&[]).iter().filter_map(|node| Some((literal(node)?, node.span))) {
        if known.iter().any(|known| **known == *word) || !cx.may_look(known.len(), at) {
            continue;
        }
        let elsewhere = format!("add it to `values` of the [[path]] row `{TYPE}`");
        let help = match suggest::help(word, known.iter().map(AsRef::as_ref)) {
            Some(near) if near.ends_with('?') => format!("{near} otherwise {elsewhere}"),
            Some(known) => format!("{known}; otherwise {elsewhere}"),
            None => elsewhere,
        };
        let message = format!("no build has the generation type `{word}`");
        cx.warn(Diagnostic::warning(Code::NameUnknown, message).at(at).missing_row(&["path"], word).help(help));
    }
}

/// Warns of a depth that nothing reads, because the slot stands in the prompt order.
fn check_depth(cx: &mut CompileContext<'_>, row: &Row) {
    let Some(depth) = row.fields.get("depth") else { return };
    let fixed = row.fields.get("relative").filter(|field| field.node.as_bool() == Some(true));
    let (by, help) = match (fixed, row.fields.get("position")) {
        (Some(fixed), _) => (Some(fixed.node.span), "take `depth` away, or `relative`, which keeps the slot in the prompt order"),
        (None, Some(position)) if is_relative(cx, &position.node) => {
            (Some(position.node.span), "take `depth` away, or write `position = \"chat\"`")
        }
        (None, None) if default_of_position(cx).is_some_and(|node| is_relative(cx, node)) => {
            (None, "add `position = \"chat\"`, or take `depth` away")
        }
        _ => return,
    };
    // what a higher layer decides makes a depth of a lower one idle, which its author cannot know
    if by.is_some_and(|by| layer(cx, by) > layer(cx, depth.node.span)) {
        return;
    }
    let message = format!("`depth` of slot `{}` has no effect: the slot stands in the prompt order, and not in the chat", row.name);
    cx.warn(Diagnostic::warning(Code::TwoMeanings, message).at(depth.key).help(help));
}

/// The position of slots whose row says none.
fn default_of_position<'p>(cx: &CompileContext<'p>) -> Option<&'p Node> {
    let pack = cx.pack;
    let by_default = pack.values.get(DEFAULTS).and_then(|field| field.node.get("position"));
    by_default.or_else(|| Some(&pack.tables.get("field")?.get("slot/position")?.fields.get("default")?.node))
}

/// Whether a position is literally that of the prompt order, or another spelling of it.
fn is_relative(cx: &CompileContext<'_>, position: &Node) -> bool {
    let Some(word) = literal(position) else { return false };
    let alias = cx.pack.tables.get(ALIAS).and_then(|rows| rows.get(word)).and_then(|row| row.fields.get("means"));
    alias.map_or(Some(word), |means| literal(&means.node)) == Some(RELATIVE)
}

/// The number of the layer that a place belongs to, the lowest first.
fn layer(cx: &CompileContext<'_>, span: Span) -> usize {
    let name = cx.pack.sources.layer(span);
    cx.pack.layers.iter().rposition(|layer| layer.name == name).unwrap_or(0)
}

/// Whether a pass gives slots a position of its own, so that their rows do not decide where they stand.
fn is_moved(cx: &CompileContext<'_>) -> bool {
    let pack = cx.pack;
    let is_of_slots = |name: &str| cx.lists.iter().any(|list| *list.name == *name && list.rows.iter().any(|row| &**row == SLOT));
    let names = |row: &Row, key: &str| row.fields.get(key).map(|field| field.node.as_text().is_some_and(is_of_slots));
    let rows = |table: &str| pack.tables.get(table).into_iter().flat_map(|rows| rows.values());
    let over_slots = |row: &Row| names(row, "list").or_else(|| names(row, "over")).unwrap_or(false);
    let programs: FxHashSet<&str> = rows("program").filter(|row| over_slots(row)).map(|row| row.name.as_ref()).collect();
    let mut passes = rows("pass");
    passes.any(|row| {
        let says = |key: &str| row.fields.get(key).is_some_and(|field| gives_position(&field.node));
        let of_program = || row.name.rsplit_once('/').is_some_and(|(program, _)| programs.contains(program));
        let own = names(row, "list").unwrap_or_else(of_program);
        let alike = row.fields.get("fields").and_then(|field| field.node.as_list()).unwrap_or(&[]);
        let sets = || says("set") || alike.iter().any(|field| field.as_text() == Some("position"));
        // an item may be made of a slot for another list
        let makes = || names(row, "to").unwrap_or(own) && says("item");
        (own && sets()) || makes()
    })
}

/// Whether a value gives items another position than the prompt order, or than another spelling of their own.
fn gives_position(node: &Node) -> bool {
    if let Some(list) = node.as_list() {
        return list.iter().any(gives_position);
    }
    let stays = |node: &Node| {
        let looked_up = node.get("lookup").and_then(Node::as_text);
        node.as_text() == Some(RELATIVE) || looked_up == Some("@position")
    };
    let mut fields = node.as_table().into_iter().flatten();
    fields.any(|(key, field)| (key.as_ref() == "position" && !stays(&field.node)) || gives_position(&field.node))
}

/// Warns of other spellings that mean nothing: names of no row, and words that nothing declares.
fn check_aliases(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    let Some(rows) = pack.tables.get(ALIAS) else { return };
    let said = |row: &Row| row.fields.contains_key("means");
    for row in rows.values().filter(|row| !said(row)) {
        cx.rule = origin(cx, ALIAS, row);
        let message = format!("alias `{}` has no effect: it says nothing that it means", row.name);
        cx.warn(Diagnostic::warning(Code::TermMissing, message).at(row.name_span).help("add `means = \"…\"`, or take the row away"));
    }
    for (row, node, word) in unknown_meanings(cx) {
        cx.rule = origin(cx, ALIAS, row);
        let positions = pack.tables.get("position").into_iter().flat_map(|rows| rows.keys()).map(AsRef::as_ref);
        let help = suggest::help(word, positions.chain([RELATIVE]));
        let help = help.unwrap_or_else(|| "write the name of a row, such as one of table `position`".to_owned());
        let message = format!("alias `{}` means `{word}`, but no row and no word of the rules is called so", row.name);
        cx.warn(Diagnostic::warning(Code::NameUnknown, message).at(node.span).missing_row(&["position", "mode"], word).help(help));
    }
}

/// The rows of other spellings whose meaning is the name of no row and no declared word, with that meaning.
fn unknown_meanings<'p>(cx: &CompileContext<'p>) -> Vec<(&'p Row, &'p Node, &'p str)> {
    let pack = cx.pack;
    let declared = cx.names.words.values().chain(cx.names.field_words.values()).flatten();
    let words: FxHashSet<&str> = declared.map(AsRef::as_ref).collect();
    let is_named = |word: &str| word == RELATIVE || words.contains(word) || pack.tables.values().any(|rows| rows.contains_key(word));
    let unknown = |row: &'p Row| {
        let node = &row.fields.get("means")?.node;
        Some((row, node, literal(node).filter(|word| !is_named(word))?))
    };
    pack.tables.get(ALIAS).into_iter().flat_map(|rows| rows.values()).filter_map(unknown).collect()
}

/// A text that is what it says, and not evaluated.
fn literal(node: &Node) -> Option<&str> {
    node.as_text().filter(|word| !word.is_empty() && !is_reference(word) && !word.contains("{{"))
}
