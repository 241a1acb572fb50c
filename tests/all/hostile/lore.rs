//! Lorebooks that are broken, huge or cyclic.

use super::*;

fn named(name: &str, entries: &[Value]) -> Value {
    let mut book = book(entries);
    book.as_object_mut().unwrap().insert("name".to_owned(), json!(name));
    book
}

#[test]
fn patterns_that_run_away_are_warned_of_and_bounded() {
    let runs_away = json!({ "key": ["/(?:(a|aa)+)+\\1c/"], "comment": "Catapult" });
    let plan = built(&[named("Siege", &[entry(1, &runs_away), entry(2, &json!({}))])]);
    assert!(prompt(&plan).contains("text 2"));
    let [warning] = plan.warnings.as_slice() else { panic!("told once a build, not once a round: {:?}", plan.warnings) };
    for word in ["`1`", "`Catapult`", "`Siege`", "(a|aa)+", "too many steps"] {
        assert!(warning.message.contains(word), "`{word}` in {}", warning.message);
    }
}

#[test]
fn patterns_that_cannot_be_read_are_told_with_their_entry() {
    let plan = built(&[book(&[entry(41, &json!({ "key": ["/lamp(/"] })), entry(2, &json!({}))])]);
    assert!(prompt(&plan).contains("text 2"));
    assert!(plan.warnings.iter().any(|w| w.message.contains("41")), "{:?}", plan.warnings);
}

#[test]
fn entries_that_call_each_other_end() {
    let cyclic = |uid, key: &str, content: &str| entry(uid, &json!({ "key": [key], "content": content }));
    let plan = built(&[book(&[cyclic(1, "lamp", "ping pong"), cyclic(2, "ping", "lamp pong"), cyclic(3, "pong", "ping lamp")])]);
    assert_eq!(prompt(&plan).matches("ping pong").count(), 1);
}

#[test]
fn odd_numbers_and_nulls_are_no_obstacle() {
    let nulls = json!({ "uid": null, "key": null, "keysecondary": null, "content": null, "order": null, "position": null, "depth": null });
    let plan = built(&[book(&[
        entry(1, &json!({ "order": "NaN" })),
        entry(1, &json!({ "order": -7, "content": "same number" })),
        entry(3, &json!({ "position": 4, "depth": 1_000_000_000 })),
        nulls,
    ])]);
    assert!(prompt(&plan).contains("same number"), "{}", prompt(&plan));
}

#[test]
fn many_patterns_that_run_away_are_bounded_together() {
    let entries: Vec<Value> = (0..200).map(|n| entry(n, &json!({ "key": [format!("/(?:(a|aa)+)+\\1c{n}/")] }))).collect();
    let plan = built(&[book(&entries)]);
    assert_eq!(plan.warnings.len(), 200, "each entry is told");
    assert_eq!(plan.warnings.iter().filter(|w| w.message.contains("not tried")).count(), 150);
}

#[test]
fn a_hundred_thousand_entries_are_scanned() {
    let entries: Vec<Value> =
        (0..100_000).map(|n| entry(n, &json!({ "key": [format!("word{n}")] }))).chain([entry(100_000, &json!({}))]).collect();
    assert!(prompt(&built(&[book(&entries)])).contains("text 100000"));
}

#[test]
fn what_is_odd_about_entries_is_told() {
    let warnings = told(&book(&[
        entry(1, &json!({ "order": "NaN" })),
        entry(1, &json!({ "position": 99 })),
        entry(3, &json!({ "role": 77, "position": 4 })),
        Value::Null,
        json!({ "uid": 5, "key": null, "content": null }),
    ]));
    for words in
        [["`uid`", "`1`"], ["`order`", "`NaN`"], ["`position`", "`99`"], ["`role`", "`77`"], ["neither", "`5`"], ["neither", "(no uid)"]]
    {
        assert!(says(&warnings, &words), "{words:?} in {warnings:?}");
    }
    assert_eq!(told(&book(&[entry(1, &json!({})), entry(2, &json!({ "order": -7, "position": 1, "role": null }))])), [""; 0]);
}

#[test]
fn depths_that_no_chat_has_are_told() {
    let at = |uid, depth: i64| entry(uid, &json!({ "position": 4, "depth": depth }));
    let plan = built(&[book(&[at(1, 1_000_000_000), at(2, -3), at(3, 9_999)])]);
    let told: Vec<&str> = plan.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("-3") && told[1].contains("1000000000"), "{told:?}");
    assert!(prompt(&plan).contains("text 3"), "a depth beyond the chat is its beginning");
}

#[test]
fn overlong_words_are_cut_where_they_are_told() {
    let long = "x".repeat(90_000);
    let huge = entry(1, &json!({ "key": [format!("/{long}(/")], "comment": long, "position": long }));
    let plan = built(&[named(&long, std::slice::from_ref(&huge))]);
    let brought = told(&book(&[huge]));
    let all: Vec<&str> = plan.warnings.iter().map(|w| w.message.as_str()).chain(brought.iter().map(String::as_str)).collect();
    assert!(all.len() >= 2, "{}", all.len());
    assert!(all.iter().all(|message| message.chars().count() < 1000));
    assert!(plan.warnings[0].message.contains("a `(` has no `)`"), "the reason stands at the end: {}", plan.warnings[0].message);
}

/// Their automaton takes time and memory, however short the text is in which they are looked for.
#[test]
fn thousands_of_plain_keys_end() {
    let keys: Vec<String> = (0..2_010).map(|n| format!("key{n:05}")).collect();
    assert!(!prompt(&built(&[book(&[entry(1, &json!({ "key": keys })), entry(2, &json!({}))])])).contains("text 1"));
}
