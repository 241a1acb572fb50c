//! The compile context: what names mean where a term stands, and where diagnostics are collected.
//!
//! It reports an error and continues: one run reports every error of a pack, each once and at its exact position, and all of it
//! within bounds, because a pack may have very many names and very many mistakes.

use std::sync::Arc;

use indexmap::IndexMap;

use super::dependencies::Dependencies;
use super::named;
use super::named::{NamedRow, NamedRules};
use crate::diag::{Code, Diagnostic, DocumentNode, Help, Report, Severity, Span, limits, source};
use crate::model::options::TABLE as OPTION;
use crate::model::pack::PackRow;
use crate::model::{FieldNames, OptionType, Pack};
use crate::terms::expr::{Expr, FieldRef, PathRoot, PathSegment, ScenePath};
use crate::terms::memo::MemoCell;
use crate::terms::names::{PackNames, RowKeys};
use crate::terms::rules::ListInfo;
use crate::terms::{Cond, ScriptLibrary, Select};
use crate::text::pattern::Pattern;

/// What `@` means at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemScope {
    /// There is no item.
    None,
    /// An item of one of these row types.
    Rows(Vec<Arc<str>>),
    /// A row of this table.
    Table(Arc<str>),
    /// An item of a list value, whose fields are not declared by a row type.
    Open,
    /// A foreign document, which may have any field.
    Any,
    /// A table of arguments: these names and no others.
    Args(Arc<[Arc<str>]>),
}

/// A query that looks at the newest end of a list alone.
pub struct TailQuery {
    /// The list.
    pub list: usize,
    /// What the query selects there.
    pub select: Select,
    /// The query asks for the indices of items.
    pub index: bool,
}

/// What a function of a script is given, as messages write it, and how many arguments that are.
pub type ScriptArguments = (&'static str, usize);
/// A function that gives a value or a condition.
pub const ITEM_AND_SCENE: ScriptArguments = ("item, scene", 2);

/// The state of compiling one pack.
pub struct CompileContext<'p> {
    /// The merged text.
    pub pack: &'p Pack,
    /// Diagnostics so far.
    pub report: Report,
    /// The rules are known to have no mistakes.
    pub tested: bool,
    /// Field numbers.
    pub fields: FieldNames,
    /// Declared names.
    pub names: Arc<PackNames>,
    /// The keys that rows of the language's tables may have; `None` where nobody says.
    pub row_keys: Option<&'p RowKeys>,
    /// The tables that the engine reads itself, and no pass.
    pub engine_tables: &'static [&'static str],
    /// Which values and rows depend on the current item.
    pub dependencies: Arc<Dependencies>,
    /// The lists.
    pub lists: Vec<ListInfo>,
    /// Facts, as written.
    pub facts: Arc<IndexMap<Arc<str>, NamedRow>>,
    /// Named values, as written.
    pub values: Arc<IndexMap<Arc<str>, NamedRow>>,
    /// The pack's scripts.
    pub scripts: Arc<ScriptLibrary>,
    /// The tokens of all scripts so far, with those inside of rules.
    pub(super) script_bytes: usize,
    /// The current rule, for messages: `pass lore/print, from layer base`.
    pub rule: String,
    /// What `@`, `@outer` … mean; the last element is `@`.
    pub scopes: Vec<ItemScope>,
    /// Memo cells allocated in the current pass; `None` outside of passes.
    pub memo: Option<u32>,
    /// Compiled cells.
    pub exprs: Vec<Expr>,
    /// Compiled condition cells.
    pub conds: Vec<Cond>,
    /// Lists that the current pass reads through queries.
    pub reads: Vec<usize>,
    /// The current pass asks what is left of an account, which requires the cost of the whole list.
    pub reads_account: bool,
    /// The current pass asks for the index of an item in its list.
    pub reads_index: bool,
    /// Queries of the current pass that read only the newest end of a list.
    pub tails: Vec<TailQuery>,
    /// What the memo cells of the current pass hold.
    pub cells: Vec<MemoCell>,
    /// The facts and values that are being compiled, each inside the previous one, and those that are compiled.
    pub(super) naming: NamedRules,
    pub(super) depth: usize,
    /// The greatest depth since this was last set.
    pub(super) deepest: usize,
    /// How many branches of `if` enclose the current position.
    pub(super) branches: usize,
    /// Where items are the elements of a field of an item: how many meanings `@` has outside of the elements.
    pub outside_elements: Option<usize>,
    /// Finds the places of references in texts.
    places: source::PlaceFinder,
    /// How many declared words were compared with words of rules so far.
    pub(super) looked: usize,
    /// How many errors and how many other diagnostics were found so far.
    pub(super) found: [usize; 2],
}

