//! `set`: fields of the selected items, and `$name` keys of the build.
//!
//! All values of one item are evaluated before any is stored, so that `{ a = "@b", b = "@a" }` swaps them. `$name`
//! keys are set once per pass, whether or not any item was selected; with `group_by`, once per part.

use std::sync::Arc;

use super::pass::{CompiledPass, EACH, HistoryDemand, ItemChange, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass};
use crate::diag::{Code, DocumentNode, FieldMap, Span};
use crate::model::{FieldId, Item, Term, TermType, Value};
use crate::syntax::CompileContext;
use crate::syntax::context::ItemScope;
use crate::terms::select::SelectSequence;
use crate::terms::usage::check_kept;
use crate::terms::{BuildState, CurrentItem, Env, EvalFault, Expr, PassReasons};
use crate::text::written::ToText as _;

/// Names of fields, and of values of the build.
pub(super) const FIELD_NAMES: TermType = TermType::Json(
    r#"{
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": { "type": "string", "pattern": "^\\$?[A-Za-z_][A-Za-z0-9_.$@\\[\\]-]*$" }
    }"#,
);

/// `set` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "set",
    doc: "sets fields of the selected items; `$name` keys once per pass, `$state.x` in the patch",
    terms: &[
        EACH,
        Term::defined(
            "set",
            "set",
            "a table. `field = value` sets a field, `\"field.inner\" = value` sets something inside of it, `\"$path\" = value` sets a value of the build",
        ),
        Term::new("fields", FIELD_NAMES, "a list of fields and `$path` names, which are all set to `value`. May stand beside `set`"),
        Term::defined("value", "value", "what all `fields` are set to"),
        Term::text(
            "number",
            "a field that is set to the position of each selected item in visiting order, from 0; with `end = \"last\"` the newest is 0",
        ),
    ],
    cost: "the selected",
    did: "set",
    parse: |cx, w| Some(Box::new(SetTerms::parse(cx, w)?)),
};

/// The terms of `set`.
pub struct SetTerms {
    fields: Vec<(FieldId, Vec<Arc<str>>, Expr)>,
    /// The field that is set to the index of each selected item in visiting order, from 0.
    number: Option<FieldId>,
    globals: Vec<(Vec<KeyStep>, Expr)>,
    /// `$name` keys have an item at hand: the first of a part.
    parts: bool,
}

/// A step of a `$name` key: a name or a computed one.
enum KeyStep {
    Name(Arc<str>),
    Computed(Expr),
}

