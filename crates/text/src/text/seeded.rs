//! Repeatable random numbers from a word and a count: the generator sfc32, seeded with a hash of the word.

use super::function::{Function, of};
use super::js_number::{number_of, whole};
use super::work::{self, BudgetExceeded};
use super::written::ToText as _;
use crate::model::Value;

/// The largest modulus of the count of skipped numbers.
const MOST_SKIPPED: i64 = 100_000;
/// The longest word whose hash stays a whole number below 2^53: each unit adds less than 2^32, four times over.
const MOST_EXACT_BYTES: usize = 1 << 18;

/// The state of sfc32: three numbers that are mixed, and a counter.
#[derive(Debug, Clone)]
pub struct Sfc32 {
    a: i32,
    b: i32,
    c: i32,
    d: i32,
}

impl Sfc32 {
    /// The generator of a word, which is hashed four times in a row, beginning with the hash `start`; the hash after each
    /// is one of the seeds.
    #[must_use]
    pub fn new(word: &str, start: f64) -> Self {
        // the hash itself is a number without a bound; only the shift works on 32 bits
        if let Some(mut hash) = exact(start).filter(|_| word.len() <= MOST_EXACT_BYTES) {
            let mut seed = || {
                for unit in word.encode_utf16() {
                    hash = i64::from(low_32(hash) << 5).saturating_add(hash).saturating_add(unit.into());
                }
                low_32(hash)
            };
            return Self { a: seed(), b: seed(), c: seed(), d: seed() };
        }
        let mut hash = start;
        let mut seed = || {
            for unit in word.encode_utf16() {
                hash = f64::from(low_bits(hash) << 5) + hash + f64::from(unit);
            }
            low_bits(hash)
        };
        Self { a: seed(), b: seed(), c: seed(), d: seed() }
    }

    #[expect(clippy::cast_sign_loss, reason = "the bits of the number are wanted")]
    fn next(&mut self) -> f64 {
        let t = self.a.wrapping_add(self.b).wrapping_add(self.d);
        self.d = self.d.wrapping_add(1);
        self.a = self.b ^ (self.b as u32 >> 9).cast_signed();
        self.b = self.c.wrapping_add(self.c << 3);
        self.c = self.c.rotate_left(21).wrapping_add(t);
        f64::from(t as u32) / 4_294_967_296.0
    }
}

/// The numbers of a generator in order, each computed once.
#[derive(Debug)]
pub struct NumberSequence {
    generator: Sfc32,
    modulo: i64,
    known: Vec<f64>,
}

impl NumberSequence {
    /// The numbers of a word; counts are taken modulo `modulo`, which is 100,000 at most and unless given.
    #[must_use]
    pub fn new(word: &str, start: f64, modulo: Option<i64>) -> Self {
        let modulo = modulo.filter(|modulo| (1..=MOST_SKIPPED).contains(modulo)).unwrap_or(MOST_SKIPPED);
        Self { generator: Sfc32::new(word, start), modulo, known: Vec::new() }
    }

    /// The number in [0, 1) after `count` other ones.
    pub fn after(&mut self, count: i64) -> f64 {
        let place = self.place(count);
        while self.known.len() <= place {
            let next = self.generator.next();
            self.known.push(next);
        }
        self.known.get(place).copied().unwrap_or_default()
    }

    /// The same where no other number is wanted.
    fn only(mut self, count: i64) -> Result<f64, BudgetExceeded> {
        let place = self.place(count);
        work::spend(place as u64)?;
        for _ in 0..place {
            self.generator.next();
        }
        Ok(self.generator.next())
    }

    fn place(&self, count: i64) -> usize {
        usize::try_from(count % self.modulo).unwrap_or(0)
    }

    /// How many numbers have been computed.
    #[must_use]
    pub fn computed(&self) -> usize {
        self.known.len()
    }
}

/// The number as an integer, if all hashes that begin with it are exact in both.
fn exact(start: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^32")]
    (start.fract() == 0.0 && start.abs() < 4_294_967_296.0).then_some(start as i64)
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
fn low_32(hash: i64) -> i32 {
    hash as i32
}

/// `number | 0`: the number modulo 2^32, as a signed number.
fn low_bits(number: f64) -> i32 {
    if !number.is_finite() {
        return 0;
    }
    let rest = number.trunc().rem_euclid(4_294_967_296.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is whole and below 2^32")]
    let bits = rest as u32;
    bits.cast_signed()
}

pub(super) const SEEDED_NUMBER: Function = Function {
    name: "seeded_number",
    doc: "a number from 0 up to, but not including, 1 that is always the same for a text and `skip`: the one after `skip` (modulo `modulo`, which is 100,000 unless given and at most) numbers of the generator sfc32. Its four seeds are the hash of the text once, twice, three and four times in a row, where each UTF-16 unit makes the hash h·33 + unit, beginning with `start` (0 unless given)",
    args: &[("of", true), ("skip", false), ("start", false), ("modulo", false)],
    run: |args| {
        if of(args).is_null() {
            return Err("there is no text to seed the generator with".into());
        }
        let start = args.get("start").map_or(0.0, |_| number_of(args, "start"));
        let modulo = args.get("modulo").and_then(Value::as_i64);
        Ok(Value::Num(NumberSequence::new(&of(args).shown(), start, modulo).only(whole(number_of(args, "skip")))?))
    },
};
