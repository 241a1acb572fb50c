//! The macro table of a pack, compiled once: rows by number, names and aliases to numbers, and the rewriting of texts.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::blocks::BlockRules;
use super::call::MacroRow;
use super::engine::EngineRow;
use super::passes::MacroPasses;
use super::rewrites::{RewriteRules, rewrite};
use super::rows::{complaint, has_meaning, row};
use crate::diag::short::listed;
use crate::diag::{Code, Diagnostic, DocumentNode, NodeValue, Report, Span, suggest};
use crate::macros::syntax::stack::Braces;
use crate::macros::syntax::{KnownMacro, MacroGrammar, MacroSyntax, MacroTree, ParsedText};
use crate::model::{Pack, Value};
use crate::terms::CompiledRules;
use crate::text::{TextLimits, work};

/// Most texts that are remembered as they are read, and the most bytes of them and of what was read.
const MOST_READ: (usize, usize) = (256, 16 << 20);

/// The macros of a pack.
#[derive(Default)]
pub struct MacroTable {
    rows: Vec<MacroRow>,
    names: FxHashMap<Arc<str>, u32>,
    before: RewriteRules,
    after: RewriteRules,
    /// Texts that have been read.
    read: Mutex<ReadCache<Arc<ParsedText>>>,
    /// The braces of texts that have been expanded with a stack, after the rewriting before reading.
    braces: Mutex<ReadCache<MarkedText>>,
    /// Rows that are known by how a macro begins, by these texts; the longest first.
    starts: Vec<(Arc<str>, u32)>,
    /// How macros are written and read.
    pub(super) engine: EngineRow,
    /// Blocks of texts that are expanded with a stack.
    pub(super) blocks: BlockRules,
    /// Rows of the ordered flavour.
    passes: MacroPasses,
}

/// A text as it is read with a stack: rewritten, if that changed it, and its braces.
pub(super) type MarkedText = (Option<Arc<str>>, Arc<Braces>);

/// What was read of texts. It is emptied when it would hold too many texts or too many bytes.
struct ReadCache<T> {
    made: FxHashMap<Arc<str>, T>,
    bytes: usize,
}

impl<T> Default for ReadCache<T> {
    fn default() -> Self {
        Self { made: FxHashMap::default(), bytes: 0 }
    }
}

impl<T> ReadCache<T> {
    /// Keeps what was read of a text and takes so many bytes, unless that alone is too much.
    fn keep(&mut self, text: &Arc<str>, made: T, bytes: usize) {
        let (most, most_bytes) = MOST_READ;
        let bytes = bytes.saturating_add(text.len());
        if bytes > most_bytes {
            return;
        }
        if self.made.len() >= most || self.bytes.saturating_add(bytes) > most_bytes {
            self.made.clear();
            self.bytes = 0;
        }
        if self.made.insert(text.clone(), made).is_none() {
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }
}

impl MacroTable {
    /// Compiles the rows of tables `macro` and `rewrite`; reports those that are wrong, of which `tested` rules have none.
    #[must_use]
    pub fn compile(rules: &CompiledRules, pack: &Pack, tested: bool) -> (Self, Report) {
        let mut report = Report::default();
        let mut table = Self { engine: EngineRow::of(rules.values.get("macro_engine")), ..Self::default() };
        table.engine.check(pack, &mut report);
        let rows = rules.table("macro");
        for cells in rows.as_list().unwrap_or(&[]) {
            let id = u32::try_from(table.rows.len()).unwrap_or(u32::MAX);
            match has_meaning(cells).and_then(|()| row(cells, id)) {
                Ok(row) => {
                    check(&row, pack, &mut report);
                    table.rows.push(row);
                }
                Err(wrong) => report.push(complaint(&wrong, "macro", cells, pack)),
            }
        }
        table.index();
        let rewrites = rules.table("rewrite");
        for cells in rewrites.as_list().unwrap_or(&[]) {
            match rewrite(cells, tested) {
                Ok((made, needs)) if cells.get("when").and_then(Value::as_str) == Some("after") => table.after.add(made, needs),
                Ok((made, needs)) => table.before.add(made, needs),
                Err(wrong) => report.push(complaint(&wrong, "rewrite", cells, pack)),
            }
        }
        table.before.ready();
        table.after.ready();
        table.blocks = BlockRules::compile(rules, pack, &mut report);
        table.passes = MacroPasses::compile(&|name| table.named(name), table.rows.len(), rules, tested, pack, &mut report);
        (table, report)
    }

    /// The passes of the ordered flavour.
    pub(super) fn passes(&self) -> &MacroPasses {
        &self.passes
    }

    /// How macros are written.
    #[must_use]
    pub fn syntax(&self) -> &MacroSyntax {
        &self.engine.syntax
    }

    /// The row that a macro is known by because of how it begins, and what follows.
    pub(super) fn starting<'t>(&self, tag: &'t str) -> Option<(&MacroRow, &'t str)> {
        let (start, id) = self.starts.iter().find(|(start, _)| tag.starts_with(start.as_ref()))?;
        Some((self.row(*id)?, tag.get(start.len()..).unwrap_or_default()))
    }

