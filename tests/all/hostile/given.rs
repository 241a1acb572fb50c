//! What the data that a call is given adds to the bounds of its work: a share of its size, and never more than the bounds.

use tapster::machinery::text::work;
use tapster::{Value, WorkLimits};

const LIMITS: WorkLimits = WorkLimits { steps: 800_000, bytes: 8_000_000 };

/// The steps that a call with a list of so many parts may take.
fn steps(parts: usize) -> u64 {
    let data = Value::list(vec![Value::Int(0); parts - 1]);
    let _door = data.open_budget(LIMITS);
    let mut taken = 0;
    while work::spend(1_000).is_ok() {
        taken += 1_000;
    }
    taken
}

#[test]
fn data_adds_its_share_and_at_most_as_much_again() {
    let found: Vec<u64> = [1, 100_000, 400_000, 800_000, 1_600_000, 4_000_000].into_iter().map(steps).collect();
    assert_eq!(found, [800_000, 900_000, 1_200_000, 1_600_000, 1_600_000, 1_600_000]);
}
