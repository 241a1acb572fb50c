//! The interface through which a state renders text languages; the implementation lies in a room above and is passed
//! in.

use std::rc::Rc;

use crate::model::{Map, Value};
use crate::text::Language;

use super::eval::EvalFault;
use super::state::BuildState;

/// What is to be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderRequest {
    /// A text in one of the text languages: `of`, `with`, and the options of the language.
    Text(Language),
    /// A template of slots and layout, by its id.
    Template,
}

/// Renders with the arguments of a call.
pub type RenderFunction = Rc<dyn Fn(RenderRequest, &Map, &BuildState) -> Result<Value, EvalFault>>;
