//! Expanding a text with a stack of frames: what a tag means, by the rows of the pack.

use std::sync::Arc;

use super::blocks::{BlockRule, HeadOperator};
use super::host::KEPT;
use super::host::Macros;
use crate::diag::limits;
use crate::macros::syntax::stack::{BlockResult, OpeningTag, StackHost, expand};
use crate::macros::syntax::{ExpandedText, MacroCall, MacroGrammar, MacroHost, MacroResult, TextOffset};
use crate::model::{Map, RuleRef, Value};
use crate::terms::PassMemo;
use crate::terms::select::pass_env;
use crate::text::TextLimits;
use crate::text::js;
use crate::text::written::ToText as _;

/// Expands the text of `macros` with a stack.
pub(super) fn run(macros: &Macros<'_>, limits: TextLimits) -> ExpandedText {
    let given = &macros.given;
    let plain = memchr::memchr(b'{', given.as_bytes()).is_none() && macros.table.before(given).is_none();
    if plain && macros.table.after(given).is_none() {
        return ExpandedText { text: given.clone(), warnings: Vec::new() };
    }
    let (marked, braces) = macros.table.braces(given);
    let done = expand(marked.as_ref().unwrap_or(given), braces, macros, &limits);
    match macros.table.after(&done.text) {
        Some(text) if !macros.has_ended() => ExpandedText { text: text.into(), ..done },
        _ => done,
    }
}

/// A block whose end has not been reached.
pub struct OpenStackBlock {
    block: usize,
    /// What stands behind its name.
    head: Arc<str>,
    /// What its operators make of the head.
    value: Value,
    holds: bool,
}

