//! Blocks of texts that are expanded with a stack: the rows of tables `macro_block` and `macro_operator`.
//!
//! A row says which tags begin the block, how its body is read, and what stands in its place. The engine knows no block.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::rows::{RowMistake, complaint};
use crate::diag::{Code, Report, suggest};
use crate::model::term::{NONEMPTY_TEXT, WHEN};
use crate::model::{Pack, Term, Value};
use crate::terms::CompiledRules;

/// Cells of `macro_block`.
pub(super) const MACRO_BLOCK: &[Term] = &[
    Term::new(
        "name",
        NONEMPTY_TEXT,
        "the whole tag with which the block begins, such as `#note`. A row of that name in a lower layer is patched key by key",
    ),
    Term::flag(
        "starts",
        "the tag only begins with the name; `$arg.head` is what stands behind it. Of several such rows, the longest name counts",
    ),
    Term::flag("inline", "the block is written in one tag, `{#name …`, a line break, the body and `#}`"),
    Term::flag("hidden", "no tag begins it; operators turn other blocks into it"),
    Term::json("words", r#"{ "type": "integer", "minimum": 0 }"#, "fewest words behind the name; with fewer, the tag stays as text")
        .default("0"),
    WHEN,
    Term::defined("that", "condition", "the condition of the block, tested when it begins, over `$arg.head`, `words`, `args` and `value`"),
    Term::word(
        "body",
        &["expanded", "raw"],
        "whether macros of the body are expanded (default) or stay as they are written. In a raw body, each tag that begins with a \
         character of `openers` needs an end",
    ),
    Term::word("body_else", &["expanded", "raw"], "the same where the condition does not hold. Default: as `body`"),
    Term::text(
        "else",
        "the text that parts the body in two where it first stands; the second part is used where the condition does not hold",
    ),
    Term::flag(
        "alone",
        "in a body of several lines, the text of `else` counts only where it stands alone in a line, which belongs to neither part",
    ),
    Term::defined(
        "read",
        "value",
        "what stands in place of the block, over `$arg.chosen` (the part of the body that is used), `body` (the first part), \
         `otherwise` (the second part), `whole`, and those of `that`. Default: `$arg.chosen`",
    ),
    Term::defined("otherwise", "value", "what stands in place of the block where the condition does not hold")
        .default("`read` of the second part, or nothing without one"),
    Term::flag("again", "the value is put back into the input and read as if it had been written there"),
    Term::defined("keep", "value", "the value is not put there, but kept as `$kept.NAME` with this name until the text ends"),
];

/// Cells of `macro_operator`.
pub(super) const MACRO_OPERATOR: &[Term] = &[
    Term::text("of", "the row of `macro_block` that it belongs to"),
    Term::text("word", "how it is written; without it, the row stands for every word that is no operator"),
    Term::json("operands", r#"{ "enum": [1, 2] }"#, "it takes the value behind it, or also the one before it").default("2"),
    Term::word(
        "type",
        &["text", "number"],
        "what `$arg.left` and `$arg.right` are; a number is the one that the text begins with, and missing if there is none",
    )
    .default("text"),
    Term::defined("that", "condition", "the result is `1` if this condition over `$arg.left` and `$arg.right` holds, otherwise `0`"),
    Term::defined(
        "read",
        "value",
        "the result is this value. With neither `that` nor `read`, the operands are taken and nothing is put in their place",
    ),
    Term::text("becomes", "the block is treated as this row of `macro_block` from then on"),
];

/// A block.
pub(super) struct BlockRule {
    pub(super) name: Arc<str>,
    /// Its tag only begins with the name.
    starts: bool,
    /// It is written in one tag, `{#name …#}`.
    inline: bool,
    /// When the row counts.
    pub(super) when: Option<Value>,
    /// The condition of the block, over `$arg`.
    pub(super) that: Option<Value>,
    /// The body is not expanded, if the condition holds and if it does not.
    pub(super) raw: [bool; 2],
    /// The value, over `$arg`.
    pub(super) read: Option<Value>,
    /// The value if the condition does not hold.
    pub(super) otherwise: Option<Value>,
    /// What parts the body in two.
    pub(super) marker: Option<Arc<str>>,
    /// In a body of several lines, the marker must stand alone in its line.
    pub(super) alone: bool,
    /// The value is read as if it had been written there.
    pub(super) again: bool,
    /// The name under which the value is kept, instead of standing there.
    pub(super) keep: Option<Value>,
    /// Fewest words behind the name.
    pub(super) words: usize,
    /// What its head is made of.
    operators: FxHashMap<Arc<str>, HeadOperator>,
    /// Stands for every word that is no operator.
    other: Option<HeadOperator>,
}

/// An operator in the head of a block.
pub(super) struct HeadOperator {
    /// It takes two operands.
    pub(super) two: bool,
    /// Operands are numbers.
    pub(super) numbers: bool,
    /// The result is `1` if this condition holds, otherwise `0`.
    pub(super) that: Option<Value>,
    /// Or it is this value. With neither, there is no result.
    pub(super) read: Option<Value>,
    /// The block is treated as this one.
    pub(super) becomes: Option<usize>,
}

/// The blocks of a pack.
#[derive(Default)]
pub(super) struct BlockRules {
    rows: Vec<BlockRule>,
    names: FxHashMap<Arc<str>, usize>,
    /// Blocks that are known by how their tags begin; the longest names first.
    starts: Vec<usize>,
    inline: FxHashMap<Arc<str>, usize>,
}

impl BlockRule {
    pub(super) fn operator(&self, word: &str) -> Option<&HeadOperator> {
        self.operators.get(word).or(self.other.as_ref())
    }

    pub(super) fn has_operators(&self) -> bool {
        self.other.is_some() || !self.operators.is_empty()
    }
}

impl BlockRules {
    /// Compiles the tables; reports rows that are wrong.
    pub(super) fn compile(rules: &CompiledRules, pack: &Pack, report: &mut Report) -> Self {
        let mut made = Self::default();
        let rows = rules.table("macro_block");
        for cells in rows.as_list().unwrap_or(&[]) {
            match block(cells) {
                Ok((block, hidden)) => made.add(block, hidden),
                Err(wrong) => report.push(complaint(&wrong, "macro_block", cells, pack)),
            }
        }
        made.starts.sort_by_key(|n| made.rows.get(*n).map_or(0, |block| usize::MAX - block.name.len()));
        let operators = rules.table("macro_operator");
        for cells in operators.as_list().unwrap_or(&[]) {
            if let Err(wrong) = made.operator(cells) {
                report.push(complaint(&wrong, "macro_operator", cells, pack));
            }
        }
        made
    }

    fn add(&mut self, block: BlockRule, hidden: bool) {
        let place = self.rows.len();
        match (hidden, block.inline, block.starts) {
            (true, ..) => {}
            (_, true, _) => drop(self.inline.insert(block.name.clone(), place)),
            (.., true) => self.starts.push(place),
            _ => drop(self.names.insert(block.name.clone(), place)),
        }
        self.rows.push(block);
    }

    fn operator(&mut self, cells: &Value) -> Result<(), RowMistake> {
        let text = |key: &str| cells.get(key).map(Value::to_text);
        let place = |cell: &'static str| {
            let name = text(cell).unwrap_or_default();
            self.rows.iter().position(|block| block.name == name).ok_or_else(|| RowMistake {
                cell,
                code: Code::NameUnknown,
                message: format!("there is no block `{name}`"),
                help: suggest::help(&name, self.rows.iter().map(|block| block.name.as_ref()))
                    .or_else(|| Some("name a row of `macro_block`".into())),
            })
        };
        let of = place("of")?;
        let operator = HeadOperator {
            two: cells.get("operands").and_then(Value::as_i64) != Some(1),
            numbers: text("type").as_deref() == Some("number"),
            that: cells.get("that").cloned(),
            read: cells.get("read").cloned(),
            becomes: text("becomes").map(|_| place("becomes")).transpose()?,
        };
        if let Some(block) = self.rows.get_mut(of) {
            match text("word") {
                Some(word) => drop(block.operators.insert(word, operator)),
                None if block.other.is_some() => {
                    return Err(RowMistake {
                        cell: "word",
                        code: Code::TermMissing,
                        message: format!("block `{}` has two operators without a word", block.name),
                        help: Some("say with `word` how the operator is written; only one row may stand for all other words".into()),
                    });
                }
                None => block.other = Some(operator),
            }
        }
        Ok(())
    }

    /// A block by its number.
    pub(super) fn get(&self, place: usize) -> Option<&BlockRule> {
        self.rows.get(place)
    }

    /// The block that a tag begins, by its number.
    pub(super) fn find(&self, tag: &str) -> Option<usize> {
        let starts = || self.starts.iter().copied().find(|n| self.rows.get(*n).is_some_and(|b| tag.starts_with(b.name.as_ref())));
        self.names.get(tag).copied().or_else(starts)
    }

    /// The block in one tag with this name, by its number.
    pub(super) fn inline(&self, name: &str) -> Option<usize> {
        self.inline.get(name).copied()
    }
}

/// A row, and whether no tag begins it.
fn block(cells: &Value) -> Result<(BlockRule, bool), RowMistake> {
    let flag = |key: &str| cells.get(key) == Some(&Value::Bool(true));
    let text = |key: &str| cells.get(key).map(Value::to_text);
    let raw = |key: &str| text(key).map(|how| how.as_ref() == "raw");
    let body = raw("body").unwrap_or_default();
    let made = BlockRule {
        name: text("name").unwrap_or_default(),
        starts: flag("starts"),
        inline: flag("inline"),
        when: cells.get("when").cloned(),
        that: cells.get("that").cloned(),
        raw: [body, raw("body_else").unwrap_or(body)],
        read: cells.get("read").cloned(),
        otherwise: cells.get("otherwise").cloned(),
        marker: text("else"),
        alone: flag("alone"),
        again: flag("again"),
        keep: cells.get("keep").cloned(),
        words: cells.get("words").and_then(Value::as_i64).and_then(|n| usize::try_from(n).ok()).unwrap_or_default(),
        operators: FxHashMap::default(),
        other: None,
    };
    let wrong = |cell: &'static str, message: String, help: &str| {
        Err(RowMistake { cell, code: Code::SchemaValue, message, help: Some(help.into()) })
    };
    if made.that.is_none() && (made.otherwise.is_some() || cells.get("body_else").is_some()) {
        let cell = if made.otherwise.is_some() { "otherwise" } else { "body_else" };
        return wrong(cell, format!("`{cell}` never counts, because the block has no condition"), "add the condition as `that = { … }`");
    }
    if made.again && made.keep.is_some() {
        return wrong("again", "a value that is kept is not read again".into(), "remove `again` or `keep`");
    }
    if made.alone && made.marker.is_none() {
        return wrong("alone", "`alone` is about `else`, which the block does not have".into(), "add `else`, or remove `alone`");
    }
    if made.marker.as_ref().is_some_and(|marker| marker.is_empty()) {
        return wrong("else", "the text that parts the body is empty".into(), "write the text, or remove `else`");
    }
    Ok((made, flag("hidden")))
}
