//! Whether two texts mean the same: equal values, keys in the same order where order has a meaning, and all comments.

use toml::{Table, Value};

use super::arrange::is_free;

/// Whether two documents are equal. Where the layout may move keys, their order is not compared.
pub(super) fn is_same(before: &Table, after: &Table) -> bool {
    let free = is_free(0, false);
    tables(before, after, free, |a, b| match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            let row = |(a, b): (&Value, &Value)| match (a, b) {
                // the rows of a list of the file
                (Value::Table(a), Value::Table(b)) => tables(a, b, is_free(1, true), values),
                _ => values(a, b),
            };
            a.len() == b.len() && a.iter().zip(b).all(row)
        }
        _ => values(a, b),
    })
}

fn tables(before: &Table, after: &Table, free: bool, each: impl Fn(&Value, &Value) -> bool) -> bool {
    let ordered = free || before.keys().eq(after.keys());
    ordered && before.len() == after.len() && before.iter().all(|(key, value)| after.get(key).is_some_and(|other| each(value, other)))
}

/// Recursion is bounded by the depth of the text, which is checked first.
fn values(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Table(a), Value::Table(b)) => tables(a, b, false, values),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values(a, b)),
        // `nan` counts as equal to itself
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        _ => before == after,
    }
}

#[cfg(test)]
mod tests {
    fn is_same(before: &str, after: &str) -> bool {
        super::is_same(&before.parse().unwrap(), &after.parse().unwrap())
    }

    #[test]
    fn order_counts_but_in_rows_and_before_the_first_header() {
        assert!(is_same("a = 1\nb = nan\n", "b = nan\na = 1\n"));
        assert!(is_same("[[a]]\nx = 1\ny = { z = 1 }\n", "[[a]]\ny.z = 1\nx = 1\n"));
        assert!(!is_same("[a]\nx = 1\ny = 2\n", "[a]\ny = 2\nx = 1\n"));
        assert!(!is_same("[[a]]\ns = { x = 1, y = 2 }\n", "[[a]]\ns = { y = 2, x = 1 }\n"));
        assert!(!is_same("[[a]]\ns = [{ x = 1, y = 2 }]\n", "[[a]]\ns = [{ y = 2, x = 1 }]\n"));
    }

    #[test]
    fn values_count() {
        assert!(!is_same("a = 1\n", "a = 1.0\n"));
        assert!(!is_same("a = 0.0\n", "a = -0.0\n"));
        assert!(!is_same("a = [1]\n", "a = [1, 1]\n"));
        assert!(!is_same("a = 1\n", "a = 1\nb = 1\n"));
        assert!(!is_same("a = \"x\"\n", "a = \"x \"\n"));
    }
}
