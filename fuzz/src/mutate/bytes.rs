//! Changes of bytes and texts that know nothing of their format but a list of words.

use super::Stock;
use crate::dice::Dice;

/// Bytes that mean something somewhere.
const MARKS: &[u8] = b"{}[]()<>\"'`\\/|:;,.=+-*?!#$@%^&~_ \t\n\r\0\x7f\xff0a";

/// Characters that texts are unprepared for: wide, combined, invisible, of two cases, from right to left.
const ODD: &[&str] = &[
    "\u{fffd}",
    "\u{10ffff}",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}",
    "\u{0301}",
    "\u{2028}",
    "\u{85}",
    "😀",
    "👨‍👩‍👧",
    "İ",
    "ß",
    "ſ",
    "K",
    "ﬀ",
    "Σ",
    "灯",
    "é",
    "\u{1f1e6}",
];

/// Numbers at the ends of types, and some that are none.
pub(super) const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "64",
    "65",
    "255",
    "256",
    "1000",
    "65535",
    "65536",
    "100000",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e309",
    "-1e308",
    "1e-320",
    "0.1",
    "0x10",
    "NaN",
    "inf",
    "1_000",
];

const PAIRS: &[(&str, &str)] = &[
    ("{{", "}}"),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("(?:", ")*"),
    ("(?=", ")"),
    ("(?<!", ")"),
    ("\"", "\""),
    ("{% if a %}", "{% endif %}"),
    ("{{#if a}}", "{{/if}}"),
    ("{{#each a}}", "{{/each}}"),
    ("-", ""),
    ("!", ""),
    ("{{reverse::", "}}"),
];

/// Leaves some lines of a long input: as many as have a few hundred bytes, or one line.
pub(super) fn shorten(input: &mut Vec<u8>, dice: &mut Dice) {
    let most = *dice.pick(&[32, 128, 512]);
    if input.len() <= most {
        return;
    }
    let line = |from: usize| input[from..].iter().position(|byte| *byte == b'\n').map(|n| from + n + 1);
    let at = dice.below(input.len());
    let from = line(at).filter(|from| *from < input.len()).unwrap_or(at);
    let end = line((from + most).min(input.len())).unwrap_or(input.len()).min(from + 4 * most);
    input.truncate(end);
    input.drain(..from);
}

/// Makes one change.
pub(super) fn change(input: &mut Vec<u8>, stock: &Stock<'_>, dice: &mut Dice) {
    let at = dice.below(input.len() + 1);
    match dice.below(14) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = *dice.pick(MARKS);
            }
        }
        2 => input.insert(at, *dice.pick(MARKS)),
        3 | 4 => _ = input.drain(dice.range(input.len())),
        5 => {
            let part = input[dice.range(input.len())].to_vec();
            insert(input, at, &part, stock);
        }
        6 => {
            // a range many times over, which finds what is not linear
            let part = input[dice.range(input.len())].to_vec();
            let times = *dice.pick(&[2, 3, 10, 100, 1_000]);
            insert(input, at, &part.repeat(times.min(stock.longest / part.len().max(1))), stock);
        }
        7 | 8 => {
            if !stock.words.is_empty() {
                insert(input, at, dice.pick(stock.words).as_bytes(), stock);
            }
        }
        9 => {
            let part = &stock.other[dice.range(stock.other.len())];
            insert(input, at, part, stock);
        }
        10 => number(input, at, dice),
        11 => insert(input, at, dice.pick(ODD).as_bytes(), stock),
        12 => {
            let range = dice.range(input.len());
            let (open, close) = *dice.pick(PAIRS);
            let times = *dice.pick(&[1, 1, 2, 10, 70, 500]);
            insert(input, range.end, close.repeat(times).as_bytes(), stock);
            insert(input, range.start, open.repeat(times).as_bytes(), stock);
        }
        _ => {
            let from = dice.below(stock.other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&stock.other[from..]);
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8], stock: &Stock<'_>) {
    if input.len() + part.len() <= stock.longest {
        let at = at.min(input.len());
        input.splice(at..at, part.iter().copied());
    }
}

/// Replaces the next number by one at the end of a type.
fn number(input: &mut Vec<u8>, at: usize, dice: &mut Dice) {
    let Some(from) = input[at..].iter().position(u8::is_ascii_digit).map(|n| at + n) else { return };
    let len = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    input.splice(from..from + len, dice.pick(NUMBERS).bytes());
}
