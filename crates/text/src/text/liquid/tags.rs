//! The tags, as tags and blocks of the crate. The first word of each is its place in the template, for errors.

use std::io::Write;
use std::sync::Arc;

use liquid_core::parser::{BlockElement, TagReflection, TagToken};
use liquid_core::runtime::{Interrupt, InterruptRegister};
use liquid_core::{BlockReflection, Language, ParseBlock, ParseTag, Renderable, Result, Runtime, TagBlock, TagTokenIter, Template};

use super::expr::{Operand, PostfixExpr};
use super::filters::slot;
use super::state::{state, with};
use super::val::LiquidValue;
use super::{BoundedPage, val};
use crate::model::Value;

/// The tag whose value is the answer to a filter that evaluates an expression.
pub(super) const ANSWER: &str = "answer";

/// A tag as the crate knows it, and the tag that closes it.
#[derive(Clone, Copy)]
pub(super) struct LiquidTag(pub &'static str, pub &'static str);

/// Tags that stand alone.
pub(super) const ALONE: &[&str] = &["assign", "break", "continue", "cycle", "decrement", "echo", "increment"];

/// Tags that are closed by another.
pub(super) const BLOCKS: &[LiquidTag] = &[
    LiquidTag("capture", "endcapture"),
    LiquidTag("case", "endcase"),
    LiquidTag("for", "endfor"),
    LiquidTag("if", "endif"),
    LiquidTag("tablerow", "endtablerow"),
    LiquidTag("unless", "endunless"),
];

/// A tag of a template, and where it stands.
#[derive(Debug)]
pub(super) struct TagNode {
    pub at: usize,
    pub what: TagBody,
}

#[derive(Debug)]
pub(super) enum TagBody {
    Echo(PostfixExpr),
    Answer(PostfixExpr),
    Assign { name: usize, value: PostfixExpr },
    Capture { name: usize, body: Template },
    If { arms: Vec<(TagCondition, Template)>, otherwise: Template },
    Case { target: PostfixExpr, arms: Vec<(Vec<Operand>, Template)>, otherwise: Template },
    Loop(Box<LoopTag>),
    Cycle { group: Option<Operand>, items: Vec<Operand>, written: Arc<str> },
    Count { name: usize, by: i64 },
    Stop(Interrupt),
}

/// A condition and the truth value that it must have.
#[derive(Debug)]
pub(super) struct TagCondition(pub PostfixExpr, pub bool);

/// `for` and `tablerow`.
#[derive(Debug)]
pub(super) struct LoopTag {
    pub name: usize,
    pub over: Operand,
    /// The source text of `over`, which identifies the loop for `offset: continue`.
    pub written: Arc<str>,
    pub limit: Option<Operand>,
    pub offset: Option<LoopOffset>,
    pub reversed: bool,
    /// The columns of a `tablerow`; if not given, all are in one row.
    pub table: Option<Option<Operand>>,
    pub body: Template,
    pub otherwise: Template,
}

#[derive(Debug)]
pub(super) enum LoopOffset {
    Given(Operand),
    Continue,
}

fn nothing() -> Template {
    Template::new(Vec::new())
}

/// The number that the pre-scan wrote as the next word.
fn number(tokens: &mut TagTokenIter<'_>) -> Result<usize> {
    let number = tokens.expect_next("a number is missing here")?.expect_literal().into_result()?;
    Ok(slot(&number))
}

impl ParseTag for LiquidTag {
    fn parse(&self, mut tokens: TagTokenIter<'_>, language: &Language) -> Result<Box<dyn Renderable>> {
        let at = number(&mut tokens)?;
        let what = match self.0 {
            "assign" => {
                let name = number(&mut tokens)?;
                let sign = tokens.expect_next("`=` is missing here: `{% assign name = value %}`")?;
                sign.expect_str("=").into_result_custom_msg("`=` is missing here: `{% assign name = value %}`")?;
                TagBody::Assign { name, value: PostfixExpr::read(&mut tokens, language)? }
            }
            "break" => TagBody::Stop(Interrupt::Break),
            "continue" => TagBody::Stop(Interrupt::Continue),
            "cycle" => cycle(&mut tokens, language)?,
            "increment" => TagBody::Count { name: number(&mut tokens)?, by: 1 },
            "decrement" => TagBody::Count { name: number(&mut tokens)?, by: -1 },
            ANSWER => TagBody::Answer(PostfixExpr::read(&mut tokens, language)?),
            _ => TagBody::Echo(PostfixExpr::read(&mut tokens, language)?),
        };
        end(&mut tokens)?;
        Ok(Box::new(TagNode { at, what }))
    }

