//! What reading JSON costs a script: its length, and the square of the fields of each table, because the interpreter compares the
//! name of a field with all before it.

use crate::text::work;

/// Steps for each byte of a JSON text that a script reads.
const STEPS_PER_BYTE_OF_JSON: u64 = 8;

/// The square of the fields of a table of a JSON text that is read within a step of the work of a build: the interpreter compares
/// the name of each field with those before it.
const SQUARE_PER_STEP: u64 = 2;

/// Pays for a JSON text that a script reads.
pub(super) fn parsing(json: &str) -> Result<(), work::Exceeded> {
    let bytes = (json.len() as u64).saturating_mul(STEPS_PER_BYTE_OF_JSON);
    work::spend(bytes.saturating_add(squares(json) / SQUARE_PER_STEP))
}

/// The squares of the numbers of fields of all tables of a JSON text. Each field has a colon.
fn squares(json: &str) -> u64 {
    let square = |fields: u64| fields.saturating_mul(fields);
    let (mut open, mut sum) = (Vec::new(), 0_u64);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' => open.push(0_u64),
            b':' => {
                if let Some(fields) = open.last_mut() {
                    *fields += 1;
                }
            }
            b'}' => sum = sum.saturating_add(open.pop().map_or(0, square)),
            // the interpreter also reads its own comments, letters and texts, which may hold anything
            b'\'' | b'`' | b'/' | b'#' => return square(json.bytes().filter(|byte| *byte == b':').count() as u64),
            _ => {}
        }
    }
    open.into_iter().fold(sum, |sum, fields| sum.saturating_add(square(fields)))
}
