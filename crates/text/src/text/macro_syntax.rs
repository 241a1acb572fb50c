//! How macros are written: what the flavours have in common, as values and not as constants; and what can be said of a text
//! without reading it.
//!
//! A pack sets them in `[macro_engine]`; the defaults are those of the flavour `nested`.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::model::Value;
use crate::text::js;

/// The values of a pack that say how macros are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacroSyntax {
    /// What stands between the name and the arguments, and between arguments.
    pub separators: Vec<Box<str>>,
    /// After one of these, everything that follows is one argument. A blank stands for white space.
    pub rest: Vec<Box<str>>,
    /// White space around an argument does not belong to it.
    pub trim: bool,
    /// Characters that do not count in names. A blank stands for white space.
    pub drop: Box<str>,
    /// Letter case of names matters.
    pub exact: bool,
    /// Characters that may stand before a name.
    pub flags: Box<str>,
    /// The flag of the end of a block.
    pub closer: char,
    /// The flag that keeps white space of a body.
    pub keeps: Option<char>,
    /// Characters of which one begins a variable shorthand; the macro of that name evaluates it.
    pub marks: Box<str>,
    /// Operators of a variable shorthand, the longer ones first.
    pub operators: Vec<Box<str>>,
    /// Operators that nothing follows.
    pub steps: Vec<Box<str>>,
    /// The end of a body that no macro takes is written as its braces alone.
    pub short_ends: bool,
    /// Texts that count as false, in lower case, besides the empty text.
    pub falsy: Vec<Box<str>>,
    /// Characters that begin the tag of a block.
    pub openers: Box<str>,
    /// What stands for the tag of a block that is never closed; nothing for the tag itself.
    pub unclosed: Option<Box<str>>,
    /// The mark of a block in one tag: `#` for `{#name …#}`.
    pub inline: Option<u8>,
    /// Names of the macro that shows an outlet, in lower case.
    pub outlets: Vec<Box<str>>,
}

fn words(words: &[&str]) -> Vec<Box<str>> {
    words.iter().map(|word| (*word).into()).collect()
}

impl Default for MacroSyntax {
    fn default() -> Self {
        Self {
            separators: words(&["::"]),
            rest: words(&[":", " "]),
            trim: true,
            drop: "".into(),
            exact: false,
            flags: "!?~#>/".into(),
            closer: '/',
            keeps: Some('#'),
            marks: ".$".into(),
            operators: words(&["||=", "??=", "++", "--", "+=", "-=", "||", "??", "==", "!=", ">=", "<=", ">", "<", "="]),
            steps: words(&["++", "--"]),
            short_ends: false,
            falsy: words(&["false", "off", "0"]),
            openers: "#:".into(),
            unclosed: None,
            inline: Some(b'#'),
            outlets: words(&["outlet", "slot"]),
        }
    }
}

impl MacroSyntax {
    /// The values of `[macro_engine]` over the defaults.
    #[must_use]
    pub fn of(values: Option<&Value>) -> Self {
        let mut made = Self::default();
        let Some(values) = values else { return made };
        let text = |key: &str| values.get(key).and_then(Value::as_str);
        let words = |key: &str, into: &mut Vec<Box<str>>| {
            if let Some(list) = values.get(key).and_then(Value::as_list) {
                *into = list.iter().map(|word| word.to_text().as_ref().into()).collect();
            }
        };
        words("separators", &mut made.separators);
        words("rest", &mut made.rest);
        words("operators", &mut made.operators);
        words("steps", &mut made.steps);
        words("falsy", &mut made.falsy);
        words("outlets", &mut made.outlets);
        made.operators.sort_by_key(|operator| usize::MAX - operator.len());
        for (key, into) in
            [("drop", &mut made.drop), ("flags", &mut made.flags), ("marks", &mut made.marks), ("openers", &mut made.openers)]
        {
            if let Some(text) = text(key) {
                *into = text.into();
            }
        }
        if let Some(closer) = text("closer").and_then(|text| text.chars().next()) {
            made.closer = closer;
        }
        if let Some(keeps) = text("keeps") {
            made.keeps = keeps.chars().next();
        }
        made.unclosed = text("unclosed").map(Into::into);
        if let Some(mark) = text("inline") {
            made.inline = mark.bytes().next().filter(|mark| mark.is_ascii_punctuation() && !b"{}".contains(mark));
        }
        if let Some(Value::Bool(trim)) = values.get("trim_arguments") {
            made.trim = *trim;
        }
        made.short_ends = matches!(values.get("short_ends"), Some(Value::Bool(true)));
        made.exact = text("case") == Some("exact");
        made
    }

