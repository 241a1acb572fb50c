//! The shipped packs that many tests build with, each opened once.

#![expect(clippy::panic, reason = "a test that panics has failed")]

use std::sync::LazyLock;

use tapster::Ruleset;

pub(crate) static BASE: LazyLock<Ruleset> = LazyLock::new(|| open("base"));
pub(crate) static SILLYTAVERN: LazyLock<Ruleset> = LazyLock::new(|| open("sillytavern"));
pub(crate) static EXACT: LazyLock<Ruleset> = LazyLock::new(|| open("sillytavern-exact"));

/// One of the three, by its name.
pub(crate) fn shipped(pack: &str) -> &'static Ruleset {
    match pack {
        "base" => &BASE,
        "sillytavern" => &SILLYTAVERN,
        "sillytavern-exact" => &EXACT,
        _ => panic!("`{pack}` is not opened for all tests"),
    }
}

fn open(pack: &str) -> Ruleset {
    Ruleset::open(pack, &[]).unwrap_or_else(|rejected| panic!("{pack}:\n{rejected}"))
}
