//! JSON texts, and other formats of such values, read at once and within a bound of memory, which is counted while they are read.
//!
//! A few MB of text can hold values that take more memory than a machine has. Each name of a field is kept once.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustc_hash::FxHashSet;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::budget::BYTES_PER_VALUE;
use super::value::{Map, Value};
use crate::diag::limits;

/// Reads JSON texts, whose values take no more than so many bytes together.
pub struct JsonReader {
    /// Bytes of memory that further values may take.
    left: usize,
    /// Whether they did not suffice.
    full: bool,
    names: FxHashSet<Arc<str>>,
    twice: Vec<String>,
    rounded: usize,
    converted: usize,
}

impl JsonReader {
    pub fn new(most: usize) -> Self {
        Self { left: most, full: false, names: FxHashSet::default(), twice: Vec::new(), rounded: 0, converted: 0 }
    }

    /// One JSON value and nothing after it.
    ///
    /// # Errors
    /// It is not JSON, nests too deeply, or takes too much memory ([`JsonReader::is_full`]).
    pub fn read(&mut self, text: &str) -> Result<Value, serde_json::Error> {
        let mut from = serde_json::Deserializer::from_str(text);
        let value = self.read_from(&mut from)?;
        from.end().map(|()| value)
    }

    /// A value of any format. What JSON does not have is converted: bytes become base64; numbers that are not finite and
    /// extensions become null.
    ///
    /// # Errors
    /// As [`JsonReader::read`]; the depth is bounded by the deserializer.
    pub fn read_from<'de, D: Deserializer<'de>>(&mut self, from: D) -> Result<Value, D::Error> {
        ValueSeed(self).deserialize(from)
    }

    /// Counts bytes of memory; whether there are so many.
    pub fn pay(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => self.full = true,
        }
        !self.full
    }

    /// Whether the memory did not suffice.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// What has been counted, to which [`JsonReader::reset`] goes back.
    pub fn counted(&self) -> (usize, usize) {
        (self.left, self.rounded)
    }

    /// Forgets what was read of a text that is no longer there.
    pub fn reset(&mut self, (left, rounded): (usize, usize)) {
        (self.left, self.rounded) = (left, rounded);
    }

    /// Keys that were written twice in one object, since the last time.
    pub fn take_twice(&mut self) -> Vec<String> {
        std::mem::take(&mut self.twice)
    }

    /// How many whole numbers were rounded, since the last time.
    pub fn take_rounded(&mut self) -> usize {
        std::mem::take(&mut self.rounded)
    }

    /// How many values JSON does not have, since the last time.
    pub fn take_converted(&mut self) -> usize {
        std::mem::take(&mut self.converted)
    }

    fn take<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        if self.pay(bytes) { Ok(()) } else { Err(E::custom("too many values")) }
    }
}

struct ValueSeed<'r>(&'r mut JsonReader);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    /// An extension of `MessagePack`: JavaScript's `undefined` is one.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.0.converted += 1;
        IgnoredAny::deserialize(from).map(|_| Value::Null)
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Value, E> {
        self.0.converted += 1;
        self.visit_str(&STANDARD.encode(bytes))
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Int(n))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        if let Ok(whole) = i64::try_from(n) {
            return Ok(Value::Int(whole));
        }
        self.0.rounded += 1;
        #[expect(clippy::cast_precision_loss, reason = "it is counted above")]
        Ok(Value::Num(n as f64))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Value, E> {
        if n.is_finite() {
            return Ok(Value::Num(n));
        }
        self.0.converted += 1;
        Ok(Value::Null)
    }

    fn visit_str<E: Error>(self, s: &str) -> Result<Value, E> {
        self.0.take(BYTES_PER_VALUE + s.len())?;
        Ok(Value::text(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.take(BYTES_PER_VALUE)?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(ValueSeed(self.0))? {
            // a list that grows has room for twice as many
            self.0.take(2 * size_of::<Value>())?;
            list.push(item);
        }
        list.shrink_to_fit();
        Ok(Value::list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        // with the index of its names
        self.0.take(2 * BYTES_PER_VALUE)?;
        let mut map = Map::default();
        while let Some(key) = fields.next_key_seed(NameSeed(self.0))? {
            self.0.take(BYTES_PER_VALUE)?;
            let value = fields.next_value_seed(ValueSeed(self.0))?;
            if map.contains_key(&key) && self.0.twice.len() < limits::LISTED && !self.0.twice.iter().any(|known| **known == *key) {
                self.0.twice.push(key.to_string());
            }
            map.insert(key, value);
        }
        map.shrink_to_fit();
        Ok(Value::map(map))
    }
}

/// The name of a field.
struct NameSeed<'r>(&'r mut JsonReader);

impl<'de> DeserializeSeed<'de> for NameSeed<'_> {
    type Value = Arc<str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Arc<str>, D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for NameSeed<'_> {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    /// `MessagePack` has numbers as names.
    fn visit_i64<E: Error>(self, name: i64) -> Result<Arc<str>, E> {
        self.visit_str(&name.to_string())
    }

    fn visit_u64<E: Error>(self, name: u64) -> Result<Arc<str>, E> {
        self.visit_str(&name.to_string())
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Arc<str>, E> {
        if let Some(known) = self.0.names.get(name) {
            return Ok(known.clone());
        }
        self.0.take(BYTES_PER_VALUE + name.len())?;
        let name: Arc<str> = name.into();
        self.0.names.insert(name.clone());
        Ok(name)
    }
}
