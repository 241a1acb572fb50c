//! What a state asks of the text languages, which lie above the terms and are handed in.

use std::rc::Rc;

use crate::model::{Map, Value};
use crate::text::Language;

use super::eval::Fault;
use super::state::State;

/// What is to be rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendering {
    /// A text in one of the text languages: `of`, `with`, and what the language takes besides.
    Text(Language),
    /// A template of slots and layout, by its id.
    Template,
    /// A function of a script, on a text and an item.
    Script,
}

/// Renders, over the arguments of a call.
pub type Renderer = Rc<dyn Fn(Rendering, &Map, &State) -> Result<Value, Fault>>;
