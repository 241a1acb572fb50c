//! Texts by the UTF-16 units of JavaScript, and by bytes: codes, shifts, masks and base64.
//!
//! A unit can be half of a character, which cannot be in a text here. A half that stands alone is written as one of the
//! private characters of [`super::surrogates`], so that a second shift finds it again.

use base64::Engine;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::function::{Function, FunctionArgs, FunctionRefusal, of};
use super::js_number::{number, number_of, whole};
use super::surrogates;
use super::written::ToText as _;
use crate::model::Value;

/// Texts of which parts may be missing at the end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true),
);

/// The units of a text, with lone halves as units of their own.
fn units(text: &str) -> Vec<u16> {
    text.chars().flat_map(surrogates::units).collect()
}

/// The text of units: halves that belong together are joined, a lone one stays a half.
fn text(units: impl IntoIterator<Item = u16>) -> String {
    char::decode_utf16(units).filter_map(|c| c.map_or_else(|lone| surrogates::half(lone.unpaired_surrogate()), Some)).collect()
}

/// A number as a unit, as `String.fromCharCode` takes it: modulo 65,536, and 0 for what is not a number.
fn unit(number: f64) -> u16 {
    let rest = if number.is_finite() { number.trunc().rem_euclid(65_536.0) } else { 0.0 };
    u16::try_from(whole(rest)).unwrap_or_default()
}

fn present(args: &FunctionArgs) -> Result<std::sync::Arc<str>, FunctionRefusal> {
    if of(args).is_null() { Err("there is no text".into()) } else { Ok(of(args).shown()) }
}

/// An argument that is neither missing nor empty.
fn given<'a>(args: &'a FunctionArgs, name: &str) -> Option<&'a Value> {
    args.get(name).filter(|value| !value.is_empty())
}

pub(super) const CODE_UNIT: Function = Function {
    name: "code_unit",
    doc: "the number of the UTF-16 unit at the index `at` (default: 0) of a text; not a number if there is none",
    args: &[("of", true), ("at", false)],
    run: |args| {
        let at = given(args, "at").map_or(0, |at| whole(number(at)));
        let text = present(args)?;
        let at = usize::try_from(at).ok();
        let unit = at.and_then(|at| text.chars().flat_map(surrogates::units).nth(at));
        Ok(unit.map_or(Value::Num(f64::NAN), |unit| Value::Int(unit.into())))
    },
};

pub(super) const FROM_CODE_UNIT: Function = Function {
    name: "from_code_unit",
    doc: "the character with this number in UTF-16; half of a pair is a private character from U+10F800 on",
    args: &[("of", true)],
    run: |args| Ok(Value::text(text([unit(number(of(args)))]))),
};

pub(super) const SHIFT_UNITS: Function = Function {
    name: "shift_units",
    doc: "the text with `by` added to the number of each UTF-16 unit, modulo 65,536; half of a pair is a private character from U+10F800 on",
    args: &[("of", true), ("by", true)],
    run: |args| {
        let by = number_of(args, "by");
        let shifted = units(&present(args)?).into_iter().map(|code| unit(f64::from(code) + by)).collect::<Vec<_>>();
        Ok(Value::text(text(shifted)))
    },
};

pub(super) const CAPITAL: Function = Function {
    name: "capital",
    doc: "the text with its first UTF-16 unit in upper case",
    args: &[("of", true)],
    run: |args| {
        let text = present(args)?;
        let mut rest = text.chars();
        Ok(match rest.next().filter(|first| first.len_utf16() == 1) {
            Some(first) => Value::text(first.to_uppercase().chain(rest).collect::<String>()),
            None => Value::Text(text),
        })
    },
};

/// The number that bytes are masked with.
fn mask(args: &FunctionArgs) -> u8 {
    u8::try_from(args.get("with").and_then(Value::as_i64).unwrap_or(255)).unwrap_or(255)
}

pub(super) const MASK_BYTES: Function = Function {
    name: "mask_bytes",
    doc: "the bytes of a text in UTF-8, each with the bits of `with` (default: 255) flipped, in base64",
    args: &[("of", true), ("with", false)],
    run: |args| {
        let mask = mask(args);
        Ok(Value::text(STANDARD.encode(present(args)?.bytes().map(|byte| byte ^ mask).collect::<Vec<_>>())))
    },
};

pub(super) const UNMASK_BYTES: Function = Function {
    name: "unmask_bytes",
    doc: "the text that `mask_bytes` has masked; with `with = 0`, the text in base64",
    args: &[("of", true), ("with", false)],
    run: |args| {
        let mask = mask(args);
        let bytes: Vec<u8> = bytes(&present(args)?).into_iter().map(|byte| byte ^ mask).collect();
        Ok(Value::text(String::from_utf8_lossy(&bytes)))
    },
};

/// The bytes of base64 text, also of the variant for addresses; other characters are left out.
fn bytes(text: &str) -> Vec<u8> {
    let known = |c: char| match c {
        '-' => Some('+'),
        '_' => Some('/'),
        c => Some(c).filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/')),
    };
    let mut text: String = text.chars().take_while(|c| *c != '=').filter_map(known).collect();
    if text.len() % 4 == 1 {
        text.pop();
    }
    LENIENT.decode(text).unwrap_or_default()
}
