//! Lists and tables as the texts that scripts print.
//!
//! The interpreter writes such a text letter by letter, and anew for each level. The names of fields are written with their
//! escapes, so that a table which is a part of its own names grows by more than it holds. Here a text is paid as it grows.

use std::fmt::Write as _;

use rhai::{Array, Dynamic, ImmutableString, Map, NativeCallContext};

use crate::text::work;

/// Bytes of a text that are written within a step of the work of a build.
const BYTES_PER_STEP: usize = 2;

/// A text that is being written, and how much of it is paid.
#[derive(Default)]
struct Printed {
    text: String,
    paid: usize,
}

impl Printed {
    fn pay(&mut self) -> Result<(), work::Exceeded> {
        let new = self.text.len().saturating_sub(self.paid);
        self.paid = self.text.len();
        work::spend((new / BYTES_PER_STEP) as u64 + 1).and_then(|()| work::make(new))
    }

    fn value(&mut self, value: &mut Dynamic, ctx: &NativeCallContext<'_>) -> Result<(), work::Exceeded> {
        // what closures share may be locked, which the interpreter looks for
        if !value.is_shared() {
            if let Some(mut list) = value.write_lock::<Array>() {
                return self.list(&mut list, ctx);
            }
            if let Some(mut table) = value.write_lock::<Map>() {
                return self.table(&mut table, ctx);
            }
            if let Some(text) = value.read_lock::<ImmutableString>() {
                // writing to a text cannot fail
                let _ = write!(self.text, "{:?}", text.as_str());
                return self.pay();
            }
        }
        let shown = ctx.call_native_fn_raw("to_debug", true, &mut [&mut *value]);
        match shown.ok().and_then(|shown| shown.into_immutable_string().ok()) {
            Some(shown) => self.text.push_str(&shown),
            None => {
                let _ = write!(self.text, "{value:?}");
            }
        }
        self.pay()
    }

    fn list(&mut self, list: &mut Array, ctx: &NativeCallContext<'_>) -> Result<(), work::Exceeded> {
        self.text.push('[');
        for (n, value) in list.iter_mut().enumerate() {
            self.text.push_str(if n > 0 { ", " } else { "" });
            self.value(value, ctx)?;
        }
        self.text.push(']');
        self.pay()
    }

    fn table(&mut self, table: &mut Map, ctx: &NativeCallContext<'_>) -> Result<(), work::Exceeded> {
        self.text.push_str("#{");
        for (n, (name, value)) in table.iter_mut().enumerate() {
            let _ = write!(self.text, "{}{:?}: ", if n > 0 { ", " } else { "" }, name.as_str());
            self.pay()?;
            self.value(value, ctx)?;
        }
        self.text.push('}');
        self.pay()
    }
}

/// A list or table that the interpreter prints, whose depth has been looked at; `None`: it is neither.
pub(super) fn printed(value: &mut Dynamic, ctx: &NativeCallContext<'_>) -> Result<Option<Dynamic>, work::Exceeded> {
    let mut printed = Printed::default();
    if let Some(mut list) = value.write_lock::<Array>() {
        printed.list(&mut list, ctx)?;
    } else if let Some(mut table) = value.write_lock::<Map>() {
        printed.table(&mut table, ctx)?;
    } else {
        return Ok(None);
    }
    Ok(Some(printed.text.into()))
}
