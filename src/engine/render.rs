//! The text languages as rules reach them: macro, outlet, story, handlebars, leaf, liquid and template. A text of any
//! other language is left unchanged.

use std::sync::Arc;

use crate::diag::Code;
use crate::macros::{Macros, OutletHost, Table};
use crate::model::{Map, Value};
use crate::template::TemplateCalls;
use crate::terms::{Fault, State};
use crate::text::functions;
use crate::text::handlebars::Template;
use crate::text::leaf::{Leaf, Scope, Syntax};
use crate::text::liquid::{Liquid, LiquidError, Options};
use crate::text::macros::{MacroLimits, expand};
use crate::text::story::Story;

/// Renders the call `{ lang, of, with? }` to a text.
pub(super) fn render(args: &Map, st: &State, table: &Table, templates: &TemplateCalls) -> Result<Value, Fault> {
    let text = args.get("of").map(Value::to_text).unwrap_or_default();
    let with = args.get("with").cloned().unwrap_or_default();
    match args.get("lang").and_then(Value::as_str) {
        Some("macro") => {
            let values = args.get("values").and_then(Value::as_str).and_then(functions::find);
            Ok(Value::Text(Macros::new(st, table, &with, &text).through(values).run()))
        }
        Some("outlet") => Ok(Value::Text(outlets(&text, st))),
        Some("story") => story(&text, &with),
        Some("handlebars") => handlebars(&text, &with, args.get("unknown").and_then(Value::as_str) == Some("macro"), st, table),
        Some("leaf") => leaf(&text, &with, st),
        Some("liquid") => liquid(&text, &with, st),
        Some("template") => templates.render(args, st),
        Some("rhai") => rhai(args, &text, st),
        _ => Ok(Value::Text(text)),
    }
}

/// Renders tags as expressions over the fields of `with`; a text that cannot be parsed is used literally.
fn leaf(text: &str, with: &Value, st: &State) -> Result<Value, Fault> {
    let scope = Scope { over: &[], root: with.as_map(), under: &[], globals: None };
    let printed = Leaf::compile(text, Syntax::Expressions).render(&scope, st.rules.limits.text_bytes);
    printed.map(|printed| Value::Text(printed.text)).map_err(|error| Fault::bound(error.to_string()))
}

fn macros(text: &Arc<str>, with: &Value, st: &State, table: &Table) -> Arc<str> {
    Macros::new(st, table, with, text).run()
}

fn outlets(text: &Arc<str>, st: &State) -> Arc<str> {
    if !text.contains("{{") {
        return text.clone();
    }
    let limits = MacroLimits { output: st.rules.limits.text_bytes, ..MacroLimits::default() };
    expand(text, &OutletHost::new(st), &limits).text
}

fn story(template: &str, with: &Value) -> Result<Value, Fault> {
    let story = Story::known(template).map_err(|e| misread(template, e.offset, &e.message))?;
    let lookup = |name: &str| with.get(name).map(Value::to_text);
    story.render(&lookup, false).map(Value::text).map_err(|e| misread(template, e.offset, &e.message))
}

/// The fault for a template that cannot be parsed, with the line, the column and the text at that place.
fn misread(template: &str, offset: usize, message: &str) -> Fault {
    let before = template.get(..offset).unwrap_or(template);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let rest: String = template.get(offset..).unwrap_or_default().chars().take_while(|c| *c != '\n').take(40).collect();
    let here = if rest.is_empty() { "at its end".to_owned() } else { format!("at `{rest}`") };
    Fault::template(format!("line {line}, column {column} of the template, {here}: {message}"))
}

fn liquid(template: &Arc<str>, with: &Value, st: &State) -> Result<Value, Fault> {
    if !template.contains("{{") && !template.contains("{%") {
        return Ok(Value::Text(template.clone()));
    }
    let fault = |error: LiquidError| {
        let message = format!("in a Liquid template, {error}");
        if error.bound { Fault::bound(message) } else { Fault::template(message) }
    };
    let liquid = Liquid::known(template).map_err(fault)?;
    for name in liquid.unknown_filters() {
        st.warn(Code::MacroFailed, format!("Liquid knows no filter `{name}`; what is piped into it stays as it is"));
    }
    let options = Options { output: st.rules.limits.text_bytes, ..Options::default() };
    liquid.render(with, &options).map(Value::text).map_err(fault)
}

/// Renders a Handlebars template. A name that is not a field is a macro if `macros` is set, and otherwise stays as a
/// tag.
fn handlebars(template: &str, with: &Value, macros: bool, st: &State, table: &Table) -> Result<Value, Fault> {
    let nothing = Value::default();
    let mut unknown = |name: &str| {
        let tag: Arc<str> = format!("{{{{{name}}}}}").into();
        if macros { self::macros(&tag, &nothing, st, table) } else { tag }
    };
    let text = Template::known(template).and_then(|template| template.render(with, &mut unknown));
    text.map(Value::text).map_err(|e| misread(template, e.offset, &e.message))
}

fn rhai(args: &Map, text: &Arc<str>, st: &State) -> Result<Value, Fault> {
    let function = args.get("function").map(Value::to_text).unwrap_or_default();
    let item = args.get("item").cloned().unwrap_or_default();
    st.rules.scripts.call(&function, &[Value::Text(text.clone()), item]).map_err(Fault::failed)
}
