//! Values as TOML, as they are written into a case file.

use serde_json::Value as Json;

/// The width up to which a list stays on one line.
const WIDTH: usize = 120;

/// A value as TOML. A list that is too long for one line has one element a line. TOML has no `null`; what is not there is
/// written as the test for it.
#[must_use]
pub fn value(value: &Json) -> String {
    write(value, 0)
}

fn write(value: &Json, indent: usize) -> String {
    match value {
        Json::Null => "{ missing = true }".to_owned(),
        Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::String(text) => string(text),
        Json::Array(list) if list.is_empty() => "[]".to_owned(),
        Json::Array(list) => {
            let one_line = format!("[{}]", list.iter().map(flat).collect::<Vec<_>>().join(", "));
            if one_line.len() <= WIDTH {
                return one_line;
            }
            let inner = " ".repeat(indent + 2);
            let rows: Vec<String> = list.iter().map(|one| format!("{inner}{},\n", write(one, indent + 2))).collect();
            format!("[\n{}{}]", rows.concat(), " ".repeat(indent))
        }
        Json::Object(table) if table.is_empty() => "{}".to_owned(),
        Json::Object(table) => {
            let fields: Vec<String> = table.iter().map(|(name, value)| format!("{} = {}", key(name), write(value, indent))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}

fn flat(value: &Json) -> String {
    match value {
        Json::Array(list) => format!("[{}]", list.iter().map(flat).collect::<Vec<_>>().join(", ")),
        Json::Object(table) if !table.is_empty() => {
            let fields: Vec<String> = table.iter().map(|(name, value)| format!("{} = {}", key(name), flat(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => write(other, 0),
    }
}

/// A key, quoted where it must be.
pub(super) fn key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if is_bare { name.to_owned() } else { string(name) }
}

fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
