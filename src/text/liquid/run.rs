//! Rendering: the tree walked once from left to right, with an account of work from which everything is paid.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::expr::{Arm, Filtered, Loop, Node, Offset, Op, Operand, Root, Step, Trouble, What, whole};
use super::val::{self, Val};
use super::{MOST_ELEMENTS, Options, filters};
use crate::model::{Map, Value};

type Done = Result<(), Trouble>;

/// Why the walk goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Break,
    Continue,
}

/// One loop that runs, or a filter that looks at one element.
struct Turn {
    name: Arc<str>,
    value: Val,
    /// Which turn of how many, and the columns of a table.
    place: Option<(usize, usize, Option<usize>)>,
}

/// A rendering under way.
pub(super) struct Run<'a> {
    names: &'a Value,
    options: &'a Options,
    left: usize,
    assigned: FxHashMap<Arc<str>, Val>,
    counted: FxHashMap<Arc<str>, Val>,
    cycles: FxHashMap<Arc<str>, usize>,
    /// How far loops over the same list came.
    came: FxHashMap<String, usize>,
    turns: Vec<Turn>,
    stop: Option<Stop>,
}

pub(super) fn render(nodes: &[Node], names: &Value, options: &Options) -> Result<String, Trouble> {
    let mut run = Run {
        names,
        options,
        left: options.steps,
        assigned: FxHashMap::default(),
        counted: FxHashMap::default(),
        cycles: FxHashMap::default(),
        came: FxHashMap::default(),
        turns: Vec::new(),
        stop: None,
    };
    let mut out = String::new();
    run.nodes(nodes, &mut out)?;
    Ok(out)
}

