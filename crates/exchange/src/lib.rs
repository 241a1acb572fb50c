//! What comes in from other programs and what goes out to other people: foreign containers, and archives of packs.
//!
//! [`import`] turns a picture, an archive or a chat of another program into JSON documents; what their fields mean is said
//! by a pack. [`share`] packs a pack into an archive, and keeps indexes, locks and signatures of archives.

pub mod import;
pub mod share;

use tapster_text::{diag, model};
