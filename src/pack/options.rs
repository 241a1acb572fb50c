//! The options of the merged manifests: reads their declarations and the values that overlays give them, and reports what
//! cannot be meant.

mod needs;
mod reading;

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Help, Report, Sources, TableField, WordSearch, limits};
use crate::model::options::TABLE;
use crate::model::{OptionFault, PackOption, PackOptions, Value};

use super::layer::OPTIONS;

/// Takes the options, and the values of overlays, out of the merged values. `complete` says that every file could be read.
pub(super) fn read(values: &mut FieldMap, sources: &Sources, complete: bool, report: &mut Report) -> PackOptions {
    let declared = values.shift_remove(OPTIONS);
    let set = values.shift_remove(TABLE);
    let mut reader = OptionReader { sources, report, told: 0 };
    let mut all = IndexMap::new();
    let tables = declared.as_ref().and_then(|field| field.node.as_table());
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
    if let Some(set) = &set {
        reader.set(&mut options, &set.node, complete && sound);
    }
    if sound {
        needs::check(&options, &mut reader);
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
        reading::option(self, name, field)
    }
}

/// A fault of values as a diagnostic.
pub(crate) fn of_fault(fault: OptionFault) -> Diagnostic {
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
