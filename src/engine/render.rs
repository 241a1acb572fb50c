//! The text languages, templates and scripts, as rules reach them.

use std::sync::Arc;

use crate::diag::Code;
use crate::macros::engine::WriteMode;
use crate::macros::{MacroTable, Macros, OutletHost};
use crate::model::{Map, Value};
use crate::template::TemplateCalls;
use crate::terms::{BuildState, EvalFault, RenderRequest};
use crate::text::functions;
use crate::text::handlebars::{Template, UnknownNames};
use crate::text::leaf::{Leaf, LeafScope, LeafSyntax};
use crate::text::liquid::{Liquid, LiquidOptions};
use crate::text::macros::expand;
use crate::text::{Language, TextError, TextLimits};

/// Renders a text or a template; `args` are the arguments of the call.
pub(super) fn render(
    what: RenderRequest,
    args: &Map,
    st: &BuildState,
    table: &MacroTable,
    templates: &TemplateCalls,
) -> Result<Value, EvalFault> {
    let text = || args.get("of").map(Value::to_text).unwrap_or_default();
    let with = || args.get("with").cloned().unwrap_or_default();
    let language = match what {
        RenderRequest::Template => return templates.render(args, st),
        RenderRequest::Text(language) => language,
    };
    let (text, with) = (text(), with());
    match language {
        Language::Macro => {
            let values = args.get("values").and_then(Value::as_str).and_then(functions::find);
            let flavour = args.get("flavour").and_then(Value::as_str);
            let mode = args.get("mode").and_then(Value::as_str).and_then(WriteMode::named);
            Ok(Value::Text(Macros::new(st, table, &with, &text).through(values).in_flavour(flavour).in_mode(mode).run()))
        }
        Language::Outlet => Ok(Value::Text(outlets(&text, st, table))),
        Language::Handlebars => handlebars(&text, &with, args.get("unknown").and_then(Value::as_str), st, table),
        Language::Leaf => leaf(&text, &with, st),
        Language::Liquid => liquid(&text, &with, args.get("unknown").and_then(Value::as_str), st),
    }
}

/// Renders tags as expressions over the fields of `with`; a text that cannot be parsed is used literally.
fn leaf(text: &str, with: &Value, st: &BuildState) -> Result<Value, EvalFault> {
    let scope = LeafScope { over: &[], root: with.as_map(), under: &[], globals: None };
    let printed = Leaf::compile(text, LeafSyntax::Expressions).render(&scope, st.rules.limits.text_bytes);
    printed.map(|printed| Value::Text(printed.text)).map_err(|error| EvalFault::text_bound(error.to_string()))
}

fn macros(text: &Arc<str>, with: &Value, st: &BuildState, table: &MacroTable) -> Arc<str> {
    Macros::new(st, table, with, text).run()
}

fn outlets(text: &Arc<str>, st: &BuildState, table: &MacroTable) -> Arc<str> {
    if !text.contains("{{") {
        return text.clone();
    }
    let limits = TextLimits::MACROS.with_output(st.rules.limits.text_bytes);
    expand(text, &OutletHost::new(st, table), &limits).text
}

/// The fault for a mistake in a text or for a limit that it reached, with the place and the text at that place.
fn fault(error: &TextError, text: &str, what: &str) -> EvalFault {
    let message = error.in_text(text, what);
    if error.bound { EvalFault::text_bound(message) } else { EvalFault::template(message) }
}

/// Renders a Liquid template. With `unknown = "error"` a name that is not there is an error; otherwise it is nothing.
fn liquid(template: &Arc<str>, with: &Value, unknown: Option<&str>, st: &BuildState) -> Result<Value, EvalFault> {
    if !template.contains("{{") && !template.contains("{%") {
        return Ok(Value::Text(template.clone()));
    }
    let fault = |error: TextError| {
        let message = format!("in a Liquid template, {error}");
        if error.bound { EvalFault::text_bound(message) } else { EvalFault::template(message) }
    };
    let liquid = Liquid::known(template).map_err(fault)?;
    for name in liquid.unknown_filters() {
        st.warn(Code::MacroFailed, format!("Liquid knows no filter `{name}`; what is piped into it stays as it is"));
    }
    let options = LiquidOptions { limits: TextLimits::LIQUID.with_output(st.rules.limits.text_bytes), strict: unknown == Some("error") };
    liquid.render(with, &options).map(Value::text).map_err(fault)
}

/// Renders a Handlebars template. `unknown` says what happens to a name that is not a field: it is read as a macro
/// (`macro`), stays as written like all other unknown tags (`stays`), or stays as a plain tag.
fn handlebars(template: &str, with: &Value, unknown: Option<&str>, st: &BuildState, table: &MacroTable) -> Result<Value, EvalFault> {
    let nothing = Value::default();
    let mut name = |name: &str| {
        let tag: Arc<str> = format!("{{{{{name}}}}}").into();
        if unknown == Some("macro") { macros(&tag, &nothing, st, table) } else { tag }
    };
    let limits = TextLimits::HANDLEBARS.with_output(st.rules.limits.text_bytes);
    let manner = if unknown == Some("stays") { UnknownNames::Stays } else { UnknownNames::Asked };
    let text = Template::known(template, manner).and_then(|compiled| compiled.render(with, &mut name, &limits));
    text.map(Value::text).map_err(|error| fault(&error, template, "template"))
}
