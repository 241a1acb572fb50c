//! From merged text to programs: declarations first, then tables and values, then every pass; all errors are reported
//! together.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diag::{Code, DocumentNode, FieldMap, Report, Span, limits};
use crate::lint;
use crate::model::pack::PackRow;
use crate::model::term::{RowTerms, TEXTS};
use crate::model::{Map, Pack, Term, Value, WorkLimits};
use crate::syntax::conditions::PathMode;
use crate::syntax::context::ItemScope;
use crate::syntax::{CompileContext, scripts};
use crate::terms::ledger::{CostModel, TokenBudget};
use crate::terms::names::{ANYTHING, RowKeys};
use crate::terms::rules::{BuildLimits, JsonForm, TableRows};
use crate::terms::{CompiledRules, Expr};
use crate::text::script::ScriptLimits;
use crate::verbs::CompiledPass;

use super::deferred::DeferredCompiler;
use super::foreign::FormatList;
use super::{Program, Programs, cells};

/// Tables that the engine reads, and passes do not.
pub(crate) const ENGINE_TABLES: &[&str] = &[
    "program",
    "pass",
    "round",
    "budget",
    "cost_model",
    "form",
    "fact",
    "value",
    "path",
    "state",
    "list",
    "field",
    "scan_source",
    "matcher",
    "logic",
    "format",
    "map",
    "template",
    "revision",
    "key",
    "reply",
    "reply_part",
];

/// Keys of `budget`.
const ACCOUNT: &[Term] = &[
    Term::defined("size", "number", "how much there is"),
    Term::defined("cap", "number", "an upper bound of the size; 0 is none"),
    Term::defined("window", "number", "the size of the window in an error about the budget (`max_tokens`)"),
    Term::defined("reserve", "number", "the tokens that are kept for the answer, in an error about the budget (`reserve_tokens`)"),
    Term::text("cost_model", "what measures costs: a row of the table `cost_model`"),
];

/// Keys of `cost_model`.
const RULER: &[Term] = &[
    Term::json(
        "estimator",
        r#"{
            "type": "string",
            "pattern": "^(cl100k|o200k|claude|words|(chars|bytes)(/[0-9]+([.][0-9]+)?)?|estimate/[0-9]+([.][0-9]+)?/[0-9]+([.][0-9]+)?|\\$.+)$"
        }"#,
        "how the tokens of a text are counted: `cl100k`, `o200k`, `claude`, `words`, `chars/N`, `bytes/N`, `estimate/N/W`, or a \
         reference; default `$context.tokenizer`",
    ),
    Term::defined("tokens", "value", "the text that is counted").default("`@text`"),
    Term::defined("each", "number", "tokens added for each item"),
    Term::defined("named", "number", "tokens that are added for an item with a name, besides those of the name"),
    Term::flag("role", "whether the tokens of the name of the role are added"),
    Term::defined("empty", "number", "the cost of an item whose text is empty"),
];