impl SetTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        let number = w.field(cx, "number");
        let mut set = Self { fields: Vec::new(), number, globals: Vec::new(), parts: w.node("group_by").is_some() };
        let alike = set.alike(cx, w.fields, w.scope);
        match w.node("set") {
            Some(node) if w.node("reason").is_some() && node.as_table().is_some_and(FieldMap::is_empty) => {}
            Some(node) => set.table(cx, node, w.scope),
            None if alike || number.is_some() => {}
            None => {
                cx.fail(Code::TermMissing, w.span, "`set` needs a table of fields", Some("add `set = { field = value }`".into()));
                return None;
            }
        }
        Some(set)
    }

    /// Reads `fields = [name, …]` with `value`, which is set on all of them. False if neither is present.
    fn alike(&mut self, cx: &mut CompileContext<'_>, fields: &FieldMap, scope: &ItemScope) -> bool {
        let (list, value) = (fields.get("fields"), fields.get("value"));
        let (Some(list), Some(value)) = (list, value) else {
            let lone = list.map(|f| (f.key, "value")).or_else(|| value.map(|f| (f.key, "fields")));
            if let Some((key, other)) = lone {
                let help = Some("write `fields = [\"a\", \"b\"]` and `value = …`, or `set = { a = …, b = … }`".into());
                cx.fail(Code::TermMissing, key, format!("`fields` and `value` of `set` stand together, but there is no `{other}`"), help);
            }
            return lone.is_some();
        };
        for node in list.node.as_list().unwrap_or(&[]) {
            let Some(name) = node.as_text() else { continue };
            if fields.get("set").is_some_and(|f| f.node.get(name).is_some()) {
                let help = Some("keep one of them".into());
                cx.fail(Code::TwoMeanings, node.span, format!("`{name}` is set twice: here, and in `set`"), help);
            }
            cx.within(scope.clone(), |cx| self.key(cx, name, node.span, &value.node));
        }
        true
    }

    /// Sets one field.
    pub fn of_field(field: FieldId, value: Expr) -> Self {
        Self { fields: vec![(field, Vec::new(), value)], number: None, globals: Vec::new(), parts: false }
    }

    /// Reads a table of fields and `$name` keys, which are set for a part.
    pub fn of(cx: &mut CompileContext<'_>, node: &DocumentNode, scope: &ItemScope) -> Self {
        let mut set = Self { fields: Vec::new(), number: None, globals: Vec::new(), parts: true };
        set.table(cx, node, scope);
        set
    }

    fn table(&mut self, cx: &mut CompileContext<'_>, node: &DocumentNode, scope: &ItemScope) {
        let Some(table) = node.as_table() else {
            cx.fail(
                Code::TermType,
                node.span,
                format!("`set` takes a table, not {}", node.kind()),
                Some("write `set = { field = value }`".into()),
            );
            return;
        };
        if table.is_empty() {
            let help = "write `set = { field = value }`; only a `set` with `reason` may set nothing".to_owned();
            cx.fail(Code::TermMissing, node.span, "`set` names no field", Some(help.into()));
        }
        for (key, field) in table {
            cx.within(scope.clone(), |cx| self.key(cx, key, field.key, &field.node));
        }
    }

    /// Reads one field or `$name` key, which stands at `span`.
    fn key(&mut self, cx: &mut CompileContext<'_>, key: &str, span: Span, value: &DocumentNode) {
        match key.strip_prefix('$') {
            Some(path) => {
                cx.check_path_value(path, value);
                let kind = cx.names.paths.get(path).map(|declared| declared.kind);
                let read = |cx: &mut CompileContext<'_>| (steps(cx, path, value), cx.expr(value).meant_for(key, kind));
                // without `group_by` the key is set once for all items, so that none of them is `@`
                let global = if self.parts { read(cx) } else { cx.within(ItemScope::None, read) };
                self.globals.push(global);
            }
            None => {
                let (name, rest) = key.split_once('.').unwrap_or((key, ""));
                cx.check_field(0, name, span);
                let kind = cx.names.field_type(cx.types().as_deref(), name);
                let value = cx.field_value(value, kind.filter(|_| rest.is_empty()), name);
                let value = cx.sealed(value);
                let id = cx.fields.intern(name);
                self.fields.push((id, rest.split('.').filter(|s| !s.is_empty()).map(Arc::from).collect(), value));
            }
        }
    }

    /// Whether it sets fields of items.
    #[must_use]
    pub fn has_fields(&self) -> bool {
        !self.fields.is_empty() || self.number.is_some()
    }

    /// A pass that sets nothing only gives a reason, so it runs only where a trace is kept.
    fn give_reasons(reasons: &PassReasons, run: &PassRun<'_>, st: &BuildState) -> Result<(), EvalFault> {
        let chosen = run.chosen(st)?;
        let items = st.list(run.list);
        for item in chosen.iter().filter_map(|n| items.items.get(*n)) {
            reasons.explain(item, Value::Null, st);
        }
        Ok(())
    }

    /// Sets the fields of these items, for which the pass gives these reasons.
    pub fn apply(&self, run: &PassRun<'_>, st: &mut BuildState, chosen: &[usize], reasons: Option<&PassReasons>) -> Result<(), EvalFault> {
        let list = run.list;
        if let Some(values) = self.literals() {
            Self::apply_literals(st, list, chosen, &values, reasons);
            return Ok(());
        }
        let mut made = Vec::with_capacity(chosen.len());
        {
            let items = st.list(list);
            let env = run.env(st);
            for (nth, n) in chosen.iter().enumerate() {
                if let Some(item) = items.items.get(*n) {
                    made.push((*n, nth, self.values(item, *n, &env)?));
                    st.note(item, "set", reasons);
                }
            }
        }
        // in place: copying every item of a large list would cost more than all else a pass does
        let list = st.list_mut(list);
        for (n, nth, values) in made {
            if let Some(item) = list.items.get_mut(n) {
                self.assign(item, nth, values);
            }
        }
        Ok(())
    }

    /// The values, if they are the same for every item.
    fn literals(&self) -> Option<Vec<(FieldId, &Value)>> {
        if self.number.is_some() {
            return None;
        }
        self.fields
            .iter()
            .map(|(id, rest, e)| if let (Expr::Const(v), true) = (e, rest.is_empty()) { Some((*id, v)) } else { None })
            .collect()
    }

    fn apply_literals(st: &mut BuildState, list: usize, chosen: &[usize], values: &[(FieldId, &Value)], reasons: Option<&PassReasons>) {
        if st.trace.is_some() {
            let items = st.list(list);
            for item in chosen.iter().filter_map(|n| items.items.get(*n)) {
                st.note(item, "set", reasons);
            }
        }
        let list = st.list_mut(list);
        for n in chosen {
            let Some(item) = list.items.get_mut(*n) else { continue };
            for (id, value) in values {
                item.set(*id, (*value).clone());
            }
        }
    }

    /// Sets the `$name` keys; `@` is the first item of the part.
    pub fn apply_globals(&self, run: &PassRun<'_>, st: &mut BuildState, part: &[usize]) -> Result<(), EvalFault> {
        let mut made = Vec::new();
        {
            let items = st.list(run.list);
            let seq = SelectSequence::Some(&items.items, part);
            let env = run.env(st);
            let mut env = env.inner(seq.cur(0));
            env.part = Some(seq);
            for (steps, value) in &self.globals {
                let mut names = Vec::with_capacity(steps.len());
                for step in steps {
                    names.push(match step {
                        KeyStep::Name(n) => n.clone(),
                        KeyStep::Computed(e) => env.eval(e)?.shown(),
                    });
                }
                made.push((names, env.eval(value)?));
            }
        }
        for (names, value) in made {
            st.put(&names, value);
        }
        Ok(())
    }

    fn values(&self, item: &Item, place: usize, env: &Env<'_>) -> Result<Vec<Value>, EvalFault> {
        let here = env.inner(CurrentItem::Item(item, place));
        let values = self.fields.iter().map(|(_, _, e)| here.eval(e)).collect::<Result<Vec<_>, _>>()?;
        for (value, (id, rest, _)) in values.iter().zip(&self.fields) {
            if let Err(would) = check_kept(value, env.st.rules.limits.text_bytes, &env.st.scene) {
                let name = env.st.rules.fields.name(*id);
                let name = std::iter::once(&name).chain(rest).map(|name| &**name).collect::<Vec<_>>().join(".");
                return Err(EvalFault::bound(format!("the field `{name}` would {would}")));
            }
        }
        Ok(values)
    }

    fn assign(&self, item: &mut Item, nth: usize, values: Vec<Value>) {
        if let Some(number) = self.number {
            item.set(number, Value::Int(i64::try_from(nth).unwrap_or(i64::MAX)));
        }
        for ((id, rest, _), value) in self.fields.iter().zip(values) {
            assign(item, *id, rest, value);
        }
    }
}

