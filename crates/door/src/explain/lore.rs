//! `tapster explain --lore`: what happened to every lore entry of every book, in the order of the books.

use std::collections::{HashMap, VecDeque};

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use crate::explain::condition::field;
use crate::explain::remedy::{self, entry_steps};
use crate::explain::why;
use crate::layout::{head, one_line, place_of, table};
use crate::model::plan::{RecordedReason, SearchRecord};
use crate::model::{Plan, Value};
use crate::pack::Ruleset;

/// The most characters of the details that the table shows.
const DETAIL: usize = 200;
/// The code of an entry that became active.
const ACTIVE: &str = "active";

/// One entry and all reasons about it, in order.
pub struct EntryReasons<'a> {
    pub book: String,
    pub id: String,
    /// Its title; empty if it has none.
    title: String,
    /// What was searched for it, if nothing was found.
    pub searched: Option<&'a SearchRecord>,
    /// The indexes of the book in the scene and of the entry in the book; `None` for an entry that only the build
    /// knows.
    pub place: Option<(usize, usize)>,
    pub reasons: Vec<&'a RecordedReason>,
    /// Whether it is active: its last code says so, or the pack reports it under `$lore.active`.
    pub active: bool,
    /// The first block that is sent and holds its text.
    pub block: Option<usize>,
}

/// The reasons of the entries of one book and id, one queue element for each entry, in the order in which they were made.
type ReasonQueues<'a> = IndexMap<(String, String), VecDeque<Vec<&'a RecordedReason>>>;

impl EntryReasons<'_> {
    /// Its final state: the last code; `None` if no rule gives one.
    pub fn code(&self) -> Option<&str> {
        self.reasons.last().map(|r| r.because.as_str())
    }

    /// Its title and its id.
    pub fn name(&self) -> String {
        if self.title.is_empty() || self.title == self.id { self.id.clone() } else { format!("{} ({})", self.title, self.id) }
    }

    /// Whether this is its id or its title.
    pub fn is_named(&self, wanted: &str) -> bool {
        self.id == wanted || self.title == wanted
    }

    /// Whether its title, id, book, code or one of its keys holds the text; case does not count.
    pub fn fits(&self, filter: &str) -> bool {
        let wanted = filter.to_lowercase();
        let keys = self.searched.iter().flat_map(|s| &s.keys).map(String::as_str);
        let found = self.reasons.iter().filter_map(|r| r.detail.get("key").and_then(Value::as_str));
        let texts = [&*self.title, &self.id, &self.book, self.code().unwrap_or_default()];
        texts.into_iter().chain(keys).chain(found).any(|text| text.to_lowercase().contains(&wanted))
    }
}

/// The names of entries by book and id.
type EntryNames = HashMap<(String, String), String>;

fn text(value: &Value, field: &str) -> String {
    value.get(field).map(|v| v.to_text().to_string()).unwrap_or_default()
}

fn reason_queues(plan: &Plan) -> ReasonQueues<'_> {
    // a pack may move entries to other lists; a reason with a book is about an entry, whatever its list is
    let reasons = plan.trace.iter().flat_map(|t| &t.reasons).filter(|r| r.list == "entries" || !r.book.is_empty());
    let mut items: IndexMap<(&str, &str, u32), Vec<&RecordedReason>> = IndexMap::new();
    for reason in reasons {
        items.entry((&reason.book, &reason.id, reason.item)).or_default().push(reason);
    }
    items.sort_by(|(_, _, a), _, (_, _, b), _| a.cmp(b));
    let mut told = ReasonQueues::new();
    for ((book, id, _), reasons) in items {
        told.entry((book.to_owned(), id.to_owned())).or_default().push_back(reasons);
    }
    told
}

/// For each book of the scene the reason why the whole book was left out. Of several books with the same id and role,
/// the later ones are left out.
fn left_out<'a>(plan: &'a Plan, books: &[Value]) -> Vec<Option<&'a RecordedReason>> {
    let mut reasons: Vec<&RecordedReason> = plan.trace.iter().flat_map(|t| &t.reasons).filter(|r| r.list == "books").collect();
    let mut out: Vec<Option<&RecordedReason>> = books
        .iter()
        .rev()
        .map(|book| {
            let (id, role) = (text(book, "id"), text(book, "role"));
            let at = reasons.iter().position(|r| r.id == id && text(&r.detail, "role") == role)?;
            Some(reasons.remove(at))
        })
        .collect();
    out.reverse();
    out
}

