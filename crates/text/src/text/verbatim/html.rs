//! Tags and comments of HTML, and the elements whose inside is no prose.
//!
//! A tag is read as CommonMark reads one, with two more freedoms that models take: names may hold `_`, `:` and `.`,
//! and a blank between attributes may be missing. What was read from a place in some state and led to no tag is
//! remembered, so that no text is read more often than there are states.

use memchr::memmem;

/// Elements that are masked as a whole.
const WHOLE: &[&str] = &["pre", "code", "script", "style"];

/// Where the reader is inside a tag.
#[derive(Debug, Clone, Copy)]
enum TagState {
    Name,
    Between,
    Attribute,
    AfterAttribute,
    BeforeValue,
    Bare,
    Double,
    Single,
    AfterValue,
    Slash,
    CloseName,
    CloseEnd,
}

/// What a byte does.
enum NextState {
    To(TagState),
    End,
    No,
}

/// The HTML of a text.
pub(super) struct HtmlZones<'a> {
    text: &'a str,
    /// States in which a place has led to no tag, as bits; empty until the first time.
    dead: Vec<u16>,
    /// The closing tags of [`WHOLE`]: which element, start, end; ascending.
    closing: Option<Vec<Vec<(usize, usize)>>>,
    comments: EndFinder<'a>,
    instructions: EndFinder<'a>,
    sections: EndFinder<'a>,
    declarations: EndFinder<'a>,
}

impl<'a> HtmlZones<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let ends = |end: &'static str| EndFinder { text, end, known: None };
        Self {
            text,
            dead: Vec::new(),
            closing: None,
            comments: ends("-->"),
            instructions: ends("?>"),
            sections: ends("]]>"),
            declarations: ends(">"),
        }
    }

    /// The end of the tag, comment or whole element that begins here.
    pub(super) fn at(&mut self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        if rest.starts_with("<!-->") || rest.starts_with("<!--->") {
            return rest.find('>').map(|n| at + n + 1);
        }
        if rest.starts_with("<!--") {
            return self.comments.after(at + 4);
        }
        if rest.starts_with("<![CDATA[") {
            return self.sections.after(at + 9);
        }
        if rest.starts_with("<?") {
            return self.instructions.after(at + 2);
        }
        if rest.starts_with("<!") {
            let letter = rest.as_bytes().get(2).is_some_and(u8::is_ascii_alphabetic);
            return if letter { self.declarations.after(at + 2) } else { None };
        }
        let end = self.tag(at)?;
        Some(self.element(at, end).unwrap_or(end))
    }

    /// The end of the tag that begins here.
    fn tag(&mut self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let closes = bytes.get(at + 1) == Some(&b'/');
        let from = at + 1 + usize::from(closes);
        if !bytes.get(from).is_some_and(u8::is_ascii_alphabetic) {
            return None;
        }
        let mut state = if closes { TagState::CloseName } else { TagState::Name };
        let mut trail = Vec::new();
        for (n, byte) in bytes.iter().enumerate().skip(from) {
            let bit = 1_u16 << (state as u16);
            if self.dead.get(n).is_some_and(|states| states & bit != 0) {
                break;
            }
            trail.push((n, bit));
            match next(state, *byte) {
                NextState::To(to) => state = to,
                NextState::End => return Some(n + 1),
                NextState::No => break,
            }
        }
        if self.dead.is_empty() {
            self.dead = vec![0; bytes.len()];
        }
        for (n, bit) in trail {
            if let Some(states) = self.dead.get_mut(n) {
                *states |= bit;
            }
        }
        None
    }

    /// The end of the element whose opening tag is this, if it is masked as a whole and has an end.
    fn element(&mut self, at: usize, end: usize) -> Option<usize> {
        let tag = self.text.get(at + 1..end)?;
        if tag.ends_with("/>") {
            return None;
        }
        let name = tag.split(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).next()?;
        let which = WHOLE.iter().position(|whole| whole.eq_ignore_ascii_case(name))?;
        let closing = self.closing.get_or_insert_with(|| closing(self.text)).get(which)?;
        closing.get(closing.partition_point(|(start, _)| *start < end)).map(|(_, end)| *end)
    }
}

fn closing(text: &str) -> Vec<Vec<(usize, usize)>> {
    let mut found = vec![Vec::new(); WHOLE.len()];
    for start in memmem::find_iter(text.as_bytes(), b"</") {
        let rest = text.as_bytes().get(start + 2..).unwrap_or_default();
        for (name, list) in WHOLE.iter().zip(&mut found) {
            let named = rest.get(..name.len()).is_some_and(|have| have.eq_ignore_ascii_case(name.as_bytes()));
            let blanks = rest.iter().skip(name.len()).take_while(|b| b.is_ascii_whitespace()).count();
            if named && rest.get(name.len() + blanks) == Some(&b'>') {
                list.push((start, start + 2 + name.len() + blanks + 1));
            }
        }
    }
    found
}

