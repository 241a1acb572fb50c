//! The scripts of a pack, compiled: every `scripts/*.rhai`.
//!
//! A script that does not compile and a call of an unknown function are errors of the pack, reported when it is
//! loaded. A script may import the scripts whose names sort before its own.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, SourceId, Span};
use crate::terms::Library;
use crate::terms::library::parts;
use crate::text::script::{ScriptError, ScriptLimits, Scripts};

use super::context::CompileContext;

/// The number of arguments of a pack's function: the value that it changes, and the data that it may read.
const ARGUMENTS: usize = 2;

/// Compiles all scripts of a pack; reports those that do not compile.
pub fn compile(cx: &mut CompileContext<'_>, limits: ScriptLimits) -> Library {
    let mut found: Vec<(&str, SourceId)> =
        cx.pack.assets.iter().filter_map(|(path, id)| Some((path.strip_prefix("scripts/")?.strip_suffix(".rhai")?, *id))).collect();
    found.sort_unstable();
    let pack = cx.pack;
    let text = |id: SourceId| pack.sources.get(id).map_or("", |s| s.text.as_ref());
    let modules: Vec<(&str, &str)> = found.iter().map(|(name, id)| (*name, text(*id))).collect();
    let engine = Scripts::with_modules(limits, &modules);
    let importing = engine.is_ok();
    let plain = engine.unwrap_or_else(|(name, error)| {
        if let Some((_, id)) = found.iter().find(|(n, _)| *n == name) {
            cx.script_bad(*id, &error);
        }
        Scripts::new(limits)
    });
    let mut scripts = FxHashMap::default();
    for (name, id) in &found {
        let script = plain.compile(text(*id)).map_err(|error| {
            if importing {
                cx.script_bad(*id, &error);
            }
        });
        scripts.insert(Arc::from(*name), script.ok().filter(|_| importing));
    }
    Library::new(scripts)
}

impl CompileContext<'_> {
    /// Reports an error in a script at its position.
    fn script_bad(&mut self, id: SourceId, error: &ScriptError) {
        let text = self.pack.sources.get(id).map_or("", |s| s.text.as_ref());
        let start = offset(text, error.line, error.column);
        let rule = std::mem::take(&mut self.rule);
        let help = Some("see docs/reference/hooks.md for what a script may do".into());
        self.fail(Code::ScriptBad, Span::new(id, start, start), format!("the script cannot be compiled: {}", error.message), help);
        self.rule = rule;
    }

    /// Reports an error if the pack has no function of that name with two arguments.
    pub fn function(&mut self, function: &str, span: Span) {
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
                if known.iter().any(|(n, args)| n == name && *args == ARGUMENTS) {
                    return;
                }
                if let Some((_, args)) = known.iter().find(|(n, _)| n == name) {
                    let message = format!("function `{name}` takes {args} arguments instead of {ARGUMENTS}");
                    self.fail(Code::ScriptBad, span, message, Some("it is given what it works on, and what it may look at".into()));
                    return;
                }
                let help = crate::diag::suggest::help(name, known.iter().map(|(n, _)| n.as_str()));
                let help = help.or_else(|| Some(format!("write `fn {name}(items, scene) {{ … }}` in `scripts/{file}.rhai`")));
                self.fail(Code::NameUnknown, span, format!("`{file}.rhai` has no function `{name}`"), help);
            }
        }
    }
}

/// The byte offset of a line and a column (in characters, both from 1); 0 if there is none.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let Some(above) = line.checked_sub(1) else { return 0 };
    let start: usize = text.split_inclusive('\n').take(above).map(str::len).sum();
    let rest = text.get(start..).unwrap_or("");
    start + rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>()
}
