//! Lanes: requests for places in the finished layout, lane by lane, each within its reserve and its ceiling.
//!
//! Places are counted in messages before neighbours are joined. An inserted message moves every anchor at its place or
//! after it. The closing text of a group is inserted at the index that its last message had when it was inserted.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::budget::{ErrorKind, RenderError};
use super::layout::DraftConversation;
use super::{Message, RenderRun};
use crate::model::{Map, Value};
use crate::template::form;
use crate::template::form::{AnchorOccurrence, InjectionTarget, PlacementRequest, Template};
use crate::template::revision::MessageRole;
use crate::text::leaf::Leaf;
use crate::text::pattern::Pattern;

/// The requests of each lane by its index: by priority, then in the given order. Requests of unknown lanes are dropped.
pub(super) fn queues<'r>(lanes: &[ResolvedLane], requests: &'r [PlacementRequest]) -> Vec<Vec<&'r PlacementRequest>> {
    let places: FxHashMap<&str, usize> = lanes.iter().enumerate().map(|(n, lane)| (&*lane.id, n)).collect();
    let mut queues: Vec<Vec<&PlacementRequest>> = lanes.iter().map(|_| Vec::new()).collect();
    for request in requests {
        if let Some(queue) = places.get(&*request.lane).and_then(|place| queues.get_mut(*place)) {
            queue.push(request);
        }
    }
    for queue in &mut queues {
        queue.sort_by(|a, b| a.priority.total_cmp(&b.priority));
    }
    queues
}

/// The current places of the anchors, in ascending order for each key.
type AnchorPlaces = FxHashMap<Arc<str>, Vec<usize>>;

/// The state of the requests with one group id.
struct OpenLane {
    /// The group of the last of them.
    group: usize,
    /// Whether the opening text has been placed.
    opened: bool,
    /// Where the last message was placed.
    last: Option<usize>,
}

/// The requests of a lane by group id, in the order in which the ids first occur.
type GroupRequests = IndexMap<Arc<str>, OpenLane>;

impl RenderRun<'_, '_> {
    /// Reserves what the lanes with requests ask for.
    pub(super) fn reserve_lanes(&mut self, lanes: &[ResolvedLane], queues: &[Vec<&PlacementRequest>]) {
        for (lane, queue) in lanes.iter().zip(queues) {
            if lane.enabled && !queue.is_empty() {
                self.budget.reserve(&lane.id, lane.reserve);
            }
        }
    }

    /// Places the requests of all lanes, in the order of the lanes.
    pub(super) fn inject(
        &mut self,
        lanes: &[ResolvedLane],
        queues: &[Vec<&PlacementRequest>],
        page: &mut DraftConversation,
    ) -> Result<(), RenderError> {
        if queues.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let mut anchors = AnchorPlaces::default();
        for (key, place) in &page.anchors {
            anchors.entry(key.clone()).or_default().push(*place);
        }
        anchors.values_mut().for_each(|places| places.sort_unstable());
        let mut all: Vec<(&ResolvedLane, &Vec<&PlacementRequest>)> = lanes.iter().zip(queues).filter(|(lane, _)| lane.enabled).collect();
        all.sort_by_key(|(lane, _)| lane.order);
        for (lane, queue) in all {
            self.lane(lane, queue, page, &mut anchors).map_err(|e| e.under(format_args!("lane `{}`", lane.id)))?;
        }
        Ok(())
    }

    fn lane(
        &mut self,
        lane: &ResolvedLane,
        queue: &[&PlacementRequest],
        page: &mut DraftConversation,
        anchors: &mut AnchorPlaces,
    ) -> Result<(), RenderError> {
        let mut open = GroupRequests::default();
        self.budget.go(Some(lane.id.clone()));
        let depth = self.budget.enter(lane.budget);
        for request in queue {
            self.request(lane, request, &mut open, page, anchors)?;
        }
        self.budget.leave(depth);
        self.budget.go(None);
        self.close(lane, &open, page, anchors)?;
        self.budget.release(&lane.id, u64::MAX);
        Ok(())
    }

