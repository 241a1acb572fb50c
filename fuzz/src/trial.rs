//! Short campaigns inside of a test: a fixed number of inputs, without a watchdog and without a count of memory.

use crate::dice::Dice;
use crate::mutate::{Stock, mutate};
use crate::{Target, Verdict, seeds};

/// Gives `count` mutated inputs to a target, the same ones for the same `seed`. Returns how many it took, and the inputs
/// that show that two ways do not agree, with the difference. Panics are not caught.
#[must_use]
pub fn some(target: &Target, seed: u64, count: usize) -> (usize, Vec<(Vec<u8>, String)>) {
    let mut dice = Dice::new(seed, target.name);
    let seeds = seeds::of(target);
    let (mut taken, mut wrong) = (0, Vec::new());
    for _ in 0..count {
        let mut input = dice.pick(&seeds).clone();
        let other = dice.pick(&seeds).clone();
        mutate(&mut input, target.shape, &Stock { words: target.words, other: &other, longest: target.longest }, &mut dice);
        match (target.run)(&input) {
            Verdict::Taken => taken += 1,
            Verdict::Refused => {}
            Verdict::Wrong(why) => wrong.push((input, why)),
        }
    }
    (taken, wrong)
}
