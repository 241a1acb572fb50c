//! Joins neighbours of the same role into one message, with the joint of the revision between them, which costs no tokens.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::layout::DraftConversation;
use super::meter::LimitMeter;
use super::{Message, RenderError};

/// Joins the neighbours of a page. A message that occurs at several places changes at all of them.
pub(super) fn squash(page: DraftConversation, joint: &str, meter: &mut LimitMeter) -> Result<Vec<Message>, RenderError> {
    let DraftConversation { cells, order, .. } = page;
    let mut joined: FxHashMap<usize, String> = FxHashMap::default();
    let mut kept: Vec<usize> = Vec::new();
    for cell in order {
        let Some(message) = cells.get(cell) else { continue };
        let last = kept.last().and_then(|last| Some((*last, cells.get(*last)?))).filter(|(_, before)| before.role == message.role);
        let Some((last, before)) = last else {
            kept.push(cell);
            continue;
        };
        let added = joined.get(&cell).map_or_else(|| message.content.clone(), |text| Arc::from(text.as_str()));
        meter.made(&added)?;
        meter.keep(&added)?;
        let text = match joined.entry(last) {
            Entry::Occupied(text) => text.into_mut(),
            Entry::Vacant(free) => free.insert(before.content.to_string()),
        };
        text.push_str(joint);
        text.push_str(&added);
    }
    finish(&cells, &kept, &joined, meter)
}

/// The messages with their final texts.
fn finish(
    cells: &[Message],
    kept: &[usize],
    joined: &FxHashMap<usize, String>,
    meter: &mut LimitMeter,
) -> Result<Vec<Message>, RenderError> {
    let mut texts: FxHashMap<usize, Arc<str>> = FxHashMap::default();
    let mut messages = Vec::with_capacity(kept.len());
    for place in kept {
        let Some(message) = cells.get(*place) else { continue };
        let content = match joined.get(place) {
            None => message.content.clone(),
            Some(text) => {
                if let Some(again) = texts.get(place) {
                    meter.keep(again)?;
                }
                texts.entry(*place).or_insert_with(|| Arc::from(text.as_str())).clone()
            }
        };
        messages.push(Message { content, ..message.clone() });
    }
    Ok(messages)
}
