//! About how much memory values take, for what counts it before they are made.
//!
//! A value of two bytes of text can take twenty times as much, so neither the length of a text that is read nor the number
//! of values says how much memory they will need.

/// A text without its bytes, with the space that the allocator adds.
pub(crate) const TEXT: usize = 32;
/// A list without its elements.
pub(crate) const LIST: usize = 64;
/// A table without its fields.
pub(crate) const TABLE: usize = 144;
/// An element of a list while the list grows.
pub(crate) const ELEMENT: usize = 40;
/// A field of a table without its name.
pub(crate) const FIELD: usize = 64;
/// The name of a field without its bytes.
pub(crate) const NAME: usize = 64;
