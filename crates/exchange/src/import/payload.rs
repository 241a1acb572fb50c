//! From a text chunk to the JSON document in it: three types of chunk, base64 of JSON.

use std::borrow::Cow;
use std::io::Read;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::chunks::PngChunk;
use super::json::{JsonScanner, MAX_UNPACKED};
use super::{ImportFault, container, json, too_large};
use crate::diag::Report;
use crate::model::Value;

/// The longest text of a card chunk after decompression, in bytes.
const MAX_TEXT: usize = MAX_UNPACKED;

/// Standard base64 as cards contain it: padding may be missing, and the unused bits of the last symbol may be set.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true),
);

const AGAIN: &str = "download the original file again; if it stays so, export the card again where it was made";

/// The document that the card chunk `label` of file `name` holds.
pub(super) fn document(
    name: &str,
    label: &str,
    chunk: &PngChunk<'_>,
    reader: &mut JsonScanner,
    report: &mut Report,
) -> Result<Value, ImportFault> {
    let text = text(name, label, chunk, reader)?;
    if text.len() > MAX_TEXT {
        return Err(too_large(name, &format!("has a card chunk `{label}`"), MAX_TEXT).into());
    }
    let bytes = match text.trim_ascii_start().first() {
        Some(b'{') => text.into_owned(),
        _ => plain(name, label, text)?,
    };
    let what = format!("{label} of {name}");
    let text = json::utf8(&what, &bytes, report)?;
    json::document(name, &what, text, reader, report)
}

/// The base64 of a card.
pub(super) fn encoded(json: &serde_json::Value) -> String {
    LENIENT.encode(json.to_string())
}

fn plain(name: &str, label: &str, text: Cow<'_, [u8]>) -> Result<Vec<u8>, ImportFault> {
    let mut tight = text.into_owned();
    tight.retain(|b| !b.is_ascii_whitespace());
    if tight.is_empty() {
        return Err(damaged(name, label, "it is empty"));
    }
    LENIENT.decode(&tight).map_err(|e| damaged(name, label, &format!("it is not valid base64 ({})", base64_reason(&e))))
}

fn base64_reason(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(at, byte) => format!("byte {byte:#04x} at {at}"),
        base64::DecodeError::InvalidLastSymbol { offset, .. } => format!("wrong end at {offset}"),
        base64::DecodeError::InvalidLength(length) => format!("{length} symbols, which is no whole number of bytes"),
        base64::DecodeError::InvalidPadding => "wrong padding".to_owned(),
    }
}

/// The text of the chunk after its keyword, decompressed.
fn text<'a>(name: &str, label: &str, chunk: &PngChunk<'a>, reader: &mut JsonScanner) -> Result<Cow<'a, [u8]>, ImportFault> {
    let body = after_nul(chunk.data).ok_or_else(|| damaged(name, label, "it has no text"))?;
    match &chunk.kind {
        b"tEXt" => Ok(Cow::Borrowed(body)),
        b"zTXt" => match body.split_first() {
            Some((0, packed)) => inflate(name, label, packed, reader).map(Cow::Owned),
            _ => Err(damaged(name, label, "it is compressed in an unknown way")),
        },
        _ => international(name, label, body, reader),
    }
}

/// An `iTXt` body: compressed or not, method, language, translated keyword, text.
fn international<'a>(name: &str, label: &str, body: &'a [u8], reader: &mut JsonScanner) -> Result<Cow<'a, [u8]>, ImportFault> {
    let parts = body.split_first_chunk::<2>().and_then(|(flags, rest)| Some((flags, after_nul(after_nul(rest)?)?)));
    match parts {
        Some(([0, _], text)) => Ok(Cow::Borrowed(text)),
        Some(([1, 0], packed)) => inflate(name, label, packed, reader).map(Cow::Owned),
        Some(_) => Err(damaged(name, label, "it is compressed in an unknown way")),
        None => Err(damaged(name, label, "it has no text")),
    }
}

fn after_nul(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|b| *b == 0)?;
    bytes.get(end + 1..)
}

/// Decompresses a zlib stream, but never more than what the compressed texts of the file may still unpack to.
fn inflate(name: &str, label: &str, packed: &[u8], reader: &mut JsonScanner) -> Result<Vec<u8>, ImportFault> {
    let mut out = Vec::new();
    let limit = reader.unpacked as u64 + 1;
    let done = flate2::read::ZlibDecoder::new(packed).take(limit).read_to_end(&mut out);
    let Some(left) = reader.unpacked.checked_sub(out.len()) else {
        reader.unpacked = 0;
        return Err(too_large(name, &format!("has compressed cards; with the chunk `{label}` they are"), MAX_UNPACKED).into());
    };
    reader.unpacked = left;
    done.map_err(|_| damaged(name, label, "its compressed text is damaged"))?;
    Ok(out)
}

fn damaged(name: &str, label: &str, reason: &str) -> ImportFault {
    container(name, format!("has a card chunk `{label}` that cannot be read: {reason}")).help(AGAIN).into()
}