impl Macros<'_> {
    fn condition(&self, cond: Option<&Value>) -> Result<bool, String> {
        match cond {
            Some(Value::Rule(RuleRef::Cond(n))) => {
                pass_env(self.st, &PassMemo::of(self.pass)).condition_of_macro(*n).map_err(|fault| fault.message)
            }
            Some(other) => Ok(other.truthy()),
            None => Ok(true),
        }
    }

    fn cell(&self, cell: &Value) -> Result<Value, String> {
        super::call::MacroContext::value(self, cell)
    }

    /// The words of a head: what stands between its blanks, without what belongs to the name.
    fn words(&self, head: &str) -> Vec<Value> {
        let words: Vec<Value> = head.split(' ').skip(1).map(Value::text).collect();
        self.st.usage.count_steps(words.len());
        words
    }

    fn head(&self, open: &OpenStackBlock) -> Map {
        let separated = self.table.syntax().separator_at(&open.head);
        let args: Vec<Value> = separated.map_or_else(Vec::new, |sep| open.head.split(sep).skip(1).map(Value::text).collect());
        let cells = [
            ("head", Value::Text(open.head.clone())),
            ("words", Value::list(self.words(&open.head))),
            ("args", Value::list(args)),
            ("value", open.value.clone()),
            ("holds", Value::Bool(open.holds)),
        ];
        cells.into_iter().map(|(key, value)| (Arc::from(key), value)).collect()
    }

    /// Reduces what separators part in a head, from the right: the last piece is a value, and the one before it an operator.
    fn reduced(&self, open: &mut OpenStackBlock) -> Result<(), String> {
        let Some(sep) = self.table.syntax().separator_at(&open.head) else { return Ok(()) };
        let mut pieces: Vec<Arc<str>> = open.head.split(sep).skip(1).map(Arc::from).collect();
        let of = self.table.blocks.get(open.block);
        while pieces.len() > 1 {
            let right = pieces.pop();
            let word = pieces.pop().unwrap_or_default();
            let Some(operator) = of.and_then(|of| of.operator(&word)) else {
                return Err(format!("there is no operator `{word}`"));
            };
            let left = if operator.two { pieces.pop() } else { None };
            if let Some(result) = self.operated(operator, left, right)? {
                pieces.push(result);
            }
            if let Some(becomes) = operator.becomes {
                open.block = becomes;
            }
        }
        open.value = pieces.pop().map_or(Value::Null, Value::Text);
        Ok(())
    }

    fn operated(&self, operator: &HeadOperator, left: Option<Arc<str>>, right: Option<Arc<str>>) -> Result<Option<Arc<str>>, String> {
        let value = |text: Option<Arc<str>>| match text {
            Some(text) if operator.numbers => {
                let number = js::leading_number(&text);
                if number.is_nan() { Value::Null } else { js::value(number) }
            }
            text => text.map_or(Value::Null, Value::Text),
        };
        let given = [("left", value(left)), ("right", value(right))];
        let given = given.into_iter().map(|(key, value)| (Arc::from(key), value)).collect();
        self.with_arguments(given, || match (&operator.that, &operator.read) {
            (Some(that), _) => Ok(Some(if self.condition(Some(that))? { "1".into() } else { "0".into() })),
            (None, Some(read)) => Ok(Some(self.cell(read)?.shown())),
            (None, None) => Ok(None),
        })
    }

    /// The condition of a block; `None` if the tag does not begin it.
    fn begun(&self, block: usize, name: &str, tag: &str) -> Result<Option<OpenStackBlock>, String> {
        let head: Arc<str> = tag.get(name.len()..).unwrap_or_default().into();
        let mut open = OpenStackBlock { block, head, value: Value::Null, holds: true };
        let Some(row) = self.table.blocks.get(block) else { return Ok(None) };
        let words = self.words(&open.head);
        if words.len() < row.words || !self.condition(row.when.as_ref())? {
            return Ok(None);
        }
        let separated = row.has_operators() && self.table.syntax().separator_at(&open.head).is_some();
        match separated {
            true => self.reduced(&mut open)?,
            false => open.value = words.into_iter().next().unwrap_or_default(),
        }
        if let Some(that) = self.table.blocks.get(open.block).and_then(|row| row.that.as_ref()) {
            open.holds = self.with_arguments(self.head(&open), || self.condition(Some(that)))?;
        }
        Ok(Some(open))
    }

    /// The value of a block.
    fn block_value(&self, open: &OpenStackBlock, row: &BlockRule, body: &str) -> Result<Option<Arc<str>>, String> {
        let (first, second) = row.marker.as_ref().map_or((body, None), |marker| parted(body, marker, row.alone));
        let chosen = if open.holds { Some(first) } else { second };
        let cell = match (open.holds, &row.otherwise) {
            (false, Some(otherwise)) => Some(otherwise),
            (false, None) if second.is_none() => return Ok(Some("".into())),
            _ => row.read.as_ref(),
        };
        let chosen = chosen.unwrap_or_default();
        if cell.is_none() && row.keep.is_none() {
            return Ok(Some(chosen.into()));
        }
        let mut given = self.head(open);
        let cells = [("body", first), ("otherwise", second.unwrap_or_default()), ("whole", body), ("chosen", chosen)];
        given.extend(cells.into_iter().map(|(key, text)| (Arc::from(key), Value::text(text))));
        self.with_arguments(given, || {
            let value = cell.map_or_else(|| Ok(Value::text(chosen)), |cell| self.cell(cell))?.shown();
            let Some(keep) = &row.keep else { return Ok(Some(value)) };
            let name = self.cell(keep)?.shown();
            self.st.put(&[KEPT.into(), name], Value::Text(value));
            Ok(None)
        })
    }

    fn closed(&self, open: &OpenStackBlock, body: &str) -> BlockResult {
        let Some(row) = self.table.blocks.get(open.block) else { return BlockResult::Text("".into()) };
        match self.block_value(open, row, body) {
            Ok(Some(value)) if row.again => BlockResult::Again(value),
            Ok(value) => BlockResult::Text(value.unwrap_or_default()),
            Err(why) => BlockResult::Failed(format!("block `{}` is left as it is: {why}", row.name)),
        }
    }
}

/// The parts of a body before and after its marker.
fn parted<'b>(body: &'b str, marker: &str, alone: bool) -> (&'b str, Option<&'b str>) {
    if !alone || !body.contains('\n') {
        return body.split_once(marker).map_or((body, None), |(first, second)| (first, Some(second)));
    }
    let mut from = 0;
    for line in body.split_inclusive('\n') {
        if js::trim(line) == marker {
            // the line break before the marker belongs to its line, as does the one behind it
            let first = body.get(..from).map(|first| first.strip_suffix('\n').unwrap_or(first));
            return (first.unwrap_or_default(), Some(body.get(from + line.len()..).unwrap_or_default()));
        }
        from += line.len();
    }
    (body, None)
}

