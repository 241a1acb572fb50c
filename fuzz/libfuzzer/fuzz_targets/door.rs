//! Any target of the driver, under libFuzzer: `TAPSTER_TARGET` names it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tapster_fuzz::{Target, find};

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("TAPSTER_TARGET").unwrap_or_else(|_| "macros".to_owned());
    find(&name).unwrap_or_else(|| panic!("there is no target `{name}`"))
});

fuzz_target!(|input: &[u8]| {
    if let Err(why) = (TARGET.run)(input) {
        panic!("{why}");
    }
});
