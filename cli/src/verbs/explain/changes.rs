//! `tapster explain --changes`: what each macro, regex script and hook did, in the order in which they ran.

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use crate::model::Plan;
use crate::model::plan::BuildStep;
use crate::pack::Ruleset;

use crate::layout::{head, one_line, place_of, table};

use super::scripted;

/// The most rows of each kind.
const ROWS: usize = 1_000;
/// The most characters of a text in JSON.
const TEXT: usize = 2_000;
/// The most characters of a text in the terminal.
const SHOWN: usize = 60;
/// How many characters before a difference are shown.
const BEFORE: usize = 20;

/// The two texts from shortly before their first difference on.
fn differing(before: &str, after: &str) -> (String, String) {
    let same = before.chars().zip(after.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let rest: String = text.chars().skip(from).take(SHOWN + 1).collect();
        format!("{}{}", if from > 0 { "…" } else { "" }, head(&rest, SHOWN))
    };
    (cut(before), cut(after))
}

/// A macro as it was expanded: its name, arguments, result and pass.
type MacroExpansion<'a> = (&'a str, &'a [String], Option<&'a str>, &'a str);

/// Everything that changed a text. With a filter, only what holds it.
pub(super) fn as_json(plan: &Plan, rules: &Ruleset, filter: Option<&str>) -> Json {
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
        .map(|stat| json!({ "name": stat.name, "stage": stat.stage, "value": super::gate::short(&stat.value) }))
        .collect();
    let (values, items) = (scripted::values(plan, rules, &fits), scripted::items(plan, rules, &fits));
    let more = [&macros, &scripts, &values, &items].iter().map(|rows| rows.len().saturating_sub(ROWS)).sum::<usize>();
    let first = |rows: Vec<Json>| rows.into_iter().take(ROWS).collect::<Vec<_>>();
    json!({
        "macros": first(macros), "scripts": first(scripts), "values": first(values), "items": first(items), "hooks": hooks,
        "recorded": recorded, "left_out": more,
    })
}

/// A text of bounded length, with its line breaks.
fn cut(text: &str) -> String {
    let mut out: String = text.chars().take(TEXT).collect();
    if text.chars().nth(TEXT).is_some() {
        out.push('…');
    }
    out
}

pub(super) fn as_text(json: &Json) -> String {
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
            format!("{:?}", head(m["result"].as_str().unwrap_or_default(), SHOWN))
        };
        let times = if m["times"].as_u64() == Some(1) { String::new() } else { format!("{} times", m["times"]) };
        vec![head(&format!("{{{{{}{}}}}}", text(&m["name"]), args.concat()), SHOWN), format!("→ {result}"), times, by(m)]
    });
    part("macros", macros.collect(), "no macro was evaluated");
    let scripts =
        each("scripts").map(|s| vec![text(&s["script"]), format!("{:?}", text(&s["from"])), format!("→ {:?}", text(&s["to"])), by(s)]);
    part("\nregex and other scripts", scripts.collect(), "no script has changed a text");
    let [values, items] = scripted::rows(json, &text, &by);
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
