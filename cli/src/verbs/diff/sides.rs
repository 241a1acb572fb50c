//! What is compared: two packs, two overlays over a pack, or two scenes.

use std::path::{Path, PathBuf};

use crate::diag::{Code, DocumentNode};
use crate::pack::files::{is_folder, is_pack, parent};
use crate::pack::{Overlay, Ruleset, Schemas, Start, load_file};

use crate::inputs::InputArgs;
use crate::inputs::library::beside_scene;
use crate::inputs::parts::BuildParts;
use crate::inputs::rules_of;
use crate::output::OutputStreams;
use crate::stop::EarlyExit;
use crate::verbs::check::scene::of as scene_at;

/// One of two sides.
#[derive(Debug, Clone)]
pub(super) enum DiffSide {
    /// A pack with the overlays that are laid over it.
    Rules { start: Start, overlays: Vec<PathBuf> },
    /// A scene, which names its own pack.
    Scene(PathBuf),
}

impl DiffSide {
    /// Whether an overlay is laid over a pack.
    pub(super) fn is_laid(&self) -> bool {
        matches!(self, DiffSide::Rules { overlays, .. } if !overlays.is_empty())
    }

    /// What an argument means. An overlay is laid over `pack`, or else over the pack that it extends.
    pub(super) fn typed(text: &str, pack: Option<&str>) -> Result<Self, EarlyExit> {
        let file = Path::new(text);
        let folder = is_folder(file);
        if let Some(scene) = scene_at(file, folder) {
            return Ok(DiffSide::Scene(scene));
        }
        let is_rule_file = file.extension().is_some_and(|e| e == "toml" || e == "json");
        if folder || !is_rule_file {
            if folder && !is_pack(file) {
                let message = format!("`{text}` is neither a pack nor a scene");
                return Err(EarlyExit::could_not(Code::FileMissing, message, "a pack has a `pack.toml`, a scene a `scene.toml`"));
            }
            return Ok(DiffSide::Rules { start: Start::typed(text), overlays: Vec::new() });
        }
        let (doc, report, sources) = load_file(file, Schemas::shipped());
        let extends = doc.as_ref().and_then(|doc| doc.root.get("extends")).and_then(DocumentNode::as_text);
        match pack.or(extends) {
            Some(pack) => Ok(DiffSide::Rules { start: Start::typed(pack), overlays: vec![file.to_owned()] }),
            None if doc.is_none() => {
                let missing = crate::stop::only_missing(&report);
                Err(EarlyExit::report(if missing { super::RunExit::CouldNot } else { super::RunExit::No }, report, sources))
            }
            None => {
                let message = format!("`{text}` does not say what it extends");
                Err(EarlyExit::could_not(Code::PackMissing, message, "name the pack that it is laid over with `--pack NAME`"))
            }
        }
    }

    /// The side that this one is laid over: the pack below an overlay, or the pack that a pack extends.
    pub(super) fn below(&self, show: &mut OutputStreams<'_, '_>) -> Result<Self, EarlyExit> {
        match self {
            DiffSide::Rules { start, overlays } if !overlays.is_empty() => {
                Ok(DiffSide::Rules { start: start.clone(), overlays: Vec::new() })
            }
            DiffSide::Rules { start, .. } => {
                let (rules, _) = self.open(show)?;
                let packs: Vec<&str> = rules.pack().layers.iter().filter(|layer| !layer.overlay).map(|layer| &*layer.name).collect();
                match packs.as_slice() {
                    [.., below, _] => Ok(DiffSide::Rules { start: beside(start, below), overlays: Vec::new() }),
                    _ => {
                        let message = format!("pack `{}` extends nothing that it could be compared with", rules.pack().name);
                        Err(EarlyExit::could_not(Code::PackMissing, message, "name a second pack"))
                    }
                }
            }
            DiffSide::Scene(_) => {
                Err(EarlyExit::could_not(Code::FileMissing, "one scene is named", "name a second scene to compare it with"))
            }
        }
    }

    /// How the side is named in the page.
    pub(super) fn title(&self, rules: &Ruleset) -> String {
        match self {
            DiffSide::Scene(path) => path.display().to_string(),
            DiffSide::Rules { start, overlays } => {
                let pack = rules.pack();
                let release = pack.layers.iter().rfind(|l| !l.overlay).map(|l| format!(" {}", l.release)).unwrap_or_default();
                let from = if let Start::Folder(folder) = start { format!(" ({})", folder.display()) } else { String::new() };
                let over: String = overlays.iter().map(|path| format!(" + {}", path.display())).collect();
                format!("{}{release}{from}{over}", pack.name)
            }
        }
    }

    /// Loads the rules; of a scene, with its parts.
    pub(super) fn open(&self, show: &mut OutputStreams<'_, '_>) -> Result<(Ruleset, Option<BuildParts>), EarlyExit> {
        let near = show.near.len();
        let opened = self.open_near(show);
        show.near.truncate(near);
        opened
    }

    fn open_near(&self, show: &mut OutputStreams<'_, '_>) -> Result<(Ruleset, Option<BuildParts>), EarlyExit> {
        match self {
            DiffSide::Scene(path) => {
                let parts = InputArgs::of_scene(path).parts(show)?;
                Ok((rules_of(&parts, show)?, Some(parts)))
            }
            DiffSide::Rules { start, overlays } => {
                if let Start::Folder(folder) = start {
                    show.near.extend(parent(folder));
                }
                show.near.extend(overlays.iter().filter_map(|path| path.parent()).flat_map(beside_scene));
                let overlays = overlays.iter().cloned().map(Overlay::Path).collect();
                let parts = BuildParts { pack: Some(start.clone()), overlays, ..BuildParts::default() };
                Ok((rules_of(&parts, show)?, None))
            }
        }
    }

    /// The parts of a scene with the rules of this side: its pack, then the overlays of the scene, then its own overlays.
    /// The compared overlays give way where the scene names them too.
    pub(super) fn over(&self, mut parts: BuildParts, compared: &[PathBuf]) -> BuildParts {
        if let DiffSide::Rules { start, overlays } = self {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let compared: Vec<PathBuf> = compared.iter().map(|path| real(path)).collect();
            parts.overlays.retain(|overlay| !matches!(overlay, Overlay::Path(path) if compared.contains(&real(path))));
            (parts.pack, parts.pack_at) = (Some(start.clone()), None);
            parts.overlays.extend(overlays.iter().cloned().map(Overlay::Path));
        }
        parts
    }

    /// The overlays of the side.
    pub(super) fn overlays(&self) -> &[PathBuf] {
        if let DiffSide::Rules { overlays, .. } = self { overlays } else { &[] }
    }
}

/// The pack `name`, which lies beside another one or in the library.
fn beside(start: &Start, name: &str) -> Start {
    let folder = if let Start::Folder(folder) = start { parent(folder).map(|p| p.join(name)).filter(|p| is_pack(p)) } else { None };
    folder.map_or_else(|| Start::Name(name.to_owned()), Start::Folder)
}
