//! The text room through its public door; tables of cases are in `tests/text/`.

use serde_json::Value as Json;
use tapster::text::pattern::{Fault, Pattern};

fn table(name: &str) -> Vec<Json> {
    let path = format!("{}/tests/text/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

/// What node says about each pattern, against what the chosen engine says. Patterns that are refused as unsafe are
/// listed by name, so that a new refusal is seen.
#[test]
fn patterns_mean_what_they_mean_in_javascript() {
    let refused = ["(z)((a+)?(b+)?(c))*", "(a*)*", "(?:|a)+", "(?:a?)*?b", "(?=a)*b"];
    let mut wrong = Vec::new();
    let mut engines = std::collections::BTreeMap::new();
    for row in table("patterns.json") {
        let (source, flags, input) = (row["source"].as_str().unwrap(), row["flags"].as_str().unwrap(), row["input"].as_str().unwrap());
        let pattern = match Pattern::new(source, flags) {
            Err(error) if error.fault == Fault::Unsafe && refused.contains(&source) => continue,
            Err(error) if error.fault == Fault::Bad && row.get("error").is_some() => continue,
            Err(error) => {
                wrong.push(format!("/{source}/{flags}: {error:?}"));
                continue;
            }
            Ok(pattern) => pattern,
        };
        *engines.entry(pattern.engine()).or_insert(0) += 1;
        let found = pattern.captures_all(input, 1000).unwrap();
        let got: Vec<Json> = found
            .iter()
            .map(|c| {
                let groups: Vec<_> = c.groups.iter().map(|g| g.map(|g| g.of(input))).collect();
                serde_json::json!({ "start": c.whole.start, "text": c.whole.of(input), "groups": groups })
            })
            .collect();
        if row.get("matches") != Some(&Json::Array(got.clone())) {
            wrong.push(format!("/{source}/{flags} ({}): {} but node {:?}", pattern.engine(), Json::Array(got), row.get("matches")));
        }
        let spans = pattern.find_all(input, 1000).unwrap();
        assert_eq!(spans, found.iter().map(|c| c.whole).collect::<Vec<_>>(), "/{source}/{flags}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(engines["automaton"] > 50 && engines["bounded"] > 15 && engines["javascript"] > 3, "{engines:?}");
}
