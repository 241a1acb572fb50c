//! White space around tags: `~` strips all of it, and a block tag alone on its line removes the line.

use super::template_parser::StripSides;
use super::template_parser::{BlockPart, TemplatePart, TextContent};

/// What a part strips from the text beside it.
#[derive(Default)]
struct StripRequest {
    strip: StripSides,
    open_alone: bool,
    close_alone: bool,
    alone: bool,
}

/// Strips the white space of a whole template.
pub(super) fn control(parts: &mut [TemplatePart]) {
    program(parts, true);
}

/// Depth is bounded by the parser.
fn program(body: &mut [TemplatePart], root: bool) {
    for at in 0..body.len() {
        let wish = match body.get_mut(at) {
            Some(TemplatePart::Put(_, strip)) => StripRequest { strip: *strip, ..StripRequest::default() },
            Some(TemplatePart::Comment(strip)) => StripRequest { strip: *strip, alone: true, ..StripRequest::default() },
            Some(TemplatePart::Block(block)) => self::block(block),
            _ => continue,
        };
        let (before, after) = (blank_before(body, at, root), blank_after(body, at, root));
        if wish.strip.close {
            take_right(body, at + 1, true);
        }
        if wish.strip.open {
            take_left(body, at, true);
        }
        if wish.alone && before && after {
            take_right(body, at + 1, false);
            take_left(body, at, false);
        }
        if wish.open_alone && before {
            if let Some(TemplatePart::Block(block)) = body.get_mut(at) {
                take_right(first_of(block), 0, false);
            }
            take_left(body, at, false);
        }
        if wish.close_alone && after {
            take_right(body, at + 1, false);
            if let Some(TemplatePart::Block(block)) = body.get_mut(at) {
                let last = block.otherwise.as_mut().or(block.then.as_mut()).map_or(&mut [][..], Vec::as_mut_slice);
                let end = last.len();
                take_left(last, end, false);
            }
        }
    }
}

fn first_of(block: &mut BlockPart) -> &mut [TemplatePart] {
    block.then.as_mut().or(block.otherwise.as_mut()).map_or(&mut [][..], Vec::as_mut_slice)
}

/// The nodes after the first `{{else …}}`; in a chain, the contents of its first block.
fn first_inverse(block: &mut BlockPart) -> Option<&mut Vec<TemplatePart>> {
    block.then.as_ref()?;
    if block.chained {
        let Some(TemplatePart::Block(inner)) = block.otherwise.as_mut().and_then(|o| o.first_mut()) else { return None };
        return inner.then.as_mut();
    }
    block.otherwise.as_mut()
}

/// The nodes before the closing tag; in a chain, the contents of its last block.
fn last_inverse(block: &mut BlockPart) -> Option<&mut Vec<TemplatePart>> {
    if !block.chained {
        return block.otherwise.as_mut();
    }
    let Some(TemplatePart::Block(inner)) = block.otherwise.as_mut().and_then(|o| o.last_mut()) else { return None };
    if inner.chained { last_inverse(inner) } else { inner.then.as_mut() }
}

fn block(block: &mut BlockPart) -> StripRequest {
    program(block.then.as_deref_mut().unwrap_or_default(), false);
    program(block.otherwise.as_deref_mut().unwrap_or_default(), false);
    let strip = StripSides { open: block.open.open, close: block.close.close };
    let inside = first_of(block);
    let open_alone = blank_from(inside);
    let inside_ends = blank_to(inside);
    let close_alone = first_inverse(block).map_or(inside_ends, |inverse| blank_to(inverse));
    let (opens, middle, closes) = (block.open, block.middle, block.close);
    if opens.close {
        take_right(first_of(block), 0, true);
    }
    if block.then.is_some() && block.otherwise.is_some() {
        if middle.open {
            end_left(first_of(block), true);
        }
        if middle.close
            && let Some(inverse) = first_inverse(block)
        {
            take_right(inverse, 0, true);
        }
        if closes.open
            && let Some(inverse) = last_inverse(block)
        {
            end_left(inverse, true);
        }
        // an `{{else}}` alone on its line
        let follows = first_inverse(block).is_some_and(|inverse| blank_from(inverse));
        if blank_to(first_of(block)) && follows {
            end_left(first_of(block), false);
            if let Some(inverse) = first_inverse(block) {
                take_right(inverse, 0, false);
            }
        }
    } else if closes.open {
        end_left(first_of(block), true);
    }
    StripRequest { strip, open_alone, close_alone, alone: false }
}

fn end_left(body: &mut [TemplatePart], all: bool) {
    let end = body.len();
    take_left(body, end, all);
}

/// Whether the text before `at` ends a line, or there is none.
fn blank_before(body: &[TemplatePart], at: usize, root: bool) -> bool {
    match at.checked_sub(1).and_then(|n| body.get(n)) {
        None => root,
        Some(TemplatePart::Content(c)) => {
            let rest = c.original.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
            rest.ends_with('\n') || (rest.is_empty() && at == 1 && root)
        }
        Some(_) => false,
    }
}

/// Whether the text after `at` begins with a line end, or there is none.
fn blank_after(body: &[TemplatePart], at: usize, root: bool) -> bool {
    match body.get(at + 1) {
        None => root,
        Some(TemplatePart::Content(c)) => {
            let rest = c.original.trim_start_matches(|c: char| c.is_whitespace() && c != '\n');
            rest.starts_with('\n') || (rest.is_empty() && at + 2 == body.len() && root)
        }
        Some(_) => false,
    }
}

fn blank_from(body: &[TemplatePart]) -> bool {
    match body.first() {
        Some(TemplatePart::Content(c)) => c.original.trim_start_matches(|c: char| c.is_whitespace() && c != '\n').starts_with('\n'),
        _ => false,
    }
}

fn blank_to(body: &[TemplatePart]) -> bool {
    blank_before(body, body.len(), false)
}

fn content(body: &mut [TemplatePart], at: Option<usize>) -> Option<&mut TextContent> {
    match at.and_then(|at| body.get_mut(at)) {
        Some(TemplatePart::Content(content)) => Some(content),
        _ => None,
    }
}

/// Strips the beginning of the text at `at`: all white space, or the rest of a line.
fn take_right(body: &mut [TemplatePart], at: usize, all: bool) {
    let Some(content) = content(body, Some(at)).filter(|c| all || !c.right_stripped) else { return };
    let rest = if all {
        content.value.trim_start()
    } else {
        let rest = content.value.trim_start_matches([' ', '\t']);
        let line = rest.strip_prefix('\r').filter(|r| r.starts_with('\n')).unwrap_or(rest);
        line.strip_prefix('\n').unwrap_or(rest)
    };
    content.right_stripped = rest.len() != content.value.len();
    content.value = rest.to_owned();
}

/// Strips the end of the text before `at`: all white space, or the indentation of a line.
fn take_left(body: &mut [TemplatePart], at: usize, all: bool) {
    let Some(content) = content(body, at.checked_sub(1)).filter(|c| all || !c.left_stripped) else { return };
    let rest = if all { content.value.trim_end() } else { content.value.trim_end_matches([' ', '\t']) };
    content.left_stripped = rest.len() != content.value.len();
    content.value.truncate(rest.len());
}
