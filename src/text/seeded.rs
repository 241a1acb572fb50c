//! Repeatable random numbers from a word and a count: the generator sfc32, seeded with a hash of the word.

use super::function::{Function, of};
use super::js_number::{number_of, whole};
use crate::model::Value;

/// The most numbers that are skipped.
const MOST_SKIPPED: i64 = 1000;

/// The state of sfc32: three numbers that are mixed, and a counter.
#[derive(Debug, Clone)]
pub struct Sfc32 {
    a: i32,
    b: i32,
    c: i32,
    d: i32,
}

impl Sfc32 {
    /// The generator of a word, which is hashed four times in a row; the hash after each is one of the seeds.
    #[must_use]
    pub fn new(word: &str) -> Self {
        let mut hash = 5515.0;
        let mut seed = || {
            for unit in word.encode_utf16() {
                // the hash itself is a number without a bound; only the shift works on 32 bits
                hash = f64::from(low_bits(hash) << 5) + hash + f64::from(unit);
            }
            low_bits(hash)
        };
        Self { a: seed(), b: seed(), c: seed(), d: seed() }
    }

    /// The number in [0, 1) after `count` modulo 1,000 other ones.
    #[must_use]
    pub fn after(&self, count: i64) -> f64 {
        let mut generator = self.clone();
        for _ in 0..count % MOST_SKIPPED {
            generator.next();
        }
        generator.next()
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
    doc: "a number from 0 up to, but not including, 1 that is always the same for a text and `skip`: the one after `skip` (modulo 1,000) numbers of the generator sfc32",
    args: &[("of", true), ("skip", false)],
    run: |args| {
        if of(args).is_null() {
            return Err("there is no text to seed the generator with".into());
        }
        Ok(Value::Num(Sfc32::new(&of(args).to_text()).after(whole(number_of(args, "skip")))))
    },
};