impl Verb for SetTerms {
    fn reach(&self, pass: &CompiledPass) -> HistoryDemand<'_> {
        match self.has_fields() {
            true => HistoryDemand::Each(self),
            false if pass.select.is_local() => HistoryDemand::Nothing,
            false => HistoryDemand::Selected,
        }
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        if self.has_fields() {
            let chosen = run.chosen(st)?;
            self.apply(run, st, &chosen, run.reasons.as_ref())?;
        }
        if self.globals.is_empty() {
            if let Some(reasons) = run.reasons.as_ref().filter(|reasons| !self.has_fields() && reasons.are_given()) {
                Self::give_reasons(reasons, run, st)?;
            }
            return Ok(());
        }
        if run.pass.select.per.is_none() {
            return Ok(self.apply_globals(run, st, &[])?);
        }
        let parts = run.pass.select.parts(SelectSequence::Items(&st.list(run.list).items), &run.env(st))?;
        for part in parts {
            self.apply_globals(run, st, &part)?;
        }
        Ok(())
    }
}

impl ItemChange for SetTerms {
    fn change(&self, item: &mut Item, place: usize, nth: usize, env: &Env<'_>) -> Result<bool, EvalFault> {
        let values = self.values(item, place, env)?;
        self.assign(item, nth, values);
        Ok(true)
    }

    fn fields(&self) -> Vec<FieldId> {
        self.fields.iter().map(|(id, _, _)| *id).chain(self.number).collect()
    }

    fn numbers(&self) -> bool {
        self.number.is_some()
    }

    fn has_effects(&self) -> bool {
        false
    }
}

/// Sets a field, or something inside it.
pub fn assign(item: &mut Item, id: FieldId, rest: &[Arc<str>], value: Value) {
    if rest.is_empty() {
        item.set(id, value);
        return;
    }
    let mut tree = item.get(id).cloned().unwrap_or_default();
    crate::terms::trees::put(&mut tree, rest, value);
    item.set(id, tree);
}

fn steps(cx: &mut CompileContext<'_>, path: &str, node: &DocumentNode) -> Vec<KeyStep> {
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let end = if rest.starts_with('[') { rest.find(']').map_or(rest.len(), |n| n + 1) } else { rest.find('.').unwrap_or(rest.len()) };
        let (word, after) = (rest.get(..end).unwrap_or(""), rest.get(end..).unwrap_or(""));
        match word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
            Some(inner) => {
                let expr = cx.reference(inner, node, 0);
                out.push(KeyStep::Computed(expr));
            }
            None if word.is_empty() => {}
            None => out.push(KeyStep::Name(word.into())),
        }
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    out
}
