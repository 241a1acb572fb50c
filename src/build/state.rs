//! The state of a build over a scene: the data and draws of the scene, and the text languages, templates and scripts as
//! rules reach them.

use std::cell::RefCell;
use std::sync::Arc;

use crate::diag::Code;
use crate::macros::engine::WriteMode;
use crate::macros::syntax::expand;
use crate::macros::{MacroTable, Macros, OutletHost};
use crate::model::options::TABLE;
use crate::model::{Map, Scene, Value};
use crate::pack::Ruleset;
use crate::template::TemplateCalls;
use crate::terms::draws::Draws;
use crate::terms::state::PassMemories;
use crate::terms::{BuildState, Env, EvalFault, RenderRequest};
use crate::text::functions;
use crate::text::handlebars::{Template, UnknownNames};
use crate::text::leaf::{Leaf, LeafScope, LeafSyntax};
use crate::text::liquid::{Liquid, LiquidOptions};
use crate::text::script::take_log;
use crate::text::work::BudgetScope;
use crate::text::{Language, TextError, TextLimits};

/// Opens the counter of all work that a scene may take with these rules; inside of another call, it counts on there.
pub(crate) fn door(rules: &Ruleset, scene: &Scene) -> BudgetScope {
    scene.data.open_budget(scene.work.at_most(rules.programs().rules.limits.work))
}

/// A state over a scene whose passes remember an earlier build of the same rules.
pub(super) fn state_with(rules: &Ruleset, scene: &Scene, memories: PassMemories) -> BuildState {
    let mut st = state(rules, scene);
    // what is not evaluated again is not seen to be exercised
    if st.coverage.is_none() {
        st.caches.last_build = RefCell::new(memories);
    }
    st
}

/// A fresh state over a scene.
pub fn state(rules: &Ruleset, scene: &Scene) -> BuildState {
    // what scripts of another build printed is not of this one
    let _ = take_log();
    let data = if scene.data.as_map().is_some() { scene.data.clone() } else { Value::map(Map::default()) };
    let mut data = data;
    if !scene.seed.is_empty()
        && data.get("seed").is_none()
        && let Value::Map(map) = &mut data
    {
        std::sync::Arc::make_mut(map).insert("seed".into(), Value::text(scene.seed.as_str()));
    }
    // a value that an option cannot have does not hide the pack's own; a build warns of it
    if let Some(given) = data.get(TABLE).cloned()
        && let Value::Map(map) = &mut data
    {
        let usable = rules.options().usable(&given);
        std::sync::Arc::make_mut(map).insert(TABLE.into(), usable);
    }
    // the seed that the rules see is the one that draws are made from
    let seed = data.get("seed").filter(|seed| !seed.is_empty()).map_or_else(|| Arc::from(scene.seed.as_str()), Value::to_text);
    let mut st = BuildState::new(rules.programs().rules.clone(), data, Draws::new(&seed, scene.draws.clone()));
    st.host.clone_from(&scene.host);
    st.coverage = rules.coverage();
    if scene.trace {
        st.trace = Some(Box::default());
    }
    st.warnings.strict = scene.strict;
    if st.warnings.strict {
        let allowing = rules.clone();
        st.warnings.accepts = Some(std::rc::Rc::new(move |warning| allowing.allows(warning)));
    }
    let table = rules.macros().clone();
    let templates = TemplateCalls::new(rules.templates().clone(), rules.tasks().clone());
    st.set_renderer(std::rc::Rc::new(move |what, args, env| render(what, args, env, &table, &templates)));
    st
}

/// Renders a text or a template; `args` are the arguments of the call.
fn render(what: RenderRequest, args: &Map, env: &Env<'_>, table: &MacroTable, templates: &TemplateCalls) -> Result<Value, EvalFault> {
    let text = || args.get("of").map(Value::to_text).unwrap_or_default();
    let with = || args.get("with").cloned().unwrap_or_default();
    let language = match what {
        RenderRequest::Template => return templates.render(args, env),
        RenderRequest::Text(language) => language,
    };
    let (text, with, st) = (text(), with(), env.st);
    match language {
        Language::Macro => {
            let values = args.get("values").and_then(Value::as_str).and_then(functions::find);
            let flavour = args.get("flavour").and_then(Value::as_str);
            let mode = args.get("mode").and_then(Value::as_str).and_then(WriteMode::named);
            Ok(Value::Text(Macros::new(st, env.memo.pass, table, &with, &text).through(values).in_flavour(flavour).in_mode(mode).run()))
        }
        Language::Outlet => Ok(Value::Text(outlets(&text, st, table))),
        Language::Handlebars => handlebars(&text, &with, args.get("unknown").and_then(Value::as_str), env, table),
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

fn macros(text: &Arc<str>, with: &Value, env: &Env<'_>, table: &MacroTable) -> Arc<str> {
    Macros::new(env.st, env.memo.pass, table, with, text).run()
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
fn handlebars(template: &str, with: &Value, unknown: Option<&str>, env: &Env<'_>, table: &MacroTable) -> Result<Value, EvalFault> {
    let nothing = Value::default();
    let mut name = |name: &str| {
        let tag: Arc<str> = format!("{{{{{name}}}}}").into();
        if unknown == Some("macro") { macros(&tag, &nothing, env, table) } else { tag }
    };
    let limits = TextLimits::HANDLEBARS.with_output(env.st.rules.limits.text_bytes);
    let manner = if unknown == Some("stays") { UnknownNames::Stays } else { UnknownNames::Asked };
    let text = Template::known(template, manner).and_then(|compiled| compiled.render(with, &mut name, &limits));
    text.map(Value::text).map_err(|error| fault(&error, template, "template"))
}
