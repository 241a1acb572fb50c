//! Zones of a text that must stay as they are: code, macros, tags of Liquid and HTML, addresses, and whatever an author
//! has put between escape tags. A masker finds them, puts placeholders in their place, and puts them back.
//!
//! Which kinds of zones count and how escape tags are called are options, so that a pack decides. At each position the
//! kinds are tried in the order of [`Zone::ALL`], and the leftmost zone wins. Every scanner remembers what it has
//! looked at, so that the time is linear in the length of the text whatever the text is.

mod code;
mod html;

use std::collections::{HashMap, HashSet};

/// Finds and masks zones.
#[derive(Debug, Clone)]
pub struct VerbatimMasker {
    zones: Vec<Zone>,
    escape_tags: Vec<String>,
}

impl Default for VerbatimMasker {
    /// All kinds of zones, and the escape tag `verbatim`.
    fn default() -> Self {
        Self::new(Zone::ALL, ["verbatim"])
    }
}

impl VerbatimMasker {
    /// A masker for these kinds of zones, in whatever order they are given, and with these names of escape tags.
    #[must_use]
    pub fn new(zones: &[Zone], escape_tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let zones = Zone::ALL.iter().copied().filter(|zone| zones.contains(zone)).collect();
        Self { zones, escape_tags: escape_tags.into_iter().map(Into::into).collect() }
    }

    /// The text cut into zones and what stands between them. Put together again, the parts are the text.
    #[must_use]
    pub fn split<'a>(&self, text: &'a str) -> Vec<Segment<'a>> {
        let mut scan = ZoneScan::new(self, text);
        let mut parts = Vec::new();
        let (mut at, mut plain) = (0, 0);
        let mut push = |zone, from: usize, to: usize| {
            if let Some(text) = text.get(from..to).filter(|part| !part.is_empty()) {
                parts.push(Segment { zone, text });
            }
        };
        while at < text.len() {
            if let Some((zone, end)) = scan.zone(at) {
                push(None, plain, at);
                push(Some(zone), at, end);
                (at, plain) = (end, end);
            } else {
                at += scan.passed(at);
            }
        }
        push(None, plain, text.len());
        parts
    }

    /// The text with a placeholder for each zone.
    #[must_use]
    pub fn mask(&self, text: &str) -> MaskedText {
        MaskedText::new(text, &self.split(text))
    }
}

/// The scanners of one text; each does its own preparation when its first character turns up.
struct ZoneScan<'a> {
    zones: &'a [Zone],
    bytes: &'a [u8],
    text: &'a str,
    escapes: EscapeZones<'a>,
    code: code::CodeZones<'a>,
    braces: code::BraceZones<'a>,
    html: html::HtmlZones<'a>,
}

impl<'a> ZoneScan<'a> {
    fn new(masker: &'a VerbatimMasker, text: &'a str) -> Self {
        Self {
            zones: &masker.zones,
            bytes: text.as_bytes(),
            text,
            escapes: EscapeZones::new(text, &masker.escape_tags),
            code: code::CodeZones::new(text, masker.zones.contains(&Zone::CodeFence)),
            braces: code::BraceZones::new(text),
            html: html::HtmlZones::new(text),
        }
    }

    /// The zone that begins here, and its end.
    fn zone(&mut self, at: usize) -> Option<(Zone, usize)> {
        let byte = *self.bytes.get(at)?;
        let zones = self.zones;
        zones.iter().find_map(|zone| {
            let end = match (zone, byte) {
                (Zone::Escape, b'<') => self.escapes.at(at),
                (Zone::CodeFence, b' ' | b'`' | b'~') => self.code.fence(at),
                (Zone::InlineCode, b'`') => self.code.inline(at),
                (Zone::Macro, b'{') => self.braces.macro_at(at),
                (Zone::Liquid, b'{') => self.braces.liquid(at),
                (Zone::Html, b'<') => self.html.at(at),
                (Zone::Url, b'h' | b'H' | b'f' | b'F') => html::url_at(self.text, at),
                _ => None,
            };
            end.filter(|end| *end > at).map(|end| (*zone, end))
        })
    }

    /// How many bytes to pass over where no zone begins: an escaped backtick and a run of backticks stay whole.
    fn passed(&self, at: usize) -> usize {
        match (self.bytes.get(at), self.bytes.get(at + 1)) {
            (Some(b'\\'), Some(b'\\' | b'`')) => 2,
            (Some(b'`'), _) => self.bytes.iter().skip(at).take_while(|b| **b == b'`').count(),
            _ => 1,
        }
    }
}

// Kinds of zones, and the parts that a text is cut into.

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

// Placeholders in the place of zones, and back.

/// What opens and closes a placeholder.
const OPEN: char = '⟦';
const CLOSE: char = '⟧';
/// What stands between, as often as it takes to be unlike everything in the text.
const FILL: char = 'v';

/// A text whose zones are placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedText {
    text: String,
    zones: Vec<(Zone, String)>,
    /// What every placeholder begins with, and nothing else in the text.
    mark: String,
}

/// A placeholder that did not come back as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceholderProblem {
    /// The placeholder of this zone is not there.
    #[error("the placeholder of zone {0} is missing")]
    Missing(usize),
    /// The placeholder of this zone is there more than once.
    #[error("the placeholder of zone {0} stands there more than once")]
    Repeated(usize),
    /// There is no zone with this number.
    #[error("there is a placeholder {0}, but no such zone")]
    Unknown(usize),
}

