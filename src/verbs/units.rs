//! Units of spending: single items, bundles that are kept or evicted together, or bundles whose first item must fit.

use rustc_hash::FxHashSet;

use crate::model::{Item, Term, TermType, Value, item::core};
use crate::terms::among;

/// The term that [`ItemUnit::of`] reads.
pub const UNIT: Term = Term { name: "unit", kind: TermType::Defined("unit"), doc: "" };

/// What is admitted or evicted at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ItemUnit {
    /// One item.
    #[default]
    Item,
    /// All live items with one `bundle`, wherever they stand.
    Bundle,
    /// A bundle's first item, then the others one by one, newest first.
    Lead,
}

impl ItemUnit {
    /// Reads the word.
    #[must_use]
    pub fn of(word: Option<&str>) -> Self {
        match word {
            Some("bundle") => ItemUnit::Bundle,
            Some("lead") => ItemUnit::Lead,
            _ => ItemUnit::Item,
        }
    }
}

/// Some items that go together, by index, and whether they are a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemGroup {
    /// The items.
    pub members: Vec<usize>,
    /// They share a bundle.
    pub bundled: bool,
}

/// The units of the visited items, each standing where its first member is visited.
#[must_use]
pub fn units(items: &[Item], visited: &[usize], unit: ItemUnit) -> Vec<ItemGroup> {
    // where the work of the build is spent, the next step of it fails
    let canonical = |bundle: &Value| among::canonical(bundle).unwrap_or_default();
    let bundle = |n: usize| items.get(n).and_then(|i| i.get(core::BUNDLE)).filter(|b| !b.is_empty()).map(canonical);
    if unit == ItemUnit::Item {
        return visited.iter().map(|n| ItemGroup { members: vec![*n], bundled: false }).collect();
    }
    let mut members: rustc_hash::FxHashMap<String, Vec<usize>> = rustc_hash::FxHashMap::default();
    for (n, item) in items.iter().enumerate().filter(|(_, i)| i.enabled()) {
        if let Some(b) = item.get(core::BUNDLE).filter(|b| !b.is_empty()) {
            members.entry(canonical(b)).or_default().push(n);
        }
    }
    let mut seen = FxHashSet::default();
    let mut out = Vec::new();
    for n in visited {
        if !seen.insert(*n) {
            continue;
        }
        let all = bundle(*n).and_then(|b| members.get(&b).cloned()).unwrap_or_else(|| vec![*n]);
        seen.extend(all.iter().copied());
        let bundled = bundle(*n).is_some();
        if unit == ItemUnit::Bundle {
            out.push(ItemGroup { members: all, bundled });
        } else {
            let lead = all.first().copied();
            let rest = all.iter().skip(1).rev().copied();
            out.extend(lead.into_iter().chain(rest).map(|n| ItemGroup { members: vec![n], bundled: false }));
        }
    }
    out
}
