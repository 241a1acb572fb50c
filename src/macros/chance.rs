//! Chance as JavaScript programs compute it: parts, dice and whole numbers from draws of a stream, or from the generator
//! that belongs to a text.

use super::call::{Call, says};
use crate::model::value::number_text;
use crate::text::dice::MOST_DICE;
use crate::text::js;
use crate::text::macros::MacroResult;
use crate::text::seeded::Sfc32;

/// What each further die adds to the count of a seeded draw.
const DIE: i64 = 15;

/// Where the numbers of a call come from.
struct Source<'a> {
    call: &'a Call<'a>,
    /// The generator of a text, and the count; without them, the stream of the row is used.
    seed: Option<(Sfc32, i64)>,
}

impl<'a> Source<'a> {
    fn of(call: &'a Call<'a>) -> Self {
        let count = call.value("count").and_then(|count| count.as_i64()).unwrap_or_default();
        Self { call, seed: call.text("seed").map(|seed| (Sfc32::new(&seed), count)) }
    }

    /// The number of the die `n`, in [0, 1).
    fn draw(&self, n: i64) -> f64 {
        match &self.seed {
            Some((seed, count)) => seed.after(count.saturating_add(n.saturating_mul(DIE))),
            None => self.call.draw(),
        }
    }
}

/// The parts of a text between any of the characters `between`; a backslash protects those of `protected`.
fn parts(text: &str, between: &str, protected: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let safe = chars.next_if(|next| c == '\\' && protected.contains(*next));
        match (safe.unwrap_or(c), parts.last_mut()) {
            (c, _) if safe.is_none() && between.contains(c) => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            (_, None) => {}
        }
    }
    parts
}

pub(super) fn part(call: &Call<'_>) -> MacroResult {
    let draw = Source::of(call).draw(0);
    let split;
    let items: Vec<&str> = match call.rest() {
        [] => return says(number_text(draw)),
        [one] => {
            split = parts(one, &call.text("between").unwrap_or_default(), &call.text("protected").unwrap_or_default());
            split.iter().map(String::as_str).collect()
        }
        items => items.iter().map(AsRef::as_ref).collect(),
    };
    #[expect(clippy::cast_precision_loss, reason = "a text has far fewer parts than 2^53")]
    let place = js::place((draw * items.len() as f64).floor());
    says(place.and_then(|place| items.get(place).copied()).unwrap_or_default())
}

pub(super) fn dice(call: &Call<'_>) -> MacroResult {
    let Some(text) = call.text("dice") else { return call.text("otherwise").map_or(MacroResult::Unknown, MacroResult::Text) };
    let bare = call.row.with.get("bare").is_some_and(crate::model::Value::truthy);
    let (count, sides) = match *text.split('d').collect::<Vec<_>>() {
        ["", sides] if bare => (1.0, js::number(sides)),
        [count, sides] => (js::number(count), js::number(sides)),
        [sides, ..] if bare => (1.0, js::number(sides)),
        [count, sides, ..] => (js::number(count), js::number(sides)),
        _ => (f64::NAN, f64::NAN),
    };
    if count.is_nan() || sides.is_nan() || (bare && (count < 1.0 || sides < 1.0)) {
        return says("NaN");
    }
    if count > f64::from(MOST_DICE) {
        return MacroResult::Failed(format!("more than {MOST_DICE} dice cannot be rolled at once"));
    }
    let source = Source::of(call);
    let mut sum = 0.0;
    for (n, number) in (0..).zip(0..MOST_DICE) {
        if f64::from(number) >= count {
            break;
        }
        sum += (source.draw(n) * sides).floor() + 1.0;
    }
    says(number_text(sum))
}

pub(super) fn between(call: &Call<'_>) -> MacroResult {
    let end = |name: &str| call.text(name).map_or(f64::NAN, |text| js::number(&text));
    let (from, to) = (end("from"), end("to"));
    if from.is_nan() || to.is_nan() {
        return says("NaN");
    }
    says(number_text((Source::of(call).draw(0) * (to - from + 1.0)).floor() + from))
}
