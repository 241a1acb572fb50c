//! Small readers: tags of languages, JSON pointers, numbers, dice; and dates with their formats.

use serde_json::json;
use tapster::text::json_pointer::JsonPointer;
use tapster::text::language_tag::LanguageTag;
use tapster::text::moment::{Moment, humanize};
use tapster::text::{dice, halves, js, seedrandom};

use super::{Shape, Target, Verdict, text};
use crate::seeds;

pub(super) const SMALL: Target = Target {
    name: "small",
    door: "tags of languages, JSON pointers, numbers, dice, halves of characters",
    shape: Shape::Bytes,
    words: &[
        "-Hans",
        "-x-",
        "en",
        "zh",
        "-u-",
        "/",
        "~0",
        "~1",
        "#",
        "%2F",
        "d",
        "6",
        "+",
        "-",
        "e308",
        "0x",
        "Infinity",
        "\\ud83d",
        "\\u{1f600}",
        ".",
        "[^]",
    ],
    longest: 512,
    fixed: 20_000,
    seeds: || {
        [
            "en-US",
            "zh-Hans-CN-x-a",
            "/a/0/b~1c",
            "#/a%2Fb",
            "2d6+3",
            "d20",
            "-1.5e9",
            "0x1f",
            "\u{fffd}\u{1f600}a",
            "{\"a\": [1, {\"b\": null}]}",
        ]
        .map(|s| s.as_bytes().to_vec())
        .to_vec()
    },
    run: |input| {
        let text = text(input);
        let tag = LanguageTag::parse(&text).is_ok() | LanguageTag::parse_lenient(&text).is_ok();
        let pointer = JsonPointer::parse(&text);
        if let Ok(pointer) = &pointer {
            let _ = pointer.get(&json!({ "a": [1, { "b/c": null, "": 2 }] }));
            if pointer.to_string() != text {
                return Verdict::Wrong(format!("a pointer is printed as {pointer}"));
            }
            match JsonPointer::from_fragment(&pointer.to_fragment()) {
                Ok(back) if back == *pointer => {}
                other => return Verdict::Wrong(format!("a fragment comes back as {other:?}")),
            }
        }
        let _ = JsonPointer::from_fragment(&text);
        if let Some(dice) = dice::parse(&text) {
            let _ = dice.roll(|| 0.999);
        }
        let _ = (js::number(&text), js::leading_number(&text), js::parse_json(&text), js::length(&text));
        let _ = (seedrandom::first_draw(&text), seedrandom::hash(&text, 7));
        if halves::together(&halves::apart(&text)) != text && !halves::has_any(&text) {
            return Verdict::Wrong("a text in halves does not come together".into());
        }
        let _ = (halves::joined(&text), halves::pattern(&text));
        Verdict::of(tag | pointer.is_ok())
    },
};

pub(super) const TIMES: Target = Target {
    name: "times",
    door: "dates and their formats: a format, a line break, a date",
    shape: Shape::Bytes,
    words: &[
        "YYYY",
        "MM",
        "DD",
        "HH",
        "mm",
        "ss",
        "SSS",
        "dddd",
        "Do",
        "LLLL",
        "x",
        "X",
        "Z",
        "[",
        "]",
        "\\",
        "wo",
        "GGGG",
        "2024-02-29",
        "T12:00:00",
        "+14:00",
        "Z",
        "-271821-04-20",
        "275760-09-13",
        "1709165045006",
        "February 2, 2024 3:04pm",
        "@",
        "h",
        "NaN",
        "9223372036854775807",
        "\n",
    ],
    longest: 512,
    fixed: 10_000,
    seeds: || {
        let table = seeds::json("tests/text/library.json");
        let rows = table["format"].as_array().cloned().unwrap_or_default();
        let written = rows.iter().filter_map(|row| Some(format!("{}\n{}", row[2].as_str()?, row[0])));
        let dates = ["2024-02-29T12:30:00Z", "February 2, 2024 3:04pm", "2024-2-9@3h4m5s6ms", "1709165045006", "29 Feb 2024"];
        written.take(60).chain(dates.map(|date| format!("LLLL [x] Do\n{date}"))).map(String::into_bytes).collect()
    },
    run: |input| {
        let text = text(input);
        let (format, date) = text.split_once('\n').unwrap_or((&text, "1709165045006"));
        let calendar = Default::default();
        let number = date.parse::<i64>().ok();
        let moments = [
            Moment::parse(date, 60),
            number.and_then(|ms| Moment::new(ms, -720)),
            number.and_then(|n| Moment::parse("2024-02-29", 0)?.utc_offset(n)),
        ];
        for moment in moments.into_iter().flatten() {
            let _ = moment.format(format, calendar);
            for other in moments.iter().flatten() {
                let _ = moment.difference(*other, true, calendar);
            }
        }
        let _ = number.map(|ms| humanize(ms, true, calendar));
        Verdict::of(moments.iter().any(Option::is_some))
    },
};
