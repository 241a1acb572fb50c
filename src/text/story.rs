//! Story strings: how the fields of a prompt become one text, in the small part of Handlebars that templates use.
//!
//! `{{field}}`, `{{#if field}}…{{else}}…{{/if}}`, `{{#unless field}}…`. Nothing is escaped and no value is read again.
//! A placeholder that is no field stays as it is, for the macros that come later. A block tag alone on its line
//! takes the line with it. The tokens are `grammar/story.pest`.

use std::sync::{Arc, LazyLock};

use pest::Parser;
use pest::iterators::Pair;

use super::kept::Kept;
use super::{Limits, Mistake, TextError};

/// How far a template may go.
const LIMITS: Limits = Limits::HANDLEBARS;

#[derive(pest_derive::Parser)]
#[grammar = "grammar/story.pest"]
struct Grammar;

/// A compiled template, immutable.
#[derive(Debug, Clone)]
pub struct Story {
    source: Box<str>,
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
enum Node {
    Text(Box<str>),
    Field { name: Box<str>, written: Box<str>, offset: usize },
    Block { name: Box<str>, wanted: bool, then: Vec<Node>, otherwise: Vec<Node> },
}

/// A tag or a text between tags, in order.
struct Token<'t> {
    kind: Rule,
    /// `if` or `unless`.
    word: &'t str,
    name: &'t str,
    written: &'t str,
    offset: usize,
}

impl Story {
    /// Compiles a template.
    ///
    /// # Errors
    /// Blocks that are not closed, closed twice or closed by another word, and templates beyond a bound.
    pub fn parse(template: &str) -> Result<Self, TextError> {
        TextError::refuse_long(template, LIMITS.length)?;
        let nodes = Self::read(template).map_err(|mistake| mistake.within(template))?;
        Ok(Self { source: template.into(), nodes })
    }

    fn read(template: &str) -> Result<Vec<Node>, Mistake> {
        let mut tokens = tokens(template)?;
        drop_block_lines(&mut tokens);
        let mut tree = Tree::default();
        for token in &tokens {
            tree.take(token)?;
        }
        tree.finish()
    }

    /// The compiled template of a text, which is kept for the next time.
    ///
    /// # Errors
    /// As [`Story::parse`].
    pub fn known(template: &str) -> Result<Arc<Self>, TextError> {
        static KNOWN: LazyLock<Kept<Story>> = LazyLock::new(Kept::default);
        KNOWN.get(template, Self::parse)
    }

    /// Fills the template: `lookup` gives a field's value, nothing for a name that is no field. With `normalise` the
    /// white space at the end becomes one newline, or nothing if there is no text.
    ///
    /// # Errors
    /// A text that grows beyond 64 MiB, with the place of the field that was too much.
    pub fn render(&self, lookup: &dyn Fn(&str) -> Option<Arc<str>>, normalise: bool) -> Result<String, TextError> {
        let mut out = String::new();
        render(&self.nodes, lookup, &mut out).map_err(|mistake| mistake.within(&self.source))?;
        if normalise {
            out.truncate(super::js::trim_end(&out).len());
            if !out.is_empty() {
                out.push('\n');
            }
        }
        Ok(out)
    }

    /// The names that it asks for, in order, each once: fields and perhaps macros.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect(&self.nodes, &mut names);
        names
    }
}

fn collect<'n>(nodes: &'n [Node], names: &mut Vec<&'n str>) {
    for node in nodes {
        match node {
            Node::Text(_) => {}
            Node::Field { name, .. } if names.contains(&&**name) => {}
            Node::Field { name, .. } => names.push(name),
            Node::Block { name, then, otherwise, .. } => {
                if !names.contains(&&**name) {
                    names.push(name);
                }
                collect(then, names);
                collect(otherwise, names);
            }
        }
    }
}

/// Depth is bounded while reading.
fn render(nodes: &[Node], lookup: &dyn Fn(&str) -> Option<Arc<str>>, out: &mut String) -> Result<(), Mistake> {
    for node in nodes {
        match node {
            Node::Text(text) => out.push_str(text),
            Node::Field { name, written, offset } => {
                let value = lookup(name);
                out.push_str(value.as_deref().unwrap_or(written));
                if out.len() > LIMITS.output {
                    return Err(Mistake::bound(*offset, format!("the rendered text is longer than {} bytes", LIMITS.output)));
                }
            }
            Node::Block { name, wanted, then, otherwise } => {
                let given = lookup(name).is_some_and(|value| !value.is_empty());
                render(if given == *wanted { then } else { otherwise }, lookup, out)?;
            }
        }
    }
    Ok(())
}

fn tokens(template: &str) -> Result<Vec<Token<'_>>, Mistake> {
    let parsed = Grammar::parse(Rule::story, template).map_err(|e| {
        let offset = match e.location {
            pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => at,
        };
        Mistake::at(offset, "the template cannot be read here")
    })?;
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for pair in parsed.flat_map(Pair::into_inner).filter(|pair| pair.as_rule() != Rule::EOI) {
        let token = token(pair);
        match tokens.last_mut() {
            // a text is one token, so that its ends are the neighbours of tags
            Some(last) if last.kind == Rule::text && token.kind == Rule::text => {
                let end = token.offset + token.written.len();
                last.written = template.get(last.offset..end).unwrap_or_default();
            }
            _ => tokens.push(token),
        }
    }
    Ok(tokens)
}

