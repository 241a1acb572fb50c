//! The macro table of a pack, compiled once: rows by number, names and aliases to numbers, and the rewriting of texts.

use std::sync::{Arc, Mutex, PoisonError};

use aho_corasick::AhoCorasick;
use rustc_hash::FxHashMap;

use super::call::{MACRO_FUNCTIONS, MacroFunction};
use super::passes::Passes;
use crate::diag::{Code, Diagnostic, Report, suggest};
use crate::model::{Pack, Value};
use crate::terms::Rules;
use crate::text::macros::{Found, Grammar, MacroLimits, Reading, Shape, Tree};
use crate::text::pattern::Pattern;

/// Most texts that are remembered as they are read.
const MOST_READ: usize = 256;

/// What an argument must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// `-12`
    Integer,
    /// Anything that JavaScript reads as a number; not an empty text.
    Number,
    /// `true` or `false`, `on` or `off`, `1` or `0`.
    Boolean,
}

/// An argument that a macro takes.
#[derive(Debug)]
pub struct Arg {
    /// Its name.
    pub name: Arc<str>,
    /// What it must be.
    pub kind: Kind,
    /// What it is when it is not given.
    pub default: Option<Value>,
    /// Takes all arguments that are left.
    pub list: bool,
}

/// What a macro gives.
pub enum Gives {
    /// A value of the pack, worked out when called.
    Read(Value),
    /// This text.
    Text(Arc<str>),
    /// What a function of the pack's scripts answers.
    Script(Arc<str>),
    /// What a function of the library answers.
    Function(&'static MacroFunction),
}

/// A macro.
pub struct Row {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub id: u32,
    /// What it takes, as the reader of texts sees it.
    pub shape: Shape,
    /// What it gives.
    pub gives: Gives,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// Fixed arguments.
    pub with: FxHashMap<Arc<str>, Value>,
    /// When it counts; nothing for always.
    pub when: Option<Value>,
    /// Stream of its draws.
    pub stream: Arc<str>,
    /// What its draw depends on: a list, or what gives one.
    pub stable: Value,
    /// What it gives is worked out once for each text.
    pub once: bool,
    /// How often it works in one text.
    pub uses: Option<u32>,
    /// The row, for functions that read more of it.
    pub cells: Value,
}

/// A rewriting of whole texts.
struct Rewrite {
    find: Pattern,
    with: Value,
    /// The text must hold this, in any letter case, for the pattern to be tried.
    needs: AhoCorasick,
}

impl Rewrite {
    fn apply(&self, text: &str) -> Option<String> {
        if !self.needs.is_match(text) {
            return None;
        }
        let with = self.with.to_text();
        let put = |hit: &crate::text::pattern::Captures, out: &mut String| {
            let mut rest = with.as_ref();
            while let Some((before, after)) = rest.split_once('$') {
                out.push_str(before);
                let group = after.chars().next().and_then(|c| c.to_digit(10)).filter(|n| *n > 0);
                match group {
                    Some(n) => {
                        let group = hit.groups.get(n as usize - 1).copied().flatten();
                        out.push_str(group.map_or("", |m| m.of(text)));
                        rest = after.get(1..).unwrap_or_default();
                    }
                    None => {
                        out.push('$');
                        rest = after;
                    }
                }
            }
            out.push_str(rest);
        };
        self.find.replace(text, None, put).ok().flatten()
    }
}

/// Rewritings, in their order.
#[derive(Default)]
struct Rewrites {
    list: Vec<Rewrite>,
    needs: Vec<String>,
    /// Finds whether a text holds what any of them needs: few do.
    any: Option<AhoCorasick>,
}

impl Rewrites {
    fn add(&mut self, rewrite: Rewrite, needs: String) {
        self.list.push(rewrite);
        self.needs.push(needs);
    }

    /// To be called when all have been added.
    fn ready(&mut self) {
        self.any = finder(&self.needs).ok();
    }

    /// The text with all of them applied; nothing if none applies.
    fn apply(&self, text: &str) -> Option<String> {
        if self.any.as_ref().is_some_and(|any| !any.is_match(text)) {
            return None;
        }
        let mut done: Option<String> = None;
        for rewrite in &self.list {
            if let Some(next) = rewrite.apply(done.as_deref().unwrap_or(text)) {
                done = Some(next);
            }
        }
        done
    }
}

/// Finds texts in any letter case.
fn finder(needs: &[String]) -> Result<AhoCorasick, aho_corasick::BuildError> {
    AhoCorasick::builder().ascii_case_insensitive(true).build(needs)
}

/// The macros of a pack.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
    names: FxHashMap<Arc<str>, u32>,
    before: Rewrites,
    after: Rewrites,
    /// Texts that have been read.
    read: Mutex<FxHashMap<Arc<str>, Arc<Reading>>>,
    /// Letter case of names matters.
    exact: bool,
    /// An unknown macro is empty instead of staying as written.
    pub empties: bool,
    /// Rows of the ordered flavour.
    passes: Passes,
    /// Texts are expanded in passes unless the scene says otherwise.
    ordered: bool,
}

