//! What a language says in dates: names, patterns, the first day of the week, and words for lengths of time.
//!
//! A calendar is a table of a pack or a scene. What it leaves out is American English, as in moment.js.

use std::borrow::Cow;

use jiff::civil::Date;

use crate::diag::limits;
use crate::model::Value;

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Tokens that stand for patterns; of several that fit, the first counts.
pub(super) const LOCAL: &[(&str, &str)] = &[
    ("LTS", "h:mm:ss A"),
    ("LT", "h:mm A"),
    ("LLLL", "dddd, MMMM D, YYYY h:mm A"),
    ("LLL", "MMMM D, YYYY h:mm A"),
    ("LL", "MMMM D, YYYY"),
    ("L", "MM/DD/YYYY"),
    ("llll", "ddd, MMM D, YYYY h:mm A"),
    ("lll", "MMM D, YYYY h:mm A"),
    ("ll", "MMM D, YYYY"),
    ("l", "M/D/YYYY"),
];

/// The words for lengths of time; `{}` is the number, or the length in `future` and `past`.
const RELATIVE: &[(&str, &str)] = &[
    ("future", "in {}"),
    ("past", "{} ago"),
    ("seconds", "a few seconds"),
    ("minute", "a minute"),
    ("minutes", "{} minutes"),
    ("hour", "an hour"),
    ("hours", "{} hours"),
    ("day", "a day"),
    ("days", "{} days"),
    ("month", "a month"),
    ("months", "{} months"),
    ("year", "a year"),
    ("years", "{} years"),
];

/// The lists of a calendar with their lengths.
const LISTS: [(&str, usize); 7] =
    [("months", 12), ("months_short", 12), ("days", 7), ("days_short", 7), ("days_min", 7), ("half_days", 2), ("half_days_upper", 2)];

/// The calendar of a language.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calendar<'v>(Option<&'v Value>);

impl<'v> Calendar<'v> {
    /// A calendar from a table: `months`, `months_short` (12 texts from January on), `days`, `days_short`, `days_min` (7
    /// texts from Sunday on), `half_days`, `half_days_upper` (before and after noon), `first_day` of the week (0 is
    /// Sunday), `first_week` (the day of January that the first week of a year always contains), `ordinal` (`{}.`),
    /// `formats` (by token: `LT`, `LL` …) and `relative` (`past`, `days` …). No value, or an empty one, is American English.
    ///
    /// # Errors
    /// A key is unknown, or its value has another shape.
    pub fn of(value: &'v Value) -> Result<Self, String> {
        if value.is_empty() {
            return Ok(Self::default());
        }
        let Value::Map(table) = value else { return Err("a calendar must be a table".to_owned()) };
        for (key, value) in table.iter() {
            let fits = match key.as_ref() {
                "first_day" => value.as_i64().is_some_and(|day| (0..7).contains(&day)),
                "first_week" => value.as_i64().is_some_and(|day| (1..=7).contains(&day)),
                "ordinal" => is_word(value),
                "formats" => words_of(value, LOCAL),
                "relative" => words_of(value, RELATIVE),
                list => {
                    let Some((_, length)) = LISTS.iter().find(|(name, _)| *name == list) else {
                        let known =
                            LISTS.iter().map(|(name, _)| *name).chain(["first_day", "first_week", "ordinal", "formats", "relative"]);
                        // the key is a stranger's: it can be of any length
                        let list = crate::diag::short::word(list);
                        let help = crate::diag::suggest::help(&list, known).map(|help| format!("; {help}")).unwrap_or_default();
                        return Err(format!("a calendar has no `{list}`{help}"));
                    };
                    value.as_list().is_some_and(|list| list.len() == *length && list.iter().all(is_word))
                }
            };
            if !fits {
                return Err(format!("`{key}` of the calendar does not fit: {}", expected(key)));
            }
        }
        Ok(Self(Some(value)))
    }

