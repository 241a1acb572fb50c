//! `run`: runs a program, a script of the pack, or the hooks of an event.
//!
//! With `each` the program runs once per element, which `as` names: on its caller's list if that is its list too, and
//! otherwise each time on an empty list of its own. With `per_item` it runs once per selected item, alone in the program's own list, and puts the item back.
//! A program whose items are of the caller's kind works on the caller's list.

use std::sync::Arc;

use super::pass::{CompiledPass, HistoryDemand, PassRun, ProgramInterrupt, Verb, VerbInfo, WrittenPass, refuse, selection};
use crate::diag::Code;
use crate::model::{Term, Value};
use crate::syntax::CompileContext;
use crate::syntax::scripts::ITEMS_AND_SCENE;
use crate::terms::select::pass_env;
use crate::terms::{BuildState, Expr};

/// `run` as the table of verbs knows it.
pub const INFO: VerbInfo = VerbInfo {
    name: "run",
    doc: "runs a program, a script, or the hooks of an event",
    terms: &[
        Term::text("program", "the program that is run, by its name"),
        Term::text(
            "script",
            "instead of `program`: a function `file.rhai::function` of the pack, which gets the items of the list and the scene and \
             returns items",
        ),
        Term::text(
            "event",
            "instead of `program`: an event, whose hooks `before_NAME` run now and `after_NAME` when the current program ends",
        ),
        Term::defined(
            "each",
            "given",
            "a list; the program runs once for each element. Its list is empty at the start of each run, unless it is the caller's \
             own list, which stays as it is",
        )
        .default("once"),
        Term::text("as", "the name of the element: `as = \"field\"` makes it `$field`").default("`each`"),
        Term::flag("copy", "the list is restored afterwards; values that were set stay set"),
        Term::flag(
            "per_item",
            "the program runs once for each selected item. The item is alone in the program's own list, and then goes back to its position",
        ),
    ],
    cost: "what it runs",
    did: "run",
    parse: |cx, w| Some(Box::new(RunTerms::parse(cx, w)?)),
};

/// The terms of `run`.
pub struct RunTerms {
    /// What is run.
    pub what: RunTarget,
    each: Option<Expr>,
    name: Arc<str>,
    copy: bool,
    singly: bool,
}

/// What is run.
pub enum RunTarget {
    /// A program, by number.
    Program(usize),
    /// A Rhai function of the pack.
    Script(Arc<str>),
    /// The hooks of an event.
    Event(Arc<str>),
}

