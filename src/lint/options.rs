//! Whether rules read an option, and whether they use the name `option` for something else.

use std::collections::HashSet;

use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report};
use crate::model::Pack;
use crate::model::options::TABLE;

/// Reports names that stand where options stand, and options that no rule reads.
pub(super) fn check(pack: &Pack, report: &mut Report) {
    reserved(pack, report);
    if pack.options.is_empty() {
        return;
    }
    let mut read = ReadOptions { all: false, names: HashSet::new() };
    let rows = pack.tables.values().flat_map(|rows| rows.values());
    for field in rows.flat_map(|row| row.fields.values()).chain(pack.values.values()) {
        read.node(&field.node);
    }
    for id in pack.assets.values() {
        read.text(pack.sources.get(*id).map_or("", |source| &source.text));
    }
    for option in pack.options.iter().filter(|option| !read.all && !read.names.contains(&*option.name)) {
        let complaint = Diagnostic::new(Code::OptionUnused, format!("no rule reads option `{}`", option.name)).at(option.name_span);
        report.push(complaint.help(format!("read it as `$option.{}`, or remove it", option.name)));
    }
}

/// Reports paths, lists and passes that would hide options.
fn reserved(pack: &Pack, report: &mut Report) {
    let is_ours = |path: &str| path == TABLE || path.strip_prefix(TABLE).is_some_and(|rest| rest.starts_with('.'));
    for row in pack.rows("path").chain(pack.rows("list")).filter(|row| is_ours(&row.name)) {
        let message = format!("`${}` is a name of options, which manifests declare", row.name);
        let help = "declare an option in `pack.toml`: `[options.NAME]`; or choose another name";
        report.push(Diagnostic::new(Code::SchemaValue, message).at(row.name_span).help(help));
    }
    for row in pack.rows("pass").chain(pack.rows("round")) {
        let set = row.node("set").and_then(DocumentNode::as_table).into_iter().flatten();
        for (key, field) in set.filter(|(key, _)| key.strip_prefix('$').is_some_and(is_ours)) {
            let message = format!("`{key}` is what the user has chosen, and no pass can set it");
            let help = "set a path of another name";
            let rule = format!("pass {}", row.name);
            report.push(Diagnostic::new(Code::SchemaValue, message).at(field.key).rule(rule).help(help));
        }
    }
}

/// The options that texts of rules name.
struct ReadOptions<'p> {
    /// A text names all of them, or computes the name.
    all: bool,
    names: HashSet<&'p str>,
}

impl<'p> ReadOptions<'p> {
    /// Recursion is bounded by the readers of TOML and JSON.
    fn node(&mut self, node: &'p DocumentNode) {
        match &node.data {
            NodeValue::Text(text) => self.text(text),
            NodeValue::List(list) => list.iter().for_each(|node| self.node(node)),
            NodeValue::Table(table) => {
                for (key, field) in table {
                    self.text(key);
                    self.node(&field.node);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &'p str) {
        for (at, _) in text.match_indices(TABLE) {
            let before = text.get(..at).unwrap_or_default();
            let is_inside = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
            let is_below = before.ends_with('.') && !before.ends_with("given.");
            if is_inside || is_below {
                continue;
            }
            let rest = text.get(at + TABLE.len()..).unwrap_or_default();
            let Some(name) = rest.strip_prefix('.') else {
                self.all |= before.ends_with('$') && !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
                continue;
            };
            self.all |= name.starts_with('[');
            let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
            self.names.extend(name.get(..end));
        }
    }
}
