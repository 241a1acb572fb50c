//! The values of options that the scene file and the flags give.

use crate::diag::{Code, Diagnostic, Report};
use crate::model::options::TABLE;
use crate::model::{Map, OptionType, PackOptions, Value};
use crate::pack::Ruleset;

use crate::inputs::parts::BuildParts;
use crate::layout::head;
use crate::stop::{EarlyExit, RunExit};

/// `NAME=VALUE` of a flag.
pub(super) fn assigned(text: &str) -> Result<(String, String), EarlyExit> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => {
            let message = format!("`{}` is not the value of an option", head(text, 60));
            Err(EarlyExit::could_not(Code::OptionValue, message, "write the name of an option, `=` and its value: `tone=dark`"))
        }
    }
}

/// The values of the scene file, with those of the flags over them: a table, or nothing if there are none.
pub(super) fn given(parts: &BuildParts, rules: &Ruleset) -> Value {
    let mut all = Map::default();
    let in_scene = parts.scene.get(TABLE).and_then(Value::as_map);
    all.extend(in_scene.into_iter().flat_map(|map| map.iter()).map(|(name, value)| (name.clone(), value.clone())));
    let table = parts.option.as_ref().and_then(|node| node.as_table());
    all.extend(table.into_iter().flatten().map(|(name, field)| (name.clone(), Value::from(&field.node))));
    for (path, value) in &parts.set {
        if let Some(name) = path.strip_prefix(TABLE).and_then(|rest| rest.strip_prefix('.')) {
            all.insert(name.into(), value.clone());
        } else if let Some(map) = value.as_map().filter(|_| path == TABLE) {
            all.extend(map.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    for (name, text) in &parts.options {
        all.insert(name.as_str().into(), typed(rules.options(), name, text));
    }
    if all.is_empty() { Value::Null } else { Value::map(all) }
}

/// The value that a text on the command line means for an option.
fn typed(options: &PackOptions, name: &str, text: &str) -> Value {
    let is_text = options.get(name).is_some_and(|option| matches!(option.kind, OptionType::Text | OptionType::Enum));
    let json = serde_json::from_str::<serde_json::Value>(text).ok().filter(|_| !is_text);
    json.map_or_else(|| Value::text(text), |json| Value::from(&json))
}

/// Refuses values that options cannot have, at the line or the flag that gives them.
pub(super) fn check(parts: &BuildParts, rules: &Ruleset, given: &Value) -> Result<(), EarlyExit> {
    let mut report = Report::default();
    for fault in rules.options().faults(given) {
        let name = fault.option.as_str();
        let path = format!("{TABLE}.{name}");
        let complaint = Diagnostic::error(fault.code, fault.message).help(fault.help);
        let field =
            |node: &crate::diag::DocumentNode| node.as_table().and_then(|table| table.get(name)).map(|field| (field.key, field.node.span));
        let in_table = parts.option.as_ref().and_then(field);
        let in_scene = parts.written.as_ref().and_then(|(node, _)| node.get(TABLE)).and_then(field);
        let span = in_table.or(in_scene).map(|(key, value)| if fault.code == Code::OptionUnknown { key } else { value });
        report.push(if parts.options.iter().any(|(option, _)| option == name) {
            complaint.rule(format!("flag `--choose {name}=…`"))
        } else if parts.set.iter().any(|(set, _)| *set == path) {
            complaint.rule(format!("flag `--set {path}=…`"))
        } else if let Some(span) = span {
            complaint.at(span)
        } else {
            complaint
        });
    }
    if report.is_empty() {
        return Ok(());
    }
    let sources = parts.top.as_ref().map(|(_, sources)| sources.clone()).unwrap_or_default();
    Err(EarlyExit::report(RunExit::No, report, sources))
}
