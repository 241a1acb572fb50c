//! Rendering: one walk over the nodes, with a stack of the values that blocks enter.

use std::sync::Arc;

use super::{LIMITS, TagArg, TagBlock, TagCall, TagPath, TemplateNode};
use crate::model::Value;
use crate::text::truthiness::handlebars as truthy;
use crate::text::written::ToText as _;
use crate::text::{Mistake, StepBound, StepCounter, TextLimits, work};

/// The values of `@key` and similar names in an iteration of `each`.
#[derive(Clone, Default)]
struct EachRound {
    key: Value,
    index: Value,
    first: Value,
    last: Value,
}

/// One rendering.
pub(super) struct TemplateRun<'r> {
    /// The values that blocks have entered; the template's table is the first.
    contexts: Vec<Value>,
    rounds: Vec<EachRound>,
    /// The template as written.
    source: &'r str,
    unknown: &'r mut dyn FnMut(&str) -> Arc<str>,
    limits: TextLimits,
    out: String,
    depth: usize,
    /// The number of rendered pieces and iterations.
    steps: StepCounter,
}

type RenderResult<T> = Result<T, Mistake>;

impl<'r> TemplateRun<'r> {
    pub(super) fn new(root: &Value, source: &'r str, unknown: &'r mut dyn FnMut(&str) -> Arc<str>, limits: TextLimits) -> Self {
        // most texts are about as long as their templates
        let out = String::with_capacity(source.len());
        Self {
            contexts: vec![root.clone()],
            rounds: Vec::new(),
            source,
            unknown,
            limits,
            out,
            depth: 0,
            steps: limits.counter(work::STEPS_PER_OPERATION),
        }
    }

    pub(super) fn run(mut self, nodes: &[TemplateNode]) -> RenderResult<String> {
        self.nodes(nodes)?;
        Ok(self.out)
    }

    fn nodes(&mut self, nodes: &[TemplateNode]) -> RenderResult<()> {
        for node in nodes {
            self.step(0)?;
            match node {
                TemplateNode::Text(text) => self.out.push_str(text),
                TemplateNode::Put(call) => {
                    // the usual case copies nothing
                    if call.path.simple
                        && !call.path.data
                        && call.args.is_empty()
                        && call.named.is_empty()
                        && let Some(Value::Text(text)) = call.path.parts.first().and_then(|n| self.contexts.last()?.get(n))
                        && !call.path.helper
                    {
                        self.out.push_str(text);
                    } else {
                        let value = self.call(call)?;
                        self.put(&value);
                    }
                    self.room(call.offset)?;
                }
                TemplateNode::Field { name, tag } => {
                    match self.contexts.last().and_then(Value::as_map).and_then(|fields| fields.get(&**name)) {
                        Some(Value::Text(text)) => self.out.push_str(text),
                        Some(other) => {
                            let value = other.clone();
                            self.put(&value);
                        }
                        None => self.out.push_str(self.source.get(tag.clone()).unwrap_or_default()),
                    }
                    self.room(tag.start)?;
                }
                TemplateNode::Block(block) => self.block(block)?,
            }
        }
        Ok(())
    }

    /// Counts a step. Nested loops can do much work without output, so work and output are both bounded.
    #[inline]
    fn step(&mut self, offset: usize) -> RenderResult<()> {
        self.steps.count(1).map_err(|bound| self.stopped(offset, bound))?;
        self.room(offset)
    }

    #[inline]
    fn room(&self, offset: usize) -> RenderResult<()> {
        if self.out.len() > self.limits.output { Err(self.too_long(offset)) } else { Ok(()) }
    }

    #[cold]
    fn stopped(&self, offset: usize, bound: StepBound) -> Mistake {
        let steps = self.limits.steps;
        Mistake::bound(offset, bound.message(|| format!("the template takes more than {steps} steps; are loops nested in it?")))
    }

    #[cold]
    fn too_long(&self, offset: usize) -> Mistake {
        Mistake::bound(offset, format!("the rendered text is longer than {} bytes", self.limits.output))
    }

    fn put(&mut self, value: &Value) {
        match value {
            Value::Null => {}
            Value::Text(text) => self.out.push_str(text),
            Value::Map(_) => self.out.push_str("[object Object]"),
            Value::List(list) => {
                for (n, value) in list.iter().enumerate() {
                    // a list may hold one text many times; the check of the length follows
                    if self.out.len() > self.limits.output {
                        return;
                    }
                    self.out.push_str(if n == 0 { "" } else { "," });
                    self.out.push_str(&value.shown());
                }
            }
            other => self.out.push_str(&other.shown()),
        }
    }

