//! The tables of tokens are what was published: they are written from it, and it from them.
//!
//! `crates/text/src/text/token_table.rs` says how a table lies. `PUBLISHED=FOLDER UPDATE=1 cargo test --test all
//! token_tables::` writes them from the files `cl100k_base.tiktoken`, `o200k_base.tiktoken`, and for Claude from one with a
//! token in base64 on each line.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that panics has failed")]

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

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
    let number = |at: usize| u32::from_le_bytes(table[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 4 + 4 * number(0);
    let mut tokens = Vec::new();
    while at < table.len() {
        let (rank, length) = (number(at) >> 12, number(at) & 0xfff);
        tokens.push((rank, table[at + 4..at + 4 + length].to_vec()));
        at += 4 + length;
    }
    tokens.sort();
    assert!(tokens.iter().enumerate().all(|(n, (rank, _))| n == *rank), "each rank is there once");
    tokens.into_iter().map(|(_, token)| token).collect()
}

/// The table of tokens in the order of their ranks.
fn written(tokens: &[Vec<u8>]) -> Vec<u8> {
    let hash = |token: &[u8]| {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let mix = |hash: u64, word: u64| {
            let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 32
        };
        let whole = token.len() / 8 * 8;
        mix(token[..whole].chunks(8).fold(token.len() as u64, |hash, bytes| mix(hash, word(bytes))), word(&token[whole..]))
    };
    let buckets = tokens.len().next_power_of_two();
    let mut lists = vec![Vec::new(); buckets];
    for (rank, token) in tokens.iter().enumerate() {
        let list = &mut lists[hash(token) as usize & (buckets - 1)];
        list.extend((rank << 12 | token.len()).to_le_bytes().into_iter().take(4));
        list.extend(token);
    }
    let ends = lists.iter().scan(0, |end, list| {
        *end += list.len();
        Some(*end)
    });
    let numbers = std::iter::once(buckets).chain(ends).flat_map(|number| u32::try_from(number).unwrap().to_le_bytes());
    numbers.chain(lists.iter().flatten().copied()).collect()
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
    }
}
