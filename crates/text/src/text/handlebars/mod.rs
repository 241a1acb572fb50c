//! Handlebars templates as data: blocks, paths and the built-in helpers, over a table of values.
//!
//! A template is compiled once and rendered often. Its tags are read by `grammar/handlebars.pest`, one at a time;
//! blocks are matched by a stack. For a name that is neither a helper nor a field, the caller is asked, who may know it
//! as a macro. With [`UnknownNames::Stays`] every tag that is not a field or a condition stays as it is written, as in story
//! strings. Nothing is escaped, nothing is loaded, and tags in values are not evaluated. All other features of the
//! language (partials, decorators, raw blocks, block parameters) are errors with their place.

mod render;
mod space;
mod template_parser;

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use super::cache::Cache;
use super::{TextError, TextLimits, work};
use crate::model::Value;

/// The limits of a template.
const LIMITS: TextLimits = TextLimits::HANDLEBARS;

/// How names and tags that neither the template's table nor the language has are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownNames {
    /// The caller is asked for an unknown name, and a tag that cannot be parsed is an error.
    Asked,
    /// A tag that is not a field, `if`, `unless` or `else` is text, and so is a field that does not exist.
    Stays,
}

/// A compiled template, immutable.
#[derive(Debug)]
pub struct Template {
    source: Box<str>,
    nodes: Vec<TemplateNode>,
}

/// A piece of a template, after the removal of the white space that its tags strip.
#[derive(Debug)]
enum TemplateNode {
    Text(Box<str>),
    Put(TagCall),
    /// The field of a name, or the tag as it is written.
    Field {
        name: Box<str>,
        tag: Range<usize>,
    },
    Block(Box<TagBlock>),
}

#[derive(Debug)]
struct TagBlock {
    call: TagCall,
    then: Option<Vec<TemplateNode>>,
    otherwise: Option<Vec<TemplateNode>>,
}

/// The call in a tag: a name or path, with its arguments.
#[derive(Debug)]
struct TagCall {
    path: TagPath,
    args: Vec<TagArg>,
    named: Vec<(Box<str>, TagArg)>,
    offset: usize,
}

#[derive(Debug)]
enum TagArg {
    Path(TagPath),
    Value(Value),
    Call(Box<TagCall>),
}

/// `../a.b`, `this`, `@key`.
#[derive(Debug, Default)]
struct TagPath {
    /// Levels up.
    up: usize,
    parts: Vec<Box<str>>,
    /// It begins with `@`.
    data: bool,
    /// One plain name: a helper or a field.
    simple: bool,
    /// The name is that of a helper.
    helper: bool,
    /// The name for which the caller is asked.
    name: Box<str>,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// Tags that cannot be read, blocks that are not closed or closed by another name, and templates beyond a bound.
    pub fn parse(template: &str, unknown: UnknownNames) -> Result<Self, TextError> {
        TextError::refuse_long(template, LIMITS.length)?;
        let mut parts = template_parser::parts(template, unknown).map_err(|mistake| mistake.within(template))?;
        space::control(&mut parts);
        Ok(Self { source: template.into(), nodes: template_parser::nodes(parts) })
    }

    /// The compiled template of a text, from a cache if possible.
    ///
    /// # Errors
    /// As [`Template::parse`].
    pub fn known(template: &str, unknown: UnknownNames) -> Result<Arc<Self>, TextError> {
        static ASKED: LazyLock<Cache<Template>> = LazyLock::new(Cache::default);
        static STAYS: LazyLock<Cache<Template>> = LazyLock::new(Cache::default);
        let known = if unknown == UnknownNames::Asked { &ASKED } else { &STAYS };
        known.get(template, |template| Self::parse(template, unknown))
    }

    /// Fills the template with the fields of `root`. `unknown` returns the text for a name that is neither a field nor
    /// a helper.
    ///
    /// # Errors
    /// A helper that is called wrongly, a field that is called like a helper, and a limit that is reached.
    pub fn render(&self, root: &Value, unknown: &mut dyn FnMut(&str) -> Arc<str>, limits: &TextLimits) -> Result<String, TextError> {
        let _door = work::BudgetScope::join();
        let text = render::TemplateRun::new(root, &self.source, unknown, *limits).run(&self.nodes);
        let text = text.map_err(|mistake| mistake.within(&self.source))?;
        Ok(text)
    }
}
