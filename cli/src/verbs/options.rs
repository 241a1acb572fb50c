//! `tapster options`: the options of a pack, from which an application draws a form, and the values that they have.

use clap::Args;
use serde_json::json;

use crate::exit::{Result, RunExit};
use crate::inputs::InputArgs;
use crate::layout::{head, table};
use crate::model::{PackOption, PackOptions, Value};
use crate::output::Console;

/// The most characters of a value that the table shows.
const MAX_SHOWN: usize = 40;

/// List the options of a pack: their types, titles, defaults and choices, and which layer decides the value of each.
///
/// With `--format json`, everything that a form needs; with `--schema`, a JSON Schema of the values, as form libraries read
/// it. The values are those of the pack with its overlays, and of the scene and the flags if they set some.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster options examples/options                     the options of a scene's pack, and their values
  tapster options examples/options/pack                those of a pack
  tapster options --pack my-pack --format json         for the form of an application
  tapster options --pack my-pack --schema              a JSON Schema of the values
  tapster options examples/options --choose tone=dark  whether that can be set")]
pub(crate) struct OptionsVerb {
    #[command(flatten)]
    inputs: InputArgs,
    /// Print a JSON Schema of the table that sets the options.
    #[arg(long)]
    schema: bool,
}

impl OptionsVerb {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let (rules, given) = self.inputs.open_options(show)?;
        let options = rules.options();
        if self.schema {
            show.json(&options.schema());
        } else if show.is_json() {
            show.json(&json!({ "pack": &*rules.pack().name, "options": options.to_json(&given) }));
        } else if options.is_empty() {
            show.result(&format!("pack `{}` has no options\n", rules.pack().name));
        } else {
            show.result(&option_table(options, &given));
        }
        Ok(RunExit::Done)
    }
}

/// A table of all options, and below it what the choices and bounds are.
fn option_table(options: &PackOptions, given: &Value) -> String {
    let values = options.values(given);
    let text = |value: &Value| head(&value.to_json().to_string(), MAX_SHOWN);
    let row = |option: &PackOption| {
        let from = if given.get(&option.name).is_some() { "scene" } else { &*option.value_from };
        let value = values.get(&option.name).map(text).unwrap_or_default();
        let may_be = allowed_values(option);
        vec![option.name.to_string(), option.kind.word().to_owned(), value, format!("from {from}"), may_be, head(&option.title, 60)]
    };
    let head = ["name", "type", "value", "", "may be", "title"].map(str::to_owned).to_vec();
    table(&std::iter::once(head).chain(options.iter().map(row)).collect::<Vec<_>>())
}

fn allowed_values(option: &PackOption) -> String {
    let bound = |bound: Option<f64>| bound.map(|bound| Value::Num(bound).to_text().to_string()).unwrap_or_default();
    let choices: Vec<&str> = option.choices.iter().map(|choice| &*choice.value).collect();
    let range = || format!("{}…{}", bound(option.min), bound(option.max));
    match (choices.is_empty(), option.min.is_some() || option.max.is_some()) {
        (false, _) => head(&choices.join(", "), MAX_SHOWN),
        (true, true) => range(),
        (true, false) => String::new(),
    }
}