impl Table {
    /// Compiles the rows of tables `macro` and `rewrite`; complains about those that are wrong.
    #[must_use]
    pub fn compile(rules: &Rules, pack: &Pack) -> (Self, Report) {
        let engine = rules.values.get("macro_engine");
        let word = |key: &str| engine.and_then(|e| e.get(key)).map(Value::to_text).unwrap_or_default();
        let mut table = Self { exact: word("case").as_ref() == "exact", empties: word("unknown").as_ref() == "empty", ..Self::default() };
        let mut report = Report::default();
        let rows = rules.table("macro");
        for cells in rows.as_list().unwrap_or(&[]) {
            let id = u32::try_from(table.rows.len()).unwrap_or(u32::MAX);
            match row(cells, id) {
                Ok(row) => table.rows.push(row),
                Err(wrong) => report.push(complaint(&wrong, "macro", cells, pack)),
            }
        }
        table.index();
        let rewrites = rules.table("rewrite");
        for cells in rewrites.as_list().unwrap_or(&[]) {
            match rewrite(cells) {
                Ok((made, needs)) if cells.get("when").and_then(Value::as_str) == Some("after") => table.after.add(made, needs),
                Ok((made, needs)) => table.before.add(made, needs),
                Err(wrong) => report.push(complaint(&wrong, "rewrite", cells, pack)),
            }
        }
        table.before.ready();
        table.after.ready();
        table.ordered = word("flavour").as_ref() == "passes";
        table.passes = Passes::compile(&table, rules, pack, &mut report);
        (table, report)
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The passes of the ordered flavour.
    pub(super) fn passes(&self) -> &Passes {
        &self.passes
    }

    /// Whether texts are expanded in passes; `said` is the flavour that the scene asks for.
    pub(super) fn is_ordered(&self, said: &str) -> bool {
        match said {
            "passes" => true,
            "nested" => false,
            _ => self.ordered,
        }
    }

    /// A name beats an alias.
    fn index(&mut self) {
        let fold = |name: &str| if self.exact { Arc::from(name) } else { Arc::from(name.to_ascii_lowercase()) };
        for row in &self.rows {
            self.names.insert(fold(&row.name), row.id);
        }
        for row in &self.rows {
            let aliases = row.cells.get("aliases").and_then(Value::as_list).unwrap_or(&[]);
            for alias in aliases {
                self.names.entry(fold(&alias.to_text())).or_insert(row.id);
            }
        }
    }

    /// A row by its number.
    #[must_use]
    pub fn row(&self, id: u32) -> Option<&Row> {
        self.rows.get(id as usize)
    }

    /// A row by its name or an alias.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Row> {
        let id = if self.exact || !name.bytes().any(|b| b.is_ascii_uppercase()) {
            self.names.get(name)
        } else {
            self.names.get(name.to_ascii_lowercase().as_str())
        };
        self.row(*id?)
    }

