//! The time and chance of the machine, for retries.

use core::time::Duration;
use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use super::BoxFuture;
use super::retry::Pace;

/// Waits in real time.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealPace;

impl Pace for RealPace {
    fn sleep(&self, pause: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(pause))
    }

    fn chance(&self) -> f64 {
        // every hasher of the standard library begins with other random numbers
        #[expect(clippy::cast_precision_loss, reason = "32 bits are enough of a chance")]
        let bits = (RandomState::new().hash_one(0) >> 32) as f64;
        bits / 4_294_967_296.0
    }

    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}
