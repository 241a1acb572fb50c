//! Which passes, rows and conditions were exercised by cases, as text and as LCOV.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::diag::SourcePlace;
use crate::model::Value;
use crate::model::value::RuleRef;
use crate::pack::Ruleset;
use crate::terms::coverage::{CellSeen, CoverageSink, PassSeen};
use crate::verbs::CompiledPass;

/// Something of a row that can be exercised: the table, the row, and the cell.
type RowCell = (String, String, String);

/// What one or more cases have exercised.
#[derive(Debug, Clone, Default)]
pub struct ExercisedRules {
    /// Passes, by their names.
    pub passes: BTreeMap<String, PassSeen>,
    /// Values of rows.
    pub values: BTreeSet<RowCell>,
    /// Conditions of rows, and whether they held.
    pub conditions: BTreeSet<(RowCell, bool)>,
}

impl ExercisedRules {
    /// What a sink has seen.
    #[must_use]
    pub fn of(seen: &CoverageSink, rules: &Ruleset) -> Self {
        let mut out = Self::default();
        out.passes.extend(seen.passes().into_iter().map(|(pass, seen)| (pass.to_string(), seen)));
        let saw = seen.cells();
        for (cell, rule) in cells(rules) {
            match rule {
                RuleRef::Expr(n) if saw.contains(&CellSeen::Value(n)) => drop(out.values.insert(cell)),
                RuleRef::Cond(n) => {
                    for held in [true, false] {
                        if saw.contains(&CellSeen::Condition(n, held)) {
                            out.conditions.insert((cell.clone(), held));
                        }
                    }
                }
                RuleRef::Expr(_) => {}
            }
        }
        out
    }

    /// Adds what another case has exercised.
    pub fn add(&mut self, other: &Self) {
        for (pass, seen) in &other.passes {
            self.passes.entry(pass.clone()).or_default().add(*seen);
        }
        self.values.extend(other.values.iter().cloned());
        self.conditions.extend(other.conditions.iter().cloned());
    }
}

/// The compiled cells of the rows of a pack.
fn cells(rules: &Ruleset) -> Vec<(RowCell, RuleRef)> {
    let mut out = Vec::new();
    for (table, rows) in &rules.programs().rules.tables {
        for row in rows.all.as_list().unwrap_or_default() {
            let name = row.get("name").map(Value::to_text).unwrap_or_default();
            for (key, value) in row.as_map().into_iter().flat_map(|map| map.iter()) {
                if let Value::Rule(rule) = value {
                    out.push(((table.to_string(), name.to_string(), key.to_string()), *rule));
                }
            }
        }
    }
    out
}

/// One thing that was exercised or not.
#[derive(Debug, Clone)]
pub struct CoveragePoint {
    /// The file, as messages show it.
    pub file: String,
    /// Its line.
    pub line: usize,
    /// What it is: ``pass `lore/scan` ``.
    pub what: String,
    /// Whether it was exercised.
    pub hit: bool,
}

/// The coverage of the files of one pack, or of one file.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// Passes that ran: their `when` held, whether or not their `where` chose an item.
    pub passes: Vec<CoveragePoint>,
    /// Rows with at least one evaluated cell, among those that have cells.
    pub rows: Vec<CoveragePoint>,
    /// Sides of conditions: `when` held and did not, `where` chose an item and left one out.
    pub conditions: Vec<CoveragePoint>,
}

/// The passes that are written in places which `is_own` takes, with these places: where they are named, or else where the
/// last such patch of them is.
pub fn passes_in<'r>(
    rules: &'r Ruleset,
    is_own: &'r dyn Fn(&SourcePlace) -> bool,
) -> impl Iterator<Item = (&'r CompiledPass, SourcePlace)> {
    let passes = rules.programs().list.iter().flat_map(|program| program.passes());
    passes.filter_map(move |pass| {
        let place = written(rules, "pass", &pass.id, is_own);
        Some((&**pass, place.or_else(|| rules.sources().place(pass.span).filter(is_own))?))
    })
}

/// Where a row is written, among the places that are asked for: where it is named, or else where it is patched.
fn written(rules: &Ruleset, table: &str, name: &str, is_own: &dyn Fn(&SourcePlace) -> bool) -> Option<SourcePlace> {
    let row = rules.pack().tables.get(table)?.get(name)?;
    std::iter::once(&row.name_span).chain(row.patched.iter().rev()).find_map(|span| rules.sources().place(*span).filter(is_own))
}

