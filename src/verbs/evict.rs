//! `evict`: disables units, one after another, until the list fits its account.
//!
//! Evicting a history from its oldest end keeps exactly the longest newest stretch that fits, so an unread
//! history is admitted from behind instead: what does not fit is never read (the language page, section "What a
//! build costs"). The equivalence needs costs that are never negative, which rulers guarantee.

use rustc_hash::FxHashSet;

use crate::diag::Code;
use crate::model::item::core;
use crate::model::{FieldId, Item, Term, Value};
use crate::syntax::CompileContext;
use crate::terms::ledger::{self, LedgerEviction, LedgerShortening};
use crate::terms::lists::UnreadRest;
use crate::terms::select::{SelectEnd, SelectSequence};
use crate::terms::{BuildState, Cond, CurrentItem, Env, EvalFault, Expr};
use crate::text::written;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};

/// The term that [`account`] reads.
pub(super) const ACCOUNT: Term = Term::text("budget", "a row of `budget`");

/// `evict` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "evict",
    doc: "switches units off until the list fits into the budget",
    terms: &[
        ACCOUNT,
        UNIT,
        Term::defined(
            "protect",
            "condition",
            "a condition; an item that meets it is never switched off, and neither is a bundle that contains one",
        )
        .default("nothing"),
        Term::json(
            "shorter",
            r#"{ "type": ["string", "object"] }"#,
            "a shorter text of an item, which it gets before anything is switched off; nothing for an item that has none",
        )
        .default("nothing"),
        Term::word(
            "cut",
            &["letter", "word", "sentence"],
            "an item that does not fit is not switched off, but its text is cut to the longest beginning that fits, behind a letter, a word or \
             a sentence; it is switched off if nothing would be left",
        ),
    ],
    cost: "what fits",
    did: "evicted",
    parse: |cx, w| Some(Box::new(EvictTerms::parse(cx, w))),
};

/// The terms of `evict`.
pub struct EvictTerms {
    account: usize,
    unit: ItemUnit,
    spare: Option<Cond>,
    shorter: Option<Expr>,
    cut: Option<CutPoint>,
}

/// Behind what a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutPoint {
    Letter,
    Word,
    Sentence,
}

