//! Cards in pictures: where they stand, how they are packed, and what damage they survive.

use std::io::{Cursor, Write};

use tapster::diag::Severity;
use tapster_exchange::import::Container;

use super::*;

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn a_card_after_the_image_data_is_found() {
    let imported = ok("a.png", &with(&[card("chara", r#"{"name":"Ada"}"#)]));
    assert_eq!(imported.container, Container::Png);
    assert_eq!(&main_of(&imported), &json!({"name": "Ada"}));
    assert_eq!((imported.documents[0].label.as_str(), imported.kept, imported.skipped), ("chara", 1, 0));
    assert!(imported.report.is_empty());
}

#[test]
fn ccv3_counts_before_chara_in_any_case_of_letters() {
    let imported = ok("a.png", &with(&[card("Chara", r#"{"v":2}"#), card("CCV3", r#"{"v":3}"#)]));
    assert_eq!(imported.documents.iter().map(|d| d.label.as_str()).collect::<Vec<_>>(), ["chara", "ccv3"]);
    assert_eq!(&main_of(&imported), &json!({"v": 3}));
}

#[test]
fn a_pack_says_which_card_of_a_picture_counts() {
    let imported = ok("a.png", &with(&[card("chara", r#"{"v":2}"#), card("ccv3", r#"{"v":3}"#)]));
    let overlay = "kind = \"overlay\"\nversion = 1\n[[card_chunk]]\nname = \"chara\"\nbefore = \"ccv3\"\n";
    for (overlays, version) in [(vec![], 3), (vec![("older.toml", overlay)], 2)] {
        let rules = tapster::Ruleset::open_with("base", &overlays).unwrap();
        assert_eq!(imported.main_of(rules.card_chunks()).unwrap().json(), json!({ "v": version }));
    }
}

#[test]
fn compressed_and_international_text_is_read() {
    let base64 = STANDARD.encode(r#"{"v":1}"#);
    let packed = deflated(base64.as_bytes());
    let ztxt = chunk(b"zTXt", &[b"chara\0\0".as_slice(), &packed].concat());
    let plain = chunk(b"iTXt", &[b"chara\0\0\0en\0x\0".as_slice(), base64.as_bytes()].concat());
    let both = chunk(b"iTXt", &[b"chara\0\x01\0\0\0".as_slice(), &packed].concat());
    for chunk in [ztxt, plain, both] {
        assert_eq!(&main_of(&ok("a.png", &with(&[chunk]))), &json!({"v": 1}));
    }
}

#[test]
fn base64_may_have_line_breaks_and_lack_padding() {
    let base64 = STANDARD.encode(r#"{"name":"Bo"}"#);
    assert!(base64.ends_with('='));
    let loose = base64.trim_end_matches('=').as_bytes().chunks(5).collect::<Vec<_>>().join(b"\r\n".as_slice());
    assert_eq!(&main_of(&ok("a.png", &with(&[raw_text("chara", &loose)]))), &json!({"name": "Bo"}));
}

#[test]
fn damaged_image_data_does_not_cost_the_card() {
    let mut bytes = with(&[card("chara", "{}")]);
    let at = position(&bytes, b"IDAT");
    bytes[at + 6] ^= 0xFF;
    let imported = ok("a.png", &bytes);
    assert_eq!(&main_of(&imported), &json!({}));
    assert!(told(&imported.report).contains("wrong checksum in `IDAT`"), "{}", told(&imported.report));
}

#[test]
fn a_wrong_checksum_of_the_card_is_a_warning() {
    let mut text = card("chara", "{}");
    *text.last_mut().unwrap() ^= 1;
    let imported = ok("a.png", &with(&[text]));
    assert_eq!(imported.report.counts(), (0, 1));
}

#[test]
fn a_lying_length_before_the_card_is_survived() {
    for lie in [3_u32, 40, 0x7FFF_FFFF, u32::MAX] {
        let mut bytes = with(&[card("chara", r#"{"v":1}"#)]);
        let at = position(&bytes, b"IDAT");
        bytes[at - 4..at].copy_from_slice(&lie.to_be_bytes());
        let imported = ok("a.png", &bytes);
        assert_eq!(&main_of(&imported), &json!({"v": 1}), "length {lie}");
        assert!(told(&imported.report).contains("outside the order"), "{}", told(&imported.report));
    }
}

#[test]
fn a_lying_length_of_the_card_itself_is_an_error() {
    let mut bytes = with(&[card("chara", r#"{"v":1}"#)]);
    let at = position(&bytes, b"tEXt");
    bytes[at - 4..at].copy_from_slice(&9999_u32.to_be_bytes());
    let report = refused("a.png", &bytes);
    assert!(told(&report).contains("ends inside its card: chunk `chara` has"), "{}", told(&report));
}

#[test]
fn a_cut_after_the_card_is_a_warning_and_inside_it_an_error() {
    let bytes = with(&[card("chara", r#"{"name":"a rather long name"}"#)]);
    let imported = ok("a.png", &bytes[..bytes.len() - 12]);
    assert!(told(&imported.report).contains("no `IEND`"));
    // only the checksum is gone: the text is whole
    ok("a.png", &bytes[..bytes.len() - 14]);
    let report = refused("a.png", &bytes[..bytes.len() - 25]);
    assert_eq!(report.items().last().unwrap().code, Code::ImportContainer);
    assert!(told(&report).contains("ends inside its card"), "{}", told(&report));
}

#[test]
fn every_cut_of_a_card_picture_is_an_answer() {
    let bytes = with(&[card("chara", r#"{"v":1}"#)]);
    let whole = position(&bytes, b"IEND") - 8;
    for length in 0..bytes.len() {
        assert_eq!(read("a.png", &bytes[..length]).is_ok(), length >= whole, "cut at {length} of {}", bytes.len());
    }
}

#[test]
fn a_picture_without_a_card_says_what_it_has() {
    let report = refused("a.png", &with(&[raw_text("Software", b"paint"), raw_text("parameters", b"x")]));
    assert_eq!(codes(&report), [Code::ImportFormat]);
    assert!(told(&report).contains("`Software`, `parameters`"), "{}", told(&report));
    assert!(report.items()[0].help.as_ref().unwrap().contains("original"));
    assert!(told(&refused("b.png", &with(&[]))).contains("no text chunk"));
}

#[test]
fn bad_base64_bad_utf8_and_bad_json_are_told_apart() {
    let cases: [(Vec<u8>, Code, &str); 4] = [
        (raw_text("chara", b"e30*"), Code::ImportContainer, "not valid base64 (byte 0x2a at 3)"),
        (raw_text("chara", b"  "), Code::ImportContainer, "it is empty"),
        (raw_text("chara", STANDARD.encode(b"{\"a\":\"\xFF\"}").as_bytes()), Code::FileEncoding, "byte 6"),
        (card("chara", r#"{"a": }"#), Code::SyntaxJson, "line 1 column 7"),
    ];
    for (chunk, code, words) in cases {
        let report = refused("a.png", &with(&[chunk]));
        assert_eq!(codes(&report), [code]);
        assert!(told(&report).contains(words), "{}", told(&report));
    }
}

#[test]
fn one_broken_card_does_not_cost_the_other() {
    let imported = ok("a.png", &with(&[card("ccv3", "{oops"), card("chara", r#"{"v":2}"#)]));
    assert_eq!(&main_of(&imported), &json!({"v": 2}));
    assert_eq!((imported.kept, imported.skipped), (1, 1));
    assert!(imported.report.items().iter().any(|d| d.code == Code::SyntaxJson && d.severity == Severity::Warning));
}

#[test]
fn a_compressed_bomb_in_a_text_chunk_is_refused() {
    let bomb = deflated(&vec![b'A'; 80 << 20]);
    assert!(bomb.len() < 1 << 20);
    let report = refused("a.png", &with(&[chunk(b"zTXt", &[b"chara\0\0".as_slice(), &bomb].concat())]));
    assert_eq!(codes(&report), [Code::FileTooLarge]);
}

#[test]
fn other_text_chunks_are_assets() {
    let imported = ok("a.png", &with(&[raw_text("asset_:0", b"12345"), card("chara", "{}")]));
    assert_eq!(imported.assets.iter().map(|a| (a.name.as_str(), a.bytes_len)).collect::<Vec<_>>(), [("asset_:0", 5)]);
}

#[test]
fn a_written_card_replaces_the_old_ones_and_reads_back() {
    let old = with(&[card("ccv3", r#"{"old":1}"#), raw_text("Software", b"paint"), card("chara", r#"{"old":1}"#)]);
    let new = json!({"spec": "x", "data": {"name": "Zoë 🦀"}});
    let bytes = write_card(&old, &[("chara", &new)]).unwrap();
    let imported = ok("a.png", &bytes);
    assert!(imported.report.is_empty(), "checksums are right: {}", told(&imported.report));
    assert_eq!(imported.documents.len(), 1);
    assert_eq!(&main_of(&imported), &new);
    assert_eq!(imported.assets[0].name, "Software");
    // an independent reader agrees
    let mut reader = ::png::Decoder::new(Cursor::new(&bytes)).read_info().unwrap();
    reader.finish().unwrap();
    assert!(reader.info().uncompressed_latin1_text.iter().any(|t| t.keyword == "chara"));
}

#[test]
fn a_card_is_not_written_to_what_is_no_whole_picture() {
    let bytes = with(&[]);
    for (png, keyword) in [(&bytes[..bytes.len() - 12], "chara"), (b"hello".as_slice(), "chara"), (&bytes, "name")] {
        let report = write_card(png, &[(keyword, &json!({}))]).unwrap_err();
        assert!(report.has_errors());
        assert_helpful(&report);
    }
}

#[test]
fn a_picture_of_endless_chunks_is_bounded() {
    let mut bytes = SIGNATURE.to_vec();
    bytes.extend(chunk(b"abCd", b"").repeat(150_000));
    assert!(told(&refused("a.png", &bytes)).contains("too many chunks"));
}
