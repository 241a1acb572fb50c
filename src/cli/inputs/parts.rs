//! The inputs of a build, after the flags have been merged over the scene file and before any file is opened.

use std::path::{Path, PathBuf};

use crate::diag::{Node, Sources, Span};
use crate::model::Value;
use crate::pack::{Overlay, RuleFile, Start};

/// A template, as a scene file or a flag names it.
#[derive(Debug, Clone)]
pub(in crate::cli) enum Named {
    /// By its id.
    Id(String),
    /// A file.
    File(PathBuf),
    /// A file that has been read.
    Read(RuleFile),
}

impl Named {
    /// A file if it looks like one: it ends in `.json` or `.toml`, holds a `/`, or is `-`.
    pub(in crate::cli) fn typed(text: &str, base: &Path) -> Self {
        let is_file = text == "-" || text.contains(['/', '\\']) || [".json", ".toml"].iter().any(|end| text.ends_with(end));
        if is_file { Named::File(if text == "-" { text.into() } else { base.join(text) }) } else { Named::Id(text.to_owned()) }
    }
}

/// The inputs of a build after the flags have been merged over the scene file. Paths are resolved.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Parts {
    pub(in crate::cli) pack: Option<Start>,
    /// Where the scene file names the pack, if it is the one that is used.
    pub(in crate::cli) pack_at: Option<Span>,
    pub(in crate::cli) overlays: Vec<Overlay>,
    pub(in crate::cli) character: Option<PathBuf>,
    pub(in crate::cli) presets: Vec<PathBuf>,
    pub(in crate::cli) chat: Option<PathBuf>,
    pub(in crate::cli) lorebooks: Vec<PathBuf>,
    pub(in crate::cli) persona: Option<String>,
    pub(in crate::cli) persona_file: Option<PathBuf>,
    pub(in crate::cli) message: Option<String>,
    pub(in crate::cli) dialect: Option<String>,
    pub(in crate::cli) kind: Option<String>,
    pub(in crate::cli) seed: Option<String>,
    pub(in crate::cli) now: Option<String>,
    /// What the clock says, for builds that must not differ by it.
    pub(in crate::cli) clock: Option<String>,
    pub(in crate::cli) strict: bool,
    pub(in crate::cli) template: Option<Named>,
    pub(in crate::cli) task: Option<String>,
    pub(in crate::cli) data: Option<PathBuf>,
    pub(in crate::cli) revision: Option<String>,
    /// Scripted draws, which are used up before the seed is.
    pub(in crate::cli) draws: Option<Vec<f64>>,
    /// The table `scene` of the scene file as it is written, with the text that it stands in.
    pub(in crate::cli) written: Option<(Node, Sources)>,
    /// The whole scene file in the same way.
    pub(in crate::cli) top: Option<(Node, Sources)>,
    /// Values of the scene; they override those of all files.
    pub(in crate::cli) scene: Value,
    /// The table `option` of the scene file.
    pub(in crate::cli) option: Option<Node>,
    /// Values of options by their names, as flags write them; they override those of the scene file.
    pub(in crate::cli) options: Vec<(String, String)>,
    /// Single paths; they override everything else.
    pub(in crate::cli) set: Vec<(String, Value)>,
}

impl Parts {
    /// The files and folders that the parts name, but not those in which packs are searched by name.
    pub(in crate::cli) fn paths(&self) -> Vec<PathBuf> {
        let single = [&self.character, &self.chat, &self.persona_file, &self.data].into_iter().flatten();
        let mut all: Vec<PathBuf> = single.chain(&self.presets).chain(&self.lorebooks).cloned().collect();
        all.extend(self.overlays.iter().filter_map(|overlay| if let Overlay::Path(path) = overlay { Some(path.clone()) } else { None }));
        if let Some(Start::Folder(folder)) = &self.pack {
            all.push(folder.clone());
        }
        if let Some(Named::File(file)) = &self.template {
            all.push(file.clone());
        }
        all
    }
}

/// The longest time that may be set, in seconds.
const MAX_TIMEOUT: f64 = 86_400.0;

/// A time in seconds that is more than nothing.
pub(in crate::cli) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|n| *n > 0.0 && *n <= MAX_TIMEOUT);
    number.ok_or_else(|| format!("a number of seconds above 0 and up to {MAX_TIMEOUT}"))
}