/// Keys of `form`.
const FORM: &[Term] = &[
    Term::json("keys", r##"{ "type": "object", "additionalProperties": { "$ref": "#/definitions/value" } }"##, "JSON key = value"),
    Term::new("keep", TEXTS, "keys that stay when empty"),
    Term::new("present", TEXTS, "keys that stay when empty, but not when missing"),
    Term::new("given", TEXTS, "keys that stay if the data contains them, also as null"),
];

/// Keys of `fact`.
const FACT: &[Term] = &[
    Term::defined("is", "condition", "the condition"),
    Term::text("over", "row type of the items it is about (message, entry …); without it the fact is about the scene"),
];

/// Keys of `value`.
const NAMED_VALUE: &[Term] = &[
    Term::defined("is", "value", "the value"),
    Term::text(
        "over",
        "row type of the items it is about (message, entry …), which `@field` means in it; without it the value is about the scene",
    ),
];

/// Keys of `program`.
const PROGRAM: &[Term] = &[
    Term::text("over", "the list that it works on. With `list`, only what its items are like"),
    Term::text("list", "the list that it works on, if it is not the one in `over`"),
];

/// The keys of the rows that are read here.
pub(super) const ROWS: &[RowTerms] = &[
    ("budget", &[ACCOUNT]),
    ("cost_model", &[RULER]),
    ("form", &[FORM]),
    ("fact", &[FACT]),
    ("named_value", &[NAMED_VALUE]),
    ("program", &[PROGRAM]),
];

/// A condition that stands apart from programs and rows, and is found by its place ([`CompiledRules::conditions`]).
#[derive(Debug)]
pub struct DetachedCondition {
    /// The condition. A bare name is a field of the value that it is evaluated for.
    pub node: DocumentNode,
    /// The fields of that value; `None` if they are not known.
    pub names: Option<Arc<[Arc<str>]>>,
    /// The rule that it belongs to, for messages.
    pub rule: String,
}

/// Compiles a pack, with conditions that stand apart from its rules. `row_keys` are the keys that rows may have by their
/// schemas. The programs may be run only if there are no errors; otherwise they are used to find more errors.
///
/// `tested` says that the pack is known to have no mistakes, and which [`fields`](CompiledRules::fields) it has. Then its
/// programs are compiled when they are first run, and nothing is checked.
#[must_use]
pub fn compile<'p>(
    pack: &'p Arc<Pack>,
    conditions: &[DetachedCondition],
    row_keys: impl FnOnce() -> &'p RowKeys,
    tested: Option<&str>,
) -> (Programs, Report) {
    let mut cx = CompileContext::new(pack, ENGINE_TABLES);
    let declared_fields = cx.fields.iter().count();
    cx.row_keys = tested.is_none().then(row_keys);
    cx.tested = tested.is_some();
    let limits = limits(pack);
    cx.scripts = Arc::new(scripts::compile(&mut cx, limits.scripts));
    match tested {
        Some(fields) => fields.lines().for_each(|field| _ = cx.fields.intern(field)),
        None => {
            check_facts(&mut cx);
            check_values(&mut cx);
            cx.rule = "values".into();
            cells::check_types(&mut cx, "", &pack.values, 0);
        }
    }
    let values = values(&mut cx);
    let tables = tables(&mut cx);
    let rulers = rulers(&mut cx);
    let accounts = accounts(&mut cx);
    let forms = forms(&mut cx);
    let conditions = apart(&mut cx, conditions);
    let compiler = Arc::new(DeferredCompiler::of(pack, &cx));
    let deferred = tested.map(|_| compiler.clone());
    let list = programs(&mut cx, deferred.as_ref());
    if deferred.is_none() {
        check_cycles(&mut cx, &list);
        lint::declarations(&mut cx);
    }
    let formats = match deferred {
        Some(deferred) => FormatList::defer(deferred),
        None => super::foreign::compile_formats(&mut cx),
    };
    let defaults = defaults(&mut cx);
    let mut report = std::mem::take(&mut cx.report);
    report.sort();
    let macro_syntax = crate::text::macro_syntax::MacroSyntax::of(values.get("macro_engine"));
    let rules = CompiledRules {
        fields: cx.fields,
        lists: cx.lists,
        tables,
        values,
        exprs: cx.exprs,
        conds: cx.conds,
        conditions,
        accounts,
        rulers,
        forms,
        defaults,
        effect_macros: effect_macros(pack, &macro_syntax),
        macro_syntax,
        scripts: cx.scripts,
        limits,
        counters: crate::terms::rules::TokenCounters::default(),
        classified: crate::terms::rules::TextClasses::default(),
        key_sets: crate::text::keys::KeySets::default(),
        row_patterns: crate::terms::patterns::RowPatterns::default(),
        names: cx.names,
    };
    (Programs { rules: Arc::new(rules), list, formats, compiler, declared_fields }, report)
}