/// The declarations of a pack that is compiled in parts.
#[derive(Clone)]
pub struct CompileBasis {
    fields: FieldNames,
    names: Arc<PackNames>,
    dependencies: Arc<Dependencies>,
    lists: Vec<ListInfo>,
    facts: Arc<IndexMap<Arc<str>, NamedRow>>,
    values: Arc<IndexMap<Arc<str>, NamedRow>>,
    scripts: Arc<ScriptLibrary>,
    engine_tables: &'static [&'static str],
    shared: u32,
}

impl CompileBasis {
    /// Whether no field was added to those that there are.
    #[must_use]
    pub fn has_fields_of(&self, later: &Self) -> bool {
        self.fields.iter().eq(later.fields.iter())
    }

    fn of(pack: &Pack, engine_tables: &'static [&'static str]) -> Self {
        let names = PackNames::of(pack);
        let mut fields = FieldNames::default();
        for field in names.fields.values().flat_map(|f| f.keys()) {
            fields.intern(field);
        }
        for column in pack.tables.values().flat_map(|rows| rows.values()).flat_map(|r| r.fields.keys()) {
            fields.intern(column);
        }
        Self {
            fields,
            names: Arc::new(names),
            dependencies: Arc::new(Dependencies::of(pack, engine_tables)),
            lists: lists(pack),
            facts: Arc::new(named::rows(pack, "fact")),
            values: Arc::new(named::rows(pack, "value")),
            scripts: Arc::default(),
            engine_tables,
            shared: 0,
        }
    }
}

impl<'p> CompileContext<'p> {
    /// A context over a merged pack, with its declarations read. No pass reads the `engine_tables`.
    #[must_use]
    pub fn new(pack: &'p Pack, engine_tables: &'static [&'static str]) -> Self {
        Self::over(pack, CompileBasis::of(pack, engine_tables))
    }

    /// What [`over`](Self::over) goes on from.
    #[must_use]
    pub fn basis(&self) -> CompileBasis {
        CompileBasis {
            fields: self.fields.clone(),
            names: self.names.clone(),
            dependencies: self.dependencies.clone(),
            lists: self.lists.clone(),
            facts: self.facts.clone(),
            values: self.values.clone(),
            scripts: self.scripts.clone(),
            engine_tables: self.engine_tables,
            shared: self.naming.shared,
        }
    }

    /// A context that goes on compiling a pack.
    #[must_use]
    pub fn over(pack: &'p Pack, basis: CompileBasis) -> Self {
        Self {
            report: Report::default(),
            tested: false,
            fields: basis.fields,
            names: basis.names,
            row_keys: None,
            engine_tables: basis.engine_tables,
            dependencies: basis.dependencies,
            lists: basis.lists,
            facts: basis.facts,
            values: basis.values,
            scripts: basis.scripts,
            script_bytes: 0,
            rule: String::new(),
            scopes: Vec::new(),
            memo: None,
            exprs: Vec::new(),
            conds: Vec::new(),
            reads: Vec::new(),
            reads_account: false,
            reads_index: false,
            tails: Vec::new(),
            cells: Vec::new(),
            naming: NamedRules::numbered_from(basis.shared),
            depth: 0,
            deepest: 0,
            branches: 0,
            outside_elements: None,
            places: source::PlaceFinder::default(),
            looked: 0,
            found: [0; 2],
            pack,
        }
    }

    /// The row types of the items of a list.
    #[must_use]
    pub fn rows_of(&self, list: usize) -> ItemScope {
        self.lists.get(list).map_or(ItemScope::Open, |l| ItemScope::Rows(l.rows.clone()))
    }

    /// Runs `f` with a new meaning of `@`; the old one becomes `@outer`.
    pub fn within<T>(&mut self, scope: ItemScope, f: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(scope);
        let result = f(self);
        self.scopes.pop();
        result
    }

    /// How many meanings `@` has here, the innermost and those around it.
    pub fn scope_count(&self) -> usize {
        self.scopes.len()
    }

    /// Runs `f` inside a branch that may not be chosen.
    pub(super) fn in_branch<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.branches += 1;
        let result = f(self);
        self.branches -= 1;
        result
    }

