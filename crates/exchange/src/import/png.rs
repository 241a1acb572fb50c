//! Cards in PNG pictures. A card is found wherever it stands, and read as long as its own chunk is intact: no chunk is trusted, so
//! that damage in the picture does not lose the card after it. Three types of chunk hold a card, as base64 of JSON.

use std::borrow::Cow;
use std::io::Read;

use aho_corasick::AhoCorasick;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};

use super::json::{JsonScanner, MAX_UNPACKED};
use super::{Asset, Container, Contents, Document, ImportFault, container, failed, json, listed, tolerated, too_large};
use crate::diag::{Code, Diagnostic, Report};
use crate::model::Value;

const FETCH: &str = "download the original file again";
const STRIPPED: &str = "sites and chat programs that convert pictures remove the card; fetch the original file";

/// Reads the cards of a PNG file.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    if !bytes.starts_with(SIGNATURE) {
        report.push(tolerated(container(name, "has a damaged PNG signature").help("it was sent as text; send or download it as binary")));
    }
    let (all, end) = walk(bytes);
    note_damage(name, &all, &end, &mut report);
    let cards = cards(name, bytes, &all, &end, &mut report);
    if cards.is_empty() {
        report.push(no_card(name, &all, &end));
        return Err(report);
    }
    let (documents, failures) = decode(name, &cards, &mut report);
    if documents.is_empty() {
        failures.into_iter().for_each(|failure| report.push(*failure));
        return Err(report);
    }
    let skipped = failures.len();
    for failure in failures {
        report.push(tolerated(*failure));
    }
    let mut imported = Contents::new(Container::Png, documents, report);
    imported.skipped = skipped;
    imported.assets = assets(&all);
    Ok(imported)
}

/// The card chunks in file order: those of the walk, and stray ones if the walk was cut short or found none.
fn cards<'a>(name: &str, bytes: &'a [u8], all: &[PngChunk<'a>], end: &WalkEnd<'_>, report: &mut Report) -> Vec<PngChunk<'a>> {
    let mut found: Vec<PngChunk<'a>> = all.iter().filter(|c| c.card().is_some()).copied().collect();
    if !found.is_empty() && matches!(end, WalkEnd::Complete | WalkEnd::Missing) {
        return found;
    }
    let strays: Vec<_> = strays(bytes).into_iter().filter(|s| !found.iter().any(|c| c.start == s.start)).collect();
    if !strays.is_empty() {
        report.push(tolerated(container(name, "has a card outside the order of its chunks, which is used").help(FETCH)));
        found.extend(strays);
        found.sort_by_key(|c| c.start);
    }
    found
}

