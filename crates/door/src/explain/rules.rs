//! `tapster explain --rules`: the merged rules as one page, each value with the layer, file and line that decided it.

use serde_json::{Value as Json, json};

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Help, NodeValue, Span, suggest};
use crate::layout::{head, one_line, table};
use crate::model::Pack;
use crate::model::pack::{PackRow, PackRows};
use crate::pack::Ruleset;
use crate::verbs::CompiledPass;

/// The most characters that a page of several rows shows of a value; one row and JSON show all of it.
const VALUE: usize = 400;

/// The rows and values that a name refers to: a program with its passes and rounds, a table, a pass, `table/row`, a section
/// of values, and else the rows of this name in all tables.
pub struct NamedRules<'p> {
    pack: &'p Pack,
    name: String,
    rows: Vec<(&'p str, &'p PackRow)>,
    values: Option<&'p DocumentNode>,
}

impl<'p> NamedRules<'p> {
    /// # Errors
    /// `name.unknown`: the pack has nothing of this name.
    pub fn find(pack: &'p Pack, name: &str) -> Result<Self, Box<Diagnostic>> {
        let rows = rows_of(pack, name);
        let values = pack.values.get(name).map(|f| &f.node);
        if rows.is_empty() && values.is_none() {
            return Err(Box::new(unknown(pack, name)));
        }
        Ok(Self { pack, name: name.to_owned(), rows, values })
    }

    /// Each value with the line that decided it and the values that it hides.
    #[must_use]
    pub fn as_json(&self) -> Json {
        let pack = self.pack;
        let rows: Vec<Json> = self.rows.iter().map(|(kind, row)| row_json(pack, kind, row)).collect();
        let values =
            self.values.map(|node| leaves(&self.name, node).iter().map(|(path, node)| field_json(pack, path, node)).collect::<Vec<_>>());
        json!({ "pack": &*pack.name, "name": self.name, "rows": rows, "values": values })
    }

    /// The same as a text; of several rows, long values are cut.
    #[must_use]
    pub fn as_text(&self) -> String {
        let mut page = String::new();
        let most = if self.rows.len() < 2 { usize::MAX } else { VALUE };
        let mut is_cut = false;
        for (kind, row) in &self.rows {
            let lines: Vec<_> = row.fields.iter().flat_map(|(key, field)| field_lines(self.pack, key, &field.node)).collect();
            page.push_str(&format!(
                "[[{kind}]] {}    {}\n{}\n",
                row.name,
                deciders(self.pack, row).join(", "),
                lines_text(lines, most, &mut is_cut)
            ));
        }
        if let Some(node) = self.values {
            let lines: Vec<_> = leaves(&self.name, node).iter().flat_map(|(path, node)| field_lines(self.pack, path, node)).collect();
            page.push_str(&format!("[{}]\n{}", self.name, lines_text(lines, most, &mut is_cut)));
        }
        let mut out = format!("{}\n", page.trim_end());
        if is_cut {
            out.push_str("\nvalues that end in … are shown whole by `--rules TABLE/ROW`, and for all rows by `--format json`\n");
        }
        out
    }
}

/// All programs with their passes.
#[must_use]
pub fn programs_json(rules: &Ruleset) -> Json {
    let pack = rules.pack();
    let pass = |p: &std::sync::Arc<CompiledPass>| json!({ "name": &*p.id, "do": p.info.name, "decided": pass_deciders(pack, &p.id) });
    let programs = rules.programs().list.iter();
    let list = programs.map(|p| json!({ "program": &*p.name, "passes": p.passes().iter().map(pass).collect::<Vec<_>>() }));
    json!({ "pack": &*pack.name, "programs": list.collect::<Vec<_>>() })
}

/// The same as a text.
#[must_use]
pub fn programs_text(rules: &Ruleset) -> String {
    let pass =
        |p: &std::sync::Arc<CompiledPass>| vec![p.id.to_string(), p.info.name.to_owned(), pass_deciders(rules.pack(), &p.id).join(", ")];
    let programs = rules.programs().list.iter();
    let pages = programs.map(|program| format!("{}\n{}", program.name, table(&program.passes().iter().map(pass).collect::<Vec<_>>())));
    pages.collect::<Vec<_>>().join("\n")
}

fn pass_deciders(pack: &Pack, pass: &str) -> Vec<String> {
    row_of(pack, "pass", pass).map(|row| deciders(pack, row)).unwrap_or_default()
}

fn row_of<'p>(pack: &'p Pack, table: &str, name: &str) -> Option<&'p PackRow> {
    pack.tables.get(table)?.get(name)
}

