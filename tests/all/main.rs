//! Every test of the library but the conformance suites, as modules of one binary: one link, and rulesets that are
//! opened once. `cargo test --test all lint::` runs the tests of `lint.rs`.

mod alone;
mod authoring;
mod cache;
mod cases;
mod clauses;
mod cli;
mod diagnostics;
mod dialects;
mod docs;
mod edits;
mod examples;
mod foreign;
mod hooks;
mod hostile;
mod import;
mod laws;
mod leaves;
mod library;
mod licences;
mod lint;
mod liquid;
mod lore_memory;
mod own;
mod pack;
mod packs;
mod passes;
mod planted;
mod presets;
mod replay;
mod store;
mod tasks;
mod template_render;
mod text;
mod tidy;
mod wire;
