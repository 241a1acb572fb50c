//! Which keys of an item are in the texts that it searches: by the automata that have read them, or text by text.

use std::sync::Arc;

use crate::diag::Code;
use crate::model::Item;
use crate::terms::scripts::found_by;
use crate::terms::steps::text_through as through;
use crate::terms::{Env, EvalFault};
use crate::text::keys::KeyHit;

use super::super::{ItemKeys, ItemRequest, PreparedKey, RequestTerms, SearchedTexts, SingleSearch};
use super::{FoundPlace, PassScan, ScannedItem};

impl PassScan<'_> {
    /// Adds the text of a found item to the texts in which later items are searched.
    pub(in crate::verbs::matching) fn grow(&mut self, text: &Arc<str>) -> Result<(), EvalFault> {
        let source = self.of.sources.len();
        for (n, lookup) in self.kept.lookups.iter_mut().enumerate() {
            let steps = self.of.matchers.get(n).map(|m| m.text.as_ref()).unwrap_or_default();
            if n < self.of.matchers.len() && steps.is_empty() {
                continue;
            }
            let ready = through(steps, text.clone(), self.env)?;
            lookup.add(source, ready.clone(), &self.env.st.rules.key_sets);
            if let Some(grown) = self.grown.get_mut(n) {
                grown.push(ready);
            }
        }
        Ok(())
    }

    /// How many texts of found items an item searches.
    pub(super) fn grown(&self, asked: &ScannedItem) -> usize {
        if asked.grown { self.grown.last().map_or(0, Vec::len) } else { 0 }
    }

    /// The number of keys found, if the item is hit.
    pub(in crate::verbs::matching) fn find(&mut self, item: &Item, asked: &ScannedItem, env: &Env<'_>) -> Result<Option<usize>, EvalFault> {
        if asked.unasked {
            return Ok(Some(0));
        }
        let (number, first) = match &asked.asks {
            ItemRequest::Keys(keys, more) => {
                let (primary, first) = self.count(keys, asked, item)?;
                if !self.of.is_begun(item, primary, !more.is_empty(), env)? {
                    return Ok(None);
                }
                let (secondary, second) = self.count(more, asked, item)?;
                if !more.is_empty() && !self.of.combines(item, secondary, more.len(), env)? {
                    return Ok(None);
                }
                let first = match (first, second, &self.of.wanted) {
                    (Some((n, at)), ..) => Some((keys.clone(), None, n, at)),
                    (None, Some((n, at)), RequestTerms::Keys(_, Some(written))) => Some((more.clone(), Some(env.eval(written)?), n, at)),
                    _ => None,
                };
                (primary + secondary, first)
            }
            ItemRequest::Queries(queries) if queries.is_empty() => return Ok(None),
            ItemRequest::Queries(queries) => {
                let (mut number, mut first) = (0, None);
                for query in queries.iter() {
                    let found = match query.all {
                        true => self.all(&query.keys, asked, item)?.then_some((0, None)),
                        false => self.any(&query.keys, asked, item)?,
                    };
                    if found.is_some() == query.absent {
                        return Ok(None);
                    }
                    if let Some((n, at)) = found {
                        number += 1;
                        first = first.or(Some((query.keys.clone(), Some(query.written.clone()), n, at)));
                    }
                }
                (number, first)
            }
        };
        if let (Some(reasons), Some((keys, written, n, at))) = (self.reasons, first) {
            let written = match (written, &self.of.wanted) {
                (None, RequestTerms::Keys(keys, _)) => env.eval(keys)?,
                (written, _) => written.unwrap_or_default(),
            };
            let written = written.elements().get(n).cloned().unwrap_or_default();
            let told = self.told(written, keys.get(n), at, asked)?;
            reasons.explain(item, told, self.env.st);
        }
        Ok(Some(number))
    }

    /// How many of these keys are found, and the first of them with the place where it was found, if that is known.
    fn count(&mut self, keys: &ItemKeys, asked: &ScannedItem, item: &Item) -> Result<(usize, Option<FoundPlace>), EvalFault> {
        let (mut number, mut first) = (0, None);
        for (n, key) in keys.iter().enumerate() {
            if let Some(at) = self.has(key, asked, item)? {
                number += 1;
                first = first.or(Some((n, at)));
            }
        }
        Ok((number, first))
    }

    /// The first of these keys that is found.
    fn any(&mut self, keys: &ItemKeys, asked: &ScannedItem, item: &Item) -> Result<Option<FoundPlace>, EvalFault> {
        for (n, key) in keys.iter().enumerate() {
            if let Some(at) = self.has(key, asked, item)? {
                return Ok(Some((n, at)));
            }
        }
        Ok(None)
    }

    /// Whether each of these keys is in each text. This holds if there are no keys, or no texts.
    fn all(&mut self, keys: &ItemKeys, asked: &ScannedItem, item: &Item) -> Result<bool, EvalFault> {
        for key in keys.iter() {
            let (lookup, sought) = match key {
                PreparedKey::Any => continue,
                PreparedKey::Never => return Ok(self.texts_of(self.of.matchers.len(), asked)?.is_empty()),
                PreparedKey::Alone(lookup, sought, _) => (*lookup, sought.clone()),
                PreparedKey::Plain(lookup, number) => match self.kept.lookups.get(*lookup).and_then(|l| l.key_of(*number)) {
                    Some(key) => (*lookup, SingleSearch::Key(key.clone())),
                    None => return Ok(false),
                },
            };
            for text in self.texts_of(lookup, asked)? {
                if !self.is_in(&sought, &text, item)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether a key is in the texts, and where if that is known.
    pub(super) fn has(
        &mut self,
        key: &PreparedKey,
        asked: &ScannedItem,
        item: &Item,
    ) -> Result<Option<Option<(usize, KeyHit)>>, EvalFault> {
        Ok(match key {
            PreparedKey::Any => Some(None),
            PreparedKey::Never => None,
            PreparedKey::Plain(lookup, key) => {
                let Some(lookup) = self.kept.lookups.get(*lookup).filter(|lookup| lookup.stands(*key)) else { return Ok(None) };
                let grown = self.grown(asked);
                asked
                    .windows
                    .iter()
                    .chain(std::iter::once(&grown))
                    .enumerate()
                    .find_map(|(source, n)| Some(Some((source, lookup.found(*key, source, *n)?))))
            }
            PreparedKey::Alone(lookup, sought, SearchedTexts::Joined) => {
                let text = self.text(*lookup, asked)?;
                self.is_in(sought, &text, item)?.then_some(None)
            }
            PreparedKey::Alone(lookup, sought, texts) => {
                let most = if *texts == SearchedTexts::First { 1 } else { usize::MAX };
                for text in self.texts_of(*lookup, asked)?.iter().take(most) {
                    if self.is_in(sought, text, item)? {
                        return Ok(Some(None));
                    }
                }
                None
            }
        })
    }

    /// Whether one text contains what is sought.
    fn is_in(&self, sought: &SingleSearch, text: &Arc<str>, item: &Item) -> Result<bool, EvalFault> {
        let pattern = match sought {
            SingleSearch::Key(key) => return Ok(key.is_in(text)),
            SingleSearch::Pattern(pattern) => pattern,
            SingleSearch::Function(function, key) => return found_by(function, key, text, self.env),
        };
        Ok(self.env.st.is_match(pattern, text).unwrap_or_else(|bound| {
            self.env.st.warn_of_key(Code::RegexUnsafe, item, pattern.text(), &format!("was given up: {bound}"));
            false
        }))
    }

    /// The texts that an item searches, one after another in the order of the lists.
    fn texts_of(&mut self, lookup: usize, asked: &ScannedItem) -> Result<Vec<Arc<str>>, EvalFault> {
        let mut out = Vec::new();
        for (source, n) in asked.windows.iter().enumerate() {
            let from = out.len();
            out.extend(self.texts_for(lookup, source)?.iter().take(*n).cloned());
            if self.of.sources.get(source).is_some_and(|s| s.newest_first) {
                out.get_mut(from..).unwrap_or_default().reverse();
            }
        }
        let grown = self.grown.get(lookup).map(Vec::as_slice).unwrap_or_default();
        out.extend(grown.iter().take(self.grown(asked)).cloned());
        Ok(out)
    }

    /// The texts that an item searches, joined.
    pub(super) fn text(&mut self, lookup: usize, asked: &ScannedItem) -> Result<Arc<str>, EvalFault> {
        let grown = self.grown(asked);
        let name = (lookup, asked.windows.clone(), grown);
        if let Some(text) = self.joined.get(&name) {
            return Ok(text.clone());
        }
        let mut pieces: Vec<Arc<str>> = Vec::new();
        for (source, n) in asked.windows.iter().enumerate() {
            pieces.extend(self.texts_for(lookup, source)?.iter().take(*n).cloned());
        }
        pieces.extend(self.grown.get(lookup).map(Vec::as_slice).unwrap_or_default().iter().take(grown).cloned());
        let text: Arc<str> = pieces.join(&*self.of.join).into();
        self.joined.insert(name, text.clone());
        Ok(text)
    }
}
