//! Filters of texts. The size of a result is bounded before it is made; patterns take linear time.

use std::sync::LazyLock;

use base64::Engine as _;
use percent_encoding::AsciiSet;
use regex::Regex;

use super::filters::{FilterArgs, FilterFunction, FilterResult};
use super::state::RenderState;
use super::val::LiquidValue;
use crate::model::Value;
use crate::text::percent::{all_but, decode, encode};
use crate::text::{Mistake, js};

/// What the filters leave as it is beside letters and digits. A space becomes `+`.
const CGI: &AsciiSet = &all_but(b"-_. ");
const URI: &AsciiSet = &all_but(b"-_.!~*'();/?:@&=+$,#");
const URI_COMPONENT: &AsciiSet = &all_but(b"-_.!~*'() ");

pub(super) const FILTERS: &[(&str, FilterFunction)] = &[
    ("append", |state, value, args| given(state, args).and_then(|()| joined(state, value, args.get(0)))),
    ("base64_decode", base64_decode),
    ("base64_encode", |state, value, _| changed(state, value, 2, |text| base64::engine::general_purpose::STANDARD.encode(text))),
    ("capitalize", |state, value, _| changed(state, value, 2, capitalized)),
    ("cgi_escape", |state, value, _| changed(state, value, 3, |text| encode(text, CGI).to_string().replace(' ', "+"))),
    ("downcase", |state, value, _| changed(state, value, 2, str::to_lowercase)),
    ("escape", |state, value, _| changed(state, value, 5, escaped)),
    ("escape_once", |state, value, _| changed(state, value, 5, escaped_once)),
    ("lstrip", |state, value, args| stripped(state, value, args, (true, false))),
    ("newline_to_br", |state, value, _| changed(state, value, 7, |text| text.replace("\r\n", "\n").replace('\n', "<br />\n"))),
    ("normalize_whitespace", |state, value, _| changed(state, value, 1, normalized)),
    ("number_of_words", number_of_words),
    ("prepend", |state, value, args| given(state, args).and_then(|()| joined(state, args.get(0), value))),
    ("remove", |state, value, args| replaced(state, value, (args.get(0), &LiquidValue::Missing), ReplacedMatches::All)),
    ("remove_first", |state, value, args| replaced(state, value, (args.get(0), &LiquidValue::Missing), ReplacedMatches::First)),
    ("remove_last", |state, value, args| replaced(state, value, (args.get(0), &LiquidValue::Missing), ReplacedMatches::Last)),
    ("replace", |state, value, args| replaced(state, value, (args.get(0), args.get(1)), ReplacedMatches::All)),
    ("replace_first", |state, value, args| replaced(state, value, (args.get(0), args.get(1)), ReplacedMatches::First)),
    ("replace_last", |state, value, args| replaced(state, value, (args.get(0), args.get(1)), ReplacedMatches::Last)),
    ("rstrip", |state, value, args| stripped(state, value, args, (false, true))),
    ("slugify", slugify),
    ("split", split),
    ("strip", |state, value, args| stripped(state, value, args, (true, true))),
    ("strip_html", strip_html),
    ("strip_newlines", |state, value, _| changed(state, value, 1, |text| text.replace("\r\n", "").replace('\n', ""))),
    ("truncate", truncate),
    ("truncatewords", truncatewords),
    ("upcase", |state, value, _| changed(state, value, 2, str::to_uppercase)),
    ("uri_escape", |state, value, _| changed(state, value, 3, |text| encode(text, URI).to_string())),
    ("url_decode", |state, value, _| changed(state, value, 1, |text| decode(&text.replace('+', " ")).decode_utf8_lossy().into_owned())),
    ("url_encode", |state, value, _| changed(state, value, 3, |text| encode(text, URI_COMPONENT).to_string().replace(' ', "+"))),
    ("xml_escape", |state, value, _| changed(state, value, 5, escaped)),
];

/// A text made of the value by a function that makes it at most `times` as long.
fn changed(state: &mut RenderState, value: &LiquidValue, times: usize, change: impl FnOnce(&str) -> String) -> FilterResult {
    let text = state.text(value)?;
    state.pay(text.len().saturating_mul(times) / 32)?;
    let text = change(&text);
    state.made(text)
}

