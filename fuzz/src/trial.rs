//! Inputs of a target, and short trials inside of a test.

use crate::dice::Dice;
use crate::mutate::{Stock, mutate};
use crate::{Target, Verdict, seeds};

/// The seeds of a target, then mutations of them without end: the same ones for the same seed of the dice.
pub struct Inputs {
    target: &'static Target,
    seeds: Vec<Vec<u8>>,
    dice: Dice,
    next: usize,
}

impl Inputs {
    /// The inputs of a target.
    #[must_use]
    pub fn of(target: &'static Target, seed: u64) -> Self {
        let mut seeds = seeds::of(target);
        seeds.retain(|seed| seed.len() <= target.longest);
        if seeds.is_empty() {
            seeds.push(Vec::new());
        }
        Self { target, seeds, dice: Dice::new(seed, target.name), next: 0 }
    }

    fn mutated(&mut self) -> Vec<u8> {
        let mut input = self.dice.pick(&self.seeds).clone();
        let other = self.dice.pick(&self.seeds).clone();
        let stock = Stock { words: self.target.words, other: &other, longest: self.target.longest };
        mutate(&mut input, self.target.shape, &stock, &mut self.dice);
        input
    }
}

impl Iterator for Inputs {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        self.next += 1;
        Some(self.seeds.get(self.next - 1).cloned().unwrap_or_else(|| self.mutated()))
    }
}

/// Gives `count` mutated inputs to a target, the same ones for the same `seed`. Returns how many it took, and the inputs
/// that show that two ways do not agree, with the difference. Panics are not caught.
#[must_use]
pub fn some(target: &'static Target, seed: u64, count: usize) -> (usize, Vec<(Vec<u8>, String)>) {
    let mut inputs = Inputs::of(target, seed);
    let (mut taken, mut wrong) = (0, Vec::new());
    for _ in 0..count {
        let input = inputs.mutated();
        match (target.run)(&input) {
            Verdict::Taken => taken += 1,
            Verdict::Refused => {}
            Verdict::Wrong(why) => wrong.push((input, why)),
        }
    }
    (taken, wrong)
}
