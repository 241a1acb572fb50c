//! Scenario files, and the scenes that they name.

use std::path::{Path, PathBuf};

use clap::{Args, Command, FromArgMatches};

use crate::diag::{Code, Diagnostic, Report, Sources, Span};
use crate::inputs::InputArgs;
use crate::inputs::endpoint::EndpointArgs;
use crate::inputs::files::{shown, text_of};
use crate::model::{Scene, Value};
use crate::output::OutputStreams;
use crate::pack::Ruleset;
use crate::run::eval::{EvalFile, Scenario};
use crate::stop::{EarlyExit, RunExit};

/// All files as one, and the folder of each scenario's file.
pub(super) struct ScenarioFiles {
    pub(super) file: EvalFile,
    pub(super) folders: Vec<(String, PathBuf)>,
}

/// Reads scenario files, and a file of prices in front of theirs.
pub(super) fn read(paths: &[PathBuf], prices: Option<&Path>, show: &mut OutputStreams<'_, '_>) -> Result<ScenarioFiles, EarlyExit> {
    let mut all = EvalFile::default();
    let mut folders: Vec<(String, PathBuf)> = Vec::new();
    if let Some(path) = prices {
        all.prices = parsed(path, show)?.prices;
    }
    for path in paths {
        let file = parsed(path, show)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        for scenario in &file.scenarios {
            let name = scenario.name.get_ref();
            if folders.iter().any(|(known, _)| known == name) {
                let message = format!("scenario `{name}` is in several files");
                return Err(EarlyExit::new(RunExit::No, Diagnostic::error(Code::NameUnknown, message).help("rename one of them")));
            }
            folders.push((name.clone(), folder.clone()));
        }
        if all.about.is_empty() {
            all.about = file.about;
        }
        all.scenarios.extend(file.scenarios);
        let known = all.models.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
        all.models.extend(file.models.into_iter().filter(|m| !known.contains(&m.name)));
        let known = all.presets.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        all.presets.extend(file.presets.into_iter().filter(|p| !known.contains(&p.name)));
        all.prices.extend(file.prices);
    }
    Ok(ScenarioFiles { file: all, folders })
}

fn parsed(path: &Path, show: &mut OutputStreams<'_, '_>) -> Result<EvalFile, EarlyExit> {
    let text = text_of(path, show)?;
    EvalFile::parse(&text).map_err(|mistakes| {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let source = sources.add(&shown(path), "", &text);
        for mistake in mistakes {
            let at = Span::new(source, mistake.at.start, mistake.at.end);
            report.push(Diagnostic::error(Code::SchemaValue, mistake.message).at(at).help(mistake.help));
        }
        EarlyExit::report(RunExit::No, report, sources)
    })
}

/// The rules and the scene of a scenario.
pub(super) fn scene(
    scenario: &Scenario,
    folder: &Path,
    endpoint: &EndpointArgs,
    show: &mut OutputStreams<'_, '_>,
) -> Result<(Ruleset, Scene), EarlyExit> {
    let mut words = vec![folder.join(&scenario.scene).into_os_string()];
    words.extend(scenario.message.iter().map(|message| format!("--message={message}").into()));
    words.extend(scenario.set.iter().map(|(path, value)| format!("--set={path}={value}").into()));
    let flags = InputArgs::augment_args(Command::new("scene").no_binary_name(true));
    let read = flags.try_get_matches_from(words).and_then(|matches| InputArgs::from_arg_matches(&matches));
    let inputs = read.map_err(|error| {
        let message = format!("scenario `{}` names a scene that cannot be used: {}", scenario.name.get_ref(), error.kind());
        EarlyExit::could_not(Code::SceneField, message, "correct `scene`, `message` or `set`")
    })?;
    let (rules, mut scene) = inputs.open(show)?;
    if let Some(url) = &endpoint.url {
        scene.set("provider.url", Value::text(url.as_str()));
    }
    Ok((rules, scene))
}
