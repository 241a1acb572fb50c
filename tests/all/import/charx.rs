//! Archives: honest ones, cut ones, and bombs that must be refused without being unpacked.

use std::io::{Cursor, Write};

use tapster_exchange::import::Container;
use zip::write::SimpleFileOptions;

use super::*;
use crate::alone;

pub(super) fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn an_archive_yields_its_card_and_lists_its_assets() {
    let bytes = zipped(&[("assets/icon/main.png", b"12345"), ("card.json", br#"{"v":3}"#)]);
    let imported = ok("a.charx", &bytes);
    assert_eq!((imported.container, &main_of(&imported)), (Container::Charx, &json!({"v": 3})));
    assert_eq!(imported.documents[0].label, "card.json");
    assert_eq!(imported.assets.iter().map(|a| (a.name.as_str(), a.bytes_len)).collect::<Vec<_>>(), [("assets/icon/main.png", 5)]);
}

#[test]
fn an_archive_behind_a_jpeg_picture_is_found() {
    let bytes = [b"\xFF\xD8\xFF\xE0 picture ".to_vec(), zipped(&[("card.json", br#"{"v":3}"#)])].concat();
    assert_eq!(&main_of(&ok("a.jpg", &bytes)), &json!({"v": 3}));
}

#[test]
fn an_archive_without_a_card_names_what_it_holds() {
    let report = refused("a.charx", &zipped(&[("readme.txt", b"x"), ("lore.json", b"{}")]));
    assert_eq!(codes(&report), [Code::ImportFormat]);
    assert!(told(&report).contains("`readme.txt`, `lore.json`"), "{}", told(&report));
    let nested = ok("a.zip", &zipped(&[("Ada/card.json", b"{}")]));
    assert!(told(&nested.report).contains("`Ada/card.json`"));
}

#[test]
fn names_that_lead_out_of_the_archive_are_ignored() {
    let imported = ok("a.charx", &zipped(&[("../../etc/passwd", b"x"), ("card.json", b"{}")]));
    assert!(imported.assets.is_empty());
    assert!(told(&imported.report).contains("../../etc/passwd"));
    refused("b.charx", &zipped(&[("../card.json", b"{}")]));
}

#[test]
fn a_cut_or_damaged_archive_is_an_error() {
    let bytes = zipped(&[("card.json", &vec![b' '; 5000])]);
    assert_eq!(codes(&refused("a.charx", &bytes[..bytes.len() / 2])), [Code::ImportContainer]);
    let mut damaged = zipped(&[("card.json", br#"{"name":"a name that is long enough"}"#)]);
    damaged[45] ^= 0xFF;
    refused("a.charx", &damaged);
}

/// A valid archive whose only member unpacks to `mib` MiB of zeros; one compressed MiB is repeated, so making it is cheap.
fn bomb(member: &str, mib: u32) -> Vec<u8> {
    let zeros = vec![0; 1 << 20];
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    deflate.write_all(&zeros).unwrap();
    deflate.flush().unwrap();
    let block = deflate.get_ref().clone();
    let (mut one, mut all) = (flate2::Crc::new(), flate2::Crc::new());
    one.update(&zeros);
    (0..mib).for_each(|_| all.combine(&one));
    // stored first, then declared to be deflated; `\x03\0` is an empty last block
    let packed = [block.repeat(mib as usize), b"\x03\0".to_vec()].concat();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file(member, SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored)).unwrap();
    zip.write_all(&packed).unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    for (start, skip) in [(position(&bytes, b"PK\x03\x04"), 8), (position(&bytes, b"PK\x01\x02"), 10)] {
        let at = start + skip;
        bytes[at..at + 2].copy_from_slice(&8_u16.to_le_bytes());
        bytes[at + 6..at + 10].copy_from_slice(&all.sum().to_le_bytes());
    }
    declare(&mut bytes, mib << 20);
    bytes
}

/// Writes the unpacked size that the only member of an archive declares.
fn declare(zip: &mut [u8], size: u32) {
    for (start, skip) in [(position(zip, b"PK\x03\x04"), 22), (position(zip, b"PK\x01\x02"), 24)] {
        zip[start + skip..start + skip + 4].copy_from_slice(&size.to_le_bytes());
    }
}

#[test]
fn a_bomb_that_declares_its_size_is_refused_unopened() {
    for (member, mib, code, words) in [
        ("card.json", 1024, Code::ImportContainer, "1073741824 bytes"),
        ("assets/x.png", 1024, Code::ImportContainer, "1073741824 bytes"),
        ("card.json", 40, Code::FileTooLarge, "32 MiB"),
    ] {
        let report = refused("a.charx", &bomb(member, mib));
        assert_eq!(codes(&report), [code]);
        assert!(told(&report).contains(words), "{}", told(&report));
    }
}

#[test]
fn a_bomb_that_lies_about_its_size_is_refused_in_bounded_memory() {
    if !alone::is("import::charx::a_bomb_that_lies_about_its_size_is_refused_in_bounded_memory") {
        return;
    }
    let mut bytes = bomb("card.json", 1024);
    declare(&mut bytes, 2);
    let report = refused("a.charx", &bytes);
    assert!(told(&report).contains("not as the archive declares"), "{}", told(&report));
    assert!(peak_mib().is_none_or(|mib| mib < 700), "{:?} MiB", peak_mib());
}

#[test]
fn the_bomb_of_these_tests_is_a_valid_archive() {
    let mut zip = zip::ZipArchive::new(Cursor::new(bomb("card.json", 3))).unwrap();
    assert_eq!(std::io::copy(&mut zip.by_index(0).unwrap(), &mut std::io::sink()).unwrap(), 3 << 20);
}

/// Peak memory of this process, where the system tells it.
fn peak_mib() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib / 1024)
}

#[test]
fn an_archive_of_too_many_members_is_refused() {
    let mut bytes = zipped(&[("card.json", b"{}")]);
    let at = position(&bytes, b"PK\x01\x02");
    bytes.splice(at..at, b"PK\x01\x02".repeat(20_000));
    assert!(told(&refused("a.charx", &bytes)).contains("more than 10000 members"));
}

#[test]
fn a_module_that_cannot_be_unpacked_does_not_take_the_card_away() {
    let mut bytes = zipped(&[("card.json", br#"{"v":3}"#), ("module.risum", &[b'x'; 4_000])]);
    // the checksum of the module in the directory of the archive
    let at = bytes.windows(12).rposition(|part| part == b"module.risum").unwrap();
    bytes[at - 30] ^= 0xFF;
    let imported = ok("a.charx", &bytes);
    assert_eq!(&main_of(&imported), &json!({"v": 3}));
    assert!(!imported.report.items().is_empty());
}
