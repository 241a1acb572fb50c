//! Containers with modules and presets: what is written is read again, and what is damaged is refused.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use tapster_exchange::import::{Container, WRITTEN, needs_picture, read, write, write_module, write_preset};

use super::{main_of, ok};

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
    let picture = super::with(&[]);
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
    assert!(told(&vec![0; 40 << 20]).contains("larger than"), "a bomb");
    assert!(told(b"hello").contains("without a preset"), "another file");
    // lists in lists, and a list that claims four thousand million elements
    assert!(told(&[0x91; 100_000]).contains("without a preset"));
    assert!(told(&[0xDD, 0xFF, 0xFF, 0xFF, 0xFF]).contains("without a preset"));
    // `{ type: "preset", preset: bytes }` whose bytes are not sealed with the key
    let fake = [b"\x82\xA4type\xA6preset\xA6preset\xC4\x14".as_slice(), &[7; 20]].concat();
    assert!(told(&fake).contains("does not open with the key"));
}