fn next(state: TagState, byte: u8) -> NextState {
    let blank = byte.is_ascii_whitespace();
    let begins = byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':');
    let goes_on = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | b'-');
    match (state, byte) {
        (TagState::Double, b'"') | (TagState::Single, b'\'') => NextState::To(TagState::AfterValue),
        (TagState::Double | TagState::Single, _) => NextState::To(state),
        (TagState::BeforeValue, b'"') => NextState::To(TagState::Double),
        (TagState::BeforeValue, b'\'') => NextState::To(TagState::Single),
        (TagState::BeforeValue, _) if blank => NextState::To(TagState::BeforeValue),
        (TagState::BeforeValue | TagState::Bare, b'"' | b'\'' | b'=' | b'<' | b'`') | (TagState::BeforeValue, b'>') => NextState::No,
        (_, b'>') => NextState::End,
        (TagState::Bare, _) if blank => NextState::To(TagState::Between),
        (TagState::BeforeValue | TagState::Bare, _) => NextState::To(TagState::Bare),
        (TagState::CloseName | TagState::CloseEnd, _) if blank => NextState::To(TagState::CloseEnd),
        (TagState::CloseName | TagState::Name | TagState::Attribute, _) if goes_on => NextState::To(state),
        (TagState::CloseName | TagState::CloseEnd | TagState::Slash, _) => NextState::No,
        (_, b'/') => NextState::To(TagState::Slash),
        (TagState::Attribute | TagState::AfterAttribute, b'=') => NextState::To(TagState::BeforeValue),
        (TagState::Attribute | TagState::AfterAttribute, _) if blank => NextState::To(TagState::AfterAttribute),
        (_, _) if blank => NextState::To(TagState::Between),
        (TagState::Between | TagState::AfterAttribute | TagState::AfterValue, _) if begins => NextState::To(TagState::Attribute),
        _ => NextState::No,
    }
}

/// Finds the next end from places that ascend, reading the text once.
struct EndFinder<'a> {
    text: &'a str,
    end: &'static str,
    /// From where it was sought, and what was found.
    known: Option<(usize, Option<usize>)>,
}

impl EndFinder<'_> {
    /// The end of the first `end` at or behind `from`.
    fn after(&mut self, from: usize) -> Option<usize> {
        let known = self.known.filter(|(sought, found)| *sought <= from && found.is_none_or(|start| start >= from));
        let start = known.map_or_else(|| self.text.get(from..).and_then(|rest| rest.find(self.end)).map(|n| from + n), |(_, found)| found);
        self.known = Some((known.map_or(from, |(sought, _)| sought), start));
        start.map(|start| start + self.end.len())
    }
}

// Addresses in running text, without the punctuation of the sentence around them.

const SCHEMES: &[&str] = &["https://", "http://", "ftp://"];

/// The end of the address that begins here. It begins no word's middle, and ends as GitHub's Markdown ends a bare
/// address: before white space and `<`, and without punctuation or an unpaired closing bracket at its end.
pub(super) fn url_at(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let scheme = SCHEMES.iter().find(|s| rest.get(..s.len()).is_some_and(|have| have.eq_ignore_ascii_case(s)))?;
    if text.get(..at)?.chars().next_back().is_some_and(char::is_alphanumeric) {
        return None;
    }
    let body = rest.get(scheme.len()..)?;
    // an address whose host does not begin is refused before the rest of the text is looked at
    body.chars().next().filter(|c| c.is_alphanumeric() || *c == '[')?;
    let body = body.get(..body.find(ends).unwrap_or(body.len()))?;
    Some(at + scheme.len() + trimmed(body))
}

/// What no address holds. Beyond ASCII, letters and digits alone may: quotation marks and full stops of other scripts
/// belong to the sentence.
fn ends(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_whitespace() || c.is_ascii_control() || matches!(c, '<' | '>' | '"' | '`' | '\\' | '|' | '^')
    } else {
        !c.is_alphanumeric()
    }
}

/// The length without what stands at the end and belongs to the sentence.
fn trimmed(body: &str) -> usize {
    let count = |c: char| i64::try_from(body.matches(c).count()).unwrap_or(i64::MAX);
    let mut surplus = [(')', count(')') - count('(')), (']', count(']') - count('[')), ('}', count('}') - count('{'))];
    let mut length = body.len();
    for c in body.chars().rev() {
        match surplus.iter_mut().find(|(bracket, _)| *bracket == c) {
            Some((_, more)) if *more > 0 => *more -= 1,
            None if matches!(c, '?' | '!' | '.' | ',' | ':' | ';' | '*' | '_' | '~' | '\'') => {}
            _ => break,
        }
        length -= c.len_utf8();
    }
    length
}
