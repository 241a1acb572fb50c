//! The tokens of moment.js patterns, each with what it shows in the language of a calendar.

use jiff::civil::DateTime;

use super::calendar::LOCAL;
use super::{Calendar, INVALID, Moment};
use crate::diag::limits;
use crate::model::SizeExcess;
use crate::text::work::{self, BudgetExceeded};

/// All other tokens, in the order in which moment.js tries them.
const TOKENS: &[&str] = &[
    "Hmmss",
    "Hmm",
    "hmmss",
    "hmm",
    "Mo",
    "MMMM",
    "MMM",
    "MM",
    "M",
    "Do",
    "DDDo",
    "DDDD",
    "DDD",
    "DD",
    "D",
    "dddd",
    "ddd",
    "dd",
    "do",
    "d",
    "wo",
    "w|",
    "ww",
    "w",
    "Wo",
    "W|",
    "WW",
    "W",
    "Qo",
    "Q",
    "NNNNN",
    "NNNN",
    "NNN",
    "NN",
    "N",
    "YYYYYY",
    "YYYYY",
    "YYYY",
    "YY",
    "Y",
    "yyyy",
    "yyy",
    "yy",
    "yo",
    "y",
    "ggggg",
    "gggg",
    "gg",
    "GGGGG",
    "GGGG",
    "GG",
    "e",
    "E",
    "a",
    "A",
    "hh",
    "h",
    "HH",
    "H",
    "kk",
    "k",
    "mm",
    "m",
    "ss",
    "s",
    "SSSSSSSSS",
    "SSSSSSSS",
    "SSSSSSS",
    "SSSSSS",
    "SSSSS",
    "SSSS",
    "SSS",
    "SS",
    "S",
    "x",
    "X",
    "zz",
    "z",
    "ZZ",
    "Z",
];

/// A part of a pattern.
enum FormatPiece<'p> {
    Token(&'static str),
    /// `[text]`, brackets included.
    Literal(&'p str),
    /// A backslash with the token or the character that it protects.
    Escaped(&'p str),
    Plain(char),
}

/// The moment in a pattern. Each byte of the pattern is a step. Once the work of the call is spent, the text ends there; the
/// call itself then ends with the bound.
pub(super) fn format(moment: Moment, pattern: &str, calendar: Calendar<'_>) -> String {
    let Some(clock) = moment.clock() else { return INVALID.into() };
    let mut long = FormattedText::default();
    let expanded = pieces(pattern, local, |piece| match piece {
        FormatPiece::Token(name) => long.push(calendar.pattern(name)),
        FormatPiece::Literal(text) | FormatPiece::Escaped(text) => long.push(text),
        FormatPiece::Plain(c) => long.push(c.encode_utf8(&mut [0; 4])),
    });
    let mut out = FormattedText::default();
    if expanded.is_err() {
        return out.text;
    }
    let shown = ShownMoment { moment, clock, calendar };
    // a mistake is not lost: the work of the call stays spent
    let _ = pieces(&long.text, token, |piece| match piece {
        FormatPiece::Token(name) => out.push(&shown.token(name)),
        FormatPiece::Literal(text) => out.push(text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text)),
        FormatPiece::Escaped(text) => text.split('\\').try_for_each(|part| out.push(part)),
        // moment.js splits patterns with a `.`, which does not match line ends
        FormatPiece::Plain('\\' | '\n' | '\r' | '\u{2028}' | '\u{2029}') => Ok(()),
        FormatPiece::Plain(c) => out.push(c.encode_utf8(&mut [0; 4])),
    });
    out.text
}

/// The token for a pattern that a text starts with.
fn local(rest: &str) -> Option<&'static str> {
    if !rest.starts_with(['L', 'l']) {
        return None;
    }
    LOCAL.iter().map(|(token, _)| *token).find(|token| rest.starts_with(token))
}

/// Any other token that a text starts with.
fn token(rest: &str) -> Option<&'static str> {
    let first = rest.bytes().next().filter(u8::is_ascii_alphabetic)?;
    TOKENS.iter().copied().find(|token| token.as_bytes().first() == Some(&first) && rest.starts_with(token))
}

/// A text that is made piece by piece.
#[derive(Default)]
struct FormattedText {
    text: String,
}