/// The documents of the card chunks, with warnings about the chunks that hold none.
fn decode(name: &str, cards: &[PngChunk<'_>], report: &mut Report) -> (Vec<Document>, Vec<ImportFault>) {
    let (mut documents, mut failures) = (Vec::new(), Vec::new());
    let mut reader = JsonScanner::default();
    for chunk in cards {
        let Some(label) = chunk.card() else { continue };
        match document(name, label, chunk, &mut reader, report) {
            Ok(json) => documents.push(Document::new(label, json)),
            Err(fault) => failures.push(fault),
        }
    }
    (documents, failures)
}

fn assets(all: &[PngChunk<'_>]) -> Vec<Asset> {
    let others = all.iter().filter(|c| c.card().is_none());
    others
        .filter_map(|c| {
            let word = c.keyword()?;
            let bytes_len = c.data.len().saturating_sub(word.len() + 1) as u64;
            Some(Asset { name: word.iter().map(|b| char::from(*b)).collect(), bytes_len })
        })
        .collect()
}

/// Warns of everything in the picture that is damaged.
fn note_damage(name: &str, all: &[PngChunk<'_>], end: &WalkEnd<'_>, report: &mut Report) {
    let wrong: Vec<String> = all.iter().filter(|c| !c.intact).take(1000).map(PngChunk::kind).collect();
    if !wrong.is_empty() {
        let kinds = listed(wrong.iter().map(String::as_str));
        report.push(tolerated(container(name, format!("has a wrong checksum in {kinds}")).help(FETCH)));
    }
    let message = match end {
        WalkEnd::Complete => return,
        WalkEnd::Missing => "is cut off: it has no `IEND` chunk".to_owned(),
        WalkEnd::Cut { chunk, declared } => {
            format!("is cut off or lies: chunk `{}` declares {declared} bytes, but {} are left", chunk.kind(), chunk.data.len())
        }
        WalkEnd::Nonsense { at } => format!("is damaged: no chunk begins at byte {at}"),
        WalkEnd::TooMany => "has too many chunks; only the first are walked".to_owned(),
    };
    report.push(tolerated(container(name, message).help(FETCH)));
}

/// The error for a picture in which no card chunk is intact.
fn no_card(name: &str, all: &[PngChunk<'_>], end: &WalkEnd<'_>) -> Diagnostic {
    if let WalkEnd::Cut { chunk, declared } = end
        && let Some(label) = chunk.card()
    {
        let have = chunk.data.len();
        return container(name, format!("ends inside its card: chunk `{label}` has {have} of {declared} bytes")).help(FETCH);
    }
    let words: Vec<String> =
        all.iter().filter_map(PngChunk::keyword).take(1000).map(|w| w.iter().map(|b| char::from(*b)).collect()).collect();
    let found = match words.is_empty() {
        true => "it has no text chunk".to_owned(),
        false => format!("its text chunks are {}", listed(words.iter().map(String::as_str))),
    };
    Diagnostic::new(Code::ImportFormat, format!("`{name}` is a PNG picture without a card: {found}")).help(STRIPPED)
}

/// Writes cards into a PNG file: `png` with `cards`, pairs of a keyword (`ccv3` or `chara`) and a document, in place of
/// all cards that it had.
///
/// The new chunks are of type `tEXt`, stand before `IEND` and have correct checksums; every other chunk is kept byte
/// for byte.
///
/// # Errors
/// The chunks of `png` cannot be followed to the end, a keyword is neither `ccv3` nor `chara`, or a card is too long
/// for a chunk.
pub fn write_card(png: &[u8], cards: &[(&str, &serde_json::Value)]) -> Result<Vec<u8>, Report> {
    let (all, end) = walk(png);
    if !png.starts_with(SIGNATURE) || !matches!(end, WalkEnd::Complete) {
        let mut report = failed(container("the picture", "is not a whole PNG file, so no card can be written to it").help(FETCH));
        note_damage("the picture", &all, &end, &mut report);
        return Err(report);
    }
    let mut out = SIGNATURE.to_vec();
    for chunk in all.iter().filter(|c| c.card().is_none()) {
        if &chunk.kind == b"IEND" {
            append(cards, &mut out).map_err(failed)?;
        }
        out.extend_from_slice(chunk.raw);
    }
    Ok(out)
}

fn append(cards: &[(&str, &serde_json::Value)], out: &mut Vec<u8>) -> Result<(), ImportFault> {
    for (keyword, json) in cards {
        if ![CCV3, CHARA].contains(keyword) {
            return Err(Diagnostic::new(Code::ImportFormat, format!("a card cannot be written under the keyword `{keyword}`"))
                .help("use `ccv3` or `chara`")
                .into());
        }
        let data = [keyword.as_bytes(), &[0], encoded(json).as_bytes()].concat();
        write(*b"tEXt", &data, out).ok_or_else(|| {
            Diagnostic::new(Code::FileTooLarge, format!("the card for `{keyword}` is longer than a PNG chunk can be"))
                .help("make the card smaller")
        })?;
    }
    Ok(())
}

/// First bytes of every PNG file.
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1A\n";
/// The keyword of a version 3 card.
pub(super) const CCV3: &str = "ccv3";
/// The keyword of an older card.
pub(super) const CHARA: &str = "chara";
/// The most chunks that are walked.
const MAX_CHUNKS: usize = 100_000;
/// The most places outside the order of chunks that are tried as a card.
const MAX_STRAYS: usize = 64;
/// The bytes of length, type and checksum.
const FRAME: usize = 12;

/// One chunk.
#[derive(Debug, Clone, Copy)]
struct PngChunk<'a> {
    /// The offset of its length field.
    pub(super) start: usize,
    /// Its type, such as `tEXt`.
    pub(super) kind: [u8; 4],
    /// Its content; for the last chunk of a truncated file, the part that is there.
    pub(super) data: &'a [u8],
    /// The whole chunk, with length, type and checksum.
    pub(super) raw: &'a [u8],
    /// Whether the checksum is correct.
    pub(super) intact: bool,
}

/// How the walk ended.
#[derive(Debug, Clone, Copy)]
enum WalkEnd<'a> {
    /// At the `IEND` chunk.
    Complete,
    /// The bytes end without `IEND`.
    Missing,
    /// A chunk declares more bytes than the file has.
    Cut { chunk: PngChunk<'a>, declared: u32 },
    /// The bytes after a chunk are not a chunk: a length before them is wrong.
    Nonsense { at: usize },
    /// There are more than [`MAX_CHUNKS`] chunks.
    TooMany,
}

impl<'a> PngChunk<'a> {
    /// The type as text.
    pub(super) fn kind(&self) -> String {
        String::from_utf8_lossy(&self.kind).into_owned()
    }

    /// The keyword, if this is a text chunk with one (1 to 79 bytes before a NUL).
    pub(super) fn keyword(&self) -> Option<&'a [u8]> {
        if !matches!(&self.kind, b"tEXt" | b"zTXt" | b"iTXt") {
            return None;
        }
        let end = self.data.iter().take(80).position(|b| *b == 0)?;
        self.data.get(..end).filter(|word| !word.is_empty())
    }

    /// The label of the card that this chunk carries: [`CCV3`] or [`CHARA`]; the case of letters does not matter.
    pub(super) fn card(&self) -> Option<&'static str> {
        let word = self.keyword()?;
        [CCV3, CHARA].into_iter().find(|label| word.eq_ignore_ascii_case(label.as_bytes()))
    }
}

/// All chunks in order, as far as they can be followed.
fn walk(bytes: &[u8]) -> (Vec<PngChunk<'_>>, WalkEnd<'_>) {
    let mut chunks = Vec::new();
    let mut at = SIGNATURE.len();
    while at < bytes.len() {
        if chunks.len() == MAX_CHUNKS {
            return (chunks, WalkEnd::TooMany);
        }
        let Some((declared, kind)) = frame(bytes, at) else { return (chunks, WalkEnd::Nonsense { at }) };
        let chunk = chunk_at(bytes, at, declared, kind);
        if chunk.data.len() < declared as usize {
            return (chunks, WalkEnd::Cut { chunk, declared });
        }
        chunks.push(chunk);
        if &kind == b"IEND" {
            return (chunks, WalkEnd::Complete);
        }
        at += chunk.raw.len();
    }
    (chunks, WalkEnd::Missing)
}

/// Intact card chunks anywhere in the bytes, for files in which the order of chunks is lost.
///
/// The checksum must be correct, and the number of tried places is limited: a hostile file could claim a long chunk at
/// every byte.
fn strays(bytes: &[u8]) -> Vec<PngChunk<'_>> {
    let Ok(search) = AhoCorasick::new(["tEXt", "zTXt", "iTXt"]) else { return Vec::new() };
    search
        .find_iter(bytes)
        .filter_map(|hit| {
            let start = hit.start().checked_sub(4)?;
            let (declared, kind) = frame(bytes, start)?;
            let data = bytes.get(start + 8..)?.get(..declared as usize)?;
            let chunk = PngChunk { start, kind, data, raw: data, intact: false };
            chunk.card().map(|_| (start, declared, kind))
        })
        .take(MAX_STRAYS)
        .map(|(start, declared, kind)| chunk_at(bytes, start, declared, kind))
        .filter(|chunk| chunk.intact)
        .collect()
}

