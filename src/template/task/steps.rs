//! Steps that change the list of a source, as its row declares them: ids, ranges, windows, order, limits.
//!
//! A step reads the arguments that it names and does nothing if they are not given. It fails if it has something to do
//! and the value is not a list. Indexes and counts are truncated as in JavaScript's `slice`.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Report, short};
use crate::model::pack::PackRow;
use crate::model::{Map, Value};
use crate::template::view::SourceValue;
use crate::terms::EvalFault;
use crate::text::written;

/// The words that name the steps; each step has exactly one.
const WORDS: [&str; 6] = ["ids", "range", "window", "order", "reverse", "limit"];

/// The keys that may accompany each of them.
const BESIDE: [&[&str]; 6] = [&["by"], &[], &["by", "from", "to", "least"], &["by", "default"], &[], &["from", "zero", "least", "default"]];

/// One step.
#[derive(Debug)]
pub enum TaskStep {
    /// Keeps the elements whose field is in a list of ids.
    Ids {
        /// The argument with the ids.
        arg: Arc<str>,
        /// The field.
        by: Arc<str>,
    },
    /// Keeps the elements between two indexes, both included.
    Range {
        /// The argument with the first index.
        start: Arc<str>,
        /// The argument with the last index.
        end: Arc<str>,
    },
    /// Keeps groups of elements.
    Window(WindowNames),
    /// Reverses the list, or sorts it.
    Order {
        /// The argument with the direction.
        arg: Arc<str>,
        /// The direction if it is not given.
        default: Option<Arc<str>>,
        /// The field to sort by.
        by: Option<Arc<str>>,
    },
    /// Reverses the list.
    Reverse,
    /// Keeps a number of elements.
    Limit {
        /// The argument with the number.
        arg: Arc<str>,
        /// The number if it is not given.
        default: Option<f64>,
        /// Whether to keep those at the end.
        last: bool,
        /// Whether 0 means all.
        zero_is_all: bool,
        /// The least number; a smaller one is raised to it.
        least: Option<f64>,
    },
}

/// A step that reads an argument which the row does not declare would never do anything.
fn undeclared(said: Option<&DocumentNode>, row: &PackRow, report: &mut Report) {
    let declared = row.fields.get("args").and_then(|f| f.node.as_table());
    for node in said.into_iter().flat_map(|said| said.as_list().unwrap_or(std::slice::from_ref(said))) {
        let Some(name) = node.as_text().filter(|name| !declared.is_some_and(|args| args.contains_key(*name))) else { continue };
        let complaint = Diagnostic::new(Code::NameUnknown, format!("there is no argument `{}`", short::word(name))).at(node.span);
        let help = report.words.help(name, declared.into_iter().flat_map(|args| args.keys().map(AsRef::as_ref)));
        report.push(complaint.rule(format!("source {}", row.name)).help(help.unwrap_or_else(|| "declare it in `args`".into())));
    }
}

impl TaskStep {
    /// Reads a step of a row; `None` after an error.
    pub(super) fn compile(node: &DocumentNode, row: &PackRow, report: &mut Report) -> Option<Self> {
        let table = node.as_table()?;
        let Some((place, word)) = WORDS.iter().enumerate().find(|(_, word)| table.contains_key(**word)) else {
            let complaint = Diagnostic::new(Code::TermMissing, "this step of `list` says nothing to do").at(node.span);
            report.push(complaint.rule(format!("source {}", row.name)).help(format!("one of {}", WORDS.join(", "))));
            return None;
        };
        for (key, field) in table {
            if key.as_ref() != *word && !BESIDE.get(place).is_some_and(|known| known.contains(&key.as_ref())) {
                let complaint = Diagnostic::new(Code::SchemaUnknownKey, format!("`{key}` does not belong to `{word}`")).at(field.key);
                let help =
                    if WORDS.contains(&key.as_ref()) { "write it as a step of its own".to_owned() } else { format!("take `{key}` out") };
                report.push(complaint.rule(format!("source {}", row.name)).help(help));
            }
        }
        undeclared(table.get(*word).map(|field| &field.node), row, report);
        Some(Self::of(word, table))
    }

    fn of(word: &str, table: &FieldMap) -> Self {
        let text = |key: &str| table.get(key).and_then(|f| f.node.as_text()).map(Arc::<str>::from);
        let number = |key: &str| table.get(key).and_then(|f| Value::from(&f.node).as_f64());
        let arg = text(word).unwrap_or_default();
        let named = |key: &str, default: &str| text(key).unwrap_or_else(|| default.into());
        match word {
            "ids" => TaskStep::Ids { arg, by: named("by", "id") },
            "range" => {
                let place = |n: usize| {
                    let names = table.get("range").and_then(|f| f.node.as_list()).unwrap_or(&[]);
                    names.get(n).and_then(DocumentNode::as_text).unwrap_or("").into()
                };
                TaskStep::Range { start: place(0), end: place(1) }
            }
            "window" => TaskStep::Window(WindowNames {
                arg,
                by: named("by", "id"),
                from: named("from", "from"),
                to: named("to", "to"),
                least: named("least", "least"),
            }),
            "order" => TaskStep::Order { arg, default: text("default"), by: text("by") },
            "reverse" => TaskStep::Reverse,
            _ => TaskStep::Limit {
                arg,
                default: number("default"),
                last: text("from").as_deref() == Some("last"),
                zero_is_all: text("zero").as_deref() == Some("all"),
                least: number("least"),
            },
        }
    }