/// The entries of the scene's books in their order, then those that only the build knows. With a filter, those that fit.
fn entries<'a>(plan: &'a Plan, filter: Option<&str>) -> (Vec<EntryReasons<'a>>, EntryNames) {
    let books = plan.scene.at("books").and_then(Value::as_list).unwrap_or_default();
    let (mut told, out) = (reason_queues(plan), left_out(plan, books));
    let mut all = Vec::new();
    for (b, (book, out)) in books.iter().zip(out).enumerate() {
        let name = text(book, "id");
        for (e, entry) in book.get("entries").and_then(Value::as_list).unwrap_or_default().iter().enumerate() {
            let id = text(entry, "id");
            let reasons = match out {
                Some(reason) => vec![reason],
                None => told.get_mut(&(name.clone(), id.clone())).and_then(VecDeque::pop_front).unwrap_or_default(),
            };
            let title = Some(text(entry, "name")).filter(|name| !name.is_empty()).unwrap_or_else(|| text(entry, "title"));
            all.push(EntryReasons {
                book: name.clone(),
                id,
                title,
                searched: None,
                place: Some((b, e)),
                reasons,
                active: false,
                block: None,
            });
        }
    }
    for ((book, id), items) in told {
        let of = |reasons| EntryReasons {
            book: book.clone(),
            id: id.clone(),
            title: String::new(),
            searched: None,
            place: None,
            reasons,
            active: false,
            block: None,
        };
        all.extend(items.into_iter().map(of));
    }
    mark_active(&mut all, plan);
    let searched: HashMap<u32, &SearchRecord> = plan.trace.iter().flat_map(|t| &t.searched).map(|s| (s.item, s)).collect();
    for entry in all.iter_mut().filter(|entry| !entry.active) {
        entry.searched = entry.reasons.last().and_then(|reason| searched.get(&reason.item)).copied();
    }
    let names = all.iter().map(|e| ((e.book.clone(), e.id.clone()), e.name())).collect();
    all.retain(|entry| filter.is_none_or(|filter| entry.fits(filter)));
    (all, names)
}

/// Says which entries are active, and in which block each stands. A pack need not give a code to what it lets in, so what it
/// reports counts too; of a pack that reports nothing, what is sent. Of several entries with one id, as many are active as
/// are reported.
fn mark_active(all: &mut [EntryReasons<'_>], plan: &Plan) {
    let reported = why::active(plan);
    let mut left: HashMap<(String, String), usize> = HashMap::new();
    // what has no text is reported by some packs, but never sent
    for entry in reported.into_iter().flatten().filter(|entry| !text(entry, "text").is_empty()) {
        *left.entry((text(entry, "book"), text(entry, "id"))).or_default() += 1;
    }
    for by_code in [true, false] {
        for entry in all.iter_mut().filter(|entry| (entry.code() == Some(ACTIVE)) == by_code) {
            let left = left.get_mut(&(entry.book.clone(), entry.id.clone())).filter(|left| **left > 0);
            entry.active = by_code || left.is_some();
            left.into_iter().for_each(|left| *left -= 1);
            if entry.active || reported.is_none() {
                entry.block = block_of(plan, entry);
                entry.active |= entry.block.is_some();
            }
        }
    }
}

/// The first block that is sent and holds a lore entry, as it was placed or else as it is written.
pub fn block_of(plan: &Plan, entry: &EntryReasons<'_>) -> Option<usize> {
    let is_own = |own: &&Value| entry.active && field(own, "book") == entry.book && field(own, "id") == entry.id;
    let placed = why::active(plan).into_iter().flatten().filter(is_own);
    let written = entry.place.and_then(|place| remedy::value_at(&plan.scene, &entry_steps(place)));
    let texts: Vec<String> = placed.chain(written).map(|own| field(own, "text")).collect();
    texts.iter().find_map(|own| plan.blocks.iter().position(|block| block.enabled() && why::holds(&block.text("text"), own)))
}

/// All entries of a build.
pub fn all_entries(plan: &Plan) -> Vec<EntryReasons<'_>> {
    entries(plan, None).0
}

/// A reason in words; entries are shown by their titles.
pub fn detail_text(reason: &RecordedReason, plan: &Plan) -> String {
    detail(reason, &entries(plan, None).1)
}

