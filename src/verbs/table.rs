//! The table of verbs, which `tapster ops`, the compiler and the docs use, and how a pass is read with it.

use std::sync::Arc;

use crate::diag::{Code, DocumentNode, FieldMap, Help, Span};
use crate::model::pack::LAYERING;
use crate::model::term::names;
use crate::model::{Term, TermType};
use crate::syntax::conditions::PathMode;
use crate::syntax::{CompileContext, selections};

use super::pass::{CompiledPass, FailurePolicy, VerbInfo, WrittenPass};
use super::reads::ListReads;
use super::reason::{CODE_OF_REASON, ReasonTerms};
use super::{add, admit, drop, evict, matching, merge, order, place, repeat, require, reserve, run, set, shape, split};

/// All verbs. A verb file that is missing here is dead code, which the compiler refuses.
pub const VERBS: &[&VerbInfo] = &[
    &add::INFO,
    &drop::INFO,
    &set::INFO,
    &shape::INFO,
    &place::INFO,
    &order::INFO,
    &merge::INFO,
    &split::INFO,
    &matching::INFO,
    &reserve::INFO,
    &admit::INFO,
    &evict::INFO,
    &require::INFO,
    &repeat::INFO,
    &run::INFO,
];

/// Terms that a pass of any verb may have.
pub const SHARED: &[Term] = &[
    Term {
        name: "name",
        kind: TermType::Json(r#"{ "type": "string", "minLength": 1, "pattern": "^([A-Za-z0-9_.-]+/)?[A-Za-z0-9_]+$" }"#),
        doc: "`program/pass`, or the short name of a pass of the file's own `program`.",
    },
    Term { name: "about", kind: TermType::Text, doc: "What the row is for, in a sentence. Shown by `explain`." },
    Term {
        name: "do",
        kind: TermType::Defined("verb"),
        doc: "The verb. A pass without one patches the pass of that name in a lower layer.",
    },
    Term {
        name: "when",
        kind: TermType::Defined("gate"),
        doc: "Whether the pass runs at all: a condition on the scene. `false` switches it off.",
    },
    Term {
        name: "then",
        kind: TermType::Word { of: &["next", "stop"], default: "next" },
        doc: "`stop`: if this pass ran, the program ends here.",
    },
    Term { name: "list", kind: TermType::Text, doc: "The list that this pass works on; default: the list of its program." },
    Term {
        name: "failing",
        kind: TermType::Word { of: &["spare", "keep", "error"], default: "error" },
        doc: "What happens if a script or a condition of the data fails: `spare` (a warning, and the item is not selected), `keep` (a \
              warning, and what the pass has done stays), `error` (default).",
    },
    Term { name: "because", kind: CODE_OF_REASON, doc: "A code for why the pass changes its items; a trace gives it as their reason." },
    Term {
        name: "why",
        kind: TermType::Defined("value"),
        doc: "With `because`: a table that a trace adds to the details of an item (`@field` is the item). It may not draw.",
    },
];

impl CompiledPass {
    /// Reads a pass. `list` is the list of its program. `None` after an error that leaves nothing to run.
    pub fn parse(cx: &mut CompileContext<'_>, id: &Arc<str>, span: Span, fields: &FieldMap, list: usize) -> Option<Self> {
        let node = |key: &str| fields.get(key).map(|f| &f.node);
        let Some(word) = node("do") else {
            cx.fail(Code::NoVerb, span, format!("pass `{id}` has no verb"), Some("add `do = \"…\"`; `tapster ops` lists the verbs".into()));
            return None;
        };
        let name = word.as_text().unwrap_or("");
        let Some(info) = VERBS.iter().copied().find(|v| v.name == name) else {
            let near = cx.report.words.help(name, VERBS.iter().map(|v| v.name));
            let help = near.unwrap_or_else(|| "`tapster ops` lists the verbs".into());
            cx.fail(Code::NoVerb, word.span, format!("there is no verb `{name}`"), Some(help));
            return None;
        };
        check_terms(cx, info, fields);
        cx.memo = Some(0);
        cx.forget_names();
        cx.cells.clear();
        cx.reads.clear();
        cx.tails.clear();
        cx.reads_account = false;
        cx.reads_index = false;
        cx.scopes.clear();
        let own = node("list").map(|n| {
            let name = n.as_text().unwrap_or("").to_owned();
            cx.list(&name, n.span)
        });
        let scope = cx.rows_of(own.unwrap_or(list));
        let when = node("when").map(|n| cx.cond(n, PathMode::Scene));
        let gate_reads = ListReads::take(cx);
        let select = cx.select(fields, scope.clone());
        let mut select = cx.sealed_select(select);
        if select.stream.is_empty() {
            select.stream = id.clone();
        }
        let verb = (info.parse)(cx, &WrittenPass { fields, span: word.span, scope: &scope })?;
        let failing = match node("failing").and_then(DocumentNode::as_text) {
            Some("spare") => FailurePolicy::Spare,
            Some("keep") => FailurePolicy::Keep,
            _ => FailurePolicy::Error,
        };
        let stop = node("then").and_then(DocumentNode::as_text) == Some("stop");
        let (reads, cells) = (ListReads::take(cx), std::mem::take(&mut cx.cells));
        let reason = ReasonTerms::parse(cx, fields, &scope);
        cx.memo = None;
        cx.forget_names();
        Some(Self { id: id.clone(), span, info, when, select, list: own, stop, failing, reason, gate_reads, reads, cells, verb })
    }
}

fn check_terms(cx: &mut CompileContext<'_>, info: &VerbInfo, fields: &FieldMap) {
    let known: Vec<&str> = names(SHARED).chain(names(selections::TERMS)).chain(names(info.terms)).collect();
    // these never come this far, so what is near to one of them was meant for it
    let meant: Vec<&str> = known.iter().copied().chain(names(LAYERING)).collect();
    for (key, field) in fields {
        if known.contains(&key.as_ref()) {
            continue;
        }
        let owners: Vec<&str> = VERBS.iter().filter(|v| names(v.terms).any(|term| term == key.as_ref())).map(|v| v.name).collect();
        let help = cx.report.words.nearest(key, meant.iter().copied()).map(Help::from).or_else(|| {
            (!owners.is_empty())
                .then(|| format!("`{key}` is a term of {}", owners.iter().map(|o| format!("`{o}`")).collect::<Vec<_>>().join(", ")).into())
        });
        let terms = if info.terms.is_empty() { "no terms of its own".to_owned() } else { names(info.terms).collect::<Vec<_>>().join(", ") };
        let shared = names(SHARED).collect::<Vec<_>>().join(", ");
        let help = help.or_else(|| Some(format!("`{}` takes {terms}, and what every pass may have: {shared}", info.name).into()));
        // a key of no verb is told as the schema tells it
        if owners.is_empty() {
            cx.fail(Code::SchemaUnknownKey, field.key, format!("unknown key `{key}` in a pass of `{}`", info.name), help);
        } else {
            cx.fail(Code::TwoMeanings, field.key, format!("`{key}` is no term of `{}`", info.name), help);
        }
    }
}
