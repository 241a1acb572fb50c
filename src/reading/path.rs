//! Places in a JSON document: dotted paths, tests of equality at them, and the elements of a list.

use std::sync::Arc;

use serde_json::Value as Json;

use super::tree::JsonTree;
use crate::diag::limits;

/// A dotted path; an empty one is the document itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DocumentPath(pub(super) Vec<ReplyStep>);

/// One step of a path: a key of a table, or an index of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyStep {
    pub(super) key: Arc<str>,
    index: Option<usize>,
}

impl DocumentPath {
    /// Reads a path: `a.b.0`, or `@` for the document itself.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "@" {
            return Ok(Self::default());
        }
        let steps: Vec<ReplyStep> = text.split('.').map(|key| ReplyStep { key: Arc::from(key), index: key.parse().ok() }).collect();
        if steps.iter().any(|step| step.key.is_empty()) {
            return Err("it has an empty step");
        }
        if steps.iter().any(|step| step.key.starts_with(['$', '@', '/'])) {
            return Err("it is not a reference of the rule language, but keys of the reply, separated by dots");
        }
        if steps.iter().any(|step| step.key.as_ref() == "*") {
            return Err("`*` may stand only in `each`");
        }
        if steps.len() > limits::CHAIN { Err("it has more than 16 steps") } else { Ok(Self(steps)) }
    }

    /// The value at the path; `None` if there is none, or if it is null.
    pub(super) fn of<'a, 'd>(&self, document: &'a JsonTree<'d>) -> Option<&'a JsonTree<'d>> {
        let mut at = document;
        for step in &self.0 {
            at = match at {
                JsonTree::List(list) => list.get(step.index?)?,
                other => other.get(&step.key)?,
            };
        }
        Some(at).filter(|at| !matches!(at, JsonTree::Null))
    }

    /// The key with which this path goes on behind another one.
    pub(super) fn key_behind(&self, start: &Self) -> Option<&Arc<str>> {
        let rest = self.0.strip_prefix(start.0.as_slice())?;
        rest.first().map(|step| &step.key)
    }
}

/// The elements of a list, or of the lists inside the elements of one: `a.b`, `a.*.b`.
#[derive(Debug, Clone)]
pub(super) struct ElementPath(pub(super) Vec<DocumentPath>);

impl ElementPath {
    /// Reads a path in which `*` stands for every element of a list.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let paths: Result<Vec<DocumentPath>, _> = text.split(".*.").map(DocumentPath::parse).collect();
        paths.map(Self)
    }

    /// Calls `then` with every element. A value that is no list is its own only element.
    pub(super) fn visit(&self, document: &JsonTree<'_>, then: &mut dyn FnMut(&JsonTree<'_>)) {
        fn walk(paths: &[DocumentPath], at: &JsonTree<'_>, then: &mut dyn FnMut(&JsonTree<'_>)) {
            let Some((first, rest)) = paths.split_first() else { return then(at) };
            match first.of(at) {
                Some(JsonTree::List(list)) => list.iter().for_each(|element| walk(rest, element, then)),
                Some(other) => walk(rest, other, then),
                None => {}
            }
        }
        walk(&self.0, document, then);
    }
}

/// A condition: the value at a path is one of these.
#[derive(Debug, Clone)]
pub(super) struct PathTest {
    /// Where; `None` is the name of the event.
    pub(super) at: Option<DocumentPath>,
    pub(super) one_of: Vec<Json>,
}

impl PathTest {
    pub(super) fn holds(&self, event: &str, document: &JsonTree<'_>) -> bool {
        let Some(at) = &self.at else { return self.one_of.iter().any(|word| word.as_str() == Some(event)) };
        match at.of(document) {
            Some(value) => self.one_of.iter().any(|one| value.is(one)),
            None => self.one_of.contains(&Json::Null),
        }
    }
}
