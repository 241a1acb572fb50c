//! `tapster explain --lore`: what happened to every lore entry of every book, in the order of the books.

use std::collections::VecDeque;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use crate::model::plan::Reason;
use crate::model::{Plan, Value};
use crate::pack::Ruleset;

use crate::cli::layout::head;
use crate::cli::layout::one_line;
use crate::cli::layout::place_of;
use crate::cli::layout::table;

/// The most characters of the details that the table shows.
const DETAIL: usize = 200;

/// One entry and all reasons about it, in order.
struct Entry<'a> {
    book: String,
    id: String,
    /// The indexes of the book in the scene and of the entry in the book; `None` for an entry that only the build
    /// knows.
    place: Option<(usize, usize)>,
    reasons: Vec<&'a Reason>,
}

/// The reasons of the entries of one book and id, one queue element for each entry, in the order in which they were made.
type Told<'a> = IndexMap<(String, String), VecDeque<Vec<&'a Reason>>>;

impl Entry<'_> {
    /// Its final state: the last code; `None` if no rule gives one.
    fn code(&self) -> Option<&str> {
        self.reasons.last().map(|r| r.because.as_str())
    }
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).map(|v| v.to_text().to_string()).unwrap_or_default()
}

fn told(plan: &Plan) -> Told<'_> {
    // a pack may move entries to other lists; a reason with a book is about an entry, whatever its list is
    let reasons = plan.trace.iter().flat_map(|t| &t.reasons).filter(|r| r.list == "entries" || !r.book.is_empty());
    let mut items: IndexMap<(&str, &str, u32), Vec<&Reason>> = IndexMap::new();
    for reason in reasons {
        items.entry((&reason.book, &reason.id, reason.item)).or_default().push(reason);
    }
    items.sort_by(|(_, _, a), _, (_, _, b), _| a.cmp(b));
    let mut told = Told::new();
    for ((book, id, _), reasons) in items {
        told.entry((book.to_owned(), id.to_owned())).or_default().push_back(reasons);
    }
    told
}

/// For each book of the scene the reason why the whole book was left out. Of several books with the same id and role,
/// the later ones are left out.
fn left_out<'a>(plan: &'a Plan, books: &[Value]) -> Vec<Option<&'a Reason>> {
    let mut reasons: Vec<&Reason> = plan.trace.iter().flat_map(|t| &t.reasons).filter(|r| r.list == "books").collect();
    let mut out: Vec<Option<&Reason>> = books
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

/// The entries of the scene's books in their order, then those that only the build knows.
fn entries(plan: &Plan) -> Vec<Entry<'_>> {
    let books = plan.scene.at("books").and_then(Value::as_list).unwrap_or_default();
    let (mut told, out) = (told(plan), left_out(plan, books));
    let mut all = Vec::new();
    for (b, (book, out)) in books.iter().zip(out).enumerate() {
        let name = text(book, "id");
        for (e, entry) in book.get("entries").and_then(Value::as_list).unwrap_or_default().iter().enumerate() {
            let id = text(entry, "id");
            let reasons = match out {
                Some(reason) => vec![reason],
                None => told.get_mut(&(name.clone(), id.clone())).and_then(VecDeque::pop_front).unwrap_or_default(),
            };
            all.push(Entry { book: name.clone(), id, place: Some((b, e)), reasons });
        }
    }
    for ((book, id), items) in told {
        let unplaced = items.into_iter().map(|reasons| Entry { book: book.clone(), id: id.clone(), place: None, reasons });
        all.extend(unplaced);
    }
    all
}

/// The report for programs: every entry with its last code and all its reasons.
pub(in crate::cli) fn as_json(plan: &Plan, rules: &Ruleset) -> Json {
    let reason = |r: &&Reason| json!({ "code": r.because, "pass": r.pass, "rule": place_of(rules, &r.pass), "detail": r.detail });
    let entry = |e: &Entry<'_>| {
        json!({
            "book": e.book, "id": e.id, "book_index": e.place.map(|p| p.0), "index": e.place.map(|p| p.1), "code": e.code(),
            "reasons": e.reasons.iter().map(reason).collect::<Vec<_>>(),
        })
    };
    json!({ "pack": &*rules.pack().name, "entries": entries(plan).iter().map(entry).collect::<Vec<_>>() })
}

/// The report for people: one row per entry.
pub(in crate::cli) fn as_text(plan: &Plan, rules: &Ruleset) -> String {
    let all = entries(plan);
    let mut rows = vec![["book", "#", "entry", "code", "by way of", "rule", "detail"].map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|e| row(e, rules)));
    let active = all.iter().filter(|e| e.code() == Some("active")).count();
    format!("{}\n{active} of {} entries are active\n", table(&rows), all.len())
}

fn row(entry: &Entry<'_>, rules: &Ruleset) -> Vec<String> {
    let way: Vec<&str> = entry.reasons.iter().map(|r| r.because.as_str()).collect();
    let rule = entry.reasons.last().and_then(|r| place_of(rules, &r.pass)).unwrap_or_default();
    let details: Vec<String> = entry.reasons.iter().filter(|r| !r.detail.is_null()).map(|r| detail(r)).collect();
    vec![
        one_line(&entry.book),
        entry.place.map(|p| p.1.to_string()).unwrap_or_default(),
        one_line(&entry.id),
        one_line(entry.code().unwrap_or("-")),
        one_line(&way.join(", ")),
        rule,
        head(&details.join("; "), DETAIL),
    ]
}

/// `code: name value, name value …`
fn detail(reason: &Reason) -> String {
    let facts = reason.detail.as_map().into_iter().flat_map(|m| m.iter());
    let facts: Vec<String> = facts.map(|(name, value)| format!("{name} {}", serde_json::to_string(value).unwrap_or_default())).collect();
    format!("{}: {}", reason.because, facts.join(", "))
}
