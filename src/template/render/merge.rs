//! The lanes of a render: those that the task offers, with the template's own merged over them.

use std::sync::Arc;

use indexmap::IndexMap;

use super::super::form::{self, Template};
use super::super::revision::MessageRole;
use super::meter::{ErrorKind, RenderError};
use crate::model::{Map, Value};
use crate::text::leaf::Leaf;
use crate::text::pattern::Pattern;

/// A lane with all values resolved.
pub(super) struct ResolvedLane {
    pub(super) id: Arc<str>,
    pub(super) enabled: bool,
    pub(super) role: Option<MessageRole>,
    pub(super) template: Option<Leaf>,
    pub(super) order: i64,
    pub(super) reserve: u64,
    pub(super) budget: Option<u64>,
    pub(super) payload: Option<Value>,
    /// In the order in which they are tried.
    pub(super) groups: Vec<ResolvedGroup>,
}

/// A group of a lane with its pattern compiled.
pub(super) struct ResolvedGroup {
    id: Option<Arc<str>>,
    pattern: Option<Pattern>,
    pub(super) template: Option<Leaf>,
    pub(super) open: Option<Leaf>,
    pub(super) close: Option<Leaf>,
    pub(super) role: Option<MessageRole>,
    pub(super) payload: Option<Value>,
}

/// All lanes, those of the task first.
pub(super) fn lanes(template: &Template, offered: &[form::AttachmentLane]) -> Result<Vec<ResolvedLane>, RenderError> {
    let mut lanes: IndexMap<Arc<str>, ResolvedLane> = IndexMap::new();
    for (n, lane) in offered.iter().enumerate() {
        let made = over(lane, None, ErrorKind::Render).map_err(|e| e.under(n).under("lanes"))?;
        lanes.insert(lane.id.clone(), made);
    }
    for (n, lane) in template.lanes.iter().enumerate() {
        let below = lanes.get(&lane.id);
        let made = over(lane, below, ErrorKind::Structure).map_err(|e| e.under(n).under("attachments"))?;
        let groups = if lane.groups.is_none() { lanes.get_mut(&lane.id).map(|below| std::mem::take(&mut below.groups)) } else { None };
        let groups = groups.unwrap_or(made.groups);
        lanes.insert(lane.id.clone(), ResolvedLane { groups, ..made });
    }
    Ok(lanes.into_values().collect())
}

/// Merges a lane of the template over the task's lane of the same name. Whether it is enabled and its order always come
/// from the template's lane, also if it does not give them.
fn over(lane: &form::AttachmentLane, below: Option<&ResolvedLane>, broken: ErrorKind) -> Result<ResolvedLane, RenderError> {
    let mut groups: Vec<&form::RequestGroup> = lane.groups.iter().flat_map(|groups| groups.iter()).collect();
    groups.sort_by_key(|group| group.order);
    let groups: Result<Vec<ResolvedGroup>, RenderError> = groups.into_iter().map(|group| compiled(group, &lane.id, broken)).collect();
    Ok(ResolvedLane {
        id: lane.id.clone(),
        enabled: lane.enabled.unwrap_or(true),
        role: lane.role.clone().or_else(|| below.and_then(|b| b.role.clone())),
        template: given(lane.template.as_ref()).or_else(|| below.and_then(|b| b.template.clone())),
        order: lane.order.unwrap_or(0),
        reserve: lane.reserve.or(below.map(|b| b.reserve)).unwrap_or(0),
        budget: lane.budget.or(below.and_then(|b| b.budget)),
        payload: match (&lane.payload, below.and_then(|b| b.payload.as_ref())) {
            (Some(top), Some(below)) => Some(Value::map(laid([Some(below), Some(top)]))),
            (top, below) => top.as_ref().or(below).cloned(),
        },
        groups: groups?,
    })
}

fn compiled(group: &form::RequestGroup, lane: &str, broken: ErrorKind) -> Result<ResolvedGroup, RenderError> {
    let pattern = group.pattern.as_ref().filter(|source| !source.is_empty()).map(|source| Pattern::new(source, ""));
    let pattern = pattern.transpose().map_err(|why| {
        let written = group.pattern.as_deref().unwrap_or_default();
        RenderError::new(broken, format!("the pattern `{written}` of a group of lane `{lane}` is broken: {why}"))
    })?;
    Ok(ResolvedGroup {
        id: group.id.clone().filter(|id| !id.is_empty()),
        pattern,
        template: given(group.template.as_ref()),
        open: given(group.open.as_ref()),
        close: given(group.close.as_ref()),
        role: group.role.clone(),
        payload: group.payload.clone(),
    })
}

/// A text that is not empty; an empty one counts as missing.
pub(super) fn given(leaf: Option<&Leaf>) -> Option<Leaf> {
    leaf.filter(|leaf| !leaf.written().is_empty()).cloned()
}

/// Merges tables, the last on top; only their own fields, not what these hold.
pub(super) fn laid<'v>(tables: impl IntoIterator<Item = Option<&'v Value>>) -> Map {
    let mut all = Map::default();
    for (key, value) in tables.into_iter().flatten().filter_map(Value::as_map).flatten() {
        all.insert(key.clone(), value.clone());
    }
    all
}

impl ResolvedLane {
    /// The index of the group that takes a request: the one with exactly this id, else the first whose pattern matches,
    /// else the first that requires neither.
    pub(super) fn group(&self, id: Option<&str>) -> Result<Option<usize>, RenderError> {
        if let Some(id) = id {
            if let Some(exact) = self.groups.iter().position(|group| group.id.as_deref() == Some(id)) {
                return Ok(Some(exact));
            }
            for (n, group) in self.groups.iter().enumerate() {
                let Some(pattern) = &group.pattern else { continue };
                if pattern.is_match(id).map_err(|why| RenderError::new(ErrorKind::Bound, format!("in lane `{}`: {why}", self.id)))? {
                    return Ok(Some(n));
                }
            }
        }
        Ok(self.groups.iter().position(|group| group.id.is_none() && group.pattern.is_none()))
    }
}