/// The account that a pass names; reports an error if it names none.
pub(super) fn account(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> usize {
    match w.node("budget") {
        Some(node) => cx.row_number("budget", node.as_text().unwrap_or(""), node.span),
        None => {
            let message = format!("`{}` needs `budget`", w.info.name);
            cx.fail(Code::TermMissing, w.span, message, Some("name a [[budget]] row".into()));
            0
        }
    }
}

impl EvictTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Self {
        let shorter = w.node("shorter").map(|node| cx.within(w.scope.clone(), |cx| cx.expr(node)));
        let cut = w.text("cut").map(|word| match word {
            "word" => CutPoint::Word,
            "sentence" => CutPoint::Sentence,
            _ => CutPoint::Letter,
        });
        let unit = ItemUnit::of(w.word("unit"));
        if let (ItemUnit::Bundle, Some(_), Some(field)) = (unit, cut, w.fields.get("cut")) {
            let help = "a bundle is kept or switched off as a whole; write `unit = \"item\"`, or leave `cut` out";
            cx.fail(Code::TermType, field.key, "`cut` does not go with `unit = \"bundle\"`", Some(help.into()));
        }
        Self { account: account(cx, w), unit, spare: w.condition(cx, "protect"), shorter, cut }
    }

    /// Afterwards no unread item is a candidate, or it is known whether they are all evicted or all kept.
    fn settle_unread(&self, run: &PassRun<'_>, st: &mut BuildState, size: f64) -> Result<(), EvalFault> {
        let (select, list) = (&run.pass.select, run.list);
        let judged = |cond: &Option<Cond>, without: bool| match cond {
            Some(cond) => st.judge_unread(list, cond, &run.env(st)),
            None => Ok(Some(without)),
        };
        let plain = select.since.is_none() && select.run.is_none() && select.per.is_none() && select.draw.is_none() && !select.others;
        let plain = plain && select.skip.is_none() && select.take.is_none() && self.shorter.is_none() && self.cut.is_none();
        let candidates = judged(&select.filter, true)?.filter(|_| plain);
        match (candidates, judged(&self.spare, false)?) {
            // a condition that fails for all has made the list be read
            _ if !st.has_unread(list) => Ok(()),
            (Some(false), _) | (_, Some(true)) => self.read_until_over(run, st, size),
            (Some(true), Some(false))
                if select.from == SelectEnd::First
                    && select.by.is_empty()
                    && self.unit != ItemUnit::Lead
                    && !self.older_candidates(run, st)? =>
            {
                self.admit_from_behind(run, st, size)
            }
            _ => st.load_all(list),
        }
    }

    /// Whether a read item before the unread stretch would be evicted before it.
    fn older_candidates(&self, run: &PassRun<'_>, st: &BuildState) -> Result<bool, EvalFault> {
        let items = st.list(run.list);
        let env = run.env(st);
        for (n, item) in items.before_unread() {
            let here = env.inner(CurrentItem::Item(item, n));
            let spared = self.spare.as_ref().map_or(Ok(false), |s| here.holds(s))?;
            if run.pass.chooses(&here, item.enabled())? && !spared {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The unread stretch is not a candidate but its cost counts: reads until it is known that all candidates must be
    /// evicted, or reads everything.
    fn read_until_over(&self, run: &PassRun<'_>, st: &BuildState, size: f64) -> Result<(), EvalFault> {
        let env = run.env(st);
        let mut known = 0.0;
        for (n, item) in st.list(run.list).items.iter().enumerate().filter(|(_, i)| i.enabled()) {
            let here = env.inner(CurrentItem::Item(item, n));
            let spared = self.spare.as_ref().map_or(Ok(false), |s| here.holds(s))?;
            if spared || !run.pass.chooses(&here, true)? {
                known += ledger::cost(&env, self.account, item)?;
            }
        }
        read_until_above(&env, run.list, self.account, known, size)?;
        Ok(())
    }

    /// Candidates from the oldest end: reads the longest newest stretch that fits; the rest is evicted.
    fn admit_from_behind(&self, run: &PassRun<'_>, st: &mut BuildState, size: f64) -> Result<(), EvalFault> {
        let env = run.env(st);
        let known = enabled_cost(&env, self.account, &st.list(run.list).items)?;
        let total = read_until_above(&env, run.list, self.account, known, size)?;
        if self.unit == ItemUnit::Bundle {
            read_bundle_to_its_end(st, run.list)?;
        }
        if total > size {
            let newest = st.list(run.list).after_unread().next().and_then(|(_, item)| item.str(core::ID).map(str::to_owned));
            leave_out_unread(run, st, format!("before {}", newest.unwrap_or_default()));
        }
        Ok(())
    }

    fn evict_read(&self, run: &PassRun<'_>, st: &mut BuildState, size: f64) -> Result<(), EvalFault> {
        let list = run.list;
        if let Some(shorter) = &self.shorter {
            self.shorten(shorter, run, st, size)?;
        }
        let (mut off, mut cut) = (Vec::new(), Vec::new());
        {
            let items = st.list(list);
            let env = run.env(st);
            let mut total = enabled_cost(&env, self.account, &items.items)?;
            if total <= size && items.is_whole() {
                return Ok(());
            }
            let visited = run.pass.select.run(SelectSequence::Items(&items.items), &env)?;
            for group in units(&items.items, &visited, self.unit) {
                // the unread rest alone is known to exceed the size, so all candidates must be evicted
                if total <= size && items.is_whole() {
                    break;
                }
                if self.spares(&group, &items.items, &env)? {
                    continue;
                }
                for n in &group.members {
                    if let Some(item) = items.items.get(*n).filter(|i| i.enabled()) {
                        let cost = ledger::cost(&env, self.account, item)?;
                        if let Some(point) = self.cut
                            && let Some((short, rest)) = self.cut_item(point, item, cost - (total - size), &env)?
                        {
                            total -= cost - rest;
                            cut.push(self.shortening(*n, short, [cost, rest], run));
                            continue;
                        }
                        run.tell(item, [("needs", Value::Num(cost)), ("over", Value::Num(total - size)), ("size", Value::Num(size))]);
                        total -= cost;
                        off.push((*n, record(item, cost, group.bundled, &run.pass.id)));
                    }
                }
            }
        }
        switch_off(run, st, off);
        replace_items(run, st, cut);
        Ok(())
    }

    /// Gives selected items their shorter texts, in visiting order, until the list fits.
    fn shorten(&self, shorter: &Expr, run: &PassRun<'_>, st: &mut BuildState, size: f64) -> Result<(), EvalFault> {
        let mut changed = Vec::new();
        {
            let items = st.list(run.list);
            let env = run.env(st);
            let mut total = enabled_cost(&env, self.account, &items.items)?;
            if total <= size {
                return Ok(());
            }
            let visited = run.pass.select.run(SelectSequence::Items(&items.items), &env)?;
            for group in units(&items.items, &visited, self.unit) {
                if total <= size {
                    break;
                }
                if self.spares(&group, &items.items, &env)? {
                    continue;
                }
                for n in group.members {
                    let Some(item) = items.items.get(n).filter(|item| item.enabled()) else { continue };
                    let text = env.inner(CurrentItem::Item(item, n)).eval(shorter)?;
                    if text.as_str().is_none_or(str::is_empty) {
                        continue;
                    }
                    let (long, short) = (ledger::cost(&env, self.account, item)?, item_with_text(item, &text));
                    let cost = ledger::cost(&env, self.account, &short)?;
                    if cost < long {
                        total -= long - cost;
                        changed.push(self.shortening(n, short, [long, cost], run));
                    }
                }
            }
        }
        replace_items(run, st, changed);
        Ok(())
    }

    /// The item with the longest beginning of its text that costs at most `room`; `None` if nothing is left of it.
    fn cut_item(&self, cut: CutPoint, item: &Item, room: f64, env: &Env<'_>) -> Result<Option<(Item, f64)>, EvalFault> {
        // parts of media cannot be cut
        let Some(text) = item.str(core::TEXT).filter(|_| room > 0.0) else { return Ok(None) };
        let ends = cut_points(text, cut);
        let cost_at = |end: usize| {
            let short = item_with_text(item, &Value::text(text.get(..end).unwrap_or_default()));
            ledger::cost(env, self.account, &short).map(|cost| (short, cost))
        };
        // a longer beginning costs no less than a shorter one
        let (mut fits, mut too_long) = (0, ends.len());
        while fits < too_long {
            let middle = fits + (too_long - fits) / 2;
            let Some(end) = ends.get(middle) else { break };
            if cost_at(*end)?.1 <= room { fits = middle + 1 } else { too_long = middle }
        }
        match fits.checked_sub(1).and_then(|last| ends.get(last)) {
            Some(end) => cost_at(*end).map(Some),
            None => Ok(None),
        }
    }

    /// An item with a shorter text, and what it cost before and costs now.
    fn shortening(&self, place: usize, item: Item, [tokens, tokens_after]: [f64; 2], run: &PassRun<'_>) -> ShortenedItem {
        let [id, group] = [core::ID, core::GROUP].map(|field| text_of(&item, field));
        let pass = run.pass.id.to_string();
        ShortenedItem {
            place,
            item,
            record: LedgerShortening { id, tokens, tokens_after, list: run.list, account: self.account, group, pass },
        }
    }

    fn spares(&self, group: &ItemGroup, items: &[Item], env: &Env<'_>) -> Result<bool, EvalFault> {
        let Some(spare) = &self.spare else { return Ok(false) };
        for n in &group.members {
            if let Some(item) = items.get(*n)
                && env.inner(CurrentItem::Item(item, *n)).holds(spare)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Verb for EvictTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Own
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let list = run.list;
        let stage = st.stage.borrow().clone();
        st.ledger.borrow_mut().trim(ledger::TrimmedList { list, account: self.account, pass: run.pass.id.clone(), stage });
        let size = {
            let env = run.env(st);
            ledger::size(&env, self.account)? - st.ledger.borrow().spent(self.account)
        };
        if st.has_unread(list) {
            self.settle_unread(run, st, size)?;
        }
        self.evict_read(run, st, size)?;
        Ok(())
    }
}

fn item_with_text(item: &Item, text: &Value) -> Item {
    let mut item = item.clone();
    item.set(core::TEXT, text.clone());
    item
}

/// An item with a shorter text.
struct ShortenedItem {
    /// Its index in the list.
    place: usize,
    item: Item,
    record: LedgerShortening,
}

/// Puts items with shorter texts into the list, and records them.
fn replace_items(run: &PassRun<'_>, st: &mut BuildState, shortened: Vec<ShortenedItem>) {
    for ShortenedItem { place, item, record } in shortened {
        run.note(&item, "shaped", st);
        st.ledger.borrow_mut().shortened.push(record);
        if let Some(old) = st.list_mut(run.list).items.get_mut(place) {
            *old = item;
        }
    }
}

/// Where a text may be cut, as ascending byte positions.
fn cut_points(text: &str, cut: CutPoint) -> Vec<usize> {
    let next = |at: usize| text.get(at..).and_then(|rest| rest.chars().next());
    let ends = text.char_indices().map(|(at, c)| (at + c.len_utf8(), c));
    let is_end = |(end, c): &(usize, char)| match cut {
        CutPoint::Letter => true,
        CutPoint::Word => !c.is_whitespace() && next(*end).is_none_or(char::is_whitespace),
        // the marks of Chinese and Japanese need no blank behind them
        CutPoint::Sentence => {
            let ends_here = |sentence: &str| sentence.trim_end_matches(['"', '”', '*', ')']).ends_with(['.', '!', '?', '…']);
            matches!(c, '。' | '！' | '？') || next(*end).is_none_or(char::is_whitespace) && ends_here(text.get(..*end).unwrap_or_default())
        }
    };
    ends.filter(is_end).map(|(end, _)| end).collect()
}

/// What the enabled ones of these items cost.
fn enabled_cost(env: &Env<'_>, account: usize, items: &[Item]) -> Result<f64, EvalFault> {
    items.iter().filter(|item| item.enabled()).try_fold(0.0, |sum, item| Ok(sum + ledger::cost(env, account, item)?))
}

/// Reads unread items until their cost, added to what is `known`, is above the size. Returns the sum.
fn read_until_above(env: &Env<'_>, list: usize, account: usize, known: f64, size: f64) -> Result<f64, EvalFault> {
    let mut sum = known;
    if sum <= size {
        env.st.read_while(list, |item| {
            sum += newest_cost(env, account, item)?;
            Ok(sum <= size)
        })?;
    }
    Ok(sum)
}

/// What an item costs that has just been read.
pub(super) fn newest_cost(env: &Env<'_>, account: usize, item: &Item) -> Result<f64, EvalFault> {
    if item.enabled() { ledger::cost(env, account, item) } else { Ok(0.0) }
}

/// The item that was read last did not fit: its whole bundle is evicted with it, so the bundle is read to its end.
fn read_bundle_to_its_end(st: &BuildState, list: usize) -> Result<(), EvalFault> {
    let Some(bundle) = oldest_read_bundle(st, list) else { return Ok(()) };
    st.read_while(list, |item| Ok(item.get(core::BUNDLE) == Some(&bundle)))
}

/// The bundle that more of may be unread: the first behind the unread stretch. What passes have put in front of it since
/// it was read has no bundle, and is passed over.
pub(super) fn oldest_read_bundle(st: &BuildState, list: usize) -> Option<Value> {
    let list = st.list(list);
    let bundle = |(_, item): (usize, &Item)| item.get(core::BUNDLE).filter(|b| !b.is_empty()).cloned();
    if list.is_whole() { None } else { list.after_unread().find_map(bundle) }
}

/// Leaves out what is unread, with one record.
pub(super) fn leave_out_unread(run: &PassRun<'_>, st: &mut BuildState, id: String) {
    let Some(UnreadRest { count, group }) = st.drop_unread(run.list) else { return };
    let pass = run.pass.id.to_string();
    let record = LedgerEviction { id, tokens: 0.0, group, group_eviction: false, pass, unread: Some(count) };
    st.ledger.borrow_mut().records.push(record);
}

/// The record of an evicted item.
pub(super) fn record(item: &Item, tokens: f64, bundled: bool, pass: &str) -> LedgerEviction {
    let [id, group] = [core::ID, core::GROUP].map(|field| text_of(item, field));
    LedgerEviction { id, tokens, group, group_eviction: bundled, pass: pass.to_owned(), unread: None }
}

fn text_of(item: &Item, field: FieldId) -> String {
    item.get(field).map(|v| v.to_text().to_string()).unwrap_or_default()
}

/// Disables items and records them.
pub(super) fn switch_off(run: &PassRun<'_>, st: &mut BuildState, off: Vec<(usize, LedgerEviction)>) {
    for (n, record) in off {
        if let Some(item) = st.list_mut(run.list).items.get_mut(n) {
            item.set(core::ENABLED, Value::Bool(false));
            let item = item.clone();
            run.note(&item, "evicted", st);
        }
        st.ledger.borrow_mut().records.push(record);
    }
}

/// The term that [`ItemUnit::of`] reads.
pub const UNIT: Term = Term::word(
    "unit",
    &["item", "bundle", "lead"],
    "`item`: each item by itself. `bundle`: all live items with the same `bundle`, all or none, when the first of them is \
             visited. `lead`: the first item of a bundle, then its others from the newest on, one by one",
)
.default("item");

/// What is admitted or evicted at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ItemUnit {
    /// One item.
    #[default]
    Item,
    /// All live items with one `bundle`, wherever they stand.
    Bundle,
    /// A bundle's first item, then the others one by one, newest first.
    Lead,
}

impl ItemUnit {
    /// Reads the word.
    #[must_use]
    pub fn of(word: &str) -> Self {
        match word {
            "bundle" => ItemUnit::Bundle,
            "lead" => ItemUnit::Lead,
            _ => ItemUnit::Item,
        }
    }
}

/// Some items that go together, by index, and whether they are a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemGroup {
    /// The items.
    pub members: Vec<usize>,
    /// They share a bundle.
    pub bundled: bool,
}

/// The units of the visited items, each standing where its first member is visited.
#[must_use]
pub fn units(items: &[Item], visited: &[usize], unit: ItemUnit) -> Vec<ItemGroup> {
    // where the work of the build is spent, the next step of it fails
    let canonical = |bundle: &Value| written::key(bundle).unwrap_or_default();
    let bundle = |n: usize| items.get(n).and_then(|i| i.get(core::BUNDLE)).filter(|b| !b.is_empty()).map(canonical);
    if unit == ItemUnit::Item {
        return visited.iter().map(|n| ItemGroup { members: vec![*n], bundled: false }).collect();
    }
    let mut members: rustc_hash::FxHashMap<String, Vec<usize>> = rustc_hash::FxHashMap::default();
    for (n, item) in items.iter().enumerate().filter(|(_, i)| i.enabled()) {
        if let Some(b) = item.get(core::BUNDLE).filter(|b| !b.is_empty()) {
            members.entry(canonical(b)).or_default().push(n);
        }
    }
    let mut seen = FxHashSet::default();
    let mut out = Vec::new();
    for n in visited {
        if !seen.insert(*n) {
            continue;
        }
        let all = bundle(*n).and_then(|b| members.get(&b).cloned()).unwrap_or_else(|| vec![*n]);
        seen.extend(all.iter().copied());
        let bundled = bundle(*n).is_some();
        if unit == ItemUnit::Bundle {
            out.push(ItemGroup { members: all, bundled });
        } else {
            let lead = all.first().copied();
            let rest = all.iter().skip(1).rev().copied();
            out.extend(lead.into_iter().chain(rest).map(|n| ItemGroup { members: vec![n], bundled: false }));
        }
    }
    out
}
