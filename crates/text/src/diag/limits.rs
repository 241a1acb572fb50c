//! The limits that nobody sets: one constant for each meaning, whatever it is that is so large, so long or so deep. What
//! rules and data make run is bounded by the budget instead ([`crate::model::budget`]).

/// Diagnostics of one check about one file, table or template, and elements or words of one value that a check looks into;
/// nobody would read more.
pub const REPORTED: usize = 100;
/// Warnings of one build or text about one matter.
pub const WARNED: usize = 20;
/// Names, places or keys in one sentence.
pub const LISTED: usize = 12;
/// The same in a diagnostic that is about something else.
pub const FEW: usize = 8;
/// Places in rule files that a diagnostic names beside its own.
pub const PLACES: usize = 5;
/// Words of a vocabulary that a remedy lists.
pub const VOCABULARY: usize = 48;
/// Characters of a text of the input that a message quotes.
pub const QUOTED: usize = 60;
/// Entries of one sort that a trace, a log or a list of diagnostics keeps.
pub const RECORDED: usize = 10_000;

/// Lists and tables inside each other: in values of data.
pub const NESTING: usize = 128;
/// The same in files of rules and values of scripts.
pub const RULE_NESTING: usize = 64;
/// The same in the expressions that rules and the names in them come to.
pub const EXPRESSION_NESTING: usize = 96;
/// Rows, files or folders that lead to each other.
pub const CHAIN: usize = 16;

/// A file of a pack, in bytes.
pub const FILE_BYTES: usize = 4 << 20;
/// All files of a pack, in bytes.
pub const PACK_BYTES: usize = 64 << 20;
/// The files of a pack.
pub const FILES: usize = 2_000;
/// The entries of a folder, and the rows of a layer.
pub const ENTRIES: usize = 20_000;
/// The packs under a pack.
pub const PACKS: usize = 64;
/// The memory of the values of one file of rules, in bytes, as [`super::memory`] estimates it.
pub const INPUT_MEMORY: usize = 128 << 20;
/// The same of a scene: a chat of 100,000 messages takes about 200 MiB.
pub const SCENE_MEMORY: usize = 256 << 20;
/// The memory of the values of all rule files.
pub const RULES_MEMORY: usize = 256 << 20;

/// A text, in bytes, for readers whose time is not bounded by its length: a pattern that is read, and what is searched by one
/// with back references; what is searched backwards, or by a pattern of a schema that tries several ways.
pub const LONG_TEXT: usize = 100_000;
pub const SHORT_TEXT: usize = 20_000;
/// A name, in bytes.
pub const NAME_BYTES: usize = 1_000;
/// A pattern of dates or texts, in bytes.
pub const PATTERN_BYTES: usize = 10_000;
/// The fields that a table declares, and the conditions of one row.
pub const FIELDS: usize = 100;
/// The options of a pack, the choices of an option, and the keys of a table of data that are compared with names.
pub const OPTIONS: usize = 1_000;
/// A text that a function makes, and a list or table that is written out as one text or kept, in bytes.
pub const OUTPUT_BYTES: usize = 64 << 20;
/// The nesting of what is written out or compared. Values that are kept nest less deeply, but an expression may add some
/// levels before anything looks at its value.
pub const OUTPUT_NESTING: usize = 256;
/// The parts to which the names of facts and values expand.
pub const RULE_PARTS: usize = 500_000;
/// The elements of a list that an edit, a function or a macro makes longer.
pub const ELEMENTS: usize = 100_000;
/// The values in one value that is kept.
pub const VALUES: usize = 4_000_000;
/// The names that one load compares with each other.
pub const COMPARISONS: usize = 2_000_000;
/// From so many elements on, an index, a prefilter or a cache of a list saves more than it costs.
pub const LONG_LIST: usize = 48;
/// The most that a cache keeps, in bytes and in entries; a new entry is compared with each.
pub const CACHE_BYTES: usize = 32 << 20;
pub const CACHE_ENTRIES: usize = 64;
