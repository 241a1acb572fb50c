//! Dates in the two notations that standards name: ISO 8601 and the mail date of RFC 2822. All others are `free`.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, ISOWeekDate, Weekday};
use regex::{Captures, Regex};

use super::{free, millis_of};

/// Longer texts are not dates.
pub(super) const MOST: usize = 200;

/// A date with its parts behind `-`, or without; the time after it is in the same style.
static ISO: LazyLock<[Option<Regex>; 2]> = LazyLock::new(|| {
    let zone = r"(?<zone>[+-]\d\d(?::?\d\d)?|\s*Z)?";
    [
        format!(
            r"(?-u)^\s*(?<year>[+-]\d{{6}}|\d{{4}})-(?:(?<month>\d\d)-(?<day>\d\d)|W(?<week>\d\d)-(?<weekday>\d)|W(?<only_week>\d\d)|(?<of_year>\d{{3}})|(?<only_month>\d\d))(?:[T ](?<hour>\d\d)(?::(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?)?{zone})?$"
        ),
        format!(
            r"(?-u)^\s*(?<year>[+-]\d{{6}}|\d{{4}})(?:(?<month>\d\d)(?<day>\d\d)|W(?<week>\d\d)(?<weekday>\d)|W(?<only_week>\d\d)|(?<of_year>\d{{3}})|(?<only_month>\d\d)|)(?:[T ](?<hour>\d\d)(?:(?<minute>\d\d)(?:(?<second>\d\d)(?:[.,](?<fraction>\d+))?)?)?{zone})?$"
        ),
    ]
    .map(|pattern| Regex::new(&pattern).ok())
});

static MAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?-u)^(?:(?<weekday>Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s)?(?<day>\d{1,2})\s(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s(?<year>\d{2,4})\s(?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d))?\s(?:(?<name>UT|GMT|[ECMP][SD]T)|[Zz]|(?<zone>[+-]\d{4}))$",
    )
    .ok()
});

/// What one notation says of a text.
enum NotationResult {
    /// It is written in that notation; `None` if the date is impossible.
    Is(Option<i64>),
    /// Another notation may know it.
    Other,
}

/// The milliseconds since 1970 that a text names; `zone` is the local clock's distance from UTC in minutes.
pub(super) fn parse(text: &str, zone: i64) -> Option<i64> {
    if text.len() > MOST {
        return None;
    }
    if let NotationResult::Is(ms) = iso(text, zone) {
        return ms;
    }
    if let NotationResult::Is(ms) = mail(text) {
        return ms;
    }
    free::parse(text, zone)
}

fn iso(text: &str, zone: i64) -> NotationResult {
    let Some(parts) = ISO.iter().flatten().find_map(|pattern| pattern.captures(text)) else { return NotationResult::Other };
    // a week, month or year alone takes no time of day
    let whole = ["month", "weekday", "of_year"].iter().any(|name| parts.name(name).is_some());
    if parts.name("hour").is_some() && !whole {
        return NotationResult::Other;
    }
    NotationResult::Is(iso_day(&parts).zip(time_of_day(&parts)).and_then(|(date, time)| {
        let offset = match parts.name("zone").map(|z| z.as_str().trim_start()) {
            None => zone,
            Some("Z") => 0,
            Some(written) => written_offset(written)?,
        };
        millis_of(date, time, offset)
    }))
}

fn number(parts: &Captures, name: &str) -> Option<i64> {
    parts.name(name)?.as_str().parse().ok()
}

fn iso_day(parts: &Captures) -> Option<Date> {
    let year = i16::try_from(number(parts, "year")?).ok()?;
    let get = |name| number(parts, name).and_then(|n| i8::try_from(n).ok());
    if let Some(week) = get("week").or_else(|| get("only_week")) {
        let weekday = Weekday::from_monday_one_offset(get("weekday").unwrap_or(1)).ok()?;
        return ISOWeekDate::new(year, week, weekday).ok().map(ISOWeekDate::date);
    }
    if let Some(day) = number(parts, "of_year") {
        let first = Date::new(year, 1, 1).ok()?;
        return (1..=i64::from(first.days_in_year())).contains(&day).then(|| first.checked_add((day - 1).days()).ok())?;
    }
    Date::new(year, get("month").or_else(|| get("only_month")).unwrap_or(1), get("day").unwrap_or(1)).ok()
}

/// Milliseconds since midnight; 24:00 is the midnight after.
fn time_of_day(parts: &Captures) -> Option<i64> {
    let get = |name| number(parts, name).unwrap_or(0);
    let (hour, minute, second) = (get("hour"), get("minute"), get("second"));
    let digits: String = parts.name("fraction").map_or("", |f| f.as_str()).chars().chain("000".chars()).take(3).collect();
    let milli: i64 = digits.parse().ok()?;
    let midnight = hour == 24 && minute + second + milli == 0;
    ((hour < 24 || midnight) && minute < 60 && second < 60).then_some(((hour * 60 + minute) * 60 + second) * 1000 + milli)
}

/// `+hh`, `+hhmm` or `+hh:mm` in minutes.
fn written_offset(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let hours: i64 = digits.get(..2)?.parse().ok()?;
    let minutes: i64 = digits.get(2..4).map_or(Ok(0), str::parse).ok()?;
    let size = hours * 60 + minutes;
    Some(if text.starts_with('-') { -size } else { size })
}

fn mail(text: &str) -> NotationResult {
    let text = without_comments(text);
    let Some(parts) = MAIL.as_ref().and_then(|pattern| pattern.captures(&text)) else { return NotationResult::Other };
    let month = parts.name("month").and_then(|m| free::month(m.as_str()));
    let year = number(&parts, "year").map(|year| match year {
        0..=49 => 2000 + year,
        50..=999 => 1900 + year,
        _ => year,
    });
    let day = number(&parts, "day");
    let date = (|| Date::new(i16::try_from(year?).ok()?, i8::try_from(month?).ok()?, i8::try_from(day?).ok()?).ok())();
    let named = parts.name("weekday").and_then(|w| free::weekday(w.as_str()));
    // a weekday that is not that of the date makes it no date
    if date.zip(named).is_some_and(|(date, named)| i64::from(date.weekday().to_sunday_zero_offset()) != named) {
        return NotationResult::Is(None);
    }
    let offset = match (parts.name("name"), parts.name("zone")) {
        (Some(name), _) => free::zone(name.as_str()),
        (None, Some(zone)) => written_offset(zone.as_str()),
        (None, None) => Some(0),
    };
    NotationResult::Is((|| millis_of(date?, time_of_day(&parts)?, offset?))())
}

/// The text without `(comments)`, and with single blanks.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        let Some((_, after)) = after.split_once(')') else { break };
        out.push_str(before);
        out.push(' ');
        rest = after;
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
