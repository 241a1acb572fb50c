//! The scripts of a pack: every `scripts/*.rhai`, compiled when the pack is, its functions found by `file::function`.
//!
//! A script that does not compile, and a function that no script has, are mistakes of the pack, told at load. A
//! script may import those whose names come before its own.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::Value;
use crate::text::script::Script;

/// The compiled scripts of a pack.
#[derive(Debug, Default)]
pub struct Library {
    /// By name without folder and ending; nothing for one that does not compile.
    scripts: FxHashMap<Arc<str>, Option<Script>>,
}

/// `file.rhai::function` or `file::function`; a bare function is one of `main`.
pub fn parts(function: &str) -> (&str, &str) {
    let (file, name) = function.rsplit_once("::").unwrap_or(("main", function));
    let file = file.strip_prefix("scripts/").unwrap_or(file);
    (file.strip_suffix(".rhai").unwrap_or(file), name)
}

impl Library {
    /// Calls a function.
    ///
    /// # Errors
    /// No such function, a limit, or what the script throws, with its file and line.
    pub fn call(&self, function: &str, args: &[Value]) -> Result<Value, String> {
        let (file, name) = parts(function);
        let Some(Some(script)) = self.scripts.get(file) else { return Err(format!("the pack has no script `scripts/{file}.rhai`")) };
        script.call(name, args).map_err(|e| format!("`{file}.rhai::{name}`: {e}"))
    }

    /// A library of scripts by name; nothing stands for one that does not compile.
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
