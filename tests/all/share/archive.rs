//! Archives: the same bytes everywhere, and nothing but what was packed comes out of one.

use std::io::{Cursor, Write};
use std::path::Path;

use serde_json::{Value as Json, json};
use tapster::{convert_document, import_document};
use tapster_exchange::share;
use tapster_exchange::share::{PackFile, pack, unpack};
use zip::write::SimpleFileOptions;

use crate::share::{Folder, bytes};
use crate::support::SILLYTAVERN;

fn files() -> Vec<PackFile> {
    let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
    vec![
        file("pack.toml", "kind = \"pack\"\nversion = 1\nname = \"a\"\nrelease = \"1.0.0\"\n"),
        file("templates/é.liquid", "{{ x }}"),
        file("a.toml", ""),
    ]
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let archive = pack(files()).unwrap();
    let mut turned = files();
    turned.reverse();
    assert_eq!(pack(turned).unwrap(), archive);
    // written down, so that another machine or release of the program that gives other bytes is noticed
    let expected = "blake3:1ea2a0bd612fcaef9b40845cd406bfd33bb0d30a324fcc551f0b28536f9d772b";
    assert_eq!(share::digest(&archive), expected);
    let mut sorted = files();
    sorted.sort();
    assert_eq!(unpack("a.tapster", &archive).unwrap(), sorted);
}

#[test]
fn other_programs_read_an_archive() {
    let archive = pack(files()).unwrap();
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    assert_eq!(zip.len(), 3);
    let text = std::io::read_to_string(zip.by_name("templates/é.liquid").unwrap()).unwrap();
    assert_eq!(text, "{{ x }}");
}

#[test]
fn times_orders_and_permissions_of_the_folder_do_not_matter() {
    let folder = Folder::new("share");
    let first = folder.source("quiet", "1.0.0", "");
    folder.write("src/quiet/b.md", "b");
    folder.write("src/quiet/a.md", "a");
    folder.run(&["pack", &first, "--out", &folder.at("one")]).done();
    std::fs::remove_dir_all(&first).unwrap();
    folder.write("src/quiet/a.md", "a");
    folder.write("src/quiet/b.md", "b");
    folder.source("quiet", "1.0.0", "");
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = std::fs::File::options().write(true).open(folder.path("src/quiet/a.md")).unwrap();
    file.set_modified(old).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(folder.path("src/quiet/b.md"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    folder.run(&["pack", &first, "--out", &folder.at("two")]).done();
    assert_eq!(bytes(&folder.path("one")), bytes(&folder.path("two")));
}

#[test]
fn what_stays_out_is_said() {
    let folder = Folder::new("share");
    let pack = folder.source("quiet", "1.0.0", "");
    folder.write("src/quiet/.git/config", "x");
    folder.write("src/quiet/cover.png", "x");
    folder.write("src/quiet/README.md", "x");
    let ran = folder.run(&["pack", &pack, "--out", &folder.at("site.tapster"), "--format", "json"]).done();
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let left: Vec<&str> = json["left_out"].as_array().unwrap().iter().map(|l| l["path"].as_str().unwrap()).collect();
    assert_eq!(left, [".git", "cover.png"]);
    assert!(ran.err.contains("note[share.left_out]") && ran.err.contains("cover.png"), "{}", ran.err);
    assert_eq!(json["files"], 2);
}

#[test]
fn a_pack_with_mistakes_is_not_packed() {
    let folder = Folder::new("share");
    let pack = folder.source("broken", "1.0.0", "\"base\"");
    folder.write("src/broken/x.toml", "kind = \"slots\"\nversion = 1\n[[slot]]\nname = \"x\"\ncolour = \"red\"\n");
    folder.run(&["pack", &pack, "--out", &folder.at("out.tapster")]).refused(1, "schema.unknown_key", &["colour"]);
    assert!(!folder.path("out.tapster").exists());
    folder.source("beside", "1.0.0", "");
    let pack = folder.source("path", "1.0.0", "\"../beside\"");
    folder.run(&["pack", &pack, "--out", &folder.at("out.tapster")]).refused(1, "pack.manifest", &["../beside", "is a path"]);
    folder.run(&["pack", &folder.at("nowhere")]).refused(2, "pack.missing", &["nowhere"]);
}

/// An archive as another program writes it.
fn zipped(write: impl FnOnce(&mut zip::ZipWriter<Cursor<Vec<u8>>>)) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    write(&mut zip);
    zip.finish().unwrap().into_inner()
}

fn stored() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored)
}

