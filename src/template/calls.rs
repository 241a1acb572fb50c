//! Templates in a build: `{ fn = "template", … }`. The call connects the templates of the pack with its tasks, and the
//! state of the build answers the sources.

use std::cell::RefCell;
use std::sync::Arc;

use crate::diag::{Code, Span, short, suggest};
use crate::model::item::core;
use crate::model::{Item, Map, Value};
use crate::terms::eval::CurrentItem;
use crate::terms::{BuildState, Env, EvalFault, PassContext, PassMemo, ledger};
use crate::text::tokens::Estimator;
use crate::text::written::ToText as _;

use super::form::{AttachmentLane, PlacementRequest};
use super::render::{
    self, Budget, ErrorKind, Inputs, Message, QuarterRuler, RenderError, RenderLimits, RenderedTemplate, Ruler, SourceProvider, offers,
};
use super::task::OfferedLanes;
use super::task::{Task, Tasks};
use super::{CompiledTemplates, SourceValue, Template};

/// The templates and tasks of a pack.
#[derive(Clone)]
pub(crate) struct TemplateCalls {
    templates: Arc<CompiledTemplates>,
    tasks: Arc<Tasks>,
}

impl TemplateCalls {
    /// The calls of a pack, over its compiled templates and tasks.
    pub(crate) fn new(templates: Arc<CompiledTemplates>, tasks: Arc<Tasks>) -> Self {
        Self { templates, tasks }
    }

    /// Renders the call `{ of, task?, budget?, ruler?, data? }` to `{ messages, tokens, revision }`. Warnings are added
    /// to the plan.
    pub(crate) fn render(&self, args: &Map, env: &Env<'_>) -> Result<Value, EvalFault> {
        let st = env.st;
        let template = self.template(args)?;
        let task = self.tasks.find(&template.task, &template.revision.name).ok_or_else(|| self.no_task(template))?;
        let nothing = Value::map(Map::default());
        let context = args.get("data").filter(|data| data.as_map().is_some()).unwrap_or(&nothing);
        let sources = TaskSources { task, st, pass: env.memo.pass, bound: RefCell::default() };
        let (lanes, requests) = lanes(template, task, env)?;
        let ruler = args.get("cost_model").filter(|name| !name.is_empty()).map(|name| PackRuler::named(&name.shown(), env)).transpose()?;
        let counted: &dyn Ruler = ruler.as_ref().map_or(&QuarterRuler, |ruler| ruler);
        let mut budget = Budget::new(ceiling(template, args)?);
        let inputs = Inputs { context, sources: &sources, ruler: counted, lanes: &lanes, requests: &requests, limits: limits(st) };
        let rendered = render::render(template, &inputs, &mut budget);
        let stopped = sources.bound.into_inner().or_else(|| ruler.and_then(|ruler| ruler.failed.into_inner()));
        match (stopped, rendered) {
            (Some(fault), _) => Err(fault),
            (None, Ok(rendered)) => Ok(told(template, task, rendered, st)),
            (None, Err(error)) => Err(fault(template, &error)),
        }
    }

    fn template(&self, args: &Map) -> Result<&Template, EvalFault> {
        let id = args.get("of").map(Value::shown).unwrap_or_default();
        let Some(template) = self.templates.get(&*id) else {
            let known = self.templates.keys().map(AsRef::as_ref);
            let help = suggest::help(&id, known).unwrap_or_else(|| match self.templates.is_empty() {
                true => "it has none, so name a file, or add one of `kind = \"template\"`".into(),
                false => "templates are named by their `id`".into(),
            });
            return Err(EvalFault::call(format!("the pack has no template `{id}`; {help}")));
        };
        match args.get("task").filter(|task| !task.is_empty()).map(Value::shown) {
            Some(task) if task != template.task => {
                let message = format!("template `{id}` is written for task `{}`, and not for `{task}`", template.task);
                Err(EvalFault::call(message))
            }
            _ => Ok(template),
        }
    }

