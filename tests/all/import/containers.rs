//! Cards in pictures: where they stand, how they are packed, and what damage they survive.

use std::io::{Cursor, Write};
use std::path::Path;

use serde_json::{Value, json};
use tapster::diag::Severity;
use tapster_exchange::import::{Container, WRITTEN, needs_picture, read, write, write_module, write_preset};
use zip::write::SimpleFileOptions;

use crate::import::{main_of, ok, *};
use crate::support;

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

// Archives: honest ones, cut ones, and bombs that must be refused without being unpacked.

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
        ("card.json", 100, Code::FileTooLarge, "96 MiB"),
    ] {
        let report = refused("a.charx", &bomb(member, mib));
        assert_eq!(codes(&report), [code]);
        assert!(told(&report).contains(words), "{}", told(&report));
    }
}

#[test]
fn a_bomb_that_lies_about_its_size_is_refused_in_bounded_memory() {
    if !support::runs_alone("import::containers::a_bomb_that_lies_about_its_size_is_refused_in_bounded_memory") {
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

// Containers with modules and presets: what is written is read again, and what is damaged is refused.

fn preset() -> Value {
    json!({ "name": "P", "mainPrompt": "Be {{char}}.", "temperature": 80, "top_p": 0.9, "big": 4_294_967_296_u64, "no": null, "list": [1, -2, "ä"] })
}

#[test]
fn a_preset_that_is_written_is_read_again() {
    let bytes = write_preset(&preset()).unwrap();
    let read = ok("p.risup", &bytes);
    assert_eq!((read.container, &main_of(&read)), (Container::Risup, &preset()));
    assert_eq!(read.documents[0].label, "preset");
}

#[test]
fn a_module_that_is_written_is_read_again() {
    let module = json!({ "name": "Winter", "assets": [["a", "", "png"]], "lorebook": [] });
    let mut bytes = write_module(&module).unwrap();
    let whole = ok("m.risum", &bytes);
    assert_eq!((whole.container, &main_of(&whole)["module"]), (Container::Risum, &module));
    // an asset behind it
    bytes.pop();
    bytes.extend([1, 3, 0, 0, 0, 7, 8, 9, 0]);
    let with_asset = ok("m.risum", &bytes);
    assert_eq!((with_asset.assets[0].name.as_str(), with_asset.assets[0].bytes_len), ("a", 3));
}

/// Every ending that help names can be written, and the file reads back as what it is.
#[test]
fn each_ending_is_written_and_read_again() {
    let kinds = [Container::Json, Container::Png, Container::Risup, Container::Risum];
    let document = json!({ "spec": "chara_card_v3", "name": "P", "module": { "name": "Winter" } });
    let picture = crate::import::with(&[]);
    for ((ending, _), kind) in WRITTEN.iter().zip(kinds) {
        let bytes = write(ending, &document, needs_picture(ending).then_some(picture.as_slice())).unwrap();
        let read = ok(&format!("file.{ending}"), &bytes);
        assert_eq!(read.container, kind, "{ending}");
        let whole = if kind == Container::Risum { &document["module"] } else { &document };
        let found = if kind == Container::Risum { main_of(&read)["module"].clone() } else { main_of(&read) };
        assert_eq!(&found, whole, "{ending}");
    }
    assert_eq!(WRITTEN.len(), kinds.len());
    assert!(write("png", &document, None).is_err(), "a card in a picture needs a picture");
    assert!(write("doc", &document, None).is_err());
}

#[test]
fn files_that_the_real_program_wrote_are_read() {
    let beside = Path::new(env!("CHECKOUT")).join("../shared");
    let folder = std::env::var_os("TAPSTER_SHARED").map_or(beside, Into::into).join("conformance/risuai");
    if !folder.is_dir() {
        eprintln!("skipped: no recorded data at {}", folder.display());
        return;
    }
    let preset = ok("sample.risup", &std::fs::read(folder.join("sample.risup")).unwrap());
    assert_eq!(main_of(&preset)["templateDefaultVariables"], "gold=7");
    let module = ok("sample.risum", &std::fs::read(folder.join("sample.risum")).unwrap());
    assert_eq!(main_of(&module)["module"]["namespace"], "winter");
}

#[test]
fn cut_and_flipped_files_are_refused_and_nothing_panics() {
    let preset = write_preset(&preset()).unwrap();
    let module = write_module(&json!({ "name": "Winter" })).unwrap();
    for (name, bytes) in [("p.risup", preset), ("m.risum", module)] {
        // only the mark of the end may be missing
        for end in 3..bytes.len() - 1 {
            assert!(read(name, &bytes[..end]).is_err(), "{name} cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x55;
            let _ = read(name, &flipped);
        }
    }
}

/// Compressed bytes, as a `.risupreset` is.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

#[test]
fn what_a_compressed_file_holds_is_bounded_and_checked() {
    let told = |bytes: &[u8]| {
        read("p.risupreset", &packed(bytes)).unwrap_err().items().iter().map(|d| d.message.clone()).collect::<Vec<_>>().join(" ")
    };
    assert!(told(&vec![0; 100 << 20]).contains("larger than"), "a bomb");
    assert!(told(b"hello").contains("without a preset"), "another file");
    // lists in lists, and a list that claims four thousand million elements
    assert!(told(&[0x91; 100_000]).contains("without a preset"));
    assert!(told(&[0xDD, 0xFF, 0xFF, 0xFF, 0xFF]).contains("without a preset"));
    // `{ type: "preset", preset: bytes }` whose bytes are not sealed with the key
    let fake = [b"\x82\xA4type\xA6preset\xA6preset\xC4\x14".as_slice(), &[7; 20]].concat();
    assert!(told(&fake).contains("does not open with the key"));
}

#[test]
fn what_json_does_not_have_is_converted_and_reported() {
    // `{ a: bytes, 7: NaN, c: an extension }`, sealed
    let sealed = STANDARD.decode("954QmvLWxBa85402jsrI7fIXUfdD9xaI3qx5wff4piJ6Nc0IqJQ=").unwrap();
    let imported = ok("p.risupreset", &packed(&[b"\x82\xA4type\xA6preset\xA6preset\xC4\x26".as_slice(), &sealed].concat()));
    assert_eq!(main_of(&imported), json!({ "a": "aGk=", "7": null, "c": null }));
    assert!(told(&imported.report).contains("holds 3 values"), "{}", told(&imported.report));
}
