//! `tapster explain --html`: all answers about one build as one page. The page loads nothing: style and script stand in it,
//! and its policy allows only these two. Every text of the build is escaped on its way into the page, and nothing of the
//! build is written into the script or the style. The markup is in `html/page.html`; here is what it needs beside the report.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::diag::short::{first, head, is_unseen};
use crate::text::markup::escaped;
use tapster_door::explain::changes::scripted_rows;

const TEMPLATE: &str = include_str!("html/page.html");
pub(in crate::verbs) const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The number of colours; slots beyond it share them.
const COLOURS: usize = 10;
/// The most blocks of the list: those at the front, and those at the end.
const FRONT: usize = 300;
const END: usize = 1_200;
/// The most characters of one block's text, and of all texts together.
const TEXT: usize = 6_000;
const ALL_TEXTS: usize = 3_000_000;
/// The most characters of the line of a closed block.
const LINE: usize = 160;
/// The width of the bar in its own units.
const WIDTH: f64 = 1_000.0;
/// The most bytes of a payload.
const PAYLOAD: usize = 1_000_000;
/// The most characters of a cell.
const CELL: usize = 600;

/// A text for the page. Characters that markup gives a meaning are written as references; characters that could hide or
/// reorder text are shown by their number.
fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    escaped(&shown)
}

/// Whether a character would not be seen, or would join what stands around it.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}') || is_unseen(c) && !matches!(c, '\n' | '\t')
}

/// The page of a full report.
pub(super) fn page(mut report: Json) -> String {
    let mut take = |part: &str| report.get_mut(part).map(Json::take).unwrap_or_default();
    let (blocks, payload) = (take("blocks"), take("payload"));
    let (blocks, report) = (list(&blocks), &report);
    let sent: Vec<&Json> = blocks.iter().filter(|block| is_sent(block)).collect();
    let used = sent.iter().map(|block| tokens(block)).fold(0, u64::saturating_add);
    let budget = report.pointer("/trim_report/budget_tokens").and_then(Json::as_u64);
    let whole = budget.unwrap_or_default().max(used).max(1);
    let unchanged = &report["unchanged"];
    let unchanged_width = unchanged["tokens"].as_u64().filter(|_| unchanged["total"].is_u64()).map(|same| width(same, whole));
    let text = |json: &Json| cell(&Value::from(Serde(json)));
    let [scripted_values, scripted_items] = scripted_rows(&report["changes"], &text, &by);
    let policy = policy(STYLE, Some(SCRIPT));
    let slots = Slots::of(blocks, whole);
    let values = context! {
        style => Value::from_safe_string(STYLE.to_owned()), script => Value::from_safe_string(SCRIPT.to_owned()),
        policy => Value::from_safe_string(policy), sent => sent.len(), count => blocks.len(), used, budget,
        free => budget.unwrap_or_default().saturating_sub(used), slots => Value::from(Serde(slots.0.values().collect::<Vec<_>>())), unchanged_width,
        blocks => Value::from(Serde(block_list(blocks, report, &slots))),
        missing => Value::from(Serde(missing(report))),
        scripted_values, scripted_items, payload => Value::from(Serde(payload_text(&payload))), report => Value::from(Serde(report)),
    };
    render_page(TEMPLATE, values)
}

/// The policy of a page: its own style and script alone.
pub(in crate::verbs) fn policy(style: &str, script: Option<&str>) -> String {
    let allowed = |content: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content.as_bytes())));
    let script = script.map_or_else(|| "'none'".to_owned(), allowed);
    format!("default-src 'none'; style-src {}; script-src {script}; base-uri 'none'; form-action 'none'", allowed(style))
}

/// A page by its template, in which every value is escaped.
pub(in crate::verbs) fn render_page(template: &str, values: Value) -> String {
    let mut page = Environment::new();
    page.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap_or_default());
    page.set_undefined_behavior(UndefinedBehavior::Chainable);
    page.add_filter("cell", |value: Value| cell(&value));
    page.set_formatter(|out, _, value| {
        let text = if value.is_none() || value.is_undefined() { String::new() } else { value.to_string() };
        Ok(out.write_str(&if value.is_safe() { text } else { escape(&text) })?)
    });
    // only a defect of the template makes it fail, and the tests render it
    page.render_named_str("page.html", template, values).unwrap_or_else(|defect| escape(&defect.to_string()))
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn tokens(block: &Json) -> u64 {
    block["tokens"].as_u64().unwrap_or(0)
}

fn is_sent(block: &Json) -> bool {
    block["enabled"] == true
}

/// What the bar shows of so many tokens.
fn width(tokens: u64, whole: u64) -> String {
    format!("{:.2}", tokens as f64 / whole as f64 * WIDTH)
}

/// The text of a value, or its beginning; empty for null.
fn cell(value: &Value) -> String {
    let whole = match value.as_str() {
        Some(text) => text.to_owned(),
        None if value.is_none() || value.is_undefined() => String::new(),
        None => serde_json::to_string(value).unwrap_or_default(),
    };
    head(&whole, CELL)
}

/// `pass (file:line)`.
fn by(event: &Json) -> String {
    let pass = event["pass"].as_str().unwrap_or_default();
    event["rule"].as_str().map_or_else(|| pass.to_owned(), |rule| format!("{pass} ({rule})"))
}

/// What a slot takes of the budget.
#[derive(Default)]
struct SlotUsage {
    /// Tokens of the blocks that are sent, and the number of these.
    used: u64,
    count: usize,
    /// The position of the first block.
    first: usize,
    /// Tokens of the blocks that are not sent.
    off: u64,
}