impl Coverage {
    /// The coverage of what is written in the places that `is_own` takes: rows, and what patches say of the rows of others.
    #[must_use]
    pub fn of(rules: &Ruleset, is_own: &dyn Fn(&SourcePlace) -> bool, covered: &ExercisedRules) -> Self {
        let mut out = Self::default();
        let is_written_here = |table: &str, row: &str, key: &str| {
            let Some(row) = rules.pack().tables.get(table).and_then(|rows| rows.get(row)) else { return true };
            let span = row.fields.get(key).map_or(row.name_span, |field| field.node.span);
            rules.sources().place(span).is_some_and(|at| is_own(&at))
        };
        for (pass, at) in passes_in(rules, is_own) {
            let seen = covered.passes.get(&*pass.id).copied().unwrap_or_default();
            let point = |what: String, hit: bool| CoveragePoint { file: at.file.to_string(), line: at.line, what, hit };
            out.passes.push(point(format!("pass `{}`", pass.id), seen.ran));
            if pass.when.is_some() && is_written_here("pass", &pass.id, "when") {
                out.conditions.push(point(format!("pass `{}`: `when` holds", pass.id), seen.ran));
                out.conditions.push(point(format!("pass `{}`: `when` does not hold", pass.id), seen.skipped));
            }
            if pass.select.filter.is_some() && is_written_here("pass", &pass.id, "where") {
                out.conditions.push(point(format!("pass `{}`: `where` chooses", pass.id), seen.chose));
                out.conditions.push(point(format!("pass `{}`: `where` leaves out", pass.id), seen.left));
            }
        }
        let mut rows: IndexMap<(String, String), CoveragePoint> = IndexMap::new();
        for ((table, row, key), rule) in cells(rules) {
            if !is_written_here(&table, &row, &key) {
                continue;
            }
            let Some(at) = written(rules, &table, &row, is_own) else { continue };
            let cell = (table.clone(), row.clone(), key.clone());
            let held = |held: bool| covered.conditions.contains(&(cell.clone(), held));
            let hit = covered.values.contains(&cell) || held(true) || held(false);
            let point = |what: String, hit: bool| CoveragePoint { file: at.file.to_string(), line: at.line, what, hit };
            let known = rows.entry((table.clone(), row.clone())).or_insert_with(|| point(format!("{table} `{row}`"), false));
            known.hit |= hit;
            if matches!(rule, RuleRef::Cond(_)) {
                out.conditions.push(point(format!("{table} `{row}`: `{key}` holds"), held(true)));
                out.conditions.push(point(format!("{table} `{row}`: `{key}` does not hold"), held(false)));
            }
        }
        out.rows = rows.into_values().collect();
        out
    }

    /// Adds what the cases of the same files on other rules have exercised.
    pub fn add(&mut self, other: Self) {
        let both = [(&mut self.passes, other.passes), (&mut self.rows, other.rows), (&mut self.conditions, other.conditions)];
        for (points, others) in both {
            let mut known: HashMap<(usize, String), usize> =
                points.iter().enumerate().map(|(n, p)| ((p.line, p.what.clone()), n)).collect();
            for point in others {
                match known.get(&(point.line, point.what.clone())).and_then(|n| points.get_mut(*n)) {
                    Some(own) => own.hit |= point.hit,
                    None => {
                        known.insert((point.line, point.what.clone()), points.len());
                        points.push(point);
                    }
                }
            }
        }
    }

    /// How many of the points were exercised.
    #[must_use]
    pub fn hit(points: &[CoveragePoint]) -> usize {
        points.iter().filter(|point| point.hit).count()
    }

    /// The coverage as LCOV: lines are passes and rows, branches are the sides of conditions.
    #[must_use]
    pub fn lcov(&self) -> String {
        type Lines<'p> = BTreeMap<usize, bool>;
        let mut files: BTreeMap<&str, (Lines<'_>, Vec<&CoveragePoint>)> = BTreeMap::new();
        for point in self.passes.iter().chain(&self.rows) {
            *files.entry(&point.file).or_default().0.entry(point.line).or_default() |= point.hit;
        }
        for point in &self.conditions {
            files.entry(&point.file).or_default().1.push(point);
        }
        let mut out = String::new();
        for (file, (lines, branches)) in files {
            let _ = writeln!(out, "TN:\nSF:{file}");
            let mut at: BTreeMap<usize, usize> = BTreeMap::new();
            for branch in &branches {
                let n = at.entry(branch.line).or_default();
                let _ = writeln!(out, "BRDA:{},0,{n},{}", branch.line, u8::from(branch.hit));
                *n += 1;
            }
            let _ = writeln!(out, "BRF:{}\nBRH:{}", branches.len(), branches.iter().filter(|b| b.hit).count());
            for (line, hit) in &lines {
                let _ = writeln!(out, "DA:{line},{}", u8::from(*hit));
            }
            let _ = writeln!(out, "LF:{}\nLH:{}\nend_of_record", lines.len(), lines.values().filter(|hit| **hit).count());
        }
        out
    }
}
