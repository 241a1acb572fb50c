//! The options of the merged manifests: reads their declarations and the values that overlays give them, and reports what
//! cannot be meant. What a schema checks is not checked again here.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::layer::OPTIONS;
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Help, NodeValue, Report, Sources, Span, TableField, WordSearch, limits};
use crate::lint;
use crate::model::options::TABLE;
use crate::model::{OptionChoice, OptionCondition, OptionFault, OptionType, PackOption, PackOptions, Value};

/// Takes the options, and the values of overlays, out of the merged values.
pub(super) fn take(values: &mut FieldMap) -> FieldMap {
    [OPTIONS, TABLE].into_iter().filter_map(|key| values.shift_remove_entry(key)).collect()
}

/// Reads them as they are written. `complete` says that every file could be read.
pub(super) fn read(written: &FieldMap, sources: &Sources, complete: bool, report: &mut Report) -> PackOptions {
    let (declared, set) = (written.get(OPTIONS), written.get(TABLE));
    let mut reader = OptionReader { sources, report, told: 0 };
    let mut all = IndexMap::new();
    let tables = declared.and_then(|field| field.node.as_table());
    for (number, (name, field)) in tables.into_iter().flatten().enumerate() {
        if number == limits::OPTIONS {
            let complaint = Diagnostic::new(Code::BoundExceeded, format!("a pack may have at most {} options", limits::OPTIONS));
            reader.complain(complaint.at(field.key).label("one too many").help("nobody fills in so long a form; declare fewer"));
            break;
        }
        if let Some(option) = reader.option(name, field) {
            all.insert(name.clone(), option);
        }
    }
    let mut options = PackOptions(all);
    // the relations of options that cannot be read would be reported too
    let sound = reader.told == 0;
    if let Some(set) = set {
        reader.set(&mut options, &set.node, complete && sound);
    }
    if sound {
        check_relations(&options, &mut reader);
    }
    options
}

struct OptionReader<'a> {
    sources: &'a Sources,
    report: &'a mut Report,
    told: usize,
}

impl OptionReader<'_> {
    fn complain(&mut self, complaint: Diagnostic) {
        self.told += 1;
        if self.told <= limits::REPORTED {
            self.report.push(complaint);
        }
    }

    fn layer(&self, field: &TableField) -> Arc<str> {
        self.sources.place(field.node.span).map(|place| Arc::from(&*place.layer)).unwrap_or_default()
    }

    /// Gives options the values that overlays set.
    fn set(&mut self, options: &mut PackOptions, node: &DocumentNode, complete: bool) {
        // anything but a table is reported by the schema
        for (name, field) in node.as_table().into_iter().flatten() {
            let layer = self.layer(field);
            let rule = format!("option {name}, set by layer `{layer}`");
            let value = Value::from(&field.node);
            let Some(option) = options.0.get_mut(name) else {
                if complete {
                    let fault = options.unknown(name);
                    self.complain(of_fault(fault).at(field.key).label("no such option").missing(&**name).rule(rule));
                }
                continue;
            };
            match option.refuses(&value) {
                Some(fault) => self.complain(of_fault(fault).at(field.node.span).related(option.name_span, "declared here").rule(rule)),
                None => {
                    option.value = value;
                    option.value_from = layer;
                    option.value_span = field.node.span;
                }
            }
        }
    }

    /// The option of this name, or nothing if its declaration says too little of it.
    fn option(&mut self, name: &Arc<str>, field: &TableField) -> Option<PackOption> {
        if !is_name(name) {
            let complaint = Diagnostic::new(Code::SchemaValue, format!("`{name}` cannot be the name of an option"));
            let help = "a name begins with a lower-case letter and has lower-case letters, digits and `_`: rules read it as `$option.NAME`";
            self.complain(complaint.at(field.key).help(help));
            return None;
        }
        read_option(self, name, field)
    }
}

/// A fault of values as a diagnostic.
fn of_fault(fault: OptionFault) -> Diagnostic {
    Diagnostic::error(fault.code, fault.message).help(fault.help)
}

