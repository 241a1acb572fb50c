//! The doors of the library through which something of a stranger comes in, each as a target: bytes in, a verdict out.

mod builds;
mod imports;
mod languages;
mod readers;
#[cfg(feature = "whole")]
mod replies;
mod rules;
mod same;
#[cfg(feature = "whole")]
mod stores;
mod templates;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::Value as Json;
use tapster::Ruleset;
use tapster::machinery::pack::{PackLibrary, PackShelf};

use crate::seeds;

/// Whether a door took the input or refused it.
///
/// # Errors
/// It took it, and two results that must be equal are not.
pub type Verdict = Result<bool, String>;

/// One door.
pub struct Target {
    /// Its name on the command line, and in `fuzz/words.json`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub door: &'static str,
    /// The longest input, in bytes.
    pub longest: usize,
    /// The number of inputs that CI gives it.
    pub fixed: u32,
    /// What to begin with, besides the files of `fuzz/seeds` and `fuzz/found`.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Gives it one input.
    pub run: fn(&[u8]) -> Verdict,
}

const fn target(
    name: &'static str,
    door: &'static str,
    (longest, fixed): (usize, u32),
    seeds: fn() -> Vec<Vec<u8>>,
    run: fn(&[u8]) -> Verdict,
) -> Target {
    Target { name, door, longest, fixed, seeds, run }
}

/// All of them.
#[rustfmt::skip]
pub static TARGETS: &[Target] = &[
    target("rule-toml", "one rule file in TOML: reading, schema", (8 << 10, 1_500), rules::toml_files, rules::in_toml),
    target("rule-json", "one rule file in JSON: reading, schema", (8 << 10, 2_000), rules::json_files, rules::in_json),
    target("pack", "a pack that stands alone: loading, compiling, a build", (8 << 10, 150), rules::cases, rules::pack),
    target("overlay", "an overlay over `base`: loading, compiling, a build, a payload", (8 << 10, 6), rules::overlays, rules::overlay),
    #[cfg(feature = "whole")]
    target("format", "the layout of a rule file: the same text the second time", (4 << 10, 1_500), rules::small_files, rules::layout),
    target("macros", "macros: reading and walking a text, with a host of its own", (4 << 10, 1_000), || seeds::texts("macros", "text"), languages::macros),
    target("expand", "the macros of the shipped packs", (2 << 10, 1_200), languages::all_macro_texts, languages::expand),
    target("handlebars", "Handlebars: reading and rendering", (4 << 10, 7_000), || seeds::texts("handlebars", "template"), languages::handlebars),
    target("story", "story strings: reading and rendering", (4 << 10, 3_500), || seeds::texts("stories", "template"), languages::story),
    target("liquid", "Liquid: reading and rendering", (4 << 10, 10_000), || seeds::texts("liquid", "template"), languages::liquid),
    target("leaf", "leaf strings of templates, in both syntaxes", (4 << 10, 3_000), || seeds::texts("leaves", "text"), languages::leaf),
    target("calc", "`calc` of rule files: reading", (2 << 10, 40_000), readers::sums, readers::calc),
    target("arithmetic", "arithmetic that a text of a card holds", (2 << 10, 4_000), readers::sums_of_texts, readers::arithmetic),
    target("verbatim", "parts of a text that stay as they are: cutting, masking and back", (4 << 10, 25_000), Vec::new, languages::verbatim),
    target("small", "tags of languages, JSON pointers, numbers, dice, halves of characters", (512, 20_000), readers::words, readers::small),
    target("times", "dates and their formats: a format, a line break, a date", (512, 10_000), readers::dates, readers::times),
    target("pattern", "a pattern, a line break, a text: compiling, matching, replacing", (2 << 10, 600), readers::patterns, readers::pattern),
    target("keys", "plain keys, one a line, looked up together in the text of the last line", (2 << 10, 2_500), Vec::new, readers::keys),
    target("function", "functions, each with arguments of all types", (4 << 10, 2_500), readers::calls, readers::function),
    target("script", "Rhai: compiling, running, calling", (2 << 10, 900), || seeds::files("examples", "rhai", 8 << 10), languages::script),
    target("container", "PNG, CHARX, JSON, JSONL, RISUM, RISUP: reading the bytes", (16 << 10, 8_000), imports::files, imports::container),
    target("document", "cards, books, presets, chats as JSON, in all packs that read them", (32 << 10, 500), imports::documents, imports::document),
    target("scene", "such a document with a clock and a chat: a scene, and its build", (32 << 10, 150), imports::documents, imports::scene),
    target("template", "a template: reading, schema, compiling, rendering over sources", (16 << 10, 900), templates::files, templates::template),
    target("task", "the build of a template with the data of its task", (32 << 10, 10), templates::tasks, templates::task),
    target("lore", "scans of lorebooks: the program `lore` of the packs", (32 << 10, 200), Vec::new, builds::lore),
    target("build", "whole builds of scenes with all packs, and their payloads", (32 << 10, 200), builds::scenes, builds::whole),
    target("emit", "messages in every dialect of `base` and `sillytavern-exact`", (16 << 10, 80), Vec::new, builds::payloads),
    #[cfg(feature = "whole")]
    target("reply", "replies of providers, whole and streamed, in all dialects", (8 << 10, 5_000), Vec::new, replies::reply),
    #[cfg(feature = "whole")]
    target("sessions", "a store of sessions (SQLite): a list of calls", (8 << 10, 300), Vec::new, stores::sessions),
    #[cfg(feature = "whole")]
    target("shelf", "a folder of templates: a list of calls", (4 << 10, 3_000), Vec::new, stores::shelf),
    target("same-card", "a document written to PNG, RISUM, RISUP and JSON, and read again", (16 << 10, 500), imports::documents, same::written),
    target("same-conversion", "a document converted and back: reports name what is lost", (16 << 10, 500), imports::documents, same::converted),
    target("same-shortcuts", "a build with all shortcuts and one without: the same", (16 << 10, 50), builds::scenes, same::shortcuts),
    target("same-twice", "a build, the same build again, and in another thread: the same", (16 << 10, 120), builds::scenes, same::twice),
];

/// The target of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

fn json(input: &[u8]) -> Option<Json> {
    serde_json::from_slice(input).ok()
}

/// Texts or documents as seeds.
fn bytes(all: impl IntoIterator<Item = impl ToString>) -> Vec<Vec<u8>> {
    all.into_iter().map(|one| one.to_string().into_bytes()).collect()
}

/// A shipped pack, opened once; `base` for a name that is none.
fn shipped(name: &str) -> Ruleset {
    static OPEN: LazyLock<Mutex<BTreeMap<String, Ruleset>>> = LazyLock::new(Mutex::default);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = if PackShelf::default().names().iter().any(|known| known == name) { name } else { "base" };
    let opened = || Ruleset::open(name, &[]).unwrap_or_else(|rejected| panic!("{name}: {rejected}"));
    open.entry(name.to_owned()).or_insert_with(opened).clone()
}
