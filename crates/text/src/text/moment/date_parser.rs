//! Dates in the two notations that standards name: ISO 8601 and the mail date of RFC 2822. All others are `free`.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, ISOWeekDate, Weekday};
use regex::{Captures, Regex};

use super::millis_of;
use crate::diag::limits;

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
    if text.len() > limits::NAME_BYTES {
        return None;
    }
    if let NotationResult::Is(ms) = iso(text, zone) {
        return ms;
    }
    if let NotationResult::Is(ms) = mail(text) {
        return ms;
    }
    parse_free(text, zone)
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
    let month = parts.name("month").and_then(|m| month(m.as_str()));
    let year = number(&parts, "year").map(|year| match year {
        0..=49 => 2000 + year,
        50..=999 => 1900 + year,
        _ => year,
    });
    let day = number(&parts, "day");
    let date = (|| Date::new(i16::try_from(year?).ok()?, i8::try_from(month?).ok()?, i8::try_from(day?).ok()?).ok())();
    let named = parts.name("weekday").and_then(|w| weekday(w.as_str()));
    // a weekday that is not that of the date makes it no date
    if date.zip(named).is_some_and(|(date, named)| i64::from(date.weekday().to_sunday_zero_offset()) != named) {
        return NotationResult::Is(None);
    }
    let offset = match (parts.name("name"), parts.name("zone")) {
        (Some(name), _) => zone(name.as_str()),
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

// Dates in no standard notation, as the JavaScript engine V8 reads them: `June 19, 2023 2:20pm`, `3/5/2024 10:00`.
//
// Numbers followed by `:` are times, all other numbers are days, months and years by their size and order. Words
// before the first number, and text in parentheses, are ignored; a text with any other unknown word is not a date.

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Names of zones with their hours from UTC.
const ZONES: [(&str, i64); 12] = [
    ("ut", 0),
    ("utc", 0),
    ("z", 0),
    ("gmt", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

/// The number, from 1, of a month whose name begins like this word.
pub(super) fn month(word: &str) -> Option<i64> {
    place(&MONTHS, word).map(|n| n + 1)
}

/// The number, from 0 for Sunday, of a weekday whose name begins like this word.
pub(super) fn weekday(word: &str) -> Option<i64> {
    place(&WEEKDAYS, word)
}

/// The minutes from UTC of a zone of that name.
pub(super) fn zone(word: &str) -> Option<i64> {
    ZONES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, hours)| hours * 60)
}

fn place(names: &[&str], word: &str) -> Option<i64> {
    let found = names.iter().position(|name| word.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))?;
    i64::try_from(found).ok()
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum DateToken<'t> {
    /// A number and how many digits it is written with.
    Number(i64, usize),
    Word(&'t str),
    Symbol(char),
    Space,
}

impl DateToken<'_> {
    fn is(self, symbol: char) -> bool {
        self == DateToken::Symbol(symbol)
    }
}

/// The milliseconds since 1970; `local` is the local clock's distance from UTC in minutes.
pub(super) fn parse_free(text: &str, local: i64) -> Option<i64> {
    let tokens = tokens(text);
    let mut reader =
        DateReader { tokens: &tokens, at: 0, days: Vec::new(), month: None, times: Vec::new(), noon: None, zone: ZoneOffset::default() };
    reader.read()?;
    let date = reader.date()?;
    millis_of(date, reader.time()?, reader.zone.minutes().unwrap_or(local))
}

fn tokens(text: &str) -> Vec<DateToken<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let part = |same: fn(char) -> bool| rest.get(..rest.find(|c| !same(c)).unwrap_or(rest.len())).unwrap_or_default();
        let (token, len) = match c {
            '0'..='9' => {
                let digits = part(|c| c.is_ascii_digit());
                // nine digits count, as in the original; a longer number is out of every range all the same
                let value = digits.trim_start_matches('0').get(..9).unwrap_or(digits.trim_start_matches('0')).parse().unwrap_or(0);
                (DateToken::Number(value, digits.len()), digits.len())
            }
            c if c >= 'A' && !c.is_whitespace() => {
                let word = part(|c| c >= 'A' && !c.is_whitespace());
                (DateToken::Word(word), word.len())
            }
            c if c.is_whitespace() => (DateToken::Space, part(char::is_whitespace).len()),
            c => (DateToken::Symbol(c), c.len_utf8()),
        };
        found.push(token);
        rest = rest.get(len..).unwrap_or_default();
    }
    found
}

