//! `substitute`: replaces in a text as JavaScript's `text.replace(find, with)` does, with the `$` marks of the
//! replacement.

use super::function::{Function, FunctionArgs, FunctionRefusal};
use super::pattern::{self, Captures, Pattern};
use crate::model::Value;

pub(super) const SUBSTITUTE: Function = Function {
    name: "substitute",
    doc: "the text with `find` replaced as `text.replace(find, with)` of JavaScript does it: the first occurrence of a plain text, or what `/pattern/flags` matches (a `find` from data that is never a pattern belongs to `replace` with `javascript = true`); `$1`, `$<name>`, `$&`, `` $` ``, `$'` and `$$` in `with` have their meaning",
    args: &[("of", true), ("find", true), ("with", false)],
    run: substitute,
};

fn substitute(args: &FunctionArgs) -> Result<Value, FunctionRefusal> {
    let text = |name: &str| args.get(name).map(Value::to_text).unwrap_or_default();
    let (of, find, with) = (text("of"), text("find"), text("with"));
    if Pattern::split(&find).is_none() {
        let Some(start) = of.find(find.as_ref()) else { return Ok(Value::Text(of)) };
        let whole = pattern::TextMatch { start, end: start + find.len() };
        let mut out = of.get(..start).unwrap_or_default().to_owned();
        fill(&mut out, &with, &of, &Captures { whole, groups: Vec::new() }, &[]);
        out.push_str(of.get(whole.end..).unwrap_or_default());
        return match out.len() > pattern::MOST_OUTPUT {
            true => Err(FunctionRefusal::Failed(format!("the replaced text is longer than {} bytes", pattern::MOST_OUTPUT))),
            false => Ok(Value::text(out)),
        };
    }
    let find = pattern::cached(&find).map_err(|e| format!("`find` is no usable pattern: {e}"))?;
    let replaced = find.rewrite(&of, None, |searched, found, out| fill(out, &with, searched.text, found, find.names()));
    match replaced {
        Ok(replaced) => Ok(replaced.map_or_else(|| Value::Text(of.clone()), Value::text)),
        Err(bound) => Err(FunctionRefusal::Bound { why: bound.to_string(), instead: Value::Text(of) }),
    }
}

/// Appends the replacement of a match: the only place that knows the `$` marks.
pub(super) fn fill(out: &mut String, with: &str, text: &str, found: &Captures, names: &[Option<std::sync::Arc<str>>]) {
    let mut rest = with;
    while let Some((plain, mark)) = rest.split_once('$') {
        // the callers refuse a text that is too long
        if out.len() > pattern::MOST_OUTPUT {
            return;
        }
        out.push_str(plain);
        let (length, means) = meaning(mark, text, found, names);
        out.push_str(means);
        rest = mark.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// What `$` and the text behind it stand for, and how many bytes behind the `$` belong to it.
fn meaning<'t>(mark: &str, text: &'t str, found: &Captures, names: &[Option<std::sync::Arc<str>>]) -> (usize, &'t str) {
    let group = |n: usize| found.groups.get(n).copied().flatten().map_or("", |m| m.of(text));
    match mark.bytes().next() {
        Some(b'$') => (1, "$"),
        Some(b'&') => (1, found.whole.of(text)),
        Some(b'`') => (1, text.get(..found.whole.start).unwrap_or_default()),
        Some(b'\'') => (1, text.get(found.whole.end..).unwrap_or_default()),
        Some(b'<') if names.iter().any(Option::is_some) => match mark.get(1..).and_then(|name| name.split_once('>')) {
            Some((name, _)) => {
                let n = names.iter().position(|known| known.as_deref() == Some(name));
                (name.len() + 2, n.map_or("", group))
            }
            None => (0, "$"),
        },
        _ => {
            // two digits if there are so many groups, otherwise one
            let number = |length: usize| {
                let digits = mark.get(..length).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
                let n = digits.parse::<usize>().ok()?.checked_sub(1)?;
                (n < found.groups.len()).then_some((length, n))
            };
            number(2).or_else(|| number(1)).map_or((0, "$"), |(length, n)| (length, group(n)))
        }
    }
}