/// `append` and `prepend` must be told what.
fn given(state: &RenderState, args: &FilterArgs) -> Result<(), Mistake> {
    if args.is_given(0) || args.has_named() { Ok(()) } else { state.fail("the text to add is missing: write `append: 'text'`") }
}

fn joined(state: &mut RenderState, first: &LiquidValue, second: &LiquidValue) -> FilterResult {
    let (first, second) = (state.text(first)?, state.text(second)?);
    state.made([&*first, &*second].concat())
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    first + chars.as_str().to_lowercase().as_str()
}

/// Strips the given characters, or white space if none are given.
fn stripped(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs, (start, end): (bool, bool)) -> FilterResult {
    let set: Vec<char> = if args.get(0).is_nil() { Vec::new() } else { state.text(args.get(0))?.chars().take(256).collect() };
    let goes = |c: char| if set.is_empty() { js::is_space(c) } else { set.contains(&c) };
    let text = state.text(value)?;
    state.pay(text.len().saturating_mul(set.len()) / 32)?;
    let mut text = &*text;
    if start {
        text = text.trim_start_matches(goes);
    }
    if end {
        text = text.trim_end_matches(goes);
    }
    Ok(LiquidValue::text(text))
}

/// All of `find`, or the first or last, replaced.
fn replaced(
    state: &mut RenderState,
    value: &LiquidValue,
    (find, with): (&LiquidValue, &LiquidValue),
    which: ReplacedMatches,
) -> FilterResult {
    let (text, find, with) = (state.text(value)?, state.text(find)?, state.text(with)?);
    state.pay(text.len() / 32)?;
    let place = match which {
        ReplacedMatches::All => {
            let hits = text.matches(&*find).count();
            state.room(text.len().saturating_add(hits.saturating_mul(with.len())))?;
            return Ok(LiquidValue::text(text.replace(&*find, &with)));
        }
        ReplacedMatches::First => text.find(&*find),
        ReplacedMatches::Last => text.rfind(&*find),
    };
    let parts = place.and_then(|at| Some((text.get(..at)?, text.get(at + find.len()..)?)));
    let Some((before, after)) = parts else { return Ok(LiquidValue::text(text)) };
    state.made([before, &with, after].concat())
}

#[derive(Clone, Copy)]
enum ReplacedMatches {
    All,
    First,
    Last,
}

/// The parts between a separator, without empty ones at the end; the characters for an empty separator.
fn split(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let (text, sep) = (state.text(value)?, state.text(args.get(0))?);
    let count = if sep.is_empty() { text.chars().count() } else { text.matches(&*sep).count() + 1 };
    state.pay_list(count)?;
    let mut parts: Vec<Value> = if sep.is_empty() {
        text.chars().map(|c| Value::text(c.to_string())).collect()
    } else {
        text.split(&*sep).map(Value::text).collect()
    };
    while parts.pop_if(|part| part.is_empty()).is_some() {}
    Ok(LiquidValue::list(parts))
}

fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !js::is_space(c) => out.push(c),
            _ if out.ends_with(' ') => {}
            _ => out.push(' '),
        }
    }
    out
}