    fn listed(&self, list: &str, n: i64) -> Option<Cow<'v, str>> {
        let names = self.0?.get(list)?.as_list()?;
        usize::try_from(n).ok().and_then(|n| names.get(n)).and_then(Value::as_str).map(Cow::Borrowed)
    }

    fn word(&self, table: &str, key: &str, known: &'static [(&str, &'static str)]) -> &'v str {
        let own = self.0.and_then(|of| of.get(table)?.get(key)?.as_str());
        own.unwrap_or_else(|| known.iter().find(|(name, _)| *name == key).map_or("", |(_, word)| word))
    }

    /// The name of a month, from 0 for January, in `long` or by three letters.
    pub(super) fn month(&self, n: i64, long: bool) -> Cow<'v, str> {
        let whole = || self.listed("months", n).unwrap_or_else(|| name(&MONTHS, n).into());
        if long { whole() } else { self.listed("months_short", n).unwrap_or_else(|| short(&whole(), 3)) }
    }

    /// The name of a day, from 0 for Sunday, by the number of `d`s of its token.
    pub(super) fn day(&self, n: i64, letters: usize) -> Cow<'v, str> {
        let whole = || self.listed("days", n).unwrap_or_else(|| name(&DAYS, n).into());
        match letters {
            2 => self.listed("days_min", n).unwrap_or_else(|| short(&whole(), 2)),
            3 => self.listed("days_short", n).unwrap_or_else(|| short(&whole(), 3)),
            _ => whole(),
        }
    }

    /// The word for the half of the day.
    pub(super) fn half_day(&self, hour: i64, upper: bool) -> Cow<'v, str> {
        let (n, small, large) = if hour < 12 { (0, "am", "AM") } else { (1, "pm", "PM") };
        let lower = || self.listed("half_days", n);
        if upper {
            let own = self.listed("half_days_upper", n).or_else(|| lower().map(|word| word.to_uppercase().into()));
            return own.unwrap_or(Cow::Borrowed(large));
        }
        lower().unwrap_or(Cow::Borrowed(small))
    }

    /// The pattern of a token such as `LT`.
    pub(super) fn pattern(&self, token: &str) -> &'v str {
        self.word("formats", token, LOCAL)
    }

    /// A length of time or its direction; `{}` of the word becomes `with`.
    pub(super) fn relative(&self, key: &str, with: &str) -> String {
        self.word("relative", key, RELATIVE).replacen("{}", with, 1)
    }

    /// A number that counts: `1st`.
    pub(super) fn ordinal(&self, n: i64) -> String {
        if let Some(own) = self.0.and_then(|of| of.get("ordinal")?.as_str()) {
            return own.replacen("{}", &n.to_string(), 1);
        }
        let end = match (n / 10 % 10, n % 10) {
            (1, _) => "th",
            (_, 1) => "st",
            (_, 2) => "nd",
            (_, 3) => "rd",
            _ => "th",
        };
        format!("{n}{end}")
    }

    fn number(&self, key: &str, otherwise: i64) -> i64 {
        self.0.and_then(|of| of.get(key)?.as_i64()).unwrap_or(otherwise)
    }

    /// The place of a day, from 0 for Sunday, in the week.
    pub(super) fn place_in_week(&self, day: i64) -> i64 {
        (day - self.number("first_day", 0)).rem_euclid(7)
    }

    /// The year that a week belongs to, and the number of the week.
    pub(super) fn week(&self, date: Date) -> (i64, i64) {
        let year = i64::from(date.year());
        let week = (i64::from(date.day_of_year()) - self.before_first_week(date) - 1).div_euclid(7) + 1;
        if week < 1 {
            let last = date.first_of_year().yesterday().map_or(52, |last| self.weeks(last));
            return (year - 1, week + last);
        }
        let weeks = self.weeks(date);
        if week > weeks { (year + 1, week - weeks) } else { (year, week) }
    }

    /// How many days of the year are before its first week; negative if that week begins in the year before.
    fn before_first_week(&self, date: Date) -> i64 {
        let always = self.number("first_week", 1);
        let day = i64::from(date.first_of_year().weekday().to_sunday_zero_offset()) + always - 1;
        always - 1 - self.place_in_week(day)
    }

    /// How many weeks the year of a date has.
    fn weeks(&self, date: Date) -> i64 {
        let next = date.last_of_year().tomorrow().map_or(0, |next| self.before_first_week(next));
        (i64::from(date.days_in_year()) - self.before_first_week(date) + next) / 7
    }
}

fn is_word(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() <= limits::NAME_BYTES)
}

fn words_of(value: &Value, known: &[(&str, &str)]) -> bool {
    let Value::Map(table) = value else { return false };
    table.iter().all(|(key, word)| is_word(word) && known.iter().any(|(name, _)| *name == key.as_ref()))
}

/// What a key must hold.
fn expected(key: &str) -> String {
    let keys = |known: &[(&str, &str)]| known.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match key {
        "first_day" => "it is a number from 0 (Sunday) to 6".to_owned(),
        "first_week" => "it is a number from 1 to 7, a day of January".to_owned(),
        "ordinal" => "it is a text with `{}` for the number".to_owned(),
        "formats" => format!("it is a table of texts with the keys {}", keys(LOCAL)),
        "relative" => format!("it is a table of texts with the keys {}", keys(RELATIVE)),
        list => format!("it is a list of {} texts", LISTS.iter().find(|(name, _)| *name == list).map_or(0, |(_, length)| *length)),
    }
}

fn name(names: &[&'static str], n: i64) -> &'static str {
    usize::try_from(n).ok().and_then(|n| names.get(n)).copied().unwrap_or_default()
}

fn short<'n>(name: &str, letters: usize) -> Cow<'n, str> {
    Cow::Owned(name.chars().take(letters).collect())
}
