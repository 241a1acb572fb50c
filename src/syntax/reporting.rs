//! How the compiler reports: at the place of a rule, each mistake once, names with the nearest known one, and all of it
//! within bounds, because a pack may have very many names and very many mistakes.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Help, Severity, Span, limits};
use crate::model::OptionType;
use crate::model::options::TABLE as OPTION;
use crate::model::pack::PackRow;

use super::context::CompileContext;

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
    pub(super) fn unknown_path(&mut self, path: &str, span: Span) {
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
}

impl CompileContext<'_> {
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
        "account" => &["account"],
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
        "ruler" => &["ruler"],
        "scene path" => &["path"],
        "stream" => &["stream"],
        "template" => &["template"],
        "value" => &["value"],
        _ => &[],
    }
}
