//! The colours of results: green for what is new, red for what is gone. Without colour the signs say the same.

/// ANSI colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) on: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn come(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn gone(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn changed(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn title(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// The sign of a change, in its colour.
    pub(crate) fn sign(self, what: super::DifferenceKind) -> String {
        match what {
            super::DifferenceKind::New => self.come("+"),
            super::DifferenceKind::Gone => self.gone("-"),
            super::DifferenceKind::Changed => self.changed("~"),
            super::DifferenceKind::Moved => self.changed(">"),
        }
    }
}
