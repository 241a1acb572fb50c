//! Addresses in running text, without the punctuation of the sentence around them.

const SCHEMES: &[&str] = &["https://", "http://", "ftp://"];

/// The end of the address that begins here. It begins no word's middle, and ends as GitHub's Markdown ends a bare
/// address: before white space and `<`, and without punctuation or an unpaired closing bracket at its end.
pub(super) fn at(text: &str, at: usize) -> Option<usize> {
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
