//! `match`: looks the items' keys up in the scan sources, and sets fields on hits.
//!
//! What is searched are the rows of table `scan_source`, how a key is found the rows of `matcher`, how primary and
//! secondary hits combine the rows of `logic`. Every text of a source is searched once for all plain keys
//! ([`crate::text::keys`]), and an item that searches fewer texts looks at earlier finds only; patterns, and keys
//! with a line break, run on the texts joined as the item searches them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::{Code, DocumentNode, FieldMap};
use crate::model::pack::PackRow;
use crate::model::term::{NONEMPTY_TEXT, WHEN};
use crate::model::{FieldId, Item, Term, TermType, Value, item::core};
use crate::syntax::CompileContext;
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::terms::names::ValueType;
use crate::terms::steps::TextStep;
use crate::terms::{BuildState, Cond, CondTest, CurrentItem, Env, EvalFault, Expr};
use crate::text::keys::{KeyEdge, SearchKey};

mod alike;
mod requests;
mod scan;
mod source_texts;
mod words;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};
use super::set::SetTerms;
use scan::{PassScan, ScanCache};
use words::WordCache;

const GROW: &str = r##"{
    "type": ["string", "object"], "required": ["field"], "additionalProperties": false,
    "properties": {
        "field": { "type": "string" },
        "from": { "$ref": "#/definitions/condition" },
        "for": { "$ref": "#/definitions/condition" }
    }
}"##;

/// Steps on a text.
const STEPS: TermType = TermType::Json(r##"{ "type": "array", "items": { "$ref": "#/definitions/step" } }"##);

/// Keys of `scan_source`.
pub(super) const SCAN_SOURCE: &[Term] = &[
    Term::defined("each", "value", "a list: one text for each element. Without it: one text"),
    Term::defined("window", "number", "how many elements count"),
    Term::word("end", &["first", "last"], "from which end the items are visited and counted"),
    Term::text("lead", "stands before each text"),
    Term::defined("text", "value", "the text; `@field` is the element (with `each`) or the entry"),
    Term::defined("where", "gate", "which entries search it"),
    WHEN,
];

/// Keys of `matcher`.
pub(super) const MATCHER: &[Term] = &[
    Term::defined("keys", "test", "which keys (a test of the key's text)"),
    Term::defined("where", "gate", "which entries"),
    WHEN,
    Term::word(
        "how",
        &["regex", "word", "plain", "any"],
        "as a pattern, a word, or plain text; `any` is found in every text, also in an empty one",
    ),
    Term::new(
        "script",
        NONEMPTY_TEXT,
        "instead of `how`: a script function, `file.rhai::function`, that is given the key and a text, and says whether the key is \
         found",
    ),
    Term::word(
        "on_error",
        &["skip", "next"],
        "what happens to a key that is not a usable pattern: `skip` (a warning, and it is never found) or `next` (the rows behind \
         this one are tried; a pattern that could run for too long is skipped nevertheless)",
    ),
    Term::word(
        "edge",
        &["non_word", "letter", "boundary", "space"],
        "what must be on both sides of a word: `non_word` (a character other than ASCII letters, digits and `_`, or the end), \
         `letter` (a character other than letters and digits of any script and `_`, or the end), `boundary` (\\b), `space` (a \
         blank, or the end)",
    ),
    Term::word(
        "texts",
        &["joined", "each", "first"],
        "in which texts a key is searched: in all as one, with the `join` of the pass between them (`joined`, default), in each by \
         itself (`each`), or only in the `first` in the order of the lists, so with `end = \"last\"` in the oldest of the window",
    ),
    Term::defined("case", "value", "whether upper and lower case differ: true, false, or a value of the entry or the scene"),
    Term::new("text", STEPS, "steps that are applied to the searched text first"),
    Term::new("key", STEPS, "steps that are applied to the key first"),
    Term::text("quirk", "the name of a documented flaw of a real program that is reproduced. Only for packs that copy a program exactly"),
];

/// Keys of `logic`.
pub(super) const LOGIC: &[Term] = &[
    Term::defined(
        "primary",
        "test",
        "a test of the number of primary keys that were found; default: at least one. An item without secondary keys needs one in \
         any case",
    ),
    Term::defined("secondary", "test", "a test of the number of secondary keys that were found"),
    Term::defined("missing", "test", "a test of the number of secondary keys that were not found"),
];

/// `match` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "match",
    doc: "searches the scan sources for the keys of the items",
    terms: &[
        Term::defined("keys", "given", "the primary keys, a list. An item without keys is never found"),
        Term::defined("secondary_keys", "given", "the secondary keys; the item's `logic` names the row that combines them").default("none"),
        Term::defined(
            "queries",
            "value",
            "instead of `keys` and `secondary_keys`: a list of tables `{ keys, all?, absent? }`, all of which must succeed",
        ),
        Term::defined("always", "condition", "a condition; an item that meets it is found at its turn, without any key").default("nothing"),
        Term::defined(
            "blocked_by",
            "value",
            "the index of another item, or a list of such: the item is not found if one of these has been found before it",
        )
        .default("nothing"),
        Term::new(
            "prepare",
            STEPS,
            "steps that are applied to every key first, such as `[{ expand = \"macro\" }]`; a key that is empty afterwards is ignored",
        ),
        Term::defined(
            "set",
            "set",
            "a table as of the verb `set`, for the items that are found; `@hits` is the number of keys that were found",
        ),
        Term::new(
            "recurse_into",
            TermType::Json(GROW),
            "a field whose text is searched too, for the items behind it, as soon as its item is found. Or `{ field, from?, for? }`: `from` is a condition on the items that add their text, `for` one on the items that search it",
        ),
        Term::text("join", "a text that stands between the texts in which a key is searched as in one (`texts = \"joined\"`)")
            .default("a line break"),
    ],
    cost: "one pass over the text",
    did: "set",
    parse: |cx, w| Some(Box::new(MatchTerms::parse(cx, w)?)),
};

