//! The trail: what passes did to which items, and why. Kept only when tracing; otherwise it costs a look at one flag.

use std::sync::Arc;

use crate::model::plan::Rewrite;
use crate::model::{Item, Value};

use super::State;

/// Most rewritten texts that a trail keeps.
const MOST_REWRITES: usize = 10_000;

/// One event of the trail: what a pass did to an item. Only kept when tracing.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Event {
    /// The item, by its number.
    pub item: u32,
    /// The pass.
    pub pass: Arc<str>,
    /// What it did: `made`, `set`, `shaped`, `placed`, `dropped`, `merged`, `evicted`, `admitted`.
    pub did: &'static str,
}

/// Numbers of one run of a pass. Only kept when tracing.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Stat {
    /// The pass.
    pub pass: Arc<str>,
    /// Items in its list afterwards, as far as they have been read.
    pub items: usize,
}

/// Why something became of an item: the code of a pass, and what it found. Only kept when tracing.
#[derive(Debug, Clone)]
pub struct Reason {
    /// The item's list.
    pub list: Arc<str>,
    /// The item's id.
    pub id: Arc<str>,
    /// Its field `book`; empty where it has none.
    pub book: Arc<str>,
    /// The pass.
    pub pass: Arc<str>,
    /// The pass's `because`.
    pub because: Arc<str>,
    /// What the verb knows about it: the key that was found, and where.
    pub detail: Value,
}

impl State {
    /// A number for a new item, when a trail is kept; 0 otherwise.
    pub fn number(&self) -> u32 {
        if self.trail.is_none() {
            return 0;
        }
        let next = self.next_seq.get() + 1;
        self.next_seq.set(next);
        next
    }

    /// Notes what happened to an item, when a trail is kept.
    pub fn note(&self, item: &Item, did: &'static str) {
        if let Some(trail) = &self.trail {
            trail.borrow_mut().push(Event { item: item.seq, pass: self.pass.borrow().clone(), did });
            self.explain(item, Value::Null);
        }
    }

    /// Notes that a script changed a text, when a trail is kept.
    pub fn rewritten(&self, script: &Arc<str>, before: &Arc<str>, after: &Arc<str>) {
        if self.trail.is_some() && self.rewrites.borrow().len() < MOST_REWRITES {
            let (script, before, after) = (script.to_string(), before.to_string(), after.to_string());
            self.rewrites.borrow_mut().push(Rewrite { pass: self.pass.borrow().to_string(), script, before, after });
        }
    }

    /// Notes why, when a trail is kept and the running pass says `because`.
    pub fn explain(&self, item: &Item, detail: Value) {
        if self.trail.is_none() {
            return;
        }
        let Some(because) = self.because.borrow().clone() else { return };
        let list = self.rules.lists.get(usize::from(item.list)).map_or_else(|| Arc::from(""), |l| l.name.clone());
        let id = item.get(crate::model::item::core::ID).map(Value::to_text).unwrap_or_default();
        let book = self.rules.fields.id("book").and_then(|f| item.get(f)).map(Value::to_text).unwrap_or_default();
        self.reasons.borrow_mut().push(Reason { list, id, book, pass: self.pass.borrow().clone(), because, detail });
    }
}
