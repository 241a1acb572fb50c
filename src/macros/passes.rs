//! The ordered flavour of a pack: the rows of table `macro_pass`, each one pass over the text, in their order.
//!
//! A row says what to search for; the replacement is written as in table `macro`, or taken from a row of it.

use std::sync::Arc;

use super::call::MacroRow;
use super::rows;
use super::rows::RowMistake;
use crate::diag::{Code, Report};
use crate::model::{Pack, Value};
use crate::terms::CompiledRules;
use crate::text::pattern::Pattern;

/// One pass.
pub(super) struct MacroPass {
    /// The pattern to search for; `None` for a row that is only evaluated beforehand.
    pub(super) find: Option<Pattern>,
    /// Which row gives what is put there.
    pub(super) row: usize,
    /// The text must hold `{{`.
    pub(super) braces: bool,
    /// Groups of the pattern that are trimmed, by their numbers from 1.
    pub(super) trim: Vec<usize>,
    /// All groups are trimmed.
    pub(super) trim_all: bool,
    /// The last group is parted at this text into several arguments.
    pub(super) split: Option<Arc<str>>,
    /// The names that are given for one text have their passes here.
    pub(super) given: bool,
    /// The pass is not there in texts that are expanded inside another.
    pub(super) outer: bool,
    /// It is part of the pass of another row.
    pub(super) beside: bool,
    /// The passes that are part of this one, by their numbers.
    pub(super) others: Vec<usize>,
}

/// Finds a row of table `macro` by its name or an alias.
type MacroLookup<'t> = &'t dyn Fn(&str) -> Option<&'t MacroRow>;

/// The passes of a pack.
#[derive(Default)]
pub struct MacroPasses {
    pub(super) passes: Vec<MacroPass>,
    pub(super) rows: Vec<MacroRow>,
    /// Rows that are evaluated before the first pass, in that order.
    pub(super) eager: Vec<usize>,
}

impl MacroPasses {
    /// Compiles table `macro_pass`, whose rows are numbered after the `known` ones; reports those that are wrong.
    pub(super) fn compile(
        named: MacroLookup<'_>,
        known: usize,
        rules: &CompiledRules,
        tested: bool,
        pack: &Pack,
        report: &mut Report,
    ) -> Self {
        let mut made = Self::default();
        let all = rules.table("macro_pass");
        let all = all.as_list().unwrap_or(&[]);
        let (mut used, mut eager): (Vec<&Value>, Vec<(i64, usize)>) = (Vec::new(), Vec::new());
        for cells in all {
            let number = made.rows.len();
            let id = u32::try_from(known + number).unwrap_or(u32::MAX);
            let row = definition(named, cells, all).and_then(|cells| rows::row(&cells, id));
            match row.and_then(|row| pass(cells, &row, number, tested).map(|pass| (row, pass))) {
                Ok((row, pass)) => {
                    eager.extend(cells.get("eager").and_then(Value::as_i64).map(|order| (order, number)));
                    used.push(cells);
                    made.rows.push(row);
                    made.passes.push(pass);
                }
                Err(wrong) => report.push(rows::complaint(&wrong, "macro_pass", cells, pack)),
            }
        }
        made.share(&used);
        made.join(&used, pack, report);
        for (pass, cells) in made.passes.iter().zip(&used) {
            if !tested && let Err(wrong) = made.fits(pass) {
                report.push(rows::complaint(&wrong, "macro_pass", cells, pack));
            }
        }
        eager.sort_unstable();
        made.eager = eager.into_iter().map(|(_, n)| n).collect();
        made
    }

    /// A row that refers to another pass has the same result as that pass: evaluated once, replaced by the same given
    /// name.
    fn share(&mut self, used: &[&Value]) {
        for (pass, cells) in self.passes.iter_mut().zip(used) {
            let of = cells.get("as").map(Value::to_text);
            if let Some(other) = of.and_then(|of| self.rows.iter().position(|row| row.name == of)) {
                pass.row = other;
            }
        }
    }

