//! Presets: `MessagePack` in AES-256-GCM in `MessagePack`, compressed, and in a `.risup` in RPack too.
//!
//! `MessagePack` is bounded in depth and in values. A value that JSON cannot hold is reported: bytes become base64, a number that is
//! not finite and an extension become null.

use std::fmt;
use std::io::{Read, Write};

use aes_gcm::aead::Aead;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use sha2::{Digest, Sha256};

use super::{AGAIN, GZIP, damaged, decode_rpack, encode_rpack};
use crate::diag::{Report, limits};
use crate::import::json::MAX_JSON;
use crate::import::{Container, Contents, Document, ImportFault, container, failed, tolerated, too_large};
use crate::model::Value;

/// The key is the hash of this text, and the nonce is zero: the encryption hides nothing, it only marks the format.
const KEY_TEXT: &str = "risupreset";

/// Reads a preset.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    let json = document(name, bytes, &mut report).map_err(failed)?;
    Ok(Contents::new(Container::Risup, vec![Document::new("preset", json)], report))
}

fn document(name: &str, bytes: &[u8], report: &mut Report) -> Result<Value, ImportFault> {
    let outer = if bytes.starts_with(&GZIP) { unpack(name, bytes)? } else { unpack(name, &decode_rpack(bytes))? };
    let no_preset = |why: String| {
        container(name, format!("is a compressed file without a preset: {why}"))
            .help("import a `.risup` or `.risupreset` file; unpack other archives first")
    };
    let envelope = read_envelope(&outer).map_err(no_preset)?;
    if envelope.kind.as_deref().is_some_and(|kind| kind != "preset") {
        return Err(no_preset(format!("it says that it is `{}`", super::super::shown(envelope.kind.as_deref().unwrap_or("")))).into());
    }
    if let Some(version) = envelope.version.filter(|v| *v != 0.0 && *v != 2.0) {
        report.push(tolerated(
            container(name, format!("is a preset of version {version}; versions 0 and 2 are known"))
                .help("check what was read; a newer format may hold more"),
        ));
    }
    let sealed = envelope.preset.ok_or_else(|| damaged(name, "it holds no preset"))?;
    let opened = cipher().and_then(|cipher| cipher.decrypt(&Nonce::default(), sealed.0.as_slice()).ok());
    let opened = opened.ok_or_else(|| damaged(name, "its preset does not open with the key of the format"))?;
    let (json, changed) = unpack_json(&opened).map_err(|why| damaged(name, &why))?;
    if changed > 0 {
        report.push(tolerated(
            container(name, format!("holds {changed} values that JSON cannot express; bytes became base64, others null"))
                .help("check the fields that are null in the output of `tapster import`"),
        ));
    }
    if !json.is_object() {
        return Err(damaged(name, "its preset is not a table of fields"));
    }
    Ok(Value::from(&json))
}

fn unpack(name: &str, bytes: &[u8]) -> Result<Vec<u8>, ImportFault> {
    let mut out = Vec::new();
    let done = GzDecoder::new(bytes).take(MAX_JSON as u64 + 1).read_to_end(&mut out);
    if out.len() > MAX_JSON {
        return Err(too_large(name, "unpacks to something", MAX_JSON).into());
    }
    done.map_err(|_| damaged(name, "its compressed content is damaged"))?;
    Ok(out)
}

fn cipher() -> Option<Aes256Gcm> {
    Aes256Gcm::new_from_slice(&Sha256::digest(KEY_TEXT)).ok()
}

/// The bytes of a `.risup` file with this preset.
///
/// # Errors
/// The preset cannot be packed.
pub fn write_preset(preset: &Json) -> Result<Vec<u8>, Report> {
    let fault = |why: String| failed(container("the preset", format!("cannot be written: {why}")).help(AGAIN));
    let plain = pack_json(preset).map_err(fault)?;
    let sealed = cipher().and_then(|cipher| cipher.encrypt(&Nonce::default(), plain.as_slice()).ok());
    let sealed = sealed.ok_or_else(|| fault("it cannot be encrypted".to_owned()))?;
    let outer = write_envelope(&sealed).map_err(fault)?;
    let mut writer = GzEncoder::new(Vec::new(), Compression::default());
    writer.write_all(&outer).and_then(|()| writer.finish()).map(|packed| encode_rpack(&packed)).map_err(|e| fault(e.to_string()))
}

/// The most values of a preset; one takes up to about 200 bytes.
const MAX_VALUES: usize = 250_000;

/// The envelope around a preset: `{ presetVersion, type, preset }`; older files call the last field `pres`.
#[derive(Debug, Deserialize)]
struct PresetEnvelope {
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
struct PresetBytes(pub(super) Vec<u8>);

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
fn read_envelope(bytes: &[u8]) -> Result<PresetEnvelope, String> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    reader.set_max_depth(limits::NESTING);
    PresetEnvelope::deserialize(&mut reader).map_err(|e| e.to_string())
}

/// The JSON value that some bytes hold, and how many values in it JSON cannot hold as they are.
fn unpack_json(bytes: &[u8]) -> Result<(Json, usize), String> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    reader.set_max_depth(limits::NESTING);
    let mut count = ValueCount { left: MAX_VALUES, changed: 0 };
    let value = ValueReader(&mut count).deserialize(&mut reader).map_err(|e| e.to_string())?;
    Ok((value, count.changed))
}

/// The bytes of an envelope around an encrypted preset.
fn write_envelope(preset: &[u8]) -> Result<Vec<u8>, String> {
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
fn pack_json(value: &Json) -> Result<Vec<u8>, String> {
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

    fn changed(&mut self, value: Json) -> Json {
        self.0.changed += 1;
        value
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Json;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Json, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<Json, E> {
        self.one()?;
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<Json, E> {
        self.one()?;
        Ok(value.into())
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<Json, E> {
        self.one()?;
        Ok(value.into())
    }

    /// JavaScript writes whole numbers as floats where they are large.
    fn visit_f64<E: Error>(mut self, value: f64) -> Result<Json, E> {
        self.one()?;
        match Number::from_f64(value) {
            Some(number) => Ok(Json::Number(number)),
            None => Ok(self.changed(Json::Null)),
        }
    }

    fn visit_str<E: Error>(mut self, value: &str) -> Result<Json, E> {
        self.one()?;
        Ok(Json::from(value))
    }

    fn visit_bytes<E: Error>(mut self, value: &[u8]) -> Result<Json, E> {
        self.one()?;
        let text = STANDARD.encode(value);
        Ok(self.changed(Json::from(text)))
    }

    fn visit_unit<E: Error>(mut self) -> Result<Json, E> {
        self.one()?;
        Ok(Json::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Json, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Json, D::Error> {
        from.deserialize_any(self)
    }

    /// An extension: JavaScript's `undefined` is one.
    fn visit_newtype_struct<D: Deserializer<'de>>(mut self, from: D) -> Result<Json, D::Error> {
        self.one()?;
        IgnoredAny::deserialize(from)?;
        Ok(self.changed(Json::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut from: A) -> Result<Json, A::Error> {
        self.one()?;
        let mut list = Vec::new();
        while let Some(value) = from.next_element_seed(ValueReader(self.0))? {
            list.push(value);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut from: A) -> Result<Json, A::Error> {
        self.one()?;
        let mut map = Map::new();
        while let Some(key) = from.next_key_seed(ValueReader(self.0))? {
            let key = match key {
                Json::String(key) => key,
                other => other.to_string(),
            };
            let value = from.next_value_seed(ValueReader(self.0))?;
            map.insert(key, value);
        }
        Ok(Json::Object(map))
    }
}
