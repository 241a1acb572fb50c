//! The behaviour of the tags while a template is rendered. The cost of all output and iterations is counted.

use std::io::Write;

use liquid_core::runtime::{Interrupt, InterruptRegister};
use liquid_core::{Renderable, Result, Runtime};

use super::expr::Operand;
use super::state::{NameRuntime, state, with};
use super::tags::{LoopOffset, LoopTag, TagBody, TagCondition, TagNode};
use super::val::{self, LiquidValue};
use super::{BoundedPage, HANDED};
use crate::model::Value;

impl Renderable for TagNode {
    fn render_to(&self, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        if let TagBody::Page(body) = &self.what {
            *state(runtime) = HANDED.take();
            return body.render_to(writer, &NameRuntime(runtime));
        }
        with(runtime, |state| {
            state.at = self.at;
            state.pay(1)
        })?;
        match &self.what {
            TagBody::Page(body) => return body.render_to(writer, runtime),
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
