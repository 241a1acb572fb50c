//! Points in time as the moment.js library shows and reads them.
//!
//! A [`Moment`] is a number of milliseconds since 1970 and the distance of its wall clock from UTC. It knows no clock
//! of its own: the caller says what "now" is, which zone is the local one, and by a [`Calendar`] in which language it is
//! shown. Arithmetic is jiff's; patterns are in `format`, ISO and mail dates in `parse`, all other notations in `free`.

mod calendar;
mod date_parser;
mod format;
pub mod stamp;

use jiff::civil::{Date, DateTime};

pub use calendar::Calendar;

use crate::model::Value;

/// What moment.js shows for a point in time that does not exist.
pub const INVALID: &str = "Invalid date";

/// A point in time and the wall clock on which it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    ms: i64,
    /// The distance of the wall clock from UTC, in minutes east.
    offset: i64,
    /// The zone was asked for, and is not just the local one.
    zoned: bool,
}

impl Moment {
    /// A point in time on a local clock that is `zone` minutes east of UTC. `None` beyond the years -9999 to 9999.
    #[must_use]
    pub fn new(ms: i64, zone: i32) -> Option<Self> {
        Self { ms, offset: zone.into(), zoned: false }.checked()
    }

    /// A date text as `moment(text)` reads it: ISO 8601, RFC 2822, else any notation that browsers (V8) know.
    /// Where the text names no zone it is a time of the local clock. Nothing for an invalid text or date.
    #[must_use]
    pub fn parse(text: &str, zone: i32) -> Option<Self> {
        date_parser::parse(text, zone.into()).and_then(|ms| Self::new(ms, zone))
    }

    /// A time stamp of a chat log: one of `stamps`, which are tables with a `pattern` and perhaps a `zone`, or else what
    /// [`Moment::parse`] reads.
    ///
    /// # Errors
    /// `stamps` is no list of such tables, or a pattern cannot be used.
    pub fn parse_stamp(text: &str, zone: i32, stamps: &Value) -> Result<Option<Self>, String> {
        Ok(stamp::parse(text, zone.into(), stamps)?.and_then(|ms| Self::new(ms, zone)))
    }

    /// A number (milliseconds since 1970) or a date text.
    #[must_use]
    pub fn of_value(value: &Value, zone: i32) -> Option<Self> {
        match value {
            Value::Int(_) | Value::Num(_) => value.as_i64().and_then(|ms| Self::new(ms, zone)),
            Value::Text(text) => Self::parse(text, zone),
            _ => None,
        }
    }

    /// How far this point is from another one in words, as [`humanize`] says it.
    #[must_use]
    pub fn difference(self, from: Self, suffix: bool, calendar: Calendar<'_>) -> String {
        humanize(self.ms - from.ms, suffix, calendar)
    }

    /// The same point on a clock `offset` east of UTC: hours if its size is below 16, else minutes.
    #[must_use]
    pub fn utc_offset(self, offset: i64) -> Option<Self> {
        let offset = if offset.unsigned_abs() < 16 { offset * 60 } else { offset };
        Self { offset, zoned: true, ..self }.checked()
    }

    /// The point in a pattern of moment.js: `YYYY-MM-DD`, `LT`, `[at] H`. An empty pattern gives ISO 8601. Line ends
    /// between tokens are lost, as in moment.js.
    #[must_use]
    pub fn format(self, pattern: &str, calendar: Calendar<'_>) -> String {
        match pattern {
            "" if self.zoned && self.offset == 0 => format::format(self, "YYYY-MM-DDTHH:mm:ss[Z]", calendar),
            "" => format::format(self, "YYYY-MM-DDTHH:mm:ssZ", calendar),
            pattern => format::format(self, pattern, calendar),
        }
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.ms
    }

    fn checked(self) -> Option<Self> {
        self.clock().map(|_| self)
    }

    /// What the wall clock shows.
    fn clock(self) -> Option<DateTime> {
        let local = self.ms.checked_add(self.offset.checked_mul(60_000)?)?;
        jiff::Timestamp::from_millisecond(local).ok().map(|t| jiff::tz::Offset::UTC.to_datetime(t))
    }
}

/// The milliseconds of a wall clock's reading, given the clock's distance from UTC in minutes.
fn millis_of(date: Date, milli_of_day: i64, offset: i64) -> Option<i64> {
    let days = i64::from((date - Date::constant(1970, 1, 1)).get_days());
    Some(days * 86_400_000 + milli_of_day - offset.checked_mul(60_000)?)
}

/// A span of time in words, as `duration.humanize(suffix)` says it: `2 days`, with the suffix `in 2 days` for what
/// is ahead (a positive span) and `2 days ago` for the rest.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "spans of ±10,000 years are far below 2^53 milliseconds")]
pub fn humanize(ms: i64, suffix: bool, calendar: Calendar<'_>) -> String {
    let words = words(ms.unsigned_abs() as f64, calendar);
    match suffix {
        false => words,
        true => calendar.relative(if ms > 0 { "future" } else { "past" }, &words),
    }
}

fn words(ms: f64, calendar: Calendar<'_>) -> String {
    let days = ms / 86_400_000.0;
    // 400 years of the calendar have 146,097 days and 4,800 months
    let months = days * 4800.0 / 146_097.0;
    let round = |n: f64| (n + 0.5).floor();
    let units = [
        (round(ms / 60_000.0), 45.0, "minute", "minutes"),
        (round(ms / 3_600_000.0), 22.0, "hour", "hours"),
        (round(days), 26.0, "day", "days"),
        (round(months), 11.0, "month", "months"),
        (round(months / 12.0), f64::INFINITY, "year", "years"),
    ];
    if round(ms / 1000.0) < 45.0 {
        return calendar.relative("seconds", "");
    }
    let fit = units.into_iter().find(|(n, below, ..)| *n <= 1.0 || n < below);
    fit.map_or_else(String::new, |(n, _, one, many)| calendar.relative(if n <= 1.0 { one } else { many }, &n.to_string()))
}