/// An archive with one file of this name and kind.
fn named(name: &str) -> Vec<u8> {
    zipped(|zip| {
        zip.start_file(name, stored()).unwrap();
        zip.write_all(b"x").unwrap();
    })
}

#[track_caller]
fn hostile(archive: &[u8], why: &str) {
    let fault = unpack("x.tapster", archive).unwrap_err();
    assert!(fault.message.contains(why), "`{why}` is missing: {}", fault.message);
    assert!(fault.help.is_some_and(|help| !help.is_empty()));
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let deep = "d/".repeat(1000) + "x.toml";
    for (name, why) in [
        ("../x.toml", "leads out"),
        ("a/../../x.toml", "leads out"),
        ("/etc/x.toml", "absolute"),
        ("C:/x.toml", "absolute"),
        ("a\\..\\x.toml", "backslash"),
        (".git/hooks/x", "hidden"),
        ("a//x.toml", "empty part"),
        ("a/CON.toml", "device"),
        ("lpt1", "device"),
        ("com¹.toml", "device"),
        ("x.toml:stream", "not every system"),
        ("x.toml.", "ends in a space or a dot"),
        ("a\nb.toml", "not every system"),
        ("\u{202E}lmot.x", "not every system"),
        (&deep, "longer than 200 bytes"),
        (&("d/".repeat(17) + "x"), "deeper than 16 folders"),
    ] {
        // the name is put in by hand, since honest programs do not write it
        let mut archive = named(&"n".repeat(name.len()));
        replace(&mut archive, &b"n".repeat(name.len()), name.as_bytes());
        hostile(&archive, why);
    }
}

fn replace(archive: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    for at in 0..archive.len().saturating_sub(from.len() - 1) {
        if let Some(piece) = archive.get_mut(at..at + to.len()).filter(|piece| *piece == from) {
            piece.copy_from_slice(to);
        }
    }
}

#[test]
fn links_folders_and_names_that_are_not_text_are_refused() {
    hostile(&zipped(|zip| zip.add_symlink("x.toml", "/etc/passwd", stored()).unwrap()), "is a link");
    hostile(&zipped(|zip| zip.add_directory("x", stored()).unwrap()), "is a folder");
    let mut archive = named("nnnn");
    replace(&mut archive, b"nnnn", b"\xff\xfe\xfd\xfc");
    hostile(&archive, "not UTF-8");
}

#[test]
fn two_files_of_one_name_are_refused() {
    let two = |a: &str, b: &str| {
        zipped(|zip| {
            for name in [a, b] {
                zip.start_file(name, stored()).unwrap();
            }
        })
    };
    let mut twice = two("aa", "bb");
    replace(&mut twice, b"bb", b"aa");
    hostile(&twice, "one on some systems");
    hostile(&two("Lore.toml", "lore.toml"), "one on some systems");
    hostile(&two("\u{e9}.toml", "e\u{301}.toml"), "one on some systems");
    hostile(&two("A/x.toml", "a/y.toml"), "one on some systems");
    hostile(&two("a", "a/x.toml"), "one on some systems");
    let own = |a: &str, b: &str| pack(vec![(a.to_owned(), Vec::new()), (b.to_owned(), Vec::new())]);
    assert!(own("Lore.toml", "lore.toml").is_err());
    assert!(own("a/x.toml", "a/y.toml").is_ok());
}

#[test]
fn bombs_are_refused_before_anything_is_unpacked() {
    let bomb = zipped(|zip| {
        zip.start_file("x.toml", SimpleFileOptions::default()).unwrap();
        zip.write_all(&vec![b'a'; 40 << 20]).unwrap();
    });
    hostile(&bomb, "is compressed");
    // a size that is declared and not there
    let mut archive = pack(vec![("x.toml".to_owned(), vec![b'x'; 7])]).unwrap();
    let size = 7_u32.to_le_bytes();
    replace(&mut archive, &[size, size].concat(), &[0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F]);
    hostile(&archive, "declares a size");
    let many = zipped(|zip| (0..2001).for_each(|n| zip.start_file(format!("{n}.toml"), stored()).unwrap()));
    hostile(&many, "more than 2000 files");
    let large = zipped(|zip| {
        zip.start_file("x.toml", stored()).unwrap();
        zip.write_all(&vec![b'a'; (4 << 20) + 1]).unwrap();
    });
    hostile(&large, "4 MiB");
}

