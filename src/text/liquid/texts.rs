//! Filters of texts. What a filter may make is bounded before it is made; patterns are linear.

use std::sync::LazyLock;

use base64::Engine as _;
use regex::Regex;

use super::expr::whole;
use super::filters::{Args, CompileContext, Given};
use super::val::Val;
use crate::model::Value;
use crate::text::js;

/// A text made of the value by a function that makes it at most `times` as long.
fn changed(cx: &mut CompileContext<'_, '_>, value: &Val, times: usize, change: impl FnOnce(&str) -> String) -> Given {
    let text = cx.text(value)?;
    cx.pay(text.len().saturating_mul(times) / 32)?;
    let text = change(&text);
    cx.made(text)
}

pub(super) fn append(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let (text, more) = (cx.text(value)?, cx.text(args.get(0))?);
    cx.made([&*text, &*more].concat())
}

pub(super) fn prepend(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let (text, more) = (cx.text(value)?, cx.text(args.get(0))?);
    cx.made([&*more, &*text].concat())
}

pub(super) fn downcase(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 2, str::to_lowercase)
}

pub(super) fn upcase(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 2, str::to_uppercase)
}

pub(super) fn capitalize(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 2, |text| {
        let mut chars = text.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        first + chars.as_str().to_lowercase().as_str()
    })
}

/// The characters given are cut; white space if none are.
fn stripped(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args, start: bool, end: bool) -> Given {
    let set: Vec<char> = if args.get(0).is_nil() { Vec::new() } else { cx.text(args.get(0))?.chars().take(256).collect() };
    let goes = |c: char| if set.is_empty() { js::is_space(c) } else { set.contains(&c) };
    let text = cx.text(value)?;
    cx.pay(text.len().saturating_mul(set.len()) / 32)?;
    let mut text = &*text;
    if start {
        text = text.trim_start_matches(goes);
    }
    if end {
        text = text.trim_end_matches(goes);
    }
    Ok(Val::text(text))
}

pub(super) fn strip(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    stripped(cx, value, args, true, true)
}

pub(super) fn lstrip(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    stripped(cx, value, args, true, false)
}

pub(super) fn rstrip(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    stripped(cx, value, args, false, true)
}

/// All of `find`, or the first or last, replaced.
fn replaced(cx: &mut CompileContext<'_, '_>, value: &Val, find: &Val, with: &Val, which: Which) -> Given {
    let (text, find, with) = (cx.text(value)?, cx.text(find)?, cx.text(with)?);
    cx.pay(text.len() / 32)?;
    let place = match which {
        Which::All => {
            let hits = text.matches(&*find).count();
            cx.room(text.len().saturating_add(hits.saturating_mul(with.len())))?;
            return Ok(Val::text(text.replace(&*find, &with)));
        }
        Which::First => text.find(&*find),
        Which::Last => text.rfind(&*find),
    };
    let parts = place.and_then(|at| Some((text.get(..at)?, text.get(at + find.len()..)?)));
    let Some((before, after)) = parts else { return Ok(Val::text(text)) };
    cx.made([before, &with, after].concat())
}

#[derive(Clone, Copy)]
enum Which {
    All,
    First,
    Last,
}

pub(super) fn replace(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    replaced(cx, value, args.get(0), args.get(1), Which::All)
}

pub(super) fn replace_first(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    replaced(cx, value, args.get(0), args.get(1), Which::First)
}

pub(super) fn replace_last(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    replaced(cx, value, args.get(0), args.get(1), Which::Last)
}

pub(super) fn remove(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    replaced(cx, value, args.get(0), &Val::Missing, Which::All)
}

pub(super) fn remove_first(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    replaced(cx, value, args.get(0), &Val::Missing, Which::First)
}

pub(super) fn remove_last(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    replaced(cx, value, args.get(0), &Val::Missing, Which::Last)
}

/// The parts between a separator, without empty ones at the end; the characters for an empty separator.
pub(super) fn split(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let (text, sep) = (cx.text(value)?, cx.text(args.get(0))?);
    let count = if sep.is_empty() { text.chars().count() } else { text.matches(&*sep).count() + 1 };
    cx.run.pay_list(cx.at, count)?;
    let mut parts: Vec<Value> = if sep.is_empty() {
        text.chars().map(|c| Value::text(c.to_string())).collect()
    } else {
        text.split(&*sep).map(Value::text).collect()
    };
    while parts.pop_if(|part| part.is_empty()).is_some() {}
    Ok(Val::list(parts))
}

pub(super) fn strip_newlines(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 1, |text| text.replace("\r\n", "").replace('\n', ""))
}