    /// A memo cell for an expression, if memo cells are available here.
    pub fn remember(&mut self, expr: Expr) -> Expr {
        let Some(slot) = self.memo else { return expr };
        self.memo = Some(slot + 1);
        self.cells.push(MemoCell::of_expr(slot, expr.clone(), self.branches > 0));
        Expr::Memo(slot, Box::new(expr))
    }

    /// A memo cell for a condition, if memo cells are available here.
    pub fn remember_cond(&mut self, cond: Cond) -> Cond {
        let Some(slot) = self.memo else { return cond };
        self.memo = Some(slot + 1);
        self.cells.push(MemoCell::of_cond(slot, cond.clone(), self.branches > 0));
        Cond::Memo(slot, Box::new(cond))
    }

    /// A regular expression or plain text of a rule file.
    pub fn pattern(&mut self, node: &DocumentNode) -> Arc<Pattern> {
        let text = node.as_text().unwrap_or("");
        match Pattern::of_rules(text, self.tested) {
            Ok(p) => Arc::new(p),
            Err(e) => {
                let span = source::place_in_text(&self.pack.sources, node, e.offset);
                let (code, help) = if e.fault == crate::text::pattern::PatternFault::Unsafe {
                    (Code::RegexUnsafe, "rewrite it without nested or overlapping repetitions")
                } else {
                    (Code::RegexBad, "regular expressions are written `/pattern/flags` as in JavaScript; other text is searched as it is")
                };
                self.fail(code, span, format!("the pattern cannot be used: {}", e.reason), Some(help.into()));
                Arc::new(Pattern::literal(text))
            }
        }
    }

    /// A reference `$…` or `@…`; `node` and `offset` say its position.
    pub fn reference(&mut self, word: &str, node: &DocumentNode, offset: usize) -> Expr {
        let span = self.places.place(&self.pack.sources, node, offset);
        let span =
            Span { end: span.end.max(span.start + u32::try_from(word.len()).unwrap_or(0)).min(node.span.end.max(span.start)), ..span };
        match word.strip_prefix('$') {
            Some(path) => self.path(path, span, node, offset),
            None => self.field(word.strip_prefix('@').unwrap_or(word), span, node, offset),
        }
    }

    /// A `$path`.
    pub fn path(&mut self, text: &str, span: Span, node: &DocumentNode, offset: usize) -> Expr {
        let segs = self.segs(text, node, offset);
        let names: Vec<Arc<str>> = segs.iter().map_while(|s| if let PathSegment::Name(n) = s { Some(n.clone()) } else { None }).collect();
        let fixed = names.join(".");
        let first = names.first().map_or("", AsRef::as_ref);
        let second = names.get(1).map_or("", AsRef::as_ref);
        let (root, used) = match first {
            "table" => {
                self.check_table_path(second, names.get(2..).unwrap_or(&[]), span);
                (PathRoot::Table(second.into()), 2)
            }
            "code" => {
                self.row_number("code", second, span);
                (PathRoot::Code(second.into()), 2)
            }
            "given" => (PathRoot::Given, 1),
            // `account` is the word of version 1
            "budget" | "account" if first == "account" || self.is_budget(second) => {
                self.reads_account |= !matches!(names.get(2).map(AsRef::as_ref), Some("size" | "spent"));
                (PathRoot::Account(self.row_number("budget", second, span)), 2)
            }
            _ => {
                let list = self.list_prefix(&names);
                if list.is_none() {
                    self.check_path(&fixed, span);
                }
                (PathRoot::Scene { list }, 0)
            }
        };
        let depends = match first {
            "table" | "code" => self.dependencies.table(if first == "code" { first } else { second }),
            _ => self.dependencies.path(&fixed),
        };
        let segs = segs.into_iter().skip(used).collect();
        Expr::Path(Arc::new(ScenePath::new(text.into(), root, segs, depends)))
    }

