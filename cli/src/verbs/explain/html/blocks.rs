//! The parts of the page about blocks: the summary, the bar of the token budget, and the list of blocks.

use indexmap::IndexMap;
use serde_json::Value as Json;

use super::super::at;
use super::{COLOURS, by, escape, list, table, text};

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

/// The colours of the slots, in the order in which the slots appear.
pub(super) struct SlotColours(IndexMap<String, usize>);

impl SlotColours {
    pub(super) fn of(report: &Json) -> Self {
        let mut slots: IndexMap<String, usize> = IndexMap::new();
        for block in list(&report["blocks"]) {
            let next = slots.len() % COLOURS;
            slots.entry(slot(block).to_owned()).or_insert(next);
        }
        Self(slots)
    }

    fn class(&self, slot: &str) -> String {
        format!("c{}", self.0.get(slot).copied().unwrap_or(0))
    }
}

fn slot(block: &Json) -> &str {
    let text = |name: &str| block[name].as_str().filter(|text| !text.is_empty());
    text("slot").or(text("id")).unwrap_or("(no slot)")
}

fn tokens(json: &Json) -> u64 {
    json["tokens"].as_u64().unwrap_or(0)
}

fn is_sent(block: &Json) -> bool {
    block["enabled"] == true
}

/// One sentence about the build.
pub(super) fn summary(report: &Json) -> String {
    let blocks = list(&report["blocks"]);
    let sent = blocks.iter().filter(|b| is_sent(b));
    let used = sent.clone().map(tokens).fold(0, u64::saturating_add);
    let room = match at(report, "/trim_report/budget_tokens").as_u64() {
        Some(room) => format!(", {used} of {room} tokens"),
        None => "; no pass has trimmed them, so they are not counted".to_owned(),
    };
    format!("Pack <strong>{}</strong>: {} of {} blocks are sent{room}.", text(&report["pack"]), sent.count(), blocks.len())
}

/// The bar of what each slot takes of the budget, and the same as a table.
pub(super) fn budget(report: &Json, colours: &SlotColours) -> String {
    let blocks = list(&report["blocks"]);
    let mut slots: IndexMap<&str, (u64, usize, usize, u64)> = IndexMap::new();
    for (index, block) in blocks.iter().enumerate() {
        let (used, count, _, off) = slots.entry(slot(block)).or_insert((0, 0, index, 0));
        if is_sent(block) {
            *used += tokens(block);
            *count += 1;
        } else {
            *off += tokens(block);
        }
    }
    let used: u64 = slots.values().map(|(used, ..)| used).sum();
    let Some(room) = at(report, "/trim_report/budget_tokens").as_u64() else {
        return "<p>No pass has trimmed the blocks, so no tokens were counted.</p>\n".to_owned();
    };
    let whole = room.max(used).max(1);
    let part = |n: u64| n as f64 / whole as f64 * WIDTH;
    let (mut bar, mut from) = (String::new(), 0.0);
    for (name, (used, ..)) in &slots {
        let width = part(*used);
        bar.push_str(&format!(
            "<rect class=\"{}\" x=\"{from:.2}\" y=\"0\" width=\"{width:.2}\" height=\"10\"><title>{}: {used} tokens</title></rect>",
            colours.class(name),
            escape(name)
        ));
        from += width;
    }
    let label = format!("{used} of {room} tokens are used; the table below says by which slots");
    let mut out = format!("<svg role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {WIDTH} 10\" preserveAspectRatio=\"none\">{bar}</svg>\n");
    out.push_str(&unchanged(report, &part));
    let rows: Vec<String> = slots
        .iter()
        .map(|(name, (used, count, first, off))| {
            let share = match *used * 100 / whole {
                0 if *used > 0 => "&lt; 1".to_owned(),
                share => share.to_string(),
            };
            let off = if *off > 0 { format!("{off} tokens") } else { String::new() };
            format!(
                "<tr data-row=\"other\"><td><span class=\"key {}\"></span> <a href=\"#b{first}\">{}</a></td><td class=\"n\">{count}</td><td class=\"n\">{used}</td><td class=\"n\">{share} %</td><td class=\"n\">{off}</td></tr>\n",
                colours.class(name),
                escape(name)
            )
        })
        .collect();
    let free = room.saturating_sub(used);
    out.push_str(&format!("<p>{used} tokens are used, {free} of {room} are free.</p>\n"));
    out.push_str(&table("Tokens by slot", &["slot", "blocks", "tokens", "of the budget", "trimmed"], &rows));
    out
}

