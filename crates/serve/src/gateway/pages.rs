//! Pages for browsers: what became of a request, and the accounts of the cache. They hold no scripts and load nothing.

use serde_json::Value as Json;
use tapster::machinery::text::markup::escaped;
use tapster_door::explain::accounts::CacheBooking;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--dim:#595959;--rule:#d5d5d5;--soft:#eef3f8;--bad:#9c1c1c}\
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#161616;--dim:#b0b0b0;--rule:#3c3c3c;--soft:#22303c;--bad:#ff9d9d}}\
body{margin:0 auto;padding:1.5rem;max-width:72rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}.dim{color:var(--dim)}.wide{overflow-x:auto}\
table{border-collapse:collapse;font-size:.9rem}th,td{padding:.3rem .7rem;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td pre{margin:0;background:none;padding:0}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);padding:.7rem;font-size:.85rem}a{color:inherit}";

fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{title}</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>\n"
    )
}

/// A table; each cell is escaped. Columns whose head ends with `#` are numbers; a cell below `request` leads to its explanation.
fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let class = |head: &str| if head.ends_with('#') { " class=\"n\"" } else { "" };
    let head: String = heads.iter().map(|head| format!("<th{}>{}</th>", class(head), head.trim_end_matches('#'))).collect();
    let cell = |(head, cell): (&&str, &String)| {
        let text = escaped(cell);
        let text = if *head == "request" { format!("<a href=\"/explain/{text}\">{text}</a>") } else { text.to_string() };
        format!("<td{}><pre>{text}</pre></td>", class(head))
    };
    let row = |row: &Vec<String>| {
        let cells: String = heads.iter().zip(row).map(cell).collect();
        format!("<tr>{cells}</tr>")
    };
    format!("<div class=\"wide\"><table><tr>{head}</tr>{}</table></div>", rows.iter().map(row).collect::<String>())
}

/// The text at a pointer; of a number or a table, its JSON.
fn text(json: &Json, pointer: &str) -> String {
    match json.pointer(pointer) {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn rows<'a>(json: &'a Json, pointer: &str) -> impl DoubleEndedIterator<Item = &'a Json> {
    json.pointer(pointer).and_then(Json::as_array).into_iter().flatten()
}

fn details(title: &str, json: Option<&Json>) -> String {
    let json = json.map(|json| serde_json::to_string_pretty(json).unwrap_or_default()).unwrap_or_default();
    format!("<details><summary>{}</summary><pre>{}</pre></details>", escaped(title), escaped(&json))
}

/// What became of a request, and why.
pub(super) fn explanation(found: &Json) -> String {
    let mut body = format!(
        "<p class=\"dim\">{} · model {} · session {}</p>",
        escaped(&text(found, "/time")),
        escaped(&text(found, "/model")),
        escaped(&text(found, "/session"))
    );
    let warnings: Vec<Vec<String>> =
        rows(found, "/warnings").map(|one| ["/code", "/message", "/help", "/place"].map(|at| text(one, at)).to_vec()).collect();
    if !warnings.is_empty() {
        body.push_str("<h2>Warnings</h2>");
        body.push_str(&table(&["code", "what", "remedy", "rule"], &warnings));
    }
    body.push_str("<h2>Cache</h2>");
    if found.get("differs").is_some_and(|differs| !differs.is_null()) {
        let keys = ["/index", "/id", "/what", "/macro", "/script", "/pass", "/rule", "/from_pass", "/from_rule", "/was", "/is"];
        let row = |key: &&str| {
            Some(vec![key.trim_start_matches('/').to_owned(), text(found, &format!("/differs{key}"))])
                .filter(|row| row.last().is_some_and(|text| !text.is_empty()))
        };
        body.push_str("<p>The first block that differs from the request before:</p>");
        body.push_str(&table(&["", ""], &keys.iter().filter_map(row).collect::<Vec<_>>()));
    } else {
        body.push_str("<p>Nothing differs from a request before.</p>");
    }
    body.push_str(&details("Accounts", found.get("cache")));
    body.push_str("<h2>Blocks</h2>");
    let block = |one: &Json| ["/index", "/role", "/slot", "/tokens", "/pass", "/rule", "/text"].map(|at| text(one, at)).to_vec();
    let blocks: Vec<Vec<String>> =
        rows(found, "/reasons/blocks/blocks").filter(|one| one.get("enabled") != Some(&Json::Bool(false))).map(block).collect();
    body.push_str(&table(&["#", "role", "slot", "tokens#", "placed by", "rule", "text"], &blocks));
    body.push_str("<h2>Requests</h2>");
    body.push_str(&details("What the client sent", found.get("client")));
    body.push_str(&details("What went out", found.get("sent")));
    body.push_str(&details("What macros, scripts and hooks changed", found.pointer("/reasons/changes")));
    page("A request and its rules", &body)
}

/// The accounts of the cache.
pub(super) fn cache(found: &Json) -> String {
    let sums = CacheBooking::default().rows();
    let booked = |one: &Json, at: &str| sums.map(|(name, ..)| text(one, &format!("{at}/{name}"))).to_vec();
    let mut body = format!(
        "<p>{} requests, {} tokens: <b>{} %</b> were read from the cache.</p>",
        text(found, "/summary/requests"),
        text(found, "/summary/tokens"),
        text(found, "/summary/kept_percent"),
    );
    let sum = |(name, _, what): (&str, u64, &str)| vec![name.to_owned(), text(found, &format!("/summary/booked/{name}")), what.to_owned()];
    body.push_str(&table(&["booked as", "tokens#", "which"], &sums.map(sum)));
    let breaks: Vec<Vec<String>> =
        rows(found, "/summary/breaks").map(|one| ["/tokens", "/times", "/by", "/rule"].map(|at| text(one, at)).to_vec()).collect();
    if !breaks.is_empty() {
        body.push_str("<h2>What broke the prefix</h2>");
        body.push_str(&table(&["tokens#", "times#", "by", "rule"], &breaks));
    }
    body.push_str("<h2>Requests</h2>");
    let request = |one: &Json| {
        let mut row = ["/time", "/session", "/id", "/total"].map(|at| text(one, at)).to_vec();
        row.extend(booked(one, "/booked"));
        row.push(format!("{} {}", text(one, "/differs/what"), text(one, "/differs/id")).trim().to_owned());
        row
    };
    let requests: Vec<Vec<String>> = rows(found, "/requests").rev().take(200).map(request).collect();
    let mut heads = ["time", "session", "request", "tokens#"].map(str::to_owned).to_vec();
    heads.extend(sums.map(|(name, ..)| format!("{name}#")));
    heads.push("first difference".to_owned());
    body.push_str(&table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), &requests));
    page("Cache accounts", &body)
}
