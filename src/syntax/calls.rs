//! `{ fn = "template", of = id, … }`, `{ fn = "render", lang = NAME, … }` and `{ expand = NAME }`: the checks of a call that are
//! possible at compile time.

use super::context::CompileContext;
use crate::diag::{Code, DocumentNode, FieldMap, Span};
use crate::terms::names::is_reference;
use crate::text::{Language, functions};

/// The arguments of the function.
const TEMPLATE_ARGUMENTS: [&str; 5] = ["of", "task", "budget", "cost_model", "data"];

impl CompileContext<'_> {
    /// Reports unknown arguments, and templates, tasks and rulers that no row defines.
    pub(super) fn check_template(&mut self, table: &FieldMap) {
        for (key, field) in table {
            if key.as_ref() != "fn" && !TEMPLATE_ARGUMENTS.contains(&key.as_ref()) {
                let help = self
                    .report
                    .words
                    .help(key, TEMPLATE_ARGUMENTS)
                    .or_else(|| Some(format!("its arguments are {}", TEMPLATE_ARGUMENTS.join(", ")).into()));
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to `template`"), help);
            }
        }
        if !table.contains_key("of") {
            let span = table.get("fn").map(|f| f.node.span).unwrap_or_default();
            self.fail(Code::TermMissing, span, "`template` needs `of`: the id of a template", Some("write `of = \"ID\"`".into()));
        }
        for (key, rows) in [("of", "template"), ("cost_model", "cost_model")] {
            let Some(node) = table.get(key).map(|f| &f.node) else { continue };
            if let Some(name) = literal(node) {
                self.row_number(rows, name, node.span);
            }
        }
    }
}

/// A text that is not a reference and contains none.
fn literal(node: &DocumentNode) -> Option<&str> {
    node.as_text().filter(|text| !is_reference(text) && !text.contains("{{") && !text.starts_with('$'))
}

/// The arguments of `render`.
const RENDER_ARGUMENTS: [&str; 8] = ["fn", "of", "lang", "with", "values", "unknown", "flavour", "mode"];

/// How the languages that have a choice may treat names that they do not know.
const UNKNOWN: [(Language, &[&str]); 2] = [(Language::Handlebars, &["macro", "stays"]), (Language::Liquid, &["error"])];

/// The flavours of macros.
const FLAVOURS: [&str; 3] = ["nested", "passes", "stack"];

/// What becomes of macros that write.
const MODES: [&str; 3] = ["run", "keep", "remove"];

impl CompileContext<'_> {
    /// The language that `node` names. Reports options in `table` that do not belong to it. Any other name is an error.
    pub fn language(&mut self, node: &DocumentNode, table: &FieldMap) -> Option<Language> {
        let name = self.literal(node, "a text language");
        let language = Language::named(&name);
        if language.is_none() && node.as_text().is_some() {
            self.unknown("text language", &name, node.span, Language::ALL.map(Language::name));
        }
        let language = language?;
        let choices: &[&str] = UNKNOWN.iter().find(|(of, _)| *of == language).map_or(&[], |(_, words)| words);
        let macros = language == Language::Macro;
        let options = [
            ("values", "`macro`", macros),
            ("flavour", "`macro`", macros),
            ("mode", "`macro`", macros),
            ("unknown", "`handlebars` and `liquid`", !choices.is_empty()),
        ];
        for (key, of, fits) in options {
            if let Some(field) = table.get(key).filter(|_| !fits) {
                let help = Some(format!("leave `{key}` out").into());
                self.fail(Code::TermType, field.key, format!("`{key}` is for {of}, not for `{language}`"), help);
            }
        }
        if let Some(values) = table.get("values") {
            self.pure_function(&values.node);
        }
        if let Some(unknown) = table.get("unknown") {
            let name = self.literal(&unknown.node, "what becomes of unknown names");
            if unknown.node.as_text().is_some() && !choices.is_empty() && !choices.contains(&name.as_ref()) {
                let help = match language {
                    Language::Liquid => "write `error` to make an unknown name an error, or leave it out: then it is nothing",
                    _ => "write `macro` to read names as macros, or `stays` to leave every unknown tag as it is written",
                };
                self.fail(Code::TermType, unknown.node.span, format!("`unknown` cannot be `{name}`"), Some(help.into()));
            }
        }
        if let Some(flavour) = table.get("flavour") {
            let name = self.literal(&flavour.node, "the flavour of the macros");
            if flavour.node.as_text().is_some() && !FLAVOURS.contains(&name.as_ref()) {
                let help = "write `nested` to read the text as a tree, `passes` for one row of `macro_pass` after another, or `stack`";
                self.fail(Code::TermType, flavour.node.span, format!("`flavour` cannot be `{name}`"), Some(help.into()));
            }
        }
        if let Some(mode) = table.get("mode") {
            let name = self.literal(&mode.node, "what becomes of macros that write");
            if mode.node.as_text().is_some() && !MODES.contains(&name.as_ref()) {
                let help = "write `run` to evaluate them, `keep` to leave them as they are written, or `remove`";
                self.fail(Code::TermType, mode.node.span, format!("`mode` cannot be `{name}`"), Some(help.into()));
            }
        }
        Some(language)
    }

    /// The language of a call of `render`; reports errors in its other arguments.
    pub(super) fn language_of_call(&mut self, table: &FieldMap, span: Span) -> Option<Language> {
        for (key, field) in table {
            if !RENDER_ARGUMENTS.contains(&key.as_ref()) {
                let help = self.report.words.help(key, RENDER_ARGUMENTS);
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to `render`"), help);
            }
        }
        if !table.contains_key("of") {
            self.fail(Code::TermMissing, span, "`render` needs `of`: the text", Some("write `of = \"$card.description\"`".into()));
        }
        let Some(lang) = table.get("lang") else {
            let known = Language::ALL.map(Language::name).join(", ");
            let help = format!("write `lang = \"macro\"`; the languages are {known}");
            self.fail(Code::TermMissing, span, "`render` needs `lang`: the language of the text", Some(help.into()));
            return None;
        };
        self.language(&lang.node, table)
    }

    /// Reports a name that is not a library function which takes only a text.
    fn pure_function(&mut self, node: &DocumentNode) {
        let name = self.literal(node, "a function's name");
        if !functions::find(&name).is_some_and(|f| f.args.iter().all(|(arg, must)| *arg == "of" || !must)) {
            let known = functions::FUNCTIONS.iter().map(|f| f.name);
            self.fail(
                Code::NameUnknown,
                node.span,
                format!("no function `{name}` takes a text alone"),
                self.report.words.help(&name, known),
            );
        }
    }
}
