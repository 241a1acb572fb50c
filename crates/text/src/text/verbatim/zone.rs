//! Kinds of zones, and the parts that a text is cut into.

/// A kind of zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Zone {
    /// Between escape tags: `<verbatim>…</verbatim>`, also nested. Without an end it is no zone.
    Escape,
    /// A fenced code block as in CommonMark; without an end it goes to the end of the text.
    CodeFence,
    /// Code between runs of as many backticks, within a paragraph.
    InlineCode,
    /// `{{…}}`, also nested; a block `{{#name}}…{{/name}}` as a whole.
    Macro,
    /// `{%…%}`; from `{% raw %}` to `{% endraw %}` as a whole.
    Liquid,
    /// A tag or a comment; `pre`, `code`, `script` and `style` with all that is in them.
    Html,
    /// An address that begins with `http://`, `https://` or `ftp://`.
    Url,
}

impl Zone {
    /// All kinds, in the order in which they are tried.
    pub const ALL: &'static [Self] = &[Self::Escape, Self::CodeFence, Self::InlineCode, Self::Macro, Self::Liquid, Self::Html, Self::Url];

    /// Its name in rule files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Escape => "escape",
            Self::CodeFence => "code_fence",
            Self::InlineCode => "inline_code",
            Self::Macro => "macro",
            Self::Liquid => "liquid",
            Self::Html => "html",
            Self::Url => "url",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|zone| zone.name() == name)
    }
}

/// A part of a text: a zone, or what stands between zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The kind of zone; nothing for text between zones.
    pub zone: Option<Zone>,
    /// The part as it stands in the text.
    pub text: &'a str,
}
