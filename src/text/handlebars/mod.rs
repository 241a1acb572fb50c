//! Handlebars templates as data: blocks, paths and the built-in helpers, over a table of values.
//!
//! A template is compiled once and rendered often. A name that is neither a helper nor a field is asked of the caller,
//! who may know it as a macro. Nothing is escaped, nothing is loaded, and no value is read again. What the language has
//! beyond this (partials, decorators, block parameters) is refused where it stands.

mod parse;
mod render;
mod space;
mod tag;

use std::sync::{Arc, LazyLock};

use super::kept::Kept;
use super::{Limits, TextError};
use crate::model::Value;

/// How far a template may go.
const LIMITS: Limits = Limits::HANDLEBARS;

/// A compiled template, immutable.
#[derive(Debug)]
pub struct Template {
    source: Box<str>,
    nodes: Vec<Node>,
}

/// A piece of a template, with the white space that its tags take already gone.
#[derive(Debug)]
enum Node {
    Text(Box<str>),
    Put(Call),
    Block(Box<Block>),
}

#[derive(Debug)]
struct Block {
    call: Call,
    then: Option<Vec<Node>>,
    otherwise: Option<Vec<Node>>,
}

/// What stands in a tag: a name or path, and what it is given.
#[derive(Debug)]
struct Call {
    path: Path,
    args: Vec<Arg>,
    named: Vec<(Box<str>, Arg)>,
    offset: usize,
}

#[derive(Debug)]
enum Arg {
    Path(Path),
    Value(Value),
    Call(Box<Call>),
}

/// `../a.b`, `this`, `@key`.
#[derive(Debug)]
struct Path {
    /// Levels up.
    up: usize,
    parts: Vec<Box<str>>,
    /// It begins with `@`.
    data: bool,
    /// One plain name: a helper or a field.
    simple: bool,
    /// That name is a helper's.
    helper: bool,
    /// As a caller is asked for it.
    name: Box<str>,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// Tags that are no Handlebars, blocks that are not closed or closed by another name, and templates beyond a bound.
    pub fn parse(template: &str) -> Result<Self, TextError> {
        TextError::refuse_long(template, LIMITS.length)?;
        let mut parts = parse::parts(template).map_err(|mistake| mistake.within(template))?;
        space::control(&mut parts);
        Ok(Self { source: template.into(), nodes: parse::nodes(parts) })
    }

    /// The compiled template of a text, which is kept for the next time.
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub fn known(template: &str) -> Result<Arc<Self>, TextError> {
        static KNOWN: LazyLock<Kept<Template>> = LazyLock::new(Kept::default);
        KNOWN.get(template, Self::parse)
    }

    /// Fills the template with the fields of `root`. `unknown` gives the text for a name that is no field and no helper.
    ///
    /// # Errors
    /// A helper that is called wrongly, a field that is called like a helper, and a limit that is reached.
    pub fn render(&self, root: &Value, unknown: &mut dyn FnMut(&str) -> Arc<str>, limits: &Limits) -> Result<String, TextError> {
        render::Render::new(root, unknown, *limits).run(&self.nodes).map_err(|mistake| mistake.within(&self.source))
    }
}
