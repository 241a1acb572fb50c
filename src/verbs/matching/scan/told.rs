//! The details of a find for a trace: the key as written, the source, which of its elements, and the bytes there.

use std::sync::Arc;

use crate::model::{Map, Value};
use crate::terms::expr::Root;
use crate::terms::{Env, Expr, Fault};
use crate::text::keys::{Hit, Key};

use super::super::{Ready, Windows};
use super::{Asked, Scan};

impl Scan<'_> {
    /// The detail of a hit of an item's key number `key`.
    pub(super) fn told(
        &mut self,
        asked: &Asked,
        key: usize,
        at: Option<(usize, Hit)>,
        windows: &Windows,
        env: &Env<'_>,
    ) -> Result<Value, Fault> {
        let mut out = Map::default();
        let number = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let keys = env.eval(&self.of.keys)?;
        out.insert("key".into(), keys.as_list().and_then(|l| l.get(key)).cloned().unwrap_or_default());
        let at = match (at, asked.keys.get(key)) {
            (None, Some(key)) => self.located(key, windows)?,
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

    /// Which element of the list of a source a text was made from, counted from the list's beginning.
    fn index(&self, source: usize, text: usize) -> Option<usize> {
        let of = self.of.sources.get(source)?;
        let each = of.each.as_ref()?;
        if !of.newest_first {
            return Some(text);
        }
        let count = match (self.rows.get(source)?.as_ref().and_then(Value::as_list), each) {
            (Some(rows), _) => rows.len(),
            // a long history that has not been read to its end
            (None, Expr::Path(path)) => match path.root {
                Root::Scene { list: Some((id, _)) } => {
                    let list = self.env.st.list(id);
                    list.lazy.as_ref().map_or(0, |l| l.remaining) + list.items.iter().filter(|i| i.enabled()).count()
                }
                _ => return None,
            },
            _ => return None,
        };
        count.checked_sub(text + 1)
    }

    /// The position of a key that was searched in the joined texts; a hit may extend into the texts after it.
    fn located(&mut self, key: &Ready, windows: &Windows) -> Result<Option<(usize, Hit)>, Fault> {
        let (lookup, found) = match key {
            Ready::Pattern(pattern) => {
                let lookup = self.of.matchers.len();
                let text = self.text(lookup, windows)?;
                (lookup, pattern.find_all(&text, 1).ok().and_then(|found| found.first().map(|m| (m.start, m.end))))
            }
            Ready::Lines(lookup, key) => (*lookup, stands(key, &self.text(*lookup, windows)?)),
            Ready::Any | Ready::Never | Ready::Plain(..) => return Ok(None),
        };
        let Some((start, end)) = found else { return Ok(None) };
        let mut passed = 0;
        for (source, n) in windows.iter().enumerate() {
            let texts = match source < self.texts.len() {
                true if lookup < self.of.matchers.len() => self.texts_for(lookup, source)?,
                true => self.texts.get(source).cloned().unwrap_or_default(),
                false => self.grown.clone(),
            };
            for (text, piece) in texts.iter().take(*n).enumerate() {
                if start <= passed + piece.len() {
                    return Ok(Some((source, Hit { text, start: start - passed, end: end - passed })));
                }
                passed += piece.len() + 1;
            }
        }
        Ok(None)
    }
}

/// The first position where a key stands by itself.
fn stands(key: &Key, text: &str) -> Option<(usize, usize)> {
    let (text, word) = if key.case { (text.to_owned(), key.text.to_string()) } else { (text.to_lowercase(), key.text.to_lowercase()) };
    let mut found = text.match_indices(&word).map(|(at, found)| (at, at + found.len()));
    found.find(|(start, end)| key.edge.fits(&text, *start, *end))
}
