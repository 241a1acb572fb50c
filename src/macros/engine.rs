//! `[macro_engine]`: how a pack's macros are written and read, as values.

use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Report};
use crate::macros::syntax::MacroSyntax;
use crate::model::{Pack, Value};

/// How a text is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpansionFlavour {
    /// As a tree that is read once; arguments first.
    #[default]
    Nested,
    /// One pass after another.
    Passes,
    /// With a stack of frames, in one walk from left to right.
    Stack,
}

impl ExpansionFlavour {
    /// The flavour of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "nested" => Some(Self::Nested),
            "passes" => Some(Self::Passes),
            "stack" => Some(Self::Stack),
            _ => None,
        }
    }
}

/// What becomes of macros that write, in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteMode {
    /// They are evaluated.
    #[default]
    Run,
    /// They stay as written.
    Keep,
    /// They are removed without being evaluated.
    Remove,
}

impl WriteMode {
    /// The mode of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "run" => Some(Self::Run),
            "keep" => Some(Self::Keep),
            "remove" => Some(Self::Remove),
            _ => None,
        }
    }
}

/// The values of `[macro_engine]`.
#[derive(Debug)]
pub(super) struct EngineRow {
    pub(super) syntax: MacroSyntax,
    pub(super) flavour: ExpansionFlavour,
    pub(super) mode: WriteMode,
    /// An unknown macro is empty instead of staying as written.
    pub(super) empties: bool,
    /// Stores of variables that last for one text.
    pub(super) passing: Vec<Arc<str>>,
    /// Where a scene says the flavour and the mode.
    pub(super) flavour_path: [Arc<str>; 1],
    pub(super) mode_path: [Arc<str>; 1],
}

impl Default for EngineRow {
    fn default() -> Self {
        let (syntax, flavour, mode, empties, passing) = Default::default();
        Self { syntax, flavour, mode, empties, passing, flavour_path: ["macro_flavour".into()], mode_path: ["macro_mode".into()] }
    }
}

impl EngineRow {
    /// Reads the values; `None` for a pack without them.
    pub(super) fn of(values: Option<&Value>) -> Self {
        let mut made = Self { syntax: MacroSyntax::of(values), ..Self::default() };
        let word = |key: &str| values.and_then(|v| v.get(key)).map(Value::to_text).unwrap_or_default();
        made.flavour = ExpansionFlavour::named(&word("flavour")).unwrap_or_default();
        made.mode = WriteMode::named(&word("mode")).unwrap_or_default();
        made.empties = word("unknown").as_ref() == "empty";
        let passing = values.and_then(|v| v.get("passing")).and_then(Value::as_list).unwrap_or(&[]);
        made.passing = passing.iter().map(Value::to_text).collect();
        made
    }

    /// What is wrong with the values, beyond what the schema says.
    pub(super) fn check(&self, pack: &Pack, report: &mut Report) {
        let syntax = &self.syntax;
        let lists = [
            ("separators", &syntax.separators),
            ("rest", &syntax.rest),
            ("operators", &syntax.operators),
            ("steps", &syntax.steps),
            ("outlets", &syntax.outlets),
        ];
        let mut wrong = Vec::new();
        for (key, list) in lists {
            if list.iter().any(|word| word.is_empty()) {
                wrong.push((key, format!("`{key}` contains an empty text, which every text begins with"), "remove the empty text"));
            }
        }
        if !syntax.flags.is_empty() && !syntax.flags.contains(syntax.closer) && self.flavour == ExpansionFlavour::Nested {
            let message = format!("`closer` is `{}`, which `flags` does not contain, so that no block could end", syntax.closer);
            wrong.push(("closer", message, "add the character to `flags`"));
        }
        if let Some(step) = syntax.steps.iter().find(|step| !syntax.operators.contains(step)) {
            wrong.push(("steps", format!("`{step}` is no operator of `operators`"), "add it to `operators`, or remove it from `steps`"));
        }
        let table = pack.values.get("macro_engine").and_then(|f| f.node.as_table());
        for (key, message, help) in wrong {
            let mut d = Diagnostic::new(Code::SchemaValue, message).rule("macro_engine").help(help);
            if let Some(field) = table.and_then(|table| table.get(key)) {
                d = d.at(field.node.span);
            }
            report.push(d);
        }
    }
}
