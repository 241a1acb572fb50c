//! The text room through its public door; tables of cases are in `tests/text/`.

use serde_json::Value as Json;
use tapster::text::pattern::{Bound, Fault, Pattern};

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

#[test]
fn patterns_say_what_is_wrong_and_where() {
    for (text, fault, offset) in [
        ("/a(b/", Fault::Bad, 2),
        ("/ab)/", Fault::Bad, 3),
        ("/é[b-a]/", Fault::Bad, 6),
        ("/a**/", Fault::Bad, 3),
        ("/a/gg", Fault::Bad, 2),
        ("/a/xyz", Fault::Bad, 2),
        ("/(.*)*x/", Fault::Unsafe, 1),
        ("/(?:a(?=[^]*$))*b/", Fault::Unsafe, 1),
        ("/(?:(x)|a{1,1000}){1,1000}/", Fault::Unsafe, 1),
    ] {
        let error = Pattern::parse(text).unwrap_err();
        assert_eq!((error.fault, error.offset), (fault, offset), "{text}: {error}");
    }
    assert_eq!(Pattern::new(&format!("{}a{}", "(".repeat(5000), ")".repeat(5000)), "").unwrap_err().fault, Fault::Unsafe);
    assert_eq!(Pattern::new(&"(?:a{1000}){1000}".repeat(20), "").unwrap_err().fault, Fault::Unsafe);
}

#[test]
fn text_without_slashes_is_literal_and_global() {
    let pattern = Pattern::parse("a.b").unwrap();
    assert_eq!(pattern.find_all("a.b axb a.b", 9).unwrap().len(), 2);
    assert_eq!(Pattern::parse("/usr/Bin").unwrap().engine(), "text");
    assert_eq!(Pattern::parse("and/or").unwrap().engine(), "text");
}

/// Patterns that take for ever in a backtracking engine end soon, with an answer or with a bound.
#[test]
fn patterns_cannot_run_away() {
    let words = "lorem ipsum ".repeat(8_000);
    for (source, flags, text) in [
        ("(a+)+$", "", "a".repeat(100_000) + "b"),
        (r"^(\w+\s?)*$", "", words.clone() + "!"),
        (r"^(\w+\s?)*$", "m", words.clone() + "\r!"),
        (r"(?=(a+)+$)b|(a+)+$", "", "a".repeat(10_000) + "b"),
        (r"(a+)+\1y", "", "a".repeat(10_000) + "b"),
        (r"x(?=[^]*y)", "g", "x".repeat(19_000)),
        (r"(?<=a)(a|aa)*(?=b)", "g", "a".repeat(30_000)),
        (r"(?:(a)|(b))+c", "g", "ab".repeat(14_000)),
    ] {
        let pattern = Pattern::new(source, flags).unwrap();
        match pattern.captures_all(&text, usize::MAX) {
            Ok(found) => assert!(found.len() <= text.len(), "/{source}/"),
            Err(bound) => assert_eq!(bound, Bound::Steps, "/{source}/"),
        }
    }
    let far = Pattern::new("x(?=[^]*y)", "").unwrap();
    assert!(matches!(far.is_match(&words), Err(Bound::Text { length: 96_000, .. })));
}

#[test]
fn replacing_counts_and_keeps_the_rest() {
    let pattern = Pattern::new(r"(?<n>\d)", "g").unwrap();
    let doubled = pattern.replace("a1b2c3", Some(2), |c, out| {
        let digit = c.groups[0].unwrap().of("a1b2c3");
        out.push_str(digit);
        out.push_str(digit);
    });
    assert_eq!(doubled.unwrap().as_deref(), Some("a11b22c3"));
    assert_eq!(pattern.names()[0].as_deref(), Some("n"));
    assert_eq!(pattern.replace("none", None, |_, _| {}).unwrap(), None);
    let grows = Pattern::new("", "g").unwrap().replace(&"a".repeat(200), None, |_, out| out.push_str(&"x".repeat(1 << 20)));
    assert!(matches!(grows, Err(Bound::Output { .. })));
}