    fn is_budget(&self, name: &str) -> bool {
        self.pack.tables.get("budget").is_some_and(|rows| rows.contains_key(name))
    }

    /// Reports a path of the scene that no row declares, or that is a declared one with a slip.
    pub fn check_path(&mut self, path: &str, span: Span) {
        if self.tested {
            return;
        }
        if !self.names.knows_path(path) {
            self.unknown_path(path, span);
        } else if let Some(near) = self.names.near_sibling(path, &self.report.words).map(str::to_owned) {
            let help = Some(Help::possible(path, &near).or_else_do("otherwise declare it as a [[path]] row"));
            self.fail_for_row((&["path"], path), Code::NameUnknown, span, format!("no row declares `{path}`"), help);
        }
    }

    /// A row type that has a field of this name: that of the items at hand, or else the first one.
    pub(super) fn row_type_of_field(&self, name: &str) -> Option<Arc<str>> {
        let own = self.types().unwrap_or_default();
        let has = |of: &&Arc<str>| self.names.fields.get(*of).is_some_and(|fields| fields.contains_key(name));
        own.iter().find(has).or_else(|| self.names.fields.keys().find(has)).cloned()
    }

    /// The longest list name that is a prefix of a path, and how many steps the name takes.
    pub fn list_prefix(&self, names: &[Arc<str>]) -> Option<(usize, usize)> {
        (1..=names.len()).rev().find_map(|n| {
            let name = names.get(..n)?.join(".");
            self.list_number(&name).map(|id| (id, n))
        })
    }

    /// An `@field`.
    pub fn field(&mut self, text: &str, span: Span, node: &DocumentNode, offset: usize) -> Expr {
        let (mut up, mut text) = (0, text);
        while let Some(rest) = text.strip_prefix("outer").filter(|rest| rest.is_empty() || rest.starts_with('.')) {
            up += 1;
            text = rest.strip_prefix('.').unwrap_or(rest);
        }
        let mut segs = self.segs(text, node, offset).into_iter();
        let field = match segs.next() {
            Some(PathSegment::Name(name)) => Some(name),
            _ => None,
        };
        if let Some(name) = &field {
            self.check_field(up, name, span);
        } else if self.scope(up).is_none() {
            self.fail(Code::ReferenceBad, span, "there is no item here that `@` could mean", Some("use a `$path` of the scene".into()));
        }
        let field = field.map(|name| (self.fields.intern(&name), name));
        Expr::Field(FieldRef { up, field, rest: segs.collect() })
    }

    fn scope(&self, up: u8) -> Option<&ItemScope> {
        self.scopes.iter().rev().nth(usize::from(up)).filter(|s| !matches!(s, ItemScope::None))
    }

    /// Whether a meaning of `@` is that of the place which uses the fact or value that is being compiled. A fact may look at
    /// fields that only some of the items have that it is used for.
    fn is_around_name(&self, up: u8) -> bool {
        let at = self.scopes.len().checked_sub(usize::from(up) + 1);
        at.is_some_and(|at| self.naming.is_around(at))
    }

    /// Whether there is an item that `@` can refer to.
    #[must_use]
    pub fn has_item(&self) -> bool {
        self.scope(0).is_some()
    }

    /// How many levels up the item is that expressions call `item`: the one around the elements of a field, or around the items of
    /// the innermost query or place. Of a fact or named value, only its own item.
    pub(super) fn item_around(&self) -> Option<usize> {
        let here = self.scopes.len();
        match self.outside_elements {
            Some(outside) => Some(here.saturating_sub(outside)),
            None => (self.scope(1).is_some() && !self.naming.is_around(here.saturating_sub(1))).then_some(1),
        }
    }