    /// A name takes precedence over an alias.
    fn index(&mut self) {
        let syntax = &self.engine.syntax;
        // a name of nothing but characters that do not count is compared as it is written
        let fold = |name: &str| -> Arc<str> {
            let folded = syntax.folded(name);
            if folded.is_empty() { name.into() } else { folded.into() }
        };
        for row in &self.rows {
            self.names.insert(fold(&row.name), row.id);
            self.starts.extend(row.cells.get("starts").map(|start| (start.to_text(), row.id)));
        }
        self.starts.sort_by_key(|(start, _)| usize::MAX - start.len());
        for row in &self.rows {
            let aliases = row.cells.get("aliases").and_then(Value::as_list).unwrap_or(&[]);
            for alias in aliases {
                self.names.entry(fold(&alias.to_text())).or_insert(row.id);
            }
        }
    }

    /// A row by its number.
    #[must_use]
    pub fn row(&self, id: u32) -> Option<&MacroRow> {
        self.rows.get(id as usize)
    }

    /// A row by its name or an alias.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&MacroRow> {
        let id = self.names.get(self.engine.syntax.folded(name).as_ref());
        self.row(*id?)
    }

    /// A text as it is read with a stack, remembered.
    pub(super) fn braces(&self, text: &Arc<str>) -> MarkedText {
        if let Some(known) = self.braces.lock().unwrap_or_else(PoisonError::into_inner).made.get(text) {
            return known.clone();
        }
        let marked: Option<Arc<str>> = self.before(text).map(Arc::from);
        let made = (marked.clone(), Arc::new(Braces::of(marked.as_ref().unwrap_or(text), self.engine.syntax.inline)));
        let bytes = made.1.bytes().saturating_add(made.0.as_ref().map_or(0, |marked| marked.len()));
        self.braces.lock().unwrap_or_else(PoisonError::into_inner).keep(text, made.clone(), bytes);
        made
    }

    /// A text as it is read, remembered, unless it was not read to its end. It costs the same each time.
    pub fn reading(&self, text: &Arc<str>, limits: &TextLimits) -> Arc<ParsedText> {
        // a poisoned lock only means that another build panicked while reading; the map is complete
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).made.get(text).cloned();
        // if that is too much, the walk ends at its first macro
        let _ = work::spend((text.len() / work::READ_PER_STEP) as u64);
        if let Some(known) = known {
            return known;
        }
        let marked: Option<Arc<str>> = self.before(text).map(Arc::from);
        let tree = MacroTree::parse(marked.as_ref().unwrap_or(text), self, limits);
        let made = Arc::new(ParsedText { marked, tree });
        if !made.tree.tally.is_refused() {
            let bytes = made
                .tree
                .tally
                .count()
                // a macro or an argument in the tree of a text
                .saturating_mul(4 * work::BYTES_PER_VALUE)
                .saturating_add(made.marked.as_ref().map_or(0, |marked| marked.len()));
            self.read.lock().unwrap_or_else(PoisonError::into_inner).keep(text, made.clone(), bytes);
        }
        made
    }

    /// The text as its macros are read; nothing if nothing is rewritten.
    #[must_use]
    pub fn before(&self, text: &str) -> Option<String> {
        self.before.apply(text)
    }

    /// The text as it is in the end; nothing if nothing is rewritten.
    #[must_use]
    pub fn after(&self, text: &str) -> Option<String> {
        self.after.apply(text)
    }
}

impl MacroGrammar for MacroTable {
    fn find(&self, name: &str) -> Option<KnownMacro> {
        self.named(name).map(|row| KnownMacro { id: row.id, shape: row.shape })
    }

    fn syntax(&self) -> &MacroSyntax {
        &self.engine.syntax
    }
}

// `$arg.NAME` in the rows of macros: a name that the row does not declare is never set, so it is an error of the row.

/// The cells of a row that may refer to its arguments.
const CELLS: [&str; 4] = ["read", "when", "with", "expand"];
/// How a reference to an argument begins.
const PREFIX: &str = "$arg.";

/// Reports references of a row to arguments that it does not have.
pub(super) fn check(row: &MacroRow, pack: &Pack, report: &mut Report) {
    // a row without arguments leaves those of the macro around it in place
    if row.args.is_empty() && row.written.is_none() {
        return;
    }
    let Some(written) = pack.tables.get("macro").and_then(|rows| rows.get(&row.name)) else { return };
    let known = || row.args.iter().map(|arg| arg.name.as_ref()).chain(row.written.as_deref());
    for cell in CELLS.iter().filter_map(|cell| written.fields.get(*cell)) {
        references(&cell.node, &mut |name, span| {
            if known().all(|known| known != name) {
                let complaint = Diagnostic::new(Code::NameUnknown, format!("macro `{}` has no argument `{name}`", row.name));
                let help = suggest::help(name, known()).unwrap_or_else(|| format!("known here: {}", listed(known())).into());
                report.push(complaint.rule(format!("macro {}", row.name)).at(span).missing(name).help(help));
            }
        });
    }
}

/// Visits the names of arguments that a value and its parts refer to.
fn references(node: &DocumentNode, visit: &mut dyn FnMut(&str, Span)) {
    let mut text = |text: &str, span| {
        let name = text.strip_prefix(PREFIX).and_then(|rest| rest.split('.').next());
        name.into_iter().for_each(|name| visit(name, span));
    };
    match &node.data {
        NodeValue::Text(written) => text(written, node.span),
        NodeValue::List(list) => list.iter().for_each(|node| references(node, visit)),
        NodeValue::Table(table) => {
            table.iter().for_each(|(key, field)| text(key, field.key));
            table.iter().for_each(|(_, field)| references(&field.node, visit));
        }
        _ => {}
    }
}
