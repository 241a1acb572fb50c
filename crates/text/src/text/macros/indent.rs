//! The body of a block as its author meant it: without the indentation of its first line, and trimmed.

use crate::text::js;

/// Removes as much indentation from each line as the first line that is not blank has (a tab counts as one; a line with
/// less loses what it has), then trims the whole.
#[must_use]
pub fn dedent(body: &str) -> String {
    let depth = |line: &str| line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let first = body.split('\n').find(|line| !js::trim(line).is_empty()).map_or(0, depth);
    if first == 0 {
        return js::trim(body).to_owned();
    }
    let lines: Vec<&str> = body.split('\n').map(|line| line.get(depth(line).min(first)..).unwrap_or_default()).collect();
    js::trim(&lines.join("\n")).to_owned()
}
