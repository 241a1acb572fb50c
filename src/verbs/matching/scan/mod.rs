//! One run of `match`: prepares the texts of the sources and the items' keys, and finds which keys occur where.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::Code;
use crate::model::{Item, Value};
use crate::terms::expr::Root;
use crate::terms::select::{Seq, count};
use crate::terms::steps::text_through as through;
use crate::terms::{Cond, Env, Expr, Fault};
use crate::text::keys::{Edge, Hit, Key, Lookup};

use super::alike::Alike;
use super::before::Before;
use super::words::Way;
use super::{How, Keys, Match, Profile, Ready, Source, Windows};

mod told;

/// What one item asks for.
pub(super) struct Asked {
    keys: Keys,
    more: Keys,
    windows: Windows,
}

/// The keys of an item as they were given, and made ready.
type Prepared = (Value, Keys);

impl Source {
    /// The newest rows of a list that is not read to its end: reading all rows would cost the length of the chat.
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

/// What the next run of the pass in the same build may use.
#[derive(Default)]
pub(super) struct ScanCache {
    /// One for each matcher, and a last one for texts as they are.
    lookups: Vec<Lookup>,
    profiles: FxHashMap<Profile, usize>,
    /// By the address of a list of keys, and the profile.
    known: FxHashMap<(usize, usize), Prepared>,
    before: Before,
}

/// One run of the pass.
pub(super) struct Scan<'a> {
    of: &'a Match,
    env: &'a Env<'a>,
    /// The rows of each source, once evaluated.
    rows: Vec<Option<Value>>,
    /// The texts of each source, newest first where the source says so.
    texts: Vec<Vec<Arc<str>>>,
    active: Vec<bool>,
    matchers_on: Vec<bool>,
    /// What earlier runs have found out, and what later ones may use.
    kept: ScanCache,
    /// Texts that were prepared for each lookup, so far.
    grown: Vec<Arc<str>>,
    /// Keys of this run alone: patterns, about which each run warns, and macros, whose result may differ next time.
    known: FxHashMap<(usize, usize), Prepared>,
    joined: FxHashMap<(usize, Windows, usize), Arc<str>>,
    /// What the last item searches: the next is likely to search the same.
    windows: Windows,
    alike: Alike,
    /// No keys at all.
    none: Keys,
}

impl<'a> Scan<'a> {
    pub(super) fn new(of: &'a Match, mut kept: ScanCache, env: &'a Env<'a>) -> Result<Self, Fault> {
        let on = |when: &Option<Cond>| when.as_ref().map_or(Ok(true), |c| env.holds(c));
        let active = of.sources.iter().map(|s| on(&s.when)).collect::<Result<Vec<_>, _>>()?;
        let matchers_on = of.matchers.iter().map(|m| on(&m.when)).collect::<Result<Vec<_>, _>>()?;
        kept.lookups.resize_with(of.matchers.len() + 1, Lookup::default);
        Ok(Self {
            of,
            env,
            rows: vec![None; of.sources.len()],
            texts: vec![Vec::new(); of.sources.len()],
            active,
            matchers_on,
            kept,
            grown: Vec::new(),
            known: FxHashMap::default(),
            joined: FxHashMap::default(),
            windows: Arc::from([]),
            alike: Alike::default(),
            none: Arc::from([]),
        })
    }

    /// Prepares an item's keys and the texts that it searches.
    pub(super) fn ask(&mut self, item: &Item, env: &Env<'_>) -> Result<Asked, Fault> {
        self.alike.turn(self.of.looked_at.as_deref(), item);
        if let Some((keys, more)) = self.asked_before(item) {
            return Ok(Asked { keys, more, windows: self.windows(env)? });
        }
        let mut stays = true;
        let keys = self.keys(&self.of.keys, item, env, &mut stays)?;
        if keys.is_empty() {
            return Ok(Asked { keys, more: self.none.clone(), windows: Arc::from([]) });
        }
        let more = match &self.of.more {
            Some(more) => self.keys(more, item, env, &mut stays)?,
            None => self.none.clone(),
        };
        if let (true, Some(from), Some((_, profile))) = (stays, &self.of.keys_from, &self.alike.profile) {
            self.kept.before.put(item, from, *profile, &keys, &more);
        }
        Ok(Asked { keys, more, windows: self.windows(env)? })
    }

    /// The keys from an earlier run, if the item would ask for the same again. This does not compute the profile of
    /// the item: the first of several alike items always asks anew.
    fn asked_before(&self, item: &Item) -> Option<(Keys, Keys)> {
        let (_, profile) = self.alike.profile.as_ref()?;
        self.kept.before.get(item, self.of.keys_from.as_deref()?, *profile)
    }

