//! Making an input that was found smaller, as long as it still shows the same.

use serde_json::Value as Json;

use crate::Target;
use crate::campaign::{Limits, run};
use crate::clock;
use crate::report::Kind;
use crate::watch::BlackBox;

/// Microseconds that the search for a smaller input may take.
const PATIENCE: u64 = 20_000_000;

/// A smaller input that shows the same, or the input itself.
#[must_use]
pub fn shrink(target: &Target, input: &[u8], kind: Kind, why: &str, limits: &Limits, note: &mut BlackBox) -> Vec<u8> {
    let began = clock::of_thread();
    let mut shows = |candidate: &[u8]| {
        // without the note, an end of the process would be blamed on the larger input, which is no harm
        let _ = note.note(candidate);
        run(target, candidate).finding(limits).is_some_and(|(k, w)| k == kind && (kind.is_measured() || w == why))
    };
    let patient = || clock::of_thread().saturating_sub(began) < PATIENCE;
    let mut best = input.to_vec();
    loop {
        let before = best.len();
        tree(&mut best, &mut shows, &patient);
        parts(&mut best, &mut shows, &patient);
        if best.len() == before || !patient() {
            return best;
        }
    }
}

/// Leaves out ranges of bytes, large ones first.
fn parts(best: &mut Vec<u8>, shows: &mut impl FnMut(&[u8]) -> bool, patient: &impl Fn() -> bool) {
    let mut size = best.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < best.len() && patient() {
            let end = (at + size).min(best.len());
            let candidate = [&best[..at], &best[end..]].concat();
            if shows(&candidate) {
                *best = candidate;
            } else {
                at = end;
            }
        }
        size /= 2;
    }
}

/// Leaves out values of a JSON document.
fn tree(best: &mut Vec<u8>, shows: &mut impl FnMut(&[u8]) -> bool, patient: &impl Fn() -> bool) {
    let Ok(mut whole) = serde_json::from_slice::<Json>(best) else { return };
    let mut n = 0;
    while patient() {
        let mut candidate = whole.clone();
        if !without(&mut candidate, &mut n.clone()) {
            return;
        }
        let written = candidate.to_string().into_bytes();
        if written.len() < best.len() && shows(&written) {
            (whole, *best) = (candidate, written);
        } else {
            n += 1;
        }
    }
}

/// Removes the value of this number below `tree`. False if there are fewer.
fn without(tree: &mut Json, n: &mut usize) -> bool {
    match tree {
        Json::Array(list) => {
            for at in 0..list.len() {
                if *n == 0 {
                    list.remove(at);
                    return true;
                }
                *n -= 1;
                if list.get_mut(at).is_some_and(|value| without(value, n)) {
                    return true;
                }
            }
            false
        }
        Json::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            for key in keys {
                if *n == 0 {
                    map.shift_remove(&key);
                    return true;
                }
                *n -= 1;
                if map.get_mut(&key).is_some_and(|value| without(value, n)) {
                    return true;
                }
            }
            false
        }
        _ => false,
    }
}
