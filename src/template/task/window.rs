//! Windows over groups: the elements of some consecutive groups of a list, grouped by a numbered field.
//!
//! An offset names a group: 0 is the latest, -k the kth before it, +k the kth from the first. A number without a group
//! means the next group. A window with too few elements grows group by group.

use std::sync::Arc;

use crate::model::Value;
use crate::terms::EvalFault;

/// A window as a row declares it: the names of an argument, of a field, and of the keys of the argument's table.
#[derive(Debug)]
pub struct WindowNames {
    /// The argument with the table.
    pub arg: Arc<str>,
    /// The field with the number of the group.
    pub by: Arc<str>,
    /// The key with the offset of one end; if it is missing, the first group.
    pub from: Arc<str>,
    /// The key with the offset of the other end; if it is missing, 0.
    pub to: Arc<str>,
    /// The key with the least number of elements.
    pub least: Arc<str>,
}

/// A group: its number, and its elements.
type ElementGroup<'a> = (f64, Vec<&'a Value>);

impl WindowNames {
    /// The elements in the window, in the order of the list.
    pub(super) fn apply(&self, list: &[Value], wanted: &Value) -> Result<Option<Vec<Value>>, EvalFault> {
        let groups = self.groups(list)?;
        let Some(last) = groups.len().checked_sub(1) else { return Ok(Some(Vec::new())) };
        let number = |key: &str| wanted.get(key).and_then(Value::as_f64);
        let (from, to) = (number(&self.from).unwrap_or(f64::NEG_INFINITY), number(&self.to).unwrap_or(0.0));
        let least = number(&self.least).unwrap_or(0.0);
        if last == 0 {
            // nothing precedes the only group, but a window that must hold something includes it all the same
            let nothing = (is_prior(from) || is_prior(to)) && least <= 0.0;
            return Ok(Some(if nothing { Vec::new() } else { list.to_vec() }));
        }
        let (a, b) = (place(from, &groups), place(to, &groups));
        let (mut low, mut high) = (a.min(b), a.max(b));
        let (older, newer) = (from <= 0.0 && to <= 0.0, from >= 0.0 && to >= 0.0);
        while too_few(&groups, low, high, least) {
            match (low > 0, high < last) {
                (true, _) if older => low -= 1,
                (_, true) if newer => high += 1,
                (true, _) => low -= 1,
                (_, true) => high += 1,
                _ => break,
            }
        }
        let kept = groups.get(low..=high).unwrap_or(&[]);
        Ok(Some(kept.iter().flat_map(|(_, elements)| elements.iter().copied().cloned()).collect()))
    }

    /// The groups, in the order in which their numbers first occur.
    fn groups<'a>(&self, list: &'a [Value]) -> Result<Vec<ElementGroup<'a>>, EvalFault> {
        let mut groups: Vec<ElementGroup<'a>> = Vec::new();
        for element in list {
            let Some(number) = element.get(&self.by).and_then(Value::as_f64) else {
                return Err(EvalFault::failed(format!("`{}` needs elements with a number `{}`", self.arg, self.by)));
            };
            match groups.last_mut() {
                Some((last, elements)) if last.to_bits() == number.to_bits() => elements.push(element),
                _ => groups.push((number, vec![element])),
            }
        }
        Ok(groups)
    }
}

fn is_prior(offset: f64) -> bool {
    offset.is_finite() && offset.trunc() < 0.0
}

#[allow(clippy::cast_precision_loss)]
fn too_few(groups: &[ElementGroup<'_>], low: usize, high: usize, least: f64) -> bool {
    let held: usize = groups.get(low..=high).unwrap_or(&[]).iter().map(|(_, elements)| elements.len()).sum();
    (held as f64) < least
}

/// The index of the group that an offset names, clamped to the existing groups.
fn place(offset: f64, groups: &[ElementGroup<'_>]) -> usize {
    let (first, last) = (groups.first().map_or(0.0, |g| g.0), groups.last().map_or(0.0, |g| g.0));
    let number = match offset {
        o if !o.is_finite() => {
            if o < 0.0 {
                first
            } else {
                last
            }
        }
        o if o.trunc() <= 0.0 => last + o.trunc(),
        o => first + o.trunc() - 1.0,
    };
    let newest = groups.len().saturating_sub(1);
    if number <= first {
        0
    } else if number >= last {
        newest
    } else {
        let exact = groups.iter().position(|g| g.0.to_bits() == number.to_bits());
        exact.or_else(|| groups.iter().position(|g| g.0 > number)).unwrap_or(newest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    /// Elements `[group, n]`, as the list of `n`.
    fn gives(groups: &[i64], wanted: &Json) -> Vec<i64> {
        let list: Vec<Value> = (1..).zip(groups).map(|(n, g)| Value::from(&json!({ "chapter": g, "n": n }))).collect();
        let window =
            WindowNames { arg: "window".into(), by: "chapter".into(), from: "from".into(), to: "to".into(), least: "least".into() };
        let kept = window.apply(&list, &Value::from(wanted)).unwrap().unwrap();
        kept.iter().filter_map(|e| e.get("n")?.as_i64()).collect()
    }

    const THREE: [i64; 6] = [1, 1, 2, 2, 3, 3];

    #[test]
    fn offsets_count_from_both_ends() {
        assert_eq!(gives(&THREE, &json!({})), [1, 2, 3, 4, 5, 6]);
        assert_eq!(gives(&THREE, &json!({ "from": 0 })), [5, 6]);
        assert_eq!(gives(&THREE, &json!({ "from": -1 })), [3, 4, 5, 6]);
        assert_eq!(gives(&THREE, &json!({ "from": -1, "to": -1 })), [3, 4]);
        assert_eq!(gives(&THREE, &json!({ "from": 1, "to": 2 })), [1, 2, 3, 4]);
        assert_eq!(gives(&THREE, &json!({ "to": -9 })), [1, 2]);
        assert_eq!(gives(&THREE, &json!({ "from": 0, "to": -2 })), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_number_without_a_group_means_the_next() {
        assert_eq!(gives(&[1, 4, 5], &json!({ "from": -2 })), [2, 3]);
    }

    #[test]
    fn there_is_nothing_before_the_only_group() {
        assert_eq!(gives(&[3, 3], &json!({ "from": -2, "to": -1 })), [] as [i64; 0]);
        assert_eq!(gives(&[3, 3], &json!({ "from": 0 })), [1, 2]);
        assert_eq!(gives(&[3, 3], &json!({ "from": -2, "to": -1, "least": 1 })), [1, 2]);
        assert_eq!(gives(&[], &json!({ "from": 0 })), [] as [i64; 0]);
    }

    #[test]
    fn a_window_grows_to_the_least_size() {
        assert_eq!(gives(&THREE, &json!({ "from": 0, "least": 3 })), [3, 4, 5, 6]);
        assert_eq!(gives(&THREE, &json!({ "from": 1, "to": 1, "least": 3 })), [1, 2, 3, 4]);
        assert_eq!(gives(&THREE, &json!({ "from": 0, "least": 99 })), [1, 2, 3, 4, 5, 6]);
        assert_eq!(gives(&THREE, &json!({ "from": 3, "to": -1, "least": 5 })), [1, 2, 3, 4, 5, 6]);
    }
}