/// The bar of the part that is the same as in the previous request.
fn unchanged(report: &Json, part: &dyn Fn(u64) -> f64) -> String {
    let found = &report["unchanged"];
    let (Some(same), Some(total)) = (found["tokens"].as_u64(), found["total"].as_u64()) else { return String::new() };
    let label = format!("{same} of {total} tokens are an unchanged beginning");
    let bar = format!(
        "<svg class=\"thin\" role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {WIDTH} 10\" preserveAspectRatio=\"none\"><rect class=\"keep\" x=\"0\" y=\"0\" width=\"{:.2}\" height=\"10\"/></svg>",
        part(same)
    );
    let differs = &found["differs"];
    let first = match differs["what"].as_str() {
        Some(what) => format!(
            "; block {} <code>{}</code> is the first that differs ({}){}",
            text(&differs["index"]),
            text(&differs["id"]),
            escape(what),
            cause(differs)
        ),
        None => String::new(),
    };
    format!("{bar}\n<p>Since the previous request, {label}{first}.</p>\n")
}

/// Who made the first difference.
fn cause(differs: &Json) -> String {
    let named = [("macro", "macro"), ("script", "script"), ("from", "value"), ("from_rule", "set at"), ("pass", "pass"), ("rule", "at")];
    named
        .iter()
        .filter(|(field, _)| differs[*field].is_string())
        .map(|(field, word)| format!(", {word} <code>{}</code>", text(&differs[*field])))
        .collect()
}

/// The list of blocks in prompt order.
pub(super) fn blocks(report: &Json, colours: &SlotColours) -> String {
    let blocks = list(&report["blocks"]);
    let same = at(report, "/unchanged/blocks").as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    let hidden = FRONT..blocks.len().saturating_sub(END);
    let (mut out, mut sent, mut room) = (String::from("<ol class=\"blocks\">\n"), 0, ALL_TEXTS);
    for (index, block) in blocks.iter().enumerate() {
        if hidden.contains(&index) {
            if index == hidden.start {
                out.push_str(&format!(
                    "<li class=\"dim\">{} blocks are left out here, {} to {}.</li>\n",
                    hidden.len(),
                    hidden.start,
                    hidden.end - 1
                ));
            }
        } else {
            out.push_str(&one(index, block, colours, &mut room));
        }
        if is_sent(block) {
            sent += 1;
            if same == Some(sent) {
                out.push_str("<li class=\"same good\">Up to here the request is the same as the previous one.</li>\n");
            }
        }
    }
    out.push_str("</ol>\n");
    out
}

fn one(index: usize, block: &Json, colours: &SlotColours, room: &mut usize) -> String {
    let (sent, slot) = (is_sent(block), slot(block));
    let whole = block["text"].as_str().unwrap_or_default();
    let body = cut(whole, TEXT.min(*room));
    *room = room.saturating_sub(body.len());
    let line: String = whole.chars().take(LINE).map(|c| if c == '\n' { ' ' } else { c }).collect();
    let state =
        if sent { "<span class=\"good\">sent</span>".to_owned() } else { format!("<span class=\"bad\">not sent{}</span>", why_off(block)) };
    let history: String =
        list(&block["history"]).iter().map(|event| format!("<li>{} by {}</li>", text(&event["did"]), by(event))).collect();
    let history = if history.is_empty() { String::new() } else { format!("<h3>What was done to it</h3><ul>{history}</ul>") };
    let id = block["id"].as_str().filter(|id| *id != slot && !id.is_empty()).map(|id| format!(" · {}", escape(id))).unwrap_or_default();
    format!(
        "<li id=\"b{index}\" class=\"block {}{}\" data-row=\"{}\"><details><summary><span class=\"slot\">{index} · {}</span>{id} · <span class=\"role\">{}</span> · {} tokens · {state}\
        <span class=\"rule\">Placed by {}</span><span class=\"text\">{}</span></summary><div class=\"more\"><pre>{}</pre>{history}</div></details></li>\n",
        colours.class(slot),
        if sent { "" } else { " off" },
        if sent { "sent" } else { "gone" },
        escape(slot),
        text(&block["role"]),
        tokens(block),
        if block["pass"].is_null() { "no pass".to_owned() } else { by(block) },
        escape(&line),
        escape(&body),
    )
}

/// The pass that switched a block off.
fn why_off(block: &Json) -> String {
    let event = list(&block["history"]).iter().rfind(|event| matches!(event["did"].as_str(), Some("evicted" | "dropped")));
    event.map(|event| format!(", {} by {}", text(&event["did"]), by(event))).unwrap_or_default()
}

fn cut(whole: &str, most: usize) -> String {
    let mut out: String = whole.chars().take(most).collect();
    if out.len() < whole.len() {
        out.push_str(" … (the rest is left out)");
    }
    out
}
