//! How the text of a script is compiled: changed, so that it pays for what it does, and only if it is small enough.

use std::sync::Arc;

use rhai::{AST, Engine, Position};

use super::error::ScriptError;
use super::large::{Large, is_small};
use super::tokens::Unreadable;
use super::written::Written;

/// Compiles a script with its payments. `tokens` are those of all scripts so far.
pub(super) fn compiled(engine: &Engine, source: &str, file: &Arc<str>, tokens: &mut usize) -> Result<(AST, Written), ScriptError> {
    let compile = |text: &str| {
        let failed = |e: rhai::ParseError| ScriptError::new(e.err_type().to_string(), e.position()).within(file);
        engine.compile(text).map_err(failed)
    };
    let refused = |message: &str, at: usize| Err(ScriptError::new(message, position(source, at)).within(file));
    let written = match Written::new(source) {
        Ok(written) => written,
        Err((Unreadable::Name(at), _)) => return refused("names that begin with `__` belong to the engine", at),
        Err((Unreadable::Copying(at), _)) => {
            let message = "`curry` and `is_shared` are reserved words; a closure such as `|x| f(a, x)` holds values";
            return refused(message, at);
        }
        Err((Unreadable::Large(at, what), _)) => return refused(&what.message(), at),
        Err((Unreadable::Deep(at), _)) => return refused("brackets are nested too deeply", at),
        Err((Unreadable::Syntax(at), plain)) => {
            if is_small(source) {
                // the interpreter says more exactly what is wrong
                compile(source).map_err(|error| error.of(&plain))?;
            }
            return refused("a text, a comment or a bracket is not closed, or it closes nothing", at);
        }
    };
    *tokens = tokens.saturating_add(written.tokens);
    if Large::TokensOfAll.is_over(*tokens) {
        return refused(&Large::TokensOfAll.message(), 0);
    }
    let mut ast = compile(&written.text).map_err(|error| error.of(&written))?;
    if !file.is_empty() {
        ast.set_source(&**file);
    }
    Ok((ast, written))
}

/// The line and column of a place in a script.
fn position(source: &str, at: usize) -> Position {
    let before = source.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let short = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    Position::new(short(line), short(column))
}