    /// A text as it is read, remembered.
    pub fn reading(&self, text: &Arc<str>, limits: &MacroLimits) -> Arc<Reading> {
        // a poisoned lock only means that another build stopped while reading; the map is whole
        if let Some(known) = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            return known.clone();
        }
        let marked: Option<Arc<str>> = self.before(text).map(Arc::from);
        let tree = Tree::parse(marked.as_ref().unwrap_or(text), self, limits.depth);
        let made = Arc::new(Reading { marked, tree });
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= MOST_READ {
            read.clear();
        }
        read.insert(text.clone(), made.clone());
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

impl Grammar for Table {
    fn find(&self, name: &str) -> Option<Found> {
        self.named(name).map(|row| Found { id: row.id, shape: row.shape })
    }
}

/// What is wrong with a row: the cell, what is wrong, what to do.
pub(super) struct Wrong {
    pub(super) cell: &'static str,
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

pub(super) fn complaint(wrong: &Wrong, table: &str, cells: &Value, pack: &Pack) -> Diagnostic {
    let name = cells.get("name").map(Value::to_text).unwrap_or_default();
    let mut d = Diagnostic::new(wrong.code, wrong.message.clone()).rule(format!("{table} {name}"));
    if let Some(row) = pack.tables.get(table).and_then(|rows| rows.get(&name)) {
        d = d.at(row.fields.get(wrong.cell).map_or(row.name_span, |f| f.node.span));
    }
    if wrong.code == Code::NameUnknown {
        d = d.missing(cells.get(wrong.cell).map(Value::to_text).unwrap_or_default().as_ref());
    }
    match &wrong.help {
        Some(help) => d.help(help.clone()),
        None => d,
    }
}

/// A row as it is used.
pub(super) fn row(cells: &Value, id: u32) -> Result<Row, Wrong> {
    let name = cells.get("name").map(Value::to_text).unwrap_or_default();
    let args: Vec<&Value> = cells.get("args").and_then(Value::as_list).into_iter().flatten().collect();
    let word = |key: &str| cells.get(key).map(Value::to_text);
    let flag = |of: &Value, key: &str| of.get(key) == Some(&Value::Bool(true));
    let gives = match (cells.get("read"), cells.get("text"), word("script"), word("fn")) {
        (Some(read), ..) => Gives::Read(read.clone()),
        (_, Some(text), ..) => Gives::Text(text.to_text()),
        (_, _, Some(script), _) => Gives::Script(script),
        (.., Some(function)) => Gives::Function(function_named(&function)?),
        _ => Gives::Text("".into()),
    };
    let needed = |a: &&&Value| a.get("default").is_none() && !flag(a, "list") && a.get("required") != Some(&Value::Bool(false));
    let list = args.iter().any(|a| flag(a, "list"));
    let raw = args.iter().enumerate().filter(|(n, a)| *n < 32 && flag(a, "raw")).fold(0, |bits, (n, _)| bits | 1 << n);
    let shape = Shape {
        least: args.iter().filter(needed).count(),
        most: if list { usize::MAX } else { args.len() },
        block: !list && cells.get("block") != Some(&Value::Bool(false)),
        raw,
    };
    let with = cells.get("with").and_then(Value::as_map);
    Ok(Row {
        name,
        id,
        shape,
        gives,
        args: args.iter().map(|a| arg(a)).collect(),
        with: with.into_iter().flat_map(|m| m.iter()).map(|(k, v)| (k.clone(), v.clone())).collect(),
        when: cells.get("when").cloned(),
        stream: word("stream").unwrap_or_else(|| "macro.random".into()),
        stable: cells.get("stable").cloned().unwrap_or_default(),
        once: flag(cells, "once"),
        uses: cells.get("uses").and_then(Value::as_i64).and_then(|n| u32::try_from(n).ok()),
        cells: cells.clone(),
    })
}

fn function_named(name: &str) -> Result<&'static MacroFunction, Wrong> {
    let found = MACRO_FUNCTIONS.binary_search_by(|f| f.name.cmp(name)).ok().and_then(|n| MACRO_FUNCTIONS.get(n));
    found.ok_or_else(|| Wrong {
        cell: "fn",
        code: Code::NameUnknown,
        message: format!("there is no macro function `{name}`"),
        help: suggest::help(name, MACRO_FUNCTIONS.iter().map(|f| f.name))
            .or_else(|| Some("see docs/reference/macros.md for every one".into())),
    })
}

fn arg(cells: &Value) -> Arg {
    let kind = match cells.get("type").and_then(Value::as_str) {
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        _ => Kind::Text,
    };
    Arg {
        name: cells.get("name").map(Value::to_text).unwrap_or_default(),
        kind,
        default: cells.get("default").cloned(),
        list: cells.get("list") == Some(&Value::Bool(true)),
    }
}

fn rewrite(cells: &Value) -> Result<(Rewrite, String), Wrong> {
    let find = cells.get("find").map(Value::to_text).unwrap_or_default();
    let pattern = Pattern::parse(&find).map_err(|e| Wrong {
        cell: "find",
        code: Code::SchemaValue,
        message: format!("the pattern cannot be used: {}", e.reason),
        help: Some("see docs/reference/language/conditions.md for the patterns that there are".into()),
    })?;
    let needs = cells.get("needs").map_or_else(|| find.clone(), Value::to_text);
    if needs.is_empty() {
        let message = "a rewriting needs a text to look for".to_owned();
        return Err(Wrong {
            cell: "needs",
            code: Code::TermMissing,
            message,
            help: Some("add `needs = …`: what every match holds".into()),
        });
    }
    let needs = needs.to_string();
    let found = finder(std::slice::from_ref(&needs)).map_err(|e| Wrong {
        cell: "needs",
        code: Code::SchemaValue,
        message: format!("the text cannot be looked for: {e}"),
        help: Some("write a shorter text that every match holds".into()),
    })?;
    Ok((Rewrite { find: pattern, with: cells.get("with").cloned().unwrap_or_default(), needs: found }, needs))
}
