//! What a program of a pack has left behind, as a run reads it (numbers, words and lists), and which numbers a program
//! can be given.

use serde_json::Value as Json;

use super::{Problem, RunError};
use crate::build::Outcome;
use crate::model::Value;
use crate::model::value::MAX_DEPTH;
use crate::text::json_pointer::escape;

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

/// Checks that programs can hold the whole numbers of a document. One above 2^63 - 1 would be sent on as another number.
///
/// # Errors
/// [`RunError::Config`] with the place of each that is too large.
pub(super) fn exact(document: &Json, at: &str) -> Result<(), RunError> {
    let mut problems = Vec::new();
    look(document, at, 0, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(RunError::Config(problems)) }
}

fn look(value: &Json, at: &str, depth: usize, problems: &mut Vec<Problem>) {
    match value {
        // what is nested deeper becomes a text that says so
        _ if depth > MAX_DEPTH => {}
        Json::Number(number) if number.is_u64() && !number.is_i64() => {
            let message = format!("{number} is larger than {}, the largest whole number that can be sent unchanged", i64::MAX);
            problems.push(Problem { code: "invalid_value".to_owned(), at: at.to_owned(), message });
        }
        Json::Array(list) => list.iter().enumerate().for_each(|(n, value)| look(value, &format!("{at}/{n}"), depth + 1, problems)),
        Json::Object(fields) => {
            fields.iter().for_each(|(key, value)| look(value, &format!("{at}/{}", escape(key)), depth + 1, problems));
        }
        _ => {}
    }
}
