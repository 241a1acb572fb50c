//! What a task provides for a render besides its sources, read from values: lanes, and requests for places in them.

use std::sync::Arc;

use super::super::form::{AnchorOccurrence, AttachmentLane, InjectionTarget, PlacementRequest, RequestGroup};
use super::super::revision::{MessageRole, Revision};
use crate::model::{Map, Value};
use crate::text::leaf::Leaf;

type OfferResult<T> = Result<T, String>;

/// Reads lanes from a list of tables with the keys of `attachments` in a template. Anything but a list gives no lanes.
///
/// # Errors
/// The first key with a value of the wrong kind, as `0.role must be …`.
pub fn lanes(list: &Value, revision: &Revision) -> Result<Vec<AttachmentLane>, String> {
    each(list, |of| lane(of, revision))
}

/// Reads requests from a list of tables with `lane`, `target` (one, or a list of which the first that exists is used),
/// `role`, `template`, `payload`, `priority`, `groupId`. A target is `{kind = "at", key, occurrence?}`, `{kind =
/// "offset", key, delta}` or `{kind = "boundary", position, delta?}`. Anything but a list gives no requests.
///
/// # Errors
/// The first key with a value of the wrong kind, as `0.lane must be …`.
pub fn requests(list: &Value, revision: &Revision) -> Result<Vec<PlacementRequest>, String> {
    each(list, |of| request(of, revision))
}

fn each<T>(list: &Value, read: impl Fn(OfferFields<'_>) -> OfferResult<T>) -> OfferResult<Vec<T>> {
    let items = list.as_list().unwrap_or_default().iter().enumerate();
    let read = |(n, item): (usize, &Value)| match item.as_map() {
        Some(map) => read(OfferFields(map)).map_err(|why| format!("{n}.{why}")),
        None => Err(format!("{n} must be a table")),
    };
    items.map(read).collect()
}

/// The fields of a table; `null` counts as missing.
struct OfferFields<'v>(&'v Map);

impl<'v> OfferFields<'v> {
    fn get(&self, key: &str) -> Option<&'v Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn read<T>(&self, key: &str, what: &str, read: impl Fn(&'v Value) -> Option<T>) -> OfferResult<Option<T>> {
        self.get(key).map(|value| read(value).ok_or_else(|| format!("{key} must be {what}"))).transpose()
    }

    fn text(&self, key: &str) -> OfferResult<Option<Arc<str>>> {
        self.read(key, "a text", |value| if let Value::Text(text) = value { Some(text.clone()) } else { None })
    }

    fn leaf(&self, key: &str, revision: &Revision) -> OfferResult<Option<Leaf>> {
        self.read(key, "a text", |value| value.as_str().map(|text| Leaf::compile(text, revision.leaf)))
    }

    fn whole(&self, key: &str) -> OfferResult<Option<i64>> {
        self.read(key, "a whole number", Value::as_i64)
    }

    fn role(&self, revision: &Revision) -> OfferResult<Option<MessageRole>> {
        let names: Vec<String> = revision.role_names().map(|name| format!("`{name}`")).collect();
        self.read("role", &format!("one of {}", names.join(", ")), |value| revision.role(value.as_str()?).cloned())
    }

    fn payload(&self) -> OfferResult<Option<Value>> {
        self.read("payload", "a table", |value| value.as_map().map(|_| value.clone()))
    }

    fn must<T>(key: &str, found: Option<T>) -> OfferResult<T> {
        found.ok_or_else(|| format!("{key} is missing"))
    }
}

fn lane(of: OfferFields<'_>, revision: &Revision) -> OfferResult<AttachmentLane> {
    let budget = of.read("budget", "a table", Value::as_map)?.map(|map| OfferFields(map).read("maxTokens", "a number from 0 on", tokens));
    Ok(AttachmentLane {
        id: OfferFields::must("id", of.text("id")?)?,
        enabled: of.read("enabled", "true or false", |value| if let Value::Bool(on) = value { Some(*on) } else { None })?,
        role: of.role(revision)?,
        template: of.leaf("template", revision)?,
        order: of.whole("order")?,
        reserve: of.read("reserveTokens", "a number from 0 on", tokens)?,
        budget: budget.transpose().map_err(|why| format!("budget.{why}"))?.flatten(),
        payload: of.payload()?,
        groups: of
            .get("groups")
            .map(|list| each(list, |of| group(of, revision)).map(Arc::from))
            .transpose()
            .map_err(|why| format!("groups.{why}"))?,
    })
}

/// A number of tokens, rounded up.
fn tokens(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|n| *n >= 0.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clipped at both ends")]
    Some(number.ceil() as u64)
}

fn group(of: OfferFields<'_>, revision: &Revision) -> OfferResult<RequestGroup> {
    Ok(RequestGroup {
        id: of.text("id")?,
        pattern: of.text("match")?,
        template: of.leaf("template", revision)?,
        open: of.leaf("openTemplate", revision)?,
        close: of.leaf("closeTemplate", revision)?,
        role: of.role(revision)?,
        order: of.whole("order")?.unwrap_or(0),
        payload: of.payload()?,
    })
}

fn request(of: OfferFields<'_>, revision: &Revision) -> OfferResult<PlacementRequest> {
    let targets = match OfferFields::must("target", of.get("target"))? {
        list @ Value::List(_) => each(list, target),
        one => one
            .as_map()
            .ok_or_else(|| "must be a table or a list of tables".to_owned())
            .and_then(|map| target(OfferFields(map)))
            .map(|t| vec![t]),
    };
    Ok(PlacementRequest {
        lane: OfferFields::must("lane", of.text("lane")?)?,
        targets: targets.map_err(|why| format!("target.{why}"))?.into(),
        role: of.role(revision)?,
        template: of.leaf("template", revision)?,
        payload: of.payload()?,
        priority: of.read("priority", "a number", Value::as_f64)?.unwrap_or(0.0),
        group: of.text("groupId")?,
    })
}

fn target(of: OfferFields<'_>) -> OfferResult<InjectionTarget> {
    let key = || of.text("key").and_then(|key| OfferFields::must("key", key));
    let by = || Ok::<_, String>(of.whole("delta")?.unwrap_or(0));
    match of.get("kind").and_then(Value::as_str) {
        Some("at") => Ok(InjectionTarget::At(
            key()?,
            of.read("occurrence", "`first`, `last` or a whole number", occurrence)?.unwrap_or(AnchorOccurrence::Last),
        )),
        Some("offset") => Ok(InjectionTarget::Offset(key()?, by()?)),
        Some("boundary") => match of.get("position").and_then(Value::as_str) {
            Some("top") => Ok(InjectionTarget::Top(by()?)),
            Some("bottom") => Ok(InjectionTarget::Bottom(by()?)),
            _ => Err("position must be `top` or `bottom`".to_owned()),
        },
        _ => Err("kind must be `at`, `offset` or `boundary`".to_owned()),
    }
}

fn occurrence(value: &Value) -> Option<AnchorOccurrence> {
    match value.as_str() {
        Some("first") => Some(AnchorOccurrence::First),
        Some("last") => Some(AnchorOccurrence::Last),
        Some(_) => None,
        None => value.as_i64().map(AnchorOccurrence::Nth),
    }
}
