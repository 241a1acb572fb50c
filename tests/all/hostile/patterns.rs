//! Patterns that cost much to compile or to match: each is bounded, and all of a build together.

use super::*;
use tapster::machinery::text::pattern::{MatchBound, Pattern, PatternFault};
use tapster::machinery::text::work::BudgetScope;

fn refused(source: &str, flags: &str) -> String {
    let error = Pattern::new(source, flags).unwrap_err();
    assert_eq!(error.fault, PatternFault::Unsafe, "{error}");
    error.reason
}

#[test]
fn a_look_behind_over_a_large_count_is_refused_and_told_with_its_entry() {
    let source = r"(?<!\p{L}{0,65535}\W{2})";
    assert!(refused(source, "u").contains("too large"));
    let plan = built(&[book(&[entry(7, &json!({ "key": [format!("/{source}/u")] })), entry(2, &json!({}))])]);
    assert!(prompt(&plan).contains("text 2") && !prompt(&plan).contains("text 7"));
    assert!(plan.warnings.iter().any(|w| w.message.contains("`7`") && w.message.contains("too large")), "{:?}", plan.warnings);
}

#[test]
fn a_look_behind_that_reaches_far_is_given_short_texts_only() {
    for source in ["(?<=a[bc]{2000})d", "(?<=a[ab]*c)d", "(?<=a[ab]{0,400}c)(?:a|aa)+d"] {
        let pattern = Pattern::new(source, "g").unwrap_or_else(|e| panic!("{source}: {e}"));
        assert!(matches!(pattern.is_match(&noise(30_000)), Err(MatchBound::Text { .. })), "{source}");
        let _door = BudgetScope::join();
        assert!(matches!(pattern.is_match(&noise(3_000)), Ok(false) | Err(MatchBound::Steps)), "{source}");
    }
    assert_eq!(Pattern::new("(?<=a[bc]{200})d", "").unwrap().is_match(&format!("a{}d", "b".repeat(200))), Ok(true));
}

#[test]
fn thousands_of_long_branches_are_refused() {
    let branches: Vec<String> = (0..4_000).map(|n| format!("branch number {n:08}")).collect();
    let source = branches.join("|");
    refused(&format!("(?:{source})"), "");
    // as many words as a list of names has are no obstacle
    let names = Pattern::new(&format!(r"\b(?:{})\b", branches[..2_000].join("|")), "i").unwrap();
    assert_eq!(names.is_match("a BRANCH number 00001999."), Ok(true));
}

#[test]
fn counts_in_counts_are_refused() {
    refused("(?:(?:a{1000}){1000}){1000}", "");
    refused("(?:[a-z]{999}){999}b(?=c)", "");
}

/// The engine looks for the other cases of all letters of a set with the flags `i` and `u`, which takes long for most letters
/// there are; a set that leaves out no letter has them already.
#[test]
fn sets_of_most_letters_are_bounded_where_case_is_ignored() {
    assert!(refused(&r"[a-\u{10ffff}]".repeat(33), "iu").contains("its sets hold more than"));
    assert!(Pattern::new(&r"[a-\u{10ffff}]".repeat(33), "u").is_ok());
    for all in [".", r"\S", r"\D", "[^]", r"[\0-\u{10ffff}]", r"[^\d\s]"] {
        let pattern = Pattern::new(&format!("^{}k$", all.repeat(200)), "iu").unwrap();
        assert_eq!(pattern.is_match(&format!("{}\u{212a}", "xKé😀".repeat(50))), Ok(true), "{all}");
        assert_eq!(pattern.is_match(&format!("{}x", "xKé😀".repeat(50))), Ok(false), "{all}");
    }
    for (set, left_out) in [(".", "\n"), (r"\S", " "), (r"\D", "7"), (r"[\0-`b-\u{10ffff}]", "")] {
        let pattern = Pattern::new(&format!("^{set}$"), "iu").unwrap();
        assert_eq!(pattern.is_match(left_out), Ok(false), "{set}");
        assert_eq!(pattern.is_match("a"), Ok(true), "{set}: the other case of a letter is in the set");
    }
}

/// A text of two letters in which no part is like another one.
fn noise(length: usize) -> String {
    let mut state = 1_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    (0..length).map(letter).collect()
}

#[test]
fn many_searches_that_are_not_linear_are_paid_for() {
    let _door = BudgetScope::join();
    let text = noise(20_000);
    let fails = |n: u32| Pattern::new(&format!("a[ab]{{400}}q{n}"), "").map_or(true, |pattern| pattern.is_match(&text).is_err());
    let given_up = (0..200).filter(|n| fails(*n)).count();
    assert!(given_up > 100, "{given_up}");
    assert!(tapster::machinery::text::work::is_over());
}

#[test]
fn large_patterns_of_many_entries_are_bounded_together() {
    let entries: Vec<Value> = (0..2_000).map(|n| entry(n, &json!({ "key": [format!("/a[ab]{{9999}}q{n}/")] }))).collect();
    let all: Vec<Value> = entries.into_iter().chain([entry(9_999, &json!({}))]).collect();
    let plan = built(&[book(&all)]);
    assert!(prompt(&plan).contains("text 9999"));
    let refused = plan.warnings.iter().filter(|w| w.message.contains("the patterns of this build")).count();
    assert!(refused > 1_500, "{refused} of {}", plan.warnings.len());
}

