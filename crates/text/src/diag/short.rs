//! Texts of strangers in messages: bounded, so that no file can fill a screen through a message about it.

use super::limits;

/// The longest text of a diagnostic, in characters; the middle of a longer one is left out.
const MOST: usize = 800;
/// Characters kept at the end of a text that is cut: the reason often follows the value that it is about.
const TAIL: usize = 300;

/// Whether a terminal would obey a character, or a reader would not see it: control characters, marks that reorder a text,
/// characters without a width, and tags. The joiners of emojis and of Arabic letters are none of these.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    let hidden =
        matches!(c, '\u{AD}' | '\u{61C}' | '\u{200B}' | '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}');
    hidden || c.is_control() || matches!(c, '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// The text; if it is longer than 800 characters, its beginning and its end with `…` between them.
#[must_use]
pub fn cut(text: impl Into<String>) -> String {
    let text = text.into();
    // so few bytes cannot hold more characters
    if text.len() <= MOST {
        return text;
    }
    let count = text.chars().count();
    if count <= MOST {
        return text;
    }
    let head = text.chars().take(MOST - TAIL);
    head.chain(['…']).chain(text.chars().skip(count - TAIL)).collect()
}

/// The first characters of a text.
#[must_use]
pub fn first(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The first characters of a text, with `…` if there are more.
#[must_use]
pub fn head(text: &str, most: usize) -> String {
    let first = first(text, most);
    if first.len() < text.len() { format!("{first}…") } else { first.to_owned() }
}

/// One word of a stranger, cut after 60 characters, with control characters and backticks replaced by `?`.
#[must_use]
pub fn word(word: &str) -> String {
    head(word, limits::QUOTED).replace(|c: char| c.is_control() || c == '`', "?")
}

/// Up to 8 different words of strangers, in backticks and separated by commas.
#[must_use]
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for word in words {
        if all.len() > limits::FEW {
            break;
        }
        if !all.contains(&word) {
            all.push(word);
        }
    }
    let text = all.iter().take(limits::FEW).map(|w| format!("`{}`", word(w))).collect::<Vec<_>>().join(", ");
    if all.len() > limits::FEW { format!("{text} and more") } else { text }
}
