//! Files of other programs: containers, what their documents mean, and a scene from several of them.

use serde_json::{Value as Json, json};
use tapster::{ScenePart, Value, assemble_scene, build, convert_document, import_document};
use tapster_exchange::import;

use super::{Verdict, shipped};
use crate::seeds;

pub(super) fn files() -> Vec<Vec<u8>> {
    let mut all = seeds::files("tests/foreign", "json", 16 << 10);
    all.extend(seeds::files("examples", "jsonl", 8 << 10));
    let card = json!({ "spec": "chara_card_v3", "data": { "name": "Ann", "description": "A smith." } });
    all.extend(import::write_module(&json!({ "name": "m", "lorebook": [{ "key": "a", "content": "b" }], "assets": [] })));
    #[cfg(feature = "whole")]
    all.extend(import::write_preset(&json!({ "name": "p", "mainPrompt": "x", "temperature": 80, "promptTemplate": [] })));
    let pictures = seeds::files("fuzz/seeds/container", "png", u64::MAX);
    all.extend(pictures.iter().filter_map(|picture| import::write_card(picture, &[("chara", &card), ("ccv3", &card)]).ok()));
    all
}

pub(super) fn container(input: &[u8]) -> Verdict {
    let as_is = import::read("f.json", input).is_ok() | import::read("f.jsonl", input).is_ok();
    let mended = mended(input).is_some_and(|bytes| import::read("f.png", &bytes).is_ok());
    Ok(as_is | mended)
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A picture with the checksums of its chunks made right, which mutations make wrong.
fn mended(input: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = input.strip_prefix(PNG).map(|_| input.to_vec())?;
    let mut at = PNG.len();
    while let Some(head) = bytes.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let end = at.checked_add(8)?.checked_add(length)?;
        let Some(sum) = bytes.get(at + 4..end).map(crc) else { break };
        let Some(place) = bytes.get_mut(end..end + 4) else { break };
        place.copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
    Some(bytes)
}

/// The checksum of a chunk.
fn crc(bytes: &[u8]) -> u32 {
    !bytes
        .iter()
        .fold(!0_u32, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())))
}

/// The documents that show what each format means.
pub(super) fn documents() -> Vec<Vec<u8>> {
    let files = seeds::files("tests/foreign", "json", 32 << 10);
    let samples = files.iter().filter_map(|bytes| serde_json::from_slice::<Json>(bytes).ok());
    let cards = seeds::files("examples", "json", 8 << 10);
    samples.map(|sample| sample["document"].to_string().into_bytes()).chain(cards).collect()
}

pub(super) fn document(input: &[u8]) -> Verdict {
    let Some(document) = super::json(input) else { return Ok(false) };
    let mut taken = false;
    for pack in ["sillytavern", "sillytavern-exact", "risuai", "risuai-exact"] {
        taken |= import_document(&shipped(pack), None, &document).is_ok();
    }
    for pack in ["sillytavern", "risuai"] {
        taken |= convert_document(&shipped(pack), None, &document).is_ok();
    }
    Ok(taken)
}

pub(super) fn scene(input: &[u8]) -> Verdict {
    let Some(document) = super::json(input) else { return Ok(false) };
    let mut built = false;
    for pack in ["sillytavern-exact", "risuai-exact"] {
        let rules = shipped(pack);
        let Ok(imported) = import_document(&rules, None, &document) else { continue };
        let kind = ["character", "lorebook", "preset", "chat", "persona"]
            .into_iter()
            .find(|kind| imported.format.contains(kind))
            .unwrap_or("character");
        let chat = json!({ "history": [{ "id": "1", "role": "user", "name": "Bo", "text": "A lamp, a dragon, and {{char}}. aaaaaaaaaaaaaaaaaaaaaaaa!" }], "names": { "user": "Bo" } });
        let parts = [
            ScenePart::new("clock", Value::from(&json!({ "now": "2026-01-31T20:15:00Z" }))),
            ScenePart { kind: kind.to_owned(), stem: "f".to_owned(), scene: imported.scene },
            ScenePart::new("file", Value::from(&chat)),
        ];
        built |= assemble_scene(&rules, &parts).is_ok_and(|assembled| build(&rules, &assembled.scene).is_ok());
    }
    Ok(built)
}
