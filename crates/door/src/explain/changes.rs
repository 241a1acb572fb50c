//! `tapster explain --changes`: what each macro, regex script and hook did, in the order in which they ran.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use crate::diag::{DocumentNode, NodeValue, limits};
use crate::explain::condition::{field, short};
use crate::layout::{head, one_line, place_at, place_of, table};
use crate::model::plan::{BlockEvent, BuildStep, TracedChange};
use crate::model::{Plan, Value};
use crate::pack::Ruleset;

/// The most rows of each kind.
const ROWS: usize = 1_000;
/// The most characters of a text in JSON.
const TEXT: usize = 2_000;
/// How many characters before a difference are shown.
const BEFORE: usize = 20;

/// The two texts from shortly before their first difference on.
fn differing(before: &str, after: &str) -> (String, String) {
    let same = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let rest: String = text.chars().skip(from).take(limits::QUOTED + 1).collect();
        format!("{}{}", if from > 0 { "…" } else { "" }, head(&rest, limits::QUOTED))
    };
    (cut(before), cut(after))
}

/// A macro as it was expanded: its name, arguments, result and pass.
type MacroExpansion<'a> = (&'a str, &'a [String], Option<&'a str>, &'a str);

/// Everything that changed a text. With a filter, only what holds it.
pub fn as_json(plan: &Plan, rules: &Ruleset, filter: Option<&str>) -> Json {
    let wanted = filter.map(str::to_lowercase);
    let fits = |texts: &[&str]| wanted.as_ref().is_none_or(|wanted| texts.iter().any(|text| text.to_lowercase().contains(wanted)));
    let trace = plan.trace.as_ref();
    let mut macros: IndexMap<MacroExpansion<'_>, usize> = IndexMap::new();
    for m in trace.iter().flat_map(|trace| &trace.macros) {
        let args = m.args.join("::");
        if fits(&[&m.name, &args, m.result.as_deref().unwrap_or_default(), &m.pass]) {
            *macros.entry((&m.name, &m.args, m.result.as_deref(), &m.pass)).or_default() += 1;
        }
    }
    let macros: Vec<Json> = macros
        .into_iter()
        .map(|((name, args, result, pass), times)| {
            let args: Vec<String> = args.iter().map(|arg| head(arg, TEXT)).collect();
            let known = result.is_some();
            json!({ "name": name, "args": args, "result": result.map(cut), "left_as_written": !known, "times": times, "pass": pass, "rule": place_of(rules, pass) })
        })
        .collect();
    let scripts: Vec<Json> = trace
        .iter()
        .flat_map(|trace| &trace.rewrites)
        .filter(|r| fits(&[&r.script, &r.before, &r.after, &r.pass]))
        .map(|r| {
            let (from, to) = differing(&r.before, &r.after);
            json!({ "script": r.script, "before": cut(&r.before), "after": cut(&r.after), "from": from, "to": to, "pass": r.pass, "rule": place_of(rules, &r.pass) })
        })
        .collect();
    let hooks = trace.iter().flat_map(|trace| &trace.steps).filter_map(|step| match step {
        BuildStep::Hook(name) if fits(&[name]) => Some(name.clone()),
        _ => None,
    });
    let hooks: Vec<String> = hooks.take(ROWS).collect();
    let recorded = trace.iter().flat_map(|trace| &trace.stats).filter(|stat| fits(&[&stat.name]));
    let recorded: Vec<Json> = recorded
        .take(ROWS)
        .map(|stat| json!({ "name": stat.name, "stage": stat.stage, "value": crate::explain::condition::short(&stat.value) }))
        .collect();
    let (values, items) = (scripted_values(plan, rules, &fits), scripted_items(plan, rules, &fits));
    let more = [&macros, &scripts, &values, &items].iter().map(|rows| rows.len().saturating_sub(ROWS)).sum::<usize>();
    let first = |rows: Vec<Json>| rows.into_iter().take(ROWS).collect::<Vec<_>>();
    json!({
        "macros": first(macros), "scripts": first(scripts), "values": first(values), "items": first(items), "hooks": hooks,
        "recorded": recorded, "left_out": more,
    })
}

/// A text of bounded length, with its line breaks.
fn cut(text: &str) -> String {
    crate::diag::short::head(text, TEXT)
}