    /// The value of a call in a text or as an argument.
    fn call(&mut self, call: &TagCall) -> RenderResult<Value> {
        if !call.args.is_empty() || !call.named.is_empty() {
            return self.helper(call);
        }
        if !call.path.simple {
            return Ok(self.value(&call.path));
        }
        if call.path.helper {
            return self.helper(call);
        }
        match self.value(&call.path) {
            Value::Null => Ok(self.ask(call)),
            value => Ok(value),
        }
    }

    fn ask(&mut self, call: &TagCall) -> Value {
        Value::Text((self.unknown)(&call.path.name))
    }

    fn helper(&mut self, call: &TagCall) -> RenderResult<Value> {
        let args = self.args(call)?;
        match (&*call.path.name, &args[..]) {
            ("trim", _) if call.path.simple => Ok(Value::text("{{trim}}")),
            ("log", _) if call.path.simple => Ok(Value::Null),
            ("lookup", [of, key]) if call.path.simple => Ok(if truthy(of) { property(of, &key.shown()) } else { of.clone() }),
            (name, _) if call.path.helper => {
                Err(Mistake::at(call.offset, format!("`{name}` is not used as a block, or does not have exactly one argument")))
            }
            _ if truthy(&self.value(&call.path)) => {
                Err(Mistake::at(call.offset, format!("`{}` is a field and takes no arguments", call.path.name)))
            }
            _ => Ok(self.ask(call)),
        }
    }

    fn args(&mut self, call: &TagCall) -> RenderResult<Vec<Value>> {
        let named = call.named.iter().map(|(_, arg)| arg);
        let values = call.args.iter().chain(named).map(|arg| self.arg(arg)).collect::<RenderResult<Vec<_>>>()?;
        Ok(values.into_iter().take(call.args.len()).collect())
    }

    fn arg(&mut self, arg: &TagArg) -> RenderResult<Value> {
        match arg {
            TagArg::Path(path) => Ok(self.value(path)),
            TagArg::Value(value) => Ok(value.clone()),
            // a call in brackets always calls a helper
            TagArg::Call(call) => self.helper(call),
        }
    }

    fn value(&self, path: &TagPath) -> Value {
        if path.data {
            return self.data(path);
        }
        let Some(base) = (self.contexts.len() - 1).checked_sub(path.up).and_then(|n| self.contexts.get(n)) else { return Value::Null };
        path.parts.iter().fold(base.clone(), |value, part| property(&value, part))
    }

    fn data(&self, path: &TagPath) -> Value {
        let Some(round) = self.rounds.len().checked_sub(path.up + 1).and_then(|n| self.rounds.get(n)) else {
            return self.root(path);
        };
        match path.parts.first().map(|p| &**p) {
            Some("key") => round.key.clone(),
            Some("index") => round.index.clone(),
            Some("first") => round.first.clone(),
            Some("last") => round.last.clone(),
            _ => self.root(path),
        }
    }

    fn root(&self, path: &TagPath) -> Value {
        match (path.parts.split_first(), self.contexts.first()) {
            (Some((first, rest)), Some(root)) if &**first == "root" => rest.iter().fold(root.clone(), |v, part| property(&v, part)),
            _ => Value::Null,
        }
    }

    fn block(&mut self, block: &TagBlock) -> RenderResult<()> {
        let call = &block.call;
        let word = if call.path.helper { &*call.path.name } else { "" };
        match word {
            "if" | "unless" => {
                let holds = match self.glance(call) {
                    Some(holds) => holds,
                    None => {
                        let value = self.one(call)?;
                        truthy(&value) || (value.as_f64() == Some(0.0) && truthy(&self.named(call, "includeZero")?))
                    }
                };
                self.branch(if holds == (word == "if") { &block.then } else { &block.otherwise })
            }
            "each" => {
                let value = self.one(call)?;
                self.each(&value, block)
            }
            "with" => {
                let value = self.one(call)?;
                if truthy(&value) || value.as_f64() == Some(0.0) { self.within(value, &block.then) } else { self.branch(&block.otherwise) }
            }
            _ if !call.args.is_empty() || !call.named.is_empty() || call.path.helper => {
                let value = self.helper(call)?;
                self.put(&value);
                Ok(())
            }
            _ => {
                let value = self.call(call)?;
                self.section(&value, block)
            }
        }
    }

