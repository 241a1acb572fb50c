//! `MessagePack` as JSON, bounded in depth and in values, and back.
//!
//! A value that JSON cannot hold is told: bytes become base64, a number that is not finite and an extension become null.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The most values of a preset; one takes up to about 200 bytes.
const MAX_VALUES: usize = 250_000;
/// How deep a document may be nested, as for JSON.
const MAX_DEPTH: usize = 128;

/// The envelope around a preset: `{ presetVersion, type, preset }`; older files call the last field `pres`.
#[derive(Debug, Deserialize)]
pub(super) struct PresetEnvelope {
    /// 0 or 2.
    #[serde(rename = "presetVersion")]
    pub(super) version: Option<f64>,
    /// `preset`.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// The encrypted preset.
    #[serde(alias = "pres")]
    pub(super) preset: Option<PresetBytes>,
}

/// Bytes.
#[derive(Debug)]
pub(super) struct PresetBytes(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for PresetBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl Visitor<'_> for BytesVisitor {
            type Value = PresetBytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<PresetBytes, E> {
                Ok(PresetBytes(bytes.to_vec()))
            }
            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<PresetBytes, E> {
                Ok(PresetBytes(bytes))
            }
        }
        from.deserialize_bytes(BytesVisitor)
    }
}

/// The envelope that some bytes hold.
pub(super) fn envelope(bytes: &[u8]) -> Result<PresetEnvelope, String> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    reader.set_max_depth(MAX_DEPTH);
    PresetEnvelope::deserialize(&mut reader).map_err(|e| e.to_string())
}

/// The JSON value that some bytes hold, and how many values in it JSON cannot hold as they are.
pub(super) fn json(bytes: &[u8]) -> Result<(Value, usize), String> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    reader.set_max_depth(MAX_DEPTH);
    let mut count = ValueCount { left: MAX_VALUES, changed: 0 };
    let value = ValueReader(&mut count).deserialize(&mut reader).map_err(|e| e.to_string())?;
    Ok((value, count.changed))
}

/// The bytes of an envelope around an encrypted preset.
pub(super) fn enveloped(preset: &[u8]) -> Result<Vec<u8>, String> {
    #[derive(serde::Serialize)]
    struct WrittenEnvelope<'a> {
        #[serde(rename = "presetVersion")]
        version: u8,
        #[serde(rename = "type")]
        kind: &'static str,
        preset: Binary<'a>,
    }
    struct Binary<'a>(&'a [u8]);
    impl serde::Serialize for Binary<'_> {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_bytes(self.0)
        }
    }
    rmp_serde::to_vec_named(&WrittenEnvelope { version: 2, kind: "preset", preset: Binary(preset) }).map_err(|e| e.to_string())
}

/// A JSON value as bytes.
pub(super) fn packed(value: &Value) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec_named(value).map_err(|e| e.to_string())
}

/// Values that may still be read, and those that JSON cannot hold as they are.
struct ValueCount {
    left: usize,
    changed: usize,
}

struct ValueReader<'a>(&'a mut ValueCount);

impl ValueReader<'_> {
    fn one<E: Error>(&mut self) -> Result<(), E> {
        self.0.left = self.0.left.checked_sub(1).ok_or_else(|| E::custom(format!("it holds more than {MAX_VALUES} values")))?;
        Ok(())
    }

    fn changed(&mut self, value: Value) -> Value {
        self.0.changed += 1;
        value
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<Value, E> {
        self.one()?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<Value, E> {
        self.one()?;
        Ok(value.into())
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<Value, E> {
        self.one()?;
        Ok(value.into())
    }

    /// JavaScript writes whole numbers as floats where they are large.
    fn visit_f64<E: Error>(mut self, value: f64) -> Result<Value, E> {
        self.one()?;
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => Ok(self.changed(Value::Null)),
        }
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<Value, E> {
        self.one()?;
        Ok(Value::from(value))
    }

    fn visit_bytes<E: Error>(mut self, value: &[u8]) -> Result<Value, E> {
        self.one()?;
        let text = STANDARD.encode(value);
        Ok(self.changed(Value::from(text)))
    }

    fn visit_unit<E: Error>(mut self) -> Result<Value, E> {
        self.one()?;
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }

    /// An extension: JavaScript's `undefined` is one.
    fn visit_newtype_struct<D: Deserializer<'de>>(mut self, from: D) -> Result<Value, D::Error> {
        self.one()?;
        IgnoredAny::deserialize(from)?;
        Ok(self.changed(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut from: A) -> Result<Value, A::Error> {
        self.one()?;
        let mut list = Vec::new();
        while let Some(value) = from.next_element_seed(ValueReader(self.0))? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut from: A) -> Result<Value, A::Error> {
        self.one()?;
        let mut map = Map::new();
        while let Some(key) = from.next_key_seed(ValueReader(self.0))? {
            let key = match key {
                Value::String(key) => key,
                other => other.to_string(),
            };
            let value = from.next_value_seed(ValueReader(self.0))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
