//! Text languages where a rule file names them: `{ expand = NAME }` and `{ fn = "render", lang = NAME, … }`.

use std::sync::Arc;

use crate::diag::{Code, Node, Span, Table, suggest};
use crate::text::{Language, functions};

use super::cx::Cx;

/// The arguments of `render`.
const ARGUMENTS: [&str; 6] = ["fn", "of", "lang", "with", "values", "unknown"];

impl Cx<'_> {
    /// The language that a node names; complains about any other node.
    pub fn language(&mut self, node: &Node) -> Option<Language> {
        let name = self.literal(node, "a text language");
        let language = Language::named(&name);
        if language.is_none() && node.as_text().is_some() {
            self.unknown("text language", &name, node.span, Language::ALL.map(Language::name));
        }
        language
    }

    /// The language of a call of `render`, and complaints about its other arguments.
    pub(super) fn language_of_call(&mut self, table: &Table, span: Span) -> Option<Language> {
        for (key, field) in table {
            if !ARGUMENTS.contains(&key.as_ref()) {
                let help = suggest::help(key, ARGUMENTS);
                self.fail(Code::SchemaUnknownKey, field.key, format!("`{key}` does not belong to `render`"), help);
            }
        }
        if !table.contains_key("of") {
            self.fail(Code::TermMissing, span, "`render` needs `of`: the text", Some("write `of = \"$card.description\"`".into()));
        }
        let Some(lang) = table.get("lang") else {
            let known = Language::ALL.map(Language::name).join(", ");
            let help = format!("write `lang = \"macro\"`; the languages are {known}");
            self.fail(Code::TermMissing, span, "`render` needs `lang`: the language of the text", Some(help));
            return None;
        };
        if let Some(values) = table.get("values") {
            self.pure_function(&values.node);
        }
        if let Some(unknown) = table.get("unknown").filter(|u| u.node.as_text() != Some("macro")) {
            let help = "write `unknown = \"macro\"`, or leave it out and they stay as they are".to_owned();
            self.fail(Code::TermType, unknown.node.span, "unknown names can only be read as macros", Some(help));
        }
        self.language(&lang.node)
    }

    /// The name of a function of the library that takes nothing but a text.
    pub fn pure_function(&mut self, node: &Node) -> Arc<str> {
        let name = self.literal(node, "a function's name");
        if !functions::find(&name).is_some_and(|f| f.args.iter().all(|(arg, must)| *arg == "of" || !must)) {
            let known = functions::FUNCTIONS.iter().map(|f| f.name);
            self.fail(Code::NameUnknown, node.span, format!("no function `{name}` takes a text alone"), suggest::help(&name, known));
        }
        name
    }
}