    /// An item's prepared keys; `stays` becomes false if the next run may prepare them differently.
    fn keys(&mut self, keys: &Expr, item: &Item, env: &Env<'_>, stays: &mut bool) -> Result<Keys, Fault> {
        let value = env.eval(keys)?;
        let Value::List(list) = &value else { return Ok(self.none.clone()) };
        if list.is_empty() {
            return Ok(self.none.clone());
        }
        let profile = self.profile(env)?;
        // the list of an item stays at its address while the item exists; a temporary list is kept alive for its
        // address
        let place = (Arc::as_ptr(list).cast::<u8>() as usize, profile.1);
        if let Some((_, ready)) = self.kept.known.get(&place) {
            return Ok(ready.clone());
        }
        if let Some((_, ready)) = self.known.get(&place) {
            *stays = false;
            return Ok(ready.clone());
        }
        let ready = list.iter().map(|key| self.ready(key, &profile.0, item, env)).collect::<Result<Vec<_>, _>>()?;
        let ready: Keys = ready.into();
        let stay = self.stays(list, &ready);
        *stays &= stay;
        let known = if stay { &mut self.kept.known } else { &mut self.known };
        known.insert(place, (value.clone(), ready.clone()));
        Ok(ready)
    }

    /// Whether the next run would prepare these keys the same way, and without warnings.
    fn stays(&self, keys: &[Value], ready: &[Ready]) -> bool {
        let found = |ready: &Ready| matches!(ready, Ready::Any | Ready::Plain(..) | Ready::Lines(..));
        let plain = |key: &Value| key.as_str().is_some_and(crate::text::macros::is_plain);
        self.of.steady && self.of.words.is_some() && ready.iter().all(found) && keys.iter().all(plain)
    }

    fn profile(&mut self, env: &Env<'_>) -> Result<(Profile, usize), Fault> {
        if let Some(known) = &self.alike.profile {
            return Ok(known.clone());
        }
        let mut profile = Vec::with_capacity(self.of.matchers.len());
        for (matcher, on) in self.of.matchers.iter().zip(&self.matchers_on) {
            let takes = *on && matcher.filter.as_ref().map_or(Ok(true), |c| env.holds(c))?;
            let case = match (&matcher.case, takes) {
                (Some(case), true) => env.eval(case)?.truthy(),
                _ => false,
            };
            profile.push(takes.then_some(case));
        }
        let profile: Profile = profile.into();
        let next = self.kept.profiles.len();
        let number = *self.kept.profiles.entry(profile.clone()).or_insert(next);
        self.alike.profile = Some((profile.clone(), number));
        Ok((profile, number))
    }

    fn ready(&mut self, key: &Value, profile: &Profile, item: &Item, env: &Env<'_>) -> Result<Ready, Fault> {
        let word = through(&self.of.prepare, key.to_text(), env)?;
        if word.is_empty() {
            return Ok(Ready::Never);
        }
        if let Some(way) = self.of.words.as_ref().and_then(|words| words.get(profile, &word)) {
            return Ok(self.on(way));
        }
        let value = Value::Text(word.clone());
        let mut warned = false;
        for (n, (matcher, case)) in self.of.matchers.iter().zip(profile.iter()).enumerate() {
            let Some(case) = *case else { continue };
            if !matcher.keys.as_ref().map_or(Ok(true), |t| t.holds(&value, env))? {
                continue;
            }
            let text = through(&matcher.key, word.clone(), env)?;
            let edge = if matcher.how == How::Word { matcher.edge } else { Edge::None };
            let way = match matcher.how {
                How::Any => Way::Any,
                // every build warns about a bad pattern, so it is not cached
                How::Regex => match self.pattern(&text, item) {
                    Ok(pattern) => return Ok(Ready::Pattern(pattern)),
                    Err(true) if matcher.bad_is_next => {
                        warned = true;
                        continue;
                    }
                    Err(_) => return Ok(Ready::Never),
                },
                How::Plain | How::Word if text.is_empty() => Way::Never,
                How::Plain | How::Word => {
                    let lookup = if matcher.text.is_empty() { self.of.matchers.len() } else { n };
                    Way::Key(lookup, Key { text, case, edge })
                }
            };
            if let (Some(words), false) = (&self.of.words, warned) {
                words.put(profile, word, way.clone());
            }
            return Ok(self.on(way));
        }
        Ok(Ready::Never)
    }

