//! The containers of RisuAI (166.3.3): modules (`.risum`) and presets (`.risup`, `.risupreset`).
//!
//! A module is JSON with its assets behind it, in RPack. A preset is `MessagePack` of `MessagePack`: the inner one is
//! encrypted with a key that is a constant of the format, and the whole is compressed, and in a `.risup` in RPack too. What
//! the fields mean is data, as for all files. A container is bounded as JSON is.

#[cfg(feature = "packed")]
mod msgpack;
#[cfg(feature = "packed")]
mod preset;
mod rpack;

#[cfg(feature = "packed")]
pub use preset::write_preset;

use serde_json::{Value as Json, json};

use super::{Asset, Container, Contents, Document, ImportFault, container, failed, json as text, too_large};
use crate::diag::Report;
#[cfg(not(feature = "packed"))]
use crate::diag::{Code, Diagnostic};
use crate::model::Value;

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
    (bytes.starts_with(&GZIP) || bytes.starts_with(&rpack::encode(&GZIP))).then_some(Container::Risup)
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
    let plain = rpack::decode(packed);
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
    out.extend(rpack::encode(written.as_bytes()));
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
