//! The steps from one list to another: what stays, what goes and what comes. The work is bounded: of two long lists, the
//! part between the equal beginning and the equal end counts as replaced.

/// The most cells of the table that compares two lists.
const MOST_CELLS: usize = 4_000_000;

/// One step, with the places of what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffStep {
    /// Both lists have it: its place in the first and in the second.
    Same(usize, usize),
    /// Only the first list has it.
    Gone(usize),
    /// Only the second list has it.
    New(usize),
}

/// The steps from `was` to `is`, with as many equal elements as possible.
pub(crate) fn steps<T: PartialEq>(was: &[T], is: &[T]) -> Vec<DiffStep> {
    let ahead = was.iter().zip(is).take_while(|(a, b)| a == b).count();
    let rest = was.len().min(is.len()) - ahead;
    let behind = was.iter().rev().zip(is.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (from, to) = (was.len() - behind, is.len() - behind);
    let mut out: Vec<DiffStep> = (0..ahead).map(|n| DiffStep::Same(n, n)).collect();
    middle(was.get(ahead..from).unwrap_or(&[]), is.get(ahead..to).unwrap_or(&[]), ahead, &mut out);
    out.extend((0..behind).map(|n| DiffStep::Same(from + n, to + n)));
    out
}

/// Compares what lies between the equal ends; `base` is the number of elements in front of it.
fn middle<T: PartialEq>(was: &[T], is: &[T], base: usize, out: &mut Vec<DiffStep>) {
    let width = is.len() + 1;
    if was.is_empty() || is.is_empty() || (was.len() + 1).saturating_mul(width) > MOST_CELLS {
        out.extend((0..was.len()).map(|n| DiffStep::Gone(base + n)));
        out.extend((0..is.len()).map(|n| DiffStep::New(base + n)));
        return;
    }
    // how many elements the rests of both lists have in common, at best
    let mut common = vec![0u32; (was.len() + 1) * width];
    let at = |common: &[u32], a: usize, b: usize| common.get(a * width + b).copied().unwrap_or(0);
    for (a, left) in was.iter().enumerate().rev() {
        for (b, right) in is.iter().enumerate().rev() {
            let best = if left == right { at(&common, a + 1, b + 1) + 1 } else { at(&common, a + 1, b).max(at(&common, a, b + 1)) };
            if let Some(cell) = common.get_mut(a * width + b) {
                *cell = best;
            }
        }
    }
    let (mut a, mut b) = (0, 0);
    while a < was.len() || b < is.len() {
        if a < was.len() && b < is.len() && was.get(a) == is.get(b) {
            out.push(DiffStep::Same(base + a, base + b));
            (a, b) = (a + 1, b + 1);
        } else if a < was.len() && (b == is.len() || at(&common, a + 1, b) >= at(&common, a, b + 1)) {
            out.push(DiffStep::Gone(base + a));
            a += 1;
        } else {
            out.push(DiffStep::New(base + b));
            b += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DiffStep, steps};

    fn told(was: &str, is: &str) -> String {
        let (a, b): (Vec<char>, Vec<char>) = (was.chars().collect(), is.chars().collect());
        let step = |step: DiffStep| match step {
            DiffStep::Same(_, n) => b.get(n).map(char::to_string),
            DiffStep::Gone(n) => a.get(n).map(|c| format!("-{c}")),
            DiffStep::New(n) => b.get(n).map(|c| format!("+{c}")),
        };
        steps(&a, &b).into_iter().filter_map(step).collect()
    }

    #[test]
    fn as_much_as_possible_stays() {
        assert_eq!(told("abcd", "abcd"), "abcd");
        assert_eq!(told("abcd", "acxd"), "a-bc+xd");
        assert_eq!(told("", "ab"), "+a+b");
        assert_eq!(told("ab", ""), "-a-b");
        assert_eq!(told("aXbYc", "abc"), "a-Xb-Yc");
        assert_eq!(told("aa", "aaa"), "aa+a");
    }

    #[test]
    fn long_lists_without_anything_in_common_are_replaced() {
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..10_000).collect(), (20_000..30_000).collect());
        assert_eq!(steps(&a, &b).len(), 20_000);
    }
}
