//! Time stamps as chat logs hold them, besides the notations of `parse`: a count of milliseconds, file names such as
//! `2024-7-12@01h31m37s123ms`, and `June 19, 2023 2:20pm`.

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::{Captures, Regex};

use super::{date_parser, free, millis_of};

static FILE_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2}) ?@([0-9]{1,2})h ?([0-9]{1,2})m ?([0-9]{1,2})s(?: ?([0-9]{1,3})ms)?";
    Regex::new(pattern).ok()
});

static HALF_DAY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)([a-z]+)\s([0-9]{1,2}),\s([0-9]{4})\s([0-9]{1,2}):([0-9]{1,2})(am|pm)").ok());

/// The milliseconds since 1970; `zone` is the local clock's distance from UTC in minutes.
pub(super) fn parse(text: &str, zone: i64) -> Option<i64> {
    if text.len() > date_parser::MOST {
        return None;
    }
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok();
    }
    if let Some(parts) = FILE_NAME.as_ref().and_then(|p| p.captures(text)) {
        return file_name(&parts);
    }
    if let Some(parts) = HALF_DAY.as_ref().and_then(|p| p.captures(text)) {
        return half_day(&parts, zone);
    }
    date_parser::parse(text, zone)
}

fn number(parts: &Captures, n: usize) -> i64 {
    parts.get(n).and_then(|part| part.as_str().parse().ok()).unwrap_or(0)
}

fn date(year: i64, month: i64, day: i64) -> Option<Date> {
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn milli_of_day(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour < 24 && minute < 60 && second < 60).then_some(((hour * 60 + minute) * 60 + second) * 1000)
}

/// Names of files are in UTC.
fn file_name(parts: &Captures) -> Option<i64> {
    let n = |place| number(parts, place);
    millis_of(date(n(1), n(2), n(3))?, milli_of_day(n(4), n(5), n(6))? + n(7), 0)
}

fn half_day(parts: &Captures, zone: i64) -> Option<i64> {
    let month = free::month(parts.get(1)?.as_str())?;
    let noon = if parts.get(6)?.as_str().eq_ignore_ascii_case("pm") { 12 } else { 0 };
    let time = milli_of_day(number(parts, 4) % 12 + noon, number(parts, 5), 0)?;
    millis_of(date(number(parts, 3), month, number(parts, 2))?, time, zone)
}
