//! Language tags, JSON Pointers and verbatim zones: recorded inputs through `tapster::text_utils`.

use serde_json::{Value as Json, json};
use tapster::text_utils::{JsonPointer, LanguageTag, PointerError, VerbatimMasker, Zone, escape_pointer_token};

use crate::case::{Case, Check};
use crate::compare::{fits, texts};

/// `contract-language-tag`.
pub(super) fn language_tag(case: &Case) -> Vec<Check> {
    let text = case.input["tag"].as_str().unwrap_or("");
    let read = if case.input["lenient"] == true { LanguageTag::parse_lenient(text) } else { LanguageTag::parse(text) };
    let actual = read.map_or_else(|error| json!({ "error": error.code() }), |tag| json!(tag));
    vec![case.check(actual, |expected, actual| fits(expected, actual) && fits(actual, expected))]
}

/// `contract-json-pointer`.
pub(super) fn json_pointer(case: &Case) -> Vec<Check> {
    let actual = pointer(case).unwrap_or_else(|error| json!({ "error": error.code(), "offset": error.offset(), "depth": error.depth() }));
    vec![case.check(actual, fits)]
}

fn pointer(case: &Case) -> Result<Json, PointerError> {
    let text = |key: &str| case.input[key].as_str().unwrap_or("");
    Ok(match case.op() {
        "get" => json!({ "value": JsonPointer::parse(text("pointer"))?.get(&case.input["document"])? }),
        "parse" => json!({ "tokens": JsonPointer::parse(text("pointer"))?.tokens() }),
        "escape" => json!({ "escaped": escape_pointer_token(text("token")) }),
        "build" => json!({ "pointer": JsonPointer::of(texts(&case.input["tokens"])).to_string() }),
        "from_fragment" => json!({ "pointer": JsonPointer::from_fragment(text("fragment"))?.to_string() }),
        "to_fragment" => json!({ "fragment": JsonPointer::parse(text("pointer"))?.to_fragment() }),
        other => json!({ "unknown op": other }),
    })
}

/// `contract-verbatim-mask`.
pub(super) fn verbatim(case: &Case) -> Vec<Check> {
    let text = case.input["text"].as_str().unwrap_or("");
    let masker = masker(&case.input["options"]);
    let masked = masker.mask(text);
    let actual = if case.op() == "unmask" {
        let part = |part: &Json| match part["token"].as_u64() {
            Some(n) => masked.placeholder(usize::try_from(n).unwrap_or(usize::MAX)),
            None => part["text"].as_str().unwrap_or("").to_owned(),
        };
        let edited: String = case.input["edited"].as_array().into_iter().flatten().map(part).collect();
        let told = |problem: &tapster::text_utils::PlaceholderProblem| json!({ "code": problem.code(), "token": problem.token() });
        match masked.unmask(&edited) {
            Ok(text) => json!({ "text": text }),
            Err(problems) => json!({ "problems": problems.iter().map(told).collect::<Json>() }),
        }
    } else {
        let segment = |part: &tapster::text_utils::Segment<'_>| match part.zone {
            None => json!({ "text": part.text }),
            Some(zone) => json!({ "zone": zone, "raw": part.text }),
        };
        let unmasked = masked.unmask(masked.text()).unwrap_or_else(|problems| format!("{problems:?}"));
        json!({ "segments": masker.split(text).iter().map(segment).collect::<Json>(), "unmasked": unmasked })
    };
    vec![case.check(actual, fits)]
}

fn masker(options: &Json) -> VerbatimMasker {
    let zones = match &options["zones"] {
        Json::Null => Zone::ALL.to_vec(),
        list => texts(list).into_iter().filter_map(Zone::named).collect(),
    };
    match &options["escape_tags"] {
        Json::Null => VerbatimMasker::new(&zones, ["verbatim"]),
        list => VerbatimMasker::new(&zones, texts(list)),
    }
}