/// The program that a pass names, by number; reports an error if there is none.
pub(super) fn program(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<usize> {
    let Some(node) = w.node("program") else {
        cx.fail(Code::TermMissing, w.span, "the pass names no program", Some("add `program = \"…\"`".into()));
        return None;
    };
    let name = node.as_text().unwrap_or("");
    let programs: Vec<Arc<str>> = cx.pack.tables.get("program").map(|r| r.keys().cloned().collect()).unwrap_or_default();
    match programs.iter().position(|p| p.as_ref() == name) {
        Some(n) => Some(n),
        None => {
            cx.unknown("program", name, node.span, programs.iter().map(AsRef::as_ref));
            None
        }
    }
}

impl RunTerms {
    /// Reads the terms.
    fn parse(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) -> Option<Self> {
        check(cx, w);
        let what = match (w.text("script"), w.text("event")) {
            (Some(script), _) => {
                cx.function(script, w.node("script").map_or(w.span, |node| node.span), ITEMS_AND_SCENE);
                RunTarget::Script(script.into())
            }
            (None, Some(event)) => RunTarget::Event(event.into()),
            (None, None) => RunTarget::Program(program(cx, w)?),
        };
        let each = w.value(cx, "each");
        let name = w.text("as").unwrap_or("each").into();
        Some(Self { what, each, name, copy: w.flag("copy"), singly: w.flag("per_item") })
    }

    /// Runs the program for each selected item alone in the program's own list, and puts it back in its place; an
    /// item that is dropped there stays unchanged.
    fn run_singly(program: usize, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let (list, caller) = (run.list, run.runner);
        st.load_all(list)?;
        let chosen = run.chosen(st)?;
        let own = caller.list_of(program);
        for n in chosen {
            let Some(item) = st.list(list).items.get(n).cloned() else { continue };
            st.restore(own, vec![item]);
            ended(caller.program(program, None, st))?;
            let Some(mut item) = std::mem::take(&mut st.list_mut(own).items).into_iter().next() else { continue };
            item.list = u16::try_from(list).unwrap_or(u16::MAX);
            if let Some(slot) = st.list_mut(list).items.get_mut(n) {
                *slot = item;
            }
        }
        Ok(())
    }

    fn run_each(&self, program: usize, each: &Expr, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let (list, caller) = (run.list, run.runner);
        let elements = run.env(st).eval(each)?;
        let own = caller.list_of(program);
        // a program over the caller's own list works on what is in it
        let over = (own == list).then_some(list);
        for element in elements.elements() {
            let element = settled(element, run, st)?;
            st.put(std::slice::from_ref(&self.name), element);
            if over.is_none() {
                st.restore(own, Vec::new());
            }
            ended(caller.program(program, over, st))?;
        }
        st.put(std::slice::from_ref(&self.name), Value::Null);
        Ok(())
    }
}

impl Verb for RunTerms {
    fn reach(&self, _pass: &CompiledPass) -> HistoryDemand<'_> {
        HistoryDemand::Own
    }

    fn run(&self, run: &PassRun<'_>, st: &mut BuildState) -> Result<(), ProgramInterrupt> {
        let (list, caller) = (run.list, run.runner);
        let program = match &self.what {
            RunTarget::Script(name) => return caller.script(name, run, st),
            RunTarget::Event(name) => return caller.event(name, run, st),
            RunTarget::Program(n) => *n,
        };
        if self.singly {
            return Self::run_singly(program, run, st);
        }
        if let Some(each) = &self.each {
            return self.run_each(program, each, run, st);
        }
        let own = caller.list_of(program);
        let same = st
            .rules
            .lists
            .get(own)
            .zip(st.rules.lists.get(list))
            .is_some_and(|(a, b)| own == list || (!a.rows.is_empty() && a.rows == b.rows && a.from.is_none() && b.from.is_none()));
        let over = if same { Some(list) } else { None };
        let kept = self.copy.then(|| {
            let target = over.unwrap_or(own);
            (target, st.snapshot(target))
        });
        let result = ended(caller.program(program, over, st));
        if let Some((target, items)) = kept {
            st.restore(target, items);
        }
        result
    }

    fn callee(&self) -> Option<usize> {
        match self.what {
            RunTarget::Program(program) => Some(program),
            RunTarget::Script(_) | RunTarget::Event(_) => None,
        }
    }
}

/// A row of the pack's own tables, its compiled cells evaluated.
fn settled(value: &Value, run: &PassRun<'_>, st: &BuildState) -> Result<Value, ProgramInterrupt> {
    let memo = run.fresh_memo();
    let env = pass_env(st, &memo);
    let Value::Map(map) = value else { return Ok(value.clone()) };
    let mut out = (**map).clone();
    for cell in out.values_mut() {
        *cell = env.settle(std::mem::take(cell))?;
    }
    Ok(Value::map(out))
}

/// A program that stopped itself has ended; its caller continues.
fn ended(result: Result<(), ProgramInterrupt>) -> Result<(), ProgramInterrupt> {
    match result {
        Err(ProgramInterrupt::Stop) => Ok(()),
        other => other,
    }
}

/// Reports terms that could have no effect.
fn check(cx: &mut CompileContext<'_>, w: &WrittenPass<'_>) {
    let fields = w.fields;
    let has = |key: &str| fields.contains_key(key);
    let what: Vec<&str> = ["program", "script", "event"].into_iter().filter(|key| has(key)).collect();
    if let [first, others @ ..] = what.as_slice() {
        for other in others {
            refuse(cx, fields, other, &format!("`{other}` beside `{first}`: a pass runs one thing"), "take one out, or write two passes");
        }
        if *first != "program" {
            for key in ["each", "as", "copy", "per_item"] {
                refuse(cx, fields, key, &format!("`{key}` has no meaning beside `{first}`"), "it is about the program that is run");
            }
        }
    }
    if w.flag("per_item") {
        for key in ["each", "as", "copy"] {
            refuse(
                cx,
                fields,
                key,
                &format!("`{key}` has no meaning beside `per_item`"),
                "`per_item` runs the program once a selected item",
            );
        }
    } else {
        let help = match what.first() {
            Some(&"script") => "take it out: the function is given all items of the list, and can look for those that it changes",
            Some(&"event") => "take it out: the hooks of an event are given all items of the list",
            _ => "add `per_item = true` to run the program once for each selected item",
        };
        selection(cx, fields, "`run` selects nothing", help);
    }
    if !has("each") && !w.flag("per_item") {
        refuse(cx, fields, "as", "`as` names the element of `each`, which the pass has not", "add `each`, or take `as` out");
    }
}
