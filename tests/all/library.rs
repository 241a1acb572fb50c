//! Dates, dice and repeatable chance against what the JavaScript libraries answer (`tests/text/library.mjs` asked them).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops at what is wrong")]

use serde_json::Value as Json;
use tapster::Ruleset;
use tapster::machinery::text::moment::{Calendar, INVALID, Moment, humanize};
use tapster::machinery::text::{js, random, truthiness};

fn table(name: &str) -> Vec<Json> {
    let path = format!("{}/tests/text/library.json", env!("CHECKOUT"));
    let all: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all[name].as_array().unwrap().clone()
}

/// Rows whose last element differs from what `run` makes of the row.
fn differing(name: &str, run: impl Fn(&Json) -> Json) {
    let rows = table(name);
    assert!(!rows.is_empty());
    let wrong: Vec<String> = rows
        .iter()
        .filter(|row| run(row) != row.as_array().unwrap().last().unwrap().clone())
        .map(|row| format!("{row}: {}", run(row)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn moments_are_shown_as_moment_js_shows_them() {
    differing("format", |row| {
        let at = Moment::new(row[0].as_i64().unwrap(), 0).unwrap();
        let at = row[1].as_i64().map_or(at, |offset| at.utc_offset(offset).unwrap());
        at.format(row[2].as_str().unwrap(), Calendar::default()).into()
    });
}

#[test]
fn dates_are_read_as_moment_js_reads_them() {
    differing("parse", |row| Moment::parse(row[0].as_str().unwrap(), 0).map_or(Json::Null, |m| m.millis().into()));
}

#[test]
fn a_local_time_is_the_local_clocks() {
    let at = Moment::parse("2024-01-02 12:00", 120).unwrap();
    assert_eq!(at.format("", Calendar::default()), "2024-01-02T12:00:00+02:00");
    assert_eq!(at, Moment::parse("2024-01-02T10:00Z", 120).unwrap());
    assert_eq!(Moment::parse("Jan 2 2024 12:00", 120), Some(at));
}

#[test]
fn logs_stamp_their_messages_in_more_ways() {
    let rules = Ruleset::open("base", &[]).unwrap();
    let stamps = rules.programs().rules.table("time_stamp");
    let at = |text: &str| {
        let at = Moment::parse_stamp(text, 60, &stamps).unwrap();
        at.map(|m| m.format("YYYY-MM-DD HH:mm:ss.SSS", Calendar::default()))
    };
    for (text, utc) in [
        ("1704067200000", "2024-01-01 01:00:00.000"),
        ("2024-7-12@01h31m37s", "2024-07-12 02:31:37.000"),
        ("2024-07-12 @01h 31m 37s 23ms", "2024-07-12 02:31:37.023"),
        ("June 19, 2023 2:20pm", "2023-06-19 14:20:00.000"),
        ("June 19, 2023 12:05AM", "2023-06-19 00:05:00.000"),
        ("2024-01-01T00:00:00Z", "2024-01-01 01:00:00.000"),
    ] {
        assert_eq!(at(text).as_deref(), Some(utc), "{text}");
    }
    for text in ["Octobr", "Foo 19, 2023 2:20pm", "2024-13-12@01h31m37s", "2024-12-12@25h31m37s", "99999999999999999999", ""] {
        assert_eq!(at(text), None, "{text}");
    }
}

#[test]
fn values_turn_into_each_other_as_in_javascript() {
    let value = |json: Json| tapster::model::Value::from(&json);
    for (json, number, text, truthy) in [
        (Json::Null, 0.0, "null", false),
        (serde_json::json!([]), 0.0, "", true),
        (serde_json::json!([[7]]), 7.0, "7", true),
        (serde_json::json!([1, null, [2, "x"]]), f64::NAN, "1,,2,x", true),
        (serde_json::json!({}), f64::NAN, "[object Object]", true),
        (serde_json::json!(true), 1.0, "true", true),
        (serde_json::json!(" 0x1F "), 31.0, " 0x1F ", true),
        (serde_json::json!(""), 0.0, "", false),
        (serde_json::json!(1e21), 1e21, "1e+21", true),
        (serde_json::json!(-1.5e-7), -1.5e-7, "-1.5e-7", true),
        (serde_json::json!(0.000_001), 0.000_001, "0.000001", true),
    ] {
        let value = value(json);
        let got = js::to_number(&value);
        assert!(got == number || got.is_nan() && number.is_nan(), "{value:?}: {got}");
        assert_eq!((js::string(&value).as_str(), truthiness::javascript(&value)), (text, truthy));
    }
}

#[test]
fn no_date_is_beyond_the_calendar() {
    assert_eq!(INVALID, "Invalid date");
    for ms in [i64::MAX, i64::MIN] {
        assert_eq!(Moment::new(ms, 0), None);
    }
    assert_eq!(Moment::new(0, 0).unwrap().utc_offset(i64::MAX), None);
    assert_eq!(Moment::parse(&"1".repeat(100_000), 0), None);
    for text in
        ["٢٠٢٤-٠١-٠٢", "999999-01-01", "1/1/99999", "9999-12-31T23:00-23:00", "10:", "+", "1::2::3::4", "((((", "1-1-1-1", "1.1.1.1"]
    {
        let _ = Moment::parse(text, 0);
    }
}

#[test]
fn spans_are_named_as_moment_js_names_them() {
    differing("humanize", |row| humanize(row[0].as_i64().unwrap(), true, Calendar::default()).into());
    for row in table("humanize") {
        assert_eq!(humanize(row[0].as_i64().unwrap(), false, Calendar::default()), row[1].as_str().unwrap());
    }
    assert_eq!(humanize(i64::MIN, true, Calendar::default()), "292277025 years ago");
}

#[test]
fn seeds_draw_what_seedrandom_draws() {
    differing("seeded", |row| random::first_draw(row[0].as_str().unwrap()).into());
    differing("numbers", |row| random::first_draw_of_number(row[0].as_str().unwrap()).into());
}

#[test]
fn a_hash_depends_on_text_and_seed() {
    assert_ne!(random::hash("a", 0), random::hash("a", 1));
    assert_ne!(random::hash("a", 0), random::hash("b", 0));
    assert!(random::hash(&"long ".repeat(1000), 0) < 1 << 53);
}

#[test]
fn dice_roll_as_droll_rolls_them() {
    differing("rolls", |row| {
        let mut draws = [0.5, 0.0, 0.99].into_iter();
        let rolled = random::parse_dice(row[0].as_str().unwrap()).map(|dice| dice.roll(|| draws.next().unwrap()));
        rolled.map_or(Json::Null, Json::from)
    });
    assert_eq!(random::parse_dice("10001d6"), None, "more dice than are rolled");
}
