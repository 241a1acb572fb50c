//! Repeatable random numbers from a text: the generator and the hash that JavaScript programs use for stable picks.
//!
//! The generator is David Bau's seedrandom, which draws from the ARC4 stream cipher; the hash is cyrb53 with another
//! last step. Neither is cryptographically secure.

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