/// The numbers of the conditions that stand apart, by their places.
fn apart(cx: &mut CompileContext<'_>, conditions: &[DetachedCondition]) -> FxHashMap<Span, u32> {
    let mut numbers = FxHashMap::default();
    for DetachedCondition { node, names, rule } in conditions {
        cx.rule.clone_from(rule);
        let scope = names.as_ref().map_or(ItemScope::Any, |names| ItemScope::Args(names.clone()));
        let cond = cx.within(scope, |cx| cx.cond(node, PathMode::Item));
        numbers.insert(node.span, u32::try_from(cx.conds.len()).unwrap_or(u32::MAX));
        cx.conds.push(cond);
    }
    numbers
}

/// The pack's values, with the defaults of declared paths below them.
fn values(cx: &mut CompileContext<'_>) -> Value {
    cx.rule = "values".into();
    let pack = cx.pack;
    let own = Value::map(cells::table(cx, &pack.values));
    let mut defaults = Value::map(Map::default());
    for (name, row) in pack.tables.get("path").into_iter().flatten() {
        if let Some(default) = row.fields.get("default") {
            let names: Vec<Arc<str>> = name.trim_end_matches(".*").split('.').map(Arc::from).collect();
            let value = cells::value(cx, &default.node);
            crate::terms::trees::put(&mut defaults, &names, value);
        }
    }
    for option in pack.options.iter() {
        crate::terms::trees::put(&mut defaults, &[crate::model::options::TABLE.into(), option.name.clone()], option.value.clone());
    }
    own.over(defaults)
}

fn tables(cx: &mut CompileContext<'_>) -> indexmap::IndexMap<Arc<str>, TableRows> {
    let mut out = indexmap::IndexMap::new();
    let pack = cx.pack;
    let columns = defaults_of_columns(cx);
    for (table, rows) in &pack.tables {
        if ENGINE_TABLES.contains(&table.as_ref()) {
            out.insert(table.clone(), TableRows::default());
            continue;
        }
        let mut all = Vec::with_capacity(rows.len());
        let mut by_name = FxHashMap::default();
        for row in rows.values() {
            cx.enter_row(table, row);
            let mut map = Map::default();
            map.insert("name".into(), Value::Text(row.name.clone()));
            map.extend(if table.as_ref() == "source" {
                cells::with_arguments(cx, &row.fields)
            } else {
                cells::row(cx, table, &row.fields)
            });
            for (column, default) in columns.get(&**table).into_iter().flatten() {
                map.entry(column.clone()).or_insert_with(|| default.clone());
            }
            let value = Value::map(map);
            by_name.insert(row.name.clone(), value.clone());
            all.push(value);
        }
        out.insert(table.clone(), TableRows { all: Value::list(all), by_name });
    }
    let decided = pack.overlaid.iter().map(|o| {
        let name = format!("{}/{}/{}", o.table, o.row, o.key).into();
        let cells = [("name", &name), ("table", &o.table), ("row", &o.row), ("key", &o.key), ("by", &o.by)];
        Value::map(cells.into_iter().map(|(cell, text)| (Arc::from(cell), Value::Text(text.clone()))).collect())
    });
    out.insert("overlaid".into(), TableRows { all: Value::list(decided.collect()), by_name: FxHashMap::default() });
    out
}

/// The defaults of columns, by their table.
fn defaults_of_columns(cx: &mut CompileContext<'_>) -> FxHashMap<Arc<str>, Vec<(Arc<str>, Value)>> {
    let pack = cx.pack;
    let mut all: FxHashMap<Arc<str>, Vec<(Arc<str>, Value)>> = FxHashMap::default();
    for column in pack.rows("column") {
        let Some((table, key)) = column.name.split_once('/') else { continue };
        let Some(default) = column.node("default") else { continue };
        let of_table = all.entry(table.into()).or_default();
        if of_table.len() < limits::FIELDS {
            cx.rule = format!("column {}", column.name);
            of_table.push((key.into(), cells::whole(cx, default)));
        }
    }
    all
}

