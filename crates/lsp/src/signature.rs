//! The arguments of the function that is being called in an expression, or named by `fn`.

use lsp_types::{Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation};
use tapster::machinery::text::functions::{FUNCTIONS, Function};
use tapster::machinery::text::methods;

use crate::document::OpenDocument;
use crate::outline::{CursorRole, NodeId, PathStep};
use crate::subject::{function_doc, sentence};

/// The signature at a byte; `None` outside of calls.
pub(crate) fn signature_help(document: &OpenDocument, offset: usize) -> Option<SignatureHelp> {
    let outline = document.outline();
    let cursor = outline.cursor(offset);
    if let CursorRole::Value { text: Some(inner), .. } = &cursor.role
        && let Some(before) = document.text.get(inner.start..offset).filter(|text| text.starts_with('='))
    {
        let (name, argument, is_method) = open_call(before)?;
        return signature(name, argument, is_method);
    }
    // the innermost table that names a function
    let called = |table: &NodeId| outline.text_at(*table, "fn", &document.text);
    let name = cursor.nodes.iter().rev().find_map(called)?;
    let function = FUNCTIONS.iter().find(|function| function.name == name)?;
    let written = match &cursor.role {
        CursorRole::Key(range) => document.text.get(range.clone()),
        _ => cursor.path.last().and_then(|step| if let PathStep::Key(key) = step { Some(key.as_str()) } else { None }),
    };
    let active = function.args.iter().position(|(argument, _)| written == Some(argument));
    Some(help_of(function.name, labels(function), active, &sentence(function.doc)))
}

/// The innermost call that is open at the end of an expression: its name, which argument is written, and whether a value stands
/// before its dot.
fn open_call(before: &str) -> Option<(&str, usize, bool)> {
    let (mut quote, mut argument) = (None, 0);
    let mut calls: Vec<(usize, usize)> = Vec::new();
    for (at, letter) in before.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{') => {
                calls.push((at, argument));
                argument = 0;
            }
            (None, ')' | ']' | '}') => argument = calls.pop().map_or(0, |(_, argument)| argument),
            (None, ',') => argument += 1,
            _ => {}
        }
    }
    let (at, _) = calls.last().copied()?;
    let head = before.get(..at).filter(|_| before.get(at..).is_some_and(|rest| rest.starts_with('(')))?.trim_end();
    let start = head.rfind(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '.')).map_or(0, |at| at + 1);
    let name = head.get(start..).filter(|name| !name.is_empty())?;
    // `math.abs(x)` is a name with a dot, `text.upper()` a value with a function
    let is_whole = methods::find(name).is_some() || FUNCTIONS.iter().any(|function| function.name == name);
    match name.rsplit_once('.') {
        Some((_, method)) if !is_whole => Some((method, argument, true)),
        _ => Some((name, argument, false)),
    }
}

fn signature(name: &str, argument: usize, is_method: bool) -> Option<SignatureHelp> {
    let active = argument + usize::from(is_method);
    match FUNCTIONS.iter().find(|function| function.name == name) {
        Some(function) => Some(help_of(name, labels(function), Some(active), &sentence(function.doc))),
        None => Some(help_of(name, Vec::new(), None, &function_doc(name)?)),
    }
}

fn labels(function: &Function) -> Vec<String> {
    function.args.iter().map(|(name, required)| format!("{name}{}", if *required { "" } else { "?" })).collect()
}

fn help_of(name: &str, arguments: Vec<String>, active: Option<usize>, doc: &str) -> SignatureHelp {
    let active = active.filter(|active| *active < arguments.len()).and_then(|active| u32::try_from(active).ok());
    let label = format!("{name}({})", arguments.join(", "));
    let parameters = arguments.into_iter().map(|label| ParameterInformation { label: ParameterLabel::Simple(label), documentation: None });
    let information = SignatureInformation {
        label,
        documentation: Some(Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: doc.to_owned() })),
        parameters: Some(parameters.collect()),
        active_parameter: active,
    };
    SignatureHelp { signatures: vec![information], active_signature: Some(0), active_parameter: active }
}