impl PlaceholderProblem {
    /// The kind in a word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing(_) => "token_missing",
            Self::Repeated(_) => "token_repeated",
            Self::Unknown(_) => "token_unknown",
        }
    }

    /// The number of the placeholder, from 0.
    #[must_use]
    pub fn token(self) -> usize {
        match self {
            Self::Missing(n) | Self::Repeated(n) | Self::Unknown(n) => n,
        }
    }
}

impl MaskedText {
    fn new(text: &str, parts: &[Segment<'_>]) -> Self {
        let mut masked = Self { text: String::with_capacity(text.len()), zones: Vec::new(), mark: mark(text) };
        for part in parts {
            if let Some(zone) = part.zone {
                let placeholder = masked.placeholder(masked.zones.len());
                masked.text.push_str(&placeholder);
                masked.zones.push((zone, part.text.to_owned()));
            } else {
                masked.text.push_str(part.text);
            }
        }
        masked
    }

    /// The text with placeholders.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The zones in order, each as it stood in the text.
    #[must_use]
    pub fn zones(&self) -> &[(Zone, String)] {
        &self.zones
    }

    /// The placeholder of the zone with this number.
    #[must_use]
    pub fn placeholder(&self, number: usize) -> String {
        format!("{}{number}{CLOSE}", self.mark)
    }

    /// The text again. Placeholders may have moved, but each must be there exactly once.
    ///
    /// # Errors
    /// All problems: those of the zones in their order, then placeholders without a zone in the order of the text.
    pub fn unmask(&self, edited: &str) -> Result<String, Vec<PlaceholderProblem>> {
        let mut out = String::with_capacity(edited.len());
        let mut seen = vec![0_usize; self.zones.len()];
        let mut unknown: Vec<usize> = Vec::new();
        let mut rest = edited;
        while let Some((before, after)) = rest.split_once(&self.mark) {
            out.push_str(before);
            if let Some((number, behind)) = numbered(after) {
                match (self.zones.get(number), seen.get_mut(number)) {
                    (Some((_, raw)), Some(times)) => {
                        *times += 1;
                        out.push_str(raw);
                    }
                    _ => unknown.push(number),
                }
                rest = behind;
            } else {
                out.push_str(&self.mark);
                rest = after;
            }
        }
        out.push_str(rest);
        let problem = |(number, times): (usize, &usize)| match times {
            0 => Some(PlaceholderProblem::Missing(number)),
            1 => None,
            _ => Some(PlaceholderProblem::Repeated(number)),
        };
        let mut problems: Vec<_> = seen.iter().enumerate().filter_map(problem).collect();
        let mut told = std::collections::HashSet::new();
        problems.extend(unknown.into_iter().filter(|number| told.insert(*number)).map(PlaceholderProblem::Unknown));
        if problems.is_empty() { Ok(out) } else { Err(problems) }
    }
}

/// The number at the start of what stands behind a mark, and what stands behind the placeholder.
fn numbered(after: &str) -> Option<(usize, &str)> {
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = after.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest.strip_prefix(CLOSE)?))
}

/// A mark that nothing in the text is like: one letter more than behind any such bracket in it.
fn mark(text: &str) -> String {
    let longest = text.split(OPEN).skip(1).map(|after| after.chars().take_while(|c| *c == FILL).count()).max().unwrap_or(0);
    std::iter::once(OPEN).chain(std::iter::repeat_n(FILL, longest + 1)).collect()
}

// Zones between escape tags, whose names are options.

/// The escape tags of a text.
struct EscapeZones<'a> {
    text: &'a str,
    names: HashSet<&'a str>,
    /// The longest name, in bytes.
    longest: usize,
    /// Where an opening tag begins, and where the zone ends.
    pairs: Option<HashMap<usize, usize>>,
}

impl<'a> EscapeZones<'a> {
    fn new(text: &'a str, names: &'a [String]) -> Self {
        let names: HashSet<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let longest = names.iter().map(|name| name.len()).max().unwrap_or(0);
        Self { text, names, longest, pairs: None }
    }

    /// The end of the zone whose opening tag stands here.
    fn at(&mut self, at: usize) -> Option<usize> {
        if self.names.is_empty() {
            return None;
        }
        if self.pairs.is_none() {
            self.pairs = Some(self.paired());
        }
        self.pairs.as_ref()?.get(&at).copied()
    }

    /// Tags of one name are paired from the inside outwards.
    fn paired(&self) -> HashMap<usize, usize> {
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut pairs = HashMap::new();
        for (start, _) in self.text.match_indices('<') {
            let Some(rest) = self.text.get(start + 1..) else { continue };
            let inside = rest.strip_prefix('/').unwrap_or(rest);
            let Some(length) = inside.bytes().take(self.longest + 1).position(|b| b == b'>') else { continue };
            let Some(name) = inside.get(..length).and_then(|name| self.names.get(name)) else { continue };
            if inside.len() == rest.len() {
                open.entry(name).or_default().push(start);
            } else if let Some(from) = open.get_mut(name).and_then(Vec::pop) {
                pairs.insert(from, start + length + 3);
            }
        }
        pairs
    }
}
