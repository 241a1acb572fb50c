//! How much of everything a script may have, and what it is told that has more.
//!
//! The parser and the optimizer of the interpreter take the square of the number of cases, fields, parameters, statements,
//! variables and constants, and a list of a script takes a hundred times the memory of its text. So a script that has too many
//! is not given to them.

/// The most commas inside of one pair of brackets, and the most cases of one `switch`.
const MOST_COMMAS: usize = 2_000;

/// The most statements of one function, or outside of all functions.
const MOST_STATEMENTS: usize = 2_000;

/// The most blocks of one function, or outside of all functions.
const MOST_BLOCKS: usize = 500;

/// The most variables of one function, or outside of all functions.
const MOST_VARIABLES: usize = 500;

/// The most constants of a script.
const MOST_CONSTANTS: usize = 2_000;

/// The most tokens of a script.
const MOST_TOKENS: usize = 200_000;

/// The most tokens of all scripts of a pack.
const MOST_TOKENS_OF_ALL: usize = 500_000;

/// The most bytes of a script that cannot be read, and that the interpreter is given all the same, to say what is wrong.
const MOST_UNREAD: usize = 4 << 10;

/// What a script has too many of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Large {
    Commas,
    Cases,
    Statements,
    Blocks,
    Variables,
    Constants,
    Tokens,
    /// Of all scripts of a pack together.
    TokensOfAll,
}

impl Large {
    fn most(self) -> usize {
        match self {
            Self::Commas | Self::Cases => MOST_COMMAS,
            Self::Statements => MOST_STATEMENTS,
            Self::Blocks => MOST_BLOCKS,
            Self::Variables => MOST_VARIABLES,
            Self::Constants => MOST_CONSTANTS,
            Self::Tokens => MOST_TOKENS,
            Self::TokensOfAll => MOST_TOKENS_OF_ALL,
        }
    }

    /// Whether so many of it are too many.
    pub(super) fn is_over(self, count: usize) -> bool {
        count > self.most()
    }

    /// What is wrong, and what to do.
    pub(super) fn message(self) -> String {
        let most = self.most();
        match self {
            Self::Commas => {
                format!(
                    "more than {most} elements, fields or parameters stand in one pair of brackets; \
                     keep them as rows of a table of the pack"
                )
            }
            Self::Cases => {
                format!("more than {most} cases stand in one `switch`; keep them as rows of a table of the pack, and look them up")
            }
            Self::Statements => format!("a function has more than {most} statements; make several functions of it"),
            Self::Blocks => format!("a function has more than {most} blocks; make several functions of it"),
            Self::Variables => format!("a function has more than {most} variables; keep them as fields of one table"),
            Self::Constants => format!("the script has more than {most} constants; keep them as rows of a table of the pack"),
            Self::Tokens => format!("the script has more than {most} words, numbers, texts and marks; make several scripts of it"),
            Self::TokensOfAll => format!(
                "the scripts up to this one have more than {most} words, numbers, texts and marks together; \
                 move what is data in them into rows of the pack"
            ),
        }
    }
}

/// Whether the interpreter may read a script whose tokens are not known.
pub(super) fn is_small(source: &str) -> bool {
    source.len() <= MOST_UNREAD
}

/// What stands in a pair of brackets.
#[derive(Debug, Default)]
pub(super) struct Counts {
    commas: usize,
    cases: usize,
    /// These are counted with those of all brackets inside, but for functions: blocks inside of blocks become one.
    statements: usize,
    blocks: usize,
    variables: usize,
    /// They are the body of a function.
    is_function: bool,
}

impl Counts {
    pub(super) fn of_function() -> Self {
        Self { is_function: true, ..Self::default() }
    }

    /// Counts one more; false if that is too many.
    pub(super) fn add(&mut self, what: Large) -> bool {
        let count = match what {
            Large::Commas => &mut self.commas,
            Large::Cases => &mut self.cases,
            Large::Statements => &mut self.statements,
            Large::Blocks => &mut self.blocks,
            Large::Variables => &mut self.variables,
            // these are not counted by brackets
            Large::Constants | Large::Tokens | Large::TokensOfAll => return true,
        };
        *count += 1;
        !what.is_over(*count)
    }

    /// Adds what stands in brackets inside of these; what there is too much of, if there is.
    pub(super) fn join(&mut self, inner: &Self) -> Result<(), Large> {
        if inner.is_function {
            return Ok(());
        }
        self.statements += inner.statements;
        self.blocks += inner.blocks;
        self.variables += inner.variables;
        let counts = [(Large::Statements, self.statements), (Large::Blocks, self.blocks), (Large::Variables, self.variables)];
        counts.into_iter().find(|(what, count)| what.is_over(*count)).map_or(Ok(()), |(what, _)| Err(what))
    }
}