pub fn as_text(json: &Json) -> String {
    let text = |json: &Json| one_line(json.as_str().unwrap_or_default());
    let by =
        |row: &Json| if row["rule"].is_null() { text(&row["pass"]) } else { format!("{} ({})", text(&row["pass"]), text(&row["rule"])) };
    let mut out = String::new();
    let mut part = |title: &str, rows: Vec<Vec<String>>, none: &str| {
        out.push_str(&format!("{title}\n{}", if rows.is_empty() { format!("  {none}\n") } else { table(&rows) }));
    };
    let each = |name: &str| json[name].as_array().into_iter().flatten();
    let macros = each("macros").map(|m| {
        let args: Vec<String> = m["args"].as_array().into_iter().flatten().map(|arg| format!("::{}", text(arg))).collect();
        let result = if m["left_as_written"] == true {
            "left as it is written".to_owned()
        } else {
            format!("{:?}", head(m["result"].as_str().unwrap_or_default(), limits::QUOTED))
        };
        let times = if m["times"].as_u64() == Some(1) { String::new() } else { format!("{} times", m["times"]) };
        vec![head(&format!("{{{{{}{}}}}}", text(&m["name"]), args.concat()), limits::QUOTED), format!("→ {result}"), times, by(m)]
    });
    part("macros", macros.collect(), "no macro was evaluated");
    let scripts =
        each("scripts").map(|s| vec![text(&s["script"]), format!("{:?}", text(&s["from"])), format!("→ {:?}", text(&s["to"])), by(s)]);
    part("\nregex and other scripts", scripts.collect(), "no script has changed a text");
    let [values, items] = scripted_rows(json, &text, &by);
    if !values.is_empty() {
        part("\nvalues that scripts and hooks set", values, "");
    }
    if !items.is_empty() {
        part("\nitems that scripts and hooks changed or chose", items, "");
    }
    let hooks: Vec<Vec<String>> = each("hooks").map(|hook| vec![text(hook)]).collect();
    if !hooks.is_empty() {
        part("\nhooks", hooks, "");
    }
    let recorded: Vec<Vec<String>> = each("recorded").map(|r| vec![text(&r["name"]), text(&r["stage"]), text(&r["value"])]).collect();
    if !recorded.is_empty() {
        part("\nrecorded values", recorded, "");
    }
    if let Some(more) = json["left_out"].as_u64().filter(|more| *more > 0) {
        out.push_str(&format!("\n{more} more are not shown; `--filter TEXT` selects\n"));
    }
    out
}

/// The most characters of an item's text.
const ITEM_TEXT: usize = 160;

/// What made a change: `hook NAME` or `script FILE::FUNCTION`.
pub fn change_source(change: &TracedChange) -> String {
    change.hook.as_ref().map_or_else(|| format!("script {}", change.by), |hook| format!("hook {hook}"))
}

/// Where the hook or the pass that made a change is written.
pub fn change_place(change: &TracedChange, rules: &Ruleset) -> Option<String> {
    let Some(hook) = &change.hook else { return place_of(rules, &change.pass) };
    let row = rules.pack().tables.get("hook")?.get(hook.as_str())?;
    place_at(rules, row.span)
}

/// The values that functions set, as far as they hold a text that is wanted.
pub fn scripted_values(plan: &Plan, rules: &Ruleset, fits: &dyn Fn(&[&str]) -> bool) -> Vec<Json> {
    let all = plan.trace.iter().flat_map(|trace| &trace.changes).filter(|change| change.list.is_empty());
    let told = |change: &TracedChange| {
        let (was, is) = (short(&change.was), short(&change.is));
        fits(&[&change.path, &was, &is, &change_source(change), &change.by, &change.pass])
            .then(|| json!({ "path": change.path, "was": was, "is": is, "hook": change.hook, "function": change.by, "pass": change.pass, "rule": change_place(change, rules) }))
    };
    all.filter_map(told).collect()
}

