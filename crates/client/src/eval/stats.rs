//! What can be said of few numbers.

/// The quantile of the normal distribution for intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// The interval of 95 % for a rate, by Wilson's score: it stays between 0 and 1, and is of use for few trials and for rates
/// of 0 and 1. Without trials it is everything.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "no evaluation has so many trials")]
pub fn wilson(successes: usize, trials: usize) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (trials as f64, successes.min(trials) as f64 / trials as f64);
    let z2 = Z * Z;
    let middle = p + z2 / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let whole = 1.0 + z2 / n;
    (((middle - half) / whole).clamp(0.0, 1.0), ((middle + half) / whole).clamp(0.0, 1.0))
}

/// The smallest of the numbers that so many percent of them do not exceed; `None` of none.
#[must_use]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank of a short list")]
pub fn percentile(numbers: &[u64], percent: f64) -> Option<u64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let rank = (percent.clamp(0.0, 100.0) / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}
