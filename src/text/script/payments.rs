//! What pays for the values of a script, as a syntax that `written.rs` puts around them.
//!
//! It is a syntax of its own and no function, because the interpreter would search for a function, and pack its arguments,
//! for nearly every value of a script. The commonest value, a field of a variable, is read here without the interpreter.

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, Expr, Expression, INT, Position, Scope};

use super::ScriptLimits;
use super::growing::grown;
use super::letters::{indexed, lessened, lettered};
use super::paid::{free, operation, pay};
use super::place;
use super::shown::View;
use super::words::{COPY, GROWN, LENGTH, LESSENED, LETTER, MADE, PLACE, WRITTEN};

type Outcome<T> = Result<T, Box<EvalAltResult>>;
type Context<'a, 's, 'ps, 'g, 'c, 't> = EvalContext<'a, 's, 'ps, 'g, 'c, 't>;

/// Registers the syntax.
pub(super) fn register(engine: &mut Engine, limits: ScriptLimits) {
    let copied = move |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| {
        let Some(input) = inputs.first() else { return Ok(Dynamic::UNIT) };
        let at = input.position();
        place::note(at, context.source());
        // a variable is paid before it is copied
        let named = variable(input, context);
        let Some(value) = named.filter(|value| !value.is_shared()) else { return evaluated(input, at, context, &limits) };
        pay(value, &limits, at)?;
        Ok(value.clone())
    };
    let made = move |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| {
        let Some(input) = inputs.first() else { return Ok(Dynamic::UNIT) };
        let at = input.start_position();
        match read(input, context.scope()) {
            Some(value) => {
                place::note(at, context.source());
                let value = value?;
                pay(&value, &limits, at)?;
                Ok(value)
            }
            None => evaluated(input, at, context, &limits),
        }
    };
    let long = move |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| {
        let Some(input) = inputs.first() else { return Ok(Dynamic::UNIT) };
        match length(input, context.scope()) {
            Some(length) => length.map(Dynamic::from),
            // the method of a table may be any function that stands in one of its fields
            None => evaluated(input, input.start_position(), context, &limits),
        }
    };
    let place = move |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| {
        let [index, root] = inputs else { return Ok(Dynamic::UNIT) };
        let value = index.eval_with_context(context)?;
        if value.is_string() {
            // a name may become one of a field, and is as long as a text may be
            pay(&value, &limits, index.start_position())?;
            return Ok(value);
        }
        indexed(variable(root, context), index.start_position())?;
        Ok(value)
    };
    let letter = |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| put(context, inputs, lettered);
    let less = |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| put(context, inputs, lessened);
    // what stands in a script may be larger than what it may make
    let unlimited = ScriptLimits { text: 0, list: 0, map: 0, ..limits };
    let written = move |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| {
        let Some(input) = inputs.first() else { return Ok(Dynamic::UNIT) };
        evaluated(input, input.start_position(), context, &unlimited)
    };
    let grows = |context: &mut Context<'_, '_, '_, '_, '_, '_>, inputs: &[Expression<'_>]| {
        free();
        let [target, value] = inputs else { return Ok(Dynamic::UNIT) };
        let value = value.eval_with_context(context)?.flatten();
        grown(target, &value, context);
        Ok(value)
    };
    // if one of these could not be registered, no script would compile
    let _ = engine.register_custom_syntax([COPY, "(", "$expr$", ")"], false, copied);
    let _ = engine.register_custom_syntax([MADE, "(", "$expr$", ")"], false, made);
    let _ = engine.register_custom_syntax([LENGTH, "(", "$expr$", ")"], false, long);
    let _ = engine.register_custom_syntax([PLACE, "(", "$expr$", ",", "$expr$", ")"], false, place);
    // these stand in front of all that is assigned, which ends where the assignment ends
    let _ = engine.register_custom_syntax([LETTER, "(", "$expr$", ")", "$expr$"], false, letter);
    let _ = engine.register_custom_syntax([LESSENED, "(", "$expr$", ")", "$expr$"], false, less);
    let _ = engine.register_custom_syntax([WRITTEN, "(", "$expr$", ")"], false, written);
    let _ = engine.register_custom_syntax([GROWN, "(", "$expr$", ")", "$expr$"], false, grows);
}