    /// A block that is named after a value.
    fn section(&mut self, value: &Value, block: &TagBlock) -> RenderResult<()> {
        match value {
            Value::Bool(true) => self.branch(&block.then),
            Value::Bool(false) | Value::Null => self.branch(&block.otherwise),
            Value::List(_) => self.each(value, block),
            other => self.within(other.clone(), &block.then),
        }
    }

    /// Whether the single field that a block tests is true, if that can be found out without a copy.
    fn glance(&self, call: &TagCall) -> Option<bool> {
        let ([TagArg::Path(path)], []) = (&call.args[..], &call.named[..]) else { return None };
        let fields = self.contexts.last()?.as_map().filter(|_| path.simple && !path.data)?;
        Some(fields.get(&**path.parts.first()?).is_some_and(truthy))
    }

    fn one(&mut self, call: &TagCall) -> RenderResult<Value> {
        if let ([arg], []) = (&call.args[..], &call.named[..]) {
            return self.arg(arg);
        }
        match &self.args(call)?[..] {
            [value] => Ok(value.clone()),
            _ => Err(Mistake::at(call.offset, format!("`#{}` takes one argument", call.path.name))),
        }
    }

    fn named(&mut self, call: &TagCall, name: &str) -> RenderResult<Value> {
        match call.named.iter().find(|(key, _)| &**key == name) {
            Some((_, arg)) => self.arg(arg),
            None => Ok(Value::Null),
        }
    }

    fn each(&mut self, value: &Value, block: &TagBlock) -> RenderResult<()> {
        let rows: Vec<(Value, Value)> = match value {
            Value::List(list) => (0_i64..).zip(list.iter()).map(|(n, v)| (Value::Int(n), v.clone())).collect(),
            Value::Map(map) => map.iter().map(|(key, v)| (Value::Text(key.clone()), v.clone())).collect(),
            _ => Vec::new(),
        };
        if rows.is_empty() {
            return self.branch(&block.otherwise);
        }
        let last = rows.len() - 1;
        for ((n, (key, value)), index) in rows.into_iter().enumerate().zip(0_i64..) {
            self.step(block.call.offset)?;
            self.rounds.push(EachRound { key, index: Value::Int(index), first: Value::Bool(n == 0), last: Value::Bool(n == last) });
            let done = self.within(value, &block.then);
            self.rounds.pop();
            done?;
        }
        Ok(())
    }

    /// Runs nodes in a value. Entering the current value again adds no level, so `..` does not lead out of it.
    fn within(&mut self, value: Value, nodes: &Option<Vec<TemplateNode>>) -> RenderResult<()> {
        if self.contexts.last().is_some_and(|now| is_same(now, &value)) {
            return self.branch(nodes);
        }
        self.contexts.push(value);
        let done = self.branch(nodes);
        self.contexts.pop();
        done
    }

    fn branch(&mut self, nodes: &Option<Vec<TemplateNode>>) -> RenderResult<()> {
        let Some(nodes) = nodes else { return Ok(()) };
        if self.depth > LIMITS.depth {
            return Err(Mistake::bound(0, format!("blocks are nested deeper than {}", LIMITS.depth)));
        }
        self.depth += 1;
        let done = self.nodes(nodes);
        self.depth -= 1;
        done
    }
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
        (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        _ => a.as_f64().is_some_and(|a| b.as_f64() == Some(a)),
    }
}

/// A field of a table, an element of a list, a character of a text, or their length.
fn property(value: &Value, name: &str) -> Value {
    let place = name.parse::<usize>().ok();
    match value {
        Value::Map(map) => map.get(name).cloned().unwrap_or_default(),
        Value::Text(text) if name == "length" => Value::Int(i64::try_from(text.encode_utf16().count()).unwrap_or(i64::MAX)),
        Value::Text(text) => place.and_then(|n| text.chars().nth(n)).map(|c| Value::text(c.to_string())).unwrap_or_default(),
        Value::List(list) if name == "length" => Value::Int(i64::try_from(list.len()).unwrap_or(i64::MAX)),
        Value::List(list) => place.and_then(|n| list.get(n)).cloned().unwrap_or_default(),
        _ => Value::Null,
    }
}
