//! Words that belong to the engine, and words of the language that no script may use.

/// What pays for the copy of a variable.
pub(super) const COPY: &str = "__copied";
/// What pays for any other value.
pub(super) const MADE: &str = "__made";
/// What pays for `a.b.len()`.
pub(super) const LENGTH: &str = "__length";
/// What pays for the place `i` of `a[i]`, which may be that of a letter: a text is walked to it, and written anew if the
/// letter is changed.
pub(super) const PLACE: &str = "__place";

/// What pays for a value that is put in the place of a letter: the text is written anew.
pub(super) const LETTER: &str = "__letter";
/// What pays for what `-=` takes out of a text.
pub(super) const LESSENED: &str = "__lessened";
/// What pays for a long value that stands in the script.
pub(super) const WRITTEN: &str = "__written";
/// What notes how long a text inside of a table or list becomes by `+=`.
pub(super) const GROWN: &str = "__grown";

/// The function that looks at an error that a script catches.
pub(super) const CAUGHT: &str = "__caught";

/// The name of an error that the script gives no name to.
pub(super) const ERROR: &str = "__error";

/// The names of the engine, which no script may use.
pub(super) const OWN: &[&str] = &[COPY, MADE, LENGTH, PLACE, LETTER, LESSENED, WRITTEN, GROWN, CAUGHT, ERROR];

/// Words of the language that no script may use: a curried value is copied in each call, and `is_shared` copies what it is
/// given. A closure shares what it holds.
pub(super) const RESERVED: &[&str] = &["curry", "is_shared"];
