//! What a program of a pack has left behind, as a run reads it: numbers, words and lists.

use serde_json::Value as Json;

use super::Problem;
use crate::assemble::Outcome;
use crate::model::Value;

/// A number from 0 to `most`. Without it there is a problem at the place, since a limit that is not one must not
/// quietly become another.
pub(super) fn number(ran: &Outcome, path: &str, most: usize, problems: &mut Vec<Problem>) -> usize {
    let found = number_or_none(ran, path, most, problems);
    if found.is_none() && ran.get(path).is_null() {
        problems.push(unusable(path, most, "nothing"));
    }
    found.unwrap_or_default()
}

/// The same, where there may be nothing.
pub(super) fn number_or_none(ran: &Outcome, path: &str, most: usize, problems: &mut Vec<Problem>) -> Option<usize> {
    let value = ran.get(path);
    if value.is_null() {
        return None;
    }
    let number = value.as_i64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= most);
    if number.is_none() {
        problems.push(unusable(path, most, &value.to_text()));
    }
    number
}

fn unusable(path: &str, most: usize, found: &str) -> Problem {
    let found: String = found.chars().take(40).collect();
    let upper = if most == usize::MAX { String::new() } else { format!(" to {most}") };
    let message = format!("`{path}` must be a whole number from 0{upper}, and the pack or the configuration says {found}");
    Problem { code: "invalid_value".to_owned(), at: format!("/{}", path.replace('.', "/")), message }
}

/// The texts of a list.
pub(super) fn words(ran: &Outcome, path: &str) -> Vec<String> {
    ran.get(path).as_list().unwrap_or(&[]).iter().map(|word| word.to_text().to_string()).collect()
}

/// The values of a list.
pub(super) fn list(ran: &Outcome, path: &str) -> Vec<Json> {
    ran.get(path).as_list().unwrap_or(&[]).iter().map(Value::to_json).collect()
}