fn token(pair: Pair<'_, Rule>) -> Token<'_> {
    let mut token = Token { kind: pair.as_rule(), word: "", name: "", written: pair.as_str(), offset: pair.as_span().start() };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::word => token.word = part.as_str(),
            Rule::name => token.name = part.as_str(),
            _ => {}
        }
    }
    token
}

/// Takes the line away from block tags that stand alone on it.
fn drop_block_lines(tokens: &mut [Token<'_>]) {
    let alone: Vec<usize> = (0..tokens.len()).filter(|&at| stands_alone(tokens, at)).collect();
    for at in alone {
        if let Some(before) = at.checked_sub(1).and_then(|n| tokens.get_mut(n)) {
            before.written = before.written.trim_end_matches([' ', '\t']);
        }
        if let Some(after) = tokens.get_mut(at + 1) {
            let rest = after.written.trim_start_matches([' ', '\t']);
            let rest = rest.strip_prefix('\r').filter(|r| r.starts_with('\n')).unwrap_or(rest);
            after.written = rest.strip_prefix('\n').unwrap_or(rest);
        }
    }
}

fn stands_alone(tokens: &[Token<'_>], at: usize) -> bool {
    let is_block = |t: &Token<'_>| matches!(t.kind, Rule::open | Rule::otherwise | Rule::close);
    if !tokens.get(at).is_some_and(is_block) {
        return false;
    }
    let starts_line = match at.checked_sub(1).and_then(|n| tokens.get(n)) {
        None => true,
        Some(t) if t.kind == Rule::text => {
            let rest = t.written.trim_end_matches([' ', '\t']);
            rest.ends_with('\n') || (rest.is_empty() && at == 1)
        }
        Some(_) => false,
    };
    let ends_line = match tokens.get(at + 1) {
        None => true,
        Some(t) if t.kind == Rule::text => {
            let rest = t.written.trim_start_matches([' ', '\t']);
            rest.starts_with('\n') || rest.starts_with("\r\n") || (rest.is_empty() && at + 2 == tokens.len())
        }
        Some(_) => false,
    };
    starts_line && ends_line
}

/// The tree while it grows: finished nodes, and the blocks that are still open.
#[derive(Default)]
struct Tree {
    done: Vec<Node>,
    open: Vec<Open>,
}

struct Open {
    word: Box<str>,
    name: Box<str>,
    offset: usize,
    then: Vec<Node>,
    /// What follows its `{{else}}`.
    otherwise: Option<Vec<Node>>,
    /// Opened by `{{else if}}`: closed together with the block around it.
    chained: bool,
}

impl Tree {
    fn take(&mut self, token: &Token<'_>) -> Result<(), Mistake> {
        match token.kind {
            Rule::open => self.begin(token, false),
            Rule::close => self.end(token),
            Rule::otherwise => self.switch(token),
            Rule::field | Rule::raw => {
                self.add(Node::Field { name: token.name.into(), written: token.written.into(), offset: token.offset });
                Ok(())
            }
            Rule::broken => Err(Mistake::at(token.offset, "this block tag is not finished or has not exactly one name")),
            _ => {
                if !token.written.is_empty() {
                    self.add(Node::Text(token.written.into()));
                }
                Ok(())
            }
        }
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.done.push(node),
            Some(open) => open.otherwise.as_mut().unwrap_or(&mut open.then).push(node),
        }
    }

    fn begin(&mut self, token: &Token<'_>, chained: bool) -> Result<(), Mistake> {
        if self.open.len() >= LIMITS.depth {
            return Err(Mistake::bound(token.offset, format!("blocks are nested deeper than {}", LIMITS.depth)));
        }
        let (word, name) = (token.word.into(), token.name.into());
        self.open.push(Open { word, name, offset: token.offset, then: Vec::new(), otherwise: None, chained });
        Ok(())
    }

    fn switch(&mut self, token: &Token<'_>) -> Result<(), Mistake> {
        let Some(open) = self.open.last_mut() else {
            // outside a block it is a placeholder like any other
            self.add(Node::Text(token.written.into()));
            return Ok(());
        };
        if open.otherwise.is_some() {
            return Err(Mistake::at(token.offset, format!("this `{{{{#{}}}}}` has a second `{{{{else}}}}`", open.word)));
        }
        open.otherwise = Some(Vec::new());
        if token.word.is_empty() { Ok(()) } else { self.begin(token, true) }
    }

    fn end(&mut self, token: &Token<'_>) -> Result<(), Mistake> {
        loop {
            let Some(open) = self.open.pop() else {
                return Err(Mistake::at(token.offset, format!("`{}` closes nothing", token.written)));
            };
            let (chained, matches) = (open.chained, *open.word == *token.word);
            let (word, offset) = (open.word.clone(), open.offset);
            self.add(open.into_node());
            match (chained, matches) {
                (true, _) => {}
                (false, true) => return Ok(()),
                (false, false) => {
                    let message = format!("`{}` closes the `{{{{#{word}}}}}` at byte {offset}; write `{{{{/{word}}}}}`", token.written);
                    return Err(Mistake::at(token.offset, message));
                }
            }
        }
    }

    fn finish(self) -> Result<Vec<Node>, Mistake> {
        match self.open.iter().rfind(|open| !open.chained) {
            None => Ok(self.done),
            Some(open) => Err(Mistake::at(open.offset, format!("this `{{{{#{0}}}}}` has no `{{{{/{0}}}}}`", open.word))),
        }
    }
}

impl Open {
    fn into_node(self) -> Node {
        Node::Block { wanted: *self.word == *"if", name: self.name, then: self.then, otherwise: self.otherwise.unwrap_or_default() }
    }
}