/// The rows that a name refers to: a program with its passes and rounds, a table, a pass, `table/row`, and else the rows
/// of this name in all tables.
fn rows_of<'p>(pack: &'p Pack, name: &str) -> Vec<(&'p str, &'p PackRow)> {
    let (below, mut out) = (format!("{name}/"), Vec::new());
    if row_of(pack, "program", name).is_some() {
        let of = |kind: &'static str, keep: &dyn Fn(&str) -> bool| -> Vec<(&'p str, &'p PackRow)> {
            let rows: Option<&PackRows> = pack.tables.get(kind);
            rows.into_iter().flatten().filter(|(n, _)| keep(n)).map(|(_, r)| (kind, r)).collect()
        };
        out.extend(of("program", &|n| n == name));
        out.extend(of("pass", &|n| n.starts_with(&below)));
        out.extend(of("round", &|n| n.starts_with(&below)));
    }
    if let Some((kind, rows)) = pack.tables.get_key_value(name) {
        out.extend(rows.values().map(|r| (&**kind, r)));
    }
    if !out.is_empty() || pack.values.contains_key(name) {
        return out;
    }
    if let Some(row) = row_of(pack, "pass", name) {
        return vec![("pass", row)];
    }
    let of_table = name.split_once('/').and_then(|(kind, row)| {
        let (kind, rows) = pack.tables.get_key_value(kind)?;
        Some((&**kind, rows.get(row)?))
    });
    match of_table {
        Some(row) => vec![row],
        None => pack.tables.iter().filter_map(|(kind, rows)| Some((&**kind, rows.get(name)?))).collect(),
    }
}

/// The files and lines that wrote or patched a row, lowest first.
pub fn deciders(pack: &Pack, row: &PackRow) -> Vec<String> {
    std::iter::once(row.span).chain(row.patched.iter().copied()).filter_map(|span| place(pack, span)).collect()
}

/// `layer file:line`.
pub fn place(pack: &Pack, span: Span) -> Option<String> {
    let (source, line) = pack.sources.line(span)?;
    let layer = if source.layer.is_empty() { String::new() } else { format!("{} ", source.layer) };
    Some(format!("{layer}{}:{line}", source.name))
}

/// The values that a value replaces or edits, through all lower layers: the text as written, its place, and whether it
/// was edited.
fn shadowed(pack: &Pack, span: Span) -> Vec<(String, String, bool)> {
    let mut out = Vec::new();
    let mut at = span;
    while let Some(hidden) = pack.shadowed.iter().find(|s| s.by == at) {
        out.push((one_line(pack.sources.snippet(hidden.old)), place(pack, hidden.old).unwrap_or_default(), hidden.edited));
        // each step leads to an older text; the bound stops a pack in which that is not so
        if out.len() > pack.shadowed.len() {
            break;
        }
        at = hidden.old;
    }
    out
}

/// Lines below each other, with at most so many characters of each value; `is_cut` becomes true where that leaves some out.
fn lines_text(mut lines: Vec<Vec<String>>, most: usize, is_cut: &mut bool) -> String {
    for value in lines.iter_mut().filter_map(|line| line.last_mut()) {
        let whole = one_line(value);
        *value = head(&whole, most);
        *is_cut |= *value != whole;
    }
    table(&lines)
}

/// A value and, below it, the values that it replaces.
fn field_lines(pack: &Pack, key: &str, node: &DocumentNode) -> Vec<Vec<String>> {
    let mut lines = vec![vec![key.to_owned(), place(pack, node.span).unwrap_or_default(), node.to_json().to_string()]];
    let hidden = shadowed(pack, node.span).into_iter();
    let word = |edited: bool| if edited { "edited" } else { "hidden" };
    lines.extend(hidden.map(|(text, place, edited)| vec![String::new(), place, format!("({}) {text}", word(edited))]));
    lines
}

fn row_json(pack: &Pack, kind: &str, row: &PackRow) -> Json {
    let fields: Vec<Json> = row.fields.iter().map(|(key, field)| field_json(pack, key, &field.node)).collect();
    json!({ "table": kind, "name": &*row.name, "decided": deciders(pack, row), "fields": fields })
}

fn field_json(pack: &Pack, key: &str, node: &DocumentNode) -> Json {
    let told = |(text, place, edited): (String, String, bool)| json!({ "text": text, "place": place, "edited": edited });
    let hidden: Vec<Json> = shadowed(pack, node.span).into_iter().map(told).collect();
    json!({ "key": key, "value": node.to_json(), "place": place(pack, node.span), "hidden": hidden })
}

/// The leaves of a table of values, by path. It does not recurse, although the depth of rule files is bounded.
fn leaves<'n>(name: &str, node: &'n DocumentNode) -> Vec<(String, &'n DocumentNode)> {
    let mut out = Vec::new();
    let mut open = vec![(name.to_owned(), node)];
    while let Some((path, node)) = open.pop() {
        match &node.data {
            NodeValue::Table(table) if !table.is_empty() => open.extend(below(&path, table)),
            _ => out.push((path, node)),
        }
    }
    out
}

fn below<'n>(path: &str, table: &'n FieldMap) -> Vec<(String, &'n DocumentNode)> {
    table.iter().rev().map(|(key, field)| (format!("{path}.{key}"), &field.node)).collect()
}

fn unknown(pack: &Pack, name: &str) -> Diagnostic {
    let programs = pack.tables.get("program").into_iter().flat_map(|r| r.keys());
    let passes = pack.tables.get("pass").into_iter().flat_map(|r| r.keys());
    let rows = pack.tables.values().flat_map(|rows| rows.keys());
    let known = programs.chain(passes).chain(pack.tables.keys()).chain(pack.values.keys()).chain(rows).map(AsRef::as_ref);
    let help = suggest::nearest(name, known).map_or_else(
        || "`tapster explain --rules` lists the programs; a row is named `form/NAME`, `fact/NAME`, `slot/NAME` …".into(),
        |near| Help::from(near.to_string()),
    );
    Diagnostic::error(Code::NameUnknown, format!("pack `{}` has no program, table or row `{name}`", pack.name)).help(help)
}
