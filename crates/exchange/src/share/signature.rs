//! Signatures as the program `minisign` makes and checks them: Ed25519 over the BLAKE2b hash of an archive.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minisign::{KeyPair, PublicKey, SecretKeyBox, SignatureBox};
use serde::{Deserialize, Serialize};

use super::{ManifestHeader, ShareFault, digest, shown};
use crate::diag::{Code, Diagnostic};

/// What is put behind the name of an archive to get the name of its signature.
pub const ENDING: &str = ".minisig";
/// Largest signature or key, in bytes.
pub const MAX_SIGNATURE: usize = 8 << 10;
/// Largest file of trusted keys, in bytes.
pub const MAX_KEYS: usize = 1 << 20;

/// A public key of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedKey {
    /// Who it is.
    pub name: String,
    /// The key, as `minisign` writes it: 56 characters that begin with `RW`.
    pub key: String,
}

/// The keys that a user trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyring {
    /// In the order in which they were trusted.
    #[serde(default, rename = "key")]
    pub keys: Vec<TrustedKey>,
}

/// What a signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureVerdict {
    /// It is by a trusted key, and fits.
    By(TrustedKey),
    /// It is by a key that is not trusted, of which only the number is known; nothing can be said of it.
    Unknown(String),
}

/// The public key in a text: the key alone, or the file that `minisign` writes.
///
/// # Errors
/// It is no public key.
pub fn public_key(text: &str) -> Result<String, ShareFault> {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty() && !line.starts_with("untrusted comment:"));
    let key =
        line.filter(|line| line.starts_with("RW")).and_then(|line| PublicKey::from_base64(line).ok()).ok_or_else(|| -> ShareFault {
            let help = "a public key is a line of 56 characters that begins with `RW`, or the `.pub` file that it is in";
            Diagnostic::new(Code::ShareSignature, format!("`{}` is no public key", shown(text))).help(help).into()
        })?;
    Ok(key.to_base64())
}

/// The number of a key, as `minisign` shows it.
#[must_use]
pub fn key_id(key: &str) -> String {
    PublicKey::from_base64(key).map(|key| id(key.keynum())).unwrap_or_default()
}

fn id(number: &[u8]) -> String {
    number.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

/// What the signature of an archive says, by the keys that are trusted. `name` is what messages call the archive.
///
/// # Errors
/// The signature cannot be read, or it says that it is by a trusted key and does not fit the archive.
pub fn verify(name: &str, archive: &[u8], signature: &[u8], trusted: &[TrustedKey]) -> Result<SignatureVerdict, ShareFault> {
    let fault = |what: &str| -> ShareFault {
        let help = "do not use the file; get the archive and its signature again from where they came";
        Diagnostic::new(Code::ShareSignature, format!("the signature of `{}` {what}", shown(name))).help(help).into()
    };
    let text = std::str::from_utf8(signature).ok().filter(|text| text.len() <= MAX_SIGNATURE).ok_or_else(|| fault("is no signature"))?;
    // the library takes the length of the second signature for granted
    let second = text.lines().nth(3).and_then(|line| STANDARD.decode(line.trim()).ok());
    let first = text.lines().nth(1).and_then(|line| STANDARD.decode(line.trim()).ok());
    if second.is_none_or(|bytes| bytes.len() != 64) || first.is_none_or(|bytes| bytes.len() != 74) {
        return Err(fault("is no signature"));
    }
    let signature = SignatureBox::from_string(text).map_err(|_| fault("is no signature"))?;
    let number = signature.keynum().to_vec();
    let of_number = |known: &&TrustedKey| PublicKey::from_base64(&known.key).is_ok_and(|key| key.keynum() == number);
    let mut known = trusted.iter().filter(of_number).peekable();
    if known.peek().is_none() {
        return Ok(SignatureVerdict::Unknown(id(&number)));
    }
    let fits = |known: &&TrustedKey| {
        let key = PublicKey::from_base64(&known.key);
        // older signatures without the hash in between are as good, and `minisign -V` takes them too
        key.is_ok_and(|key| minisign::verify(&key, &signature, Cursor::new(archive), true, false, true).is_ok())
    };
    let by = known.find(fits).ok_or_else(|| fault("does not fit it: the archive or the signature was changed"))?;
    Ok(SignatureVerdict::By(by.clone()))
}

/// The comment that is signed with an archive: which release it is, and by its digest which archive.
#[must_use]
pub fn comment(manifest: &ManifestHeader, archive: &[u8]) -> String {
    format!("pack:{} release:{} digest:{}", manifest.name, manifest.release, digest(archive))
}

/// Whether a signature says by its comment that it is of this archive; `None` if it says nothing of a digest. Without the
/// key of whoever signed, this only tells an outdated signature from one that may fit.
#[must_use]
pub fn names_digest(signature: &[u8], archive: &[u8]) -> Option<bool> {
    let text = std::str::from_utf8(signature).ok()?;
    let comment = text.lines().find_map(|line| line.strip_prefix("trusted comment: "))?;
    comment.split_whitespace().find_map(|word| word.strip_prefix("digest:")).map(|named| named == digest(archive))
}

/// A new pair of keys: the text of the public and of the secret file.
///
/// # Errors
/// The system gives no random numbers, or the password cannot be used.
pub fn generate(password: Option<String>) -> Result<(String, String), ShareFault> {
    let fault = |error: minisign::PError| -> ShareFault {
        Diagnostic::new(Code::ShareSignature, format!("no key can be made: {error}")).help("try it again").into()
    };
    let pair = match password {
        Some(password) => KeyPair::generate_encrypted_keypair(Some(password)).map_err(fault)?,
        None => KeyPair::generate_unencrypted_keypair().map_err(fault)?,
    };
    Ok((pair.pk.to_box().map_err(fault)?.into_string(), pair.sk.to_box(None).map_err(fault)?.into_string()))
}

/// Whether the file of a secret key needs a password.
#[must_use]
pub fn is_locked(secret: &str) -> bool {
    let bytes = secret.lines().nth(1).and_then(|line| STANDARD.decode(line.trim()).ok()).unwrap_or_default();
    bytes.get(2..4).is_some_and(|kind| kind == b"Sc")
}

/// The signature of an archive. `comment` is signed with it.
///
/// # Errors
/// The key cannot be read, or the password is wrong.
pub fn sign(archive: &[u8], secret: &str, password: Option<String>, comment: &str) -> Result<String, ShareFault> {
    let fault = |what: String| -> ShareFault {
        let help = "name the secret key that `tapster keys new` or `minisign -G` wrote, and its password";
        Diagnostic::new(Code::ShareSignature, what).help(help).into()
    };
    let read = SecretKeyBox::from_string(secret).and_then(|boxed| match password {
        Some(password) => boxed.into_secret_key(Some(password)),
        None => boxed.into_unencrypted_secret_key(),
    });
    let key = read.map_err(|error| fault(format!("the secret key cannot be used: {error}")))?;
    let made = minisign::sign(None, &key, Cursor::new(archive), Some(comment), Some("signature of a tapster pack"));
    Ok(made.map_err(|error| fault(format!("the archive cannot be signed: {error}")))?.into_string())
}
