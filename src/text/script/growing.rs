//! Texts that grow. What their letters cost is known from their length where they are read, but a text inside of a table or list
//! is not read when it grows, and the interpreter copies a text to which something is added that is no text.

use std::any::TypeId;

use rhai::{Array, Blob, Dynamic, Engine, EvalAltResult, EvalContext, Expr, INT, ImmutableString, Map, NativeCallContext, Scope};

use super::paid::{appended, met, steps_of_walk, terminated, text_of};
use super::shown::View;
use crate::text::work;

type Outcome<T> = Result<T, Box<EvalAltResult>>;
type Context<'a, 's, 'ps, 'g, 'c, 't> = EvalContext<'a, 's, 'ps, 'g, 'c, 't>;

/// What stands at the end of a chain.
enum End {
    /// A text of so many bytes, or something else.
    Text(usize),
    /// A field of a view, whose texts are noted where they are read.
    Seen,
    /// It would have to be evaluated.
    Unknown,
}

/// Notes how long the text at the end of a chain becomes when a value is added to it.
pub(super) fn grown(chain: &Expr, value: &Dynamic, context: &Context<'_, '_, '_, '_, '_, '_>) {
    let added = match value {
        letter if letter.is_char() => char::MAX.len_utf8(),
        text if text.is_string() => text_of(text),
        // a function adds anything else
        _ => return,
    };
    match end(chain, context) {
        End::Text(length) => met(length.saturating_add(added)),
        End::Seen => {}
        End::Unknown => appended(added),
    }
}

fn end(chain: &Expr, context: &Context<'_, '_, '_, '_, '_, '_>) -> End {
    match chain {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => match variable(&parts.lhs, context) {
            Some(root) => below(root, matches!(chain, Expr::Dot(..)), &parts.rhs, context.scope()),
            None => End::Unknown,
        },
        // the variable in which it is somewhere
        Expr::Array(names, _) => match names.first().and_then(|name| variable(name, context)) {
            Some(root) if root.is::<View>() => End::Seen,
            _ => End::Unknown,
        },
        name => variable(name, context).map_or(End::Unknown, |value| End::Text(text_of(value))),
    }
}

fn variable<'c>(name: &Expr, context: &'c Context<'_, '_, '_, '_, '_, '_>) -> Option<&'c Dynamic> {
    match name {
        Expr::ThisPtr(..) => context.this_ptr(),
        Expr::Variable(name, ..) => context.scope().get(&name.1),
        _ => None,
    }
}

/// The end of the rest of a chain in a value, which begins with the name of a field or with what stands in brackets.
fn below(value: &Dynamic, is_name: bool, rest: &Expr, scope: &Scope<'_>) -> End {
    if value.is::<View>() {
        return End::Seen;
    }
    let (key, next) = match rest {
        Expr::Dot(parts, ..) | Expr::Index(parts, ..) => (&parts.lhs, Some((matches!(rest, Expr::Dot(..)), &parts.rhs))),
        last => (last, None),
    };
    let go_on = |found: Option<&Dynamic>| match (found, next) {
        (Some(found), Some((is_name, rest))) => below(found, is_name, rest, scope),
        (Some(found), None) => End::Text(text_of(found)),
        (None, _) => End::Text(0),
    };
    if let Some(table) = value.read_lock::<Map>() {
        return name(key, is_name, scope).map_or(End::Unknown, |name| go_on(table.get(name.as_str())));
    }
    if let Some(list) = value.read_lock::<Array>() {
        return place(key, list.len(), scope).map_or(End::Unknown, |n| go_on(list.get(n)));
    }
    End::Unknown
}

fn name(key: &Expr, is_name: bool, scope: &Scope<'_>) -> Option<ImmutableString> {
    match key {
        Expr::Property(name, _) if is_name => Some(name.2.clone()),
        Expr::StringConstant(name, _) => Some(name.clone()),
        Expr::Variable(name, ..) if !is_name => scope.get(&name.1)?.read_lock::<ImmutableString>().map(|name| name.clone()),
        _ => None,
    }
}

fn place(key: &Expr, length: usize, scope: &Scope<'_>) -> Option<usize> {
    let n = match key {
        Expr::IntegerConstant(n, _) => *n,
        Expr::Variable(name, ..) => scope.get(&name.1)?.as_int().ok()?,
        _ => return None,
    };
    let n = if n < 0 { n.checked_add(INT::try_from(length).ok()?)? } else { n };
    usize::try_from(n).ok()
}

/// Registers the functions that add anything but texts and letters to a text.
pub(super) fn register(engine: &mut Engine) {
    for name in ["+=", "append"] {
        // bytes are added as letters
        for added in [TypeId::of::<Blob>(), TypeId::of::<Dynamic>()] {
            let types = [TypeId::of::<ImmutableString>(), added];
            engine.register_raw_fn(name, types, move |ctx: NativeCallContext<'_>, args: &mut [&mut Dynamic]| add(&ctx, name, args));
        }
    }
}

fn add(ctx: &NativeCallContext<'_>, function: &str, args: &mut [&mut Dynamic]) -> Outcome<Dynamic> {
    let at = ctx.call_position();
    let [text, value] = args else { return Ok(Dynamic::UNIT) };
    if text.is_read_only() {
        return Err(EvalAltResult::ErrorNonPureMethodCallOnConstant(function.into(), at).into());
    }
    // what a method is called on may be a text that stands in the script, which is copied
    let copied = if function == "append" { text_of(text) } else { 0 };
    let added: ImmutableString = if value.is_unit() {
        ImmutableString::new()
    } else if value.is_string() {
        value.read_lock::<ImmutableString>().map(|added| added.clone()).unwrap_or_default()
    } else if value.is_blob() {
        value.read_lock::<Blob>().map(|bytes| String::from_utf8_lossy(&bytes).into_owned().into()).unwrap_or_default()
    } else {
        let shown = ctx.call_native_fn_raw("to_string", true, &mut [&mut **value])?;
        shown.into_immutable_string().unwrap_or_default()
    };
    let paid = work::spend(steps_of_walk(copied)).and_then(|()| work::make(added.len()));
    paid.map_err(|_| terminated(at))?;
    if let Some(mut text) = text.write_lock::<ImmutableString>() {
        *text += added.as_str();
        met(text.len());
    }
    Ok(Dynamic::UNIT)
}