/// The terms of `match`.
pub struct MatchTerms {
    wanted: RequestTerms,
    unasked: Option<Cond>,
    unless: Option<Expr>,
    prepare: Box<[TextStep]>,
    set: SetTerms,
    grow: Option<GrowTerm>,
    sources: Vec<ScanSource>,
    matchers: Vec<MatcherRow>,
    logic: FxHashMap<Arc<str>, LogicRow>,
    /// A row of `logic` has a test of the primary keys, so an item may be found without any of them.
    tests_primary: bool,
    logic_field: FieldId,
    /// What stands between the texts in which a key is searched as in one.
    join: Arc<str>,
    join_is_blank: bool,
    /// How words are looked up; `None` if that may depend on more than the word.
    words: Option<WordCache>,
    /// The preparation of a word depends on the word alone, if the word contains no macro.
    steady: bool,
    /// The fields that decide how an item searches; `None` if it may depend on more.
    looked_at: Option<Arc<[FieldId]>>,
    /// The fields that an item's keys come from; `None` if they may come from more.
    keys_from: Option<Box<[FieldId]>>,
}

/// What is asked for each item.
enum RequestTerms {
    /// Its primary and secondary keys.
    Keys(Expr, Option<Expr>),
    /// Its queries, all of which must succeed.
    Queries(Expr),
}

/// A row of `logic`: tests of how many keys are found.
struct LogicRow {
    primary: Option<CondTest>,
    secondary: Option<CondTest>,
    missing: Option<CondTest>,
}

/// The term `recurse_into`.
struct GrowTerm {
    /// The text that is searched too as soon as its item is found.
    field: FieldId,
    /// Which found items add their text; all without it.
    from: Option<Cond>,
    /// Which items search these texts; all without it.
    for_: Option<Cond>,
}

/// A row of `scan_source`.
struct ScanSource {
    name: Arc<str>,
    when: Option<Cond>,
    filter: Option<Cond>,
    each: Option<Expr>,
    window: Option<Expr>,
    newest_first: bool,
    lead: Arc<str>,
    text: Expr,
    /// The text of an element depends on its fields alone.
    reads_element_alone: bool,
}

