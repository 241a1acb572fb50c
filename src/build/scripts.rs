//! Scripts of the pack and hooks of events: where `run script` and `run event` lead.

use crate::pack::Ruleset;
use crate::terms::{Fault, State};
use crate::verbs::Halt;

/// Runs a script of the pack, or all rows of table `hook` that are bound to an event, in order.
pub(super) fn run(rules: &Ruleset, name: &str, event: bool, _st: &mut State) -> Result<(), Halt> {
    let hooks = rules.pack().tables.get("hook").map_or(0, indexmap::IndexMap::len);
    if event && hooks == 0 {
        return Ok(());
    }
    Err(Fault::failed(format!("`{name}`: this version runs no scripts in passes yet; conditions and steps may use them")).into())
}
