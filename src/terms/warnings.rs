//! The warnings of a build: of passes, of scripts and hooks, and of keys that come from data; and whether warnings are errors.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::{Code, Diagnostic, DiagnosticCode, Help, short};
use crate::model::{Item, Value, item::core};
use crate::text::script::ScriptPlace;

use super::names::ValueType;
use super::{BuildState, EvalFault};

/// By list and undeclared field, the declared field that it is with a slip.
type FieldSuggestions = FxHashMap<(usize, Arc<str>), Option<Arc<str>>>;

/// Whether a warning is accepted.
pub type WarningFilter = Rc<dyn Fn(&Diagnostic) -> bool>;

/// The warnings of a build so far.
#[derive(Default)]
pub struct BuildWarnings {
    /// All of them, in the order in which they were raised.
    pub raised: RefCell<Vec<Diagnostic>>,
    /// Warnings are treated as errors.
    pub strict: bool,
    /// Whether a rule file accepts a warning, so that it is no error either.
    pub accepts: Option<WarningFilter>,
    /// The fields of items that were compared with all declared ones.
    pub(crate) compared: RefCell<FieldSuggestions>,
    /// Those that are raised once in a build.
    once: RefCell<FxHashSet<(Code, String)>>,
    /// Who gave a value of another type than is declared, and for what.
    misfits: RefCell<FxHashSet<(Arc<str>, Arc<str>)>>,
}

/// Who gives a value to a build.
#[derive(Debug, Clone, Copy)]
pub enum ValueOrigin<'a> {
    /// A function of a script.
    Function(&'a str),
    /// A hook of the embedding program, by its id.
    Host(&'a str),
}

impl<'a> ValueOrigin<'a> {
    /// The function, or the id of the hook.
    #[must_use]
    pub fn name(self) -> &'a str {
        match self {
            ValueOrigin::Function(name) | ValueOrigin::Host(name) => name,
        }
    }

    /// What it is, in front of its name.
    fn kind(self) -> &'static str {
        if matches!(self, ValueOrigin::Host(_)) { "the hook " } else { "" }
    }
}

impl BuildState {
    /// Raises a warning of the running pass.
    pub fn warn(&self, code: Code, message: impl Into<String>) {
        self.warn_with(code, message, None, None);
    }

    /// Raises a warning with a code of the registry or of the pack, with a remedy and the row (`table/name`) that
    /// caused it. The position in the pack's files is added when the build returns its warnings.
    pub fn warn_with(&self, code: impl Into<DiagnosticCode>, message: impl Into<String>, help: Option<Help>, row: Option<String>) {
        let warning = self.warning(code, message, help, row);
        self.warnings.raised.borrow_mut().push(warning);
    }

    /// Raises warnings that were found in the data of the build.
    pub fn warn_of(&self, found: Vec<Diagnostic>) {
        for Diagnostic { code, message, help, suggestion, row, .. } in found {
            let warning = self.warning(code, message, help.map(Help::from), row);
            self.warnings.raised.borrow_mut().push(Diagnostic { suggestion, ..warning });
        }
    }

    /// A warning of the running pass.
    fn warning(&self, code: impl Into<DiagnosticCode>, message: impl Into<String>, help: Option<Help>, row: Option<String>) -> Diagnostic {
        let mut warning = Diagnostic::warning(code, message);
        if let Some(help) = help {
            warning = warning.help(help);
        }
        warning.pass = self.pass.borrow().to_string();
        warning.row = row.map(short::cut);
        warning
    }

    /// Warns of a value that is not of the declared type of the field or path that it is for, once in a build for each giver
    /// and name. It is used as it is.
    pub fn check_given(&self, giver: ValueOrigin<'_>, name: &str, kind: ValueType, value: &Value) {
        if value.is_null() || kind.holds(value) {
            return;
        }
        let by = giver.name();
        let name = name.trim_start_matches('$');
        if !self.warnings.misfits.borrow_mut().insert((by.into(), name.into())) {
            return;
        }
        let who = giver.kind();
        let message = format!("{who}`{by}` gives {} for `{name}`, which is declared as `{}`", described(value), kind.word());
        let warning = self.warning(Code::ScriptType, message, Some(wanted(kind).into()), None);
        self.warn_in_script(warning, self.place_of(giver).as_ref());
    }