/// Defaults of fields by list. Where two row types of one list differ, the first that the list names decides.
fn defaults(cx: &mut CompileContext<'_>) -> FxHashMap<(u16, crate::model::FieldId), Value> {
    let pack = cx.pack;
    let mut out = FxHashMap::default();
    let lists: Vec<Vec<Arc<str>>> = cx.lists.iter().map(|l| l.rows.clone()).collect();
    for (name, row) in pack.tables.get("field").into_iter().flatten() {
        let Some((row_type, field)) = name.split_once('/').filter(|(_, f)| !f.contains('.')) else { continue };
        let Some(default) = row.fields.get("default").map(|f| Value::from(&f.node)) else { continue };
        let id = cx.fields.intern(field);
        for (n, rows) in lists.iter().enumerate() {
            let Some(rank) = rows.iter().position(|r| r.as_ref() == row_type) else { continue };
            let key = (u16::try_from(n).unwrap_or(u16::MAX), id);
            let earlier = rows.iter().take(rank).any(|r| {
                pack.tables
                    .get("field")
                    .and_then(|t| t.get(format!("{r}/{field}").as_str()))
                    .is_some_and(|r| r.fields.contains_key("default"))
            });
            if !earlier {
                out.insert(key, default.clone());
            }
        }
    }
    out
}

/// The names of macros that say they have effects, their aliases too.
fn effect_macros(pack: &Pack, syntax: &crate::text::macro_syntax::MacroSyntax) -> rustc_hash::FxHashSet<Arc<str>> {
    let rows = pack.tables.get("macro").into_iter().flatten();
    let with_effects = rows.filter(|(_, r)| r.fields.get("effects").and_then(|f| f.node.as_bool()) == Some(true));
    let names = with_effects.flat_map(|(name, r)| {
        let aliases = r.fields.get("aliases").and_then(|f| f.node.as_list()).unwrap_or(&[]);
        std::iter::once(name.as_ref())
            .chain(aliases.iter().filter_map(DocumentNode::as_text))
            .map(|n| Arc::from(syntax.folded(n)))
            .collect::<Vec<_>>()
    });
    names.collect()
}

fn rulers(cx: &mut CompileContext<'_>) -> Vec<CostModel> {
    let pack = cx.pack;
    let mut out = Vec::new();
    for row in pack.rows("cost_model") {
        cx.enter_row("cost_model", row);
        let value = |cx: &mut CompileContext<'_>, key: &str| row.node(key).map(|n| cx.within(ItemScope::Open, |cx| cx.expr(n)));
        let item_text = || DocumentNode { span: row.span, data: crate::diag::NodeValue::Text("@text".into()) };
        let tokens = match value(cx, "tokens") {
            Some(e) => e,
            None => cx.within(ItemScope::Open, |cx| cx.expr(&item_text())),
        };
        let estimator = match value(cx, "estimator") {
            Some(e) => e,
            None => cx.path("context.tokenizer", row.span, &item_text(), 0),
        };
        out.push(CostModel {
            name: row.name.clone(),
            tokens,
            estimator,
            each: value(cx, "each").unwrap_or(Expr::Const(Value::Int(0))),
            named: value(cx, "named"),
            role: row.node("role").and_then(DocumentNode::as_bool).unwrap_or(false),
            empty: row.node("empty").and_then(|n| Value::from(n).as_f64()),
        });
    }
    out
}

fn accounts(cx: &mut CompileContext<'_>) -> Vec<TokenBudget> {
    let pack = cx.pack;
    let mut out = Vec::new();
    for row in pack.rows("budget") {
        cx.enter_row("budget", row);
        let value = |cx: &mut CompileContext<'_>, key: &str| row.fields.get(key).map(|f| cx.within(ItemScope::None, |cx| cx.expr(&f.node)));
        let size = value(cx, "size").unwrap_or_else(|| {
            cx.fail_for(
                &row.name,
                Code::TermMissing,
                row.name_span,
                format!("budget `{}` has no size", row.name),
                Some("add `size = …`".into()),
            );
            Expr::Const(Value::Null)
        });
        let (cap, window, reserve) = (value(cx, "cap"), value(cx, "window"), value(cx, "reserve"));
        let ruler = match row.fields.get("cost_model") {
            Some(f) => cx.row_number("cost_model", f.node.as_text().unwrap_or(""), f.node.span),
            None => 0,
        };
        out.push(TokenBudget { name: row.name.clone(), size, cap, ruler, window, reserve });
    }
    out
}

