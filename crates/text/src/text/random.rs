//! Repeatable random numbers from a text, and dice.
//!
//! The generator of stable picks is David Bau's seedrandom, which draws from the ARC4 stream cipher; the hash is cyrb53 with
//! another last step. None of this is cryptographically secure.

use super::function::{Function, of};
use super::js_number::{number_of, whole};
use super::work::{self, BudgetExceeded};
use super::written::ToText as _;
use crate::model::Value;

/// The ARC4 key stream over the bytes of a seed.
struct Arc4 {
    i: u8,
    j: u8,
    state: [u8; 256],
}

impl Arc4 {
    /// The cipher with a key; its first 256 bytes are discarded.
    fn new(key: &[u8]) -> Self {
        let key = if key.is_empty() { &[0] } else { key };
        let mut arc4 = Self { i: 0, j: 0, state: std::array::from_fn(|n| u8::try_from(n).unwrap_or_default()) };
        for (n, byte) in (0..=255).zip(key.iter().cycle()) {
            arc4.j = arc4.j.wrapping_add(*byte).wrapping_add(arc4.at(n));
            arc4.state.swap(n.into(), arc4.j.into());
        }
        arc4.j = 0;
        for _ in 0..256 {
            arc4.byte();
        }
        arc4
    }

    fn at(&self, place: u8) -> u8 {
        self.state.get(usize::from(place)).copied().unwrap_or_default()
    }

    fn byte(&mut self) -> u64 {
        self.i = self.i.wrapping_add(1);
        let old = self.at(self.i);
        self.j = self.j.wrapping_add(old);
        self.state.swap(self.i.into(), self.j.into());
        self.at(old.wrapping_add(self.at(self.i))).into()
    }

    /// A number in [0, 1) with 56 bits of the stream, as `seedrandom` makes it.
    #[expect(clippy::cast_precision_loss, reason = "the numbers have 53 bits at most when they are divided")]
    fn unit(&mut self) -> f64 {
        const WHOLE: u64 = 1 << 52;
        let mut n = (0..6).fold(0, |n, _| n << 8 | self.byte());
        let mut denominator = (1_u64 << 48) as f64;
        let mut last = 0;
        while n < WHOLE {
            n = (n + last) << 8;
            denominator *= 256.0;
            last = self.byte();
        }
        let mut n = n as f64;
        while n >= (WHOLE << 1) as f64 {
            n /= 2.0;
            denominator /= 2.0;
            last >>= 1;
        }
        (n + last as f64) / denominator
    }
}

/// The first draw of `seedrandom(seed)` for a text seed: a number in [0, 1).
#[must_use]
pub fn first_draw(seed: &str) -> f64 {
    Arc4::new(&key(seed)).unit()
}

/// The first draw of `seedrandom(seed)` for a seed that is a number (its text in JavaScript), which gives other
/// draws than the same text would.
#[must_use]
pub fn first_draw_of_number(seed: &str) -> f64 {
    Arc4::new(&key(&format!("{seed}\0"))).unit()
}

/// The seed's UTF-16 units mixed into at most 256 bytes.
fn key(seed: &str) -> Vec<u8> {
    let mut key: Vec<u8> = Vec::new();
    let mut smear = 0_i32;
    for (n, unit) in seed.encode_utf16().enumerate() {
        let old = key.get(n & 255).copied().unwrap_or_default();
        smear ^= i32::from(old) * 19;
        let [byte, ..] = smear.wrapping_add(unit.into()).to_le_bytes();
        match key.get_mut(n & 255) {
            Some(place) => *place = byte,
            None => key.push(byte),
        }
    }
    key
}

/// The 53-bit hash of a text's UTF-16 units.
#[must_use]
pub fn hash(text: &str, seed: u32) -> u64 {
    let (mut a, mut b) = (0xdead_beef ^ seed, 0x41c6_ce57 ^ seed);
    for unit in text.encode_utf16() {
        a = (a ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        b = (b ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    let mix = |x: u32, y: u32| (x ^ x >> 16).wrapping_mul(2_246_822_507) ^ (y ^ y >> 13).wrapping_mul(3_266_489_909);
    a = mix(a, b);
    b = mix(b, a);
    u64::from(b & 0x1f_ffff) << 32 | u64::from(a)
}

// Repeatable random numbers from a word and a count: the generator sfc32, seeded with a hash of the word.

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

// Dice: `2d6+3` rolled with numbers that the caller draws.

/// The most dice of one roll.
pub const MOST_DICE: u32 = 10_000;

/// Dice of one kind, and the number that is added to their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dice {
    /// How many, 1 at least.
    pub count: u32,
    /// The sides of each, 1 at least.
    pub sides: u32,
    /// Added to the sum.
    pub plus: i64,
}

/// Reads `d20`, `2d6`, `2D6+3`, `1d8-1`, or bare sides: `6` is `1d6`. `None` for any other text, for a zero, for blanks
/// inside, and for more than [`MOST_DICE`] dice. Count and sides have no leading zeros, except in bare sides.
#[must_use]
pub fn parse_dice(text: &str) -> Option<Dice> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits(text) {
        return number(text).map(|sides| Dice { count: 1, sides, plus: 0 });
    }
    let (count, rest) = text.split_once(['d', 'D'])?;
    let (sides, plus) = match rest.find(['+', '-']) {
        Some(at) => (rest.get(..at)?, rest.get(at..)?),
        None => (rest, ""),
    };
    let plus = match plus.get(1..) {
        None => 0,
        Some(amount) if digits(amount) => plus.parse().ok()?,
        Some(_) => return None,
    };
    let count = if count.is_empty() { 1 } else { number(count)? };
    (count <= MOST_DICE).then_some(Dice { count, sides: number(sides)?, plus })
}

/// A whole number above zero, without leading zeros or a sign.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}

impl Dice {
    /// The sum. `draw` returns a number in [0, 1) and is called once per die, in order.
    #[expect(clippy::cast_possible_truncation, reason = "a face is at most the number of sides")]
    pub fn roll(&self, mut draw: impl FnMut() -> f64) -> i64 {
        let faces = (0..self.count).map(|_| 1 + (draw() * f64::from(self.sides)).floor() as i64);
        faces.sum::<i64>().saturating_add(self.plus)
    }
}
