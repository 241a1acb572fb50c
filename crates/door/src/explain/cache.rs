//! `tapster explain --cache` and `--previous`: how much of a request is the same as in the previous one, and the rule
//! that made the difference.

use serde_json::{Value as Json, json};

use crate::layout::{head, place_of};
use crate::model::plan::{PlanDifference, UnchangedPrefix};
use crate::model::{Plan, Scene, Value};
use crate::pack::Ruleset;

/// The most characters that are shown of each of the two texts.
const TEXT: usize = 100;

/// One line that says how much is unchanged.
pub fn line(found: &UnchangedPrefix) -> String {
    // rounded to the nearest percent
    let (same, total) = (u128::from(found.tokens), u128::from(found.total));
    let share = (same * 200 + total).checked_div(total * 2).unwrap_or(100);
    format!("{} of {} tokens are an unchanged beginning ({share} %)", found.tokens, found.total)
}

/// What the provider caches, and the row of `capability` that says so.
pub struct ProviderCache {
    caching: String,
    row: String,
}

impl ProviderCache {
    /// By the pack's program `capability`; `None` if it has none, or no row says it.
    pub fn of(plan: &Plan, rules: &Ruleset, dialect: &str) -> Option<Self> {
        let mut scene = Scene { data: plan.scene.clone(), ..plan.given.clone() };
        scene.trace = false;
        scene.set("dialect", Value::text(dialect));
        let done = crate::build::run(rules, "capability", &scene, &[]).ok()?;
        let text = |path: &str| done.get(path).as_str().map(str::to_owned);
        Some(Self { caching: text("capability.caching")?, row: text("capability.by.caching")? })
    }
}

pub fn as_json(found: &UnchangedPrefix, provider: Option<&ProviderCache>, plan: &Plan, rules: &Ruleset) -> Json {
    let mut out = serde_json::to_value(found).unwrap_or_default();
    if let (Some(provider), Some(json)) = (provider, out.as_object_mut()) {
        json.insert("provider".to_owned(), json!({ "caching": provider.caching, "capability": provider.row }));
    }
    if let (Some(differs), Some(json)) = (&found.differs, out.get_mut("differs").and_then(Json::as_object_mut)) {
        json.insert("rule".to_owned(), json!(differs.pass.as_deref().and_then(|p| place_of(rules, p))));
        if let Some(setter) = differs.from.as_deref().and_then(|path| setter(plan, rules, path)) {
            json.insert("from_rule".to_owned(), json!(place_of(rules, &setter)));
            json.insert("from_pass".to_owned(), json!(setter));
        }
    }
    out
}

pub fn as_text(found: &UnchangedPrefix, provider: Option<&ProviderCache>, plan: &Plan, rules: &Ruleset) -> String {
    let mut out = format!("{}, {} blocks whole\n", line(found), found.blocks);
    if let Some(provider) = provider {
        out.push_str(&format!("the provider caches {} (capability `{}`)\n", head(&provider.caching, 200), provider.row));
    }
    let Some(d) = &found.differs else { return out };
    let at = d.at.map(|n| format!(" from byte {n} on")).unwrap_or_default();
    out.push_str(&format!("block {} `{}` is the first that differs: {}{at}\n", d.index, head(&d.id, 60), d.what));
    for line in blame(d, plan, rules) {
        out.push_str(&format!("  {line}\n"));
    }
    let from = d.at.unwrap_or(0);
    for (word, text) in [("was", &d.was), ("is", &d.is)] {
        let rest = text.get(from..).unwrap_or(text);
        if !rest.is_empty() {
            out.push_str(&format!("  {word}: {}\n", head(rest, TEXT)));
        }
    }
    out
}

/// The passes that made the difference, the nearest first.
fn blame(d: &PlanDifference, plan: &Plan, rules: &Ruleset) -> Vec<String> {
    let placed = |pass: &str| place_of(rules, pass).map_or_else(|| format!("`{pass}`"), |place| format!("`{pass}` ({place})"));
    let mut out = Vec::new();
    if let Some(name) = &d.by_macro {
        out.push(format!("macro `{{{{{}}}}}` gives another text", head(name, 60)));
    }
    if let Some(name) = &d.by_script {
        out.push(format!("script `{}` gives another text", head(name, 60)));
    }
    if let Some(path) = &d.from {
        let by = setter(plan, rules, path).map(|pass| format!(", set by pass {}", placed(&pass))).unwrap_or_default();
        out.push(format!("its text is `{}`{by}", head(path, 60)));
    }
    match (&d.pass, d.what) {
        (Some(pass), "gone") => out.push(format!("trimmed by pass {}", placed(pass))),
        (Some(pass), "changed") => out.push(format!("written by pass {}", placed(pass))),
        (Some(pass), _) => out.push(format!("placed by pass {}", placed(pass))),
        (None, "gone") => out.push("no rule has trimmed it: the scene has it no more, or a pass dropped it".to_owned()),
        (None, _) => {}
    }
    out
}

/// The last pass of a build that set `$path`.
pub fn setter(plan: &Plan, rules: &Ruleset, path: &str) -> Option<String> {
    let rows = rules.pack().tables.get("pass")?;
    let sets = |pass: &str| rows.get(pass)?.fields.get("set")?.node.as_table()?.get(path).map(|_| ());
    plan.trace.as_ref()?.passes.iter().rev().find(|p| sets(&p.pass).is_some()).map(|p| p.pass.clone())
}
