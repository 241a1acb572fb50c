//! A case of a rule test in the place of a scene: `FILE` or `FILE#NAME`.

use std::path::{Path, PathBuf};

use crate::diag::{Code, Report};
use crate::model::Value;
use crate::pack::files::read_file;
use crate::pack::{Schemas, load_read};
use crate::testing::case::{CaseAction, TestCase};
use crate::testing::case::{holds_cases, read_path};

use crate::inputs::library::beside_scene;
use crate::inputs::parts::BuildParts;
use crate::inputs::scene_file;
use crate::layout::head;
use crate::output::OutputStreams;
use crate::stop::{EarlyExit, RunExit};

/// The time of a case that says none: a case never reads the clock.
pub(crate) const NOW: &str = "2026-01-01T12:00:00Z";
/// The most cases that are named where one is to be chosen.
const NAMED: usize = 20;

/// The case file that a path names, and the name behind its `#`.
pub(crate) fn find_case_file(path: &Path) -> Option<(PathBuf, Option<&str>)> {
    let holds = |path: &Path| {
        let file = Some(path).filter(|path| path.is_file()).and_then(|path| read_file(path, &mut Report::default()));
        file.and_then(|file| load_read(&file, Schemas::shipped()).0).is_some_and(|doc| holds_cases(&doc))
    };
    if path.exists() {
        return holds(path).then(|| (path.to_owned(), None));
    }
    let (file, name) = path.to_str()?.split_once('#')?;
    holds(Path::new(file)).then(|| (PathBuf::from(file), Some(name)))
}

/// The inputs that a case gives to a build: its pack with its overlays, its scene, time, seed and draws.
pub(crate) fn read_case(path: &Path, name: Option<&str>, show: &mut OutputStreams<'_, '_>) -> Result<BuildParts, EarlyExit> {
    show.near.extend(path.parent().map(beside_scene).into_iter().flatten());
    let file = read_path(path).map_err(|wrong| EarlyExit::report(RunExit::CouldNot, *wrong.report, *wrong.sources))?;
    let case = find_case(&file.cases, path, name)?;
    let [turn] = case.turns.as_slice() else {
        return Err(no_prompt(case, "it has several turns", "write the turn that is meant as a case of its own"));
    };
    match &turn.action {
        CaseAction::Expand(_) => return Err(no_prompt(case, "it expands texts", "`tapster test` runs it")),
        CaseAction::Import { .. } => return Err(no_prompt(case, "it reads a document", "`tapster test` runs it")),
        CaseAction::Run(_) if !turn.given.lists.is_empty() => {
            return Err(no_prompt(
                case,
                "it gives items of lists to programs, which a build fills from the scene",
                "`tapster test` runs it",
            ));
        }
        CaseAction::Run(_) | CaseAction::Build | CaseAction::Payload(_) => {}
    }
    let given = &turn.given;
    let mut parts = match &given.scene_file {
        Some(scene) => scene_file::read(&file.base.join(scene), show)?,
        None => BuildParts::default(),
    };
    (parts.pack, parts.pack_at) = (Some(file.pack.clone()), None);
    parts.overlays = file.overlays.iter().cloned().chain(file.overlays_of(case)).collect();
    parts.scene = Value::from(&given.scene).over(parts.scene);
    if let CaseAction::Payload(Some(dialect)) = &turn.action {
        parts.dialect = Some(dialect.clone());
    }
    parts.now = given.now.clone().or(parts.now).or_else(|| Some(NOW.to_owned()));
    parts.seed = given.seed.clone().or(parts.seed);
    parts.draws = Some(given.draws.clone());
    parts.strict |= given.strict;
    Ok(parts)
}

/// The case of this name; without a name, the only one.
fn find_case<'c>(cases: &'c [TestCase], path: &Path, name: Option<&str>) -> Result<&'c TestCase, EarlyExit> {
    let found = match (name, cases) {
        (Some(name), _) => cases.iter().find(|case| case.name == name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.ok_or_else(|| {
        let names: Vec<String> = cases.iter().take(NAMED).map(|case| format!("`{}`", head(&case.name, 60))).collect();
        let more = if cases.len() > NAMED { " …" } else { "" };
        let message = match name {
            Some(name) => format!("`{}` has no case `{}`", path.display(), head(name, 60)),
            None => format!("`{}` has {} cases", path.display(), cases.len()),
        };
        let help = format!("write `{}#NAME`, with one of {}{more}", path.display(), names.join(", "));
        EarlyExit::could_not(Code::NameUnknown, message, help)
    })
}

fn no_prompt(case: &TestCase, why: &str, help: &str) -> EarlyExit {
    EarlyExit::could_not(Code::SceneField, format!("case `{}` gives no prompt: {why}", head(&case.name, 60)), help)
}
