//! The folders of `examples/wishes`: what a user has wished for, and the prompts without and with the overlay that grants it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use std::path::Path;

use toml::{Table, Value};

/// A folder of `examples/wishes`.
pub(crate) struct Wish {
    pub(crate) readme: String,
    /// The overlay without the lines that every overlay begins with.
    pub(crate) rules: String,
    /// The case without the overlay.
    pub(crate) before: WishCase,
    /// The case with it.
    pub(crate) granted: WishCase,
}

/// A case of a wish.
pub(crate) struct WishCase {
    pub(crate) overlays: Option<Value>,
    /// What each turn is given.
    pub(crate) inputs: Vec<Table>,
    /// The messages that each turn expects, one per text.
    pub(crate) prompts: Vec<Vec<String>>,
}

impl Wish {
    pub(crate) fn read(folder: &Path) -> Self {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{}/{name}: {e}", folder.display()));
        let file: Table = toml::from_str(&read("case.toml")).unwrap();
        let cases = file.get("case").and_then(Value::as_array).unwrap();
        let case = |name: &str| {
            let found = cases.iter().filter_map(Value::as_table).find(|case| case.get("name").and_then(Value::as_str) == Some(name));
            WishCase::of(found.unwrap_or_else(|| panic!("{}: no case `{name}`", folder.display())))
        };
        let overlay = read("overlay.toml");
        let rules = overlay.split_once("\n\n").unwrap().1.trim().to_owned();
        Self { readme: read("README.md"), rules, before: case("before"), granted: case("granted") }
    }
}

impl WishCase {
    fn of(case: &Table) -> Self {
        let mut case = case.clone();
        let overlays = case.remove("overlays");
        case.remove("name");
        let mut turns = match case.remove("turns") {
            Some(Value::Array(turns)) => turns.into_iter().map(|turn| turn.try_into().unwrap()).collect(),
            _ => vec![case],
        };
        let prompts = turns.iter_mut().map(|turn: &mut Table| {
            let expect = turn.remove("expect").unwrap();
            let shown = expect.get("shown").and_then(|shown| shown.get("blocks")).and_then(Value::as_array).unwrap();
            shown.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
        });
        let prompts = prompts.collect();
        Self { overlays, inputs: turns, prompts }
    }
}