    fn apply(&self, value: Option<SourceValue>, args: &Map) -> Result<Option<SourceValue>, EvalFault> {
        let number = |arg: &str| args.get(arg).and_then(Value::as_f64);
        Ok(Some(match self {
            TaskStep::Ids { arg, by } => match args.get(arg).and_then(Value::as_list) {
                Some(ids) if !ids.is_empty() => with_ids(&list(value, arg)?, ids, by),
                _ => return Ok(value),
            },
            TaskStep::Range { start, end } => match (number(start), number(end)) {
                (None, None) => return Ok(value),
                (first, last) => range(list(value, start)?, first, last),
            },
            TaskStep::Window(window) => match args.get(&window.arg) {
                Some(wanted) if wanted.truthy() => {
                    let list = list(value, &window.arg)?.to_value();
                    Value::list(window.apply(list.as_list().unwrap_or_default(), wanted)?).into()
                }
                _ => return Ok(value),
            },
            TaskStep::Order { arg, default, by } => {
                let said = match args.get(arg) {
                    Some(said) => said.as_str(),
                    None => default.as_deref(),
                };
                match by {
                    Some(by) => sorted(&list(value, arg)?, by, said == Some("asc")),
                    None if said == Some("desc") => list(value, arg)?.reversed(),
                    None => return Ok(value),
                }
            }
            TaskStep::Reverse => list(value, "reverse")?.reversed(),
            TaskStep::Limit { arg, default, last, zero_is_all, least } => {
                let said = if args.get(arg).is_none_or(Value::is_null) { *default } else { number(arg) };
                let Some(limit) = said else { return Ok(value) };
                let limit = least.map_or(limit, |least| limit.max(least));
                limited(list(value, arg)?, limit, *last, *zero_is_all)
            }
        }))
    }
}

/// Applies all steps, one after another.
///
/// # Errors
/// A step has something to do, but the value is not a list.
pub fn apply(steps: &[TaskStep], value: Option<SourceValue>, args: &Map) -> Result<Option<SourceValue>, EvalFault> {
    steps.iter().try_fold(value, |value, step| step.apply(value, args))
}

fn list(value: Option<SourceValue>, what: &str) -> Result<SourceValue, EvalFault> {
    match value {
        Some(list) if list.is_list() => Ok(list),
        Some(_) => Err(EvalFault::failed(format!("`{what}` needs a list, and there is another value"))),
        None => Err(EvalFault::failed(format!("`{what}` needs a list, and there is none"))),
    }
}

fn with_ids(list: &SourceValue, ids: &[Value], by: &str) -> SourceValue {
    // where the work of the call is spent, the next step of it fails
    let canonical = |id: &Value| written::key(id).unwrap_or_default();
    let ids: FxHashSet<String> = ids.iter().map(canonical).collect();
    Value::list(list.iter().filter(|e| e.get(by).is_some_and(|id| ids.contains(&canonical(id)))).cloned().collect()).into()
}

fn range(list: SourceValue, first: Option<f64>, last: Option<f64>) -> SourceValue {
    let count = length(&list);
    let place = |n: f64| if n < 0.0 { count + n } else { n };
    let (first, last) = (place(first.unwrap_or(0.0)), place(last.unwrap_or(count - 1.0)));
    slice(list, first.max(0.0), count.min(last + 1.0))
}

/// Sorts by the numbers in a field, stably; elements without a number come last.
fn sorted(list: &SourceValue, by: &str, ascending: bool) -> SourceValue {
    let key = |e: &Value| e.get(by).and_then(Value::as_f64);
    let mut out: Vec<(Option<f64>, Value)> = list.iter().map(|e| (key(e), e.clone())).collect();
    out.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) if ascending => a.total_cmp(b),
        (Some(a), Some(b)) => b.total_cmp(a),
        (a, b) => a.is_none().cmp(&b.is_none()),
    });
    Value::list(out.into_iter().map(|(_, e)| e).collect()).into()
}

fn limited(list: SourceValue, limit: f64, last: bool, zero_is_all: bool) -> SourceValue {
    let count = length(&list);
    match limit.trunc() == 0.0 {
        true if zero_is_all => list,
        true => list.part(0..0),
        false if last => slice(list, -limit, count),
        false => slice(list, 0.0, limit),
    }
}