/// The report for programs: every entry with its last code and all its reasons.
pub fn as_json(plan: &Plan, rules: &Ruleset, filter: Option<&str>) -> Json {
    let reason = |r: &&RecordedReason| json!({ "code": r.because, "pass": r.pass, "rule": place_of(rules, &r.pass), "detail": r.detail });
    let entry = |e: &EntryReasons<'_>| {
        json!({
            "book": e.book, "id": e.id, "title": e.title, "book_index": e.place.map(|p| p.0), "index": e.place.map(|p| p.1), "code": e.code(),
            "active": e.active, "block": e.block,
            "reasons": e.reasons.iter().map(reason).collect::<Vec<_>>(),
            "searched": e.searched.map(|s| json!({ "keys": s.keys, "sources": s.sources, "found": s.found, "pass": s.pass })),
        })
    };
    json!({ "pack": &*rules.pack().name, "entries": entries(plan, filter).0.iter().map(entry).collect::<Vec<_>>() })
}

/// The report for people: one row per entry.
pub fn as_text(plan: &Plan, rules: &Ruleset, filter: Option<&str>) -> String {
    let (all, names) = entries(plan, filter);
    let mut rows = vec![["book", "#", "entry", "code", "block", "by way of", "rule", "detail"].map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|e| entry_row(e, &names, rules)));
    let active = all.iter().filter(|e| e.active).count();
    let shown = if filter.is_some() { format!("the {} entries that are shown", all.len()) } else { format!("{} entries", all.len()) };
    format!("{}\n{active} of {shown} are active\n", table(&rows))
}

fn entry_row(entry: &EntryReasons<'_>, names: &EntryNames, rules: &Ruleset) -> Vec<String> {
    let way: Vec<&str> = entry.reasons.iter().map(|r| r.because.as_str()).collect();
    let rule = entry.reasons.last().and_then(|r| place_of(rules, &r.pass)).unwrap_or_default();
    let mut details: Vec<String> = entry.reasons.iter().filter(|r| !r.detail.is_null()).map(|r| detail(r, names)).collect();
    details.extend(entry.searched.map(search_text));
    vec![
        one_line(&entry.book),
        entry.place.map(|p| p.1.to_string()).unwrap_or_default(),
        one_line(&entry.name()),
        one_line(entry.code().unwrap_or("-")),
        entry.block.map(|n| n.to_string()).unwrap_or_default(),
        one_line(&way.join(", ")),
        rule,
        head(&details.join("; "), DETAIL),
    ]
}

/// `searched chat (2 texts), recursion (1 text) for "road", "river"`; sources without a text are left out.
pub fn search_text(searched: &SearchRecord) -> String {
    let used = searched.sources.iter().filter(|(_, n)| *n > 0);
    let sources: Vec<String> = used.map(|(name, n)| format!("{name} ({n} text{})", if *n == 1 { "" } else { "s" })).collect();
    let keys: Vec<String> = searched.keys.iter().map(|key| format!("{key:?}")).collect();
    if !searched.found.is_empty() {
        let found: Vec<String> = searched.found.iter().map(|key| format!("{key:?}")).collect();
        let others: Vec<String> = searched.keys.iter().filter(|key| !searched.found.contains(key)).map(|key| format!("{key:?}")).collect();
        return format!(
            "found the primary key {} in {}, but the secondary keys decided against it: {}",
            found.join(", "),
            sources.join(", "),
            others.join(", ")
        );
    }
    match (keys.is_empty(), sources.is_empty()) {
        (true, _) => "it has no keys".to_owned(),
        (false, true) => format!("searched nothing for {}", keys.join(", ")),
        (false, false) => format!("searched {} for {}", sources.join(", "), keys.join(", ")),
    }
}

/// `code: name value, name value …`; an entry is shown by its title.
fn detail(reason: &RecordedReason, names: &EntryNames) -> String {
    let shown = |value: &Value| {
        let known = || names.get(&(text(value, "book"), text(value, "id")));
        let entry = value.as_map().filter(|map| map.keys().all(|key| matches!(&**key, "book" | "id"))).and_then(|_| known());
        entry.map_or_else(|| serde_json::to_string(value).unwrap_or_default(), |name| format!("{name:?}"))
    };
    let facts = reason.detail.as_map().into_iter().flat_map(|m| m.iter());
    let facts: Vec<String> = facts.map(|(name, value)| format!("{name} {}", shown(value))).collect();
    format!("{}: {}", reason.because, facts.join(", "))
}