/// A row of `matcher`.
struct MatcherRow {
    when: Option<Cond>,
    filter: Option<Cond>,
    keys: Option<CondTest>,
    how: MatchMethod,
    case: Option<Expr>,
    edge: KeyEdge,
    key: Box<[TextStep]>,
    text: Box<[TextStep]>,
    bad_is_next: bool,
    texts: SearchedTexts,
}

#[derive(Clone, PartialEq, Eq)]
enum MatchMethod {
    Plain,
    Word,
    Regex,
    Any,
    /// As the function of a script says.
    Function(Arc<str>),
}

/// Which texts a key is searched in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchedTexts {
    /// In all texts as one, joined.
    Joined,
    /// In each text by itself.
    Each,
    /// Only in the first text, in the order of the lists.
    First,
}

/// A key, ready to be looked up.
#[derive(Clone)]
enum PreparedKey {
    /// In every text.
    Any,
    /// In no text.
    Never,
    /// By the automata: the matcher that prepares the texts, and its number.
    Plain(usize, u32),
    /// By itself: a pattern, a key with a line break, or a key that counts in some texts only. The number is that of
    /// the matcher that prepares the texts.
    Alone(usize, SingleSearch, SearchedTexts),
}

/// What is searched for by itself.
#[derive(Clone)]
enum SingleSearch {
    Pattern(crate::text::pattern::Pattern),
    Key(SearchKey),
    /// What a function of a script finds, which is given the key and a text.
    Function(Arc<str>, Arc<str>),
}

/// An item's keys, ready to be looked up.
type ItemKeys = Arc<[PreparedKey]>;

/// What an item asks for, ready to be looked up.
#[derive(Clone)]
enum ItemRequest {
    Keys(ItemKeys, ItemKeys),
    Queries(Arc<[KeyQuery]>),
}

impl ItemRequest {
    /// All its keys, in the order in which they were prepared.
    fn keys(&self) -> impl Iterator<Item = &PreparedKey> {
        let (keys, more, queries): (&[_], &[_], &[_]) = match self {
            ItemRequest::Keys(keys, more) => (keys, more, &[]),
            ItemRequest::Queries(queries) => (&[], &[], queries),
        };
        keys.iter().chain(more).chain(queries.iter().flat_map(|query| query.keys.iter()))
    }
}

/// One of an item's queries.
struct KeyQuery {
    /// The keys as written, for a trace.
    written: Value,
    keys: ItemKeys,
    /// Every key must be in every text; otherwise one key in one text is enough.
    all: bool,
    /// The query succeeds if that does not hold.
    absent: bool,
}

/// Which matchers an item's keys may use, and whether case counts there.
type MatchProfile = Arc<[Option<bool>]>;

/// How many texts of each source an item searches.
type SourceWindows = Arc<[usize]>;

