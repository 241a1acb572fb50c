//! Presets: `MessagePack` in AES-256-GCM in `MessagePack`, compressed, and in a `.risup` in RPack too.
//!
//! The reader of JSON bounds the values of `MessagePack` and converts those that JSON does not have.

use std::fmt;
use std::io::{Read, Write};

use aes_gcm::aead::Aead;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::{AGAIN, GZIP, damaged, decode_rpack, encode_rpack};
use crate::diag::{Report, limits};
use crate::import::json::{MAX_JSON, document_from};
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
    let json = document_from(name, &mut deserializer(&opened), report)?;
    if json.as_map().is_none() {
        return Err(damaged(name, "its preset is not a table of fields"));
    }
    Ok(json)
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

fn deserializer(bytes: &[u8]) -> rmp_serde::Deserializer<rmp_serde::decode::ReadRefReader<'_, [u8]>> {
    let mut from = rmp_serde::Deserializer::from_read_ref(bytes);
    from.set_max_depth(limits::NESTING);
    from
}

/// The envelope that some bytes hold.
fn read_envelope(bytes: &[u8]) -> Result<PresetEnvelope, String> {
    PresetEnvelope::deserialize(&mut deserializer(bytes)).map_err(|e| e.to_string())
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
