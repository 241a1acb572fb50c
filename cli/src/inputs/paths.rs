//! Paths of the scene on the command line: those that a pack declares.

use crate::diag::{Code, suggest};
use crate::model::options::TABLE;
use crate::pack::Ruleset;

use crate::layout::head;
use crate::stop::EarlyExit;

/// Refuses a path that nothing of the pack declares, so that it can have no value.
pub(crate) fn known(rules: &Ruleset, path: &str) -> Result<(), EarlyExit> {
    let own = &rules.programs().rules;
    if own.names.knows_path(path) || path == TABLE {
        return Ok(());
    }
    let message = format!("nothing of pack `{}` declares the path `{}`", rules.pack().name, head(path, 60));
    let help = match suggest::nearest(path, own.names.path_names()) {
        Some(near) => near.to_string(),
        None if own.lists.iter().any(|list| &*list.name == path) => {
            format!("it is a list: `tapster build --dump list:{path}` shows it")
        }
        None => format!("`tapster ops --scene --pack {}` lists the paths that there are", rules.pack().name),
    };
    Err(EarlyExit::could_not(Code::NameUnknown, message, help))
}
