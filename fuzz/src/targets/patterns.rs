//! Patterns with the texts that they are tried on, and keys that are looked up together.

use std::sync::Arc;

use tapster::text::keys::{Edge, Key, KeySet};
use tapster::text::pattern::Pattern;

use super::{Shape, Target, Verdict, text};
use crate::seeds;

pub(super) const PATTERN: Target = Target {
    name: "pattern",
    door: "a pattern, a line break, a text: compiling, matching, replacing",
    shape: Shape::Bytes,
    words: &[
        "(?:",
        "(?=",
        "(?!",
        "(?<=",
        "(?<!",
        "(?<n>",
        ")",
        "\\k<n>",
        "\\1",
        "[^",
        "[a-z]",
        "]",
        "{2,}",
        "{0,65535}",
        "{1000}",
        "*",
        "+?",
        "??",
        "|",
        "\\b",
        "\\B",
        "\\w",
        "\\W",
        "\\p{L}",
        "\\P{Lu}",
        "\\u{1f600}",
        "\\ud83d",
        "\\x41",
        "\\cA",
        "\\0",
        "^",
        "$",
        ".",
        "/i",
        "/gimsuy",
        "/u",
        "/v",
        "(a|aa)+",
        "(a+)+$",
        "[\\s\\S]",
        "aaaa",
        "\n",
        "(?i:",
        "\\d{9}",
    ],
    longest: 2 << 10,
    fixed: 600,
    seeds: || {
        let row =
            |row: &serde_json::Value| Some(format!("/{}/{}\n{}", row["source"].as_str()?, row["flags"].as_str()?, row["input"].as_str()?));
        seeds::rows("patterns").iter().filter_map(row).map(String::into_bytes).collect()
    },
    run: |input| {
        let text = text(input);
        let (pattern, text) = text.split_once('\n').unwrap_or((&text, "a text of ann, 12:30 aaaaaaaaaaaaaaaa!"));
        let Ok(pattern) = Pattern::parse(pattern) else { return Verdict::Refused };
        let (found, spans, any) = (pattern.captures_all(text, 10_000), pattern.find_all(text, 10_000), pattern.is_match(text));
        if let (Ok(found), Ok(spans)) = (&found, &spans)
            && !found.iter().map(|c| c.whole).eq(spans.iter().copied())
        {
            return Verdict::Wrong(format!("{} finds with groups, {} without", found.len(), spans.len()));
        }
        if let (Ok(spans), Ok(any)) = (&spans, any)
            && any == spans.is_empty()
            // which looks at halves of characters
            && pattern.by_units(text).is_none()
        {
            return Verdict::Wrong(format!("{} finds, and `is_match` says {any}", spans.len()));
        }
        let _ = pattern.replace(text, Some(50), |captures, out| out.push_str(captures.whole.of(text)));
        Verdict::of(found.is_ok())
    },
};

pub(super) const KEYS: Target = Target {
    name: "keys",
    door: "plain keys, one a line, looked up together in the text of the last line",
    shape: Shape::Bytes,
    words: &["a", "aa", "ab", "\n", " ", "İ", "ß", "ſ", "K", "_", "word", "Word", "é"],
    longest: 2 << 10,
    fixed: 2_500,
    seeds: || {
        ["lamp\nboat\na lamp in a boat", "a\naa\naaa\naaaaaaaaaa", "İstanbul\nſ\nistanbul S ſ İSTANBUL"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec()
    },
    run: |input| {
        let text = text(input);
        let mut lines: Vec<&str> = text.split('\n').collect();
        let searched = lines.pop().unwrap_or_default();
        let edges = [Edge::None, Edge::NonWord, Edge::Letter, Edge::Boundary, Edge::Space];
        let key = |(n, line): (usize, &&str)| Key { text: Arc::from(*line), case: n % 2 == 1, edge: edges[n % edges.len()] };
        let keys: Vec<Key> = lines.iter().enumerate().map(key).collect();
        let Ok(set) = KeySet::new(&keys) else { return Verdict::Refused };
        let mut found = vec![false; keys.len()];
        let whole = set.search(searched, |key, _, _| found[key as usize] = true);
        // the slow way: each key alone
        let alone: Vec<bool> = keys.iter().map(|key| !key.text.is_empty() && key.is_in(searched)).collect();
        if whole && found != alone {
            return Verdict::Wrong(format!("together {found:?}, alone {alone:?}"));
        }
        Verdict::Taken
    },
};
