//! One run of `match`: prepares the texts of the sources and the items' keys, and finds which keys occur where.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::Code;
use crate::model::{Item, Value};
use crate::terms::expr::PathRoot;
use crate::terms::names::QUERY_KEYS;
use crate::terms::select::{SelectSequence, count};
use crate::terms::steps::text_through as through;
use crate::terms::{Cond, Env, EvalFault, Expr, PassReasons};
use crate::text::keys::{KeyEdge, KeyHit, KeyLookup, SearchKey};
use crate::text::work::{self, BudgetScope};
use crate::text::written::ToText as _;

use super::alike::SharedScan;
use super::requests::{KnownRequest, KnownRequests, PlacedItem};
use super::source_texts::SourceTexts;
use super::words::LookupMethod;
use super::{
    ItemKeys, ItemRequest, KeyQuery, MatchMethod, MatchProfile, MatchTerms, PreparedKey, RequestTerms, ScanSource, SearchedTexts,
    SingleSearch, SourceWindows,
};

mod find;
mod told;

/// What one item asks for.
pub(super) struct ScannedItem {
    asks: ItemRequest,
    windows: SourceWindows,
    /// It searches the texts of items that were found before it.
    grown: bool,
    /// It is found without any key.
    unasked: bool,
    /// It is not found if one of the items at these indexes has been found.
    pub(super) rivals: Box<[usize]>,
}

/// The number of a key that was found, and where if that is known: the source, and the place in its texts.
type FoundPlace = (usize, Option<(usize, KeyHit)>);

/// The keys of an item as they were given, and made ready, with the work that this was: steps and bytes.
type PreparedKeys = (Value, ItemKeys, (u64, u64));

