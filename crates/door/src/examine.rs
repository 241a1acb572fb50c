//! What is doubtful about the texts of a scene, and no build warns of: macros that no rule knows, macros that keep a provider's
//! cache from serving a prompt, and patterns that may take long.

use std::collections::{BTreeMap, BTreeSet};

use crate::build::expand_texts;
use crate::diag::{Code, Diagnostic, DocumentNode, Report, limits, short, suggest};
use crate::model::{Map, Plan, Scene, Value};
use crate::pack::Ruleset;
use crate::text::pattern::{FLAGS, Pattern, PatternFault};

/// What is doubtful about a scene of which a plan was built with its trace.
#[must_use]
pub fn scene_warnings(rules: &Ruleset, scene: &Scene, plan: &Plan) -> Report {
    let mut report = warn_of_unknown_macros(rules, scene);
    report.extend(warn_of_unstable_macros(rules, scene, plan));
    report.extend(warn_of_slow_patterns(rules, &scene.data));
    report
}

/// The most macros that are reported.
const MOST_MACROS: usize = 50;
/// Words of keys whose texts are no prompts: what was said, what programs keep, and texts of other languages.
const OTHER_SYNTAX: [&str; 9] = ["history", "input", "vars", "state", "stored", "regex", "script", "scripts", "story"];
/// Words that are no macros of their own and yet stand in braces.
const MACRO_WORDS: [&str; 3] = ["original", "if", "else"];

/// The macros in a scene that are sent as they are written.
fn warn_of_unknown_macros(rules: &Ruleset, scene: &Scene) -> Report {
    let known = macro_names(rules);
    let lower: BTreeSet<String> = known.iter().map(|name| name.to_lowercase()).chain(MACRO_WORDS.map(str::to_owned)).collect();
    let mut tags: BTreeMap<String, (String, String)> = BTreeMap::new();
    visit_texts(&scene.data, may_hold_macros, &mut |path, text| {
        visit_macros(text, &mut |tag, name, _| {
            if tags.len() < MOST_MACROS && !lower.contains(&name.to_lowercase()) {
                tags.entry(name.to_owned()).or_insert_with(|| (tag.to_owned(), path.to_owned()));
            }
        });
        tags.len() < MOST_MACROS
    });
    let written: Vec<(&str, Value)> = tags.values().map(|(tag, _)| (tag.as_str(), Value::Null)).collect();
    let quiet = Scene { strict: false, ..scene.clone() };
    // rules may know a macro without a row of its name, so what becomes of it decides
    let Ok(expanded) = expand_texts(rules, &quiet, &written) else { return Report::default() };
    let stays = tags.iter().zip(&expanded.texts).filter(|((_, (tag, _)), text)| ***text == **tag);
    let warnings = stays.map(|((name, (tag, path)), _)| {
        let message = format!(
            "`{}` in `{}` is no macro of pack `{}`, and is sent as it is written",
            short::word(tag),
            short::word(path),
            rules.pack().name
        );
        let help = suggest::help(name, known.iter().copied()).unwrap_or_else(|| "take it out, or add a [[macro]] row".into());
        Diagnostic::new(Code::MacroUnknown, message).help(help)
    });
    warnings.filter(|warning| !rules.allows(warning)).collect()
}

/// The names of the pack's macros.
fn macro_names(rules: &Ruleset) -> Vec<&str> {
    let mut names = Vec::new();
    for (name, row) in rules.pack().tables.get("macro").into_iter().flatten() {
        names.push(&**name);
        let aliases = row.fields.get("aliases").map(|field| &field.node);
        names.extend(aliases.and_then(DocumentNode::as_list).into_iter().flatten().filter_map(DocumentNode::as_text));
    }
    names
}

/// Visits the texts of a scene with their paths, as long as `visit` says so. `may_enter` says which keys are looked into.
fn visit_texts<'v>(data: &'v Value, may_enter: fn(&str) -> bool, visit: &mut dyn FnMut(&str, &'v str) -> bool) {
    let mut open = vec![(String::new(), data)];
    while let Some((path, value)) = open.pop() {
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match value {
            Value::Text(text) if !visit(&path, text) => return,
            Value::List(list) => open.extend(list.iter().enumerate().rev().map(|(n, value)| (below(&n.to_string()), value))),
            Value::Map(map) => {
                open.extend(map.iter().rev().filter(|(key, _)| may_enter(key)).map(|(key, value)| (below(key), value)));
            }
            _ => {}
        }
    }
}

/// Whether texts under a key are expanded, by its words.
pub(crate) fn may_hold_macros(key: &str) -> bool {
    !key.to_lowercase().split('_').any(|word| OTHER_SYNTAX.contains(&word))
}

/// Visits `{{name}}` and `{{name…}}`, but for those that hold other macros: the macro, its name, and where that begins.
pub(crate) fn visit_macros(text: &str, visit: &mut dyn FnMut(&str, &str, usize)) {
    for (at, _) in text.match_indices("{{") {
        let Some(inner) = text.get(at + 2..) else { continue };
        let Some(end) = inner.find(['{', '}']).filter(|end| inner.get(*end..).is_some_and(|rest| rest.starts_with("}}"))) else { continue };
        let (Some(tag), Some(inner)) = (text.get(at..at + end + 4), inner.get(..end)) else { continue };
        let written = inner.trim_start();
        let name: &str = written.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        if name.starts_with(|c: char| c.is_alphabetic()) {
            visit(tag, name, at + 2 + inner.len() - written.len());
        }
    }
}

