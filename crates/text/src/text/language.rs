//! The text languages, by the names that rule files use for them.

use std::fmt;

/// A language that a text can be written in. `{ expand = NAME }` and `{ fn = "render", lang = NAME }` name one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// `{{name::argument}}`, by the rows of `macros` files.
    Macro,
    /// Only `{{outlet::name}}`: the slots that other blocks are inserted into.
    Outlet,
    /// Handlebars over a table of values; with `unknown = "stays"` a story string.
    Handlebars,
    /// Leaf strings: expressions and blocks, where a mistake makes the text literal.
    Leaf,
    /// Liquid, as LiquidJS renders it.
    Liquid,
}

impl Language {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Macro, Self::Outlet, Self::Handlebars, Self::Leaf, Self::Liquid];

    /// The language with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }

    /// Its name in rule files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Macro => "macro",
            Self::Outlet => "outlet",
            Self::Handlebars => "handlebars",
            Self::Leaf => "leaf",
            Self::Liquid => "liquid",
        }
    }

    /// Whether the language certainly leaves `text` unchanged. This check is cheap, and true for most texts.
    #[must_use]
    pub fn is_plain(self, text: &str) -> bool {
        match self {
            Self::Macro => super::macro_syntax::is_plain(text),
            Self::Liquid => !text.contains("{{") && !text.contains("{%"),
            Self::Outlet | Self::Handlebars | Self::Leaf => !text.contains("{{"),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
