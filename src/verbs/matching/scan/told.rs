//! The details of a find for a trace: the key as written, the source, which of its elements, and the bytes there.

use std::sync::Arc;

use crate::diag::limits;
use crate::model::plan::SearchRecord;
use crate::model::{Item, Map, Value};
use crate::terms::expr::PathRoot;
use crate::terms::{Env, EvalFault, Expr};
use crate::text::keys::{KeyHit, SearchKey};
use crate::text::written::ToText as _;

use super::super::{ItemRequest, PreparedKey, RequestTerms, SearchedTexts, SingleSearch};
use super::{PassScan, ScannedItem};

impl PassScan<'_> {
    /// The detail of a hit of a key of an item, which was `written` so.
    pub(super) fn told(
        &mut self,
        written: Value,
        key: Option<&PreparedKey>,
        at: Option<(usize, KeyHit)>,
        asked: &ScannedItem,
    ) -> Result<Value, EvalFault> {
        let mut out = Map::default();
        let number = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        out.insert("key".into(), written);
        let at = match (at, key) {
            (None, Some(key)) => self.located(key, asked)?,
            (at, _) => at,
        };
        let Some((source, hit)) = at else { return Ok(Value::map(out)) };
        let name = self.of.sources.get(source).map_or_else(|| Arc::from("grown"), |s| s.name.clone());
        out.insert("source".into(), Value::Text(name));
        if let Some(index) = self.index(source, hit.text) {
            out.insert("index".into(), number(index));
        }
        for (field, n) in [("text", hit.text), ("start", hit.start), ("end", hit.end)] {
            out.insert(field.into(), number(n));
        }
        Ok(Value::map(out))
    }

    /// What an item has searched: its keys, and how many texts of each source.
    pub(in crate::verbs::matching) fn searched(
        &mut self,
        item: &Item,
        asked: &ScannedItem,
        env: &Env<'_>,
    ) -> Result<SearchRecord, EvalFault> {
        let found = self.found(item, asked, env)?;
        let mut keys = Vec::new();
        let mut add = |value: &Value| keys.extend(value.elements().iter().take(limits::REPORTED).map(|key| key.shown().to_string()));
        match (&self.of.wanted, &asked.asks) {
            (_, ItemRequest::Queries(queries)) => queries.iter().for_each(|query| add(&query.written)),
            (RequestTerms::Keys(own, more), _) => {
                for expr in std::iter::once(own).chain(more) {
                    add(&env.eval(expr)?);
                }
            }
            (RequestTerms::Queries(_), ItemRequest::Keys(..)) => {}
        }
        let count = |n: usize| asked.windows.get(n).copied().unwrap_or(0);
        let active = self.of.sources.iter().enumerate().filter(|(n, _)| self.active.get(*n).copied().unwrap_or(false));
        let sources = active.map(|(n, source)| (source.name.to_string(), count(n))).collect();
        Ok(SearchRecord { keys, sources, found, ..SearchRecord::default() })
    }

    /// The primary keys, as written, that are found for an item whose other keys decide against it.
    fn found(&mut self, item: &Item, asked: &ScannedItem, env: &Env<'_>) -> Result<Vec<String>, EvalFault> {
        let (RequestTerms::Keys(own, Some(_)), ItemRequest::Keys(keys, more)) = (&self.of.wanted, &asked.asks) else {
            return Ok(Vec::new());
        };
        if more.is_empty() {
            return Ok(Vec::new());
        }
        let written = env.eval(own)?;
        let warned = self.env.st.warnings.raised.borrow().len();
        let mut found = Vec::new();
        for (key, text) in keys.iter().zip(written.elements()).take(limits::REPORTED) {
            if self.has(key, asked, item)?.is_some() {
                found.push(text.shown().to_string());
            }
        }
        // what a key warns of was said when the item was searched
        self.env.st.warnings.raised.borrow_mut().truncate(warned);
        Ok(found)
    }

    /// Which element of the list of a source a text was made from, counted from the list's beginning.
    fn index(&self, source: usize, text: usize) -> Option<usize> {
        let of = self.of.sources.get(source)?;
        let each = of.each.as_ref()?;
        if !of.newest_first {
            return Some(text);
        }
        let count = match (self.rows.get(source)?.as_ref().map(Value::elements), each) {
            (Some(rows), _) => rows.len(),
            // a long history that has not been read to its end
            (None, Expr::Path(path)) => match path.root {
                PathRoot::Scene { list: Some((id, _)) } => {
                    let list = self.env.st.list(id);
                    list.enabled_count()
                }
                _ => return None,
            },
            _ => return None,
        };
        count.checked_sub(text + 1)
    }

    /// The position of a key that was searched in the joined texts; a hit may extend into the texts after it.
    fn located(&mut self, key: &PreparedKey, asked: &ScannedItem) -> Result<Option<(usize, KeyHit)>, EvalFault> {
        let PreparedKey::Alone(lookup, sought, texts) = key else { return Ok(None) };
        let find = |text: &str| match sought {
            SingleSearch::Pattern(pattern) => pattern.find_all(text, 1).ok().and_then(|found| found.first().map(|m| (m.start, m.end))),
            SingleSearch::Key(key) => stands(key, text),
            // it does not say where
            SingleSearch::Function(..) => None,
        };
        let joined = (*texts == SearchedTexts::Joined).then(|| self.text(*lookup, asked)).transpose()?;
        let found = joined.as_deref().and_then(find);
        if joined.is_some() && found.is_none() {
            return Ok(None);
        }
        let mut passed = 0;
        let grown = self.grown(asked);
        for (source, n) in asked.windows.iter().chain(std::iter::once(&grown)).enumerate() {
            let texts = match source < self.texts.len() {
                true => self.texts_for(*lookup, source)?.to_vec(),
                false => self.grown.get(*lookup).cloned().unwrap_or_default(),
            };
            let mut within = texts.iter().take(*n).enumerate();
            let hit = match found {
                Some((start, end)) => within.find_map(|(text, piece)| {
                    let before = passed;
                    passed += piece.len() + self.of.join.len();
                    (start <= before + piece.len()).then(|| KeyHit { text, start: start - before, end: end - before })
                }),
                None => within.find_map(|(text, piece)| find(piece).map(|(start, end)| KeyHit { text, start, end })),
            };
            if let Some(hit) = hit {
                return Ok(Some((source, hit)));
            }
        }
        Ok(None)
    }
}

/// The first position where a key stands by itself.
fn stands(key: &SearchKey, text: &str) -> Option<(usize, usize)> {
    let (text, word) = if key.case { (text.to_owned(), key.text.to_string()) } else { (text.to_lowercase(), key.text.to_lowercase()) };
    let mut found = text.match_indices(&word).map(|(at, found)| (at, at + found.len()));
    found.find(|(start, end)| key.edge.fits(&text, *start, *end))
}
