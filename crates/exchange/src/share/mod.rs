//! Packs on their way to others: one archive a pack, an index of archives, a lock, signatures.
//!
//! Everything here works on bytes and reads no disk; the command line does. An archive has one form only, so that its
//! digest is a digest of the pack's files: what is installed is compared with a lock by packing it again.

pub mod archive;
pub mod index;
pub mod resolve;
pub mod signature;

use crate::diag::Diagnostic;
use crate::diag::short::head;

pub use archive::{pack, unpack};
pub use index::{IndexEntry, LockedPack, ManifestHeader, PackIndex, PackLock};

/// What the name of an archive ends in.
pub const ENDING: &str = "tapster";

/// The most memory that the values of a lock or of a manifest may take, in bytes (64 MiB), as [`crate::diag::memory`]
/// estimates it: 20,000 rows.
pub const MAX_MEMORY: usize = 64 << 20;

/// Why something of a stranger is refused.
pub type ShareFault = Box<Diagnostic>;

/// A file of a pack: its path inside the pack, with `/`, and its contents.
pub type PackFile = (String, Vec<u8>);

/// The digest of these bytes, as locks and indexes write it.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(bytes).to_hex())
}

/// The name of the archive of a release.
#[must_use]
pub fn file_name(name: &str, release: &semver::Version) -> String {
    format!("{name}-{release}.{ENDING}")
}

/// A text of a stranger for a message: short, and without characters that a terminal would act on.
#[must_use]
pub fn shown(text: &str) -> String {
    let tame = |c: char| if c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}') { '\u{FFFD}' } else { c };
    head(text, 120).chars().map(tame).collect()
}