    fn no_task(&self, template: &Template) -> EvalFault {
        let kinds = self.tasks.kinds();
        let help =
            suggest::help(&template.task, kinds.iter().copied()).unwrap_or_else(|| format!("its tasks: {}", kinds.join(", ")).into());
        let message = format!("template `{}` is written for task `{}`, which the pack does not have; {help}", template.id, template.task);
        EvalFault::call(message)
    }
}

/// The budget that a template is rendered with, in tokens; `None` for no limit.
fn ceiling(template: &Template, args: &Map) -> Result<Option<u64>, EvalFault> {
    let Some(budget) = args.get("budget").filter(|budget| !budget.is_null()) else { return Ok(None) };
    budget.as_f64().map(|most| Some(tokens(most))).ok_or_else(|| {
        let message =
            format!("the budget of template `{}` must be a number of tokens, but is `{}`", template.id, short::word(&budget.shown()));
        EvalFault::call(message)
    })
}

/// The lanes that a task offers to a template, and the requests for places in them.
fn lanes(template: &Template, task: &Task, env: &Env<'_>) -> Result<(Vec<AttachmentLane>, Vec<PlacementRequest>), EvalFault> {
    if !template.revision.knows_anchors {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut offered = OfferedLanes::default();
    for lane in &task.lanes {
        lane.offer(env, &mut offered)?;
    }
    let wrong = |why: String| EvalFault::template(format!("the lanes of task `{}`: {why}", task.name));
    let lanes = offers::lanes(&Value::list(offered.lanes), &template.revision).map_err(wrong)?;
    let requests = offers::requests(&Value::list(offered.requests), &template.revision).map_err(wrong)?;
    Ok((lanes, requests))
}

/// The bounds of a render, within those of the pack.
fn limits(st: &BuildState) -> RenderLimits {
    let most = RenderLimits::default();
    RenderLimits { bytes: most.bytes.min(st.rules.limits.text_bytes.saturating_mul(8)), ..most }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clipped at both ends")]
fn tokens(number: f64) -> u64 {
    number.max(0.0).floor() as u64
}

fn told(template: &Template, task: &Task, rendered: RenderedTemplate, st: &BuildState) -> Value {
    for warning in &rendered.warnings {
        let row = task.source(&warning.source).map(|source| format!("source/{}", source.whole));
        st.warn_with(Code::TemplateData, format!("in template `{}`, {warning}", template.id), None, row);
    }
    let count = |n: usize| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let spent = Value::Int(i64::try_from(rendered.tokens).unwrap_or(i64::MAX));
    st.instrument("template", || {
        table([("of", Value::Text(template.id.clone())), ("messages", count(rendered.messages.len())), ("tokens", spent.clone())])
    });
    let messages = rendered.messages.into_iter().map(message).collect();
    table([("messages", Value::list(messages)), ("tokens", spent), ("revision", Value::Text(template.revision.name.clone()))])
}

fn message(message: Message) -> Value {
    let prefix = message.prefix.then_some(("prefix", Value::Bool(true)));
    table([("role", Value::Text(message.role.0)), ("content", Value::Text(message.content))].into_iter().chain(prefix))
}

fn table<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::map(fields.into_iter().map(|(key, value)| (Arc::from(key), value)).collect())
}

fn fault(template: &Template, error: &RenderError) -> EvalFault {
    let message = format!("template `{}`: {error}", template.id);
    if error.kind == ErrorKind::Bound {
        EvalFault::bound(format!("{message}; give its loops a `limit` or a budget"))
    } else {
        EvalFault::template(message)
    }
}

/// Answers the sources of a task from the state of a build.
struct TaskSources<'a> {
    task: &'a Task,
    st: &'a BuildState,
    pass: PassContext,
    /// A limit that was reached: it ends the build, while any other failure only leaves the source absent.
    bound: RefCell<Option<EvalFault>>,
}

