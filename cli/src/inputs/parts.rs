//! The inputs of a build, after the flags have been merged over the scene file and before any file is opened.

use std::path::{Path, PathBuf};

use crate::diag::{DocumentNode, Sources, Span};
use crate::model::Value;
use crate::pack::{Overlay, RuleFile, Start};

/// A template, as a scene file or a flag names it.
#[derive(Debug, Clone)]
pub(crate) enum TemplateReference {
    /// By its id.
    Id(String),
    /// A file.
    File(PathBuf),
    /// A file that has been read.
    Read(RuleFile),
}

impl TemplateReference {
    /// A file if it looks like one: it ends in `.json` or `.toml`, holds a `/`, or is `-`.
    pub(crate) fn typed(text: &str, base: &Path) -> Self {
        let is_file = text == "-" || text.contains(['/', '\\']) || [".json", ".toml"].iter().any(|end| text.ends_with(end));
        if is_file {
            TemplateReference::File(if text == "-" { text.into() } else { base.join(text) })
        } else {
            TemplateReference::Id(text.to_owned())
        }
    }
}

/// The inputs of a build after the flags have been merged over the scene file. Paths are resolved.
#[derive(Debug, Clone, Default)]
pub(crate) struct BuildParts {
    pub(crate) pack: Option<Start>,
    /// Where the scene file names the pack, if it is the one that is used.
    pub(crate) pack_at: Option<Span>,
    pub(crate) overlays: Vec<Overlay>,
    pub(crate) character: Option<PathBuf>,
    pub(crate) presets: Vec<PathBuf>,
    pub(crate) chat: Option<PathBuf>,
    pub(crate) lorebooks: Vec<PathBuf>,
    pub(crate) persona: Option<String>,
    pub(crate) persona_file: Option<PathBuf>,
    pub(crate) message: Option<String>,
    pub(crate) dialect: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) seed: Option<String>,
    pub(crate) now: Option<String>,
    /// What the clock says, for builds that must not differ by it.
    pub(crate) clock: Option<String>,
    pub(crate) strict: bool,
    pub(crate) template: Option<TemplateReference>,
    pub(crate) task: Option<String>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) revision: Option<String>,
    /// Scripted draws, which are used up before the seed is.
    pub(crate) draws: Option<Vec<f64>>,
    /// The table `scene` of the scene file as it is written, with the text that it stands in.
    pub(crate) written: Option<(DocumentNode, Sources)>,
    /// The whole scene file in the same way.
    pub(crate) top: Option<(DocumentNode, Sources)>,
    /// Values of the scene; they override those of all files.
    pub(crate) scene: Value,
    /// The table `option` of the scene file.
    pub(crate) option: Option<DocumentNode>,
    /// Values of options by their names, as flags write them; they override those of the scene file.
    pub(crate) options: Vec<(String, String)>,
    /// Single paths; they override everything else.
    pub(crate) set: Vec<(String, Value)>,
}

impl BuildParts {
    /// The files and folders that the parts name, but not those in which packs are searched by name.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let single = [&self.character, &self.chat, &self.persona_file, &self.data].into_iter().flatten();
        let mut all: Vec<PathBuf> = single.chain(&self.presets).chain(&self.lorebooks).cloned().collect();
        all.extend(self.overlays.iter().filter_map(|overlay| if let Overlay::Path(path) = overlay { Some(path.clone()) } else { None }));
        if let Some(Start::Folder(folder)) = &self.pack {
            all.push(folder.clone());
        }
        if let Some(TemplateReference::File(file)) = &self.template {
            all.push(file.clone());
        }
        all
    }
}

/// The longest time that may be set, in seconds.
const MAX_TIMEOUT: f64 = 86_400.0;

/// A time in seconds that is more than nothing.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|n| *n > 0.0 && *n <= MAX_TIMEOUT);
    number.ok_or_else(|| format!("a number of seconds above 0 and up to {MAX_TIMEOUT}"))
}
