//! The answers of `tapster explain --why-not` for a terminal.

use serde_json::Value as Json;

use crate::layout::one_line;

use super::{gate, why};

/// All answers.
pub(super) fn as_text(json: &Json) -> String {
    let text = |json: &Json| one_line(json.as_str().unwrap_or_default());
    let mut out = String::new();
    let answers = json["answers"].as_array().cloned().unwrap_or_default();
    for (n, answer) in answers.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        out.push_str(&format!("{} {}: {}\n", text(&answer["kind"]), text(&answer["name"]), text(&answer["says"])));
        if !answer["stopped_by"].is_null() {
            why::pass_text(if answer["sent"] == true { "pass" } else { "stopped at" }, &answer["stopped_by"], &mut out);
        }
        for row in answer["rows"].as_array().into_iter().flatten() {
            out.push_str(&format!(
                "  {} has `{}` = {} ({}); an overlay can say otherwise\n",
                text(&row["row"]),
                text(&row["field"]),
                text(&row["value"]),
                text(&row["place"])
            ));
            why::indented(&gate::lines(&row["parts"]), &mut out);
        }
        let remedies = answer["remedies"].as_array().cloned().unwrap_or_default();
        if !remedies.is_empty() {
            out.push_str("  each of these changes would let it pass (built again to make sure)\n");
        } else if answer["sent"] != true && answer["builds"].as_u64() > Some(0) {
            out.push_str(&format!("  none of the {} changes that were tried lets it pass\n", answer["builds"]));
        }
        if answer["given_up"] == true {
            out.push_str("  the builds became too much work, so not every change was tried\n");
        }
        for remedy in &remedies {
            let flag = remedy["flag"].as_str().map(|flag| format!("    {}", one_line(flag))).unwrap_or_default();
            out.push_str(&format!("    {}{flag}\n", text(&remedy["change"])));
        }
    }
    if let Some(more) = json["left_out"].as_u64().filter(|more| *more > 0) {
        out.push_str(&format!("\n{more} more are meant; say more of its name or text\n"));
    }
    out
}
