//! Time stamps as chat logs hold them, besides the notations of `date_parser`. Which there are, a pack says: each row of its
//! table `time_stamp` is a pattern whose named groups are parts of a date.

use jiff::civil::Date;

use super::{date_parser, millis_of};
use crate::diag::limits;
use crate::model::Value;
use crate::text::pattern::{self, Captures, Pattern};

/// The named groups that a pattern may have.
pub const PARTS: &[&str] = &["epoch", "year", "month", "day", "hour", "minute", "second", "millisecond", "half"];
/// Those of which a pattern needs one.
pub const NEEDED: &[&str] = &["epoch", "year"];

/// The milliseconds since 1970; `zone` is the local clock's distance from UTC in minutes. The first row whose pattern
/// matches decides; without one, the text is a date in a usual notation.
pub(super) fn parse(text: &str, zone: i64, stamps: &Value) -> Result<Option<i64>, String> {
    if text.len() > limits::NAME_BYTES {
        return Ok(None);
    }
    let rows = stamps.as_list().ok_or("`stamps` is a list of time stamps, such as `$table.time_stamp`")?;
    for row in rows {
        let written = row.get("pattern").and_then(Value::as_str).ok_or("a time stamp is a table with a `pattern`")?;
        let pattern = pattern::cached(written).map_err(|error| format!("the pattern of a time stamp cannot be used: {error}"))?;
        let found = pattern.captures_all(text, 1).map_err(|bound| bound.to_string())?;
        if let Some(found) = found.first() {
            let is_utc = row.get("zone").and_then(Value::as_str) == Some("utc");
            return Ok(StampParts { text, pattern: &pattern, found }.millis(if is_utc { 0 } else { zone }));
        }
    }
    Ok(date_parser::parse(text, zone))
}

/// The groups of a match.
struct StampParts<'a> {
    text: &'a str,
    pattern: &'a Pattern,
    found: &'a Captures,
}

impl<'a> StampParts<'a> {
    fn part(&self, name: &str) -> Option<&'a str> {
        let group = self.pattern.names().iter().position(|known| known.as_deref() == Some(name))?;
        Some(self.found.groups.get(group).copied().flatten()?.of(self.text))
    }

    /// A part that is a number, or what stands for a part that is not there; nothing for a part that is no number.
    fn number(&self, name: &str, absent: i64) -> Option<i64> {
        self.part(name).map_or(Some(absent), |digits| digits.parse().ok())
    }

    fn millis(&self, zone: i64) -> Option<i64> {
        if let Some(epoch) = self.part("epoch") {
            return epoch.parse().ok();
        }
        let month = match self.part("month") {
            Some(word) => word.parse().ok().or_else(|| date_parser::month(word))?,
            None => 1,
        };
        let year = i16::try_from(self.part("year")?.parse::<i64>().ok()?).ok()?;
        let day = i8::try_from(self.number("day", 1)?).ok()?;
        let date = Date::new(year, i8::try_from(month).ok()?, day).ok()?;
        let hour = match self.part("half") {
            Some(half) => {
                self.number("hour", 0).filter(|hour| (0..=12).contains(hour))? % 12 + if half.eq_ignore_ascii_case("pm") { 12 } else { 0 }
            }
            None => self.number("hour", 0)?,
        };
        let (minute, second) = (self.number("minute", 0)?, self.number("second", 0)?);
        let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        let milli = self.number("millisecond", 0).filter(|milli| (0..1000).contains(milli))?;
        if !is_time {
            return None;
        }
        millis_of(date, ((hour * 60 + minute) * 60 + second) * 1000 + milli, zone)
    }
}
