//! Foreign words in messages: bounded, so that no file can fill a screen through what is said of it.

/// Longest text of a complaint, in characters; of a longer one the middle is left out.
const MOST: usize = 800;
/// Characters kept at its end: what went wrong often stands behind the value that it is about.
const TAIL: usize = 300;
/// Longest single word, in characters.
const MOST_OF_WORD: usize = 60;
/// Most words of a list.
const FEW: usize = 8;

/// The text, or its beginning and its end with `…` between them where it is too long.
#[must_use]
pub fn cut(text: impl Into<String>) -> String {
    let text = text.into();
    // as many bytes hold no more characters
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

/// One foreign word: its beginning, without control characters and backticks.
#[must_use]
pub fn word(word: &str) -> String {
    let clean: String = word.chars().take(MOST_OF_WORD).map(|c| if c.is_control() || c == '`' { '?' } else { c }).collect();
    if word.chars().nth(MOST_OF_WORD).is_some() { format!("{clean}…") } else { clean }
}

/// A few foreign words in backticks, each once.
#[must_use]
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    for word in words {
        if all.len() > FEW {
            break;
        }
        if !all.contains(&word) {
            all.push(word);
        }
    }
    let text = all.iter().take(FEW).map(|w| format!("`{}`", word(w))).collect::<Vec<_>>().join(", ");
    if all.len() > FEW { format!("{text} and more") } else { text }
}