    /// The key of a word in the lookups of this scan.
    fn on(&mut self, way: Way) -> Ready {
        match way {
            Way::Any => Ready::Any,
            Way::Never => Ready::Never,
            Way::Key(lookup, key) if key.text.contains('\n') => Ready::Lines(lookup, key),
            Way::Key(lookup, key) => self.kept.lookups.get_mut(lookup).map_or(Ready::Never, |keys| Ready::Plain(lookup, keys.key(key))),
        }
    }

    /// A pattern; the error says whether the text is not a pattern at all, or only too costly.
    fn pattern(&mut self, word: &Arc<str>, item: &Item) -> Result<crate::text::pattern::Pattern, bool> {
        let st = self.env.st;
        st.pattern(word, None).map_err(|error| {
            st.warn_of_key(Code::RegexBad, item, word, &format!("is no usable pattern: {}", error.reason));
            error.fault == crate::text::pattern::Fault::Bad
        })
    }

    fn windows(&mut self, env: &Env<'_>) -> Result<Windows, Fault> {
        if let Some(known) = &self.alike.windows {
            return Ok(known.clone());
        }
        let mut windows = Vec::with_capacity(self.of.sources.len());
        for (n, source) in self.of.sources.iter().enumerate() {
            let used = self.active.get(n).copied().unwrap_or(false) && source.filter.as_ref().map_or(Ok(true), |c| env.holds(c))?;
            let window = match (used, &source.window) {
                (false, _) => 0,
                (true, Some(w)) => count(&env.eval(w)?),
                (true, None) => usize::MAX,
            };
            windows.push(self.stretch(n, source, window, env)?);
        }
        if *self.windows != *windows {
            self.windows = windows.into();
        }
        self.alike.windows = Some(self.windows.clone());
        Ok(self.windows.clone())
    }

    /// Prepares the first `window` texts of a source and returns how many there are.
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
        for n in 0..self.kept.lookups.len() {
            for source in 0..self.texts.len() {
                let texts = self.texts_for(n, source)?;
                if let Some(lookup) = self.kept.lookups.get_mut(n) {
                    lookup.read(source, &texts, &self.env.st.rules.key_sets);
                }
            }
            let Some(lookup) = self.kept.lookups.get_mut(n) else { continue };
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

    /// Adds the text of a found item to the texts in which later items are searched.
    pub(super) fn grow(&mut self, text: Arc<str>) {
        self.grown.push(text);
        let source = self.of.sources.len();
        for (n, lookup) in self.kept.lookups.iter_mut().enumerate() {
            let steps = self.of.matchers.get(n).map(|m| m.text.as_ref()).unwrap_or_default();
            let texts: Vec<Arc<str>> =
                self.grown.iter().map(|t| through(steps, t.clone(), self.env).unwrap_or_else(|_| t.clone())).collect();
            lookup.read(source, &texts, &self.env.st.rules.key_sets);
        }
    }

    /// The number of keys found, if the item is hit.
    pub(super) fn find(&mut self, item: &Item, asked: &Asked, env: &Env<'_>) -> Result<Option<usize>, Fault> {
        let windows = &asked.windows;
        let mut primary = 0;
        let mut first = None;
        for (n, key) in asked.keys.iter().enumerate() {
            if let Some(at) = self.has(key, windows, item)? {
                primary += 1;
                first = first.or(Some((n, at)));
            }
        }
        let Some((key, at)) = first else { return Ok(None) };
        let mut secondary = 0;
        for key in asked.more.iter() {
            secondary += usize::from(self.has(key, windows, item)?.is_some());
        }
        if !asked.more.is_empty() && !self.of.combines(item, secondary, asked.more.len(), env)? {
            return Ok(None);
        }
        if self.env.st.trail.is_some() {
            let told = self.told(asked, key, at, windows, env)?;
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
                let Some(lookup) = self.kept.lookups.get(*lookup).filter(|lookup| lookup.stands(*key)) else { return Ok(None) };
                let grown = self.grown.len();
                windows
                    .iter()
                    .chain(std::iter::once(&grown))
                    .enumerate()
                    .find_map(|(source, n)| Some(Some((source, lookup.found(*key, source, *n)?))))
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
        let grown = self.grown.len();
        let name = (lookup, windows.clone(), grown);
        if let Some(text) = self.joined.get(&name) {
            return Ok(text.clone());
        }
        let mut pieces: Vec<Arc<str>> = Vec::new();
        for (source, n) in windows.iter().chain(std::iter::once(&grown)).enumerate() {
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

    /// The results that the next run of the pass may reuse.
    pub(super) fn finish(self) -> ScanCache {
        self.kept
    }
}

fn led(lead: &str, text: &Arc<str>) -> Arc<str> {
    if lead.is_empty() { text.clone() } else { format!("{lead}{text}").into() }
}