impl StackHost for Macros<'_> {
    type Block = OpenStackBlock;

    fn opens(&self, first: char) -> bool {
        self.table.syntax().openers.contains(first)
    }

    fn ends(&self, tag: &str) -> bool {
        let closer = self.table.syntax().closer;
        tag.strip_prefix(closer).is_some_and(|rest| !rest.starts_with(closer))
    }

    fn begin(&self, tag: &str) -> Option<OpeningTag<OpenStackBlock>> {
        let block = self.table.blocks.find(tag).filter(|_| !self.is_spent())?;
        let row = self.table.blocks.get(block)?;
        match self.begun(block, &row.name, tag) {
            Ok(open) => open.map(|open| {
                let [raw, raw_else] = self.table.blocks.get(open.block).map_or([false; 2], |row| row.raw);
                let raw = if open.holds { raw } else { raw_else };
                OpeningTag { block: open, raw }
            }),
            Err(why) => {
                self.st.warn(crate::diag::Code::MacroFailed, format!("`{{{{{tag}}}}}` begins no block: {why}"));
                None
            }
        }
    }

    fn end(&self, open: &OpenStackBlock, body: &str) -> BlockResult {
        self.closed(open, body)
    }

    fn mark(&self) -> Option<u8> {
        self.table.syntax().inline
    }

    fn unclosed(&self, tag: Option<&str>) -> Arc<str> {
        let written = || tag.map_or_else(|| "".into(), |tag| format!("{{{{{tag}}}}}").into());
        self.table.syntax().unclosed.as_ref().map_or_else(written, |mark| Arc::from(mark.as_ref()))
    }

    fn inline(&self, tag: &str) -> Option<BlockResult> {
        let (line, body) = tag.split_once('\n')?;
        let name = line.split(' ').next().unwrap_or_default();
        let block = self.table.blocks.inline(name).filter(|_| !self.is_spent())?;
        match self.begun(block, name, line) {
            Ok(open) => Some(self.closed(&open?, body)),
            Err(why) => Some(BlockResult::Failed(why)),
        }
    }

    fn call(&self, tag: &str, at: TextOffset) -> MacroResult {
        let syntax = self.table.syntax();
        let own = |text: &str| -> Arc<str> { if syntax.trim { js::trim(text).into() } else { text.into() } };
        if let Some((row, rest)) = self.table.starting(tag) {
            let args = if row.shape.most > 0 { vec![own(rest)] } else { Vec::new() };
            return self.asked(&row.name, Some(row.id), &args, tag, at);
        }
        let separator = syntax.first_separator(tag);
        let name = separator.map_or(tag, |(end, _)| tag.get(..end).unwrap_or_default());
        let found = if name.len() > limits::NAME_BYTES { None } else { self.table.find(name) };
        if found.is_none() && !self.table.engine.empties && self.knows_rows_only() {
            return MacroResult::Unknown;
        }
        let most = found.map_or(usize::MAX, |found| found.shape.most);
        let args = separator.map_or_else(Vec::new, |(end, sep)| {
            let args = tag.get(end + sep.len()..).unwrap_or_default();
            // arguments that the macro does not take are left out
            args.split(sep).take(most).map(own).collect()
        });
        self.st.usage.count_steps(args.len());
        self.asked(name, found.map(|found| found.id), &args, tag, at)
    }

    fn ended(&self) -> Option<Arc<str>> {
        MacroHost::ended(self)
    }

    fn take_steps(&self) -> usize {
        self.st.usage.take_steps()
    }
}

impl Macros<'_> {
    fn asked(&self, name: &str, id: Option<u32>, args: &[Arc<str>], written: &str, at: TextOffset) -> MacroResult {
        let (branches, source) = (&[], &self.given);
        let called = MacroCall { name, id, args, written, branches, block: false, keeps: false, at, origin: (0, 0), source, walk: None };
        MacroHost::call(self, &called)
    }
}