    /// A name as it is compared: without the characters that do not count, and in lower case unless case matters.
    #[must_use]
    pub fn folded<'n>(&self, name: &'n str) -> Cow<'n, str> {
        let kept = |b: u8| b.is_ascii() && (self.exact || !b.is_ascii_uppercase());
        let plain = |b: u8| b.is_ascii_alphanumeric() || self.drop.is_empty() || !self.drops(char::from(b));
        if name.bytes().all(|b| kept(b) && plain(b)) {
            return Cow::Borrowed(name);
        }
        let named: String = name.chars().filter(|c| !self.drops(*c)).collect();
        Cow::Owned(if self.exact { named } else { named.to_lowercase() })
    }

    fn drops(&self, c: char) -> bool {
        !self.drop.is_empty() && (self.drop.contains(c) || js::is_space(c) && self.drop.contains(' '))
    }

    /// Whether a text counts as false.
    #[must_use]
    pub fn is_off(&self, text: &str) -> bool {
        text.is_empty() || {
            let word = js::trim(text).to_lowercase();
            self.falsy.iter().any(|falsy| **falsy == *word)
        }
    }

    /// The separator that stands first in a text, and its place; of several at one place the longest.
    #[must_use]
    pub fn first_separator(&self, text: &str) -> Option<(usize, &str)> {
        let found = self.separators.iter().filter_map(|sep| Some((text.find(sep.as_ref())?, sep.as_ref())));
        found.min_by_key(|(at, sep)| (*at, usize::MAX - sep.len()))
    }

    /// The separator that a text begins with; of several the longest.
    #[must_use]
    pub fn separator_at(&self, text: &str) -> Option<&str> {
        longest(&self.separators, text)
    }

    /// How long the mark is that a text begins with, after which everything is one argument.
    #[must_use]
    pub fn rest_at(&self, text: &str) -> Option<usize> {
        longest(&self.rest, text).map(str::len)
    }

    /// Whether white space parts a name from one argument.
    #[must_use]
    pub fn parts_at_space(&self) -> bool {
        self.rest.iter().any(|mark| mark.as_ref() == " ")
    }
}

fn longest<'s>(words: &'s [Box<str>], text: &str) -> Option<&'s str> {
    words.iter().map(AsRef::as_ref).filter(|word: &&str| text.starts_with(*word)).max_by_key(|word| word.len())
}

/// The name at the start of a text: `//`, or a letter and then letters, digits, `_`, `-`.
#[must_use]
pub fn name_of(text: &str) -> &str {
    if text.starts_with("//") {
        return "//";
    }
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return "";
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-')).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Whether a text can hold neither a macro, nor an escaped brace, nor a marker of an older syntax.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    memchr::memchr3(b'{', b'}', b'<', text.as_bytes()).is_none()
}

/// Whether a text may call one of the macros `names` (as they are compared), judged by a scan. A variable shorthand such
/// as `{{.name = 1}}` counts as the macro `.`, `{{$name}}` as `$`. It may also return true for a macro that is never
/// reached.
#[must_use]
pub fn may_have_effects<S: BuildHasher>(text: &str, names: &std::collections::HashSet<Arc<str>, S>, syntax: &MacroSyntax) -> bool {
    // most messages hold no brace at all, and a long chat has many
    memchr::memchr(b'{', text.as_bytes()).is_some()
        && text.match_indices("{{").any(|(at, _)| {
            let inside = text
                .get(at + 2..)
                .unwrap_or_default()
                .trim_start_matches(|c: char| c == '{' || syntax.flags.contains(c) || c.is_whitespace());
            let mark = inside.get(..1).filter(|mark| syntax.marks.contains(mark));
            // what does not count in names may stand in them, and what parts a name from its arguments ends it
            let named = || match syntax.drop.is_empty() {
                true => name_of(inside),
                false => inside.split_once([':', '}', '{']).map_or("", |(name, _)| name),
            };
            let name = mark.map_or_else(|| syntax.folded(named()), Into::into);
            !name.is_empty() && names.contains(name.as_ref())
        })
}
