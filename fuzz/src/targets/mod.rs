//! The doors of the library through which something of a stranger comes in, each as a target: bytes in, a verdict out.

mod builds;
mod functions;
mod imports;
mod languages;
mod packs;
mod patterns;
#[cfg(feature = "whole")]
mod replies;
mod rules;
mod same;
mod scripts;
mod small;
#[cfg(feature = "whole")]
mod stores;
mod sums;
mod templates;

/// What inputs of a target look like, which decides how they are mutated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Bytes or a text.
    Bytes,
    /// A JSON document, mostly.
    Json,
    /// A TOML document, often.
    Toml,
}

/// What a door said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It took the input.
    Taken,
    /// It refused the input, and said why.
    Refused,
    /// It took it, and two results that must be equal are not.
    Wrong(String),
}

impl Verdict {
    /// That something was taken or refused.
    #[must_use]
    pub fn of(taken: bool) -> Self {
        if taken { Self::Taken } else { Self::Refused }
    }
}

/// One door.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub door: &'static str,
    /// What its inputs look like.
    pub shape: Shape,
    /// Words of its format.
    pub words: &'static [&'static str],
    /// The longest input, in bytes.
    pub longest: usize,
    /// The number of inputs of its fixed campaign, which the gate runs.
    pub fixed: u64,
    /// What to begin with, besides the files of `fuzz/seeds` and `fuzz/found`.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Gives it one input.
    pub run: fn(&[u8]) -> Verdict,
}

/// All of them.
pub static TARGETS: &[Target] = &[
    rules::TOML,
    rules::JSON,
    rules::PACK,
    rules::OVERLAY,
    #[cfg(feature = "whole")]
    rules::FORMAT,
    languages::MACROS,
    languages::EXPAND,
    languages::HANDLEBARS,
    languages::STORY,
    languages::LIQUID,
    languages::LEAF,
    sums::CALC,
    sums::ARITHMETIC,
    languages::VERBATIM,
    small::SMALL,
    small::TIMES,
    patterns::PATTERN,
    patterns::KEYS,
    functions::FUNCTION,
    scripts::SCRIPT,
    imports::CONTAINER,
    imports::DOCUMENT,
    imports::SCENE,
    templates::TEMPLATE,
    templates::TASK,
    builds::LORE,
    builds::BUILD,
    builds::EMIT,
    #[cfg(feature = "whole")]
    replies::REPLY,
    #[cfg(feature = "whole")]
    stores::SESSIONS,
    #[cfg(feature = "whole")]
    stores::TEMPLATES,
    same::CARD,
    same::CONVERSION,
    same::HISTORY,
    same::MEMORY,
];

/// The target of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

fn text(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}
