//! The containers of RisuAI (166.3.3): modules (`.risum`) and presets (`.risup`, `.risupreset`).
//!
//! A module is JSON with its assets behind it, in RPack: every byte is replaced by another one, always the same; nothing is
//! compressed, and there is no key. A preset is `MessagePack` of `MessagePack`: the inner one is encrypted with a key that is a
//! constant of the format, and the whole is compressed, and in a `.risup` in RPack too. What the fields mean is data, as for all
//! files. A container is bounded as JSON is.

use serde_json::{Value as Json, json};

use super::{Asset, Container, Contents, Document, ImportFault, container, failed, json as text, too_large};
use crate::diag::Report;
use crate::model::Value;

#[cfg(feature = "packed")]
pub use preset::write_preset;

#[cfg(not(feature = "packed"))]
use crate::diag::{Code, Diagnostic};

#[cfg(feature = "packed")]
mod preset;

/// The first bytes of a module: its mark and the version 0.
const MODULE: [u8; 2] = [111, 0];
/// The first bytes of a compressed file.
const GZIP: [u8; 3] = [0x1F, 0x8B, 8];
/// The most assets of a module.
const MOST_ASSETS: usize = 10_000;

const AGAIN: &str = "export it again; the file is damaged or was cut off";

/// The container that the bytes begin as.
pub(super) fn sniffed(bytes: &[u8]) -> Option<Container> {
    if bytes.starts_with(&MODULE) {
        return Some(Container::Risum);
    }
    (bytes.starts_with(&GZIP) || bytes.starts_with(&encode_rpack(&GZIP))).then_some(Container::Risup)
}

/// Reads a module: one document `{ type, module }`, and its assets.
pub(super) fn read_module(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    let mut report = Report::default();
    module(name, bytes, &mut report).map_err(failed).map(|(json, assets)| {
        let mut contents = Contents::new(Container::Risum, vec![Document::new("module", json)], report);
        contents.assets = assets;
        contents
    })
}

fn module(name: &str, bytes: &[u8], report: &mut Report) -> Result<(Value, Vec<Asset>), ImportFault> {
    let (packed, mut rest) = part(bytes.get(MODULE.len()..).unwrap_or_default()).ok_or_else(|| damaged(name, "its module is cut off"))?;
    if packed.len() > text::MAX_JSON {
        return Err(too_large(name, "has a module", text::MAX_JSON).into());
    }
    let plain = decode_rpack(packed);
    let plain = text::utf8(name, &plain, report)?;
    let json = text::document(name, &format!("the module in {name}"), plain, &mut text::JsonScanner::default(), report)?;
    let names = json.at("module.assets").and_then(Value::as_list).unwrap_or_default();
    let mut assets = Vec::new();
    loop {
        match rest.split_first() {
            Some((0, _)) => break,
            Some((1, behind)) if assets.len() < MOST_ASSETS => {
                let (asset, behind) = part(behind).ok_or_else(|| damaged(name, "an asset is cut off"))?;
                let named = names.get(assets.len()).and_then(|asset| asset.as_list()?.first()).and_then(Value::as_str);
                let name = named.map_or_else(|| format!("asset {}", assets.len()), str::to_owned);
                assets.push(Asset { name, bytes_len: asset.len() as u64 });
                rest = behind;
            }
            Some((1, _)) => return Err(damaged(name, &format!("it has more than {MOST_ASSETS} assets"))),
            Some(_) => return Err(damaged(name, "something that is not an asset follows the module")),
            None => {
                report.push(super::tolerated(container(name, "ends without the mark of its end").help(AGAIN)));
                break;
            }
        }
    }
    Ok((json, assets))
}

/// A length and that many bytes, and what is behind them.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// The bytes of a module without assets. `module` is what `module` of the document holds.
///
/// # Errors
/// The module is larger than a file may be.
pub fn write_module(module: &Json) -> Result<Vec<u8>, Report> {
    let written = json!({ "module": module, "type": "risuModule" }).to_string();
    let length = u32::try_from(written.len()).map_err(|_| failed(too_large("the module", "is", text::MAX_JSON)))?;
    let mut out = MODULE.to_vec();
    out.extend(length.to_le_bytes());
    out.extend(encode_rpack(written.as_bytes()));
    out.push(0);
    Ok(out)
}

/// Reads a preset: one document, its fields.
#[cfg(feature = "packed")]
pub(super) fn read_preset(name: &str, bytes: &[u8]) -> Result<Contents, Report> {
    preset::read(name, bytes)
}

/// Without the feature, a preset is recognised, and the error says what is missing.
#[cfg(not(feature = "packed"))]
pub(super) fn read_preset(name: &str, _bytes: &[u8]) -> Result<Contents, Report> {
    let message = format!("`{name}` is an encrypted preset, which this program cannot read");
    let help = "install it with `cargo install --path cli --features full`; in a library, it is the feature `packed`";
    Err(failed(Diagnostic::error(Code::FeatureMissing, message).help(help)))
}