    fn request(
        &mut self,
        lane: &ResolvedLane,
        request: &PlacementRequest,
        open: &mut GroupRequests,
        page: &mut DraftConversation,
        anchors: &mut AnchorPlaces,
    ) -> Result<(), RenderError> {
        let id = request.group.as_ref().filter(|id| !id.is_empty());
        // each pattern may be tried on the id
        let read = id.map_or(0, |id| id.len() / 32) + 1;
        self.meter.step((lane.groups.len() * read + 1) as u64)?;
        let place = lane.group(id.map(|id| &**id))?;
        let group = place.and_then(|place| lane.groups.get(place));
        if let (Some(id), Some(place)) = (id, place) {
            open.entry(id.clone()).or_insert(OpenLane { group: place, opened: false, last: None }).group = place;
        }
        let template =
            given(request.template.as_ref()).or_else(|| group.and_then(|g| g.template.clone()).or_else(|| lane.template.clone()));
        let payload = laid([lane.payload.as_ref(), group.and_then(|g| g.payload.as_ref()), request.payload.as_ref()]);
        let Some(text) = self.payload_text(template.as_ref(), payload)? else { return Ok(()) };
        let Some(at) = request.targets.iter().find_map(|target| place_of(target, anchors, page.order.len())) else { return Ok(()) };
        let role = request.role.as_ref().or(group.and_then(|g| g.role.as_ref())).or(lane.role.as_ref());
        if !self.put_in(role, text, at, page, anchors)? {
            return Ok(());
        }
        let mut last = at;
        if let (Some(id), Some(group)) = (id, group)
            && !open.get(id).is_some_and(|open| open.opened)
            && let Some(text) = self.wrapper(lane, group, group.open.as_ref())?
            && self.put_in(group.role.as_ref().or(lane.role.as_ref()), text, at, page, anchors)?
        {
            last += 1;
            open.get_mut(id).into_iter().for_each(|open| open.opened = true);
        }
        if let Some(open) = id.and_then(|id| open.get_mut(id)) {
            open.last = Some(last);
        }
        Ok(())
    }

    /// Closes the opened groups, the last places first. The lane has ended by then, so its reserve is not available.
    fn close(
        &mut self,
        lane: &ResolvedLane,
        open: &GroupRequests,
        page: &mut DraftConversation,
        anchors: &mut AnchorPlaces,
    ) -> Result<(), RenderError> {
        let mut open: Vec<(usize, usize)> =
            open.values().filter(|open| open.opened).filter_map(|open| Some((open.last?, open.group))).collect();
        open.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
        for (last, group) in open {
            let Some(group) = lane.groups.get(group) else { continue };
            let Some(text) = self.wrapper(lane, group, group.close.as_ref())? else { continue };
            let at = (last + 1).min(page.order.len());
            self.put_in(group.role.as_ref().or(lane.role.as_ref()), text, at, page, anchors)?;
        }
        Ok(())
    }

    fn wrapper(&mut self, lane: &ResolvedLane, group: &ResolvedGroup, leaf: Option<&Leaf>) -> Result<Option<Arc<str>>, RenderError> {
        self.payload_text(leaf, laid([lane.payload.as_ref(), group.payload.as_ref()]))
    }

    fn payload_text(&mut self, leaf: Option<&Leaf>, payload: Map) -> Result<Option<Arc<str>>, RenderError> {
        let Some(leaf) = leaf else { return Ok(None) };
        self.meter.step(payload.len() as u64 / 8)?;
        let printed = self.data.print_payload(leaf, payload, self.meter.most()).map_err(|why| self.meter.refused(why))?;
        self.meter.printed(leaf, &printed)?;
        Ok(Some(printed.text).filter(|text| !text.is_empty()))
    }

    /// Inserts a message if it fits.
    fn put_in(
        &mut self,
        role: Option<&MessageRole>,
        content: Arc<str>,
        at: usize,
        page: &mut DraftConversation,
        anchors: &mut AnchorPlaces,
    ) -> Result<bool, RenderError> {
        let cost = self.inputs.ruler.cost(&content);
        if !self.budget.take(cost) {
            return Ok(false);
        }
        self.meter.keep(&content)?;
        self.meter.step((page.order.len() + page.anchors.len()) as u64 / 16)?;
        page.order.insert(at.min(page.order.len()), page.cells.len());
        page.cells.push(Message { role: role.unwrap_or(&self.revision.lane_role).clone(), content, prefix: false });
        for place in anchors.values_mut().flatten().filter(|place| **place >= at) {
            *place += 1;
        }
        Ok(true)
    }
}

/// The place of a target; `None` if it does not exist.
fn place_of(target: &InjectionTarget, anchors: &AnchorPlaces, messages: usize) -> Option<usize> {
    let clamped = |place: usize, by: i64| {
        let moved = i64::try_from(place).unwrap_or(i64::MAX).saturating_add(by).max(0);
        usize::try_from(moved).unwrap_or(usize::MAX).min(messages)
    };
    match target {
        InjectionTarget::At(key, occurrence) => {
            let places = anchors.get(key)?;
            match occurrence {
                AnchorOccurrence::First => places.first(),
                AnchorOccurrence::Last => places.last(),
                AnchorOccurrence::Nth(n) => places.get(usize::try_from(*n).unwrap_or(0).min(places.len().saturating_sub(1))),
            }
            .copied()
        }
        InjectionTarget::Offset(key, by) => Some(clamped(*anchors.get(key)?.last()?, *by)),
        InjectionTarget::Top(by) => Some(clamped(0, *by)),
        InjectionTarget::Bottom(by) => Some(clamped(messages, *by)),
    }
}

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
pub(super) fn merged_lanes(template: &Template, offered: &[form::AttachmentLane]) -> Result<Vec<ResolvedLane>, RenderError> {
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
