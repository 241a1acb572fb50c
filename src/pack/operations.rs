//! The texts of operations that another language reads: Liquid, patterns, JSON Schemas. A text that cannot be read is
//! told when the pack is loaded, and not in the turn that needs it.

use crate::diag::{Code, Diagnostic, DocumentNode, Report, inside, short};
use crate::model::Pack;
use crate::text::liquid::Liquid;
use crate::text::{pattern, schema};

/// The keys whose texts are Liquid.
const LIQUID: [&str; 3] = ["template", "prompt", "system"];

/// Reports texts in the rows of `operation` that cannot be read.
pub(super) fn check(pack: &Pack, found: &mut Report) {
    let kinds = pack.tables.get("operation_kind");
    for row in pack.tables.get("operation").into_iter().flat_map(|rows| rows.values()) {
        let kind = row.fields.get("kind").and_then(|field| field.node.as_text()).unwrap_or("template");
        // an operation that nobody carries out is skipped, and nobody reads its texts
        if !kinds.is_some_and(|rows| rows.contains_key(kind)) {
            continue;
        }
        let node = |key: &str| row.fields.get(key).map(|field| &field.node);
        let wrong = LIQUID.iter().filter_map(|key| liquid(pack, node(key)?, key));
        let wrong = wrong.chain(node("pattern").and_then(|node| find(pack, node))).chain(node("schema").and_then(json_schema));
        for mut complaint in wrong {
            complaint.details.insert("row".into(), row.name.as_ref().into());
            found.push(complaint);
        }
    }
}

fn liquid(pack: &Pack, node: &DocumentNode, key: &str) -> Option<Diagnostic> {
    let error = Liquid::known(node.as_text()?).err()?;
    let span = inside::place_in_text(&pack.sources, node, error.offset);
    let complaint = Diagnostic::new(Code::TemplateFailed, format!("`{key}` is not Liquid: {}", error.message)).at(span);
    Some(complaint.help("docs/reference/language/texts.md describes Liquid"))
}

fn find(pack: &Pack, node: &DocumentNode) -> Option<Diagnostic> {
    let error = pattern::Pattern::parse(node.as_text()?).err()?;
    let span = inside::place_in_text(&pack.sources, node, error.offset);
    let (code, help) = match error.fault {
        pattern::PatternFault::Unsafe => (Code::RegexUnsafe, "rewrite it without nested or overlapping repetitions"),
        pattern::PatternFault::Bad => (Code::RegexBad, "regular expressions are written `/pattern/flags` as in JavaScript"),
    };
    Some(Diagnostic::new(code, format!("the pattern cannot be used: {}", error.reason)).at(span).help(help))
}

fn json_schema(node: &DocumentNode) -> Option<Diagnostic> {
    let text = node.as_text()?;
    let wrong = match serde_json::from_str::<serde_json::Value>(text) {
        Err(error) => format!("`schema` is not JSON: {error}"),
        Ok(json) => schema::usable(&crate::model::Value::from(&json)).err()?,
    };
    let complaint = Diagnostic::new(Code::TermType, short::cut(wrong)).at(node.span);
    Some(complaint.help("write a JSON Schema as JSON text, such as `'{\"type\": \"object\"}'`"))
}
