//! Chance as JavaScript programs compute it: parts, dice and whole numbers from draws of a stream, or from the generator
//! that belongs to a text.

use std::sync::Arc;

use super::call::{FunctionCall, says};
use crate::macros::syntax::MacroResult;
use crate::model::Value;
use crate::model::value::number_text;
use crate::text::random::{MOST_DICE, NumberSequence};
use crate::text::written::ToText as _;
use crate::text::{js, random, work};

/// Where the numbers of a call come from.
struct NumberSource<'a> {
    call: &'a FunctionCall<'a>,
    seed: Option<TextSeed>,
}

/// The numbers of a text; without them, the stream of the row is used.
struct TextSeed {
    numbers: NumberSequence,
    /// The number of the first die.
    count: i64,
    /// What each further die adds to it.
    stride: i64,
}

impl<'a> NumberSource<'a> {
    fn of(call: &'a FunctionCall<'a>) -> Self {
        let value = |name: &str| call.value(name).filter(|value| !value.is_null());
        let whole = |name: &str| value(name).and_then(|value| value.as_i64());
        let seed = call.text("seed").map(|seed| TextSeed {
            numbers: NumberSequence::new(&seed, value("start").and_then(|start| start.as_f64()).unwrap_or_default(), whole("modulo")),
            count: whole("count").unwrap_or_default(),
            stride: whole("stride").unwrap_or(1),
        });
        Self { call, seed }
    }

    /// The number of the die `n`, in [0, 1).
    fn draw(&mut self, n: i64) -> f64 {
        match &mut self.seed {
            Some(seed) => seed.numbers.after(seed.count.saturating_add(n.saturating_mul(seed.stride))),
            None => self.call.draw(),
        }
    }

    /// Counts the work of so many dice.
    fn count(&self, dice: usize) {
        let numbers = self.seed.as_ref().map_or(0, |seed| seed.numbers.computed());
        self.call.st.usage.count_steps((dice + numbers) / work::BYTES_PER_STEP);
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

pub(super) fn part(call: &FunctionCall<'_>) -> MacroResult {
    let mut source = NumberSource::of(call);
    let draw = source.draw(0);
    source.count(1);
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

pub(super) fn dice(call: &FunctionCall<'_>) -> MacroResult {
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
    let mut source = NumberSource::of(call);
    let (mut sum, mut dice) = (0.0, 0);
    for (n, number) in (0..).zip(0..MOST_DICE) {
        if f64::from(number) >= count {
            break;
        }
        sum += (source.draw(n) * sides).floor() + 1.0;
        dice += 1;
    }
    source.count(dice);
    says(number_text(sum))
}

pub(super) fn between(call: &FunctionCall<'_>) -> MacroResult {
    let end = |name: &str| call.text(name).map_or(f64::NAN, |text| js::number(&text));
    let (from, to) = (end("from"), end("to"));
    if from.is_nan() || to.is_nan() {
        return says("NaN");
    }
    says(number_text((NumberSource::of(call).draw(0) * (to - from + 1.0)).floor() + from))
}

// Chance: one of several things, dice, and choices that stay the same.

/// The things to choose from. With `between`, arguments are parted at this text, and what is blank is left out. Otherwise
/// a single argument is parted: at `::`, or else at commas that no backslash stands before.
fn items(call: &FunctionCall<'_>) -> Vec<String> {
    if let Some(sep) = call.text("between").filter(|sep| !sep.is_empty()) {
        let items = call.rest().iter().flat_map(|one| one.split(sep.as_ref()));
        return items.map(js::trim).filter(|item| !item.is_empty()).map(ToOwned::to_owned).collect();
    }
    let [one] = call.rest() else { return call.rest().iter().map(ToString::to_string).collect() };
    if one.contains("::") {
        return one.split("::").map(|item| js::trim(item).to_owned()).collect();
    }
    let mut items = vec![String::new()];
    let mut chars = one.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, items.last_mut()) {
            (',', _) => items.push(String::new()),
            ('\\', Some(item)) if chars.peek() == Some(&',') => {
                chars.next();
                item.push(',');
            }
            (c, Some(item)) => item.push(c),
            (_, None) => {}
        }
    }
    items.iter().map(|item| js::trim(item).to_owned()).collect()
}

/// The thing that a number in [0, 1) chooses.
fn choose(items: Vec<String>, draw: f64) -> MacroResult {
    let count = items.len();
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let place = ((draw * count as f64).floor() as usize).min(count.saturating_sub(1));
    items.into_iter().nth(place).map_or_else(|| says(""), says)
}

pub(super) fn one(call: &FunctionCall<'_>) -> MacroResult {
    let items = items(call);
    if items.is_empty() {
        return says("");
    }
    choose(items, call.draw())
}

pub(super) fn formula_dice(call: &FunctionCall<'_>) -> MacroResult {
    match random::parse_dice(&call.text("formula").unwrap_or_default()) {
        Some(dice) => says(dice.roll(|| call.draw()).to_string()),
        None => says(""),
    }
}

/// Sets a path, unless it has the value already.
fn keep(call: &FunctionCall<'_>, path: &str, value: &Value) {
    let names: Vec<Arc<str>> = path.split('.').map(Arc::from).collect();
    if call.st.lookup(&names, None) != *value {
        call.st.put(&names, value.clone());
    }
}

pub(super) fn stable(call: &FunctionCall<'_>) -> MacroResult {
    let items = items(call);
    if items.is_empty() {
        return says("");
    }
    let stable = match call.macros.value(&call.row.stable) {
        Ok(stable) => stable,
        Err(message) => return MacroResult::Failed(message),
    };
    if let (Some(path), Some(first)) = (call.row.with.get("keep").and_then(Value::as_str), stable.as_list().and_then(<[Value]>::first)) {
        keep(call, path, first);
    }
    let part = |part: &Value| match part.as_str() {
        Some("text") => call.macros.given_hash().to_string(),
        Some("offset") => call.called.place().to_string(),
        _ => part.shown().to_string(),
    };
    let parts: Vec<String> = stable.as_list().unwrap_or(&[]).iter().map(part).filter(|p| !p.is_empty()).collect();
    let seed = random::hash(&parts.join("-"), 0).to_string();
    let draw = match call.row.with.get("seed").and_then(Value::as_str) {
        Some("number") => random::first_draw_of_number(&seed),
        _ => random::first_draw(&seed),
    };
    choose(items, draw)
}