    fn reflection(&self) -> &dyn TagReflection {
        self
    }
}

impl TagReflection for LiquidTag {
    fn tag(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        ""
    }
}

impl ParseBlock for LiquidTag {
    fn parse(&self, mut tokens: TagTokenIter<'_>, mut block: TagBlock<'_, '_>, language: &Language) -> Result<Box<dyn Renderable>> {
        let at = number(&mut tokens)?;
        let what = match self.0 {
            "capture" => TagBody::Capture { name: number(&mut tokens)?, body: Template::new(block.parse_all(language)?) },
            "case" => case(&mut tokens, &mut block, language)?,
            "for" | "tablerow" => TagBody::Loop(Box::new(each(&mut tokens, &mut block, language, self.0 == "tablerow")?)),
            _ => choice(&mut tokens, &mut block, language, self.0 == "if")?,
        };
        end(&mut tokens)?;
        block.assert_empty();
        Ok(Box::new(TagNode { at, what }))
    }

    fn reflection(&self) -> &dyn BlockReflection {
        self
    }
}

impl BlockReflection for LiquidTag {
    fn start_tag(&self) -> &str {
        self.0
    }

    fn end_tag(&self) -> &str {
        self.1
    }

    fn description(&self) -> &str {
        ""
    }
}

fn end(tokens: &mut TagTokenIter<'_>) -> Result<()> {
    tokens.next().map_or(Ok(()), |token| Err(token.raise_custom_error("nothing may follow here")))
}

/// The elements up to a tag that divides the block, with the name and words of that tag; `None` at the end of the
/// block.
fn part<'a>(block: &mut TagBlock<'a, '_>, language: &Language) -> Result<(Template, Option<(String, TagTokenIter<'a>)>)> {
    let mut body = Vec::new();
    while let Some(element) = block.next()? {
        match element {
            BlockElement::Tag(tag) if matches!(tag.name(), "else" | "elsif" | "when") => {
                let (name, mut tokens) = (tag.name().to_owned(), tag.into_tokens());
                number(&mut tokens)?;
                return Ok((Template::new(body), Some((name, tokens))));
            }
            element => body.push(element.parse(block, language)?),
        }
    }
    Ok((Template::new(body), None))
}

/// The body of `else`, up to the end of the block. A second `else` ends it; what follows that one is never rendered.
fn otherwise(block: &mut TagBlock<'_, '_>, language: &Language) -> Result<Template> {
    let (body, mut next) = part(block, language)?;
    while next.is_some() {
        (_, next) = part(block, language)?;
    }
    Ok(body)
}

fn choice(tokens: &mut TagTokenIter<'_>, block: &mut TagBlock<'_, '_>, language: &Language, wanted: bool) -> Result<TagBody> {
    let mut when = TagCondition(PostfixExpr::read(tokens, language)?, wanted);
    let mut arms = Vec::new();
    loop {
        let (body, next) = part(block, language)?;
        arms.push((when, body));
        match next {
            None => return Ok(TagBody::If { arms, otherwise: nothing() }),
            Some((name, mut tokens)) if name == "elsif" => when = TagCondition(PostfixExpr::read(&mut tokens, language)?, true),
            Some(_) => return Ok(TagBody::If { arms, otherwise: otherwise(block, language)? }),
        }
    }
}

fn case(tokens: &mut TagTokenIter<'_>, block: &mut TagBlock<'_, '_>, language: &Language) -> Result<TagBody> {
    let target = PostfixExpr::read(tokens, language)?;
    // elements before the first `when` belong to no branch
    let (_, mut next) = part(block, language)?;
    let mut arms = Vec::new();
    loop {
        match next {
            Some((name, mut tokens)) if name == "when" => {
                let values = values(&mut tokens, language, "`when` needs values, separated by `,` or `or`")?;
                let (body, after) = part(block, language)?;
                arms.push((values, body));
                next = after;
            }
            Some(_) => return Ok(TagBody::Case { target, arms, otherwise: otherwise(block, language)? }),
            None => return Ok(TagBody::Case { target, arms, otherwise: nothing() }),
        }
    }
}

/// Values up to the end of the tag, with `,` or `or` between them.
fn values(tokens: &mut TagTokenIter<'_>, language: &Language, said: &str) -> Result<Vec<Operand>> {
    let mut values = vec![Operand::alone(tokens.expect_next(said)?, language)?];
    while let Some(mark) = tokens.next() {
        if !matches!(mark.as_str(), "," | "or") {
            return Err(mark.raise_custom_error(said));
        }
        values.extend(tokens.next().map(|token| Operand::alone(token, language)).transpose()?);
    }
    Ok(values)
}