impl SourceProvider for TaskSources<'_> {
    fn resolve(&self, name: &str, args: Option<&Value>) -> Result<Option<Value>, String> {
        Ok(self.see(name, args)?.map(|seen| seen.to_value()))
    }

    fn see(&self, name: &str, args: Option<&Value>) -> Result<Option<SourceValue>, String> {
        let Some(source) = self.task.source(name) else { return Ok(None) };
        if self.bound.borrow().is_some() {
            return Ok(None);
        }
        source.resolve(args, self.pass, self.st).map_err(|fault| {
            let message = fault.message.clone();
            if fault.is_bound() {
                *self.bound.borrow_mut() = Some(fault);
            }
            message
        })
    }

    fn holds(&self, place: Span, values: &Value) -> Result<bool, String> {
        let rules = &self.st.rules;
        let Some(number) = rules.conditions.get(&place) else { return Err("the pack does not know this condition".to_owned()) };
        let memo = PassMemo::of(self.pass);
        // `@index` is the index of the innermost loop
        let index = values.get("index").and_then(Value::as_i64).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let env = Env { st: self.st, cur: CurrentItem::Value(values, index), outer: None, memo: &memo, part: None };
        env.condition_cell(*number).map_err(|fault| {
            let message = fault.message.clone();
            if fault.is_bound() {
                *self.bound.borrow_mut() = Some(fault);
            }
            message
        })
    }
}

/// A ruler of the pack, applied to texts alone as templates count them.
struct PackRuler<'a> {
    st: &'a BuildState,
    pass: PassContext,
    ruler: usize,
    /// UTF-16 units per token, if the estimator counts by length, and the fixed cost of each text.
    known: Option<(f64, f64)>,
    failed: RefCell<Option<EvalFault>>,
}

impl<'a> PackRuler<'a> {
    fn named(name: &str, env: &Env<'a>) -> Result<Self, EvalFault> {
        let st = env.st;
        let rulers = &st.rules.rulers;
        let Some(ruler) = rulers.iter().position(|r| &*r.name == name) else {
            let help = suggest::help(name, rulers.iter().map(|r| r.name.as_ref())).map(|help| format!("; {help}")).unwrap_or_default();
            return Err(EvalFault::call(format!("the pack has no cost model `{name}`{help}")));
        };
        let mut made = Self { st, pass: env.memo.pass, ruler, known: None, failed: RefCell::default() };
        made.known = made.shape()?;
        Ok(made)
    }

    /// The cost of a text by its length; `None` for rulers that do not simply count the text.
    fn shape(&self) -> Result<Option<(f64, f64)>, EvalFault> {
        let Some(ruler) = self.st.rules.rulers.get(self.ruler) else { return Ok(None) };
        let memo = PassMemo::of(self.pass);
        let env = Env { st: self.st, cur: CurrentItem::None, outer: None, memo: &memo, part: None };
        // a ruler that cannot count is reported before anything is rendered
        ledger::counter(&env, &ruler.estimator)?;
        let name = env.eval(&ruler.estimator)?.shown();
        let units = match Estimator::parse(if name.is_empty() { ledger::DEFAULT } else { &name }) {
            Ok(Estimator::CharsPer(n) | Estimator::BytesPer(n)) if ruler.counts_the_text() && ruler.empty.is_none() => n,
            _ => return Ok(None),
        };
        Ok(env.eval(&ruler.each)?.as_f64().or(Some(0.0)).map(|each| (units, each)))
    }
}

impl Ruler for PackRuler<'_> {
    fn cost(&self, text: &str) -> u64 {
        if text.is_empty() || self.failed.borrow().is_some() {
            return 0;
        }
        let mut item = Item::default();
        item.set(core::TEXT, Value::text(text));
        let memo = PassMemo::of(self.pass);
        let env = Env { st: self.st, cur: CurrentItem::Item(&item, 0), outer: None, memo: &memo, part: None };
        match ledger::ruler_cost(&env, self.ruler) {
            Ok(cost) => tokens(cost.ceil()),
            Err(fault) => {
                *self.failed.borrow_mut() = Some(fault);
                0
            }
        }
    }

    fn least(&self, units: u64) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "texts are far below 2^52 units")]
        self.known.map_or(0, |(per, each)| tokens((units as f64 / per).ceil() + each))
    }
}
