//! Macros of a pack: rows of table `macro`, each a value, a text, or a function of the library under a name.
//!
//! A first cut: reading, texts, outlets, repeats, variables and chance. The ordered flavour, scoped blocks and the
//! time formats come with the text work; a macro whose function is not known here stays as written.

use std::sync::Arc;

use crate::model::{Map, RuleRef, Value};
use crate::terms::select::pass_env;
use crate::terms::{Memo, State};
use crate::text::macros::{LegacyMarker, MacroHost, MacroResult, Offset};

/// The macro table over one build.
pub struct Macros<'a> {
    st: &'a State,
    with: &'a Value,
    legacy: Vec<LegacyMarker>,
}

impl<'a> Macros<'a> {
    /// A host over a state; `with` holds local names that win over the table.
    #[must_use]
    pub fn new(st: &'a State, with: &'a Value) -> Self {
        let rows = st.rules.table("legacy_marker");
        let legacy = rows.as_list().unwrap_or(&[]).iter().map(|row| LegacyMarker {
            find: row.get("name").map(Value::to_text).unwrap_or_default(),
            with: row.get("means").map(Value::to_text).unwrap_or_default(),
        });
        Self { st, with, legacy: legacy.collect() }
    }

    fn row(&self, name: &str) -> Option<Value> {
        if let Some(row) = self.st.rules.row("macro", name) {
            return Some(row);
        }
        let rows = self.st.rules.table("macro");
        let named = |row: &&Value| {
            let alias = |list: &Value| list.as_list().is_some_and(|l| l.iter().any(|a| a.to_text().eq_ignore_ascii_case(name)));
            row.get("name").is_some_and(|n| n.to_text().eq_ignore_ascii_case(name)) || row.get("aliases").is_some_and(alias)
        };
        rows.as_list()?.iter().find(named).cloned()
    }

    fn value(&self, cell: &Value) -> Result<Value, String> {
        let Value::Rule(RuleRef::Expr(n)) = cell else { return Ok(cell.clone()) };
        let memo = Memo::default();
        pass_env(self.st, &memo).eval(self.st.rules.expr(*n)).map_err(|f| f.message)
    }

    /// A macro of the application (`$macros.NAME`): a text, or a function that is given the arguments.
    fn of_host(&self, name: &str, args: &[Arc<str>]) -> Option<MacroResult> {
        let macros = self.st.lookup(&["macros".into()], None);
        let found = local(macros.as_map()?, name)?;
        let Some(function) = found.get("host").map(Value::to_text) else { return Some(MacroResult::Text(found.to_text())) };
        let Some(run) = self.st.host.get(function.as_ref()) else {
            return Some(MacroResult::Failed(format!("the embedding program offers no function `{function}`")));
        };
        let given = Value::list(args.iter().cloned().map(Value::Text).collect());
        Some(run(&given).map_or_else(MacroResult::Failed, |v| MacroResult::Text(v.to_text())))
    }

    fn argument(&self, row: &Value, args: &[Arc<str>], n: usize, name: &str) -> Option<Value> {
        if let Some(given) = args.get(n) {
            return Some(Value::Text(given.clone()));
        }
        let fixed = row.get("with").and_then(|w| w.get(name)).cloned();
        fixed.or_else(|| {
            row.get("args")?.as_list()?.iter().find(|a| a.get("name").and_then(Value::as_str) == Some(name))?.get("default").cloned()
        })
    }

    fn function(&self, function: &str, row: &Value, args: &[Arc<str>], name: &str) -> MacroResult {
        let text = |v: Option<Value>| v.map(|v| v.to_text()).unwrap_or_default();
        match function {
            "repeat" => {
                let unit = text(row.get("with").and_then(|w| w.get("text")).cloned());
                let times =
                    self.argument(row, args, 0, "count").map(|v| v.to_text()).and_then(|t| t.trim().parse::<usize>().ok()).unwrap_or(1);
                if unit.len().saturating_mul(times) > self.st.rules.limits.text_bytes {
                    return MacroResult::Failed(format!("`{{{{{name}}}}}` would repeat {times} times"));
                }
                MacroResult::Text(unit.repeat(times).into())
            }
            "eat_newlines" => MacroResult::EatNewlines,
            "comment" => MacroResult::Text("".into()),
            "reverse" => MacroResult::Text(args.first().map_or("", |a| a.as_ref()).chars().rev().collect::<String>().into()),
            "outlet" => MacroResult::Text(outlet(self.st, args)),
            "draw_one" => match args.len() {
                0 => MacroResult::Unknown,
                n => {
                    let stream = row.get("stream").map_or_else(|| Arc::from("macro.random"), Value::to_text);
                    let k = self.st.draws.borrow_mut().pick(&stream, n);
                    args.get(k).map_or(MacroResult::Unknown, |a| MacroResult::Text(a.clone()))
                }
            },
            "var_get" | "var_set" | "var_add" => self.variable(function, row, args),
            _ => MacroResult::Unknown,
        }
    }

