//! How large a value is when it is written out.
//!
//! Values share their parts, so a list of two references to a list of two references … takes little memory, and the power
//! of two of its levels as a text. Everything that writes a value out, copies it or reads all of it measures it first.

use std::io;

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq};

use super::value::Value;
use crate::diag::limits;

/// The size of a value in which shared parts count each time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SerializedSize {
    /// The values in it, itself included.
    pub values: usize,
    /// The bytes of its texts and of the names of its fields.
    pub bytes: usize,
}

/// Why a value is larger than what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeExcess {
    /// It nests too deeply.
    Depth,
    /// It holds too many values.
    Values,
    /// Its texts are too long.
    Bytes,
}

impl Value {
    /// Whether the value nests no deeper than `depth` levels and holds at most `nodes` values, where shared parts are
    /// counted each time. Writing out a value that is refused here would overflow the stack or memory.
    #[must_use]
    pub fn fits(&self, depth: usize, nodes: usize) -> bool {
        self.nodes_within(depth, nodes).is_some()
    }

    /// How many values this one holds, itself included, if it nests no deeper than `depth` levels and these are at most
    /// `nodes`.
    #[must_use]
    pub(crate) fn nodes_within(&self, depth: usize, nodes: usize) -> Option<usize> {
        let most = SerializedSize { values: nodes, bytes: usize::MAX };
        self.written(depth, most).ok().map(|written| written.values)
    }

    /// About how many values this one holds, itself included, at most `most`: of a long list, a sample of its elements is counted
    /// and stands for the others.
    #[must_use]
    pub(crate) fn estimate_parts(&self, most: usize) -> usize {
        estimate_parts(self, limits::NESTING, &mut { most }).min(most)
    }

    /// The size of the value when it is written out. The measure stops at the first bound that it reaches, so it never
    /// takes longer than the bounds say.
    ///
    /// # Errors
    /// The value nests deeper than `depth` levels or is larger than `most`.
    pub fn written(&self, depth: usize, most: SerializedSize) -> Result<SerializedSize, SizeExcess> {
        let mut left = most;
        walk(self, depth, &mut left)?;
        Ok(SerializedSize { values: most.values - left.values, bytes: most.bytes - left.bytes })
    }

    /// The bytes of the value's JSON text, if they are at most `most`.
    #[must_use]
    pub fn json_bytes(&self, most: usize) -> Option<usize> {
        let mut counter = ByteCounter { left: most };
        serde_json::to_writer(&mut counter, self).ok().map(|()| most - counter.left)
    }
}

/// The elements of a list that are counted.
const SAMPLE: usize = 64;

/// `left` bounds the values that are looked at; where it or the depth ends, there are as many as anybody asks for.
fn estimate_parts(value: &Value, depth: usize, left: &mut usize) -> usize {
    if depth == 0 || *left == 0 {
        return usize::MAX;
    }
    *left -= 1;
    let mut sum = |values: &mut dyn Iterator<Item = &Value>| {
        values.fold(0_usize, |sum, value| sum.saturating_add(estimate_parts(value, depth - 1, left)))
    };
    let inside = match value {
        Value::List(list) if list.len() > SAMPLE => {
            sum(&mut (0..SAMPLE).filter_map(|n| list.get(n * list.len() / SAMPLE))).saturating_mul(list.len()) / SAMPLE
        }
        Value::List(list) => sum(&mut list.iter()),
        Value::Map(map) => sum(&mut map.values()),
        _ => 0,
    };
    inside.saturating_add(1)
}

fn walk(value: &Value, depth: usize, left: &mut SerializedSize) -> Result<(), SizeExcess> {
    left.values = left.values.checked_sub(1).ok_or(SizeExcess::Values)?;
    let text = |text: &str, left: &mut SerializedSize| {
        left.bytes = left.bytes.checked_sub(text.len()).ok_or(SizeExcess::Bytes)?;
        Ok(())
    };
    match value {
        Value::Text(t) => text(t, left),
        Value::List(_) | Value::Map(_) if depth == 0 => Err(SizeExcess::Depth),
        Value::List(list) => list.iter().try_for_each(|value| walk(value, depth - 1, left)),
        Value::Map(map) => map.iter().try_for_each(|(key, value)| {
            text(key, left)?;
            walk(value, depth - 1, left)
        }),
        _ => Ok(()),
    }
}

/// Counts the bytes that are written to it, up to a bound.
struct ByteCounter {
    left: usize,
}

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Serialize for Value {
    /// The value as JSON: compiled cells are `null`, and a whole number that is stored as a float has no fraction.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null | Value::Rule(_) => serializer.serialize_unit(),
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Int(n) => serializer.serialize_i64(*n),
            Value::Num(n) => match self.as_i64() {
                Some(whole) => serializer.serialize_i64(whole),
                // JSON has no other numbers
                None if !n.is_finite() => serializer.serialize_unit(),
                None => serializer.serialize_f64(*n),
            },
            Value::Text(t) => serializer.serialize_str(t),
            Value::List(list) => {
                let mut out = serializer.serialize_seq(Some(list.len()))?;
                list.iter().try_for_each(|value| out.serialize_element(value))?;
                out.end()
            }
            Value::Map(map) => {
                let mut out = serializer.serialize_map(Some(map.len()))?;
                map.iter().try_for_each(|(key, value)| out.serialize_entry(&**key, value))?;
                out.end()
            }
        }
    }
}