/// Length and type of the chunk at `at`; `None` if the type is not four letters.
fn frame(bytes: &[u8], at: usize) -> Option<(u32, [u8; 4])> {
    let (length, rest) = bytes.get(at..)?.split_first_chunk::<4>()?;
    let kind = rest.first_chunk::<4>().filter(|k| k.iter().all(u8::is_ascii_alphabetic))?;
    Some((u32::from_be_bytes(*length), *kind))
}

fn chunk_at(bytes: &[u8], start: usize, declared: u32, kind: [u8; 4]) -> PngChunk<'_> {
    let clipped = |length: usize| {
        let rest = bytes.get(start..).unwrap_or_default();
        rest.get(..length).unwrap_or(rest)
    };
    let length = declared as usize;
    let raw = clipped(length.saturating_add(FRAME));
    let data = clipped(length.saturating_add(8)).get(8..).unwrap_or_default();
    let sum = raw.get(length.saturating_add(8)..).and_then(|tail| tail.first_chunk::<4>());
    let intact = sum.is_some_and(|sum| u32::from_be_bytes(*sum) == checksum(kind, data));
    PngChunk { start, kind, data, raw, intact }
}

/// The correct checksum of a chunk.
fn checksum(kind: [u8; 4], data: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(&kind);
    crc.update(data);
    crc.sum()
}

/// Writes a chunk; `None` if the content is longer than a chunk can be.
pub(super) fn write(kind: [u8; 4], data: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let length = u32::try_from(data.len()).ok().filter(|n| *n <= i32::MAX.cast_unsigned())?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&kind);
    out.extend_from_slice(data);
    out.extend_from_slice(&checksum(kind, data).to_be_bytes());
    Some(())
}

/// The longest text of a card chunk after decompression, in bytes.
const MAX_TEXT: usize = MAX_UNPACKED;

/// Standard base64 as cards contain it: padding may be missing, and the unused bits of the last symbol may be set.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true),
);

const AGAIN: &str = "download the original file again; if it stays so, export the card again where it was made";

/// The document that the card chunk `label` of file `name` holds.
fn document(name: &str, label: &str, chunk: &PngChunk<'_>, reader: &mut JsonScanner, report: &mut Report) -> Result<Value, ImportFault> {
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
