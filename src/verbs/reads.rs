//! What queries of a pass read of lists, and how far the newest end of a list is read for a selection.

use crate::syntax::CompileContext;
use crate::syntax::context::TailQuery;
use crate::terms::select::{SelectCount, SelectEnd, count, pass_env};
use crate::terms::{BuildState, CurrentItem, EvalFault, PassMemo, Select};

/// What queries read of lists.
#[derive(Default)]
pub struct ListReads {
    /// Lists that are read whole.
    pub whole: Vec<usize>,
    /// What is left of an account is asked for, which counts the whole current list.
    pub account: bool,
    /// The place of an item in its list is asked for, which takes the whole list.
    pub index: bool,
    /// Lists of which only the newest end is looked at, and by which selection.
    pub tails: Vec<TailQuery>,
}

impl ListReads {
    pub(super) fn take(cx: &mut CompileContext<'_>) -> Self {
        // a name that is compiled once and used again reports what it reads only once
        cx.forget_names();
        Self {
            whole: std::mem::take(&mut cx.reads),
            account: std::mem::take(&mut cx.reads_account),
            index: std::mem::take(&mut cx.reads_index),
            tails: std::mem::take(&mut cx.tails),
        }
    }

    /// Has the lists read as far as the queries will look.
    pub fn ready(&self, st: &BuildState) -> Result<(), EvalFault> {
        for list in &self.whole {
            st.force(*list)?;
        }
        if self.account {
            st.force(st.current.get())?;
        }
        let memo = PassMemo::default();
        for TailQuery { list, select, index } in &self.tails {
            if *index && st.list(*list).lazy.as_ref().is_some_and(|lazy| lazy.leaves_out()) {
                st.force(*list)?;
            }
            read_tail(select, st, *list, &memo)?;
        }
        Ok(())
    }
}

/// Reads from the newest end until the selection has all it can take there.
pub fn read_tail(select: &Select, st: &BuildState, list: usize, memo: &PassMemo) -> Result<(), EvalFault> {
    let env = pass_env(st, memo);
    let wanted = match &select.take {
        Some(SelectCount::Count(n)) if select.from == SelectEnd::Last => {
            let skip = select.skip.as_ref().map(|e| env.eval(e)).transpose()?.map_or(0, |v| count(&v));
            Some(count(&env.eval(n)?) + skip)
        }
        _ => None,
    };
    loop {
        let Some(at) = st.list(list).lazy_at() else { return Ok(()) };
        let mut met = 0;
        let mut settled = false;
        {
            let items = st.list(list);
            let seq = items.seq();
            for n in (at..seq.len()).rev() {
                let enabled = matches!(seq.cur(n), CurrentItem::Item(i, _) if i.enabled());
                if !enabled && !select.off {
                    continue;
                }
                let here = env.inner(seq.cur(n));
                if let Some(since) = &select.since
                    && here.holds(since)?
                {
                    settled = true;
                    break;
                }
                if let Some(run) = &select.run
                    && !here.holds(run)?
                {
                    settled = true;
                    break;
                }
                if select.chooses(&here, enabled)? {
                    met += 1;
                }
            }
        }
        if settled || wanted.is_some_and(|w| met >= w) {
            return Ok(());
        }
        // twice as many each time, so that checking the read items again stays cheap
        let more = st.list(list).items.len().saturating_sub(at).max(1);
        for _ in 0..more {
            st.read_one(list)?;
        }
    }
}
