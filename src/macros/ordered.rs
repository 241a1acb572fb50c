//! Expanding a text in the ordered flavour: one pass of the pack after another over the whole text.

use std::sync::Arc;

use super::call::{self, MacroContext, MacroRow, ResultKind};
use super::host::Macros;
use super::passes::{MacroPass, MacroPasses, escaped};
use crate::model::Value;
use crate::text::TextLimits;
use crate::text::js;
use crate::macros::syntax::passes::{PassHit, PassText};
use crate::macros::syntax::{ExpandedText, MacroCall, MacroHost, MacroResult};
use crate::text::pattern;
use crate::text::written::ToText as _;

/// Expands the text of `macros` in the ordered flavour; `inside` a macro of another text.
pub(super) fn run(macros: &Macros<'_>, limits: TextLimits, inside: bool) -> ExpandedText {
    if macros.given.is_empty() {
        return PassText::new(&macros.given, limits).done();
    }
    let passes = macros.table.passes();
    let hidden = |pass: &MacroPass| inside && pass.outer;
    for n in &passes.eager {
        let Some(row) = passes.rows.get(*n).filter(|_| !passes.passes.get(*n).is_some_and(hidden)) else { continue };
        // only what it writes and what is remembered counts
        let _ = macros.row(row, &called(row, &[], 0, &macros.given));
    }
    let mut flat = PassText::new(&macros.given, limits);
    for pass in &passes.passes {
        if !flat.goes_on() {
            break;
        }
        if let Some(whole) = macros.ended() {
            return flat.ended(whole);
        }
        if pass.beside || hidden(pass) || pass.braces && !flat.has_braces() {
            continue;
        }
        if pass.given {
            given_names(macros, passes, &mut flat);
        }
        let (Some(find), Some(row)) = (&pass.find, passes.rows.get(pass.row)) else { continue };
        if pass.others.is_empty() {
            flat.pass(find, |hit| macros.matched(pass, row, hit));
            continue;
        }
        let others = pass.others.iter().filter_map(|n| {
            let pass = passes.passes.get(*n).filter(|pass| !hidden(pass))?;
            Some((pass.find.as_ref()?, (pass, passes.rows.get(pass.row)?)))
        });
        let (finds, rows): (Vec<_>, Vec<_>) = std::iter::once((find, (pass, row))).chain(others).unzip();
        flat.pass_of_several(&finds, |n, hit| rows.get(n).map_or(MacroResult::Unknown, |(pass, row)| macros.matched(pass, row, hit)));
    }
    match macros.ended() {
        Some(whole) => flat.ended(whole),
        None => flat.done(),
    }
}

/// Names that are given for this text alone, and those of the application, which replace no row.
fn given_names(macros: &Macros<'_>, passes: &MacroPasses, flat: &mut PassText) {
    let of_application = macros.own.then(|| macros.st.lookup(&["macros".into()], None));
    let names = macros.with.as_map().into_iter().flat_map(|map| map.keys());
    let names = names.chain(of_application.iter().filter_map(Value::as_map).flat_map(|map| map.keys()));
    for name in names.filter(|name| !passes.rows.iter().any(|row| row.name == **name)) {
        // a name that cannot become a pattern is longer than any macro
        let Ok(find) = pattern::cached(&format!(r"/\{{\{{{}\}}\}}/gi", escaped(name))) else { continue };
        flat.pass(&find, |_| match macros.with.get(name) {
            Some(value) => call::says(shown(value)),
            None => macros.of_host(name, &[]).unwrap_or(MacroResult::Unknown),
        });
    }
}

/// A given value as a text.
fn shown(value: &Value) -> Arc<str> {
    match value {
        Value::Null => "".into(),
        Value::List(_) | Value::Map(_) => value.shown(),
        other => other.shown(),
    }
}

fn called<'a>(row: &'a MacroRow, args: &'a [Arc<str>], at: usize, source: &'a Arc<str>) -> MacroCall<'a> {
    MacroCall {
        name: &row.name,
        id: Some(row.id),
        args,
        written: &row.name,
        branches: &[],
        block: false,
        keeps: false,
        at,
        origin: (0, 0),
        source,
        walk: None,
    }
}

impl Macros<'_> {
    fn matched(&self, pass: &MacroPass, row: &MacroRow, hit: &PassHit<'_>) -> MacroResult {
        let takes_given = matches!(row.gives, ResultKind::Function(f) if f.name == "given");
        if let Some(value) = self.with.as_map().and_then(|map| map.get(&row.name)).filter(|_| !takes_given) {
            return call::says(shown(value));
        }
        let mut args: Vec<Arc<str>> = Vec::new();
        for (n, group) in hit.groups.iter().enumerate() {
            let group = if pass.trim_all || pass.trim.contains(&(n + 1)) { js::trim(group) } else { group };
            match pass.split.as_deref().filter(|_| n + 1 == hit.groups.len()) {
                Some(sep) => args.extend(group.split(sep).map(Arc::from)),
                None => args.push(group.into()),
            }
        }
        self.row(row, &called(row, &args, hit.at, hit.source))
    }
}
