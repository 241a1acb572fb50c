//! Changing an input a little, in the shape that its door reads: bytes, text, a JSON tree or a TOML tree.

mod bytes;
mod tree;

use crate::dice::Dice;
use crate::targets::Shape;

/// What a mutation may use besides the input.
pub struct Stock<'a> {
    /// Words of the format.
    pub words: &'a [&'a str],
    /// Another input, to splice with.
    pub other: &'a [u8],
    /// The longest input, in bytes.
    pub longest: usize,
}

/// Changes an input in one to eight places. Most inputs are made short before that: more of them are tried in the same time,
/// and a change is more likely to meet what matters.
pub fn mutate(input: &mut Vec<u8>, shape: Shape, stock: &Stock<'_>, dice: &mut Dice) {
    let times = 1 + dice.below(8).min(dice.below(8));
    let done = match shape {
        Shape::Json if !dice.once_in(8) => tree::json(input, stock, times, dice),
        Shape::Toml if !dice.once_in(3) => tree::toml(input, stock, times, dice),
        _ => false,
    };
    if !done {
        if !dice.once_in(4) {
            bytes::shorten(input, dice);
        }
        (0..times).for_each(|_| bytes::change(input, stock, dice));
    }
    input.truncate(stock.longest);
}
