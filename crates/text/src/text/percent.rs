//! Percent-encoding: bytes as `%` and two digits, in addresses, JSON Pointers and filters of templates.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
pub use percent_encoding::{percent_decode_str as decode, utf8_percent_encode as encode};

/// What no address encodes beside letters and digits.
pub const UNRESERVED: &AsciiSet = &all_but(b"-._~");

/// The ASCII characters to encode: all but letters, digits and these. What is not ASCII is always encoded.
pub(crate) const fn all_but(plain: &[u8]) -> AsciiSet {
    match plain {
        [] => NON_ALPHANUMERIC.union(AsciiSet::EMPTY),
        [first, rest @ ..] => all_but(rest).remove(*first),
    }
}