impl ScanSource {
    /// The newest rows of a list that is not read to its end: reading all rows would cost the length of the chat.
    fn newest(&self, window: usize, env: &Env<'_>) -> Result<Option<Vec<Value>>, EvalFault> {
        match &self.each {
            Some(Expr::Path(path)) if self.newest_first && window < usize::MAX => match path.root {
                PathRoot::Scene { list: Some((id, used)) } if path.segs.len() == used => env.st.newest(id, window),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

/// What the next run of the pass may use, in the same build or in the next one of a session. A later build pays what it uses
/// again, as if it had made it.
#[derive(Default)]
pub(super) struct ScanCache {
    /// One for each matcher, and a last one for texts as they are.
    lookups: Vec<KeyLookup>,
    profiles: FxHashMap<MatchProfile, usize>,
    /// By the address of a list of keys, and the profile.
    known: FxHashMap<(usize, usize), PreparedKeys>,
    requests: KnownRequests,
    /// By source.
    texts: Vec<SourceTexts>,
    /// Texts as a matcher prepares them, by its number and the address of the text, which is kept for its address.
    prepared: FxHashMap<(usize, usize), (Arc<str>, Arc<str>)>,
}

impl ScanCache {
    /// Begins another build. What the last one did not use is forgotten.
    pub(super) fn begin_build(&mut self) {
        self.lookups.iter_mut().for_each(KeyLookup::begin_build);
        self.requests.begin_build();
        self.texts.iter_mut().for_each(SourceTexts::begin_build);
        // their addresses are those of another build
        self.known.clear();
        self.prepared.clear();
    }
}

/// One run of the pass.
pub(super) struct PassScan<'a> {
    of: &'a MatchTerms,
    env: &'a Env<'a>,
    /// The reasons that the pass gives, where a trace is kept.
    reasons: Option<&'a PassReasons>,
    /// The rows of each source, once evaluated.
    rows: Vec<Option<Value>>,
    /// The texts of each source, newest first where the source says so.
    texts: Vec<Vec<Arc<str>>>,
    active: Vec<bool>,
    matchers_on: Vec<bool>,
    /// What earlier runs have found out, and what later ones may use.
    kept: ScanCache,
    /// The texts of each source as each matcher prepares them, as far as they have been needed.
    prepared: Vec<Vec<Vec<Arc<str>>>>,
    /// The texts of found items, as they are and as each matcher prepares them.
    grown: Vec<Vec<Arc<str>>>,
    /// Keys of this run alone: patterns, about which each run warns, and macros, whose result may differ next time.
    known: FxHashMap<(usize, usize), PreparedKeys>,
    joined: FxHashMap<(usize, SourceWindows, usize), Arc<str>>,
    /// What the last item searches: the next is likely to search the same.
    windows: SourceWindows,
    alike: SharedScan,
    /// No keys at all.
    none: ItemKeys,
}

impl<'a> PassScan<'a> {
    pub(super) fn new(
        of: &'a MatchTerms,
        mut kept: ScanCache,
        reasons: Option<&'a PassReasons>,
        env: &'a Env<'a>,
    ) -> Result<Self, EvalFault> {
        let on = |when: &Option<Cond>| when.as_ref().map_or(Ok(true), |c| env.holds(c));
        let active = of.sources.iter().map(|s| on(&s.when)).collect::<Result<Vec<_>, _>>()?;
        let matchers_on = of.matchers.iter().map(|m| on(&m.when)).collect::<Result<Vec<_>, _>>()?;
        kept.lookups.resize_with(of.matchers.len() + 1, KeyLookup::default);
        kept.lookups.iter_mut().for_each(|lookup| lookup.forget(of.sources.len()));
        kept.texts.resize_with(of.sources.len(), SourceTexts::default);
        Ok(Self {
            of,
            env,
            reasons,
            rows: vec![None; of.sources.len()],
            texts: vec![Vec::new(); of.sources.len()],
            active,
            matchers_on,
            kept,
            prepared: vec![vec![Vec::new(); of.sources.len()]; of.matchers.len()],
            grown: vec![Vec::new(); of.matchers.len() + 1],
            known: FxHashMap::default(),
            joined: FxHashMap::default(),
            windows: Arc::from([]),
            alike: SharedScan::default(),
            none: Arc::from([]),
        })
    }

    /// Prepares an item's keys and the texts that it searches.
    pub(super) fn ask(&mut self, item: &Item, place: usize, env: &Env<'_>) -> Result<ScannedItem, EvalFault> {
        let unasked = self.of.unasked.as_ref().map_or(Ok(false), |c| env.holds(c))?;
        let rivals = self.of.unless.as_ref().map(|e| env.eval(e)).transpose()?.unwrap_or_default();
        let rivals = rivals.elements().iter().filter_map(|n| usize::try_from(n.as_i64()?).ok()).collect();
        let grown = match self.of.grow.as_ref().map(|grow| &grow.for_) {
            Some(Some(cond)) if !unasked => env.holds(cond)?,
            Some(_) => true,
            None => false,
        };
        let nothing = || ItemRequest::Keys(self.none.clone(), self.none.clone());
        if unasked {
            return Ok(ScannedItem { asks: nothing(), windows: Arc::from([]), grown, unasked, rivals });
        }
        self.alike.turn(self.of.looked_at.as_deref(), item);
        let asks = match self.asked_before((item, place))? {
            Some(asks) => asks,
            None => self.asks((item, place), env)?,
        };
        let nothing = match &asks {
            ItemRequest::Keys(keys, more) => keys.is_empty() && more.is_empty(),
            ItemRequest::Queries(queries) => queries.is_empty(),
        };
        let windows = if nothing { Arc::from([]) } else { self.windows(env)? };
        Ok(ScannedItem { asks, windows, grown, unasked, rivals })
    }

    /// What an item asks for, made ready.
    fn asks(&mut self, (item, place): PlacedItem<'_>, env: &Env<'_>) -> Result<ItemRequest, EvalFault> {
        let door = BudgetScope::join();
        // the first of several alike items pays for what they have in common
        let mut stays = self.alike.profile.is_some();
        let asks = match &self.of.wanted {
            RequestTerms::Keys(keys, more) => {
                let keys = self.keys(&env.eval(keys)?, item, env, &mut stays)?;
                if keys.is_empty() && !self.of.tests_primary {
                    return Ok(ItemRequest::Keys(keys, self.none.clone()));
                }
                let more = match more {
                    Some(more) => self.keys(&env.eval(more)?, item, env, &mut stays)?,
                    None => self.none.clone(),
                };
                ItemRequest::Keys(keys, more)
            }
            RequestTerms::Queries(queries) => {
                let queries = env.eval(queries)?;
                let made = queries.elements().iter().map(|query| self.query(query, item, env, &mut stays));
                ItemRequest::Queries(made.collect::<Result<_, _>>()?)
            }
        };
        if let (true, Some(from), Some((_, profile))) = (stays, &self.of.keys_from, &self.alike.profile)
            && let Some(known) = KnownRequest::of(item, from, *profile, &asks, door.spent())
        {
            self.kept.requests.keep(place, known);
        }
        Ok(asks)
    }

    /// One query: `{ keys, all?, absent? }`.
    fn query(&mut self, query: &Value, item: &Item, env: &Env<'_>, stays: &mut bool) -> Result<KeyQuery, EvalFault> {
        let Value::Map(fields) = query else {
            return Err(EvalFault::failed("a query of `match` is a table `{ keys = […], all = …, absent = … }`"));
        };
        let [keys, all, absent] = QUERY_KEYS.map(|key| fields.get(key));
        let written = match keys {
            Some(list @ Value::List(_)) => list.clone(),
            single => Value::list(single.map(Value::elements).unwrap_or_default().to_vec()),
        };
        let flag = |said: Option<&Value>| said.is_some_and(Value::truthy);
        let keys = self.keys(&written, item, env, stays)?;
        Ok(KeyQuery { written, keys, all: flag(all), absent: flag(absent) })
    }

    /// What an item has asked for in an earlier run, if it would ask for the same again. This does not compute the
    /// profile of the item: the first of several alike items always asks anew.
    fn asked_before(&mut self, item: PlacedItem<'_>) -> Result<Option<ItemRequest>, EvalFault> {
        let Some((from, (_, profile))) = self.of.keys_from.as_deref().zip(self.alike.profile.as_ref()) else { return Ok(None) };
        let ScanCache { requests, lookups, .. } = &mut self.kept;
        if let Some(asks) = requests.find(item, from, *profile) {
            return Ok(Some(asks.clone()));
        }
        let Some(known) = requests.take_from_last_build(item, from, *profile) else { return Ok(None) };
        // the numbers of its keys are only those of this build if all keys before them are the same, too
        let mut is_numbered = |key: &PreparedKey| match key {
            PreparedKey::Plain(lookup, number) => lookups.get_mut(*lookup).is_some_and(|lookup| lookup.ask_again(*number)),
            _ => true,
        };
        if !known.asks.keys().all(&mut is_numbered) {
            return Ok(None);
        }
        work::pay(known.cost.0, known.cost.1)?;
        let asks = known.asks.clone();
        requests.keep(item.1, known);
        Ok(Some(asks))
    }

    /// An item's prepared keys; `stays` becomes false if the next run may prepare them differently.
    fn keys(&mut self, value: &Value, item: &Item, env: &Env<'_>, stays: &mut bool) -> Result<ItemKeys, EvalFault> {
        let single;
        let (value, list) = match value {
            value if value.is_empty() => return Ok(self.none.clone()),
            Value::List(list) => (value, list),
            key => {
                single = Arc::new(vec![key.clone()]);
                (&Value::List(single.clone()), &single)
            }
        };
        let profile = self.profile(env)?;
        // the list of an item stays at its address while the item exists; a temporary list is kept alive for its
        // address
        let place = (Arc::as_ptr(list).cast::<u8>() as usize, profile.1);
        if let Some((_, ready, cost)) = self.kept.known.get(&place) {
            // as for an item whose request is known, which does not come here
            work::pay(cost.0, cost.1)?;
            return Ok(ready.clone());
        }
        if let Some((_, ready, _)) = self.known.get(&place) {
            *stays = false;
            return Ok(ready.clone());
        }
        let door = BudgetScope::join();
        let ready = list.iter().map(|key| self.ready(key, &profile.0, item, env)).collect::<Result<Vec<_>, _>>()?;
        let ready: ItemKeys = ready.into();
        let stay = self.stays(list, &ready);
        *stays &= stay;
        let known = if stay { &mut self.kept.known } else { &mut self.known };
        known.insert(place, (value.clone(), ready.clone(), door.spent()));
        Ok(ready)
    }

    /// Whether the next run would prepare these keys the same way, and without warnings.
    fn stays(&self, keys: &[Value], ready: &[PreparedKey]) -> bool {
        let found = |ready: &PreparedKey| {
            matches!(ready, PreparedKey::Any | PreparedKey::Plain(..) | PreparedKey::Alone(_, SingleSearch::Key(_), _))
        };
        let plain = |key: &Value| key.as_str().is_some_and(crate::text::macro_syntax::is_plain);
        self.of.steady && self.of.words.is_some() && ready.iter().all(found) && keys.iter().all(plain)
    }

    fn profile(&mut self, env: &Env<'_>) -> Result<(MatchProfile, usize), EvalFault> {
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
        let profile: MatchProfile = profile.into();
        let next = self.kept.profiles.len();
        let number = *self.kept.profiles.entry(profile.clone()).or_insert(next);
        self.alike.profile = Some((profile.clone(), number));
        Ok((profile, number))
    }

    fn ready(&mut self, key: &Value, profile: &MatchProfile, item: &Item, env: &Env<'_>) -> Result<PreparedKey, EvalFault> {
        let word = through(&self.of.prepare, key.shown(), env)?;
        if word.is_empty() {
            return Ok(PreparedKey::Never);
        }
        let door = BudgetScope::join();
        if let Some((way, (steps, bytes))) = self.of.words.as_ref().and_then(|words| words.get(profile, &word)) {
            work::pay(steps, bytes)?;
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
            let edge = if matcher.how == MatchMethod::Word { matcher.edge } else { KeyEdge::None };
            let lookup = if matcher.text.is_empty() { self.of.matchers.len() } else { n };
            let way = match &matcher.how {
                MatchMethod::Any => LookupMethod::Any,
                MatchMethod::Function(function) => {
                    return Ok(PreparedKey::Alone(lookup, SingleSearch::Function(function.clone(), text), matcher.texts));
                }
                // every build warns about a bad pattern, so it is not cached
                MatchMethod::Regex => match self.pattern(&text, item) {
                    Ok(pattern) => return Ok(PreparedKey::Alone(self.of.matchers.len(), SingleSearch::Pattern(pattern), matcher.texts)),
                    Err(true) if matcher.bad_is_next => {
                        warned = true;
                        continue;
                    }
                    Err(_) => return Ok(PreparedKey::Never),
                },
                MatchMethod::Plain | MatchMethod::Word if text.is_empty() => LookupMethod::Never,
                MatchMethod::Plain | MatchMethod::Word => LookupMethod::Key(lookup, SearchKey { text, case, edge }, matcher.texts),
            };
            // a build whose budget is spent does not know what the word costs
            if let (Some(words), false, false) = (&self.of.words, warned, work::is_over()) {
                words.put(profile, word, way.clone(), door.spent());
            }
            return Ok(self.on(way));
        }
        Ok(PreparedKey::Never)
    }

    /// The key of a word in the lookups of this scan.
    fn on(&mut self, way: LookupMethod) -> PreparedKey {
        match way {
            LookupMethod::Any => PreparedKey::Any,
            LookupMethod::Never => PreparedKey::Never,
            // the automata read each text by itself
            LookupMethod::Key(lookup, key, texts)
                if texts == SearchedTexts::First
                    || key.text.contains('\n')
                    || texts == SearchedTexts::Joined && self.of.straddles(&key.text) =>
            {
                PreparedKey::Alone(lookup, SingleSearch::Key(key), texts)
            }
            LookupMethod::Key(lookup, key, _) => {
                let Some(keys) = self.kept.lookups.get_mut(lookup) else { return PreparedKey::Never };
                let (number, others_stay) = keys.key(key);
                if !others_stay {
                    self.kept.requests.forget_last_build();
                }
                PreparedKey::Plain(lookup, number)
            }
        }
    }

    /// A pattern; the error says whether the text is not a pattern at all, or only too costly.
    fn pattern(&mut self, word: &Arc<str>, item: &Item) -> Result<crate::text::pattern::Pattern, bool> {
        let st = self.env.st;
        st.pattern(word, None).map_err(|error| {
            let code = if error.fault == crate::text::pattern::PatternFault::Bad { Code::RegexBad } else { Code::RegexUnsafe };
            st.warn_of_key(code, item, word, &format!("is no usable pattern: {}", error.reason));
            error.fault == crate::text::pattern::PatternFault::Bad
        })
    }

    fn windows(&mut self, env: &Env<'_>) -> Result<SourceWindows, EvalFault> {
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
    fn stretch(&mut self, n: usize, source: &ScanSource, window: usize, env: &Env<'_>) -> Result<usize, EvalFault> {
        let (Some(made), Some(held)) = (self.texts.get_mut(n), self.rows.get_mut(n)) else { return Ok(0) };
        if made.len() >= window {
            return Ok(window);
        }
        let Some(each) = &source.each else {
            if held.is_none() {
                *held = Some(Value::Null);
                let text = env.eval(&source.text)?.shown();
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
        let rows = newest.as_deref().or_else(|| held.as_ref().map(Value::elements)).unwrap_or(&[]);
        let seq = SelectSequence::Values(rows);
        for k in made.len()..window.min(rows.len()) {
            let place = if source.newest_first { rows.len() - 1 - k } else { k };
            let make = || Ok(led(&source.lead, &env.inner(seq.cur(place)).eval(&source.text)?.shown()));
            made.push(match (rows.get(place), self.kept.texts.get_mut(n)) {
                (Some(element), Some(known)) if source.reads_element_alone => known.text_of(element, place, env.st, make)?,
                _ => make()?,
            });
        }
        Ok(made.len().min(window))
    }

    /// Searches what is new.
    pub(super) fn compile(&mut self) -> Result<(), EvalFault> {
        for n in 0..self.kept.lookups.len() {
            for source in 0..self.texts.len() {
                let texts = self.texts_for(n, source)?.to_vec();
                if let Some(lookup) = self.kept.lookups.get_mut(n) {
                    lookup.read(source, &texts, &self.env.st.rules.key_sets);
                }
            }
            let Some(lookup) = self.kept.lookups.get_mut(n) else { continue };
            lookup.compile(&self.env.st.rules.key_sets).map_err(EvalFault::bound)?;
            if std::mem::take(&mut lookup.cut_short) {
                self.env.st.warn(Code::RegexUnsafe, "keys overlap so often that the rest of a text was not searched");
            }
        }
        Ok(())
    }

    /// The texts of a source as a matcher prepares them.
    fn texts_for(&mut self, lookup: usize, source: usize) -> Result<&[Arc<str>], EvalFault> {
        let raw = self.texts.get(source).map(Vec::as_slice).unwrap_or_default();
        let (Some(matcher), Some(made)) = (self.of.matchers.get(lookup), self.prepared.get_mut(lookup).and_then(|m| m.get_mut(source)))
        else {
            return Ok(raw);
        };
        if matcher.text.is_empty() {
            return Ok(&[]);
        }
        let fixed = matcher.text.iter().all(crate::terms::steps::TextStep::is_fixed);
        for text in raw.iter().skip(made.len()) {
            let place = (lookup, Arc::as_ptr(text).cast::<u8>() as usize);
            match self.kept.prepared.get(&place).filter(|_| fixed) {
                Some((_, known)) => made.push(known.clone()),
                None => {
                    let ready = through(&matcher.text, text.clone(), self.env)?;
                    if fixed {
                        self.kept.prepared.insert(place, (text.clone(), ready.clone()));
                    }
                    made.push(ready);
                }
            }
        }
        Ok(made)
    }

    /// The results that the next run of the pass may reuse.
    pub(super) fn finish(self) -> ScanCache {
        self.kept
    }
}

fn led(lead: &str, text: &Arc<str>) -> Arc<str> {
    if lead.is_empty() { text.clone() } else { [lead, text].concat().into() }
}