fn cycle(tokens: &mut TagTokenIter<'_>, language: &Language) -> Result<TagBody> {
    const SAID: &str = "`cycle` needs values, separated by commas";
    let mut words: Vec<TagToken<'_>> = tokens.collect();
    let written = words.iter().map(TagToken::as_str).collect::<Vec<_>>().join(" ").into();
    let has_group = words.get(1).is_some_and(|word| word.as_str() == ":");
    let mut words = words.drain(..);
    let group = if has_group { words.next() } else { None };
    let group = group.map(|word| Operand::alone(word, language)).transpose()?;
    let mut items = Vec::new();
    let mut words = words.skip(usize::from(has_group));
    while let Some(word) = words.next() {
        items.push(Operand::alone(word, language)?);
        match words.next() {
            Some(mark) if mark.as_str() != "," => return Err(mark.raise_custom_error(SAID)),
            _ => {}
        }
    }
    if items.is_empty() { Err(tokens.raise_error(SAID)) } else { Ok(TagBody::Cycle { group, items, written }) }
}

fn each(tokens: &mut TagTokenIter<'_>, block: &mut TagBlock<'_, '_>, language: &Language, table: bool) -> Result<LoopTag> {
    let said = format!("`in` is missing here: `{{% {} name in list %}}`", if table { "tablerow" } else { "for" });
    let name = number(tokens)?;
    tokens.expect_next(&said)?.expect_str("in").into_result_custom_msg(&said)?;
    let over = tokens.expect_next("what to go through is missing behind `in`")?;
    let written = over.as_str().into();
    let over = Operand::alone(over, language)?;
    let (mut limit, mut offset, mut reversed) = (None, None, false);
    let mut table = table.then_some(None);
    while let Some(word) = tokens.next() {
        let key = word.as_str().to_owned();
        match key.as_str() {
            "," => {}
            "reversed" if table.is_none() => reversed = true,
            "limit" | "offset" | "cols" if key != "cols" || table.is_some() => {
                let said = format!("`{key}` is followed by a colon and a value");
                tokens.expect_next(&said)?.expect_str(":").into_result_custom_msg(&said)?;
                let given = tokens.expect_next(&said)?;
                let continues = given.as_str() == "continue";
                let given = Operand::alone(given, language)?;
                match key.as_str() {
                    "limit" => limit = Some(given),
                    "cols" => table = Some(Some(given)),
                    _ if continues => offset = Some(LoopOffset::Continue),
                    _ => offset = Some(LoopOffset::Given(given)),
                }
            }
            _ if table.is_some() => return Err(word.raise_custom_error("`limit:`, `offset:` or `cols:` may follow here")),
            _ => return Err(word.raise_custom_error("`limit:`, `offset:` or `reversed` may follow here")),
        }
    }
    let (body, next) = part(block, language)?;
    let otherwise = if next.is_some() { Template::new(block.parse_all(language)?) } else { nothing() };
    Ok(LoopTag { name, over, written, limit, offset, reversed, table, body, otherwise })
}

// The behaviour of the tags while a template is rendered. The cost of all output and iterations is counted.

impl Renderable for TagNode {
    fn render_to(&self, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        with(runtime, |state| {
            state.at = self.at;
            state.pay(1)
        })?;
        match &self.what {
            TagBody::Echo(value) => return print(&value.value(runtime)?, writer, runtime),
            TagBody::Answer(value) => {
                let value = value.value(runtime)?;
                state(runtime).answer = value;
            }
            TagBody::Assign { name, value } => {
                let value = value.value(runtime)?;
                state(runtime).assign(*name, value);
            }
            TagBody::Capture { name, body } => {
                let mut page = BoundedPage::new(&state(runtime).options.limits);
                body.render_to(&mut page, runtime)?;
                state(runtime).assign(*name, LiquidValue::text(page.text()));
            }
            TagBody::If { arms, otherwise } => {
                for (TagCondition(when, wanted), body) in arms {
                    if when.value(runtime)?.truthy() == *wanted {
                        return body.render_to(writer, runtime);
                    }
                }
                return otherwise.render_to(writer, runtime);
            }
            TagBody::Case { target, arms, otherwise } => {
                let target = target.value(runtime)?;
                let mut hit = false;
                for (values, body) in arms {
                    if is_one(&target, values, runtime)? {
                        hit = true;
                        body.render_to(writer, runtime)?;
                    }
                    if runtime.registers().get_mut::<InterruptRegister>().interrupted() {
                        return Ok(());
                    }
                }
                return if hit { Ok(()) } else { otherwise.render_to(writer, runtime) };
            }
            TagBody::Loop(each) => return each.render(self.at, writer, runtime),
            TagBody::Cycle { group, items, written } => {
                let key = match group {
                    Some(group) => {
                        let group = group.value(runtime)?;
                        with(runtime, |state| state.printed(&group))?
                    }
                    None => written.clone(),
                };
                let turn = state(runtime).cycle(key, items.len());
                return items.get(turn).map_or(Ok(()), |item| print(&item.value(runtime)?, writer, runtime));
            }
            TagBody::Count { name, by } => {
                let shown = state(runtime).count(*name, *by);
                return write(&shown.to_string(), writer, runtime);
            }
            TagBody::Stop(interrupt) => runtime.registers().get_mut::<InterruptRegister>().set(*interrupt),
        }
        Ok(())
    }
}

