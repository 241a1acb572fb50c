//! `tapster explain --html`: all answers about one build as one page. The page loads nothing: style and script stand in it,
//! and its policy allows only these two. Every text of the build is escaped on its way into the page, and nothing of the
//! build is written into the script or the style.

mod blocks;
mod parts;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::diag::short::is_unseen;
use crate::text::markup::escaped;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The number of colours; slots beyond it share them.
const COLOURS: usize = 10;

/// A text for the page. Characters that markup gives a meaning are written as references; characters that could hide or
/// reorder text are shown by their number.
pub(super) fn escape(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let joins = matches!(c, '\u{200C}' | '\u{200D}');
        if joins || is_unseen(c) && !matches!(c, '\n' | '\t') {
            shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    escaped(&shown)
}

/// The text of a JSON value, escaped; empty for null.
fn text(json: &Json) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => escape(text),
        other => escape(&other.to_string()),
    }
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// `pass (file:line)`.
fn by(json: &Json) -> String {
    if json["rule"].is_null() { text(&json["pass"]) } else { format!("{} ({})", text(&json["pass"]), text(&json["rule"])) }
}

/// A section with a heading that the navigation leads to.
fn section(id: &str, title: &str, body: &str) -> String {
    format!("<section aria-labelledby=\"h-{id}\" id=\"{id}\">\n<h2 id=\"h-{id}\">{title}</h2>\n{body}</section>\n")
}

/// Heads of columns that hold numbers, which end at one line below each other.
const OF_NUMBERS: [&str; 5] = ["blocks", "tokens", "of the budget", "trimmed", "times"];

/// A table that scrolls by itself on a narrow screen.
fn table(name: &str, heads: &[&str], rows: &[String]) -> String {
    let class = |head: &str| if OF_NUMBERS.contains(&head) { " class=\"n\"" } else { "" };
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\"{}>{head}</th>", class(head))).collect();
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Table: {name}\" tabindex=\"0\"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        rows.concat()
    )
}

fn allowed(content: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content.as_bytes())))
}

/// The page of a full report.
pub(super) fn page(report: &Json) -> String {
    let colours = blocks::SlotColours::of(report);
    let sections = [
        ("budget", "Token budget", blocks::budget(report, &colours)),
        ("blocks", "Blocks", blocks::blocks(report, &colours)),
        ("missing", "Not in the prompt", parts::missing(report)),
        ("lore", "Lore", parts::lore(report)),
        ("changes", "Macros and scripts", parts::changes(report)),
        ("warnings", "Warnings", parts::warnings(report)),
        ("payload", "Payload", parts::payload(report)),
    ];
    let links: String = sections.iter().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>")).collect();
    let main: String = sections.iter().map(|(id, title, body)| section(id, title, body)).collect();
    let policy =
        format!("default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'", allowed(STYLE), allowed(SCRIPT));
    let filter = "<form id=\"filter\" hidden role=\"search\"><div><label for=\"find\">Show only what holds</label><input type=\"search\" id=\"find\" autocomplete=\"off\"></div>\
        <div><label for=\"state\">State</label><select id=\"state\"><option value=\"\">all</option><option value=\"sent\">sent</option>\
        <option value=\"gone\">not sent</option><option value=\"other\">neither</option></select></div><p id=\"count\" role=\"status\"></p></form>";
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
        <title>Prompt report: {pack}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#blocks\">Skip to the blocks</a>\n\
        <header>\n<h1>Prompt report</h1>\n<p>{head}</p>\n<dl>{inputs}</dl>\n</header>\n<nav aria-label=\"Parts of the report\"><ul>{links}</ul></nav>\n\
        <main>\n{filter}\n{main}</main>\n<footer class=\"dim\"><p>Written by <code>tapster explain --html</code>. Rules: <code>{print}</code></p></footer>\n\
        <script>{SCRIPT}</script>\n</body>\n</html>\n",
        pack = text(&report["pack"]),
        head = blocks::summary(report),
        inputs = list(&report["inputs"])
            .iter()
            .map(|input| format!("<dt>{}</dt><dd>{}</dd>", text(&input["name"]), text(&input["is"])))
            .collect::<String>(),
        print = text(&report["fingerprint"]),
    )
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn hostile_texts_are_shown_and_do_nothing() {
        assert_eq!(escape("</script><a href='x' b=\"\">&"), "&lt;/script&gt;&lt;a href=&#39;x&#39; b=&quot;&quot;&gt;&amp;");
        assert_eq!(escape("a\u{202E}b\u{0}c\u{200B}\nd"), "a⟨U+202E⟩b⟨U+0000⟩c⟨U+200B⟩\nd");
    }
}