fn forms(cx: &mut CompileContext<'_>) -> Vec<JsonForm> {
    let pack = cx.pack;
    let mut out = Vec::new();
    for row in pack.rows("form") {
        cx.enter_row("form", row);
        let keys = row.fields.get("keys").and_then(|f| f.node.as_table()).into_iter().flatten();
        let keys = keys.map(|(k, f)| (k.clone(), cx.within(ItemScope::Open, |cx| cx.expr(&f.node)))).collect();
        let named = |key: &str| {
            let list = row.fields.get(key).and_then(|f| f.node.as_list()).unwrap_or(&[]);
            list.iter().filter_map(DocumentNode::as_text).map(Arc::from).collect()
        };
        out.push(JsonForm { name: row.name.clone(), keys, keep: named("keep"), present: named("present"), given: named("given") });
    }
    out
}

/// Facts are compiled where they are used; unused ones are checked here, so that no error stays hidden.
fn check_facts(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for row in pack.rows("fact") {
        cx.enter_row("fact", row);
        let Some(fact) = cx.facts.get(&row.name).cloned().filter(|fact| fact.is.is_some()) else {
            let help = Some("add `is = { path = test }`".into());
            cx.fail_for(&row.name, Code::TermMissing, row.name_span, format!("fact `{}` has no condition", row.name), help);
            continue;
        };
        // `@outer` in it means the item around the place of use, which is checked there
        cx.within(ItemScope::Any, |cx| cx.within(ItemScope::Open, |cx| cx.named_fact(&row.name, &fact, row.span)));
    }
}

/// The same for values.
fn check_values(cx: &mut CompileContext<'_>) {
    let pack = cx.pack;
    for row in pack.rows("value") {
        cx.enter_row("value", row);
        let Some(value) = cx.values.get(&row.name).cloned().filter(|value| value.is.is_some()) else {
            let help = Some("add `is = …`".into());
            cx.fail_for(&row.name, Code::TermMissing, row.name_span, format!("value `{}` says nothing", row.name), help);
            continue;
        };
        let over = row.text("over").filter(|over| cx.names.fields.contains_key(*over));
        let any = row.fields.get("over").is_some_and(|f| f.node.as_text() == Some(ANYTHING));
        let scope = if any { ItemScope::Any } else { over.map_or(ItemScope::Open, |over| ItemScope::Rows(vec![over.into()])) };
        cx.within(ItemScope::Any, |cx| cx.within(scope, |cx| cx.named_value(&row.name, &value, row.span)));
    }
}

fn programs(cx: &mut CompileContext<'_>, deferred: Option<&Arc<DeferredCompiler>>) -> Vec<Program> {
    let pack = cx.pack;
    let mut passes: FxHashMap<&str, Vec<&PackRow>> = FxHashMap::default();
    for row in pack.rows("pass") {
        // a name that does not start with a program was reported when its file was read
        let Some((program, _)) = row.name.rsplit_once('/') else { continue };
        let known = pack.tables.get("program").is_some_and(|p| p.contains_key(program));
        if !known {
            cx.enter_row("pass", row);
            let names: Vec<Arc<str>> = pack.tables.get("program").map(|p| p.keys().cloned().collect()).unwrap_or_default();
            cx.unknown("program", program, row.name_span, names.iter().map(AsRef::as_ref));
        }
        passes.entry(program).or_default().push(row);
    }
    let mut out = Vec::new();
    for row in pack.rows("program") {
        cx.enter_row("program", row);
        let named = row.fields.get("list").or_else(|| row.fields.get("over"));
        let list = match named {
            Some(f) => cx.list(f.node.as_text().unwrap_or(""), f.node.span),
            None => {
                cx.fail(
                    Code::TermMissing,
                    row.name_span,
                    format!("program `{}` does not say what it works on", row.name),
                    Some("add `over = \"…\"`".into()),
                );
                0
            }
        };
        let rows = passes.remove(row.name.as_ref()).unwrap_or_default();
        out.push(match deferred {
            Some(deferred) => Program::defer(row.name.clone(), list, deferred.clone(), rows.iter().map(|row| row.name.clone()).collect()),
            None => Program::new(row.name.clone(), list, passes_of(cx, list, rows)),
        });
    }
    out
}

