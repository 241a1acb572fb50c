//! What the keys of a table of a rule file mean, by where the table stands. Nothing here needs the rest of the crate: `build.rs`
//! finds the conditions of the shipped packs with it.

/// A table of a rule file, by what its keys mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordPlace {
    /// The file itself.
    File,
    /// A row of `pass`, and what `edit` of it changes.
    Pass,
    /// A row of `scan_source`.
    ScanSource,
    /// A row of `matcher`.
    Matcher,
    /// A row of `hook`.
    Hook,
    /// A row of `budget`.
    Budget,
    /// A query: a table with `of`.
    Query,
    /// A place in a list: `at` of a pass.
    Position,
    /// A call of a function: a table with `fn`.
    Call,
    /// A table with `lookup`.
    Lookup,
    /// A table that merges others.
    Merge,
    /// A table with `table`.
    Column,
    /// A step that changes a text.
    Step,
    /// What `edit` of a pass does to a list of steps.
    StepEdit,
    /// A step with `scripts`.
    Scripts,
    /// A condition: its keys are paths and fields, unless it is a query.
    Condition,
    /// Any other value.
    Value,
    /// A row of `fact`.
    Fact,
    /// Any other row.
    Row,
    /// Fields to set: a table whose keys are the names of fields.
    Fields,
    /// Words for readers and data, which are never renamed.
    Literal,
}

use WordPlace::{
    Budget, Call, Column, Condition, Fact, Fields, File, Hook, Literal, Lookup, Matcher, Merge, Pass, Position, Query, Row, ScanSource,
    Scripts, Step, StepEdit, Value,
};

impl WordPlace {
    /// What the keys of the table under a key mean. `has` says whether that table has a key.
    #[must_use]
    pub fn place_under(self, key: &str, has: &dyn Fn(&str) -> bool) -> Self {
        match (self, key) {
            (File, "about" | "allow" | "case" | "name" | "own_part" | "given") | (Literal, _) => Literal,
            (File, "pass") | (Pass, "edit") => Pass,
            (File, "scan_source") => ScanSource,
            (File, "matcher") => Matcher,
            (File, "hook") => Hook,
            (File, "account" | "budget") => Budget,
            (File, "fact") => Fact,
            (File, _) => Row,
            (Pass | Row, "set") => Fields,
            (Pass | ScanSource | Matcher | Hook | Budget | Fact | Row, "about" | "doc" | "name" | "title") => Literal,
            // JSON Schemas
            (Row, "parameters" | "payload") => Literal,
            (Row, "args") => Fields,
            (Pass, "at") | (Position, "lost" | "on_lost") => Position,
            (Pass, "steps") if has("insert") || has("with") => StepEdit,
            (StepEdit, "insert" | "with") if has("scripts") => Scripts,
            // lists of steps; `then` is what version 1 called those of `scripts`
            (Pass | Query | Scripts, "steps")
            | (Scripts, "then")
            | (Pass, "prepare")
            | (Matcher, "key" | "text")
            | (StepEdit, "insert" | "with") => Step,
            (Pass | Query | Row | ScanSource | Matcher | Hook | Fact, "where" | "when" | "that" | "while")
            | (Pass | Query, "since" | "after_last" | "spare" | "exempt" | "protect" | "unasked" | "always")
            | (Position, "before" | "after" | "of")
            | (Fact, "is")
            | (Step | Scripts, "when")
            | (Pass, "absorb" | "stop" | "pick" | "next")
            | (Condition, "all" | "any" | "not" | "and" | "or" | "insert")
            | (_, "if")
                if !has("of") =>
            {
                Condition
            }
            _ if has("fn") => Call,
            _ if has("of") => Query,
            _ if has("lookup") => Lookup,
            _ if has("over") || has("merge") => Merge,
            _ if has("table") => Column,
            _ if has("scripts") => Scripts,
            _ => Value,
        }
    }

    /// The mark (`$` or `@`) that the names of a condition under a key do not need; with it they are right everywhere. `around` is
    /// that of the condition around it, and `over` says that the table has this key.
    #[must_use]
    pub fn bare_mark(self, key: &str, over: bool, around: Option<char>) -> Option<char> {
        match (self, key) {
            (Condition, "all" | "any" | "not" | "and" | "or" | "insert") => around,
            (_, "if") | (Pass, "when") => Some('$'),
            (Fact, "is") => over.then_some('@'),
            (Pass | Query, "where" | "while" | "after_last" | "protect" | "always") | (Step | Scripts, "when") | (Position, _) => Some('@'),
            _ => None,
        }
    }

    /// What an element of a list is.
    #[must_use]
    pub fn place_of_element(self, has: &dyn Fn(&str) -> bool) -> Self {
        match self {
            // a condition that is an expression has no key that would tell it from a value
            Condition if has("=") => Condition,
            Condition | Value => self.place_under("", has),
            Step if has("scripts") => Scripts,
            place => place,
        }
    }
}
