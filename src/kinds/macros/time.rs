//! Times: formats and differences.

use super::call::Call;
use crate::text::macros::MacroResult;

pub(super) fn format(_call: &Call<'_>) -> MacroResult {
    MacroResult::Unknown
}

pub(super) fn difference(_call: &Call<'_>) -> MacroResult {
    MacroResult::Unknown
}
