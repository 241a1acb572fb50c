//! One declaration, `[options.NAME]`: its keys become an option. What a schema checks is not checked again here.

use std::collections::HashSet;
use std::sync::Arc;

use super::OptionReader;
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, NodeValue, Span, TableField, limits};
use crate::model::{OptionChoice, OptionCondition, OptionType, PackOption, Value};

pub(super) fn option(reader: &mut OptionReader<'_>, name: &Arc<str>, field: &TableField) -> Option<PackOption> {
    // anything but a table, and a word that is no type, is reported by the schema
    let table = field.node.as_table()?;
    let Some(word) = table.get("type") else {
        let complaint = Diagnostic::new(Code::TermMissing, format!("option `{name}` has no `type`")).at(field.key);
        reader.complain(
            complaint.help("add `type = \"bool\"`, `\"enum\"`, `\"number\"` or `\"text\"`, or write the name of an option of a lower pack"),
        );
        return None;
    };
    let kind = OptionType::parse(word.node.as_text()?)?;
    let text = |key: &str| table.get(key).and_then(|field| field.node.as_text()).map(Arc::from);
    let number = |key: &str| table.get(key).and_then(|field| Value::from(&field.node).as_f64());
    let mut option = PackOption {
        name: name.clone(),
        kind,
        title: text("title").unwrap_or_else(|| name.clone()),
        help: text("help").unwrap_or_default(),
        default: Value::Null,
        default_from: reader.layer(word),
        value: Value::Null,
        value_from: reader.layer(word),
        choices: choices(reader, name, table.get("choices")),
        min: number("min"),
        max: number("max"),
        whole: table.get("whole").and_then(|field| field.node.as_bool()) == Some(true),
        requires: needs(table.get("requires")),
        conflicts: needs(table.get("conflicts")),
        name_span: field.key,
        default_span: field.key,
        value_span: field.key,
    };
    shape(reader, &option, table, word.node.span);
    if let Some(default) = table.get("default") {
        let value = Value::from(&default.node);
        option.default_from = reader.layer(default);
        option.default_span = default.node.span;
        if let Some(fault) = option.refuses(&value) {
            let message = format!("the default cannot be used: {}", fault.message);
            reader.complain(Diagnostic::new(Code::OptionValue, message).at(default.node.span).help(fault.help));
        }
        option.default = value;
    } else {
        option.default = option.natural();
        if let Some(fault) = option.refuses(&option.default) {
            let message = format!("option `{name}` needs a `default`: {}", fault.message);
            reader.complain(Diagnostic::new(Code::TermMissing, message).at(field.key).help("add `default = …`"));
        }
    }
    option.value_span = option.default_span;
    option.value = option.default.clone();
    option.value_from = option.default_from.clone();
    Some(option)
}

/// Reports keys that do not belong to the type, and bounds that nothing can meet.
fn shape(reader: &mut OptionReader<'_>, option: &PackOption, table: &FieldMap, kind_span: Span) {
    let kind = option.kind;
    let of: [(&str, &[OptionType], &str); 4] = [
        ("choices", &[OptionType::Enum], "`enum`"),
        ("min", &[OptionType::Number, OptionType::Text], "`number` and `text`"),
        ("max", &[OptionType::Number, OptionType::Text], "`number` and `text`"),
        ("whole", &[OptionType::Number], "`number`"),
    ];
    for (key, kinds, said) in of {
        if let Some(field) = table.get(key).filter(|_| !kinds.contains(&kind)) {
            let message = format!("option `{}` is of type `{}`, and only options of type {said} have `{key}`", option.name, kind.word());
            let complaint = Diagnostic::new(Code::SchemaUnknownKey, message).at(field.key).related(kind_span, "the type");
            reader.complain(complaint.help(format!("remove `{key}`, or change the type")));
        }
    }
    if kind == OptionType::Enum && option.choices.is_empty() {
        let complaint = Diagnostic::new(Code::TermMissing, format!("option `{}` has no `choices`", option.name)).at(kind_span);
        reader.complain(complaint.help("add `choices = [\"…\", \"…\"]`"));
    }
    if let (Some(min), Some(max), Some(field)) = (option.min, option.max, table.get("max"))
        && min > max
    {
        let complaint = Diagnostic::new(Code::SchemaValue, format!("`max` of option `{}` is less than its `min`", option.name));
        reader.complain(complaint.at(field.node.span).help("exchange them"));
    } else if let (true, Some(min), Some(max), Some(field)) = (option.whole, option.min, option.max, table.get("max"))
        && min.ceil() > max.floor()
    {
        let message = format!("no whole number lies between `min` and `max` of option `{}`", option.name);
        reader.complain(Diagnostic::new(Code::SchemaValue, message).at(field.node.span).help("widen the range, or remove `whole`"));
    }
}

fn choices(reader: &mut OptionReader<'_>, name: &str, field: Option<&TableField>) -> Vec<OptionChoice> {
    let mut out: Vec<OptionChoice> = Vec::new();
    let mut seen: HashSet<Arc<str>> = HashSet::new();
    for node in field.and_then(|field| field.node.as_list()).unwrap_or(&[]) {
        let text = |key: &str| node.get(key).and_then(DocumentNode::as_text).map(Arc::from);
        // a choice without a text is reported by the schema
        let Some(value) = node.as_text().map(Arc::<str>::from).or_else(|| text("value")) else { continue };
        if out.len() >= limits::OPTIONS {
            let complaint = Diagnostic::new(Code::BoundExceeded, format!("option `{name}` has more than {} choices", limits::OPTIONS));
            reader.complain(complaint.at(node.span).help("use an option of type `text`"));
            break;
        }
        if !seen.insert(value.clone()) {
            let complaint = Diagnostic::new(Code::SchemaValue, format!("option `{name}` has the choice `{value}` twice"));
            reader.complain(complaint.at(node.span).help("keep one of them"));
            continue;
        }
        let needs = |key: &str| needs(node.as_table().and_then(|table| table.get(key)));
        out.push(OptionChoice {
            title: text("title").unwrap_or_else(|| value.clone()),
            help: text("help").unwrap_or_default(),
            requires: needs("requires"),
            conflicts: needs("conflicts"),
            value,
        });
    }
    out
}

/// The conditions of `requires` or `conflicts`: a name, a list of names, or a table from names to values.
fn needs(field: Option<&TableField>) -> Vec<OptionCondition> {
    let Some(TableField { node, .. }) = field else { return Vec::new() };
    let named =
        |node: &DocumentNode| node.as_text().map(|name| OptionCondition { option: name.into(), values: Vec::new(), span: node.span });
    let all: Vec<OptionCondition> = match &node.data {
        NodeValue::Table(table) => {
            let one = |(name, field): (&Arc<str>, &TableField)| {
                let values = match field.node.as_list() {
                    Some(list) => list.iter().map(Value::from).collect(),
                    None => vec![Value::from(&field.node)],
                };
                OptionCondition { option: name.clone(), values, span: field.key }
            };
            table.iter().map(one).collect()
        }
        NodeValue::List(list) => list.iter().filter_map(named).collect(),
        _ => named(node).into_iter().collect(),
    };
    all.into_iter().take(limits::FIELDS).collect()
}
