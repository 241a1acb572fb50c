//! What may be written at a place of a rule file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use lsp_types::{CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent, MarkupKind, TextEdit};
use serde_json::Value as Json;
use tapster::machinery::pack::KINDS;
use tapster::machinery::text::functions::FUNCTIONS;
use tapster::machinery::text::methods::METHODS;
use tapster::machinery::verbs::VERBS;

use crate::document::OpenDocument;
use crate::outline::{Cursor, CursorRole, NodeId, PathStep, ROOT, Syntax};
use crate::schema::SchemaReader;
use crate::subject::{RuleText, about_row, function_doc, is_of_items, sentence, tables_of_key, word_around};

/// The most proposals of one answer.
const MOST_ITEMS: usize = 2_000;

/// Gathers proposals for one place.
pub(crate) struct Completer<'c> {
    pub(crate) document: &'c OpenDocument,
    /// `None` if the file belongs to no rules that could be read.
    pub(crate) rules: Option<&'c RuleText<'c>>,
    pub(crate) schema: Option<Arc<Json>>,
    pub(crate) syntax: Syntax,
}

/// Proposals, each with its own text: what is offered, what kind of thing it is, and what it means.
#[derive(Default)]
struct ProposalList {
    items: Vec<CompletionItem>,
    seen: BTreeSet<String>,
}

impl ProposalList {
    fn add(&mut self, label: &str, kind: CompletionItemKind, detail: &str, doc: &str) {
        if label.is_empty() || self.items.len() >= MOST_ITEMS || !self.seen.insert(label.to_owned()) {
            return;
        }
        let markdown = |value: &str| Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: value.to_owned() });
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind: Some(kind),
            detail: Some(detail.to_owned()).filter(|detail| !detail.is_empty()),
            documentation: Some(doc).filter(|doc| !doc.is_empty()).map(markdown),
            ..CompletionItem::default()
        });
    }

    /// Makes each proposal take the place of `range`, written as `write` says.
    fn placed(mut self, document: &OpenDocument, range: Range<usize>, write: impl Fn(&str) -> String) -> Vec<CompletionItem> {
        let range = document.lines.range(&document.text, &range);
        for (n, item) in self.items.iter_mut().enumerate() {
            let text = write(&item.label);
            item.filter_text = Some(text.clone()).filter(|text| *text != item.label);
            item.text_edit = Some(CompletionTextEdit::Edit(TextEdit::new(range, text)));
            item.sort_text = Some(format!("{n:04}"));
        }
        self.items
    }
}

