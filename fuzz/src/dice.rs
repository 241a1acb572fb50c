//! Random numbers from a seed (SplitMix64): the same seed gives the same campaign.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The stream of a seed and a name.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        Self(name.bytes().fold(seed ^ 0x51_7c_c1_b7_27_22_0a_95, |all, byte| (all ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end as u64;
        if end == 0 { 0 } else { usize::try_from(self.roll() % end).unwrap_or(0) }
    }

    /// Whether something that happens once in `times` times happens.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    ///
    /// # Panics
    /// There is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A range of something of this length: short ones more often than long ones.
    pub fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let from = self.below(len + 1);
        let left = len - from;
        let most = match self.below(4) {
            0 => left.min(2),
            1 => left.min(8),
            2 => left.min(64),
            _ => left,
        };
        from..from + self.below(most + 1)
    }
}