/// What an engine has read beyond a match is read again for the next one: `[ab]*x|a` reads the whole text for each letter.
#[test]
fn a_text_that_each_match_reads_to_its_end_is_given_up() {
    let branches = |n: usize| (0..n).map(|n| format!("(?=[ab]*x){n}|")).collect::<String>();
    let many = format!("{}a", branches(100));
    for (source, flags, length) in [
        ("[ab]*x|a", "g", 100_000),
        ("[AB]*X|a", "gi", 100_000),
        ("[AB]*X|a", "giu", 100_000),
        ("(?:[ab]*x)?", "g", 100_000),
        ("(?:(?:a|b)+?x|c|a)", "g", 100_000),
        ("(?:[ab]*x[ab]{30}|a)", "g", 100_000),
        ("(?:a{900}x)?", "g", 100_000),
        // engines that begin anew at each place
        ("(?:[ab]*x|a)(?=a)", "g", 100_000),
        (r"(?:[ab]*x|a)\B", "g", 100_000),
        (r"(?:[ab]*x|(a))\1", "g", 100_000),
        ("(?=[ab]*x)1|a", "g", 19_900),
        (&many, "g", 19_900),
        ("(?<=a)[ab]*x|a(?=a)", "g", 100_000),
        ("a[ab]*x(?!y)|a(?=a)", "g", 100_000),
    ] {
        let pattern = Pattern::new(source, flags).unwrap_or_else(|e| panic!("{source}: {e}"));
        let _door = BudgetScope::join();
        let found = pattern.find_all(&"a".repeat(length), usize::MAX);
        assert!(found.as_ref().map_or(true, |found| found.len() <= length + 1), "{source}: {found:?}");
    }
}

/// Patterns of presets over a chat's text are none of these.
#[test]
fn ordinary_patterns_meet_no_limit() {
    let line = "She said \"I will go, *perhaps*\" and <think>went on</think> about the lamp's oil, (slowly) \u{201c}as ever\u{201d}.\n";
    let text = line.repeat(150);
    for source in [
        r#""[^"]*""#,
        r"\*.*?\*",
        r#"(?<=")[^"]*(?=")"#,
        r"<think>([\s\S]*?)</think>",
        r"<think>[\s\S]*?</think>|<thought>[\s\S]*?</thought>|\([\s\S]*?\)",
        r"(?:<think>[\s\S]*?</thank>)?(?:lamp|oil)",
        r"(?<=<think>)[\s\S]*?(?=</think>)",
        r#"(?<!\w)"[^"]*"(?!\w)"#,
        r"^(?![\s\S]*nowhere)",
        r"(\w+)(\s+\w+)*",
        r"(?:\s*\n)+",
        r"\b(?:lamp|oil)(?:'s)?\b",
        r"[^\S\n]+(?=[a-z])",
        r"(?<=[.!?])\s+(?=[A-Z])",
        r"\((?:[^()]|\([^()]*\))*\)",
    ] {
        let pattern = Pattern::new(source, "g").unwrap_or_else(|e| panic!("{source}: {e}"));
        let _door = BudgetScope::join();
        let found = pattern.captures_all(&text, usize::MAX).unwrap_or_else(|e| panic!("{source}: {e}"));
        assert!(!found.is_empty(), "{source}");
    }
}

#[test]
fn the_groups_of_each_match_are_paid() {
    let pattern = Pattern::new(&format!("{}a", "()".repeat(1_000)), "g").unwrap();
    let text = "a".repeat(300_000);
    let _door = BudgetScope::join();
    assert_eq!(pattern.captures_all(&text, usize::MAX), Err(MatchBound::Steps));
}

#[test]
fn nested_look_behinds_are_given_short_texts_only() {
    // a text of 330 letters took 0.4 seconds a search
    let pattern = Pattern::parse("/(?<!(?<=$)(?:[^a]+?.*?)?)($)/gm").unwrap();
    let _door = BudgetScope::join();
    assert!(pattern.is_match(&"c($)".repeat(60)).is_ok());
    assert!(matches!(pattern.is_match(&"c($)".repeat(80)), Err(MatchBound::Text { limit: 250, .. })));
}

#[test]
fn a_pattern_of_a_schema_that_backtracks_is_given_short_texts_only() {
    let built = |pattern: &str, times: usize| {
        let rules = format!(
            "kind = \"pipeline\"\nversion = 1\n[[pass]]\nname = \"build/schema\"\nbefore = \"hooks\"\ndo = \"set\"\n[pass.set]\n\
             \"$own.x\" = {{ fn = \"schema_mistakes\", of = {{ fn = \"repeat\", of = \"a\", times = {times} }}, schema = {{ pattern = '{pattern}' }} }}\n"
        );
        let scene = "kind = \"scene\"\nversion = 1\n[[path]]\nname = \"own.x\"\ntype = \"any\"\n";
        let rules =
            crate::support::pack_over_base("", &[("pipeline.toml", &rules), ("scene.toml", scene)]).unwrap_or_else(|e| panic!("{e}"));
        tapster::build(&rules, &tapster::Scene::new(&serde_json::json!({ "dialect": "openai" }))).map(drop).map_err(|e| e.message)
    };
    let refused = built("(?=(a+)+b)(a|aa)+$", 100_000).unwrap_err();
    assert!(refused.contains("has look-arounds or back references"), "{refused}");
    assert!(built("(?=(a+)+b)(a|aa)+$", 1_000).is_ok());
    // one that is read once has no such bound
    assert!(built("^(a|aa)+b?$", 100_000).is_ok());
}
