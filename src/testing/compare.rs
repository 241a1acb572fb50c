//! Holds what came out against what is written.
//!
//! The rule: a table is compared by the keys that are written; a list must have the same number of elements, in the same
//! order; anything else must be equal. A table with a single key of [`MATCHERS`] asks for something else, unless what came
//! out is a table that has this key itself.

use serde_json::Value as Json;

use crate::diag::suggest;

/// The words of tests, which stand alone in a table.
pub(super) const MATCHERS: [&str; 8] = ["missing", "contains", "matches", "includes", "excludes", "any_order", "count", "exactly"];

/// One step to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The field of a table.
    Key(String),
    /// The element of a list.
    Index(usize),
}

/// Something that is not as expected.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Where, from the expectation: `lists`, `blocks`, 0, `text`.
    pub steps: Vec<Step>,
    /// What is written.
    pub wanted: Json,
    /// What came out.
    pub got: Json,
    /// What is wrong, where the two values do not say it.
    pub said: Option<String>,
}

impl Difference {
    /// The place in words: `lists.blocks[0].text`.
    #[must_use]
    pub fn place(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            match step {
                Step::Key(key) if out.is_empty() => out.push_str(key),
                Step::Key(key) => {
                    out.push('.');
                    out.push_str(key);
                }
                Step::Index(n) => out.push_str(&format!("[{n}]")),
            }
        }
        out
    }
}

/// Finds the differences between what is written and what came out.
pub fn compare(steps: &mut Vec<Step>, wanted: &Json, got: &Json, out: &mut Vec<Difference>) {
    let mut differs = |said: Option<String>| out.push(Difference { steps: steps.clone(), wanted: wanted.clone(), got: got.clone(), said });
    match (wanted, got) {
        (Json::Object(table), _) if matcher(table, got).is_some() => {
            let Some((word, value)) = matcher(table, got) else { return };
            if let Some(said) = test(word, value, got) {
                differs(Some(said));
            }
        }
        (Json::Object(table), Json::Object(found)) => {
            for (key, value) in table {
                steps.push(Step::Key(key.clone()));
                compare(steps, value, found.get(key).unwrap_or(&Json::Null), out);
                steps.pop();
            }
        }
        (Json::Array(list), Json::Array(found)) if list.len() == found.len() => {
            for (n, (wanted, got)) in list.iter().zip(found).enumerate() {
                steps.push(Step::Index(n));
                compare(steps, wanted, got, out);
                steps.pop();
            }
        }
        (Json::Array(list), Json::Array(found)) => {
            differs(Some(format!("{} instead of {}", counted(found.len()), list.len())));
        }
        _ if equal(wanted, got) => {}
        (Json::Object(table), _) if table.len() == 1 => {
            let near = table.keys().find_map(|word| Some((word, near_test(word)?)));
            differs(near.map(|(word, near)| format!("`{word}` is no test; did you mean `{near}`?")));
        }
        _ => differs(None),
    }
}

/// Whether a value that came out is as written.
#[must_use]
pub fn fits(wanted: &Json, got: &Json) -> bool {
    let mut found = Vec::new();
    compare(&mut Vec::new(), wanted, got, &mut found);
    found.is_empty()
}

/// The test that a table of an expectation is.
pub(super) fn matcher<'t>(table: &'t serde_json::Map<String, Json>, got: &Json) -> Option<(&'static str, &'t Json)> {
    let (key, value) = table.iter().next().filter(|_| table.len() == 1)?;
    let word = MATCHERS.into_iter().find(|word| word == key)?;
    let is_own_key = got.as_object().is_some_and(|found| found.contains_key(word));
    (word == "missing" && value == &Json::Bool(true) || (word != "missing" && !is_own_key)).then_some((word, value))
}

/// The test that an unknown word nearly is.
pub(super) fn near_test(word: &str) -> Option<&'static str> {
    let bare = |word: &str| word.chars().filter(|c| *c != '_').collect::<String>();
    let near = |test: &&'static str| {
        let ends = ["s", "es"].iter().any(|end| test.strip_suffix(end) == Some(word));
        ends || suggest::is_slip_of_one(word, test) || bare(word) == bare(test)
    };
    MATCHERS.into_iter().find(|test| *test == word).map_or_else(|| MATCHERS.into_iter().find(near), |_| None)
}

/// What is wrong with a value by a test; `None` if nothing is.
fn test(word: &str, value: &Json, got: &Json) -> Option<String> {
    let list = || value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    match word {
        "missing" => (!got.is_null()).then(|| "should be missing".to_owned()),
        "contains" => {
            let missing = |part: &&Json| match (got, part) {
                (Json::String(text), Json::String(part)) => !text.contains(part.as_str()),
                (Json::Array(all), part) => !all.iter().any(|one| fits(part, one)),
                _ => true,
            };
            list().iter().find(missing).map(|part| format!("does not contain {part}"))
        }
        "matches" => {
            let Some(pattern) = value.as_str() else { return Some("the pattern is not a text".to_owned()) };
            let pattern = match crate::text::pattern::Pattern::new(pattern, "") {
                Ok(pattern) => pattern,
                Err(error) => return Some(format!("the pattern cannot be used: {}", error.reason)),
            };
            match got.as_str().map(|text| pattern.is_match(text)) {
                Some(Ok(true)) => None,
                Some(Err(bound)) => Some(bound.to_string()),
                Some(Ok(false)) => Some("does not match the pattern".to_owned()),
                None => Some("is not a text".to_owned()),
            }
        }
        "includes" => {
            let Some(all) = got.as_array() else { return Some("is not a list".to_owned()) };
            let mut rest = all.iter();
            let lost = list().iter().find(|wanted| !rest.any(|one| fits(wanted, one)));
            lost.map(|wanted| format!("does not include {wanted} behind those before it"))
        }
        "excludes" => {
            let Some(all) = got.as_array() else { return Some("is not a list".to_owned()) };
            list().iter().find(|unwanted| all.iter().any(|one| fits(unwanted, one))).map(|unwanted| format!("includes {unwanted}"))
        }
        "any_order" => {
            let Some(all) = got.as_array() else { return Some("is not a list".to_owned()) };
            let mut left: Vec<&Json> = all.iter().collect();
            for wanted in list() {
                let Some(at) = left.iter().position(|one| fits(wanted, one)) else { return Some(format!("has no {wanted}")) };
                left.remove(at);
            }
            (!left.is_empty()).then(|| format!("{} instead of {}", counted(all.len()), list().len()))
        }
        "count" => {
            let count = match got {
                Json::Array(all) => all.len(),
                Json::Null => 0,
                Json::String(text) => text.chars().count(),
                _ => return Some("is neither a list nor a text".to_owned()),
            };
            (value.as_u64() != Some(count as u64)).then(|| format!("{count} instead of {value}"))
        }
        _ => (!same(value, got)).then(|| "differs".to_owned()),
    }
}

/// Equality of values that are no tables or lists. Numbers are compared by their value.
fn equal(wanted: &Json, got: &Json) -> bool {
    match (wanted, got) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => wanted == got,
    }
}

/// Equality in full: no key more, and none less.
fn same(wanted: &Json, got: &Json) -> bool {
    match (wanted, got) {
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => equal(wanted, got),
    }
}

fn counted(n: usize) -> String {
    format!("{n} {}", if n == 1 { "row" } else { "rows" })
}