    fn variable(&self, function: &str, row: &Value, args: &[Arc<str>]) -> MacroResult {
        let Some(name) = args.first() else { return MacroResult::Unknown };
        let store = row.get("with").and_then(|w| w.get("store")).map_or_else(|| Arc::from("local"), Value::to_text);
        let path: [Arc<str>; 3] = ["vars".into(), store, name.clone()];
        let old = self.st.lookup(&path, None);
        match function {
            "var_set" => {
                self.st.put(&path, Value::Text(args.get(1).cloned().unwrap_or_default()));
                MacroResult::Text("".into())
            }
            "var_add" => {
                let by = row.get("with").and_then(|w| w.get("by")).cloned();
                let by = by.unwrap_or_else(|| Value::Text(args.get(1).cloned().unwrap_or_default()));
                let number = |v: &Value| v.as_f64().or_else(|| v.to_text().trim().parse().ok());
                let sum = match (number(&old).or(old.is_null().then_some(0.0)), number(&by)) {
                    (Some(a), Some(b)) => Value::text(crate::model::value::number_text(a + b)),
                    _ => Value::text(format!("{}{}", old.to_text(), by.to_text())),
                };
                self.st.put(&path, sum.clone());
                let shown = row.get("with").and_then(|w| w.get("by")).is_some();
                MacroResult::Text(if shown { sum.to_text() } else { "".into() })
            }
            _ => MacroResult::Text(old.to_text()),
        }
    }
}

fn outlet(st: &State, args: &[Arc<str>]) -> Arc<str> {
    let Some(key) = args.first() else { return "".into() };
    st.lookup(&["outlet".into(), key.clone()], None).to_text()
}

impl MacroHost for Macros<'_> {
    fn call(&mut self, name: &str, args: &[Arc<str>], _at: Offset) -> MacroResult {
        if let Some(local) = self.with.as_map().and_then(|m| local(m, name)) {
            return MacroResult::Text(local.to_text());
        }
        if let Some(result) = self.of_host(name, args) {
            return result;
        }
        let Some(row) = self.row(name) else { return MacroResult::Unknown };
        if let Some(read) = row.get("read") {
            return match self.value(read) {
                Ok(v) => MacroResult::Text(v.to_text()),
                Err(message) => MacroResult::Failed(message),
            };
        }
        if let Some(text) = row.get("text") {
            return MacroResult::Text(text.to_text());
        }
        let function = row.get("fn").map(Value::to_text).unwrap_or_default();
        self.function(&function, &row, args, name)
    }

    fn legacy_markers(&self) -> &[LegacyMarker] {
        &self.legacy
    }
}

fn local<'m>(map: &'m Map, name: &str) -> Option<&'m Value> {
    map.iter().find(|(k, _)| k.eq_ignore_ascii_case(name)).map(|(_, v)| v)
}

/// Only `{{slot::name}}` and `{{outlet::name}}`: for the pass that fills outlets before macros are expanded.
pub struct OutletHost<'a> {
    st: &'a State,
}

impl<'a> OutletHost<'a> {
    /// A host over a state.
    #[must_use]
    pub fn new(st: &'a State) -> Self {
        Self { st }
    }
}

impl MacroHost for OutletHost<'_> {
    fn call(&mut self, name: &str, args: &[Arc<str>], _at: Offset) -> MacroResult {
        match name {
            "slot" | "outlet" if !args.is_empty() => MacroResult::Text(outlet(self.st, args)),
            _ => MacroResult::Unknown,
        }
    }
}
