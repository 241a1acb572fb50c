//! `tapster explain --lore`: what became of every lore entry, those that nothing asked for among them.

use serde_json::{Value as Json, json};

use crate::model::plan::Reason;
use crate::model::{Plan, Value};
use crate::pack::Ruleset;

use super::show::{head, one_line, place_of, table};

/// The code of an entry that none of its keys asked for.
const NO_KEY: &str = "no_key";
/// How much of a detail is shown in the table, in characters.
const DETAIL: usize = 70;

/// One entry and all that was said of it, in order.
struct Entry<'a> {
    book: String,
    id: String,
    reasons: Vec<&'a Reason>,
}

impl Entry<'_> {
    /// What became of it in the end: the last code.
    fn code(&self) -> &str {
        self.reasons.last().map_or(NO_KEY, |r| r.because.as_str())
    }
}

/// The entries of the scene's books in their order, then those that only the build knows.
fn entries(plan: &Plan) -> Vec<Entry<'_>> {
    let text = |value: &Value, field: &str| value.get(field).map(|v| v.to_text().to_string()).unwrap_or_default();
    let mut names = indexmap::IndexMap::<(String, String), Vec<&Reason>>::new();
    let books = plan.scene.at("books").and_then(Value::as_list).unwrap_or_default();
    for book in books {
        for entry in book.get("entries").and_then(Value::as_list).unwrap_or_default() {
            names.entry((text(book, "id"), text(entry, "id"))).or_default();
        }
    }
    // a pack may pass entries on through other lists; what has a book is an entry wherever it stands
    let reasons = plan.trace.iter().flat_map(|t| &t.reasons).filter(|r| r.list == "entries" || !r.book.is_empty());
    for reason in reasons {
        names.entry((reason.book.clone(), reason.id.clone())).or_default().push(reason);
    }
    names.into_iter().map(|((book, id), reasons)| Entry { book, id, reasons }).collect()
}

/// For programs: every entry with its last code and all its reasons.
pub(super) fn as_json(plan: &Plan, rules: &Ruleset) -> Json {
    let reason = |r: &&Reason| json!({ "code": r.because, "pass": r.pass, "rule": place_of(rules, &r.pass), "detail": r.detail });
    let entry = |e: &Entry<'_>| json!({ "book": e.book, "id": e.id, "code": e.code(), "reasons": e.reasons.iter().map(reason).collect::<Vec<_>>() });
    json!({ "pack": &*rules.pack().name, "entries": entries(plan).iter().map(entry).collect::<Vec<_>>() })
}

/// For people: one row an entry.
pub(super) fn as_text(plan: &Plan, rules: &Ruleset) -> String {
    let all = entries(plan);
    let mut rows = vec![["book", "entry", "code", "by way of", "rule", "detail"].map(str::to_owned).to_vec()];
    rows.extend(all.iter().map(|e| row(e, rules)));
    let active = all.iter().filter(|e| e.code() == "active").count();
    format!("{}\n{active} of {} entries are active\n", table(&rows), all.len())
}

fn row(entry: &Entry<'_>, rules: &Ruleset) -> Vec<String> {
    let way: Vec<&str> = entry.reasons.iter().map(|r| r.because.as_str()).collect();
    let rule = entry.reasons.last().and_then(|r| place_of(rules, &r.pass)).unwrap_or_default();
    let detail = entry.reasons.iter().rev().find(|r| !r.detail.is_null());
    let detail = detail.map(|r| serde_json::to_string(&r.detail).unwrap_or_default()).unwrap_or_default();
    vec![one_line(&entry.book), one_line(&entry.id), entry.code().to_owned(), one_line(&way.join(", ")), rule, head(&detail, DETAIL)]
}