/// What each slot takes of the budget, in the order in which the slots appear, which gives them their colours.
struct Slots(IndexMap<String, Json>);

impl Slots {
    fn of(blocks: &[Json], whole: u64) -> Self {
        let mut slots: IndexMap<&str, SlotUsage> = IndexMap::new();
        for (index, block) in blocks.iter().enumerate() {
            let usage = slots.entry(slot(block)).or_insert(SlotUsage { first: index, ..SlotUsage::default() });
            if is_sent(block) {
                usage.used += tokens(block);
                usage.count += 1;
            } else {
                usage.off += tokens(block);
            }
        }
        let mut before = 0.0;
        let row = |(n, (name, SlotUsage { used, count, first, off })): (usize, (&str, SlotUsage))| {
            let share = if used > 0 && used * 100 < whole { "< 1".to_owned() } else { (used * 100 / whole).to_string() };
            let x = format!("{before:.2}");
            before += used as f64 / whole as f64 * WIDTH;
            let row = json!({
                "name": name, "class": format!("c{}", n % COLOURS), "x": x, "width": width(used, whole), "used": used, "count": count,
                "first": first, "share": share, "off": off,
            });
            (name.to_owned(), row)
        };
        Self(slots.into_iter().enumerate().map(row).collect())
    }
}

fn slot(block: &Json) -> &str {
    let text = |name: &str| block[name].as_str().filter(|text| !text.is_empty());
    text("slot").or(text("id")).unwrap_or("(no slot)")
}

/// The list of blocks in prompt order, without those in the middle of a long one, and a mark where the request begins to differ
/// from the previous one.
fn block_list(blocks: &[Json], report: &Json, slots: &Slots) -> Vec<Json> {
    let same = report.pointer("/unchanged/blocks").and_then(Json::as_u64).filter(|n| *n > 0);
    let hidden = FRONT..blocks.len().saturating_sub(END);
    let (mut out, mut sent, mut room) = (Vec::new(), 0, ALL_TEXTS);
    for (index, block) in blocks.iter().enumerate() {
        if !hidden.contains(&index) {
            out.push(block_row(index, block, slots, &mut room));
        } else if index == hidden.start {
            out.push(json!({ "hidden": hidden.len(), "from": hidden.start, "to": hidden.end - 1 }));
        }
        if is_sent(block) {
            sent += 1;
            if same == Some(sent) {
                out.push(json!({ "same": true }));
            }
        }
    }
    out
}

fn block_row(index: usize, block: &Json, slots: &Slots, room: &mut usize) -> Json {
    let (name, whole) = (slot(block), block["text"].as_str().unwrap_or_default());
    let mut text = first(whole, TEXT.min(*room)).to_owned();
    if text.len() < whole.len() {
        text.push_str(" … (the rest is left out)");
    }
    *room = room.saturating_sub(text.len());
    let line = first(whole, LINE).replace('\n', " ");
    let switched_off = list(&block["history"]).iter().rfind(|event| matches!(event["did"].as_str(), Some("evicted" | "dropped")));
    json!({
        "index": index, "name": name, "class": slots.0.get(name).map(|row| &row["class"]), "id": block["id"], "role": block["role"],
        "tokens": tokens(block), "enabled": is_sent(block), "pass": block["pass"], "rule": block["rule"], "history": block["history"],
        "switched_off": switched_off, "line": line, "text": text,
    })
}

/// What was trimmed, dropped and lost.
fn missing(report: &Json) -> Vec<Json> {
    let named = |r: &Json, unnamed: &str| if r["id"] == "" { json!(unnamed) } else { r["id"].clone() };
    let trimmed = list(&report["evicted"]).iter().map(|r| {
        let unread = r["unread"].as_u64().map(|n| json!(format!("{n} messages that were never read")));
        let what = unread.unwrap_or_else(|| named(r, "a block without an id"));
        json!({ "what": what, "tokens": r["tokens"], "why": r["reason"], "event": r, "group": r["group"] })
    });
    let shortened = list(report.pointer("/trim_report/shortened").unwrap_or(&Json::Null)).iter().map(|r| {
        let saved = r["tokens"].as_u64().unwrap_or_default().saturating_sub(r["tokens_after"].as_u64().unwrap_or_default());
        json!({ "what": named(r, "a block without an id"), "tokens": saved, "why": "made shorter", "event": r, "group": r["group"] })
    });
    let lost = list(&report["lost"]).iter().map(|r| json!({ "what": r["id"], "why": "lost its place", "event": r }));
    // what nothing asked for is not missed: a way led to these, and then something stopped them
    let lore = list(&report["lore"]).iter().filter(|entry| entry["active"] != true && entry["searched"].is_null());
    let lore = lore.filter(|entry| list(&entry["reasons"]).len() > 1).map(|entry| {
        let last = list(&entry["reasons"]).last().unwrap_or(&Json::Null);
        json!({ "entry": entry, "tokens": last.pointer("/detail/needs"), "why": entry["code"], "event": last })
    });
    let gone = list(&report["gone"]).iter();
    let gone = gone
        .map(|r| json!({ "what": named(r, "an item without an id"), "list": r["list"], "why": r["did"], "event": r, "text": r["text"] }));
    trimmed.chain(shortened).chain(lost).chain(lore).chain(gone).collect()
}

/// The payload as JSON that can be copied: characters that would not be seen are written as escapes of JSON. `false` for one
/// that is too long.
fn payload_text(payload: &Json) -> Json {
    let json = serde_json::to_string_pretty(payload).unwrap_or_default();
    if payload.is_null() || json.len() > PAYLOAD {
        return if payload.is_null() { Json::Null } else { Json::Bool(false) };
    }
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) || c == '\t' {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    shown.into()
}
