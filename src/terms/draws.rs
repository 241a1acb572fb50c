//! Random draws: named, seeded streams, or one scripted list that serves all streams in order.
//!
//! A draw is a number in [0, 1). Streams are independent of each other, so that a new pass that draws does not change
//! the numbers of other streams. Generator: ChaCha8, seeded with blake3 over seed and stream name.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rustc_hash::FxHashMap;

use crate::text::written;

/// The draws of one build.
#[derive(Debug)]
pub struct Draws {
    seed: Arc<str>,
    script: Option<std::collections::VecDeque<f64>>,
    streams: FxHashMap<Arc<str>, ChaCha8Rng>,
    taken: Vec<(Arc<str>, f64)>,
}

impl Draws {
    /// Seeded streams. The numbers of `script`, if any, are used first, whichever stream asks.
    #[must_use]
    pub fn new(seed: &str, script: Option<Vec<f64>>) -> Self {
        Self { seed: seed.into(), script: script.map(Into::into), streams: FxHashMap::default(), taken: Vec::new() }
    }

    /// The next number in [0, 1) of a stream.
    pub fn draw(&mut self, stream: &Arc<str>) -> f64 {
        let scripted = self.script.as_mut().and_then(std::collections::VecDeque::pop_front);
        let value = scripted.unwrap_or_else(|| self.seeded(stream));
        // a macro may roll thousands of dice; if no work is left, the next step of the build fails
        let _ = written::push(&mut self.taken, (stream.clone(), value), 0);
        value
    }

    fn seeded(&mut self, stream: &Arc<str>) -> f64 {
        let seed = &self.seed;
        let rng = self.streams.entry(stream.clone()).or_insert_with(|| {
            let mut hash = blake3::Hasher::new();
            hash.update(seed.as_bytes());
            hash.update(&[0]);
            hash.update(stream.as_bytes());
            ChaCha8Rng::from_seed(*hash.finalize().as_bytes())
        });
        #[allow(clippy::cast_precision_loss)]
        let unit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        unit
    }

    /// `floor(draw * n)`: one of `n` things; 0 when there are none.
    pub fn pick(&mut self, stream: &Arc<str>, n: usize) -> usize {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let k = (self.draw(stream) * n as f64).floor() as usize;
        k.min(n.saturating_sub(1))
    }

    /// Fisher-Yates shuffle from the end: n draws, of which the last has no effect.
    pub fn shuffle<T>(&mut self, stream: &Arc<str>, items: &mut [T]) {
        for k in (1..=items.len()).rev() {
            let j = self.pick(stream, k);
            items.swap(k - 1, j);
        }
    }

    /// How many scripted numbers remain.
    #[must_use]
    pub fn left(&self) -> usize {
        self.script.as_ref().map_or(0, std::collections::VecDeque::len)
    }

    /// The remaining scripted numbers, for a run that continues from this one.
    #[must_use]
    pub fn rest(&self) -> Option<Vec<f64>> {
        self.script.as_ref().map(|script| script.iter().copied().collect())
    }

    /// Every draw so far, with its stream.
    #[must_use]
    pub fn taken(&self) -> &[(Arc<str>, f64)] {
        &self.taken
    }
}