    /// Warns of a field of an item that is a declared one with a slip, once in a build for each giver and name.
    pub fn misnamed(&self, giver: ValueOrigin<'_>, field: &str, near: &str) {
        if !self.warnings.misfits.borrow_mut().insert((giver.name().into(), field.into())) {
            return;
        }
        let message = format!("{}`{}` sets `{field}`, which no rule reads", giver.kind(), giver.name());
        let warning = self.warning(Code::NameNearly, message, Some(Help::possible(field, near)), None);
        self.warn_in_script(warning, self.place_of(giver).as_ref());
    }

    /// Raises a warning of a function or hook.
    pub fn warn_for(&self, giver: ValueOrigin<'_>, message: String) {
        self.warn_in_script(self.warning(Code::ScriptWarned, message, None, None), self.place_of(giver).as_ref());
    }

    /// Warns of a failure that a pass, a hook or a condition goes on after.
    pub fn warn_failed(&self, message: String, fault: &EvalFault) {
        self.warn_in_script(self.warning(Code::FilterFailed, message, None, None), fault.place.as_deref());
    }

    fn warn_in_script(&self, mut warning: Diagnostic, place: Option<&ScriptPlace>) {
        warning.script = place.map(|place| (place.file.clone(), place.line, place.column));
        self.warnings.raised.borrow_mut().push(warning);
    }

    fn place_of(&self, giver: ValueOrigin<'_>) -> Option<ScriptPlace> {
        match giver {
            ValueOrigin::Function(function) => self.rules.scripts.place(function),
            ValueOrigin::Host(_) => None,
        }
    }

    /// Warns about the key of an item, once per build; the message names the item and its book.
    pub fn warn_of_key(&self, code: Code, item: &Item, key: &str, what: &str) {
        self.warn_once(code, format!("key `{}` of {} {what}", short::word(key), self.named(item)));
    }

    /// Raises a warning unless the same warning was already raised in this build by any pass.
    pub fn warn_once(&self, code: Code, message: String) {
        if self.warnings.once.borrow_mut().insert((code, message.clone())) {
            self.warn(code, message);
        }
    }

    /// The name of an item in messages: its id, its name and its book, as far as it has them.
    fn named(&self, item: &Item) -> String {
        let word = |name: &str| {
            let value = self.rules.fields.id(name).and_then(|f| item.get(f)).map(Value::to_text).unwrap_or_default();
            Some(short::word(&value)).filter(|text| !text.is_empty())
        };
        let id = item.get(core::ID).map(|id| short::word(&id.to_text())).unwrap_or_default();
        let name = word("name").map(|name| format!(" (`{name}`)")).unwrap_or_default();
        let book = word("book").map(|book| format!(" of book `{book}`")).unwrap_or_default();
        format!("entry `{id}`{name}{book}")
    }

    /// Whether a warning that no rule file accepts was raised while warnings are errors.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.warnings.strict && self.refused().is_some()
    }

    /// The first warning that no rule file accepts.
    #[must_use]
    pub fn refused(&self) -> Option<Diagnostic> {
        let accepted = |warning: &Diagnostic| self.warnings.accepts.as_ref().is_some_and(|accepts| accepts(warning));
        self.warnings.raised.borrow().iter().find(|warning| !accepted(warning)).cloned()
    }
}

/// What a value is, in words.
fn described(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "a text",
        Value::Int(_) | Value::Num(_) => "a number",
        Value::Bool(_) => "a truth value",
        Value::List(_) => "a list",
        Value::Map(_) => "a table",
        _ => "another value",
    }
}

/// What a function is to give for a field or path of this type.
fn wanted(kind: ValueType) -> &'static str {
    match kind {
        ValueType::Text => "give a text: `x.to_string()` makes one of any value",
        ValueType::Slot => "give the name of a slot or region",
        ValueType::Group => "give the name of a budget group",
        ValueType::Number => "give a number: `parse_float(x)` makes one of a text",
        ValueType::Integer => "give a whole number: `parse_int(x)` makes one of a text, `x.to_int()` one of another number",
        ValueType::Boolean => "give `true` or `false`",
        ValueType::Table => "give a table: `#{ name: value }`",
        ValueType::Time => "give a time such as \"2026-01-31T20:15:00Z\", or milliseconds since 1970",
        ValueType::Language => "give a language tag such as \"de\" or \"pt-BR\"",
        ValueType::List | ValueType::Any | ValueType::Condition => "give a value of the declared type",
    }
}