impl MatchTerms {
    /// Reads the terms and the tables.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        let (fields, scope) = (w.fields, w.scope);
        let wanted = match (w.node("queries"), w.node("keys")) {
            (Some(queries), None) => {
                super::pass::refuse(cx, fields, "secondary_keys", "`secondary_keys` beside `queries`", "write a query");
                Some(RequestTerms::Queries(cx.within(scope.clone(), |cx| cx.expr(queries))))
            }
            (None, Some(keys)) => {
                let keys = cx.within(scope.clone(), |cx| cx.expr(keys));
                Some(RequestTerms::Keys(keys, sealed(cx, w.node("secondary_keys"), scope)))
            }
            (Some(_), Some(_)) => {
                super::pass::refuse(cx, fields, "keys", "`keys` beside `queries`: both say what is searched for", "take one out");
                None
            }
            (None, None) => None,
        };
        let (Some(wanted), Some(set)) = (wanted, w.node("set")) else {
            cx.fail(
                Code::TermMissing,
                w.span,
                "`match` needs `keys` or `queries`, and `set`",
                Some("add `keys = \"@keys\"` and `set = { hit = true }`".into()),
            );
            return None;
        };
        let unasked = filter(cx, w.node("always"), scope);
        let unless = sealed(cx, w.node("blocked_by"), scope);
        let prepare = w.node("prepare").map(|node| cx.within(scope.clone(), |cx| cx.steps(node))).unwrap_or_default();
        let set = SetTerms::of(cx, set, scope);
        let grow = w.node("recurse_into").and_then(|n| GrowTerm::parse(cx, n, scope));
        let pack = cx.pack;
        let rows = |table: &str| pack.tables.get(table).into_iter().flatten().map(|(_, r)| r).collect::<Vec<_>>();
        let sources =
            rows("scan_source").iter().filter_map(|r| of_row(cx, "scan_source", r, |cx| source(cx, &r.name, &r.fields, scope))).collect();
        let matchers: Vec<MatcherRow> =
            rows("matcher").iter().map(|r| of_row(cx, "matcher", r, |cx| matcher(cx, &r.fields, scope))).collect();
        let steady = prepare.iter().all(|step| step.is_fixed() || step.expands());
        let words = matchers.iter().all(MatcherRow::looks_at_the_word_alone).then(WordCache::default);
        let mut logic = FxHashMap::default();
        for row in rows("logic") {
            let made = of_row(cx, "logic", row, |cx| {
                let mut test = |key: &str| row.fields.get(key).map(|f| cx.test(&f.node, None));
                LogicRow { primary: test("primary"), secondary: test("secondary"), missing: test("missing") }
            });
            logic.insert(row.name.clone(), made);
        }
        let tests_primary = logic.values().any(|row| row.primary.is_some());
        let join = match w.node("join") {
            Some(node) => cx.literal(node, "`join`"),
            None => "\n".into(),
        };
        let join_is_blank = !join.is_empty() && join.chars().all(char::is_whitespace);
        let logic_field = cx.fields.intern("logic");
        let keys_from = match &wanted {
            RequestTerms::Keys(keys, more) => alike::keys_from(keys, more.as_ref()),
            RequestTerms::Queries(queries) => alike::keys_from(queries, None),
        };
        let looked_at = None;
        let mut made = Self {
            wanted,
            unasked,
            unless,
            prepare,
            set,
            grow,
            sources,
            matchers,
            logic,
            tests_primary,
            logic_field,
            join,
            join_is_blank,
            words,
            steady,
            looked_at,
            keys_from,
        };
        made.looked_at = alike::looked_at(&made);
        Some(made)
    }

    /// The row of `logic` that an item names.
    fn logic(&self, item: &Item) -> Option<&LogicRow> {
        self.logic.get(&item.get(self.logic_field).map(Value::to_text).unwrap_or_default())
    }

    /// Whether enough primary keys are found. An item without secondary keys needs at least one.
    fn is_begun(&self, item: &Item, found: usize, has_more: bool, env: &Env<'_>) -> Result<bool, EvalFault> {
        match self.logic(item).and_then(|row| row.primary.as_ref()) {
            Some(test) => Ok((has_more || found > 0) && test.holds(&number(found), env)?),
            None => Ok(found > 0),
        }
    }

    /// Whether the secondary keys that are found are as the item wants them.
    fn combines(&self, item: &Item, found: usize, of: usize, env: &Env<'_>) -> Result<bool, EvalFault> {
        match self.logic(item) {
            Some(row) => Ok(row.secondary.as_ref().map_or(Ok(true), |t| t.holds(&number(found), env))?
                && row.missing.as_ref().map_or(Ok(true), |t| t.holds(&number(of - found), env))?),
            None => Ok(found > 0),
        }
    }

    /// Whether a key may lie across two joined texts, so that it must be searched in all of them as one.
    fn straddles(&self, key: &str) -> bool {
        !self.join_is_blank || self.join.chars().any(|c| key.contains(c))
    }
}

fn number(n: usize) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

