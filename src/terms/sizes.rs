//! How large a value may be that a pass keeps: in a field, at a path, or from step to step of a `fold`.
//!
//! Shared parts count each time, so nothing that a build keeps can come to more than this when it is written out.

use crate::diag::limits;
use crate::model::{SerializedSize, SizeExcess, Value};
use crate::text::{work, written};

use super::fault::EvalFault;

/// The size of a value, which is paid; or what it would do ("would …"), if it nests too deeply, holds too many values, or would
/// be too long when it is written out. One text may be as long as the pack allows (`text_bytes`), and data that the scene holds
/// may be kept as it is.
pub(crate) fn kept(value: &Value, text_bytes: usize, scene: &Value) -> Result<SerializedSize, String> {
    let mut bytes = limits::OUTPUT_BYTES.max(text_bytes);
    let within = |bytes: usize| value.written(limits::NESTING, SerializedSize { values: limits::VALUES, bytes });
    let size = within(bytes).or_else(|excess| {
        if excess != SizeExcess::Bytes {
            return Err(excess);
        }
        let all = SerializedSize { values: usize::MAX, bytes: usize::MAX };
        bytes = bytes.saturating_add(scene.written(limits::NESTING, all).map_or(0, |scene| scene.bytes));
        within(bytes)
    });
    if matches!(value, Value::List(_) | Value::Map(_)) {
        // nothing can fail here: the next step fails, if this is too much
        let _ = work::spend(size.map_or(limits::VALUES, |size| size.values) as u64);
    }
    size.map_err(|excess| match excess {
        SizeExcess::Depth => format!("nest deeper than {} levels; nest it less deeply", limits::NESTING),
        SizeExcess::Values => format!("hold more than {} values; keep fewer in it", limits::VALUES),
        SizeExcess::Bytes => format!("come to more than {bytes} bytes when it is written out; keep less in it"),
    })
}

/// Pays for a value that is read as a whole, and gives its size.
///
/// # Errors
/// It nests too deeply, or the work of the call is spent.
pub(crate) fn read(value: &Value) -> Result<SerializedSize, EvalFault> {
    Ok(written::read(value)?)
}
