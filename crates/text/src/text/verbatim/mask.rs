//! Placeholders in the place of zones, and back.

use super::zone::{Segment, Zone};

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
    pub(super) fn new(text: &str, parts: &[Segment<'_>]) -> Self {
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