pub(super) fn newline_to_br(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 7, |text| text.replace("\r\n", "\n").replace('\n', "<br />\n"))
}

pub(super) fn normalize_whitespace(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 1, |text| {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                c if !js::is_space(c) => out.push(c),
                _ if out.ends_with(' ') => {}
                _ => out.push(' '),
            }
        }
        out
    })
}

pub(super) fn number_of_words(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let count = cx.text(value)?.split(js::is_space).filter(|word| !word.is_empty()).count();
    Ok(Val::Is(Value::Int(i64::try_from(count).unwrap_or(i64::MAX))))
}

/// At most so many UTF-16 units (50), the mark at the end (`...`) among them.
pub(super) fn truncate(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let most = if args.is_given(0) { usize::try_from(whole(args.get(0))).unwrap_or(0) } else { 50 };
    let mark = if args.is_given(1) { cx.text(args.get(1))? } else { "...".into() };
    let text = cx.text(value)?;
    if js::length(&text) <= most {
        return Ok(Val::text(text));
    }
    let mut left = most.saturating_sub(js::length(&mark));
    let fits = |c: &char| {
        let rest = left.checked_sub(c.len_utf16());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut out: String = text.chars().take_while(fits).collect();
    out.push_str(&mark);
    cx.made(out)
}

/// At most so many words (15), and the mark where that many are reached.
pub(super) fn truncatewords(cx: &mut CompileContext<'_, '_>, value: &Val, args: &Args) -> Given {
    let most = if args.is_given(0) { usize::try_from(whole(args.get(0))).unwrap_or(1).max(1) } else { 15 };
    let mark = if args.is_given(1) { cx.text(args.get(1))? } else { "...".into() };
    let text = cx.text(value)?;
    let mut words: Vec<&str> = Vec::new();
    let mut blank = true;
    let all = text.split(|c: char| js::is_space(c)).filter(|word| {
        let keep = !word.is_empty() || blank;
        blank = false;
        keep
    });
    words.extend(all.take(most));
    let full = words.len() >= most;
    cx.made(words.join(" ") + if full { &mark } else { "" })
}

const ESCAPES: &[(char, &str)] = &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&#34;"), ('\'', "&#39;")];

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match ESCAPES.iter().find(|(from, _)| *from == c) {
            Some((_, to)) => out.push_str(to),
            None => out.push(c),
        }
    }
    out
}

pub(super) fn escape(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 5, escaped)
}

pub(super) fn escape_once(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 5, |text| {
        let plain = ESCAPES.iter().rev().fold(text.to_owned(), |text, (to, from)| text.replace(from, &to.to_string()));
        escaped(&plain)
    })
}

/// Tags, comments, scripts and styles go.
#[expect(clippy::expect_used, reason = "a pattern that is written here")]
pub(super) fn strip_html(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    static TAGS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s:<script.*?</script>|<style.*?</style>|<!--.*?-->)|<.*?>").expect("the pattern is sound"));
    changed(cx, value, 8, |text| TAGS.replace_all(text, "").into_owned())
}

/// `encodeURIComponent`, but for the characters of `plain`.
fn percent(text: &str, plain: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if byte.is_ascii_alphanumeric() || plain.contains(c) {
            out.push(c);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

pub(super) fn url_encode(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 3, |text| percent(text, "-_.!~*'() ").replace(' ', "+"))
}

pub(super) fn cgi_escape(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 3, |text| percent(text, "-_. ").replace(' ', "+"))
}

pub(super) fn url_decode(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 1, |text| {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let [first, more @ ..] = rest {
            let code = more.get(..2).and_then(|d| std::str::from_utf8(d).ok()).filter(|_| *first == b'%');
            match code.and_then(|d| u8::from_str_radix(d, 16).ok()) {
                Some(byte) => {
                    out.push(byte);
                    rest = more.get(2..).unwrap_or_default();
                }
                None => {
                    out.push(if *first == b'+' { b' ' } else { *first });
                    rest = more;
                }
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    })
}

pub(super) fn base64_encode(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    changed(cx, value, 2, |text| base64::engine::general_purpose::STANDARD.encode(text))
}

pub(super) fn base64_decode(cx: &mut CompileContext<'_, '_>, value: &Val, _: &Args) -> Given {
    let text = cx.text(value)?;
    match base64::engine::general_purpose::STANDARD.decode(&*text) {
        Ok(bytes) => cx.made(String::from_utf8_lossy(&bytes).into_owned()),
        Err(_) => cx.fail("this text is no base64"),
    }
}
