//! The scripts of a pack, compiled: every `scripts/*.rhai`, and those that overlays hold in `[rhai]`.
//!
//! A script that does not compile and a call of an unknown function are errors of the pack, reported when it is
//! loaded. A script may import the scripts whose names sort before its own.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, DocumentNode, FieldMap, SourceId, Span, source};
use crate::model::rights::TABLE;
use crate::terms::ScriptLibrary;
use crate::terms::expr::ScriptCall;
use crate::terms::scripts::parts;
use crate::text::script::{ScriptError, ScriptLimits, ScriptRights, ScriptSource, Scripts};

use super::context::{CompileContext, ITEM_AND_SCENE, ScriptArguments};

/// A function that works on a list.
pub const ITEMS_AND_SCENE: ScriptArguments = ("items, scene", 2);
/// A function that is a step.
pub const TEXT_AND_ITEM: ScriptArguments = ("text, item", 2);

/// One script as written.
struct WrittenScript<'p> {
    name: &'p str,
    file: Arc<str>,
    layer: Arc<str>,
    /// The text; that of an overlay begins at the line at which it begins in the overlay.
    text: String,
    source: SourceId,
    /// Where it stands, if it stands in an overlay.
    node: Option<&'p DocumentNode>,
}

/// Compiles all scripts of a pack; reports those that do not compile.
pub fn compile(cx: &mut CompileContext<'_>, limits: ScriptLimits) -> ScriptLibrary {
    let found = written(cx);
    // most packs have none, and an engine takes longer to make than their tables
    if found.is_empty() {
        return ScriptLibrary::new(FxHashMap::default());
    }
    let sources: Vec<ScriptSource<'_>> = found.iter().map(|s| ScriptSource { name: s.name, file: &s.file, text: &s.text }).collect();
    let engine = Scripts::with_sources(limits, &sources, &mut cx.script_bytes);
    let importing = engine.is_ok();
    let plain = engine.unwrap_or_else(|(name, error)| {
        if let Some(script) = found.iter().find(|script| script.name == name) {
            cx.script_bad(script, &error);
        }
        Scripts::new(limits)
    });
    let mut scripts = FxHashMap::default();
    for script in &found {
        // without its imports no script is used, and all of them together may be too large to be compiled. Their tokens have been
        // counted
        let compiled = importing.then(|| plain.compile_file(&script.file, &script.text));
        let compiled = compiled.and_then(|compiled| compiled.map_err(|error| cx.script_bad(script, &error)).ok());
        let rights = cx.pack.rights.get(&script.layer).cloned();
        scripts.insert(Arc::from(script.name), compiled.map(|compiled| compiled.within(rights)));
    }
    ScriptLibrary::new(scripts)
}

/// All scripts by name, sorted; one in an overlay replaces a file of the same name.
fn written<'p>(cx: &CompileContext<'p>) -> Vec<WrittenScript<'p>> {
    let pack = cx.pack;
    let mut found: std::collections::BTreeMap<&str, WrittenScript<'p>> = std::collections::BTreeMap::new();
    for (path, id) in &pack.assets {
        let name = path.strip_prefix("scripts/").and_then(|name| name.strip_suffix(".rhai"));
        let (Some(name), Some(source)) = (name, pack.sources.get(*id)) else { continue };
        let (file, layer) = (source.name.clone(), source.layer.clone());
        found.insert(name, WrittenScript { name, file, layer, text: source.text.to_string(), source: *id, node: None });
    }
    let inline = pack.values.get(TABLE).and_then(|field| field.node.as_table()).into_iter().flatten();
    for (name, field) in inline {
        let (Some(name), Some(text)) = (name.strip_suffix(".rhai"), field.node.as_text()) else { continue };
        let Some(place) = pack.sources.place(source::place_in_text(&pack.sources, &field.node, 0)) else { continue };
        let text = "\n".repeat(place.line - 1) + text;
        let (file, layer, source) = (place.file, place.layer, field.node.span.source);
        found.insert(name, WrittenScript { name, file, layer, text, source, node: Some(&field.node) });
    }
    found.into_values().collect()
}