#[allow(clippy::cast_precision_loss)]
fn length(list: &SourceValue) -> f64 {
    list.len() as f64
}

/// `list.slice(from, to)`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn slice(list: SourceValue, from: f64, to: f64) -> SourceValue {
    let count = length(&list);
    let place = |n: f64| if n.trunc() < 0.0 { (count + n.trunc()).max(0.0) } else { n.trunc().min(count) } as usize;
    list.part(place(from)..place(to))
}

/// A window over some consecutive groups of a list, grouped by a numbered field, as a row declares it: the names of an
/// argument, of a field, and of the keys of the argument's table.
///
/// An offset names a group: 0 is the latest, -k the kth before it, +k the kth from the first. A number without a group
/// means the next group. A window with too few elements grows group by group.
#[derive(Debug)]
pub struct WindowNames {
    /// The argument with the table.
    pub arg: Arc<str>,
    /// The field with the number of the group.
    pub by: Arc<str>,
    /// The key with the offset of one end; if it is missing, the first group.
    pub from: Arc<str>,
    /// The key with the offset of the other end; if it is missing, 0.
    pub to: Arc<str>,
    /// The key with the least number of elements.
    pub least: Arc<str>,
}

/// A group: its number, and its elements.
type ElementGroup<'a> = (f64, Vec<&'a Value>);

impl WindowNames {
    /// The elements in the window, in the order of the list.
    pub(super) fn apply(&self, list: &[Value], wanted: &Value) -> Result<Vec<Value>, EvalFault> {
        let groups = self.groups(list)?;
        let Some(last) = groups.len().checked_sub(1) else { return Ok(Vec::new()) };
        let number = |key: &str| wanted.get(key).and_then(Value::as_f64);
        let (from, to) = (number(&self.from).unwrap_or(f64::NEG_INFINITY), number(&self.to).unwrap_or(0.0));
        let least = number(&self.least).unwrap_or(0.0);
        if last == 0 {
            // nothing precedes the only group, but a window that must hold something includes it all the same
            let nothing = (is_prior(from) || is_prior(to)) && least <= 0.0;
            return Ok(if nothing { Vec::new() } else { list.to_vec() });
        }
        let (a, b) = (place(from, &groups), place(to, &groups));
        let (mut low, mut high) = (a.min(b), a.max(b));
        let (older, newer) = (from <= 0.0 && to <= 0.0, from >= 0.0 && to >= 0.0);
        while too_few(&groups, low, high, least) {
            match (low > 0, high < last) {
                (true, _) if older => low -= 1,
                (_, true) if newer => high += 1,
                (true, _) => low -= 1,
                (_, true) => high += 1,
                _ => break,
            }
        }
        let kept = groups.get(low..=high).unwrap_or(&[]);
        Ok(kept.iter().flat_map(|(_, elements)| elements.iter().copied().cloned()).collect())
    }

    /// The groups, in the order in which their numbers first occur.
    fn groups<'a>(&self, list: &'a [Value]) -> Result<Vec<ElementGroup<'a>>, EvalFault> {
        let mut groups: Vec<ElementGroup<'a>> = Vec::new();
        for element in list {
            let Some(number) = element.get(&self.by).and_then(Value::as_f64) else {
                return Err(EvalFault::failed(format!("`{}` needs elements with a number `{}`", self.arg, self.by)));
            };
            match groups.last_mut() {
                Some((last, elements)) if last.to_bits() == number.to_bits() => elements.push(element),
                _ => groups.push((number, vec![element])),
            }
        }
        Ok(groups)
    }
}

fn is_prior(offset: f64) -> bool {
    offset.is_finite() && offset.trunc() < 0.0
}

#[allow(clippy::cast_precision_loss)]
fn too_few(groups: &[ElementGroup<'_>], low: usize, high: usize, least: f64) -> bool {
    let held: usize = groups.get(low..=high).unwrap_or(&[]).iter().map(|(_, elements)| elements.len()).sum();
    (held as f64) < least
}

/// The index of the group that an offset names, clamped to the existing groups.
fn place(offset: f64, groups: &[ElementGroup<'_>]) -> usize {
    let (first, last) = (groups.first().map_or(0.0, |g| g.0), groups.last().map_or(0.0, |g| g.0));
    let number = match offset {
        o if !o.is_finite() => {
            if o < 0.0 {
                first
            } else {
                last
            }
        }
        o if o.trunc() <= 0.0 => last + o.trunc(),
        o => first + o.trunc() - 1.0,
    };
    let newest = groups.len().saturating_sub(1);
    if number <= first {
        0
    } else if number >= last {
        newest
    } else {
        let exact = groups.iter().position(|g| g.0.to_bits() == number.to_bits());
        exact.or_else(|| groups.iter().position(|g| g.0 > number)).unwrap_or(newest)
    }
}
