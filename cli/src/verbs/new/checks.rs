//! What must hold before `tapster new` writes anything: else what it writes would not pass `tapster check`.

use std::path::{Path, PathBuf};

use crate::diag::{Code, Report, short, suggest};
use crate::pack::files::parent;
use crate::pack::library::{is_name, is_own_name};
use crate::pack::{PackFiles, PackLibrary, PackShelf, Ruleset, Start};

use crate::inputs::files::shown;
use crate::inputs::library::{DEFAULT_PACK, beside_scene, shelf};
use crate::inputs::templated::{pack_around, pack_of};
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

use super::texts::NewFile;
use super::{NewArgs, ScaffoldKind};

impl NewArgs {
    /// Refuses a name, a pack or a folder with which nothing that passes a check could be written.
    pub(super) fn fits(&self, to: &Path, show: &mut OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let unused = [
            ("--extends", self.extends.is_some() && matches!(self.what, ScaffoldKind::Rule | ScaffoldKind::Hook | ScaffoldKind::Template)),
            ("--task", self.task.is_some() && self.what != ScaffoldKind::Template),
        ];
        if let Some((flag, _)) = unused.iter().find(|(_, is_given)| *is_given) {
            let help = if *flag == "--task" { "only a template has a task" } else { "what belongs to a pack extends nothing of its own" };
            return Err(EarlyExit::could_not(Code::SceneField, format!("`{flag}` has no effect here"), help));
        }
        let folder = "a pack is extended by its name; packs that lie beside the new one are found, and so are installed ones";
        let names = [(Some(&self.name), "`--to` says the folder"), (self.extends.as_ref(), folder)];
        for (name, more) in names.iter().filter_map(|(name, more)| Some(((*name)?, more))) {
            if !is_name(name) {
                let help = format!("use letters, digits, `-`, `_` and `.`; {more}");
                return Err(EarlyExit::could_not(Code::PackManifest, format!("`{}` is not a name", short::word(name)), help));
            }
        }
        show.near.extend(beside_scene(to));
        if self.what == ScaffoldKind::Pack {
            self.may_be_pack()?;
        }
        if matches!(self.what, ScaffoldKind::Rule | ScaffoldKind::Hook) && around(to).is_none() {
            let message = format!("`{}` is not the folder of a pack", if to.as_os_str().is_empty() { ".".to_owned() } else { shown(to) });
            let help = "`tapster new pack NAME` makes one; name the folder of a pack with `--to`";
            return Err(EarlyExit::could_not(Code::PackMissing, message, help));
        }
        self.extended(show)
    }

    fn may_be_pack(&self) -> Result<(), EarlyExit> {
        if !is_own_name(&self.name) {
            let message = format!("`{}` is not the name of a pack", short::word(&self.name));
            let help = "use small letters, digits, `-` and `_`, with a letter or a digit first";
            return Err(EarlyExit::could_not(Code::PackManifest, message, help));
        }
        let extends = self.extends.as_deref().unwrap_or(DEFAULT_PACK);
        if self.name == extends {
            let message = format!("the pack `{extends}` would extend itself");
            return Err(EarlyExit::could_not(Code::CyclePack, message, "choose another name, or another pack with `--extends`"));
        }
        Ok(())
    }

    /// Refuses to extend a pack that does not exist.
    fn extended(&self, show: &OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let Some(extends) = &self.extends else { return Ok(()) };
        let shelf = shelf(show);
        if shelf.find(extends, &mut Report::default()).is_some() {
            return Ok(());
        }
        let help = suggest::help(extends, shelf.names().iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "`tapster packs` lists those that can be named".into());
        Err(EarlyExit::could_not(Code::PackMissing, format!("pack `{extends}` is not found"), help))
    }

    /// Refuses a new pack that would not load: for instance because a pack that it extends extends one of its name.
    pub(super) fn loads(&self, files: &[NewFile], show: &OutputStreams<'_, '_>) -> Result<(), EarlyExit> {
        let inside = |path: &Path| path.strip_prefix(&self.name).map(|path| path.display().to_string().replace('\\', "/"));
        let files = files.iter().filter_map(|(path, text)| Some((inside(path).ok()?, text.clone().into_bytes())));
        let with = PackShelf { packs: vec![PackFiles::of(&self.name, files)], ..shelf(show) };
        Ruleset::load(&Start::Name(self.name.clone()), &[], &with).map(|_| ()).map_err(EarlyExit::rejected)
    }

    /// The sources of the task of a template, and which of them are lists. The task is one of the pack that the template is
    /// written into, or else of the pack that has it.
    pub(super) fn sources(&self, to: &Path, show: &mut OutputStreams<'_, '_>) -> Result<Vec<(String, bool)>, EarlyExit> {
        let having = pack_of(Some(self.task()), &shelf(show));
        let start = match around(to) {
            Some(folder) => {
                show.near.extend(parent(&folder));
                Start::Folder(folder)
            }
            None => having.clone().map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))?,
        };
        let rules = Ruleset::load(&start, &[], &shelf(show)).map_err(EarlyExit::rejected)?;
        let kinds = rules.tasks().kinds();
        if kinds.contains(&self.task()) {
            return Ok(crate::template::sources_of(rules.pack(), rules.revisions(), self.task()));
        }
        let help = suggest::help(self.task(), kinds.iter().copied()).unwrap_or_else(|| match (kinds.is_empty(), having) {
            (true, Ok(Start::Name(name))) => {
                format!("let the pack extend `{name}`, which has it, or write the template elsewhere with `--to`").into()
            }
            (true, _) => "it has no tasks at all; write the template elsewhere with `--to`".into(),
            (false, _) => format!("name one of its tasks with `--task`: {}", kinds.join(", ")).into(),
        });
        let message = format!("pack `{}` has no task `{}`", rules.pack().name, short::word(self.task()));
        Err(EarlyExit::could_not(Code::NameUnknown, message, help))
    }
}

/// The folder of the pack in which files of this folder lie.
fn around(to: &Path) -> Option<PathBuf> {
    pack_around(&to.join("new"))
}
