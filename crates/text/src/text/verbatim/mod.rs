//! Zones of a text that must stay as they are: code, macros, tags of Liquid and HTML, addresses, and whatever an author
//! has put between escape tags. A masker finds them, puts placeholders in their place, and puts them back.
//!
//! Which kinds of zones count and how escape tags are called are options, so that a pack decides. At each position the
//! kinds are tried in the order of [`Zone::ALL`], and the leftmost zone wins. Every scanner remembers what it has
//! looked at, so that the time is linear in the length of the text whatever the text is.

mod braces;
mod code;
mod escape;
mod html;
mod mask;
mod url;
mod zone;

pub use mask::{MaskedText, PlaceholderProblem};
pub use zone::{Segment, Zone};

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
    escapes: escape::EscapeZones<'a>,
    code: code::CodeZones<'a>,
    braces: braces::BraceZones<'a>,
    html: html::HtmlZones<'a>,
}

impl<'a> ZoneScan<'a> {
    fn new(masker: &'a VerbatimMasker, text: &'a str) -> Self {
        Self {
            zones: &masker.zones,
            bytes: text.as_bytes(),
            text,
            escapes: escape::EscapeZones::new(text, &masker.escape_tags),
            code: code::CodeZones::new(text, masker.zones.contains(&Zone::CodeFence)),
            braces: braces::BraceZones::new(text),
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
                (Zone::Url, b'h' | b'H' | b'f' | b'F') => url::at(self.text, at),
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

#[cfg(test)]
mod tests;