impl FormattedText {
    fn push(&mut self, text: &str) -> Result<(), BudgetExceeded> {
        if self.text.len().saturating_add(text.len()) > limits::OUTPUT_BYTES {
            return Err(work::too_large(SizeExcess::Bytes));
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// Splits a pattern; `token` returns the token that a text starts with. Each byte of it is a step.
fn pieces<'p>(
    pattern: &'p str,
    token: impl Fn(&str) -> Option<&'static str>,
    mut each: impl FnMut(FormatPiece<'p>) -> Result<(), BudgetExceeded>,
) -> Result<(), BudgetExceeded> {
    work::spend(pattern.len() as u64)?;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let (piece, len) = if let Some(len) = literal(rest) {
            (FormatPiece::Literal(rest.get(..len).unwrap_or_default()), len)
        } else if let Some(token) = token(rest) {
            (FormatPiece::Token(token), token.len())
        } else if let Some(len) = escaped(rest, &token) {
            (FormatPiece::Escaped(rest.get(..len).unwrap_or_default()), len)
        } else {
            (FormatPiece::Plain(c), c.len_utf8())
        };
        each(piece)?;
        rest = rest.get(len..).unwrap_or_default();
    }
    Ok(())
}

/// The length of `[text]` at the start: up to the last `]` before another `[`.
fn literal(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('[')?;
    let inside = inside.split('[').next().unwrap_or_default();
    inside.rfind(']').map(|end| end + 2)
}

fn escaped(rest: &str, token: impl Fn(&str) -> Option<&'static str>) -> Option<usize> {
    let after = rest.strip_prefix('\\')?;
    let len = token(after).map(str::len).or_else(|| after.chars().next().filter(|c| *c != '\n').map(char::len_utf8))?;
    Some(len + 1)
}

/// A point in time with what its wall clock shows.
struct ShownMoment<'v> {
    moment: Moment,
    clock: DateTime,
    calendar: Calendar<'v>,
}

impl ShownMoment<'_> {
    fn token(&self, token: &str) -> String {
        let (clock, date, calendar) = (self.clock, self.clock.date(), self.calendar);
        let year = i64::from(clock.year());
        let hour = i64::from(clock.hour());
        let (minute, second) = (i64::from(clock.minute()), i64::from(clock.second()));
        let day_of_week = i64::from(date.weekday().to_sunday_zero_offset());
        // weeks are reckoned only where they are shown
        let iso = || date.iso_week_date();
        let week = || calendar.week(date).1;
        let week_year = || calendar.week(date).0;
        let quarter = (i64::from(clock.month()) + 2) / 3;
        let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
        let twenty_four = if hour == 0 { 24 } else { hour };
        match token {
            "M" | "MM" => padded(clock.month().into(), token.len()),
            "Mo" => calendar.ordinal(clock.month().into()),
            "MMM" | "MMMM" => calendar.month(i64::from(clock.month()) - 1, token.len() == 4).into_owned(),
            "D" | "DD" => padded(clock.day().into(), token.len()),
            "Do" => calendar.ordinal(clock.day().into()),
            "DDD" => date.day_of_year().to_string(),
            "DDDD" => padded(date.day_of_year().into(), 3),
            "DDDo" => calendar.ordinal(date.day_of_year().into()),
            "d" => day_of_week.to_string(),
            "e" => calendar.place_in_week(day_of_week).to_string(),
            "do" => calendar.ordinal(day_of_week),
            "dd" | "ddd" | "dddd" => calendar.day(day_of_week, token.len()).into_owned(),
            "E" => date.weekday().to_monday_one_offset().to_string(),
            "w" | "ww" => padded(week(), token.len()),
            "wo" => calendar.ordinal(week()),
            "W" | "WW" => padded(iso().week().into(), token.len()),
            "Wo" => calendar.ordinal(iso().week().into()),
            "Q" => quarter.to_string(),
            "Qo" => calendar.ordinal(quarter),
            "gg" => padded(week_year() % 100, 2),
            "gggg" | "ggggg" => padded(week_year(), token.len()),
            "GG" => padded(i64::from(iso().year()) % 100, 2),
            "GGGG" | "GGGGG" => padded(iso().year().into(), token.len()),
            "YY" => padded(year % 100, 2),
            "Y" | "YYYY" => padded(year, 4),
            "YYYYY" => padded(year, 5),
            "YYYYYY" if year >= 0 => format!("+{year:06}"),
            "YYYYYY" => padded(year, 6),
            "y" | "yy" | "yyy" | "yyyy" => padded(era_year(year), token.len()),
            "yo" => calendar.ordinal(era_year(year)),
            "N" | "NN" | "NNN" | "NNNNN" => if year > 0 { "AD" } else { "BC" }.to_owned(),
            "NNNN" => if year > 0 { "Anno Domini" } else { "Before Christ" }.to_owned(),
            "a" | "A" => calendar.half_day(hour, token == "A").into_owned(),
            "H" | "HH" => padded(hour, token.len()),
            "h" | "hh" => padded(twelve, token.len()),
            "k" | "kk" => padded(twenty_four, token.len()),
            "m" | "mm" => padded(minute, token.len()),
            "s" | "ss" => padded(second, token.len()),
            "hmm" => format!("{twelve}{minute:02}"),
            "hmmss" => format!("{twelve}{minute:02}{second:02}"),
            "Hmm" => format!("{hour}{minute:02}"),
            "Hmmss" => format!("{hour}{minute:02}{second:02}"),
            "x" => self.moment.ms.to_string(),
            "X" => self.moment.ms.div_euclid(1000).to_string(),
            "z" if self.moment.zoned => "UTC".to_owned(),
            "zz" if self.moment.zoned => "Coordinated Universal Time".to_owned(),
            "z" | "zz" => String::new(),
            // tokens to moment.js by a slip in its pattern, which show themselves
            "w|" | "W|" => token.to_owned(),
            "Z" => self.offset(":"),
            "ZZ" => self.offset(""),
            // S to SSSSSSSSS: so many digits of the second's fraction
            _ => format!("{:03}000000", clock.millisecond()).chars().take(token.len()).collect(),
        }
    }

    fn offset(&self, sep: &str) -> String {
        let size = self.moment.offset.abs();
        format!("{}{:02}{sep}{:02}", if self.moment.offset < 0 { '-' } else { '+' }, size / 60, size % 60)
    }
}

/// A number with zeros before it; the sign comes first and does not count.
fn padded(n: i64, width: usize) -> String {
    format!("{}{:0width$}", if n < 0 { "-" } else { "" }, n.abs())
}

/// The year counted from its era's start: the year 0 is 1 BC.
fn era_year(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}