impl Completer<'_> {
    /// The proposals for a byte.
    pub(crate) fn complete(&self, offset: usize) -> Vec<CompletionItem> {
        let outline = self.document.outline();
        let cursor = outline.cursor(offset);
        let mut list = ProposalList::default();
        match &cursor.role {
            CursorRole::Comment => Vec::new(),
            CursorRole::Header(range) => {
                self.keys(&cursor, None, true, &mut list);
                list.placed(self.document, range.clone(), str::to_owned)
            }
            CursorRole::Key(range) => {
                let own = cursor.nodes.last().copied();
                let written = self.document.text.get(range.clone()).unwrap_or_default();
                let bare = written.trim_matches(['"', '\'']);
                if let Some(sign) = bare.chars().next().filter(|sign| matches!(sign, '$' | '@')) {
                    self.references(sign, &cursor, &mut list);
                } else {
                    self.keys(&cursor, own.map(|own| (own, range)), false, &mut list);
                }
                let needs_quotes = |key: &str| self.syntax == Syntax::Json || key.contains(['$', '@', '.', '/']);
                list.placed(self.document, range.clone(), |key| if needs_quotes(key) { format!("\"{key}\"") } else { key.to_owned() })
            }
            CursorRole::Value { whole, text: None } => {
                self.words(&cursor, "", &mut list);
                let range = if self.document.text.get(whole.clone()).is_some_and(|text| text.trim().is_empty()) {
                    offset..offset
                } else {
                    whole.clone()
                };
                let is_bare = |word: &str| matches!(word, "true" | "false") || word.parse::<f64>().is_ok();
                list.placed(self.document, range, |word| if is_bare(word) { word.to_owned() } else { format!("\"{word}\"") })
            }
            CursorRole::Value { text: Some(inner), .. } => self.in_text(&cursor, inner.clone(), offset.clamp(inner.start, inner.end)),
        }
    }

    /// Proposals inside of a text.
    fn in_text(&self, cursor: &Cursor, inner: Range<usize>, offset: usize) -> Vec<CompletionItem> {
        let text = self.document.text.get(inner.clone()).unwrap_or_default();
        let at = offset - inner.start;
        let before = text.get(..at).unwrap_or_default();
        let mut list = ProposalList::default();
        let is_expression = text.starts_with('=') && !text.starts_with("==");
        let in_braces = before.rfind("{{").is_some_and(|open| before.rfind("}}").is_none_or(|close| close < open));
        let word = word_around(text, at);
        let written = text.get(word.start..at).unwrap_or_default();
        let placed = inner.start + word.start..inner.start + word.end;
        if let Some(sign) = written.chars().next().filter(|sign| matches!(sign, '$' | '@')) {
            self.references(sign, cursor, &mut list);
            let above = written.rfind('.').and_then(|dot| written.get(..=dot)).filter(|_| is_expression);
            // behind the dot of no declared path stands a function
            if above.is_none_or(|above| list.items.iter().any(|item| item.label.starts_with(above))) {
                return list.placed(self.document, placed, str::to_owned);
            }
            list = ProposalList::default();
        }
        if is_expression && at > 0 {
            let start = self.expression(before, written, cursor, &mut list);
            return list.placed(self.document, inner.start + word.start + start..placed.end, str::to_owned);
        }
        if in_braces {
            self.macros(&mut list);
            return list.placed(self.document, placed, str::to_owned);
        }
        self.words(cursor, text, &mut list);
        list.placed(self.document, inner, str::to_owned)
    }

    /// The keys of the table at a place. `own` is the table and the key that is being written.
    fn keys(&self, cursor: &Cursor, own: Option<(NodeId, &Range<usize>)>, is_header: bool, list: &mut ProposalList) {
        let outline = self.document.outline();
        let text = &*self.document.text;
        let present: BTreeSet<&str> = own
            .iter()
            .flat_map(|(table, range)| {
                outline.entries(*table).iter().filter(|entry| entry.key_range != **range).map(|entry| entry.key.as_str())
            })
            .collect();
        let called = own
            .and_then(|(table, _)| outline.text_at(table, "fn", text))
            .and_then(|name| FUNCTIONS.iter().find(|known| known.name == name));
        for (argument, required) in called.into_iter().flat_map(|function| function.args) {
            if !present.contains(argument) {
                list.add(
                    argument,
                    CompletionItemKind::FIELD,
                    if *required { "argument" } else { "argument, optional" },
                    called.map_or("", |function| function.doc),
                );
            }
        }
        let Some(schema) = self.schema.as_deref() else {
            if cursor.path.is_empty() {
                ["kind", "version"].iter().for_each(|key| list.add(key, CompletionItemKind::PROPERTY, "", ""));
            }
            return;
        };
        let reader = SchemaReader { root: schema, outline, text };
        // a header has no values of its own on the way
        let nodes = if is_header { [ROOT].as_slice() } else { &cursor.nodes };
        let schemas = reader.at(&cursor.path, nodes);
        let is_gate = cursor.path.iter().any(|step| matches!(step, PathStep::Key(key) if matches!(key.as_str(), "when" | "that")));
        if is_gate {
            self.paths("", list);
        } else if schemas.iter().any(|schema| schema.get("propertyNames").is_some()) || is_of_items(&cursor.path) {
            self.fields(cursor, "", list);
        }
        let keys = reader.keys(&schemas);
        // what says what a row is comes first
        let rank = |key: &str| ["kind", "version", "name", "do", "about"].iter().position(|known| *known == key).unwrap_or(9);
        let mut sorted: Vec<_> = keys.iter().filter(|(key, _)| !present.contains(**key)).collect();
        sorted.sort_by_key(|(key, _)| rank(key));
        for (key, known) in sorted {
            list.add(key, CompletionItemKind::PROPERTY, &known.kind, &known.doc);
        }
    }

    /// The words and names that a value may be.
    fn words(&self, cursor: &Cursor, text: &str, list: &mut ProposalList) {
        let outline = self.document.outline();
        let key = cursor.path.iter().rev().find_map(|step| if let PathStep::Key(key) = step { Some(key.as_str()) } else { None });
        let key = key.unwrap_or_default();
        match (cursor.path.len(), key) {
            (1, "kind") => {
                KINDS.iter().for_each(|(kind, about)| list.add(kind, CompletionItemKind::MODULE, "kind of rule file", &sentence(about)))
            }
            (_, "fn") => FUNCTIONS.iter().for_each(|known| {
                list.add(known.name, CompletionItemKind::FUNCTION, "", &function_doc(known.name).unwrap_or_default());
            }),
            (3, "do") => VERBS.iter().for_each(|verb| list.add(verb.name, CompletionItemKind::KEYWORD, "verb", &sentence(verb.doc))),
            _ => {}
        }
        if key == "extends" || cursor.path.iter().any(|step| *step == PathStep::Key("extends".to_owned())) {
            let names = tapster::machinery::pack::library::shipped_names();
            names.iter().for_each(|name| list.add(name, CompletionItemKind::MODULE, "pack", ""));
        }
        if let Some(rules) = self.rules {
            self.names(rules, cursor, key, list);
        }
        let Some(schema) = self.schema.as_deref() else { return };
        let reader = SchemaReader { root: schema, outline, text: &self.document.text };
        let schemas = reader.at(&cursor.path, &cursor.nodes);
        for (word, doc) in reader.words(&schemas) {
            // a truth value has no quotes
            if text.is_empty() || !matches!(word.as_str(), "true" | "false") {
                list.add(&word, CompletionItemKind::ENUM_MEMBER, "", &doc);
            }
        }
    }

    /// The names of rows that a value may be.
    fn names(&self, rules: &RuleText<'_>, cursor: &Cursor, key: &str, list: &mut ProposalList) {
        let mut tables: Vec<&str> = Vec::new();
        let mut program = None;
        if let Some((table, _, name)) = rules.row_around(cursor)
            && cursor.path.len() == 3
            && matches!(key, "name" | "before" | "after")
        {
            tables.extend(rules.pack.tables.keys().map(AsRef::as_ref).filter(|known: &&str| **known == *table));
            program = name.filter(|_| key != "name").and_then(|name| Some(name.rsplit_once('/')?.0.to_owned()));
        }
        if tables.is_empty() {
            tables = tables_of_key(key, rules.pack);
        }
        for table in tables {
            for row in rules.pack.rows(table) {
                let name = match &program {
                    Some(program) => match row.name.strip_prefix(program.as_str()).and_then(|rest| rest.strip_prefix('/')) {
                        Some(short) => short,
                        None => continue,
                    },
                    None => &*row.name,
                };
                list.add(name, CompletionItemKind::REFERENCE, table, about_row(row).unwrap_or_default());
            }
        }
        if matches!(key, "of" | "in" | "into") {
            let lists = rules.pack.rows("list");
            lists.for_each(|known| list.add(&known.name, CompletionItemKind::STRUCT, "list", about_row(known).unwrap_or_default()));
        }
    }

    /// The paths of the scene or the fields of items, with their sign.
    fn references(&self, sign: char, cursor: &Cursor, list: &mut ProposalList) {
        if sign == '@' {
            self.fields(cursor, "@", list);
            return;
        }
        self.paths("$", list);
        let Some(rules) = self.rules else { return };
        for table in rules.pack.tables.keys() {
            list.add(&format!("$table.{table}"), CompletionItemKind::STRUCT, "table", "");
        }
    }

    /// The paths and lists of the scene.
    fn paths(&self, sign: &str, list: &mut ProposalList) {
        let Some(rules) = self.rules else { return };
        for (path, declared) in &rules.names.paths {
            list.add(&format!("{sign}{path}"), CompletionItemKind::VARIABLE, declared.kind.word(), &declared.doc);
        }
        for known in rules.pack.rows("list") {
            list.add(&format!("{sign}{}", known.name), CompletionItemKind::STRUCT, "list", about_row(known).unwrap_or_default());
        }
    }

    /// The fields of the items that a row is about, else of all items.
    fn fields(&self, cursor: &Cursor, sign: &str, list: &mut ProposalList) {
        let Some(rules) = self.rules else { return };
        let rows = self.row_types(rules, cursor);
        let mut all: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        for (row, fields) in &rules.names.fields {
            if rows.is_empty() || rows.iter().any(|known| known == row) {
                fields.iter().for_each(|(field, known)| _ = all.entry(field).or_insert((known.kind.word(), &known.doc)));
            }
        }
        all.iter().for_each(|(field, (kind, doc))| list.add(&format!("{sign}{field}"), CompletionItemKind::FIELD, kind, doc));
    }

    /// The row types of the list that the row at a place works on.
    fn row_types(&self, rules: &RuleText<'_>, cursor: &Cursor) -> Vec<Arc<str>> {
        let Some((_, row, name)) = rules.row_around(cursor) else { return Vec::new() };
        let program = name.as_deref().and_then(|name| name.split_once('/')).map(|(program, _)| program);
        let own = rules.outline.text_at(row, "list", rules.text);
        let list = own.or_else(|| rules.pack.row("program", program?)?.text("list"));
        let words = list.and_then(|list| rules.pack.row("list", list)).into_iter().flat_map(|list| list.words("rows"));
        words.map(|(row, _)| Arc::from(row)).collect()
    }

    /// Names inside of an expression. `before` is the expression up to the cursor, `written` the word there; gives where in the
    /// word the proposals begin.
    fn expression(&self, before: &str, written: &str, cursor: &Cursor, list: &mut ProposalList) -> usize {
        let head = before.strip_suffix(written).unwrap_or(before);
        if let Some(call) = head.strip_suffix(['\'', '"']).map(str::trim_end).and_then(|head| head.strip_suffix('(')) {
            for table in ["fact", "value"] {
                if call.trim_end().ends_with(table) {
                    let rows = self.rules.into_iter().flat_map(|rules| rules.pack.rows(table));
                    rows.for_each(|row| list.add(&row.name, CompletionItemKind::REFERENCE, table, about_row(row).unwrap_or_default()));
                    return 0;
                }
            }
        }
        // inside of a text of the expression
        if head.matches('\'').count() % 2 == 1 {
            return 0;
        }
        let functions = |list: &mut ProposalList| {
            let methods = METHODS.iter().filter(|method| method.is_named()).map(|method| method.name);
            let all: BTreeSet<&str> = methods.chain(FUNCTIONS.iter().map(|function| function.name)).collect();
            for name in all {
                list.add(name, CompletionItemKind::FUNCTION, "function", &function_doc(name).unwrap_or_default());
            }
        };
        if let Some(dot) = written.rfind('.') {
            functions(list);
            return dot + 1;
        }
        self.fields(cursor, "", list);
        for (call, doc) in [("fact", "A fact of the item or scene: `fact('name')`."), ("value", "A named value: `value('name')`.")] {
            list.add(call, CompletionItemKind::FUNCTION, "", doc);
        }
        functions(list);
        ["true", "false", "null"].iter().for_each(|word| list.add(word, CompletionItemKind::CONSTANT, "", ""));
        0
    }

    /// The macros of the rules.
    fn macros(&self, list: &mut ProposalList) {
        for row in self.rules.into_iter().flat_map(|rules| rules.pack.rows("macro")) {
            let doc = about_row(row).unwrap_or_default();
            list.add(&row.name, CompletionItemKind::FUNCTION, "macro", doc);
            row.words("aliases").for_each(|(alias, _)| list.add(alias, CompletionItemKind::FUNCTION, "macro", doc));
        }
    }
}