impl CompileContext<'_> {
    /// Reports an error in a script at its position.
    fn script_bad(&mut self, script: &WrittenScript<'_>, error: &ScriptError) {
        let span = match script.node {
            // the lines are those of the overlay
            Some(node) if error.line == 0 => node.span,
            _ => {
                let start = self.pack.sources.get(script.source).map_or(0, |source| source.offset(error.line, error.column));
                Span::new(script.source, start, start)
            }
        };
        let rule = std::mem::take(&mut self.rule);
        let help = Some("see docs/reference/scripts.md for what a script may do".into());
        self.fail(Code::ScriptBad, span, format!("the script cannot be compiled: {}", error.message), help);
        self.rule = rule;
    }

    /// What the pack or overlay in which a place is declares of its scripts.
    pub fn rights_of(&self, span: Span) -> Option<Arc<ScriptRights>> {
        self.pack.sources.get(span.source).and_then(|source| self.pack.rights.get(&source.layer)).cloned()
    }

    /// Whether a text names a function, and is not what a field called `script` is compared with.
    pub fn is_function(&self, node: &DocumentNode) -> bool {
        node.as_text().is_some_and(|text| text.contains("::"))
    }

    /// `{ script = "file.rhai::function", args? }`, with `others` as further keys.
    pub fn scripted(&mut self, table: &FieldMap, span: Span, others: &[&str]) -> Option<ScriptCall> {
        for (key, field) in table.iter().filter(|(key, _)| !matches!(key.as_ref(), "script" | "args") && !others.contains(&key.as_ref())) {
            let known = ["script", "args"].into_iter().chain(others.iter().copied());
            self.fail(
                Code::SchemaUnknownKey,
                field.key,
                format!("`{key}` does not belong to `script`"),
                self.report.words.help(key, known),
            );
        }
        let Some(own) = table.get("script").map(|f| &f.node) else {
            self.fail(
                Code::TermMissing,
                span,
                "a key that a script gives names no function",
                Some("add `script = \"file.rhai::function\"`".into()),
            );
            return None;
        };
        let function = self.literal(own, "a function's name");
        let Some(args) = table.get("args").map(|f| &f.node) else {
            self.function(&function, own.span, ITEM_AND_SCENE);
            return Some(ScriptCall { function, args: None, sets: None });
        };
        let Some(list) = args.as_list() else {
            let help = Some("write `args = [a, b]`".into());
            self.fail(Code::TermType, args.span, format!("`args` is a list of values, not {}", args.kind()), help);
            return None;
        };
        self.function(&function, own.span, ("", list.len()));
        let args = list.iter().map(|arg| self.expr(arg)).collect();
        Some(ScriptCall { function, args: Some(args), sets: None })
    }

    /// Reports an error if the pack has no function of that name with so many arguments.
    pub fn function(&mut self, function: &str, span: Span, (params, count): ScriptArguments) {
        let (file, name) = parts(function);
        let files: Vec<Arc<str>> = self.scripts.scripts().keys().cloned().collect();
        match self.scripts.scripts().get(file) {
            None => {
                let shown: Vec<String> = files.iter().map(|f| format!("{f}.rhai")).collect();
                self.unknown("script", &format!("{file}.rhai"), span, shown.iter().map(String::as_str));
            }
            Some(None) => {}
            Some(Some(script)) => {
                let known = script.functions();
                if known.iter().any(|(n, args)| n == name && *args == count) {
                    return;
                }
                if let Some((_, args)) = known.iter().find(|(n, _)| n == name) {
                    let message = format!("function `{name}` takes {args} arguments instead of {count}");
                    let help = match params {
                        "" => "`args` lists what it is given".to_owned(),
                        _ => format!("it is given ({params})"),
                    };
                    self.fail(Code::ScriptBad, span, message, Some(help.into()));
                    return;
                }
                let help = self.report.words.help(name, known.iter().map(|(n, _)| n.as_str()));
                let help = help.or_else(|| Some(format!("write `fn {name}({params}) {{ … }}` in `{}`", script.file()).into()));
                self.fail(Code::NameUnknown, span, format!("`{file}.rhai` has no function `{name}`"), help);
            }
        }
    }
}
