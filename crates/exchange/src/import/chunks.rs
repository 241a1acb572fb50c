//! The chunks of a PNG file, read without trusting any of them, so that damage in the picture does not lose the card
//! after it.

use aho_corasick::AhoCorasick;

/// First bytes of every PNG file.
pub(super) const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1A\n";
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
pub(super) struct PngChunk<'a> {
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
pub(super) enum WalkEnd<'a> {
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
pub(super) fn walk(bytes: &[u8]) -> (Vec<PngChunk<'_>>, WalkEnd<'_>) {
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
pub(super) fn strays(bytes: &[u8]) -> Vec<PngChunk<'_>> {
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