/// The items that functions changed, made or dropped, and those to which a pass did something because of a function.
pub fn scripted_items(plan: &Plan, rules: &Ruleset, fits: &dyn Fn(&[&str]) -> bool) -> Vec<Json> {
    let Some(trace) = &plan.trace else { return Vec::new() };
    let changed = trace.changes.iter().filter(|change| !change.list.is_empty()).filter_map(|change| {
        let (was, is) = (short(&change.was), short(&change.is));
        let fits = fits(&[&change.id, &change.path, &was, &is, &change.list, &change_source(change), &change.by, &change.pass]);
        let field = Some(&change.path).filter(|path| !path.is_empty());
        let text = if change.did == "dropped" { &change.was } else { &change.is };
        let text = field.is_none().then(|| head(&text.to_text(), ITEM_TEXT));
        fits.then(|| {
            json!({
                "did": change.did, "list": change.list, "id": change.id, "field": field, "was": was, "is": is, "text": text,
                "hook": change.hook, "function": change.by, "pass": change.pass, "rule": change_place(change, rules),
            })
        })
    });
    let mut out: Vec<Json> = changed.collect();
    let chosen = choosing(rules);
    let mut tell = |list: &str, fields: &Value, event: &BlockEvent| {
        let Some(functions) = chosen.get(&*event.pass) else { return };
        let (id, text) = (field(fields, "id"), field(fields, "text"));
        if fits(&[&id, &text, list, functions, &event.pass]) {
            out.push(json!({
                "did": event.did, "list": list, "id": id, "field": null, "was": null, "is": null, "text": head(&text, ITEM_TEXT),
                "hook": null, "function": functions, "pass": event.pass, "rule": place_of(rules, &event.pass),
            }));
        }
    };
    if chosen.is_empty() {
        return out;
    }
    for item in &trace.elsewhere {
        let gone = item.gone.iter().filter(|gone| !item.history.contains(gone));
        item.history.iter().chain(gone).for_each(|event| tell(&item.list, &item.fields, event));
    }
    for block in &plan.blocks {
        block.history.iter().for_each(|event| tell("blocks", &block.fields, event));
    }
    out
}

/// The passes that choose items, or make what they write, with functions of scripts, and these functions. What a pass that
/// is a script did is recorded with each item.
fn choosing(rules: &Ruleset) -> BTreeMap<&str, String> {
    let rows = rules.pack().tables.get("pass").into_iter().flatten();
    let named = rows.filter_map(|(name, row)| {
        let mut found = Vec::new();
        row.fields.values().for_each(|field| functions(&field.node, 0, &mut found));
        found.dedup();
        (!found.is_empty()).then(|| (&**name, found.join(", ")))
    });
    named.collect()
}

/// The functions that stand in a field of a row.
fn functions(node: &DocumentNode, depth: usize, out: &mut Vec<String>) {
    match &node.data {
        NodeValue::Table(table) if depth < limits::CHAIN => {
            for (key, field) in table {
                match (&**key, field.node.as_text()) {
                    // a step that is a function is told with the texts that it rewrote
                    ("script", Some(function)) if function.contains("::") => out.push(function.to_owned()),
                    ("rhai", Some(source)) => out.push(format!("rhai {}", head(source, ITEM_TEXT))),
                    _ => functions(&field.node, depth + 1, out),
                }
            }
        }
        NodeValue::List(list) if depth < limits::CHAIN => list.iter().for_each(|node| functions(node, depth + 1, out)),
        _ => {}
    }
}

/// The rows of values and items for a terminal, each with what made the change.
pub fn scripted_rows(json: &Json, text: &dyn Fn(&Json) -> String, by: &dyn Fn(&Json) -> String) -> [Vec<Vec<String>>; 2] {
    let each = |name: &str| json.get(name).and_then(Json::as_array).into_iter().flatten();
    let of = |row: &Json, key: &str| row.get(key).map(text).unwrap_or_default();
    let who = |row: &Json| {
        let hook = of(row, "hook");
        let rule = of(row, "rule");
        let who = match (hook.is_empty(), rule.is_empty()) {
            (true, _) => by(row),
            (false, true) => format!("hook {hook}"),
            (false, false) => format!("hook {hook} ({rule})"),
        };
        let function = of(row, "function");
        if function == hook { who } else { format!("{who}: {function}") }
    };
    let change = |row: &Json| format!("{} → {}", of(row, "was"), of(row, "is"));
    let values = each("values").map(|row| vec![of(row, "path"), change(row), who(row)]);
    let items = each("items").map(|row| {
        let field = of(row, "field");
        let what = if field.is_empty() { format!("{:?}", of(row, "text")) } else { format!("{field}: {}", change(row)) };
        let named = format!("{} {}", of(row, "list"), of(row, "id"));
        vec![of(row, "did"), named.trim_end().to_owned(), what, who(row)]
    });
    [values.collect(), items.collect()]
}
