//! Conditions that come from the data of a scene, compiled when they are evaluated.
//!
//! Conditions in rule files are read by the room `syntax`, which reports errors at positions in files. Data has no
//! such positions, and nothing in it is read as a reference, so this is a separate reader that works on values.

use std::sync::Arc;

use crate::model::{Map, Value};
use crate::text::pattern::Pattern;
use crate::text::script::Script;

use super::cond::{Cond, CondComparison, CondTest};
use super::expr::{Expr, FieldRef, PathRoot, PathSegment, ScenePath};
use super::rules::CompiledRules;

/// A condition from the data of a scene: `path = test`, `{ path, op, value }`, `all`, `any`, `not`, `rhai`, `host`.
/// Its values are data: nothing in them is read as a reference.
pub(super) fn compile(value: &Value, rules: &CompiledRules) -> Result<Cond, String> {
    part(value, rules, 0)
}

fn part(value: &Value, rules: &CompiledRules, depth: usize) -> Result<Cond, String> {
    match value {
        Value::Map(map) => table(map, rules, depth),
        other => Ok(Cond::Const(other.truthy())),
    }
}

fn table(map: &Map, rules: &CompiledRules, depth: usize) -> Result<Cond, String> {
    if depth > 32 {
        return Err("the condition is nested too deeply".into());
    }
    if let (Some(path), Some(op)) = (map.get("path").and_then(Value::as_str), map.get("op").and_then(Value::as_str)) {
        let value = map.get("value").cloned().unwrap_or_default();
        let test = if op == "eq" { test(&value)? } else { word_test(op, &value)? };
        return Ok(Cond::Test { subject: subject(path, rules), test, condition: false });
    }
    let mut all = Vec::new();
    for (key, value) in map {
        let list = || -> Result<Box<[Cond]>, String> { value.as_list().unwrap_or(&[]).iter().map(|v| part(v, rules, depth + 1)).collect() };
        all.push(match key.as_ref() {
            "all" => Cond::All(list()?),
            "any" => Cond::Any(list()?),
            "not" => Cond::Not(Box::new(part(value, rules, depth + 1)?)),
            "rhai" => Cond::Rhai(Arc::new(Script::compile(value.as_str().unwrap_or("")).map_err(|e| e.message)?)),
            "host" => Cond::Host(value.to_text()),
            path => path_test(path, value, rules, depth + 1)?,
        });
    }
    Ok(Cond::All(all.into()))
}

/// `path = test`, where a table may hold longer paths: `a.b = test` is `a = { b = test }`.
fn path_test(path: &str, value: &Value, rules: &CompiledRules, depth: usize) -> Result<Cond, String> {
    if depth > 32 {
        return Err("the condition is nested too deeply".into());
    }
    let longer = |word: &str| Some(format!("{path}.{word}")).filter(|longer| rules.names.knows_path(longer.trim_start_matches('$')));
    let Some(map) = value.as_map().filter(|map| map.keys().any(|word| longer(word).is_some())) else {
        return Ok(Cond::test(subject(path, rules), test(value)?, false));
    };
    let one = |(word, value): (&Arc<str>, &Value)| match longer(word) {
        Some(longer) => path_test(&longer, value, rules, depth + 1),
        None => Ok(Cond::test(subject(path, rules), word_test(word, value)?, false)),
    };
    Ok(Cond::All(map.iter().map(one).collect::<Result<_, _>>()?))
}

fn subject(path: &str, rules: &CompiledRules) -> Expr {
    let segs = |p: &str| p.split('.').filter(|s| !s.is_empty()).map(|s| PathSegment::Name(s.into())).collect::<Box<[PathSegment]>>();
    match path.strip_prefix('@') {
        Some(field) => {
            let (name, rest) = field.split_once('.').unwrap_or((field, ""));
            let id = rules.fields.id(name).unwrap_or(crate::model::item::core::SELF);
            Expr::Field(FieldRef { up: 0, field: Some((id, name.into())), rest: segs(rest) })
        }
        None => {
            let path = path.trim_start_matches('$');
            Expr::Path(Arc::new(ScenePath::new(path.into(), PathRoot::Scene { list: None }, segs(path), 0)))
        }
    }
}

fn test(value: &Value) -> Result<CondTest, String> {
    Ok(match value {
        Value::Bool(b) => CondTest::Is(*b),
        Value::List(l) => CondTest::OneOf(l.iter().cloned().map(Expr::Const).collect()),
        Value::Map(m) => CondTest::And(m.iter().map(|(word, v)| word_test(word, v)).collect::<Result<_, _>>()?),
        other => CondTest::Eq(Expr::Const(other.clone())),
    })
}

fn word_test(word: &str, value: &Value) -> Result<CondTest, String> {
    let own = Expr::Const(value.clone());
    let many = || -> Box<[Expr]> {
        value.as_list().map_or_else(|| Box::new([own.clone()]) as Box<[Expr]>, |l| l.iter().cloned().map(Expr::Const).collect())
    };
    Ok(match word {
        "ne" => CondTest::Ne(many()),
        "gt" => CondTest::Cmp(CondComparison::Gt, own),
        "ge" => CondTest::Cmp(CondComparison::Ge, own),
        "lt" => CondTest::Cmp(CondComparison::Lt, own),
        "le" => CondTest::Cmp(CondComparison::Le, own),
        "in" => CondTest::In(own),
        "contains" => CondTest::Contains(own),
        "meets" => CondTest::Meets(own),
        "starts" => CondTest::Starts(many()),
        "matches" => match value.as_str().filter(|text| Pattern::split(text).is_some()) {
            Some(text) => CondTest::Matches(Arc::new(Pattern::parse(text).map_err(|e| e.reason)?)),
            None => return Err("`matches` takes a pattern `/…/flags`".into()),
        },
        "exists" => CondTest::Exists(value.truthy()),
        "nonempty" => CondTest::Nonempty(value.truthy()),
        "given" => CondTest::Given(value.truthy()),
        "every" => CondTest::Every(own),
        "between" => match value.as_list() {
            Some([low]) => CondTest::Between(Box::new([Expr::Const(low.clone()), Expr::Const(Value::Null)])),
            Some([low, high]) => CondTest::Between(Box::new([Expr::Const(low.clone()), Expr::Const(high.clone())])),
            _ => return Err("`between` takes a list of two bounds".into()),
        },
        _ => return Err(format!("there is no test `{word}`")),
    })
}
