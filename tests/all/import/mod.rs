//! Foreign containers, read through `import::read`: honest ones, damaged ones and hostile ones.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test, its helpers included, fails by panicking")]

mod charx;
mod large;
mod png;
mod risu;
mod text;
mod unread;

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};
use tapster::diag::{Code, Report};
use tapster_exchange::import::{Contents, read, write_card};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A chunk with its right checksum.
fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(data);
    let length = u32::try_from(data.len()).unwrap();
    [&length.to_be_bytes(), kind.as_slice(), data, &crc.sum().to_be_bytes()].concat()
}

/// A tEXt chunk with base64 of `text`.
fn card(keyword: &str, text: &str) -> Vec<u8> {
    raw_text(keyword, STANDARD.encode(text).as_bytes())
}

fn raw_text(keyword: &str, text: &[u8]) -> Vec<u8> {
    chunk(b"tEXt", &[keyword.as_bytes(), b"\0", text].concat())
}

/// A real picture from the `png` crate, cut into what is before IEND and IEND.
fn picture() -> (Vec<u8>, Vec<u8>) {
    let mut out = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut out, 8, 8);
    encoder.set_color(::png::ColorType::Grayscale);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[7; 64]).unwrap();
    writer.finish().unwrap();
    let end = out.split_off(out.len() - 12);
    (out, end)
}

/// A real picture with these chunks after its image data.
fn with(chunks: &[Vec<u8>]) -> Vec<u8> {
    let (head, end) = picture();
    [head, chunks.concat(), end].concat()
}

fn position(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).position(|w| w == needle).unwrap()
}

fn ok(name: &str, bytes: &[u8]) -> Contents {
    let imported = read(name, bytes).unwrap_or_else(|report| panic!("{name}: {}", told(&report)));
    assert!(!imported.report.has_errors(), "a success reports warnings only: {}", told(&imported.report));
    assert_helpful(&imported.report);
    imported
}

fn refused(name: &str, bytes: &[u8]) -> Report {
    let Err(report) = read(name, bytes) else { panic!("{name} was accepted") };
    assert!(report.has_errors());
    assert_helpful(&report);
    report
}

/// Every complaint names the remedy and is worded by the house rules.
fn assert_helpful(report: &Report) {
    for d in report.items() {
        assert!(d.help.is_some() && !d.message.ends_with('.') && !d.message.contains('\n'), "{d:?}");
    }
}

fn told(report: &Report) -> String {
    report.items().iter().map(|d| format!("{}: {}", d.code.as_str(), d.message)).collect::<Vec<_>>().join("; ")
}

fn codes(report: &Report) -> Vec<Code> {
    report.items().iter().filter_map(|d| d.code.known()).collect()
}

fn main_of(imported: &Contents) -> Value {
    imported.main().unwrap().json()
}

#[test]
fn a_card_of_the_real_world_is_found() {
    let shared = std::env::var_os("TAPSTER_SHARED").map_or_else(|| PathBuf::from(env!("CHECKOUT")).join("../shared"), PathBuf::from);
    let path = shared.join("real/sillytavern/default_Seraphina.png");
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: {} is not here", path.display());
        return;
    };
    let imported = ok("seraphina.png", &bytes);
    assert_eq!(main_of(&imported).pointer("/data/name"), Some(&json!("Seraphina")));
    let again = ok("again.png", &write_card(&bytes, &[("chara", &main_of(&imported))]).unwrap());
    assert_eq!(main_of(&again), main_of(&imported));
}

/// Bytes that get past the sniffing, and bytes that do not.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let starts = [
        b"".to_vec(),
        SIGNATURE.to_vec(),
        [SIGNATURE, b"\0\0\0\x20tEXtchara\0"].concat(),
        [SIGNATURE, b"\0\0\0\x20zTXtccv3\0\0x\x9C"].concat(),
        [SIGNATURE, b"\0\0\0\x20iTXtccv3\0\x01\0"].concat(),
        b"PK\x03\x04".to_vec(),
        b"{".to_vec(),
        b"{}\n{".to_vec(),
        b"{\"a\":\"\\ud800\\".to_vec(),
        b"[".to_vec(),
    ];
    (prop::sample::select(starts.to_vec()), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(a, b)| [a, b].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in hostile()) {
        match read("x", &bytes) {
            Ok(imported) => prop_assert!(imported.main().is_some() && !imported.report.has_errors()),
            Err(report) => prop_assert!(report.has_errors()),
        }
    }

    #[test]
    fn no_flipped_byte_makes_it_panic(at in any::<prop::sample::Index>(), to in any::<u8>(), zip in any::<bool>()) {
        let mut bytes = if zip { charx::zipped(&[("a.png", b"123"), ("card.json", b"{\"a\":1}")]) } else { with(&[card("chara", "{\"a\":1}")]) };
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Err(report) = read("x", &bytes) {
            prop_assert!(report.has_errors());
        }
    }
}