/// A distance from UTC that is read piece by piece.
#[derive(Default)]
struct ZoneOffset {
    sign: i64,
    hour: Option<i64>,
    minute: Option<i64>,
}

impl ZoneOffset {
    fn named(minutes: i64) -> Self {
        Self { sign: if minutes < 0 { -1 } else { 1 }, hour: Some(minutes.abs() / 60), minute: Some(minutes.abs() % 60) }
    }

    fn minutes(&self) -> Option<i64> {
        (self.sign != 0).then(|| self.sign * (self.hour.unwrap_or(0) * 60 + self.minute.unwrap_or(0)))
    }

    fn is_utc(&self) -> bool {
        self.hour == Some(0) && self.minute == Some(0)
    }

    fn waits_for_minutes(&self) -> bool {
        self.hour.is_some() && self.minute.is_none()
    }
}

struct DateReader<'t> {
    tokens: &'t [DateToken<'t>],
    at: usize,
    /// Numbers that are days, months or years, at most three.
    days: Vec<i64>,
    month: Option<i64>,
    /// Hour, minute, second, millisecond, as far as read.
    times: Vec<i64>,
    /// Hours that `am` or `pm` adds.
    noon: Option<i64>,
    zone: ZoneOffset,
}

impl<'t> DateReader<'t> {
    fn peek(&self) -> Option<DateToken<'t>> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<DateToken<'t>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn skip(&mut self, symbol: char) -> bool {
        let skips = self.peek().is_some_and(|t| t.is(symbol));
        self.at += usize::from(skips);
        skips
    }

    /// A year of four digits at the very start, and a month and a day of two behind it, are what they are.
    fn standard_date(&mut self) -> bool {
        for (digits, most) in [(4, 9999), (2, 12), (2, 31)] {
            match self.peek() {
                Some(DateToken::Number(n, written)) if written == digits && (digits == 4 || (1..=most).contains(&n)) => self.days.push(n),
                _ => break,
            }
            self.at += 1;
            if !self.skip('-') {
                break;
            }
        }
        !self.days.is_empty()
    }

    fn read(&mut self) -> Option<()> {
        let mut numbers = self.standard_date();
        while let Some(token) = self.next() {
            match token {
                DateToken::Number(n, _) => {
                    numbers = true;
                    self.number(n)?;
                }
                DateToken::Word(word) => self.word(word, numbers)?,
                DateToken::Symbol(sign @ ('+' | '-')) if self.zone.is_utc() || !self.times.is_empty() => {
                    numbers = true;
                    self.offset(if sign == '+' { 1 } else { -1 })?;
                }
                DateToken::Symbol('+' | '-' | ')') if numbers => return None,
                DateToken::Symbol('(') => self.parentheses(),
                DateToken::Symbol(_) | DateToken::Space => {}
            }
        }
        Some(())
    }

    fn number(&mut self, n: i64) -> Option<()> {
        if self.skip(':') {
            if self.skip(':') {
                self.times.is_empty().then_some(())?;
                self.times.extend([n, 0]);
            } else {
                (self.times.len() < 4).then(|| self.times.push(n))?;
                self.skip('.');
            }
        } else if self.peek().is_some_and(|t| t.is('.')) && self.expects(n) {
            self.at += 1;
            self.times.push(n);
            let Some(DateToken::Number(fraction, digits)) = self.next() else { return None };
            self.times.resize(3, 0);
            self.times.push(millis(fraction, digits));
        } else if self.zone.waits_for_minutes() {
            self.zone.minute = Some(n);
        } else if self.expects(n) {
            self.times.push(n);
            self.times.resize(4, 0);
            let ends = |t: DateToken| {
                matches!(t, DateToken::Space | DateToken::Symbol('+' | '-'))
                    || matches!(t, DateToken::Word(w) if w.eq_ignore_ascii_case("z"))
            };
            return self.peek().is_none_or(ends).then_some(());
        } else {
            self.skip('.');
            (self.days.len() < 3).then(|| self.days.push(n))?;
            self.skip('-');
        }
        Some(())
    }

