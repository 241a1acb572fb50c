//! The tables of tokens are what was published: they are written from it, and it from them.
//!
//! `crates/text/src/text/token_table.rs` says how a table lies. `PUBLISHED=FOLDER UPDATE=1 cargo test --test all
//! token_tables::` writes them from the files `cl100k_base.tiktoken`, `o200k_base.tiktoken`, and for Claude from one with a
//! token in base64 on each line.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use tapster::machinery::text::tokens::give_table;

/// A table, the file that it was written from, the SHA-256 of that, and whether its lines give the rank.
const TABLES: [(&str, &str, &str, bool); 3] = [
    ("cl100k", "cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7", true),
    ("o200k", "o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d", true),
    ("claude", "claude.ranks", "0d7ea64824155bd6922d5085fc82a6959090c07ec37aa1ff14223b7c23911a04", false),
];

fn place(name: &str) -> String {
    format!("{}/../crates/text/src/text/tables/{name}.tokens", env!("CARGO_MANIFEST_DIR"))
}

/// The tokens of a table, by rank.
fn read(table: &[u8]) -> Vec<Vec<u8>> {
    let (count, lengths) = table.split_first_chunk().unwrap();
    let mut lengths = lengths.iter();
    let mut length = || {
        let (mut length, mut shift) = (0, 0);
        loop {
            let byte = usize::from(*lengths.next().unwrap());
            (length, shift) = (length | (byte & 0x7f) << shift, shift + 7);
            if byte < 0x80 {
                return length;
            }
        }
    };
    let all: Vec<usize> = (0..u32::from_le_bytes(*count)).map(|_| length()).collect();
    let mut bytes = lengths.copied();
    all.into_iter().map(|length| bytes.by_ref().take(length).collect()).collect()
}

/// The table of tokens in the order of their ranks.
fn written(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut table = u32::try_from(tokens.len()).unwrap().to_le_bytes().to_vec();
    for token in tokens {
        let mut length = token.len();
        while length >= 0x80 {
            table.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        table.push(length as u8);
    }
    table.extend(tokens.iter().flatten());
    table
}

#[test]
fn tables_are_what_was_published() {
    for (name, file, digest, ranked) in TABLES {
        if let Some(folder) = std::env::var_os("PUBLISHED").filter(|_| std::env::var_os("UPDATE").is_some()) {
            let text = std::fs::read_to_string(Path::new(&folder).join(file)).unwrap();
            let tokens: Vec<_> = text.lines().map(|line| STANDARD.decode(line.split(' ').next().unwrap()).unwrap()).collect();
            std::fs::write(place(name), written(&tokens)).unwrap();
        }
        let table = std::fs::read(place(name)).unwrap();
        let tokens = read(&table);
        let line = |(rank, token): (usize, &Vec<u8>)| {
            let rank = if ranked { format!(" {rank}") } else { String::new() };
            format!("{}{rank}\n", STANDARD.encode(token))
        };
        let text: String = tokens.iter().enumerate().map(line).collect();
        let found: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, digest, "{name}");
        assert!(written(&tokens) == table, "{name} lies otherwise");
        assert_eq!(give_table(&table), Some(name), "its digest is in `crates/text/src/text/encoding.rs`");
        assert_eq!(give_table(&table[..table.len() - 1]), None);
    }
}
