//! Which part of a scene a file of another program is, judged by what it gives to the scene.

use std::path::Path;

use crate::diag::{Code, Diagnostic};
use crate::model::Value;

use crate::inputs::files::shown;

/// A part of a scene that has a flag of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SceneRole {
    Character,
    Preset,
    Chat,
    Lorebook,
    Persona,
}

impl SceneRole {
    /// The part that an imported scene is; `None` if it may be any.
    pub(crate) fn of(scene: &Value) -> Option<Self> {
        let has = |path: &str| scene.get(path).is_some_and(|value| !value.is_empty());
        let only = |paths: &[&str]| scene.as_map().is_some_and(|map| !map.is_empty() && map.keys().all(|key| paths.contains(&&**key)));
        if has("card") {
            Some(Self::Character)
        } else if has("history") {
            Some(Self::Chat)
        } else if only(&["book", "books"]) {
            Some(Self::Lorebook)
        } else if only(&["persona", "personas", "names"]) && (has("persona") || has("personas")) {
            Some(Self::Persona)
        } else if has("preset") || has("story") || has("instruct") || has("reasoning") || has("provider") {
            Some(Self::Preset)
        } else {
            None
        }
    }

    /// The flag that takes such a file.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Self::Character => "--character",
            Self::Preset => "--preset",
            Self::Chat => "--chat",
            Self::Lorebook => "--lorebook",
            Self::Persona => "--persona-file",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Character => "a card",
            Self::Preset => "a preset",
            Self::Chat => "a chat",
            Self::Lorebook => "a lorebook",
            Self::Persona => "a persona",
        }
    }

    /// The warning about a file that was given as `self` and is something else.
    pub(crate) fn mistaken(self, file: &Path, format: &str, scene: &Value) -> Option<Diagnostic> {
        let is = Self::of(scene).filter(|is| *is != self)?;
        let message = format!("`{}` is given as {}, but it is {} (`{format}`)", shown(file), self.noun(), is.noun());
        let help = format!("name it with `{}`, or with the key of that name in the scene file", is.flag());
        Some(Diagnostic::new(Code::ImportRole, message).help(help))
    }
}
