//! `shape`: changes one text of the selected items, step by step; a step that fails leaves the text before it.

use crate::diag::Code;
use crate::model::{FieldId, Item, Term, item::core};
use crate::syntax::CompileContext;
use crate::terms::steps::TextStep;
use crate::terms::{BuildState, CurrentItem, Env, EvalFault};

use super::pass::{CompiledPass, EACH, HistoryDemand, ItemChange, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};
use super::set::FIELD_NAMES;

/// `shape` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "shape",
    doc: "changes a text of the selected items, step by step",
    terms: &[
        EACH,
        Term::json(
            "steps",
            r##"{ "type": "array", "items": { "$ref": "#/definitions/step" }, "minItems": 1 }"##,
            "a list of steps. Each has one key that says what it does, and may have `when`, a condition on the item",
        ),
        Term::text("field", "the field that is changed").default("`text`"),
        Term::new(
            "fields",
            FIELD_NAMES,
            "instead of `field`: a list of fields that are changed one after another. A missing field is an empty text",
        ),
    ],
    cost: "the text of the selected",
    did: "shaped",
    parse: |cx, w| Some(Box::new(ShapeTerms::parse(cx, w)?)),
};

/// The terms of `shape`.
pub struct ShapeTerms {
    /// The fields that are changed, one after another.
    fields: Vec<FieldId>,
    steps: Box<[TextStep]>,
}

impl ShapeTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        let Some(steps) = w.node("steps") else {
            cx.fail(Code::TermMissing, w.span, "`shape` needs a list of `steps`", Some("add `steps = [{ trim = \"both\" }]`".into()));
            return None;
        };
        let names = names(cx, w);
        let steps = cx.within(w.scope.clone(), |cx| cx.steps(steps));
        Some(Self { fields: names, steps })
    }

    /// The item with its text changed.
    pub fn changed(&self, item: &Item, place: usize, env: &Env<'_>) -> Result<Item, EvalFault> {
        let mut item = item.clone();
        for (field, step) in self.fields.iter().flat_map(|field| self.steps.iter().map(move |step| (*field, step))) {
            let here = env.inner(CurrentItem::Item(&item, place));
            if let Some(when) = &step.when
                && !here.holds(when)?
            {
                continue;
            }
            // a cell of a rule file can be an expression: the steps change its value
            let old = here.settle(item.get(field).cloned().unwrap_or_default())?;
            let new = step.changed(old, &here)?;
            item.set(field, new);
        }
        Ok(item)
    }
}

impl Verb for ShapeTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Each(self)
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let chosen = run.chosen(st)?;
        let mut changed = Vec::with_capacity(chosen.len());
        {
            let items = st.list(run.list);
            let env = run.env(st);
            for n in chosen {
                if let Some(item) = items.items.get(n) {
                    changed.push((n, self.changed(item, n, &env)?));
                    run.note(item, "shaped", st);
                }
            }
        }
        let list = st.list_mut(run.list);
        for (n, item) in changed {
            if let Some(slot) = list.items.get_mut(n) {
                *slot = item;
            }
        }
        if self.steps.iter().any(TextStep::outlines) {
            st.marks.borrow_mut().clear();
        }
        Ok(())
    }
}

impl ItemChange for ShapeTerms {
    fn change(&self, item: &mut Item, place: usize, _nth: usize, env: &Env<'_>) -> Result<bool, EvalFault> {
        *item = self.changed(item, place, env)?;
        Ok(true)
    }

    fn fields(&self) -> Vec<FieldId> {
        self.fields.clone()
    }

    fn numbers(&self) -> bool {
        false
    }

    fn has_effects(&self) -> bool {
        self.steps.iter().any(TextStep::expands_macros)
    }
}

/// The fields that the steps change: `fields`, or `field`, or else the text.
fn names(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Vec<FieldId> {
    let Some(list) = w.node("fields") else { return vec![w.field(cx, "field").unwrap_or(core::TEXT)] };
    if let Some(field) = w.fields.get("field") {
        let help = Some("name all of them in `fields`".into());
        cx.fail(Code::TwoMeanings, field.key, "a `shape` has either `field` or `fields`", help);
    }
    let mut out = Vec::new();
    for node in list.as_list().unwrap_or(&[]) {
        match node.as_text().filter(|name| !name.starts_with(['$', '@']) && !name.contains('.')) {
            Some(name) => {
                cx.within(w.scope.clone(), |cx| cx.check_field(0, name, node.span));
                out.push(cx.fields.intern(name));
            }
            None => {
                let help = Some("write the names of fields: `fields = [\"text\", \"name\"]`".into());
                cx.fail(Code::TermType, node.span, "`shape` changes fields of items", help);
            }
        }
    }
    out
}
