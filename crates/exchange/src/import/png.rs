//! Cards in PNG pictures. A card is found wherever it stands, and read as long as its own chunk is intact.

use super::chunks::{self, PngChunk, WalkEnd};
use super::json::JsonScanner;
use super::{Asset, Container, Contents, Document, ImportFault, container, failed, listed, payload, tolerated};
use crate::diag::{Code, Diagnostic, Report};

const FETCH: &str = "download the original file again";
const STRIPPED: &str = "sites and chat programs that convert pictures remove the card; fetch the original file";

/// Reads the cards of a PNG file.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    if !bytes.starts_with(chunks::SIGNATURE) {
        report.push(tolerated(container(name, "has a damaged PNG signature").help("it was sent as text; send or download it as binary")));
    }
    let (all, end) = chunks::walk(bytes);
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
    let strays: Vec<_> = chunks::strays(bytes).into_iter().filter(|s| !found.iter().any(|c| c.start == s.start)).collect();
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
        match payload::document(name, label, chunk, &mut reader, report) {
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
    let (all, end) = chunks::walk(png);
    if !png.starts_with(chunks::SIGNATURE) || !matches!(end, WalkEnd::Complete) {
        let mut report = failed(container("the picture", "is not a whole PNG file, so no card can be written to it").help(FETCH));
        note_damage("the picture", &all, &end, &mut report);
        return Err(report);
    }
    let mut out = chunks::SIGNATURE.to_vec();
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
        if ![chunks::CCV3, chunks::CHARA].contains(keyword) {
            return Err(Diagnostic::new(Code::ImportFormat, format!("a card cannot be written under the keyword `{keyword}`"))
                .help("use `ccv3` or `chara`")
                .into());
        }
        let data = [keyword.as_bytes(), &[0], payload::encoded(json).as_bytes()].concat();
        chunks::write(*b"tEXt", &data, out).ok_or_else(|| {
            Diagnostic::new(Code::FileTooLarge, format!("the card for `{keyword}` is longer than a PNG chunk can be"))
                .help("make the card smaller")
        })?;
    }
    Ok(())
}
