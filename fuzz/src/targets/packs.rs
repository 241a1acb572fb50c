//! The shipped packs, each opened once in a process, and packs that inputs bring.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use tapster::Ruleset;
use tapster::diag::Report;
use tapster::pack::{Library, PackFiles, Shelf};

static OPEN: LazyLock<Mutex<BTreeMap<String, Ruleset>>> = LazyLock::new(Mutex::default);

/// A shipped pack; `base` for a name that is none.
pub(super) fn shipped(name: &str) -> Ruleset {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = Shelf::default().names().iter().any(|known| known == name);
    let name = if known { name } else { "base" };
    let opened = || Ruleset::open(name, &[]).unwrap_or_else(|rejected| panic!("{name}: {rejected}"));
    open.entry(name.to_owned()).or_insert_with(opened).clone()
}

/// A library in which the pack `p` has these files.
pub(super) struct Own(pub(super) PackFiles);

impl Library for Own {
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles> {
        if name == self.0.name { Some(self.0.clone()) } else { Shelf::default().find(name, report) }
    }

    fn names(&self) -> Vec<String> {
        vec![self.0.name.clone()]
    }
}