    /// Makes rows that stand beside another row part of its pass; reports those for which there is no such pass.
    fn join(&mut self, used: &[&Value], pack: &Pack, report: &mut Report) {
        for (n, cells) in used.iter().enumerate() {
            let Some(first) = cells.get("beside").map(Value::to_text) else { continue };
            let at = self.rows.iter().position(|row| row.name == first);
            match at.and_then(|at| self.passes.get_mut(at)).filter(|pass| pass.find.is_some() && !pass.beside) {
                Some(pass) => pass.others.push(n),
                None => {
                    let wrong = RowMistake {
                        cell: "beside",
                        code: Code::NameUnknown,
                        message: format!("there is no pass `{first}` that the row could be part of"),
                        help: Some("name a row of `macro_pass` that searches for something and has no `beside` itself".into()),
                    };
                    report.push(rows::complaint(&wrong, "macro_pass", cells, pack));
                }
            }
        }
    }

    /// Whether a pass has as many groups as its macro takes arguments.
    fn fits(&self, pass: &MacroPass) -> Result<(), RowMistake> {
        let groups = pass.find.as_ref().map_or(0, |find| find.names().len());
        let takes = self.rows.get(pass.row).is_none_or(|row| row.shape.takes(groups));
        if pass.find.is_none() || pass.split.is_some() || takes {
            return Ok(());
        }
        Err(RowMistake {
            cell: "find",
            code: Code::TermType,
            message: format!("the pattern has {groups} groups, but the macro does not take so many arguments"),
            help: Some("name its arguments with `args`, or write groups that are no arguments as `(?:…)`".into()),
        })
    }
}

/// The result of a row: what it says itself, otherwise that of the macro with that name, overlaid with its own cells.
fn definition(named: MacroLookup<'_>, cells: &Value, all: &[Value]) -> Result<Value, RowMistake> {
    let own = ["read", "text", "fn", "script", "given"].iter().any(|key| cells.get(key).is_some());
    let of = cells.get("as").or_else(|| cells.get("name")).map(Value::to_text).unwrap_or_default();
    let shared = cells.get("as").is_some() && all.iter().any(|pass| pass.get("name").is_some_and(|name| name.to_text() == of));
    match named(&of) {
        _ if own || shared => Ok(cells.clone()),
        Some(below) => Ok(cells.clone().over(below.cells.clone())),
        None => Err(RowMistake {
            cell: if cells.get("as").is_some() { "as" } else { "name" },
            code: Code::NameUnknown,
            message: format!("there is no macro `{of}` that the pass could take its meaning from"),
            help: Some("say what the pass gives with `read`, `text`, `fn` or `script`, or name a macro with `as`".into()),
        }),
    }
}

fn pass(cells: &Value, row: &MacroRow, number: usize, tested: bool) -> Result<MacroPass, RowMistake> {
    let given = cells.get("given") == Some(&Value::Bool(true));
    let find = match cells.get("find") {
        Some(Value::Bool(false)) => None,
        _ if given => None,
        Some(find) => Some(find.to_text().to_string()),
        None => {
            let aliases = cells.get("aliases").and_then(Value::as_list).unwrap_or(&[]).iter().map(Value::to_text);
            let names: Vec<_> = std::iter::once(row.name.clone()).chain(aliases).map(|name| escaped(&name)).collect();
            Some(format!(r"/\{{\{{(?:{})\}}\}}/gi", names.join("|")))
        }
    };
    let find = find.as_deref().map(|find| Pattern::of_rules(find, tested)).transpose().map_err(|e| RowMistake {
        cell: "find",
        code: Code::RegexBad,
        message: format!("the pattern cannot be used: {}", e.reason),
        help: Some("see docs/reference/language/conditions.md for the patterns that there are".into()),
    })?;
    let split = cells.get("split").map(Value::to_text).filter(|text| !text.is_empty());
    let trim = cells.get("trim");
    Ok(MacroPass {
        find,
        row: number,
        braces: cells.get("braces") != Some(&Value::Bool(false)),
        trim: trim.and_then(Value::as_list).into_iter().flatten().filter_map(|n| usize::try_from(n.as_i64()?).ok()).collect(),
        trim_all: trim == Some(&Value::Bool(true)),
        split,
        given,
        outer: cells.get("outer") == Some(&Value::Bool(true)),
        beside: cells.get("beside").is_some(),
        others: Vec::new(),
    })
}

/// A text as a pattern that matches it.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if r"\^$.*+?()[]{}|/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
