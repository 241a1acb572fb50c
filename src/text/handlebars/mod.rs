//! Handlebars templates as data: blocks, paths and the built-in helpers, over a table of values.
//!
//! A template is compiled once and rendered often. Its tags are read by `grammar/handlebars.pest`, one at a time; blocks
//! are matched by a stack. A name that is neither a helper nor a field is asked of the caller, who may know it as a
//! macro, or with [`Unknown::Stays`] every tag that is not a field or a condition stays as it is written: such templates
//! are story strings. Nothing is escaped, nothing is loaded, and no value is read again. What the language has beyond
//! this (partials, decorators, raw blocks, block parameters) is refused where it stands.

mod parse;
mod render;
mod space;
mod tag;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::kept::Kept;
use super::{Limits, TextError};
use crate::model::Value;

/// How far a template may go.
const LIMITS: Limits = Limits::HANDLEBARS;

/// What becomes of names and tags that the template's table and the language do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// A name is asked of the caller, and a tag that cannot be read is an error.
    Asked,
    /// A tag that is not a field, `if`, `unless` or `else` is text, and so is a field that there is not.
    Stays,
}

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
    /// The field of a name, or the tag as it is written.
    Field {
        name: Box<str>,
        tag: Range<usize>,
    },
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
#[derive(Debug, Default)]
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
    /// Tags that cannot be read, blocks that are not closed or closed by another name, and templates beyond a bound.
    pub fn parse(template: &str, unknown: Unknown) -> Result<Self, TextError> {
        TextError::refuse_long(template, LIMITS.length)?;
        let mut parts = parse::parts(template, unknown).map_err(|mistake| mistake.within(template))?;
        space::control(&mut parts);
        Ok(Self { source: template.into(), nodes: parse::nodes(parts) })
    }

    /// The compiled template of a text, which is kept for the next time.
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub fn known(template: &str, unknown: Unknown) -> Result<Arc<Self>, TextError> {
        static ASKED: LazyLock<Kept<Template>> = LazyLock::new(Kept::default);
        static STAYS: LazyLock<Kept<Template>> = LazyLock::new(Kept::default);
        let known = if unknown == Unknown::Asked { &ASKED } else { &STAYS };
        known.get(template, |template| Self::parse(template, unknown))
    }

    /// Fills the template with the fields of `root`. `unknown` gives the text for a name that is no field and no helper.
    ///
    /// # Errors
    /// A helper that is called wrongly, a field that is called like a helper, and a limit that is reached.
    pub fn render(&self, root: &Value, unknown: &mut dyn FnMut(&str) -> Arc<str>, limits: &Limits) -> Result<String, TextError> {
        render::Render::new(root, &self.source, unknown, *limits).run(&self.nodes).map_err(|mistake| mistake.within(&self.source))
    }
}
