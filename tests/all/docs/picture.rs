//! The picture of the README: a prompt as a bar, drawn from what `explain --format json` says of `examples/hello` in a small
//! window, on light and on dark pages. `UPDATE=1 cargo test --test all docs::` draws it anew.

#![expect(clippy::indexing_slicing, reason = "a field that is not there is null")]

use std::fmt::Write as _;

use serde_json::Value;

use super::pages::{root, updating};

const WINDOW: &str = "context.window=530";
/// Width of the bar, and of the whole picture.
const BAR: f64 = 820.0;
const WIDTH: f64 = 860.0;

/// Ink, quieter ink, page, and the colors of the groups: rules, character, lore, examples, chat.
struct Colors {
    ink: &'static str,
    quiet: &'static str,
    page: &'static str,
    groups: [&'static str; 5],
}

const LIGHT: Colors =
    Colors { ink: "#1f2328", quiet: "#59636e", page: "#ffffff", groups: ["#8250df", "#0969da", "#1a7f37", "#9a6700", "#57606a"] };
const DARK: Colors =
    Colors { ink: "#f0f6fc", quiet: "#9198a1", page: "#0d1117", groups: ["#ab7df8", "#4493f8", "#3fb950", "#d29922", "#9198a1"] };

fn explained(flags: &[&str]) -> Value {
    let example = root().join("examples/hello").display().to_string();
    let (exit, out, err) = crate::program::tapster(&[&["explain", &example, "--format", "json"], flags].concat());
    assert_eq!(exit, 0, "{err}");
    serde_json::from_str(&out).unwrap()
}

/// The group of a slot, as a number of `Colors::groups`.
fn group(slot: &str) -> usize {
    match slot {
        "chat_history" => 4,
        slot if slot.starts_with("world_info") => 2,
        slot if slot.contains("examples") => 3,
        slot if slot.starts_with("character") || slot == "scenario" => 1,
        _ => 0,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// The picture.
fn drawn(colors: &Colors) -> String {
    let plan = explained(&["--set", WINDOW]);
    let reef = explained(&["--why-not", "Halcyon"]);
    let blocks = plan["blocks"].as_array().unwrap();
    let evicted = plan["trim_report"]["records"].as_array().unwrap();
    let total: f64 = number(&plan["trim_report"]["initial_tokens"]);
    let kept = number(&plan["trim_report"]["final_tokens"]);
    let budget = number(&plan["trim_report"]["budget_tokens"]);
    let scale = BAR / total;
    let Colors { ink, quiet, page, groups } = colors;

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} 246\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"246\" fill=\"{page}\"/>\n\
         <text x=\"20\" y=\"28\" fill=\"{ink}\" font-weight=\"600\">examples/hello in a window for {budget} tokens: {kept} are sent, {} are not</text>\n",
        total - kept
    );
    let (mut x, mut lore) = (20.0, 0.0);
    let mut part = |svg: &mut String, color: &str, tokens: f64, is_kept: bool, title: &str| {
        let width = tokens * scale;
        let style =
            if is_kept { format!("fill=\"{color}\"") } else { format!("fill=\"none\" stroke=\"{color}\" stroke-dasharray=\"3 2\"") };
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"64\" width=\"{:.1}\" height=\"34\" {style}><title>{}</title></rect>",
            x + 1.0,
            width - 2.0,
            escaped(title)
        );
        if width > 22.0 {
            let paint = if is_kept { page } else { quiet };
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"86\" fill=\"{paint}\" text-anchor=\"middle\" font-size=\"12\">{tokens}</text>",
                x + width / 2.0
            );
        }
        x += width;
        x - width / 2.0
    };
    for block in blocks {
        let slot = block["slot"].as_str().unwrap();
        let title = format!("{slot}, {}: {}", block["role"].as_str().unwrap(), block["text"].as_str().unwrap());
        let middle = part(&mut svg, groups[group(slot)], number(&block["tokens"]), true, &title);
        if group(slot) == 2 {
            lore = middle;
        }
    }
    let first_evicted = evicted.first().map(|record| record["pass"].as_str().unwrap()).unwrap();
    let mut dropped = 0.0;
    for record in evicted {
        let color = if record["group"] == "history" { groups[4] } else { groups[3] };
        dropped = part(&mut svg, color, number(&record["tokens"]), false, record["pass"].as_str().unwrap());
    }
    let names = ["main prompt", "character", "lore", "examples", "chat"];
    for (n, name) in names.iter().enumerate() {
        let at = 20.0 + 118.0 * n as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{at}\" y=\"40\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"49\" fill=\"{quiet}\" font-size=\"12\">{name}</text>",
            groups[n],
            at + 15.0
        );
    }
    let placed = blocks.iter().find(|block| group(block["slot"].as_str().unwrap()) == 2).unwrap();
    let answer = &reef["answers"][0];
    let lines = [
        (lore, 128, format!("The lore is here because of {} in {}", placed["pass"].as_str().unwrap(), placed["rule"].as_str().unwrap())),
        (dropped, 164, format!("Dashed: left out by {first_evicted} and the passes after it, in the pack's order")),
    ];
    for (at, y, text) in &lines {
        let (start, anchor) = if *at > 430.0 { (840.0, "end") } else { (20.0, "start") };
        let _ = writeln!(svg, "<path d=\"M{at:.1} 100 V{}\" stroke=\"{quiet}\" fill=\"none\"/>", y - 14);
        let _ = writeln!(svg, "<text x=\"{start}\" y=\"{y}\" fill=\"{ink}\" text-anchor=\"{anchor}\">{}</text>", escaped(text));
    }
    let remedy = format!("It would be sent if {}.", answer["remedies"][0]["change"].as_str().unwrap());
    let absent = [
        (196, ink, format!("Not there: {}", answer["name"].as_str().unwrap())),
        (214, quiet, answer["says"].as_str().unwrap().to_owned()),
        (232, quiet, remedy),
    ];
    for (y, color, text) in &absent {
        let _ = writeln!(svg, "<text x=\"20\" y=\"{y}\" fill=\"{color}\">{}</text>", escaped(text));
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_of_the_readme_is_fresh() {
    for (file, colors) in [("docs/prompt-light.svg", LIGHT), ("docs/prompt-dark.svg", DARK)] {
        let (path, fresh) = (root().join(file), drawn(&colors));
        if updating() {
            std::fs::write(&path, &fresh).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), fresh, "{file}: `UPDATE=1 cargo test --test all docs::` draws it");
    }
}