impl Verb for MatchTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Selected
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let (pass, list) = (run.pass, run.list);
        let mut hits = Vec::new();
        let kept: Box<ScanCache> = st.caches.take_memory(&pass.id, ScanCache::begin_build);
        let kept = {
            let env = run.env(st);
            let chosen = run.chosen(st)?;
            let items = st.list(list);
            let mut scan = PassScan::new(self, *kept, run.reasons.as_ref(), &env)?;
            let mut asked = Vec::with_capacity(chosen.len());
            for n in chosen {
                if let Some(item) = items.items.get(n) {
                    asked.push((n, scan.ask(item, n, &env.inner(CurrentItem::Item(item, n)))?));
                }
            }
            scan.compile()?;
            let mut found_so_far = FxHashSet::default();
            for (n, asked) in asked {
                let Some(item) = items.items.get(n) else { continue };
                let here = env.inner(CurrentItem::Item(item, n));
                if asked.rivals.iter().any(|rival| found_so_far.contains(rival)) {
                    continue;
                }
                let found = scan.find(item, &asked, &here)?;
                if let Some(reasons) = run.reasons.as_ref().filter(|reasons| reasons.are_given()) {
                    reasons.searched_for(item, if found.is_none() { Some(scan.searched(item, &asked, &here)?) } else { None }, st);
                }
                if let Some(found) = found {
                    hits.push((n, found));
                    if self.unless.is_some() {
                        found_so_far.insert(n);
                    }
                    if let Some(text) = self.grow.as_ref().map_or(Ok(None), |grow| grow.text(item, &here))? {
                        scan.grow(&text)?;
                    }
                }
            }
            scan.finish()
        };
        st.caches.keep_memory(&pass.id, kept);
        for (n, found) in &hits {
            if let Some(item) = st.list_mut(list).items.get_mut(*n) {
                item.set(core::HITS, Value::Int(i64::try_from(*found).unwrap_or(i64::MAX)));
            }
        }
        let chosen: Vec<usize> = hits.into_iter().map(|(n, _)| n).collect();
        // the reasons have been given, together with the keys
        self.set.apply(run, st, &chosen, None)?;
        Ok(self.set.apply_globals(run, st, &chosen)?)
    }
}

impl GrowTerm {
    /// `grow = "field"`, or `grow = { field, from?, for? }`.
    fn parse(cx: &mut CompileContext<'_>, node: &DocumentNode, scope: &ItemScope) -> Option<Self> {
        let field = node.as_text().or_else(|| node.get("field").and_then(DocumentNode::as_text));
        let Some(field) = field.map(|f| cx.fields.intern(f)) else {
            let help = "write `grow = \"text\"` or `grow = { field = \"text\", from = …, for = … }`";
            cx.fail(Code::TermType, node.span, "`recurse_into` names no field", Some(help.into()));
            return None;
        };
        Some(Self { field, from: filter(cx, node.get("from"), scope), for_: filter(cx, node.get("for"), scope) })
    }

    /// The text that a found item adds, if it adds one.
    fn text(&self, item: &Item, env: &Env<'_>) -> Result<Option<Arc<str>>, EvalFault> {
        let adds = self.from.as_ref().map_or(Ok(true), |c| env.holds(c))?;
        Ok(item.get(self.field).filter(|_| adds).map(Value::to_text))
    }
}

impl MatcherRow {
    /// Whether the word alone decides if and how its keys are looked up here.
    fn looks_at_the_word_alone(&self) -> bool {
        let literal = |test: &CondTest| test.operands().iter().all(|e| matches!(e, Expr::Const(_)));
        self.keys.as_ref().is_none_or(literal) && self.key.iter().all(TextStep::is_fixed)
    }
}

fn source(cx: &mut CompileContext<'_>, name: &Arc<str>, fields: &FieldMap, scope: &ItemScope) -> Option<ScanSource> {
    let node = |key: &str| fields.get(key).map(|f| &f.node);
    let when = node("when").map(|n| cx.within(ItemScope::None, |cx| cx.cond(n, PathMode::Scene)));
    let filter = filter(cx, node("where"), scope);
    let each = node("each").map(|n| cx.expr(n));
    let window = sealed(cx, node("window"), scope);
    let inner = if each.is_some() { ItemScope::Open } else { scope.clone() };
    let text = cx.within(inner, |cx| node("text").map(|n| cx.expr(n)))?;
    let newest_first = node("end").and_then(DocumentNode::as_text) == Some("last");
    Some(ScanSource {
        name: name.clone(),
        when,
        filter,
        each,
        window,
        newest_first,
        lead: node("lead").and_then(DocumentNode::as_text).unwrap_or("").into(),
        reads_element_alone: source_texts::reads_element_alone(&text),
        text,
    })
}