/// Whether a text can name an option.
fn is_name(name: &str) -> bool {
    name.len() <= 100
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The nearest name of an option, as a remedy.
fn near(name: &str, options: &PackOptions, words: &WordSearch) -> Help {
    words.help(name, options.iter().map(|option| &*option.name)).unwrap_or_else(|| "name an option of the pack".into())
}

fn check_relations(options: &PackOptions, reader: &mut OptionReader<'_>) {
    let before = reader.told;
    for option in options.iter() {
        let own = option.requires.iter().chain(&option.conflicts);
        let of_choices = option.choices.iter().flat_map(|choice| choice.requires.iter().chain(&choice.conflicts));
        own.chain(of_choices).for_each(|need| check_condition(options, option, need, reader));
        let both = option.requires.iter().find(|need| option.conflicts.contains(&OptionCondition { span: need.span, ..(*need).clone() }));
        let both = both.or_else(|| {
            let same =
                |need: &&OptionCondition| option.conflicts.iter().any(|other| other.option == need.option && other.values == need.values);
            option.requires.iter().find(same)
        });
        if let Some(need) = both {
            let message = format!("option `{}` both requires `{}` and conflicts with it", option.name, need.option);
            reader.complain(Diagnostic::new(Code::OptionRequires, message).at(need.span).help("keep one of them"));
        }
    }
    if reader.told > before {
        return;
    }
    report_circles(options, reader);
    if reader.told > before {
        return;
    }
    for fault in options.unfit(&options.values(&Value::Null)) {
        let span = options.get(&fault.option).map(|option| option.value_span);
        let complaint = of_fault(fault);
        reader.complain(match span {
            Some(span) => complaint.at(span).label("this value"),
            None => complaint,
        });
    }
}

fn check_condition(options: &PackOptions, option: &PackOption, need: &OptionCondition, reader: &mut OptionReader<'_>) {
    if need.option == option.name {
        let message = format!("option `{}` depends on itself", option.name);
        reader.complain(Diagnostic::new(Code::OptionRequires, message).at(need.span).help("name another option"));
        return;
    }
    let Some(other) = options.get(&need.option) else {
        let message = format!("there is no option `{}`", need.option);
        reader.complain(Diagnostic::new(Code::OptionUnknown, message).at(need.span).help(near(
            &need.option,
            options,
            &reader.report.words,
        )));
        return;
    };
    for fault in need.values.iter().filter_map(|value| other.refuses(value)) {
        let message = format!("this can never hold: {}", fault.message);
        reader.complain(Diagnostic::new(Code::OptionValue, message).at(need.span).help(fault.help));
    }
}

/// Reports options that require each other in a circle: a user could turn none of them on alone.
fn report_circles(options: &PackOptions, reader: &mut OptionReader<'_>) {
    let needs = |n: usize| {
        let needs = options.0.get_index(n).into_iter().flat_map(|(_, option)| &option.requires);
        needs.filter_map(|need| Some((options.0.get_index_of(&need.option)?, need.span))).collect()
    };
    for circle in lint::circles(options.0.len(), needs) {
        let members = circle.members.iter().chain(circle.members.first());
        let names: Vec<&str> = members.filter_map(|n| options.0.get_index(*n)).map(|(name, _)| &**name).collect();
        let message = format!("options require each other in a circle: {}", names.join(" → "));
        let complaint = Diagnostic::new(Code::OptionRequires, message).at(circle.closed_by).label("closes the circle");
        reader.complain(complaint.help("make one option of them, or remove one of the requirements"));
    }
}

fn read_option(reader: &mut OptionReader<'_>, name: &Arc<str>, field: &TableField) -> Option<PackOption> {
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
        choices: read_choices(reader, name, table.get("choices")),
        min: number("min"),
        max: number("max"),
        whole: table.get("whole").and_then(|field| field.node.as_bool()) == Some(true),
        requires: read_conditions(table.get("requires")),
        conflicts: read_conditions(table.get("conflicts")),
        name_span: field.key,
        default_span: field.key,
        value_span: field.key,
    };
    check_shape(reader, &option, table, word.node.span);
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
fn check_shape(reader: &mut OptionReader<'_>, option: &PackOption, table: &FieldMap, kind_span: Span) {
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

fn read_choices(reader: &mut OptionReader<'_>, name: &str, field: Option<&TableField>) -> Vec<OptionChoice> {
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
        let needs = |key: &str| read_conditions(node.as_table().and_then(|table| table.get(key)));
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
fn read_conditions(field: Option<&TableField>) -> Vec<OptionCondition> {
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
