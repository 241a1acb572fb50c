//! Dice: `2d6+3` rolled with numbers that the caller draws.

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
pub fn parse(text: &str) -> Option<Dice> {
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
