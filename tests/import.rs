//! Foreign containers, read through `import::read`: honest ones, damaged ones and hostile ones.

use std::io::{Cursor, Write};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};
use tapster::diag::{Code, Report, Severity};
use tapster::import::{Container, Imported, read, write_card};
use zip::write::SimpleFileOptions;

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

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A real picture from the `png` crate, cut into what is before IEND and IEND.
fn picture() -> (Vec<u8>, Vec<u8>) {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, 8, 8);
    encoder.set_color(png::ColorType::Grayscale);
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

fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn ok(name: &str, bytes: &[u8]) -> Imported {
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
    report.items().iter().map(|d| d.code).collect()
}

fn main_of(imported: &Imported) -> &Value {
    &imported.main().unwrap().json
}

// ---- PNG

#[test]
fn a_card_after_the_image_data_is_found() {
    let imported = ok("a.png", &with(&[card("chara", r#"{"name":"Ada"}"#)]));
    assert_eq!(imported.container, Container::Png);
    assert_eq!(main_of(&imported), &json!({"name": "Ada"}));
    assert_eq!((imported.documents[0].label.as_str(), imported.kept, imported.skipped), ("chara", 1, 0));
    assert!(imported.report.is_empty());
}

#[test]
fn ccv3_counts_before_chara_in_any_case_of_letters() {
    let imported = ok("a.png", &with(&[card("Chara", r#"{"v":2}"#), card("CCV3", r#"{"v":3}"#)]));
    assert_eq!(imported.documents.iter().map(|d| d.label.as_str()).collect::<Vec<_>>(), ["chara", "ccv3"]);
    assert_eq!(main_of(&imported), &json!({"v": 3}));
}

#[test]
fn compressed_and_international_text_is_read() {
    let base64 = STANDARD.encode(r#"{"v":1}"#);
    let packed = deflated(base64.as_bytes());
    let ztxt = chunk(b"zTXt", &[b"chara\0\0".as_slice(), &packed].concat());
    let plain = chunk(b"iTXt", &[b"chara\0\0\0en\0x\0".as_slice(), base64.as_bytes()].concat());
    let both = chunk(b"iTXt", &[b"chara\0\x01\0\0\0".as_slice(), &packed].concat());
    for chunk in [ztxt, plain, both] {
        assert_eq!(main_of(&ok("a.png", &with(&[chunk]))), &json!({"v": 1}));
    }
}

#[test]
fn base64_may_have_line_breaks_and_lack_padding() {
    let base64 = STANDARD.encode(r#"{"name":"Bo"}"#);
    assert!(base64.ends_with('='));
    let loose = base64.trim_end_matches('=').as_bytes().chunks(5).collect::<Vec<_>>().join(b"\r\n".as_slice());
    assert_eq!(main_of(&ok("a.png", &with(&[raw_text("chara", &loose)]))), &json!({"name": "Bo"}));
}

#[test]
fn damaged_image_data_does_not_cost_the_card() {
    let mut bytes = with(&[card("chara", "{}")]);
    let at = position(&bytes, b"IDAT");
    bytes[at + 6] ^= 0xFF;
    let imported = ok("a.png", &bytes);
    assert_eq!(main_of(&imported), &json!({}));
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
        assert_eq!(main_of(&imported), &json!({"v": 1}), "length {lie}");
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
    assert_eq!(main_of(&imported), &json!({"v": 2}));
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
    assert_eq!(main_of(&imported), &new);
    assert_eq!(imported.assets[0].name, "Software");
    // an independent reader agrees
    let mut reader = png::Decoder::new(Cursor::new(&bytes)).read_info().unwrap();
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

// ---- CHARX

#[test]
fn an_archive_yields_its_card_and_lists_its_assets() {
    let bytes = zipped(&[("assets/icon/main.png", b"12345"), ("card.json", br#"{"v":3}"#)]);
    let imported = ok("a.charx", &bytes);
    assert_eq!((imported.container, main_of(&imported)), (Container::Charx, &json!({"v": 3})));
    assert_eq!(imported.documents[0].label, "card.json");
    assert_eq!(imported.assets.iter().map(|a| (a.name.as_str(), a.bytes_len)).collect::<Vec<_>>(), [("assets/icon/main.png", 5)]);
}

#[test]
fn an_archive_behind_a_jpeg_picture_is_found() {
    let bytes = [b"\xFF\xD8\xFF\xE0 picture ".to_vec(), zipped(&[("card.json", br#"{"v":3}"#)])].concat();
    assert_eq!(main_of(&ok("a.jpg", &bytes)), &json!({"v": 3}));
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

/// An archive with one member of `mib` MiB of zeros.
fn bomb(member: &str, mib: usize) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("card.json", SimpleFileOptions::default()).unwrap();
    if member != "card.json" {
        zip.write_all(b"{}").unwrap();
        zip.start_file(member, SimpleFileOptions::default()).unwrap();
    }
    let block = vec![0; 1 << 20];
    for _ in 0..mib {
        zip.write_all(&block).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_bomb_that_declares_its_size_is_refused_unopened() {
    for member in ["card.json", "assets/x.png"] {
        let bytes = bomb(member, 1024);
        let start = std::time::Instant::now();
        let report = refused("a.charx", &bytes);
        assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
        assert_eq!(codes(&report), [Code::ImportContainer]);
        assert!(told(&report).contains("1073741824 bytes"), "{}", told(&report));
    }
}

#[test]
fn a_bomb_that_lies_about_its_size_is_refused_in_bounded_memory() {
    let mut bytes = bomb("card.json", 256);
    let (local, central) = (position(&bytes, b"PK\x03\x04"), position(&bytes, b"PK\x01\x02"));
    bytes[local + 22..local + 26].copy_from_slice(&2_u32.to_le_bytes());
    bytes[central + 24..central + 28].copy_from_slice(&2_u32.to_le_bytes());
    refused("a.charx", &bytes);
    assert!(peak_mib().is_none_or(|mib| mib < 512), "{:?} MiB", peak_mib());
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

// ---- JSON and text

#[test]
fn json_is_kept_as_written() {
    let imported = ok("x.bin", br#"{"z":1,"a":[1.5,null,true,"t",-3,18446744073709551615]}"#);
    assert_eq!((imported.container, imported.documents[0].label.as_str()), (Container::Json, "json"));
    assert_eq!(main_of(&imported).to_string(), r#"{"z":1,"a":[1.5,null,true,"t",-3,18446744073709551615]}"#);
    assert!(imported.documents[0].format.is_none());
}

#[test]
fn broken_json_is_placed() {
    let report = refused("x.json", b"{\n  \"a\": 1,\n}");
    assert_eq!(codes(&report), [Code::SyntaxJson]);
    assert!(told(&report).contains("trailing comma at line 3 column 1"), "{}", told(&report));
    assert!(told(&refused("x.json", b"{\"a\": [1, 2")).contains("ends too early"));
    assert_eq!(codes(&refused("x.json", b"[1,\xFF]")), [Code::FileEncoding]);
}

#[test]
fn nesting_and_size_are_bounded() {
    assert_eq!(codes(&refused("x.json", "[".repeat(100_000).as_bytes())), [Code::FileTooDeep]);
    let wide = format!("[{}0]", "0,".repeat(2_000_000));
    assert_eq!(codes(&refused("x.json", wide.as_bytes())), [Code::FileTooLarge]);
    let long = format!("[{}]", " ".repeat(33 << 20));
    assert_eq!(codes(&refused("x.json", long.as_bytes())), [Code::FileTooLarge]);
}

#[test]
fn what_is_tolerated_is_said() {
    let bom = ok("x.json", b"\xEF\xBB\xBF{}");
    assert_eq!(codes(&bom.report), [Code::FileBom]);
    let twice = ok("x.json", br#"{"a":1,"b":{"c":1},"a":2,"d":{"c":1}}"#);
    assert_eq!(main_of(&twice)["a"], json!(2));
    assert_eq!(codes(&twice.report), [Code::ImportValue]);
    assert!(told(&twice.report).contains("`a`") && !told(&twice.report).contains("`c`"));
}

#[test]
fn half_a_surrogate_pair_is_replaced() {
    let imported = ok("x.json", br#"{"a":"\ud83d!","b":"\ud83e\udd80","c":"\\ud83d","d":"\udc00\ud800"}"#);
    assert_eq!(main_of(&imported), &json!({"a": "\u{fffd}!", "b": "🦀", "c": "\\ud83d", "d": "\u{fffd}\u{fffd}"}));
    assert!(told(&imported.report).contains("3 half characters"));
}

#[test]
fn a_text_is_a_document_and_other_files_are_named() {
    let text = ok("story.txt", "Once, π.".as_bytes());
    assert_eq!((text.container, main_of(&text)), (Container::Text, &json!("Once, π.")));
    for (bytes, words) in [
        (b"GIF89a\0\xFF".as_slice(), "a GIF picture"),
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF", "a JPEG picture"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP picture"),
        (b"\xFF\xFE{\0}\0", "a UTF-16 text"),
        (b"\0\x01\x02\xFF", "no known format"),
        (b" \n", "is empty"),
    ] {
        let report = refused("x", bytes);
        assert_eq!(codes(&report), [Code::ImportFormat]);
        assert!(told(&report).contains(words), "{}", told(&report));
    }
    assert_eq!(codes(&refused("x.txt", b"a caf\xE9 in an old encoding")), [Code::FileEncoding]);
}

#[test]
fn the_name_of_a_file_does_not_decide() {
    assert_eq!(ok("x.png", b"{}").container, Container::Json);
    assert_eq!(ok("x.json", &with(&[card("chara", "{}")])).container, Container::Png);
}

// ---- JSONL

#[test]
fn a_chat_loses_only_its_broken_lines() {
    let chat = b"\xEF\xBB\xBF{\"n\":1}\r\n\r\n{\"n\":2}\r\n{oops\r\n[1]\r\n{\"t\":\"\xFF\"}\r\n{\"n\":7}";
    let imported = ok("chat.jsonl", chat);
    assert_eq!(imported.container, Container::Jsonl);
    assert_eq!(imported.documents.iter().map(|d| d.label.as_str()).collect::<Vec<_>>(), ["line 1", "line 3", "line 7"]);
    assert_eq!((imported.kept, imported.skipped), (3, 3));
    let told = told(&imported.report);
    for words in
        ["line 4 of `chat.jsonl` is skipped: key must be a string at column 2", "line 5", "not an object", "line 6", "not valid UTF-8"]
    {
        assert!(told.contains(words), "{words} in {told}");
    }
}

#[test]
fn chats_are_told_from_json_by_content() {
    assert_eq!(ok("x", b"{\"a\":1}\n{\"a\":2}\n").container, Container::Jsonl);
    assert_eq!(ok("x", b"{\"a\":\n{\"b\":2}\n}").container, Container::Json);
    assert_eq!(ok("x.json", b"{\"a\":1}\n").container, Container::Json);
    assert_eq!(ok("x.jsonl", b"{\"a\":1}\n").container, Container::Jsonl);
    let outvoted = ok("x", b"{\"a\":\n{\"b\":2}\n{\"b\":3}\n");
    assert_eq!((outvoted.container, outvoted.kept, outvoted.skipped), (Container::Jsonl, 2, 1));
}

#[test]
fn at_most_fifty_broken_lines_are_listed() {
    let chat = format!("{{}}\n{}", "{broken}\n".repeat(80));
    let imported = ok("x.jsonl", chat.as_bytes());
    assert_eq!((imported.kept, imported.skipped, imported.report.items().len()), (1, 80, 51));
    assert!(told(&imported.report).contains("30 more lines"));
}

#[test]
fn a_chat_without_one_good_line_is_an_error() {
    let report = refused("x", b"{broken}\n{broken}\n{broken}\n");
    assert_eq!(report.items().last().unwrap().code, Code::ImportFormat);
}

#[test]
fn a_huge_line_costs_only_itself() {
    let chat = format!("{{\"n\":1}}\n{{\"t\":\"{}\"}}\n{{\"n\":3}}\n", "x".repeat(17 << 20));
    let imported = ok("x.jsonl", chat.as_bytes());
    assert_eq!((imported.kept, imported.skipped), (2, 1));
}

// ---- all

#[test]
fn a_card_of_the_real_world_is_found() {
    let shared =
        std::env::var_os("TAPSTER_SHARED").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = shared.join("real/sillytavern/default_Seraphina.png");
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: {} is not here", path.display());
        return;
    };
    let imported = ok("seraphina.png", &bytes);
    assert_eq!(main_of(&imported).pointer("/data/name"), Some(&json!("Seraphina")));
    let again = ok("again.png", &write_card(&bytes, &[("chara", main_of(&imported))]).unwrap());
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
        let mut bytes = if zip { zipped(&[("a.png", b"123"), ("card.json", b"{\"a\":1}")]) } else { with(&[card("chara", "{\"a\":1}")]) };
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Err(report) = read("x", &bytes) {
            prop_assert!(report.has_errors());
        }
    }
}
