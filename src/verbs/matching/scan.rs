//! One run of `match`: the texts of the sources, the items' keys made ready, and which of them stand where.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::Code;
use crate::model::{Item, Value};
use crate::terms::expr::Root;
use crate::terms::select::{Seq, count};
use crate::terms::{Cond, Env, Expr, Fault};
use crate::text::keys::{Edge, Hit, Key, Lookup};

use super::super::shape::through;
use super::{How, Match, Profile, Ready, Source, Windows};

mod told;

/// What one item asks for.
pub(super) struct Asked {
    keys: Arc<[Ready]>,
    more: Arc<[Ready]>,
    windows: Windows,
}

/// The keys of an item as they were given, and made ready.
type Prepared = (Value, Arc<[Ready]>);

impl Source {
    /// The newest rows of a held list that is not read to its end: reading them all would cost the length of the chat.
    fn newest(&self, window: usize, env: &Env<'_>) -> Result<Option<Vec<Value>>, Fault> {
        match &self.each {
            Some(Expr::Path(path)) if self.newest_first && window < usize::MAX => match path.root {
                Root::Scene { list: Some((id, used)) } if path.segs.len() == used => env.st.newest(id, window),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// One run of the pass.
pub(super) struct Scan<'a> {
    of: &'a Match,
    env: &'a Env<'a>,
    /// The rows of each source, once worked out.
    rows: Vec<Option<Value>>,
    /// The texts of each source, newest first where the source says so.
    texts: Vec<Vec<Arc<str>>>,
    active: Vec<bool>,
    matchers_on: Vec<bool>,
    /// One for each matcher, and a last one for texts as they are.
    lookups: Vec<Lookup>,
    /// Texts that were prepared for each lookup, so far.
    grown: Vec<Arc<str>>,
    profiles: FxHashMap<Profile, usize>,
    known: FxHashMap<(usize, usize), Prepared>,
    joined: FxHashMap<(usize, Windows), Arc<str>>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(of: &'a Match, mut lookups: Vec<Lookup>, env: &'a Env<'a>) -> Result<Self, Fault> {
        let on = |when: &Option<Cond>| when.as_ref().map_or(Ok(true), |c| env.holds(c));
        let active = of.sources.iter().map(|s| on(&s.when)).collect::<Result<Vec<_>, _>>()?;
        let matchers_on = of.matchers.iter().map(|m| on(&m.when)).collect::<Result<Vec<_>, _>>()?;
        lookups.resize_with(of.matchers.len() + 1, Lookup::default);
        Ok(Self {
            of,
            env,
            rows: vec![None; of.sources.len()],
            texts: vec![Vec::new(); of.sources.len()],
            active,
            matchers_on,
            lookups,
            grown: Vec::new(),
            profiles: FxHashMap::default(),
            known: FxHashMap::default(),
            joined: FxHashMap::default(),
        })
    }

    /// Makes an item's keys and the texts that it searches ready.
    pub(super) fn ask(&mut self, item: &Item, env: &Env<'_>) -> Result<Asked, Fault> {
        let keys = self.keys(&self.of.keys, item, env)?;
        let more = match &self.of.more {
            Some(more) if !keys.is_empty() => self.keys(more, item, env)?,
            _ => Arc::from([]),
        };
        let windows = if keys.is_empty() { Vec::new() } else { self.windows(env)? };
        Ok(Asked { keys, more, windows })
    }

    fn keys(&mut self, keys: &Expr, item: &Item, env: &Env<'_>) -> Result<Arc<[Ready]>, Fault> {
        let value = env.eval(keys)?;
        let Value::List(list) = &value else { return Ok(Arc::from([])) };
        if list.is_empty() {
            return Ok(Arc::from([]));
        }
        let profile = self.profile(env)?;
        // the list of an item stays where it is while the item does; one made on the spot is kept for its address
        let place = (Arc::as_ptr(list).cast::<u8>() as usize, profile.1);
        if let Some((_, ready)) = self.known.get(&place) {
            return Ok(ready.clone());
        }
        let ready = list.iter().map(|key| self.ready(key, &profile.0, item, env)).collect::<Result<Vec<_>, _>>()?;
        let ready: Arc<[Ready]> = ready.into();
        self.known.insert(place, (value.clone(), ready.clone()));
        Ok(ready)
    }

    fn profile(&mut self, env: &Env<'_>) -> Result<(Profile, usize), Fault> {
        let mut profile = Vec::with_capacity(self.of.matchers.len());
        for (matcher, on) in self.of.matchers.iter().zip(&self.matchers_on) {
            let takes = *on && matcher.filter.as_ref().map_or(Ok(true), |c| env.holds(c))?;
            let case = match (&matcher.case, takes) {
                (Some(case), true) => env.eval(case)?.truthy(),
                _ => false,
            };
            profile.push(takes.then_some(case));
        }
        let next = self.profiles.len();
        let number = *self.profiles.entry(profile.clone()).or_insert(next);
        Ok((profile, number))
    }

    fn ready(&mut self, key: &Value, profile: &Profile, item: &Item, env: &Env<'_>) -> Result<Ready, Fault> {
        let word = through(&self.of.prepare, key.to_text(), env)?;
        if word.is_empty() {
            return Ok(Ready::Never);
        }
        let value = Value::Text(word.clone());
        for (n, (matcher, case)) in self.of.matchers.iter().zip(profile).enumerate() {
            let Some(case) = *case else { continue };
            if !matcher.keys.as_ref().map_or(Ok(true), |t| t.holds(&value, env))? {
                continue;
            }
            let word = through(&matcher.key, word.clone(), env)?;
            let edge = if matcher.how == How::Word { matcher.edge } else { Edge::None };
            match matcher.how {
                How::Any => return Ok(Ready::Any),
                How::Regex => match self.pattern(&word, item) {
                    Ok(pattern) => return Ok(Ready::Pattern(pattern)),
                    Err(true) if matcher.bad_is_next => {}
                    Err(_) => return Ok(Ready::Never),
                },
                How::Plain | How::Word if word.is_empty() => return Ok(Ready::Never),
                How::Plain | How::Word => {
                    let lookup = if matcher.text.is_empty() { self.of.matchers.len() } else { n };
                    let key = Key { text: word, case, edge };
                    if key.text.contains('\n') {
                        return Ok(Ready::Lines(lookup, key));
                    }
                    let Some(keys) = self.lookups.get_mut(lookup) else { return Ok(Ready::Never) };
                    return Ok(Ready::Plain(lookup, keys.key(key)));
                }
            }
        }
        Ok(Ready::Never)
    }

    /// A pattern; the error says whether it is none at all (and not merely too costly).
    fn pattern(&mut self, word: &Arc<str>, item: &Item) -> Result<crate::text::pattern::Pattern, bool> {
        let st = self.env.st;
        st.pattern(word, None).map_err(|error| {
            st.warn_of_key(Code::RegexBad, item, word, &format!("is no usable pattern: {}", error.reason));
            error.fault == crate::text::pattern::Fault::Bad
        })
    }

    fn windows(&mut self, env: &Env<'_>) -> Result<Windows, Fault> {
        let mut windows = Vec::with_capacity(self.of.sources.len() + 1);
        for (n, source) in self.of.sources.iter().enumerate() {
            let used = self.active.get(n).copied().unwrap_or(false) && source.filter.as_ref().map_or(Ok(true), |c| env.holds(c))?;
            let window = match (used, &source.window) {
                (false, _) => 0,
                (true, Some(w)) => count(&env.eval(w)?),
                (true, None) => usize::MAX,
            };
            windows.push(self.stretch(n, source, window, env)?);
        }
        Ok(windows)
    }

    /// Makes the first `window` texts of a source ready; how many there are of them.
    fn stretch(&mut self, n: usize, source: &Source, window: usize, env: &Env<'_>) -> Result<usize, Fault> {
        let (Some(made), Some(held)) = (self.texts.get_mut(n), self.rows.get_mut(n)) else { return Ok(0) };
        if made.len() >= window {
            return Ok(window);
        }
        let Some(each) = &source.each else {
            if held.is_none() {
                *held = Some(Value::Null);
                let text = env.eval(&source.text)?.to_text();
                if !text.is_empty() {
                    made.push(led(&source.lead, &text));
                }
            }
            return Ok(made.len().min(window));
        };
        let newest = if held.is_none() { source.newest(window, env)? } else { None };
        if held.is_none() && newest.is_none() {
            *held = Some(self.env.eval(each)?);
        }
        let rows = newest.as_deref().or_else(|| held.as_ref().and_then(Value::as_list)).unwrap_or(&[]);
        let seq = Seq::Values(rows);
        for k in made.len()..window.min(rows.len()) {
            let place = if source.newest_first { rows.len() - 1 - k } else { k };
            made.push(led(&source.lead, &env.inner(seq.cur(place)).eval(&source.text)?.to_text()));
        }
        Ok(made.len().min(window))
    }

    /// Searches what is new.
    pub(super) fn compile(&mut self) -> Result<(), Fault> {
        for n in 0..self.lookups.len() {
            for source in 0..self.texts.len() {
                let texts = self.texts_for(n, source)?;
                if let Some(lookup) = self.lookups.get_mut(n) {
                    lookup.read(source, &texts);
                }
            }
            let Some(lookup) = self.lookups.get_mut(n) else { continue };
            lookup.compile(&self.env.st.rules.key_sets).map_err(Fault::bound)?;
            if std::mem::take(&mut lookup.cut_short) {
                self.env.st.warn(Code::RegexUnsafe, "keys overlap so often that the rest of a text was not searched");
            }
        }
        Ok(())
    }

    /// The texts of a source as a matcher wants them.
    fn texts_for(&self, lookup: usize, source: usize) -> Result<Vec<Arc<str>>, Fault> {
        let texts = self.texts.get(source).map(Vec::as_slice).unwrap_or_default();
        match self.of.matchers.get(lookup) {
            None => Ok(texts.to_vec()),
            Some(matcher) if matcher.text.is_empty() => Ok(Vec::new()),
            Some(matcher) => texts.iter().map(|t| through(&matcher.text, t.clone(), self.env)).collect(),
        }
    }

    /// An item that was found adds its text to what the next are looked up in.
    pub(super) fn grow(&mut self, text: Arc<str>) {
        self.grown.push(text);
        let source = self.of.sources.len();
        for (n, lookup) in self.lookups.iter_mut().enumerate() {
            let steps = self.of.matchers.get(n).map(|m| m.text.as_slice()).unwrap_or_default();
            let texts: Vec<Arc<str>> =
                self.grown.iter().map(|t| through(steps, t.clone(), self.env).unwrap_or_else(|_| t.clone())).collect();
            lookup.read(source, &texts);
        }
    }

    /// The number of keys found, if the item is hit.
    pub(super) fn find(&mut self, item: &Item, asked: &Asked, env: &Env<'_>) -> Result<Option<usize>, Fault> {
        let mut windows = asked.windows.clone();
        windows.push(self.grown.len());
        let mut primary = 0;
        let mut first = None;
        for (n, key) in asked.keys.iter().enumerate() {
            if let Some(at) = self.has(key, &windows, item)? {
                primary += 1;
                first = first.or(Some((n, at)));
            }
        }
        let Some((key, at)) = first else { return Ok(None) };
        let mut secondary = 0;
        for key in asked.more.iter() {
            secondary += usize::from(self.has(key, &windows, item)?.is_some());
        }
        if !asked.more.is_empty() && !self.of.combines(item, secondary, asked.more.len(), env)? {
            return Ok(None);
        }
        if self.env.st.trail.is_some() {
            let told = self.told(asked, key, at, &windows, env)?;
            self.env.st.explain(item, told);
        }
        Ok(Some(primary + secondary))
    }

    /// Whether a key is in the texts, and where if that is known.
    fn has(&mut self, key: &Ready, windows: &Windows, item: &Item) -> Result<Option<Option<(usize, Hit)>>, Fault> {
        Ok(match key {
            Ready::Any => Some(None),
            Ready::Never => None,
            Ready::Plain(lookup, key) => {
                let Some(lookup) = self.lookups.get(*lookup) else { return Ok(None) };
                windows.iter().enumerate().find_map(|(source, n)| Some(Some((source, lookup.found(*key, source, *n)?))))
            }
            Ready::Lines(lookup, key) => key.is_in(&self.text(*lookup, windows)?).then_some(None),
            Ready::Pattern(pattern) => {
                let text = self.text(self.of.matchers.len(), windows)?;
                match self.env.st.is_match(pattern, &text) {
                    Ok(found) => found.then_some(None),
                    Err(bound) => {
                        self.env.st.warn_of_key(Code::RegexUnsafe, item, pattern.text(), &format!("was given up: {bound}"));
                        None
                    }
                }
            }
        })
    }

    /// The texts that an item searches, joined.
    fn text(&mut self, lookup: usize, windows: &Windows) -> Result<Arc<str>, Fault> {
        let name = (lookup, windows.clone());
        if let Some(text) = self.joined.get(&name) {
            return Ok(text.clone());
        }
        let mut pieces: Vec<Arc<str>> = Vec::new();
        for (source, n) in windows.iter().enumerate() {
            let texts = if source < self.texts.len() {
                if lookup < self.of.matchers.len() {
                    self.texts_for(lookup, source)?
                } else {
                    self.texts.get(source).cloned().unwrap_or_default()
                }
            } else {
                self.grown.clone()
            };
            pieces.extend(texts.into_iter().take(*n));
        }
        let text: Arc<str> = pieces.join("\n").into();
        self.joined.insert(name, text.clone());
        Ok(text)
    }

    /// What the next run of the pass may build on.
    pub(super) fn finish(self) -> Vec<Lookup> {
        self.lookups
    }
}

fn led(lead: &str, text: &Arc<str>) -> Arc<str> {
    if lead.is_empty() { text.clone() } else { format!("{lead}{text}").into() }
}
