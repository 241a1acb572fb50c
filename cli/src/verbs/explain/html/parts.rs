//! The parts of the page beside the blocks: what is not in the prompt, lore, macros and scripts, and warnings.

use serde_json::Value as Json;

use crate::diag::short::is_unseen;

use super::super::at;
use super::{by, escape, list, table, text};

/// The most rows of each table.
const ROWS: usize = 1_000;
/// The most bytes of a payload.
const PAYLOAD: usize = 1_000_000;
/// The most characters of a cell.
const CELL: usize = 600;

/// A bounded text, escaped.
fn cell(json: &Json) -> String {
    let whole = match json {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut out: String = whole.chars().take(CELL).collect();
    if out.len() < whole.len() {
        out.push('…');
    }
    escape(&out)
}

/// A table of at most so many rows, with the number of the others; `none` if there is no row.
fn rows_or(name: &str, heads: &[&str], rows: Vec<String>, none: &str) -> String {
    if rows.is_empty() {
        return format!("<p>{none}</p>\n");
    }
    let more = rows.len().saturating_sub(ROWS);
    let note = if more > 0 { format!("<p>{more} more rows are left out.</p>\n") } else { String::new() };
    format!("{}{note}", table(name, heads, rows.get(..ROWS).unwrap_or(&rows)))
}

/// What was trimmed, dropped and lost.
pub(super) fn missing(report: &Json) -> String {
    let row = |what: String, tokens: &Json, why: &str, by: String, line: String| {
        format!(
            "<tr data-row=\"gone\"><td>{what}</td><td class=\"n\">{}</td><td>{why}</td><td class=\"wide\">{by}</td><td class=\"wide\">{line}</td></tr>\n",
            text(tokens)
        )
    };
    let trimmed = list(&report["evicted"]).iter().map(|r| {
        let what = r["unread"].as_u64().map_or_else(
            || if r["id"] == "" { "a block without an id".to_owned() } else { cell(&r["id"]) },
            |n| format!("{n} messages that were never read"),
        );
        row(what, &r["tokens"], &text(&r["reason"]), by(r), format!("group {}", cell(&r["group"])))
    });
    let lost = list(&report["lost"]).iter().map(|r| row(cell(&r["id"]), &Json::Null, "lost its place", by(r), String::new()));
    let gone = list(&report["gone"]).iter().map(|r| {
        let id = if r["id"] == "" { "an item without an id".to_owned() } else { cell(&r["id"]) };
        row(format!("{id} of list {}", cell(&r["list"])), &Json::Null, &text(&r["did"]), by(r), cell(&r["text"]))
    });
    // what nothing asked for is not missed: a way led to these, and then something stopped them
    let lore = list(&report["lore"]).iter().filter(|entry| entry["active"] != true && entry["searched"].is_null());
    let lore = lore.filter(|entry| list(&entry["reasons"]).len() > 1).map(|entry| {
        let last = list(&entry["reasons"]).last().unwrap_or(&Json::Null);
        let what = format!("lore entry {} of {}", title(entry), cell(&entry["book"]));
        row(what, last.pointer("/detail/needs").unwrap_or(&Json::Null), &text(&entry["code"]), by(last), facts(last))
    });
    let rows: Vec<String> = trimmed.chain(lost).chain(lore).chain(gone).collect();
    rows_or("Not in the prompt", &["what", "tokens", "why", "rule", "text"], rows, "Nothing was trimmed, dropped or lost.")
}

/// The title and the id of an entry.
fn title(entry: &Json) -> String {
    match entry["title"].as_str().filter(|title| !title.is_empty() && entry["id"] != *title) {
        Some(title) => format!("{} ({})", escape(title), cell(&entry["id"])),
        None => cell(&entry["id"]),
    }
}

/// A reason in words: the key and the source in which it was found, or the values by their names.
fn facts(reason: &Json) -> String {
    let detail = &reason["detail"];
    if let (Some(_), Some(source)) = (detail["key"].as_str(), detail["source"].as_str()) {
        let index = detail["index"].as_u64().map(|n| format!(", text {n}")).unwrap_or_default();
        return format!("found <code>{}</code> in {}{index}", cell(&detail["key"]), escape(source));
    }
    let named = |value: &Json| if value["id"].is_string() { cell(&value["id"]) } else { cell(value) };
    let all = detail.as_object().into_iter().flatten().map(|(name, value)| format!("{} {}", escape(name), named(value)));
    all.collect::<Vec<_>>().join(", ")
}

/// The payload as JSON that can be copied: characters that would not be seen are written as escapes of JSON.
pub(super) fn payload(report: &Json) -> String {
    if report["payload"].is_null() {
        return "<p>The build gives no payload.</p>\n".to_owned();
    }
    let json = serde_json::to_string_pretty(&report["payload"]).unwrap_or_default();
    if json.len() > PAYLOAD {
        return "<p>It is too long for this page; <code>tapster build</code> prints it.</p>\n".to_owned();
    }
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && (matches!(c, '\u{200C}' | '\u{200D}') || is_unseen(c)) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    format!(
        "<p><button id=\"copy\" type=\"button\" hidden>Copy</button> <span id=\"copied\" role=\"status\"></span></p>\n\
        <details><summary>The request as it is sent</summary><pre id=\"json\">{}</pre></details>\n",
        escape(&shown)
    )
}

/// Every lore entry with what became of it.
pub(super) fn lore(report: &Json) -> String {
    let rows = list(&report["lore"]).iter().map(|entry| {
        let code = entry["code"].as_str().unwrap_or("-");
        let sent = entry["active"] == true;
        let last = list(&entry["reasons"]).last();
        let found = list(at(entry, "/searched/found")).iter().map(|key| format!("primary key {} was found, the secondary keys decided against it; ", cell(key))).collect::<String>();
        let keys: Vec<String> = list(at(entry, "/searched/keys")).iter().map(cell).collect();
        let searched = if keys.is_empty() { String::new() } else { format!("searched for {}", keys.join(", ")) };
        let told = list(&entry["reasons"]).iter().filter(|reason| !reason["detail"].is_null());
        let detail: String = told.map(|reason| format!("<p>{}</p>", facts(reason))).collect();
        let block = entry["block"].as_u64().map(|n| format!(", <a href=\"#b{n}\">block {n}</a>")).unwrap_or_default();
        let title = title(entry);
        format!(
            "<tr data-row=\"{}\"><td>{title}</td><td>{}</td><td class=\"{}\">{}{block}</td><td class=\"wide\">{found}{searched}{detail}</td><td class=\"wide\">{}</td></tr>\n",
            if sent { "sent" } else { "gone" },
            cell(&entry["book"]),
            if sent { "good" } else { "bad" },
            escape(code),
            last.map(by).unwrap_or_default(),
        )
    });
    rows_or("Lore entries", &["entry", "book", "code", "detail", "rule"], rows.collect(), "The scene has no lore.")
}

/// What macros and scripts did.
pub(super) fn changes(report: &Json) -> String {
    let changes = &report["changes"];
    let macros = list(&changes["macros"]).iter().map(|m| {
        let args: String = list(&m["args"]).iter().map(|arg| format!("::{}", cell(arg))).collect();
        let result = if m["left_as_written"] == true { "<em>left as it is written</em>".to_owned() } else { cell(&m["result"]) };
        format!("<tr data-row=\"other\"><td>{{{{{}{args}}}}}</td><td class=\"wide\">{result}</td><td class=\"n\">{}</td><td class=\"wide\">{}</td></tr>\n", cell(&m["name"]), text(&m["times"]), by(m))
    });
    let macros = rows_or("Macros", &["macro", "result", "times", "rule"], macros.collect(), "No macro was evaluated.");
    let scripts = list(&changes["scripts"]).iter().map(|s| {
        format!(
            "<tr data-row=\"other\"><td>{}</td><td class=\"wide\">{}</td><td class=\"wide\">{}</td><td class=\"wide\">{}</td></tr>\n",
            cell(&s["script"]),
            cell(&s["from"]),
            cell(&s["to"]),
            by(s)
        )
    });
    let scripts = rows_or("Scripts", &["script", "before", "after", "rule"], scripts.collect(), "No script has changed a text.");
    let [values, items] = super::super::scripted::rows(changes, &cell, &by).map(|rows| {
        let cells = |row: &Vec<String>| row.iter().map(|cell| format!("<td class=\"wide\">{cell}</td>")).collect::<String>();
        rows.iter().map(|row| format!("<tr data-row=\"other\">{}</tr>\n", cells(row))).collect::<Vec<_>>()
    });
    let values = rows_or("Values that scripts and hooks set", &["path", "value", "by"], values, "No script or hook has set a value.");
    let heads = ["did", "item", "what", "by"];
    let items = rows_or("Items that scripts and hooks changed or chose", &heads, items, "No script or hook has changed or chosen an item.");
    let recorded = list(&changes["recorded"]).iter().map(|r| {
        format!(
            "<tr data-row=\"other\"><td>{}</td><td>{}</td><td class=\"wide\">{}</td></tr>\n",
            cell(&r["name"]),
            cell(&r["stage"]),
            cell(&r["value"])
        )
    });
    let recorded = rows_or("Recorded values", &["name", "stage", "value"], recorded.collect(), "No value was recorded.");
    format!(
        "<h3>Macros</h3>\n{macros}<h3>Regex and other scripts</h3>\n{scripts}<h3>What else scripts and hooks did</h3>\n{values}{items}<h3>Recorded values</h3>\n{recorded}"
    )
}

pub(super) fn warnings(report: &Json) -> String {
    let rows = list(&report["warnings"]).iter().map(|w| {
        format!(
            "<tr data-row=\"other\"><td>{}</td><td class=\"wide\">{} {}</td><td class=\"wide\">{}</td></tr>\n",
            cell(&w["code"]),
            cell(&w["message"]),
            cell(&w["help"]),
            cell(&w["pass"])
        )
    });
    rows_or("Warnings", &["code", "message", "pass"], rows.collect(), "The build warns of nothing.")
}