fn damaged(name: &str, why: &str) -> ImportFault {
    container(name, format!("cannot be read: {why}")).help(AGAIN).into()
}

/// What each byte becomes when it is encoded, observed by encoding all 256 bytes.
#[rustfmt::skip]
const ENCODE: [u8; 256] = [
    0xc4, 0x0d, 0x1e, 0x0b, 0xbd, 0x2b, 0x3f, 0x55, 0xfc, 0x45, 0x6e, 0xf5, 0x66, 0x53, 0x4f, 0x1a,
    0xe0, 0xbb, 0x30, 0x94, 0x86, 0xba, 0x6b, 0xbf, 0x41, 0x50, 0x6f, 0x9b, 0xef, 0xde, 0xb7, 0x10,
    0x61, 0x17, 0x20, 0xdf, 0x32, 0x89, 0xa8, 0x9d, 0x6d, 0xab, 0xc9, 0x90, 0x00, 0x0c, 0x5d, 0xaf,
    0xd2, 0xc1, 0x56, 0xe5, 0x16, 0x64, 0x91, 0x82, 0x65, 0x74, 0x97, 0xca, 0x23, 0xd6, 0x52, 0xd1,
    0xff, 0xb4, 0xa0, 0xe8, 0x2f, 0x8a, 0x58, 0x38, 0x5a, 0x60, 0x19, 0x96, 0x49, 0xdb, 0xd7, 0xc8,
    0x3b, 0x3e, 0x43, 0x4b, 0xa5, 0x63, 0x47, 0xaa, 0x6a, 0x29, 0x92, 0xf4, 0x15, 0xcf, 0x62, 0x34,
    0x78, 0xd3, 0x1d, 0x3c, 0xe2, 0x05, 0x8e, 0x2a, 0x57, 0x0e, 0x1b, 0xcd, 0x4c, 0x2d, 0xf2, 0x40,
    0x2c, 0x25, 0x79, 0x48, 0x0f, 0xb2, 0x7a, 0xb5, 0xa7, 0x6c, 0x37, 0xe6, 0x9c, 0x7b, 0x54, 0x7e,
    0xfe, 0x87, 0xdc, 0x9a, 0x02, 0xe4, 0x33, 0xa2, 0xeb, 0xb1, 0x2e, 0x03, 0xdd, 0x99, 0xa6, 0xb0,
    0xe7, 0xd5, 0x88, 0x18, 0x83, 0x7c, 0xf6, 0xbe, 0xe1, 0x5c, 0x9f, 0xc3, 0x21, 0x46, 0x1f, 0x08,
    0x4e, 0xd0, 0x76, 0x12, 0x5f, 0xee, 0xfd, 0x8f, 0x44, 0xea, 0xa3, 0x5e, 0x8b, 0x28, 0x09, 0x35,
    0x9e, 0x69, 0xcc, 0x0a, 0xc7, 0x85, 0x07, 0xad, 0x4a, 0xf3, 0x77, 0xe9, 0x67, 0xd4, 0xda, 0x84,
    0x80, 0x93, 0xb6, 0x4d, 0x73, 0xfa, 0x27, 0x26, 0x7f, 0x04, 0xc6, 0xfb, 0xf1, 0x72, 0x39, 0x51,
    0xc2, 0x36, 0xa9, 0x68, 0xac, 0xf8, 0xed, 0xc5, 0xb9, 0xcb, 0xce, 0x75, 0xa4, 0x3d, 0x81, 0xd9,
    0x42, 0x70, 0x1c, 0x95, 0x11, 0xbc, 0xd8, 0x8c, 0x98, 0xf9, 0x59, 0xa1, 0x13, 0xf7, 0x14, 0x7d,
    0xb3, 0xec, 0x71, 0xc0, 0xe3, 0x8d, 0xf0, 0x01, 0xae, 0x5b, 0x31, 0x06, 0x24, 0x22, 0x3a, 0xb8,
];

/// What each byte becomes when it is decoded: the inverse of [`ENCODE`].
const DECODE: [u8; 256] = inverse();

#[expect(clippy::indexing_slicing, reason = "a byte is always below 256, and the loop is evaluated by the compiler")]
const fn inverse() -> [u8; 256] {
    let mut table = [0; 256];
    let mut n = 0_u8;
    loop {
        table[ENCODE[n as usize] as usize] = n;
        if n == u8::MAX {
            return table;
        }
        n += 1;
    }
}

/// The bytes that were encoded.
pub(super) fn decode_rpack(bytes: &[u8]) -> Vec<u8> {
    translate(&DECODE, bytes)
}

/// The encoded bytes.
pub(super) fn encode_rpack(bytes: &[u8]) -> Vec<u8> {
    translate(&ENCODE, bytes)
}

fn translate(table: &[u8; 256], bytes: &[u8]) -> Vec<u8> {
    bytes.iter().filter_map(|byte| table.get(usize::from(*byte))).copied().collect()
}
