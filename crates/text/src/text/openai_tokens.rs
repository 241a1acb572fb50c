//! The byte-pair encodings of OpenAI's models, by the tables of tiktoken (MIT, licence beside the tables).

use std::sync::LazyLock;

use super::encoding::Encoding;

/// The tables: a token in base64 and its rank on each line.
const CL100K: &[u8] = include_bytes!("tables/cl100k.ranks.gz");
const O200K: &[u8] = include_bytes!("tables/o200k.ranks.gz");

/// What a piece of a text is, in the encoding of GPT-4 …
const CL100K_PIECES: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";
/// … and in that of GPT-4o.
const O200K_PIECES: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+",
);

static OF_CL100K: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::read(CL100K, CL100K_PIECES, true));
static OF_O200K: LazyLock<Option<Encoding>> = LazyLock::new(|| Encoding::read(O200K, O200K_PIECES, true));

/// The encoding of GPT-4. A test counts with it, so it can be read.
pub(crate) fn cl100k() -> Option<&'static Encoding> {
    OF_CL100K.as_ref()
}

/// The encoding of GPT-4o. A test counts with it, so it can be read.
pub(crate) fn o200k() -> Option<&'static Encoding> {
    OF_O200K.as_ref()
}