fn write(text: &str, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
    with(runtime, |state| {
        state.pay(text.len() / 32)?;
        let written = writer.write_all(text.as_bytes());
        written.or_else(|_| state.bound(format!("the rendered text is longer than {} bytes", state.options.limits.output)))
    })
}

fn print(value: &LiquidValue, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
    let text = with(runtime, |state| state.printed(value))?;
    write(&text, writer, runtime)
}

fn is_one(target: &LiquidValue, values: &[Operand], runtime: &dyn Runtime) -> Result<bool> {
    for given in values {
        let mut seen = 0;
        let equal = val::equals(&given.value(runtime)?, target, &mut seen);
        with(runtime, |state| state.pay(seen))?;
        if equal {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A count that a tag is given; a negative one counts as not given.
fn count(given: &Operand, runtime: &dyn Runtime) -> Result<Option<usize>> {
    let given = given.value(runtime)?;
    Ok(if given.is_nil() { None } else { Some(usize::try_from(given.whole()).unwrap_or(0)) })
}

impl LoopTag {
    fn render(&self, at: usize, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        let over = self.over.value(runtime)?;
        let name = state(runtime).name(self.name);
        let key = (name.clone(), self.written.clone());
        let offset = match &self.offset {
            None => 0,
            Some(LoopOffset::Continue) => state(runtime).came.get(&key).copied().unwrap_or(0),
            Some(LoopOffset::Given(offset)) => count(offset, runtime)?.unwrap_or(0),
        };
        let limit = self.limit.as_ref().map_or(Ok(None), |limit| count(limit, runtime))?;
        let turns = length(&over).saturating_sub(offset).min(limit.unwrap_or(usize::MAX));
        let columns = match &self.table {
            None => None,
            Some(None) => Some(turns),
            Some(Some(columns)) => Some(count(columns, runtime)?.unwrap_or(0)),
        };
        let columns = columns.map(|columns| columns.max(1));
        state(runtime).came.insert(key, offset.saturating_add(turns));
        if turns == 0 {
            return self.otherwise.render_to(writer, runtime);
        }
        state(runtime).begin(name);
        for n in 0..turns {
            let value = element(&over, offset + if self.reversed { turns - 1 - n } else { n });
            with(runtime, |state| {
                state.at = at;
                state.turn(LiquidValue::Is(value), Some((n, turns, columns)))
            })?;
            if let Some(columns) = columns {
                let row = if n == 0 { "" } else { "</tr>" };
                let row = if n % columns == 0 { format!("{row}<tr class=\"row{}\">", n / columns + 1) } else { String::new() };
                write(&format!("{row}<td class=\"col{}\">", n % columns + 1), writer, runtime)?;
            }
            self.body.render_to(writer, runtime)?;
            if columns.is_some() {
                write("</td>", writer, runtime)?;
            }
            if runtime.registers().get_mut::<InterruptRegister>().reset() == Some(Interrupt::Break) {
                break;
            }
        }
        state(runtime).turns.pop();
        if columns.is_some() { write("</tr>", writer, runtime) } else { Ok(()) }
    }
}

/// The number of iterations of a loop over a value: one for each element of a list or pair of a table, one for a text.
fn length(over: &LiquidValue) -> usize {
    match over {
        LiquidValue::Is(Value::List(list)) => list.len(),
        LiquidValue::Is(Value::Map(map)) => map.len(),
        LiquidValue::Is(Value::Text(text)) => usize::from(!text.is_empty()),
        _ => 0,
    }
}

fn element(over: &LiquidValue, n: usize) -> Value {
    match over {
        LiquidValue::Is(Value::List(list)) => list.get(n).cloned().unwrap_or_default(),
        LiquidValue::Is(Value::Map(map)) => {
            let pair = map.get_index(n).map(|(key, value)| vec![Value::Text(key.clone()), value.clone()]);
            Value::list(pair.unwrap_or_default())
        }
        other => other.value(),
    }
}
