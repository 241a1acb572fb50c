//! Trees of the shipped rule files, as `build.rs` has written them: reading TOML takes ten times as long.
//!
//! First the keys of the file: their number, and for each its length and its bytes. Then the root. A node is a letter that
//! says what it is, where it begins in the text, its length there, and its content: `t` and `f` nothing, `i` and `n` eight
//! bytes, `s` a length and a text, `r` where the text begins behind the place and its length, for the text lies in the file
//! as it is, `[` a number and nodes, `{` a number and fields. A field is the number of its key, where
//! the key begins, its length, and a node. Numbers have seven bits in a byte, the lowest first; all but the last byte have
//! the eighth bit. A place is counted from the end of the last one, or from the beginning of the list or table that it is the
//! first in: the distance, doubled, and one more if it lies before.

use std::sync::Arc;

use crate::diag::{DocumentNode, FieldMap, NodeValue, SourceId, Span, TableField};

/// The tree in `bytes` of the file `source`, whose text is `file`; `None` if they hold none.
#[must_use]
pub fn read(source: SourceId, file: &str, bytes: &[u8]) -> Option<DocumentNode> {
    let mut reader = CompactReader { source, file, at: 0, bytes, keys: Vec::new() };
    let keys = reader.number()?;
    reader.keys = (0..keys).map(|_| reader.text()).collect::<Option<_>>()?;
    reader.node()
}

struct CompactReader<'b> {
    source: SourceId,
    file: &'b str,
    /// From where the next place is counted.
    at: usize,
    /// What has not been read yet.
    bytes: &'b [u8],
    keys: Vec<Arc<str>>,
}

impl CompactReader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<usize> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let [byte] = self.take()?;
            number |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte < 0x80 {
                return Some(number);
            }
        }
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let length = self.number()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        str::from_utf8(text).ok().map(Arc::from)
    }

    fn span(&mut self) -> Option<Span> {
        let (distance, length) = (self.number()?, self.number()?);
        let start = if distance & 1 == 0 { self.at.checked_add(distance >> 1) } else { self.at.checked_sub(distance >> 1) }?;
        self.at = start + length;
        Some(Span::new(self.source, start, self.at))
    }

    /// The program that was built has written it no deeper than rule files may be.
    fn node(&mut self) -> Option<DocumentNode> {
        let [kind] = self.take()?;
        let span = self.span()?;
        if matches!(kind, b'[' | b'{') {
            self.at = span.start as usize;
        }
        let data = match kind {
            b't' | b'f' => NodeValue::Bool(kind == b't'),
            b'i' => NodeValue::Int(i64::from_le_bytes(self.take()?)),
            b'n' => NodeValue::Float(f64::from_le_bytes(self.take()?)),
            b's' => NodeValue::Text(self.text()?),
            b'r' => {
                let (start, length) = (span.start as usize + self.number()?, self.number()?);
                NodeValue::Text(Arc::from(self.file.get(start..start + length)?))
            }
            b'[' => {
                let length = self.number()?;
                let mut list = Vec::with_capacity(length);
                for _ in 0..length {
                    list.push(self.node()?);
                }
                NodeValue::List(list)
            }
            b'{' => {
                let length = self.number()?;
                let mut fields = FieldMap::with_capacity_and_hasher(length, Default::default());
                for _ in 0..length {
                    let name = self.number()?;
                    let name = self.keys.get(name)?.clone();
                    fields.insert(name, TableField { key: self.span()?, node: self.node()? });
                }
                NodeValue::Table(fields)
            }
            _ => return None,
        };
        Some(DocumentNode { span, data })
    }
}