/// Words between blanks. With `cjk`, each Chinese, Japanese or Korean character is one too; with `auto`, if there are any.
fn number_of_words(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let (text, mode) = (state.text(value)?, state.text(args.get(0))?);
    let signs = if matches!(&*mode, "cjk" | "auto") { text.chars().filter(|c| is_cjk(*c)).count() } else { 0 };
    let words = text.split(|c: char| js::is_space(c) || signs > 0 && is_cjk(c)).filter(|word| !word.is_empty()).count();
    Ok(LiquidValue::count(words + signs))
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// Runs of what is not a letter or digit become `-`, in lower case unless the second argument counts as true. The first
/// one says what stays: `raw` all but blanks, `pretty` some marks too, `ascii` only ASCII, `none` everything.
#[expect(clippy::expect_used, reason = "patterns that are written here")]
fn slugify(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    static RUNS: LazyLock<[(&str, Regex); 5]> = LazyLock::new(|| {
        let letters = r"[^\p{M}\p{L}\p{Nd}]+";
        let pretty = r"[^\p{M}\p{L}\p{Nd}._~!$&'()+,;=@]+";
        let runs = [("raw", r"\s+"), ("default", letters), ("pretty", pretty), ("ascii", "[^A-Za-z0-9]+"), ("latin", letters)];
        runs.map(|(mode, run)| (mode, Regex::new(run).expect("the pattern is sound")))
    });
    let mode = if args.is_given(0) { state.text(args.get(0))? } else { "default".into() };
    let cased = args.get(1).truthy();
    changed(state, value, 3, |text| {
        let mut text = text.to_owned();
        if *mode == *"latin" {
            text = text.chars().fold(String::new(), |mut out, c| {
                match plain_of(c) {
                    Some(plain) => out.push_str(plain),
                    None => out.push(c),
                }
                out
            });
        }
        if let Some((_, run)) = RUNS.iter().find(|(name, _)| *name == &*mode) {
            let joined = run.replace_all(&text, "-").into_owned();
            let start = joined.strip_prefix('-').unwrap_or(&joined);
            text = start.strip_suffix('-').unwrap_or(start).to_owned();
        }
        if cased { text } else { text.to_lowercase() }
    })
}

/// A Latin letter without its accent.
fn plain_of(c: char) -> Option<&'static str> {
    const PLAIN: &[(&str, &str)] = &[
        ("àáâãäå", "a"),
        ("æ", "ae"),
        ("ç", "c"),
        ("èéêë", "e"),
        ("ìíîï", "i"),
        ("ð", "d"),
        ("ñ", "n"),
        ("òóôõöø", "o"),
        ("ùúûü", "u"),
        ("ýÿ", "y"),
        ("ß", "ss"),
        ("œ", "oe"),
        ("þ", "th"),
        ("ẞ", "SS"),
        ("Œ", "OE"),
        ("Þ", "TH"),
    ];
    PLAIN.iter().find(|(from, _)| from.contains(c)).map(|(_, to)| *to)
}

/// At most this many UTF-16 units (50), including the mark at the end (`...`).
fn truncate(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let most = if args.is_given(0) { usize::try_from(args.get(0).whole()).unwrap_or(0) } else { 50 };
    let mark = if args.is_given(1) { state.text(args.get(1))? } else { "...".into() };
    let text = state.text(value)?;
    if js::length(&text) <= most {
        return Ok(LiquidValue::text(text));
    }
    let mut left = most.saturating_sub(js::length(&mark));
    let fits = |c: &char| {
        let rest = left.checked_sub(c.len_utf16());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut out: String = text.chars().take_while(fits).collect();
    out.push_str(&mark);
    state.made(out)
}

/// At most this many words (15), and the mark if that number is reached.
fn truncatewords(state: &mut RenderState, value: &LiquidValue, args: &FilterArgs) -> FilterResult {
    let most = if args.is_given(0) { usize::try_from(args.get(0).whole()).unwrap_or(1).max(1) } else { 15 };
    let mark = if args.is_given(1) { state.text(args.get(1))? } else { "...".into() };
    let text = state.text(value)?;
    let mut words: Vec<&str> = Vec::new();
    let mut blank = true;
    let all = text.split(|c: char| js::is_space(c)).filter(|word| {
        let keep = !word.is_empty() || blank;
        blank = false;
        keep
    });
    words.extend(all.take(most));
    let full = words.len() >= most;
    state.made(words.join(" ") + if full { &mark } else { "" })
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

fn escaped_once(text: &str) -> String {
    let plain = ESCAPES.iter().rev().fold(text.to_owned(), |text, (to, from)| text.replace(from, &to.to_string()));
    escaped(&plain)
}

/// Removes tags, comments, scripts and styles.
#[expect(clippy::expect_used, reason = "a pattern that is written here")]
fn strip_html(state: &mut RenderState, value: &LiquidValue, _: &FilterArgs) -> FilterResult {
    static TAGS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s:<script.*?</script>|<style.*?</style>|<!--.*?-->)|<.*?>").expect("the pattern is sound"));
    changed(state, value, 8, |text| TAGS.replace_all(text, "").into_owned())
}

fn base64_decode(state: &mut RenderState, value: &LiquidValue, _: &FilterArgs) -> FilterResult {
    let text = state.text(value)?;
    match base64::engine::general_purpose::STANDARD.decode(&*text) {
        Ok(bytes) => state.made(String::from_utf8_lossy(&bytes).into_owned()),
        Err(_) => state.fail("this text is not base64"),
    }
}