/// The variable that a part of a script names; `None`: it names none.
fn variable<'c>(named: &Expression<'_>, context: &'c Context<'_, '_, '_, '_, '_, '_>) -> Option<&'c Dynamic> {
    match &**named {
        Expr::ThisPtr(..) => context.this_ptr(),
        _ => named.get_string_value().and_then(|name| context.scope().get(name)),
    }
}

/// Evaluates what is assigned to a text or to a place of it, and pays for the text.
fn put(
    context: &mut Context<'_, '_, '_, '_, '_, '_>,
    inputs: &[Expression<'_>],
    pays: fn(Option<&Dynamic>, &Dynamic, Position) -> Outcome<()>,
) -> Outcome<Dynamic> {
    free();
    let [target, value] = inputs else { return Ok(Dynamic::UNIT) };
    let at = value.start_position();
    let value = value.eval_with_context(context)?.flatten();
    pays(variable(target, context), &value, at)?;
    Ok(value)
}

/// Evaluates a part of a script, and pays for its value.
fn evaluated(
    input: &Expression<'_>,
    at: Position,
    context: &mut Context<'_, '_, '_, '_, '_, '_>,
    limits: &ScriptLimits,
) -> Outcome<Dynamic> {
    receiver(input, at, context, limits)?;
    // the value of a variable that closures share is copied after it is paid
    let value = input.eval_with_context(context)?;
    place::note(at, context.source());
    pay(&value, limits, at)?;
    Ok(value.flatten())
}

/// Pays for the first argument of a native function. It is not copied, but for a constant and for what closures share.
fn receiver(input: &Expr, at: Position, context: &mut Context<'_, '_, '_, '_, '_, '_>, limits: &ScriptLimits) -> Outcome<()> {
    let mut call = input;
    while let Expr::Dot(parts, ..) | Expr::Index(parts, ..) = call {
        call = &parts.lhs;
    }
    let Expr::FnCall(call, _) = call else { return Ok(()) };
    let value = match call.args.first() {
        Some(Expr::ThisPtr(..)) => context.this_ptr().map(|value| value as &Dynamic),
        Some(Expr::Variable(name, ..)) => context.scope().get(&name.1),
        _ => None,
    };
    value.filter(|value| value.is_shared() || value.is_read_only()).map_or(Ok(()), |value| pay(value, limits, at))
}

/// The field `a.b` of a variable that is a view; `None`: it is something else, which the interpreter evaluates.
fn read(input: &Expr, scope: &Scope<'_>) -> Option<Outcome<Dynamic>> {
    let Expr::Dot(parts, ..) = input else { return None };
    field(&parts.lhs, &parts.rhs, scope, View::get)
}

/// The number of characters `a.b.len()` of a text that is such a field.
fn length(input: &Expr, scope: &Scope<'_>) -> Option<Outcome<INT>> {
    let Expr::Dot(parts, ..) = input else { return None };
    let Expr::Dot(inner, ..) = &parts.rhs else { return None };
    let Expr::MethodCall(call, _) = &inner.rhs else { return None };
    if call.name.as_str() != "len" || !call.args.is_empty() {
        return None;
    }
    field(&parts.lhs, &inner.lhs, scope, View::length)?.transpose()
}

/// What `read` gives for a field of a variable that is a view.
fn field<T>(variable: &Expr, property: &Expr, scope: &Scope<'_>, read: impl Fn(&View, &str) -> Outcome<T>) -> Option<Outcome<T>> {
    let (Expr::Variable(name, ..), Expr::Property(property, at)) = (variable, property) else { return None };
    let value = scope.get(&name.1).filter(|value| name.2.is_empty() && !value.is_shared())?;
    let view = value.read_lock::<View>()?;
    // the interpreter would count the variable and the field
    let counted = operation().and_then(|()| operation());
    let read = counted.and_then(|()| read(&view, &property.2)).map_err(|mut error| {
        if error.position().is_none() {
            error.set_position(*at);
        }
        error
    });
    Some(read)
}