    /// Whether items here may have a field; reports an error if not.
    pub fn check_field(&mut self, up: u8, name: &str, span: Span) {
        self.reads_index |= name == "index";
        if self.tested {
            return;
        }
        let types = match self.scope(up) {
            None => {
                let help = Some(format!("`@{name}` needs an item at hand; a path of the scene is written `${name}`").into());
                self.fail(Code::ReferenceBad, span, format!("there is no item here that `@{name}` could belong to"), help);
                return;
            }
            Some(ItemScope::Any) => return,
            Some(ItemScope::Table(table)) if self.knows_columns(table) && !self.is_around_name(up) => {
                let table = table.clone();
                // what every item has
                if !self.names.knows_field(Some(&[]), name) {
                    self.check_column(&table, name, span);
                }
                return;
            }
            Some(ItemScope::Args(names)) => {
                let names = names.clone();
                self.check_argument(&names, name, span);
                return;
            }
            Some(ItemScope::Rows(rows)) => Some(rows.clone()),
            _ => None,
        };
        if !self.names.knows_field(types.as_deref(), name) {
            let known: Vec<String> = self.names.field_names(types.as_deref()).map(str::to_owned).collect();
            let of = types.map(|t| format!("`{}` items have no", t.join("` or `")));
            let near = self.report.words.help(name, known.iter().map(String::as_str));
            let help = near.or_else(|| Some("declare it as a [[field]] row".into()));
            let message = format!("{} field `{name}`", of.as_deref().unwrap_or("there is no"));
            self.fail_for(name, Code::NameUnknown, span, message, help);
        }
    }

    fn check_argument(&mut self, names: &[Arc<str>], name: &str, span: Span) {
        if !names.iter().any(|known| known.as_ref() == name) {
            let help = self
                .report
                .words
                .help(name, names.iter().map(AsRef::as_ref))
                .or_else(|| Some(format!("declare it: `args = {{ {name} = \"any\" }}`").into()));
            self.fail_for(name, Code::NameUnknown, span, format!("there is no argument `{name}`"), help);
        }
    }

    /// The row types in scope, for the types of fields.
    #[must_use]
    pub fn types(&self) -> Option<Vec<Arc<str>>> {
        match self.scopes.last() {
            Some(ItemScope::Rows(rows)) => Some(rows.clone()),
            _ => None,
        }
    }

    /// The steps of a path: names, and computed ones in `[…]`.
    fn segs(&mut self, text: &str, node: &DocumentNode, offset: usize) -> Vec<PathSegment> {
        let mut out = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let piece =
                if rest.starts_with('[') { rest.find(']').map_or(rest.len(), |n| n + 1) } else { rest.find('.').unwrap_or(rest.len()) };
            let (seg, after) = (rest.get(..piece).unwrap_or(""), rest.get(piece..).unwrap_or(""));
            match seg.strip_prefix('[').and_then(|s| s.strip_suffix(']')) {
                Some(inner) => out.push(PathSegment::Computed(Box::new(self.reference(inner, node, offset)))),
                None if seg.is_empty() => {}
                None => out.push(PathSegment::Name(seg.into())),
            }
            rest = after.strip_prefix('.').unwrap_or(after);
        }
        out
    }
}

/// The declared lists; a list named after the row type of each program always exists.
fn lists(pack: &Pack) -> Vec<ListInfo> {
    let text = |fields: &crate::diag::FieldMap, key: &str| fields.get(key).and_then(|f| f.node.as_text()).map(Arc::from);
    let mut lists: Vec<ListInfo> = Vec::new();
    for row in pack.tables.get("list").into_iter().flatten().map(|(_, r)| r) {
        let rows = match row.fields.get("rows").map(|f| &f.node) {
            Some(node) => node.as_list().unwrap_or(&[]).iter().filter_map(DocumentNode::as_text).map(Arc::from).collect(),
            None => Vec::new(),
        };
        let from = text(&row.fields, "from").map(|f: Arc<str>| Arc::from(f.trim_start_matches('$')));
        lists.push(ListInfo { name: row.name.clone(), rows, from, doc: text(&row.fields, "doc").unwrap_or_default() });
    }
    if lists.is_empty() {
        lists.push(ListInfo { name: "blocks".into(), rows: Vec::new(), from: None, doc: "".into() });
    }
    lists
}