/// A condition on items; its parts that depend on no item are evaluated once per pass.
fn filter(cx: &mut CompileContext<'_>, node: Option<&DocumentNode>, scope: &ItemScope) -> Option<Cond> {
    let cond = cx.within(scope.clone(), |cx| Some(cx.cond(node?, PathMode::Item)))?;
    Some(cx.sealed_cond(cond))
}

/// A value of items, likewise.
fn sealed(cx: &mut CompileContext<'_>, node: Option<&DocumentNode>, scope: &ItemScope) -> Option<Expr> {
    let expr = cx.within(scope.clone(), |cx| Some(cx.expr(node?)))?;
    Some(cx.sealed(expr))
}

/// Compiles a row that all passes share. A mistake in it is one of the row and not of a pass: it is told once, however
/// many passes compile the row.
fn of_row<T>(cx: &mut CompileContext<'_>, table: &str, row: &PackRow, compile: impl FnOnce(&mut CompileContext<'_>) -> T) -> T {
    let layer = cx.pack.sources.layer(row.patched.last().copied().unwrap_or(row.span));
    let from = if layer.is_empty() { String::new() } else { format!(", from layer `{layer}`") };
    let pass = std::mem::replace(&mut cx.rule, format!("{table} {}{from}", row.name));
    let made = compile(cx);
    cx.rule = pass;
    made
}

fn matcher(cx: &mut CompileContext<'_>, fields: &FieldMap, scope: &ItemScope) -> MatcherRow {
    let node = |key: &str| fields.get(key).map(|f| &f.node);
    let word = |key: &str| node(key).and_then(DocumentNode::as_text);
    if let Some(case) = node("case").filter(|case| !ValueType::Boolean.accepts(&case.data)) {
        let help = "write `case = true` if upper and lower case differ, or a reference such as `\"$lore.case\"`";
        cx.fail(Code::TermType, case.span, format!("`case` is true or false, not {}", case.kind()), Some(help.into()));
    }
    let function = node("script").map(|own| {
        let function = cx.literal(own, "a function's name");
        cx.function(&function, own.span, ("key, text", 2));
        for key in ["how", "case", "edge", "on_error"] {
            super::pass::refuse(cx, fields, key, &format!("`{key}` beside `script`, which decides alone"), "take one of them out");
        }
        function
    });
    MatcherRow {
        when: node("when").map(|n| cx.within(ItemScope::None, |cx| cx.cond(n, PathMode::Scene))),
        filter: filter(cx, node("where"), scope),
        keys: node("keys").map(|n| cx.test(n, None)),
        how: match (function, word("how")) {
            (Some(function), _) => MatchMethod::Function(function),
            (None, Some("regex")) => MatchMethod::Regex,
            (None, Some("word")) => MatchMethod::Word,
            (None, Some("any")) => MatchMethod::Any,
            _ => MatchMethod::Plain,
        },
        case: sealed(cx, node("case"), scope),
        edge: match word("edge") {
            Some("boundary") => KeyEdge::Boundary,
            Some("letter") => KeyEdge::Letter,
            Some("space") => KeyEdge::Space,
            _ => KeyEdge::NonWord,
        },
        key: node("key").map(|n| cx.within(scope.clone(), |cx| cx.steps(n))).unwrap_or_default(),
        text: node("text").map(|n| cx.within(ItemScope::None, |cx| cx.steps(n))).unwrap_or_default(),
        bad_is_next: word("on_error") == Some("next"),
        texts: match word("texts") {
            Some("each") => SearchedTexts::Each,
            Some("first") => SearchedTexts::First,
            _ => SearchedTexts::Joined,
        },
    }
}