/// The macros whose text differs between two requests, and behind which something is sent that a provider's cache could
/// have served.
fn warn_of_unstable_macros(rules: &Ruleset, scene: &Scene, plan: &Plan) -> Report {
    let Some(trace) = plan.trace.as_ref().filter(|trace| !trace.macros.is_empty()) else { return Report::default() };
    let mut other = Scene { strict: false, draws: None, seed: format!("{}, another", scene.seed), ..scene.clone() };
    if !other.get("now").is_null() {
        other.merge(Value::map([("now".into(), Value::text("2001-05-17T03:41:29Z"))].into_iter().collect::<Map>()));
    }
    let Ok(again) = tapster::build(rules, &other) else { return Report::default() };
    let macros = again.trace.iter().flat_map(|trace| &trace.macros);
    let sent: Vec<_> = plan.blocks.iter().filter(|block| block.enabled()).collect();
    let others: Vec<_> = again.blocks.iter().filter(|block| block.enabled()).collect();
    // a text that is the same in both requests may hold what a macro gave, and is not its place
    let differs = |n: usize, text: &str| others.get(n).is_none_or(|other| other.text("text") != text);
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    let mut report = Report::default();
    for (one, other) in trace.macros.iter().zip(macros) {
        let Some(result) = one.result.as_deref().filter(|result| !result.is_empty() && one.name == other.name) else { continue };
        if other.result.as_deref() == Some(result) || reported.len() >= MOST_MACROS || reported.contains(&*one.name) {
            continue;
        }
        let mut places = sent.iter().map(|block| block.text("text")).enumerate();
        let holder = places.find(|(n, text)| text.contains(result) && differs(*n, text)).map(|(n, _)| n);
        let holder = holder.filter(|place| place + 1 < sent.len());
        let Some((place, block)) = holder.and_then(|place| Some((place, sent.get(place)?))) else { continue };
        if reported.insert(&one.name) {
            let message = format!(
                "`{{{{{}}}}}` in message {place} (slot `{}`) differs from one request to the next: no cache of a provider serves what \
                 follows it",
                short::word(&one.name),
                short::word(&block.text("slot"))
            );
            let help = "move it behind the chat; docs/how-to/keep-the-prompt-cache-warm.md";
            report.push(Diagnostic::new(Code::CacheUnstable, message).help(help));
        }
    }
    report.retain(|warning| !rules.allows(warning));
    report
}

/// The most patterns that are reported, and the most that are looked at.
const MOST_PATTERNS: usize = 50;
const MOST_TRIED: usize = 5_000;

/// How a pattern is matched.
pub struct PatternState {
    /// The engine; empty for one that cannot be used.
    pub engine: &'static str,
    /// `linear`, `slow`, `refused` or `unreadable`.
    pub state: &'static str,
    /// Why it cannot be used.
    pub why: Option<String>,
}

impl PatternState {
    /// Of a text that is a pattern as a whole, `/pattern/flags`; with `bare`, also of one without slashes.
    #[must_use]
    pub fn of(text: &str, bare: bool) -> Option<Self> {
        // a path such as `/tools/name` looks like a pattern with letters that are no flags
        let is_pattern = Pattern::split(text).is_some_and(|(_, flags)| flags.chars().all(|flag| FLAGS.contains(flag)));
        if !is_pattern && !bare {
            return None;
        }
        let read = if is_pattern { Pattern::parse(text) } else { Pattern::new(text, "g") };
        let (engine, state) = match &read {
            Ok(pattern) if pattern.may_run_away() => (pattern.engine(), "slow"),
            Ok(pattern) => (pattern.engine(), "linear"),
            Err(error) if error.fault == PatternFault::Unsafe => ("", "refused"),
            Err(_) => ("", "unreadable"),
        };
        Some(Self { engine, state, why: read.err().map(|error| error.reason) })
    }
}

/// The patterns in a scene that their engine may need many looks at a text for, or that it refuses.
fn warn_of_slow_patterns(rules: &Ruleset, data: &Value) -> Report {
    let mut found: BTreeMap<&str, (PatternState, String)> = BTreeMap::new();
    let mut tried = 0;
    // what is said in a chat is no pattern
    visit_texts(data, |key| key != "history", &mut |path, text| {
        if text.starts_with('/') && text.len() <= limits::PATTERN_BYTES {
            tried += 1;
            if let Some(state) = PatternState::of(text, false).filter(|state| matches!(state.state, "slow" | "refused")) {
                found.entry(text).or_insert_with(|| (state, path.to_owned()));
            }
        }
        found.len() < MOST_PATTERNS && tried < MOST_TRIED
    });
    let warnings = found.iter().map(|(text, (state, path))| {
        let does = if state.state == "slow" { "may look at a text many times" } else { "is refused: it could take unbounded time" };
        let message = format!("the pattern `{}` in `{}` {does}", short::word(text), short::word(path));
        Diagnostic::new(Code::RegexSlow, message)
            .help("do without back references and look-around, and without repetition inside of repetition")
    });
    warnings.filter(|warning| !rules.allows(warning)).collect()
}