    /// Whether a time has begun that this number can continue.
    fn expects(&self, n: i64) -> bool {
        match self.times.len() {
            1 | 2 => (0..60).contains(&n),
            3 => (0..1000).contains(&n),
            _ => false,
        }
    }

    fn word(&mut self, word: &str, numbers: bool) -> Option<()> {
        let noon = ["am", "pm"].iter().position(|name| name.eq_ignore_ascii_case(word));
        if let Some(noon) = noon.filter(|_| !self.times.is_empty()) {
            self.noon = Some(if noon == 0 { 0 } else { 12 });
        } else if let Some(month) = month(word) {
            self.month = Some(month);
            self.skip('-');
        } else if let Some(minutes) = zone(word).filter(|_| numbers) {
            self.zone = ZoneOffset::named(minutes);
        } else if numbers || matches!(self.peek(), Some(DateToken::Number(..))) {
            return None;
        }
        Some(())
    }

    /// What follows the sign of a zone: `+2`, `+02`, `+0230`, `+02:30`.
    fn offset(&mut self, sign: i64) -> Option<()> {
        let (n, digits) = match self.peek() {
            Some(DateToken::Number(n, digits)) => {
                self.at += 1;
                (n, digits)
            }
            _ => (0, 0),
        };
        let (hour, minute) = match digits {
            _ if self.peek().is_some_and(|t| t.is(':')) => (n, None),
            1 | 2 => (n, Some(0)),
            3 | 4 => (n / 100, Some(n % 100)),
            _ => return None,
        };
        self.zone = ZoneOffset { sign, hour: Some(hour), minute };
        Some(())
    }

    fn parentheses(&mut self) {
        let mut depth = 1;
        while depth > 0
            && let Some(token) = self.next()
        {
            depth += i32::from(token.is('(')) - i32::from(token.is(')'));
        }
    }

    /// Day, month and year by order and size: a number above 31 that comes first is a year.
    fn date(&self) -> Option<Date> {
        let part = |n: usize| self.days.get(n).copied().unwrap_or(1);
        self.days.first()?;
        let leads_with_day = (1..=31).contains(&part(0));
        let (year, month, day) = match self.month {
            None if !leads_with_day => (part(0), part(1), part(2)),
            // without a year the original takes 2001
            None => (part(2), part(0), part(1)),
            Some(month) if !leads_with_day => (part(0), month, part(1)),
            Some(month) => (part(1), month, part(0)),
        };
        let year = match year {
            0..=49 => 2000 + year,
            50..=99 => 1900 + year,
            _ => year,
        };
        if !(1..=31).contains(&day) {
            return None;
        }
        // 30 February is a day in March
        let first = Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, 1).ok()?;
        first.checked_add((day - 1).days()).ok()
    }

    /// Milliseconds since midnight.
    fn time(&self) -> Option<i64> {
        let part = |n: usize| self.times.get(n).copied().unwrap_or(0);
        let (mut hour, minute, second, milli) = (part(0), part(1), part(2), part(3));
        if let Some(noon) = self.noon {
            (hour <= 12).then_some(())?;
            hour = hour % 12 + noon;
        }
        let midnight = hour == 24 && minute + second + milli == 0;
        let fits = (hour < 24 || midnight) && minute < 60 && second < 60 && milli < 1000;
        fits.then_some(((hour * 60 + minute) * 60 + second) * 1000 + milli)
    }
}

/// The milliseconds that the digits after a second's point say.
fn millis(fraction: i64, digits: usize) -> i64 {
    match digits {
        1 => fraction * 100,
        2 => fraction * 10,
        // of a long fraction nine digits were read
        _ => (3..digits.min(9)).fold(fraction, |n, _| n / 10),
    }
}