impl Run<'_> {
    /// Takes work from the account.
    pub(super) fn pay(&mut self, at: usize, units: usize) -> Done {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Trouble::bound(at, format!("the template takes more than {} steps", self.options.steps))),
        }
    }

    /// Pays for a text of so many bytes, unless it is too long.
    pub(super) fn pay_text(&mut self, at: usize, bytes: usize) -> Done {
        if bytes > self.options.output {
            return Err(Trouble::bound(at, format!("a text would be longer than {} bytes", self.options.output)));
        }
        self.pay(at, bytes / 32)
    }

    /// Pays for a list of so many elements, unless it is too long.
    pub(super) fn pay_list(&mut self, at: usize, elements: usize) -> Done {
        if elements > MOST_ELEMENTS {
            return Err(Trouble::bound(at, format!("a list would have {elements} elements, more than {MOST_ELEMENTS}")));
        }
        self.pay(at, elements)
    }

    /// Depth is bounded by the nesting of blocks.
    fn nodes(&mut self, nodes: &[Node], out: &mut String) -> Done {
        for node in nodes {
            self.node(node, out)?;
            if self.stop.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn write(&mut self, at: usize, text: &str, out: &mut String) -> Done {
        if out.len() + text.len() > self.options.output {
            return Err(Trouble::bound(at, format!("the rendered text is longer than {} bytes", self.options.output)));
        }
        self.pay(at, text.len() / 32)?;
        out.push_str(text);
        Ok(())
    }

    fn node(&mut self, node: &Node, out: &mut String) -> Done {
        self.pay(node.at, 1)?;
        match &node.what {
            What::Text(text) => self.write(node.at, text, out),
            What::Output(value) => {
                let value = self.filtered(value)?;
                let text = self.printed(node.at, &value)?;
                self.write(node.at, &text, out)
            }
            What::Assign { name, value } => {
                let value = self.filtered(value)?;
                self.assigned.insert(name.clone(), value);
                Ok(())
            }
            What::Capture { name, body } => {
                let mut text = String::new();
                self.nodes(body, &mut text)?;
                self.assigned.insert(name.clone(), Val::text(text));
                Ok(())
            }
            What::If { arms, otherwise } => self.choose(arms, otherwise, out),
            What::Case { target, arms, otherwise } => self.case(target, arms, otherwise, out),
            What::Loop(each) => self.each(node.at, each, out),
            What::Cycle { group, items, written } => self.cycle(node.at, (group.as_ref(), items, written), out),
            What::Count { name, by } => self.count(node.at, name, *by, out),
            What::Break => {
                self.stop = Some(Stop::Break);
                Ok(())
            }
            What::Continue => {
                self.stop = Some(Stop::Continue);
                Ok(())
            }
        }
    }

    /// A value as text. A list may print as very much: that is paid before it is made.
    pub(super) fn printed(&mut self, at: usize, value: &Val) -> Result<Arc<str>, Trouble> {
        fn length(value: &Value, left: usize) -> usize {
            match value {
                Value::Text(text) => text.len(),
                Value::List(list) => list.iter().fold(0, |sum, v| if sum > left { sum } else { sum + 1 + length(v, left - sum) }),
                _ => 16,
            }
        }
        if let Val::Is(list @ Value::List(_)) = value {
            let bytes = length(list, self.options.output);
            self.pay_text(at, bytes)?;
        }
        Ok(value.print())
    }

    fn choose(&mut self, arms: &[Arm], otherwise: &[Node], out: &mut String) -> Done {
        for arm in arms {
            if self.filtered(&arm.when)?.truthy() == arm.wanted {
                return self.nodes(&arm.body, out);
            }
        }
        self.nodes(otherwise, out)
    }

    fn case(&mut self, target: &Filtered, arms: &[(Vec<Operand>, Vec<Node>)], otherwise: &[Node], out: &mut String) -> Done {
        let at = target.at;
        let target = self.filtered(target)?;
        let mut hit = false;
        for (values, body) in arms {
            for value in values {
                let value = self.operand(value)?;
                let mut seen = 0;
                let equal = val::equals(&value, &target, &mut seen);
                self.pay(at, seen)?;
                if equal {
                    hit = true;
                    self.nodes(body, out)?;
                    break;
                }
            }
            if self.stop.is_some() {
                return Ok(());
            }
        }
        if hit { Ok(()) } else { self.nodes(otherwise, out) }
    }

    fn count(&mut self, at: usize, name: &Arc<str>, by: i64, out: &mut String) -> Done {
        let old = self.counted.get(name).cloned().or_else(|| self.names.get(name).cloned().map(Val::Is));
        let old = match old {
            Some(Val::Is(value @ (Value::Int(_) | Value::Num(_)))) => value.as_i64().unwrap_or(0),
            _ => 0,
        };
        let new = old.saturating_add(by);
        self.counted.insert(name.clone(), Val::Is(Value::Int(new)));
        let shown = if by > 0 { old } else { new };
        self.write(at, &shown.to_string(), out)
    }

    fn cycle(&mut self, at: usize, (group, items, written): (Option<&Operand>, &[Operand], &str), out: &mut String) -> Done {
        let key = match group {
            Some(group) => {
                let group = self.operand(group)?;
                self.printed(at, &group)?
            }
            None => written.into(),
        };
        let turn = self.cycles.entry(key).or_default();
        let now = *turn;
        *turn = (now + 1) % items.len().max(1);
        let Some(item) = items.get(now) else { return Ok(()) };
        let value = self.operand(item)?;
        let text = self.printed(at, &value)?;
        self.write(at, &text, out)
    }

    fn each(&mut self, at: usize, each: &Loop, out: &mut String) -> Done {
        let over = self.operand(&each.over)?;
        let key = format!("{} {}", each.name, each.written);
        let offset = match &each.offset {
            None => 0,
            Some(Offset::Continue) => self.came.get(&key).copied().unwrap_or(0),
            Some(Offset::Given(offset)) => usize::try_from(whole(&self.operand(offset)?)).unwrap_or(0),
        };
        let limit = match &each.limit {
            None => usize::MAX,
            Some(limit) => match self.operand(limit)? {
                value if value.is_nil() => usize::MAX,
                value => usize::try_from(whole(&value)).unwrap_or(0),
            },
        };
        let mut chosen = turns(&over, offset, limit);
        self.came.insert(key, offset.saturating_add(chosen.len()));
        if each.reversed {
            chosen.reverse();
        }
        let columns = match &each.table {
            None => None,
            Some(None) => Some(chosen.len()),
            Some(Some(columns)) => Some(usize::try_from(whole(&self.operand(columns)?)).unwrap_or(0)),
        };
        if chosen.is_empty() {
            return self.nodes(&each.otherwise, out);
        }
        self.turns.push(Turn { name: each.name.clone(), value: Val::Missing, place: None });
        let done = self.all_turns(at, each, chosen, columns.map(|n| n.max(1)), out);
        self.turns.pop();
        done
    }

    fn all_turns(&mut self, at: usize, each: &Loop, chosen: Vec<Value>, columns: Option<usize>, out: &mut String) -> Done {
        let count = chosen.len();
        for (n, value) in chosen.into_iter().enumerate() {
            self.pay(at, 1)?;
            if let Some(turn) = self.turns.last_mut() {
                turn.value = Val::Is(value);
                turn.place = Some((n, count, columns));
            }
            if let Some(columns) = columns {
                let row = if n == 0 { "" } else { "</tr>" };
                let row = if n % columns == 0 { format!("{row}<tr class=\"row{}\">", n / columns + 1) } else { String::new() };
                self.write(at, &format!("{row}<td class=\"col{}\">", n % columns + 1), out)?;
            }
            self.nodes(&each.body, out)?;
            if columns.is_some() {
                self.write(at, "</td>", out)?;
            }
            if self.stop.take() == Some(Stop::Break) {
                break;
            }
        }
        if columns.is_some() { self.write(at, "</tr>", out) } else { Ok(()) }
    }

    /// A value after its operators and filters.
    pub(super) fn filtered(&mut self, value: &Filtered) -> Result<Val, Trouble> {
        let mut now = self.steps(value.at, &value.postfix)?;
        for filter in &value.filters {
            now = filters::apply(self, filter, now)?;
        }
        Ok(now)
    }

    pub(super) fn steps(&mut self, at: usize, steps: &[Step]) -> Result<Val, Trouble> {
        // nearly all expressions are one operand
        if let [Step::Operand(operand)] = steps {
            return self.operand(operand);
        }
        let mut stack: Vec<Val> = Vec::new();
        for step in steps {
            let value = match step {
                Step::Operand(operand) => self.operand(operand)?,
                Step::Op(Op::Not) => Val::bool(!stack.pop().unwrap_or(Val::Missing).truthy()),
                Step::Op(op) => {
                    let right = stack.pop().unwrap_or(Val::Missing);
                    let left = stack.pop().unwrap_or(Val::Missing);
                    let mut seen = 1;
                    let truth = operate(*op, &left, &right, &mut seen);
                    self.pay(at, seen)?;
                    Val::bool(truth)
                }
            };
            stack.push(value);
        }
        Ok(stack.into_iter().next().unwrap_or(Val::Missing))
    }

    pub(super) fn operand(&mut self, operand: &Operand) -> Result<Val, Trouble> {
        match operand {
            Operand::Literal(value) => Ok(value.clone()),
            Operand::Range(ends, at) => {
                let (from, to) = (whole(&self.operand(&ends.0)?), whole(&self.operand(&ends.1)?));
                let count = to.saturating_sub(from).saturating_add(1).max(0);
                self.pay_list(*at, usize::try_from(count).unwrap_or(usize::MAX))?;
                Ok(Val::list((from..=to).map(Value::Int).collect()))
            }
            Operand::Path { root, keys, at } => {
                self.pay(*at, 1 + keys.len())?;
                let mut keys = keys.iter();
                let mut value = match root {
                    Root::Name(name) => self.name(name),
                    Root::Value(value) => self.operand(value)?,
                    Root::Computed => match keys.next() {
                        Some(key) => {
                            let name = self.operand(key)?;
                            let name = self.printed(*at, &name)?;
                            self.name(&name)
                        }
                        None => Val::Missing,
                    },
                };
                for key in keys {
                    let key = self.operand(key)?;
                    if let Val::Is(Value::Text(text)) = &value {
                        self.pay(*at, text.len() / 32)?;
                    }
                    value = value.property(&key);
                }
                if self.options.strict && matches!(value, Val::Missing) {
                    return Err(Trouble::new(*at, "there is no such name"));
                }
                Ok(value)
            }
        }
    }

    fn name(&self, name: &str) -> Val {
        for turn in self.turns.iter().rev() {
            if *turn.name == *name {
                return turn.value.clone();
            }
            match (name, turn.place) {
                ("forloop", Some((n, count, None))) => return Val::Is(about(n, count, None)),
                ("tablerowloop", Some((n, count, columns @ Some(_)))) => return Val::Is(about(n, count, columns)),
                _ => {}
            }
        }
        if let Some(value) = self.assigned.get(name).or_else(|| self.counted.get(name)) {
            return value.clone();
        }
        self.names.get(name).map_or(Val::Missing, |value| Val::Is(value.clone()))
    }

    /// Works something out with a name that stands for one element.
    pub(super) fn with<T>(&mut self, name: &Arc<str>, value: Value, work: impl FnOnce(&mut Self) -> T) -> T {
        self.turns.push(Turn { name: name.clone(), value: Val::Is(value), place: None });
        let done = work(self);
        self.turns.pop();
        done
    }
}

fn operate(op: Op, left: &Val, right: &Val, seen: &mut usize) -> bool {
    let order = || val::compare(left, right);
    match op {
        Op::Equal => val::equals(left, right, seen),
        Op::Unequal => !val::equals(left, right, seen),
        Op::Less => order().is_some_and(std::cmp::Ordering::is_lt),
        Op::LessEqual => order().is_some_and(std::cmp::Ordering::is_le),
        Op::Greater => order().is_some_and(std::cmp::Ordering::is_gt),
        Op::GreaterEqual => order().is_some_and(std::cmp::Ordering::is_ge),
        Op::Contains => val::contains(left, right, seen),
        Op::And => left.truthy() && right.truthy(),
        Op::Or => left.truthy() || right.truthy(),
        Op::Not => !right.truthy(),
    }
}

/// What a loop goes through: a list's elements, a table's pairs, a text as one.
fn turns(over: &Val, offset: usize, limit: usize) -> Vec<Value> {
    match over {
        Val::Is(Value::List(list)) => list.iter().skip(offset).take(limit).cloned().collect(),
        Val::Is(Value::Map(map)) => {
            let pairs = map.iter().skip(offset).take(limit);
            pairs.map(|(key, value)| Value::list(vec![Value::Text(key.clone()), value.clone()])).collect()
        }
        Val::Is(text @ Value::Text(_)) if !text.is_empty() && offset == 0 && limit > 0 => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// `forloop` and `tablerowloop`.
fn about(n: usize, count: usize, columns: Option<usize>) -> Value {
    let number = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let mut fields: Vec<(&str, Value)> = vec![
        ("length", number(count)),
        ("index", number(n + 1)),
        ("index0", number(n)),
        ("first", Value::Bool(n == 0)),
        ("last", Value::Bool(n + 1 == count)),
        ("rindex", number(count - n)),
        ("rindex0", number(count - n - 1)),
    ];
    if let Some(columns) = columns {
        fields.extend([
            ("row", number(n / columns + 1)),
            ("col", number(n % columns + 1)),
            ("col0", number(n % columns)),
            ("col_first", Value::Bool(n.is_multiple_of(columns))),
            ("col_last", Value::Bool((n + 1).is_multiple_of(columns) || n + 1 == count)),
        ]);
    }
    Value::map(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect::<Map>())
}
