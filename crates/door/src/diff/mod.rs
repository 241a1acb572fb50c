//! What differs between two packs, and between two prompts.

pub mod prompts;
pub mod rules;

/// How something differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    New,
    Changed,
    Moved,
    Gone,
}

impl DifferenceKind {
    pub const ALL: [DifferenceKind; 4] = [DifferenceKind::New, DifferenceKind::Changed, DifferenceKind::Moved, DifferenceKind::Gone];

    /// What became of a row that the first side has (`was`) or the second (`is`); nothing if it is the same in the same place.
    pub fn of(was: bool, is: bool, has_changed: bool, has_moved: bool) -> Option<Self> {
        match (was, is) {
            (false, _) => Some(Self::New),
            (_, false) => Some(Self::Gone),
            _ if has_changed => Some(Self::Changed),
            _ => has_moved.then_some(Self::Moved),
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            DifferenceKind::New => "new",
            DifferenceKind::Changed => "changed",
            DifferenceKind::Moved => "moved",
            DifferenceKind::Gone => "gone",
        }
    }
}
