//! The schema of a pass, made from the terms of the verbs.

use serde_json::{Map, Value, json};

use super::{SHARED, VERBS};
use crate::model::Term;
use crate::model::pack::LAYERING;
use crate::syntax::selections;

/// A pass has the terms of its verb. One without a verb patches another pass, and may have those of any verb.
#[must_use]
pub fn pass_schema() -> Value {
    let common: Vec<&Term> = [SHARED, selections::TERMS, LAYERING].into_iter().flatten().collect();
    let owned: Vec<(&str, &Term)> = VERBS.iter().flat_map(|verb| verb.terms.iter().map(|term| (verb.name, term))).collect();
    let mut properties = Map::new();
    for term in &common {
        let verbs = || json!({ "enum": VERBS.iter().map(|verb| verb.name).collect::<Vec<_>>() });
        let schema = if term.name == "do" { described(verbs(), &term.description()) } else { term.schema() };
        properties.insert(term.name.to_owned(), schema);
    }
    for (_, term) in &owned {
        let meanings: Vec<(&str, &Term)> = owned.iter().copied().filter(|(_, other)| other.name == term.name).collect();
        properties.entry(term.name).or_insert_with(|| any_meaning(&meanings));
    }
    let allow = |own: Map<String, Value>, doc: String| {
        let mut known: Map<String, Value> = common.iter().map(|term| (term.name.to_owned(), json!(true))).collect();
        known.extend(own);
        json!({ "description": doc, "properties": known, "additionalProperties": false })
    };
    let patch = owned.iter().map(|(_, term)| (term.name.to_owned(), json!(true))).collect();
    let mut branches = vec![json!({
        "if": { "not": { "required": ["do"] } },
        "then": allow(patch, "A patch: any term of any verb.".to_owned()),
    })];
    for verb in VERBS {
        let own = verb.terms.iter().map(|term| {
            let others: Vec<&Term> = owned.iter().map(|(_, other)| *other).filter(|other| other.name == term.name).collect();
            let own = match () {
                () if others.iter().all(|other| *other == term) => json!(true),
                () if others.iter().all(|other| other.kind == term.kind) => described(Value::Object(Map::new()), &term.description()),
                () => term.schema(),
            };
            (term.name.to_owned(), own)
        });
        branches.push(json!({
            "if": { "properties": { "do": { "const": verb.name } }, "required": ["do"] },
            "then": allow(own.collect(), sentence(verb.doc)),
        }));
    }
    json!({
        "description": "A pass: one verb with its terms, a step of a program. With `do`, only the terms of that verb are allowed; \
                        without `do` it patches a pass of a lower layer, and any term is allowed.",
        "type": "object",
        "required": ["name"],
        "properties": properties,
        "allOf": branches,
    })
}

/// A term of one or several verbs, where it is not known which of them is meant.
fn any_meaning(meanings: &[(&str, &Term)]) -> Value {
    let mut docs: Vec<(Vec<String>, String)> = Vec::new();
    let mut shapes: Vec<Value> = Vec::new();
    for (verb, term) in meanings {
        match docs.iter_mut().find(|(_, doc)| *doc == term.description()) {
            Some((verbs, _)) => verbs.push(format!("`{verb}`")),
            None => docs.push((vec![format!("`{verb}`")], term.description())),
        }
        let shape = shape(term);
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    let doc = match docs.as_slice() {
        [(_, doc)] => doc.clone(),
        several => several.iter().map(|(verbs, doc)| format!("{}: {doc}", verbs.join(", "))).collect::<Vec<_>>().join(" "),
    };
    let shape = if let [one] = shapes.as_slice() { one.clone() } else { json!({ "anyOf": shapes }) };
    described(shape, &doc)
}

fn described(mut shape: Value, doc: &str) -> Value {
    if let Some(table) = shape.as_object_mut() {
        table.insert("description".to_owned(), doc.into());
    }
    shape
}

/// What may be written under a term, without what it means.
fn shape(term: &Term) -> Value {
    Term { doc: "", ..*term }.schema()
}

/// The one-line description of a verb as a sentence.
fn sentence(doc: &str) -> String {
    let (first, rest) = doc.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}