/// The passes in these rows, of a program over a list.
pub(super) fn passes_of<'p>(
    cx: &mut CompileContext<'_>,
    list: usize,
    rows: impl IntoIterator<Item = &'p PackRow>,
) -> Vec<Arc<CompiledPass>> {
    let compiled = rows.into_iter().filter_map(|pass| {
        cx.enter_row("pass", pass);
        let mut fields = pass.fields.clone();
        fields.insert("name".into(), crate::diag::TableField { key: pass.name_span, node: name_node(pass) });
        CompiledPass::parse(cx, &pass.name, pass.name_span, &fields, list).map(Arc::new)
    });
    compiled.collect()
}

fn name_node(row: &PackRow) -> DocumentNode {
    DocumentNode { span: row.name_span, data: crate::diag::NodeValue::Text(row.name.clone()) }
}

/// Reports programs that run each other in a circle, which would never end.
fn check_cycles(cx: &mut CompileContext<'_>, programs: &[Program]) {
    let callees = |n: usize| {
        let passes = programs.get(n).into_iter().flat_map(Program::passes).rev();
        passes.filter_map(|pass| Some((pass.verb.callee()?, pass))).collect()
    };
    for circle in lint::circles(programs.len(), callees) {
        let (pass, first) = (circle.closed_by, circle.members.first());
        let name = first.and_then(|n| programs.get(*n)).map(|program| program.name.clone()).unwrap_or_default();
        cx.rule = cx.pack.row("pass", &pass.id).map_or_else(String::new, |row| cx.row_name("pass", row));
        let help = Some("take one of the passes out, or use `repeat`".into());
        cx.fail(Code::CycleProgram, pass.span, format!("program `{name}` runs itself in a circle"), help);
    }
}

fn limits(pack: &Pack) -> BuildLimits {
    let table: Option<&FieldMap> = pack.values.get("limits").and_then(|f| f.node.as_table());
    let number = |key: &str, default: u64, most: u64| {
        let found = table.and_then(|t| t.get(key)).and_then(|f| Value::from(&f.node).as_i64());
        found.and_then(|n| u64::try_from(n).ok()).unwrap_or(default).min(most)
    };
    let default = BuildLimits::default();
    let size = |key: &str, default: usize, most: usize| usize::try_from(number(key, default as u64, most as u64)).unwrap_or(default);
    let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    BuildLimits {
        pass_visits: number("pass_visits", default.pass_visits, 100_000_000),
        rounds: small(number("rounds", default.rounds.into(), 10_000)),
        depth: default.depth,
        text_bytes: size("text_bytes", default.text_bytes, 256_000_000),
        scripts: ScriptLimits {
            operations: number("script_operations", default.scripts.operations, 1_000_000),
            calls: size("script_depth", default.scripts.calls, 256),
            text: size("script_string", default.scripts.text, 160 << 10),
            list: size("script_array", default.scripts.list, 10_000),
            map: size("script_map", default.scripts.map, 10_000),
            ..default.scripts
        },
        work: WorkLimits {
            steps: number("work_steps", default.work.steps, default.work.steps),
            bytes: number("work_bytes", default.work.bytes, default.work.bytes),
        },
    }
}
