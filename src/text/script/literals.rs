//! How far a comment, a number or a text of a script reaches, in bytes.

/// The length of a comment, which may hold comments.
pub(super) fn comment(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'/'), Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (Some(b'*'), Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

pub(super) fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut at = 0;
    loop {
        let exponent = matches!(bytes.get(at), Some(b'+' | b'-'))
            && at > 0
            && matches!(bytes.get(at - 1), Some(b'e' | b'E'))
            && !rest.starts_with("0x")
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        // a point belongs to the number unless a name or another point follows
        let point = bytes.get(at) == Some(&b'.')
            && !matches!(bytes.get(at + 1), Some(b'.' | b'_'))
            && !bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
        if digit(at) || exponent || point {
            at += 1;
        } else {
            return at;
        }
    }
}

pub(super) fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            // a doubled quote stands for one
            if quote == '"' && chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return Some(at + 1);
            }
        }
    }
    None
}

pub(super) fn raw(rest: &str) -> Option<usize> {
    let hashes = rest.bytes().take_while(|b| *b == b'#').count();
    let close = format!("\"{}", "#".repeat(hashes));
    let body = rest.get(hashes + 1..)?;
    body.find(&close).map(|at| hashes + 1 + at + close.len())
}
