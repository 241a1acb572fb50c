//! Counting tokens and reading macros: a piece without blanks and a tree of macros take far more than their text, and end with a
//! count, with a text that stays as it is, or with the bound.

use std::sync::Arc;

use serde_json::json;
use tapster::machinery::macros::MacroTable;
use tapster::machinery::text::TextLimits;
use tapster::machinery::text::tokens::{Estimator, TokenCounter};
use tapster::machinery::text::work::{self, BudgetScope};
use tapster::{ErrorKind, Scene, Texts, Value, WorkLimits, build, expand_texts};

use crate::shipped::EXACT;

const WIDE: WorkLimits = WorkLimits { steps: 4_000_000_000, bytes: 1 << 32 };
const EXACTLY: [Estimator; 3] = [Estimator::Cl100k, Estimator::O200k, Estimator::Claude];

/// Letters in no order, of which no long piece is a token.
fn letters(count: usize) -> String {
    let mut state: u64 = 5;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
    };
    (0..count).map(letter).collect()
}

#[test]
fn a_text_is_counted_alike_whether_its_count_is_known_or_not() {
    const LONG: usize = 60_000;
    let texts = [
        "a".repeat(LONG),
        letters(LONG),
        " ".repeat(LONG),
        "\n".repeat(LONG),
        format!("{} ", letters(1_000)).repeat(10),
        format!("{} ", letters(100)).repeat(100),
        format!("{} words … and {}", letters(20_000), "ab".repeat(10_000)),
        "The lantern by the river went out again, and nobody had seen who did it. ".repeat(500),
        "黄昏时分、码头上没有一个人。".repeat(300),
        // characters that become several ones, or several short words
        "㌖".repeat(10_000),
        "ﷺ".repeat(10_000),
    ];
    for (estimator, text) in EXACTLY.iter().flat_map(|estimator| texts.iter().map(move |text| (estimator, text))) {
        let _door = BudgetScope::open(WIDE);
        let counter = TokenCounter::new(*estimator);
        let counts = [(); 2].map(|()| counter.counted(text).unwrap_or_else(|e| panic!("{e}")));
        assert_eq!(counts, [estimator.count(text); 2], "{estimator:?}: {}", text.chars().take(20).collect::<String>());
    }
}

#[test]
fn a_text_that_costs_too_much_is_not_counted() {
    let long = "a".repeat(100_000);
    for estimator in EXACTLY {
        let _door = BudgetScope::open(WorkLimits { steps: 1_000_000, ..WIDE });
        let counter = TokenCounter::new(estimator);
        let error = counter.counted(&long).unwrap_err().to_string();
        assert!(error.contains("takes more than 1000000 steps"), "{estimator:?}: {error}");
        assert!(work::check().is_err(), "the next step fails too");
        assert!(counter.count(&long) >= long.len(), "no count is too small");
    }
    let _door = BudgetScope::open(WorkLimits { steps: 1_500_000, ..WIDE });
    let told = TokenCounter::new(Estimator::Claude).counted(&"㌖".repeat(100_000)).unwrap_err().to_string();
    assert!(told.contains("takes more than 1500000 steps"), "{told}");
}

#[test]
fn a_chat_of_texts_without_blanks_ends_with_the_bound() {
    let scene = |text: String| {
        let history: Vec<_> = (0..15).map(|n| json!({ "id": format!("m{n}"), "role": "user", "name": "Ann", "text": text })).collect();
        let scene = Scene::new(&json!({
            "type": "normal", "names": { "user": "Ann", "char": "Vex" },
            "card": { "name": "Vex", "description": "A thief." },
            "context": { "window": 100_000_000, "reserve": 500, "tokenizer": "cl100k" },
            "chat": { "length": 15 }, "history": history,
        }));
        Scene { work: WorkLimits { steps: 40_000_000, ..WorkLimits::default() }, ..scene }
    };
    if let Err(error) = build(&EXACT, &scene("lantern ".repeat(7_500))) {
        panic!("{error}");
    }
    let error = build(&EXACT, &scene("a".repeat(60_000))).err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Bound, "{error}");
}

/// What texts become.
fn expanded(texts: &[String], work: WorkLimits) -> Result<Texts, tapster::BuildError> {
    let given: Vec<(&str, Value)> = texts.iter().map(|text| (text.as_str(), Value::Null)).collect();
    expand_texts(&EXACT, &Scene { work, ..Scene::new(&json!({})) }, &given)
}

#[test]
fn a_text_of_too_many_macros_is_not_read_to_its_end() {
    let macros = "the text holds more than 100000 macros and is left as it was";
    for (text, told) in [
        ("{{a}}".repeat(100_001), macros),
        ("{{a}}".repeat(400_000), macros),
        (format!("{{{{a::{}}}}}", "{{b}}::".repeat(400_000)), macros),
        (format!("{{{{a{}}}}}", "::".repeat(1_100_000)), "more than 1000000 arguments and ends of blocks"),
    ] {
        let made = expanded(std::slice::from_ref(&text), WorkLimits::default()).unwrap_or_else(|e| panic!("{e}"));
        assert!(*made.texts[0] == *text, "the text stays as it was");
        assert!(made.warnings.iter().any(|d| d.message.contains(told)), "{:?}", made.warnings);
    }
}

#[test]
fn trees_are_kept_by_their_bytes() {
    let table = MacroTable::default();
    let kept = |text: &Arc<str>| Arc::ptr_eq(&table.reading(text, &TextLimits::MACROS), &table.reading(text, &TextLimits::MACROS));
    let text = |n: usize, macros: usize| -> Arc<str> { format!("{n} {}", "{{a}}".repeat(macros)).into() };
    assert!(kept(&text(0, 10)), "a usual text is kept");
    assert!(!kept(&text(1, 100_000)), "this tree alone is more than is kept");
    assert!(!kept(&text(2, 100_001)), "a text that is not read to its end is not kept");
    // each of these has a tree of 5 MB
    let texts: Vec<Arc<str>> = (0..8).map(|n| text(n, 20_000)).collect();
    let first = table.reading(&texts[0], &TextLimits::MACROS);
    assert!(Arc::ptr_eq(&first, &table.reading(&texts[0], &TextLimits::MACROS)));
    for text in &texts {
        table.reading(text, &TextLimits::MACROS);
    }
    assert!(!Arc::ptr_eq(&first, &table.reading(&texts[0], &TextLimits::MACROS)), "it has made room for the others");
}
