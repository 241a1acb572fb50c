//! Two texts below each other: the lines that differ, cut around the difference, and few of them.

use super::paint::Paint;
use super::steps::{DiffStep, steps};
use crate::layout::one_line;

/// Characters of a line that are shown.
const WIDTH: usize = 110;
/// Characters in front of the first difference of a long line.
const LEAD: usize = 40;

/// The lines that differ, each with `indent` in front of its sign; at most `most` of them.
pub(crate) fn lines(was: &str, is: &str, indent: &str, most: usize, paint: Paint) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (was.split('\n').collect(), is.split('\n').collect());
    let steps: Vec<DiffStep> = steps(&old, &new).into_iter().collect();
    let at = |lines: &[&str], n: usize| lines.get(n).map(|line| (*line).to_owned()).unwrap_or_default();
    let mut shown: Vec<String> = Vec::new();
    let mut rest = steps.as_slice();
    let mut same = 0usize;
    while let Some(first) = rest.first() {
        if matches!(first, DiffStep::Same(..)) {
            same += 1;
            rest = rest.get(1..).unwrap_or(&[]);
            continue;
        }
        if same > 0 && !shown.is_empty() {
            let lines = if same == 1 { "line is" } else { "lines are" };
            shown.push(format!("{indent}  {}", paint.faint(&format!("… {same} {lines} the same"))));
        }
        same = 0;
        let block = rest.iter().take_while(|step| !matches!(step, DiffStep::Same(..))).count();
        let gone: Vec<String> =
            rest.iter().take(block).filter_map(|s| if let DiffStep::Gone(n) = s { Some(at(&old, *n)) } else { None }).collect();
        let come: Vec<String> =
            rest.iter().take(block).filter_map(|s| if let DiffStep::New(n) = s { Some(at(&new, *n)) } else { None }).collect();
        let skip = |n: usize, own: &str, other: &[String]| other.get(n).map_or(0, |other| from(own, other));
        shown.extend(
            gone.iter().enumerate().map(|(n, line)| format!("{indent}{}", paint.gone(&format!("- {}", cut(line, skip(n, line, &come)))))),
        );
        shown.extend(
            come.iter().enumerate().map(|(n, line)| format!("{indent}{}", paint.come(&format!("+ {}", cut(line, skip(n, line, &gone)))))),
        );
        rest = rest.get(block..).unwrap_or(&[]);
    }
    let more = shown.len().saturating_sub(most);
    if more > 1 {
        shown.truncate(most);
        shown.push(format!("{indent}  {}", paint.faint(&format!("… {more} more lines (`--all` shows them)"))));
    }
    shown.into_iter().map(|line| line + "\n").collect()
}

/// Where two lines begin to differ, if it lies so far behind that their beginnings are left out.
fn from(own: &str, other: &str) -> usize {
    let alike = own.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let long = own.chars().nth(WIDTH).is_some() || other.chars().nth(WIDTH).is_some();
    if long { alike.saturating_sub(LEAD) } else { 0 }
}

/// A line from a character on, as wide as it is shown.
fn cut(line: &str, skip: usize) -> String {
    let text = one_line(&line.chars().skip(skip).take(WIDTH).collect::<String>());
    let begin = if skip > 0 { "…" } else { "" };
    let end = if line.chars().nth(skip + WIDTH).is_some() { "…" } else { "" };
    format!("{begin}{text}{end}")
}

/// A text that only one side has: its first lines.
pub(super) fn only(was: &str, is: &str, indent: &str, most: usize, paint: Paint) -> String {
    let (text, sign, color): (&str, &str, fn(Paint, &str) -> String) =
        if is.is_empty() { (was, "-", Paint::gone) } else { (is, "+", Paint::come) };
    let all = text.split('\n').count();
    let mut out: String =
        text.split('\n').take(most).map(|line| format!("{indent}{}\n", color(paint, &format!("{sign} {}", cut(line, 0))))).collect();
    if all > most {
        out.push_str(&format!("{indent}  {}\n", paint.faint(&format!("… {} more lines (`--all` shows them)", all - most))));
    }
    out
}
