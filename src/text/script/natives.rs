//! The functions of the packages whose cost grows with what they are given, and how each is paid.

use std::any::TypeId;
use std::ops::{Range, RangeInclusive};

use rhai::{Array, Blob, Dynamic, INT, ImmutableString, Map};

/// How a function of the packages is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It reads all that it is given, and makes a text or list of about that size.
    Reads,
    /// It makes a list or text longer, up to the limit; what is added has been paid.
    Grows,
    /// It reads all that it is given, and copies its last value again and again.
    Repeats,
    /// It writes all that it is given as a text, which may be longer.
    Prints,
    /// It writes all bytes that it is given as a text, so many steps for each of them.
    Spells(u64),
    /// It walks over the text or list that it is given, or moves what is in it, and copies nothing but its result, which is
    /// paid where it is used.
    Walks,
    /// It writes the text that it is given anew, letter by letter.
    Rewrites,
    /// It compares the elements of its list with each other until they are in order.
    Sorts,
}

/// Steps for each byte of a text that the interpreter writes with escapes, and for each byte of bytes that it writes as numbers.
const SPELLED: u64 = 6;
/// The same where it writes JSON.
const JSON: u64 = 1;

/// A function's names, the types of its arguments, and how it is paid.
type Native = (&'static [&'static str], Vec<TypeId>, Kind);

/// Functions that read or make large values without calling back, by the types of their arguments. They run with the
/// limits of sizes.
pub(super) fn natives() -> Vec<Native> {
    [of_lists(), of_tables(), of_bytes(), of_texts()].concat()
}

fn of_lists() -> Vec<Native> {
    use Kind::{Grows, Prints, Reads, Repeats, Sorts, Walks};
    let (list, text) = (TypeId::of::<Array>(), TypeId::of::<ImmutableString>());
    let (any, int) = (TypeId::of::<Dynamic>(), TypeId::of::<INT>());
    let (range, inclusive) = (TypeId::of::<Range<INT>>(), TypeId::of::<RangeInclusive<INT>>());
    vec![
        (&["index_of", "contains"], vec![list, any], Repeats),
        (&["index_of"], vec![list, any, int], Repeats),
        // the text may name a function, which is given the elements
        (&["index_of"], vec![list, text], Reads),
        (&["index_of"], vec![list, text, int], Reads),
        (&["extract"], vec![list, int], Reads),
        (&["extract"], vec![list, int, int], Reads),
        (&["extract"], vec![list, range], Reads),
        (&["extract"], vec![list, inclusive], Reads),
        (&["shift"], vec![list], Walks),
        (&["remove", "chop", "split"], vec![list, int], Walks),
        (&["drain", "retain"], vec![list, int, int], Walks),
        (&["drain", "retain"], vec![list, range], Walks),
        (&["drain", "retain"], vec![list, inclusive], Walks),
        (&["splice"], vec![list, range, list], Walks),
        (&["splice"], vec![list, inclusive, list], Walks),
        (&["splice"], vec![list, int, int, list], Walks),
        (&["dedup", "reverse"], vec![list], Reads),
        (&["sort", "sort_desc", "order", "order_desc"], vec![list], Sorts),
        (&["print", "debug", "to_string", "to_debug"], vec![list], Prints),
        (&["==", "!="], vec![list, list], Reads),
        (&["pad"], vec![list, int, any], Repeats),
        (&["push"], vec![list, any], Grows),
        (&["append"], vec![list, list], Grows),
        (&["insert"], vec![list, int, any], Walks),
    ]
}

fn of_tables() -> Vec<Native> {
    use Kind::{Grows, Prints, Reads, Spells};
    let table = TypeId::of::<Map>();
    vec![
        (&["keys", "values"], vec![table], Reads),
        (&["to_json"], vec![table], Spells(JSON)),
        (&["print", "debug", "to_string", "to_debug"], vec![table], Prints),
        (&["==", "!="], vec![table, table], Reads),
        (&["mixin", "fill_with"], vec![table, table], Grows),
    ]
}

fn of_bytes() -> Vec<Native> {
    use Kind::{Grows, Reads, Spells, Walks};
    let (bytes, int) = (TypeId::of::<Blob>(), TypeId::of::<INT>());
    let (range, inclusive) = (TypeId::of::<Range<INT>>(), TypeId::of::<RangeInclusive<INT>>());
    vec![
        (&["blob"], vec![int], Grows),
        (&["blob"], vec![int, int], Grows),
        (&["shift"], vec![bytes], Walks),
        (&["remove", "chop", "split", "extract"], vec![bytes, int], Walks),
        (&["insert", "drain", "retain", "extract"], vec![bytes, int, int], Walks),
        (&["drain", "retain", "extract"], vec![bytes, range], Walks),
        (&["drain", "retain", "extract"], vec![bytes, inclusive], Walks),
        (&["splice"], vec![bytes, range, bytes], Walks),
        (&["splice"], vec![bytes, inclusive, bytes], Walks),
        (&["splice"], vec![bytes, int, int, bytes], Walks),
        (&["contains"], vec![bytes, int], Reads),
        (&["pad"], vec![bytes, int, int], Reads),
        (&["to_array", "reverse", "as_string"], vec![bytes], Reads),
        (&["print", "debug", "to_string", "to_debug"], vec![bytes], Spells(SPELLED)),
    ]
}

fn of_texts() -> Vec<Native> {
    use Kind::{Reads, Rewrites, Spells, Walks};
    let (text, letter, int) = (TypeId::of::<ImmutableString>(), TypeId::of::<char>(), TypeId::of::<INT>());
    let (range, inclusive) = (TypeId::of::<Range<INT>>(), TypeId::of::<RangeInclusive<INT>>());
    vec![
        (&["index_of", "contains", "starts_with", "ends_with", "split", "split_rev", "remove"], vec![text, text], Reads),
        (&["index_of", "contains", "split", "split_rev", "remove"], vec![text, letter], Reads),
        (&["index_of", "split", "split_rev"], vec![text, text, int], Reads),
        (&["index_of", "split", "split_rev"], vec![text, letter, int], Reads),
        (&["split", "chars"], vec![text, int], Reads),
        (&["chars"], vec![text, int, int], Reads),
        (&["chars"], vec![text, range], Reads),
        (&["chars"], vec![text, inclusive], Reads),
        // those that change nothing are in `letters.rs`
        (&["pop", "truncate"], vec![text, int], Walks),
        (&["pop"], vec![text], Walks),
        (&["crop"], vec![text, int], Rewrites),
        (&["crop"], vec![text, int, int], Rewrites),
        (&["crop"], vec![text, range], Rewrites),
        (&["crop"], vec![text, inclusive], Rewrites),
        (&["set"], vec![text, int, letter], Rewrites),
        // `get$` is how the interpreter names what reads a property, here `text.len` and `text.chars`
        (&["get$len"], vec![text], Walks),
        (&["get$chars"], vec![text], Reads),
        (&["debug", "to_debug"], vec![text], Spells(SPELLED)),
        (&["make_upper", "make_lower", "to_upper", "to_lower", "to_chars", "chars", "split", "trim", "to_blob"], vec![text], Reads),
        (&["pad"], vec![text, int, letter], Reads),
        (&["pad"], vec![text, int, text], Reads),
        (&["replace"], vec![text, text, text], Reads),
        (&["replace"], vec![text, text, letter], Reads),
        (&["replace"], vec![text, letter, text], Reads),
        (&["replace"], vec![text, letter, letter], Reads),
    ]
}