#[test]
fn whatever_is_changed_in_an_archive_is_noticed() {
    let archive = pack(files()).unwrap();
    for at in 0..archive.len() {
        assert!(unpack("x", &archive[..at]).is_err(), "cut at {at}");
        for bit in 0..8 {
            let mut changed = archive.clone();
            changed[at] ^= 1 << bit;
            // one bit of a name can give another name that could have been packed; no checksum covers it but the digest
            if let Ok(files) = unpack("x", &changed) {
                assert_eq!(pack(files).unwrap(), changed);
                assert_ne!(share::digest(&changed), share::digest(&archive));
            }
        }
    }
    let mut longer = archive.clone();
    longer.push(0);
    hostile(&longer, "cut off, or something follows");
    let mut before = b"#!/bin/sh\n".to_vec();
    before.extend_from_slice(&archive);
    hostile(&before, "not an archive");
    hostile(b"", "not an archive");
    hostile(&named("x.toml"), "was not written by `tapster pack`");
}

// Back to the files of another program: import, export, import gives the same for every published file.

/// What is said of a document: the part of a scene, and the fields that no rule reads.
fn imported(document: &Json) -> Json {
    let brought = import_document(&SILLYTAVERN, None, document).unwrap();
    json!({ "format": brought.format, "scene": brought.scene.to_json(), "rest": brought.rest.to_json() })
}

#[test]
fn published_files_come_back() {
    let folder = Path::new(env!("CHECKOUT")).join("../shared/real/sillytavern");
    if !folder.is_dir() {
        eprintln!("skipped: no published files at {}", folder.display());
        return;
    }
    let (mut open, mut files) = (vec![folder], 0);
    while let Some(at) = open.pop() {
        if at.is_dir() {
            open.extend(std::fs::read_dir(&at).unwrap().map(|e| e.unwrap().path()));
            continue;
        }
        let name = at.display().to_string();
        // a prompt that was sent, and no file of the program
        if name.ends_with("expected-hello.json") {
            continue;
        }
        let contents = tapster_exchange::import::read(&name, &std::fs::read(&at).unwrap()).unwrap();
        for document in &contents.documents {
            let before = imported(&document.json());
            let made = convert_document(&SILLYTAVERN, None, &before).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(imported(&made.scene.to_json()), before, "{name}");
            files += 1;
        }
    }
    assert!(files >= 95, "{files}");
}

#[test]
fn what_was_changed_is_in_the_file() {
    let file = json!({ "prefix": "<think>", "suffix": "</think>", "separator": "\n", "name": "x" });
    let mut changed = imported(&file);
    changed["scene"]["reasoning"]["prefix"] = json!("<reason>");
    changed["scene"]["names"] = json!({ "char": "Ines" });
    let made = convert_document(&SILLYTAVERN, Some("st_reasoning"), &changed).unwrap();
    assert_eq!(made.scene.to_json()["prefix"], "<reason>");
    let fields = serde_json::to_value(&made.fields).unwrap();
    let lost = fields.as_array().unwrap().iter().any(|f| f["fate"] == "dropped" && f["field"].as_str().unwrap().contains("names"));
    assert!(lost, "what cannot be said there is told: {fields}");
}

#[test]
fn a_changed_number_counts_and_an_unchanged_one_keeps_its_spelling() {
    let card = json!({ "spec": "chara_card_v2", "data": { "name": "Ines", "extensions": { "talkativeness": "0.5" } } });
    let mut changed = imported(&card);
    for (number, expected) in [(json!(0.5), json!("0.5")), (json!(0.9), json!(0.9))] {
        changed["scene"]["card"]["talkativeness"] = number;
        let made = convert_document(&SILLYTAVERN, None, &changed).unwrap();
        assert_eq!(made.scene.to_json()["data"]["extensions"]["talkativeness"], expected);
        assert!(!made.fields.iter().any(|field| field.field == "format"), "the kind of the file is no loss: {:?}", made.fields);
    }
}
