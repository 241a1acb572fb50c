//! What differs between the options of two packs: what they declare, and the values that overlays give them.

use serde_json::Value as Json;

use super::DifferenceKind;
use super::rows::{FieldChange, RowChange, moves, place, union};
use crate::model::options::TABLE;
use crate::model::{Pack, PackOption, Plan, Value};
use crate::pack::Ruleset;

/// The section of the manifest that declares options.
pub(crate) const SECTION: &str = "options";

/// The options that differ.
pub(super) fn changes(a: &Pack, b: &Pack) -> Vec<RowChange> {
    let moved = moves(SECTION, &a.options.0, &b.options.0);
    let mut out = Vec::new();
    for name in union(&a.options.0, &b.options.0) {
        let (old, new) = (a.options.get(&name), b.options.get(&name));
        let fields = fields(old.map(|option| (a, option)), new.map(|option| (b, option)));
        let place = moved.get(&*name).cloned();
        let what = match (old, new) {
            (None, _) => DifferenceKind::New,
            (_, None) => DifferenceKind::Gone,
            _ if !fields.is_empty() => DifferenceKind::Changed,
            _ if place.is_some() => DifferenceKind::Moved,
            _ => continue,
        };
        let (was, is) = (old.map(|o| places(a, o)).unwrap_or_default(), new.map(|o| places(b, o)).unwrap_or_default());
        out.push(RowChange { what, table: SECTION.to_owned(), name: name.to_string(), was, is, fields, moved: place });
    }
    out
}

/// Where an option is declared, and where an overlay gives it a value.
fn places(pack: &Pack, option: &PackOption) -> Vec<String> {
    let set = Some(option.value_span).filter(|span| *span != option.default_span);
    std::iter::once(option.name_span).chain(set).filter_map(|span| place(pack, span)).collect()
}

/// What is said of an option, by field: each choice is one, and `value` is what an overlay gives.
fn said((pack, option): (&Pack, &PackOption)) -> Vec<(String, Json, Option<String>)> {
    let at = |field: &str| match field {
        "default" => option.default_span,
        "value" => option.value_span,
        _ => option.name_span,
    };
    let mut out = Vec::new();
    let Json::Object(all) = option.to_json() else { return out };
    for (field, value) in all {
        let at = place(pack, at(&field));
        match (field.as_str(), value) {
            ("name" | "default_from" | "value_from", _) => {}
            ("value", _) if option.value_span == option.default_span => {}
            ("choices", Json::Array(choices)) => {
                for choice in choices {
                    let name = choice.get("value").and_then(Json::as_str).unwrap_or_default().to_owned();
                    out.push((format!("choices.{name}"), choice, at.clone()));
                }
            }
            (_, value) => out.push((field, value, at)),
        }
    }
    out
}

fn fields(was: Option<(&Pack, &PackOption)>, is: Option<(&Pack, &PackOption)>) -> Vec<FieldChange> {
    let (old, new) = (was.map(said).unwrap_or_default(), is.map(said).unwrap_or_default());
    let of = |all: &[(String, Json, Option<String>)], path: &str| all.iter().find(|(own, ..)| own == path).cloned();
    let only_new = new.iter().filter(|(path, ..)| of(&old, path).is_none());
    let change = |(path, ..): &(String, Json, Option<String>)| {
        let (was, is) = (of(&old, path), of(&new, path));
        let split = |side: Option<(String, Json, Option<String>)>| side.map(|(_, value, at)| (value, at)).unzip();
        let ((was, was_at), (is, is_at)) = (split(was), split(is));
        (was != is).then(|| FieldChange { path: path.clone(), was, is, was_at: was_at.flatten(), is_at: is_at.flatten() })
    };
    old.iter().chain(only_new).filter_map(change).collect()
}

/// The options that have other values in one build than in another, with both values.
pub(super) fn chosen(was: (&Ruleset, &Plan), is: (&Ruleset, &Plan)) -> Vec<(String, Json, Json)> {
    let values = |(rules, plan): (&Ruleset, &Plan)| rules.options().values(plan.scene.get(TABLE).unwrap_or(&Value::Null)).to_json();
    let (was, is) = (values(was), values(is));
    let of = |all: &Json, name: &str| all.get(name).cloned().unwrap_or_default();
    let names = [&was, &is].into_iter().filter_map(Json::as_object).flat_map(|all| all.keys());
    let mut out: Vec<(String, Json, Json)> = Vec::new();
    for name in names {
        let (was, is) = (of(&was, name), of(&is, name));
        if was != is && !out.iter().any(|(known, ..)| known == name) {
            out.push((name.clone(), was, is));
        }
    }
    out
}
