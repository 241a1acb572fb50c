//! Presets: `MessagePack` in AES-256-GCM in `MessagePack`, compressed, and in a `.risup` in RPack too.

use std::io::{Read, Write};

use aes_gcm::aead::Aead;
use aes_gcm::{Aes256Gcm, KeyInit, Nonce};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::{AGAIN, GZIP, damaged, msgpack, rpack};
use crate::diag::Report;
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
    let outer = if bytes.starts_with(&GZIP) { unpack(name, bytes)? } else { unpack(name, &rpack::decode(bytes))? };
    let no_preset = |why: String| {
        container(name, format!("is a compressed file without a preset: {why}"))
            .help("import a `.risup` or `.risupreset` file; unpack other archives first")
    };
    let envelope = msgpack::envelope(&outer).map_err(no_preset)?;
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
    let (json, changed) = msgpack::json(&opened).map_err(|why| damaged(name, &why))?;
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
    let plain = msgpack::packed(preset).map_err(fault)?;
    let sealed = cipher().and_then(|cipher| cipher.encrypt(&Nonce::default(), plain.as_slice()).ok());
    let sealed = sealed.ok_or_else(|| fault("it cannot be encrypted".to_owned()))?;
    let outer = msgpack::enveloped(&sealed).map_err(fault)?;
    let mut writer = GzEncoder::new(Vec::new(), Compression::default());
    writer.write_all(&outer).and_then(|()| writer.finish()).map(|packed| rpack::encode(&packed)).map_err(|e| fault(e.to_string()))
}
