//! The scripts of a pack: every `scripts/*.rhai`, compiled together with the pack; functions are found by
//! `file::function`.
//!
//! A script that does not compile and a call of an unknown function are errors of the pack, reported when it is
//! loaded. A script may import the scripts whose names sort before its own.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::Value;
use crate::text::script::{Script, ScriptArgument, ScriptPlace, ScriptRights};

use super::fault::EvalFault;

/// The compiled scripts of a pack.
#[derive(Debug, Default)]
pub struct ScriptLibrary {
    /// The scripts by name without folder and extension; `None` for one that does not compile.
    scripts: FxHashMap<Arc<str>, Option<Script>>,
}

/// `file.rhai::function` or `file::function`; a bare function name refers to `main`.
pub fn parts(function: &str) -> (&str, &str) {
    // a filter asks this for each item, and to look for two letters takes longer
    let named = function.rsplit_once(':').and_then(|(file, name)| Some((file.strip_suffix(':')?, name)));
    let (file, name) = named.unwrap_or(("main", function));
    let file = file.strip_prefix("scripts/").unwrap_or(file);
    (file.strip_suffix(".rhai").unwrap_or(file), name)
}

impl ScriptLibrary {
    /// Calls a function.
    ///
    /// # Errors
    /// The function is unknown, a limit is reached, or the script throws an error, which names its file and line.
    pub fn call(&self, function: &str, args: &[ScriptArgument]) -> Result<Value, EvalFault> {
        let (file, name) = parts(function);
        let Some(Some(script)) = self.scripts.get(file) else {
            return Err(EvalFault::failed(format!("the pack has no script `scripts/{file}.rhai`")));
        };
        script.call_with(name, args).map_err(|error| EvalFault::script(&format!("`{file}.rhai::{name}`"), &error))
    }

    /// What the pack of a function declares that its scripts may write; nothing if it declares nothing.
    #[must_use]
    pub fn rights(&self, function: &str) -> Option<&ScriptRights> {
        self.scripts.get(parts(function).0)?.as_ref()?.rights()
    }

    /// Where a function is written.
    #[must_use]
    pub fn place(&self, function: &str) -> Option<ScriptPlace> {
        let (file, name) = parts(function);
        let script = self.scripts.get(file)?.as_ref()?;
        Some(ScriptPlace { file: script.file().into(), line: script.line_of(name).max(1), column: 1 })
    }

    /// A library of scripts by name; `None` is a script that does not compile.
    #[must_use]
    pub fn new(scripts: FxHashMap<Arc<str>, Option<Script>>) -> Self {
        Self { scripts }
    }

    /// The scripts by name.
    #[must_use]
    pub fn scripts(&self) -> &FxHashMap<Arc<str>, Option<Script>> {
        &self.scripts
    }
}