impl CompileContext<'_> {
    /// Reports an error at a position.
    pub fn fail(&mut self, code: Code, span: Span, message: impl Into<String>, help: Option<Help>) {
        self.push(Diagnostic::new(code, message).at(span), help);
    }

    /// The same for a name that an unreadable file may define.
    pub fn fail_for(&mut self, missing: &str, code: Code, span: Span, message: impl Into<String>, help: Option<Help>) {
        self.push(Diagnostic::new(code, message).at(span).missing(missing), help);
    }

    /// The same for the name of a row of one of these tables.
    pub fn fail_for_row(
        &mut self,
        (tables, name): (&[&'static str], &str),
        code: Code,
        span: Span,
        message: impl Into<String>,
        help: Option<Help>,
    ) {
        self.push(Diagnostic::new(code, message).at(span).missing_row(tables, name), help);
    }

    /// Says that what follows is about a row of a table.
    pub fn enter_row(&mut self, table: &str, row: &PackRow) {
        self.rule = self.row_name(table, row);
    }

    /// A row as messages name it, with its layer.
    #[must_use]
    pub fn row_name(&self, table: &str, row: &PackRow) -> String {
        let layer = self.pack.sources.layer(row.patched.last().copied().unwrap_or(row.span));
        if layer.is_empty() { format!("{table} {}", row.name) } else { format!("{table} {}, from layer `{layer}`", row.name) }
    }

    /// Adds a diagnostic about the current rule.
    pub fn warn(&mut self, d: Diagnostic) {
        self.push(d, None);
    }

    /// Whether so many words may be searched for one that a word is a slip of. Says once that they may not.
    pub fn may_look(&mut self, words: usize, at: Span) -> bool {
        let before = self.looked;
        self.looked = before.saturating_add(words);
        if before <= limits::COMPARISONS && self.looked > limits::COMPARISONS {
            let message = "the rules compare so many words with so many declared ones that slips are not looked for from here on";
            self.warn(Diagnostic::warning(Code::BoundExceeded, message).at(at).help("declare fewer `values` or fields"));
        }
        self.looked <= limits::COMPARISONS
    }

    fn push(&mut self, mut d: Diagnostic, help: Option<Help>) {
        if !self.rule.is_empty() {
            d = d.rule(self.rule.clone());
        }
        if let Some(help) = help {
            d = d.help(help);
        }
        // an error inside a named row is reported at the row, and not again for each use
        let same = |told: &Diagnostic| told.code == d.code && told.span == d.span && told.message == d.message;
        if self.naming.is_inside() && self.report.items().iter().any(same) {
            return;
        }
        let [errors, others] = &mut self.found;
        let found = if d.severity == Severity::Error { errors } else { others };
        *found += 1;
        if *found <= limits::RECORDED {
            self.report.push(d);
        }
    }

    /// Reports a name that nothing defines.
    pub fn unknown<'a>(&mut self, what: &str, name: &str, span: Span, known: impl IntoIterator<Item = &'a str>) {
        let help = self
            .report
            .words
            .help(name, known)
            .or_else(|| Some(format!("define it, or see `tapster ops` for every {what} there is").into()));
        self.fail_for_row((tables_of(what), name), Code::NameUnknown, span, format!("there is no {what} `{name}`"), help);
    }

    /// The number of a list. If there is none, reports an error and returns a number that no list has, so that
    /// nothing about its items is checked.
    pub fn list(&mut self, name: &str, span: Span) -> usize {
        if let Some(n) = self.list_number(name) {
            return n;
        }
        let known: Vec<Arc<str>> = self.lists.iter().map(|l| l.name.clone()).collect();
        self.unknown("list", name, span, known.iter().map(AsRef::as_ref));
        // not the first list: its rows would cause further errors about this one
        self.lists.len()
    }

    /// The number of a list, if there is one of this name.
    pub(super) fn list_number(&self, name: &str) -> Option<usize> {
        match self.pack.tables.get("list").filter(|rows| !rows.is_empty()) {
            Some(rows) => rows.get_index_of(name),
            None => self.lists.iter().position(|list| list.name.as_ref() == name),
        }
    }

    /// The number of a row in its table; reports an error if there is none of this name.
    pub fn row_number(&mut self, table: &str, name: &str, span: Span) -> usize {
        let rows = self.pack.tables.get(table);
        if let Some(n) = rows.and_then(|rows| rows.get_index_of(name)) {
            return n;
        }
        self.unknown(table, name, span, rows.into_iter().flat_map(|rows| rows.keys()).map(AsRef::as_ref));
        0
    }

    /// The index of a name in a list of names; reports an error if it is missing.
    pub fn named(&mut self, what: &str, names: &[Arc<str>], name: &str, span: Span) -> usize {
        if let Some(n) = names.iter().position(|a| a.as_ref() == name) {
            return n;
        }
        self.unknown(what, name, span, names.iter().map(AsRef::as_ref));
        0
    }

    /// Reports a path that nothing declares.
    fn unknown_path(&mut self, path: &str, span: Span) {
        if let Some(name) = path.strip_prefix(OPTION).and_then(|rest| rest.strip_prefix('.')) {
            self.unknown_option(name, span);
            return;
        }
        let near = self.report.words.nearest(path, self.names.path_names()).map(Help::from);
        let head = path.split('.').next().unwrap_or(path);
        let name = path.strip_prefix("state.");
        let help = match (near, name) {
            (Some(near), _) => near,
            (None, Some(name)) => format!("declare it: `[[state]]` with `name = \"{name}\"`").into(),
            (None, None) => match self.row_type_of_field(head) {
                Some(of) => {
                    format!("`{head}` is a field of `{of}`: test it in `where`, or write `@{head}` where an item is at hand").into()
                }
                None => "declare it as a [[path]] row, or see `tapster ops --scene` for the paths that there are".into(),
            },
        };
        let what = if name.is_some() { "state" } else { "scene path" };
        let shown = name.unwrap_or(path);
        let rows: (&[&str], _) = if name.is_some() { (&["state"], shown) } else { (&["path"], path) };
        self.fail_for_row(rows, Code::NameUnknown, span, format!("there is no {what} `{shown}`"), Some(help));
    }

    fn unknown_option(&mut self, name: &str, span: Span) {
        let known: Vec<Arc<str>> = self.pack.options.iter().map(|option| option.name.clone()).collect();
        let near = self.report.words.nearest(name, known.iter().map(AsRef::as_ref));
        let help = near.map_or_else(
            || Help::from(format!("declare it in the pack's `pack.toml`: `[options.{name}]`")),
            |near| Help::possible(name, &format!("{OPTION}.{}", near.replacement)),
        );
        self.fail_for_row((&["options"], name), Code::OptionUnknown, span, format!("there is no option `{name}`"), Some(help));
    }

    /// Reports a text that an option is compared with and can never be.
    pub(super) fn check_choice(&mut self, path: &str, word: &str, span: Span) {
        let Some(option) = path.strip_prefix(OPTION).and_then(|rest| self.pack.options.get(rest.strip_prefix('.')?)) else { return };
        let is_literal = !word.starts_with(['$', '@']) && !word.contains("{{");
        let fault = option.refuses(&crate::model::Value::text(word)).filter(|_| is_literal && !word.is_empty());
        if let Some(fault) = fault.filter(|_| option.kind == OptionType::Enum) {
            let message = format!("this never holds: {}", fault.message);
            self.fail(Code::OptionValue, span, message, Some(fault.help));
        }
    }
}

/// The tables whose rows are what a message calls so.
fn tables_of(what: &str) -> &'static [&'static str] {
    match what {
        "budget" => &["budget"],
        "budget group" => &["budget_group"],
        "code" => &["code"],
        "event" => &["event"],
        "fact" => &["fact"],
        "form" => &["form"],
        "format" => &["format"],
        "function" => &["function"],
        "list" => &["list"],
        "pass with `do = \"repeat\"`" => &["pass"],
        "program" => &["program"],
        "cost_model" => &["cost_model"],
        "scene path" => &["path"],
        "stream" => &["stream"],
        "template" => &["template"],
        "value" => &["value"],
        _ => &[],
    }
}
