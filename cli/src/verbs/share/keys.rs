//! `tapster sign` and `tapster keys`: secret keys of one's own, public keys of those who are trusted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::diag::{Code, Diagnostic};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{create_private, make_parent, unwritable, write_file};
use crate::inputs::pack_files::{read_bounded, share_failure};
use crate::layout::{one_line, table};
use crate::output::Console;
use crate::share::archive::MAX_ARCHIVE;
use crate::share::signature::{self, ENDING, Keyring, MAX_KEYS, MAX_SIGNATURE, TrustedKey};
use crate::share::{self, ManifestHeader};

/// The variable that holds the password of a secret key.
const PASSWORD: &str = "TAPSTER_KEY_PASSWORD";

/// Sign the archive of a pack, as `minisign -S` does: the signature is written beside it, with `.minisig` behind its
/// name. The password of the key is read from `TAPSTER_KEY_PASSWORD`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster sign my-pack-1.0.0.tapster --key ~/tapster.key
  minisign -V -p tapster.pub -m my-pack-1.0.0.tapster      how others check it without this program")]
pub(crate) struct SignArgs {
    /// The archive.
    archive: PathBuf,
    /// The secret key: a file of `tapster keys new` or `minisign -G`.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

impl SignArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let bytes = read_bounded(&self.archive, MAX_ARCHIVE)?;
        let out = sign_file(&self.archive, &bytes, &self.key, show)?;
        show.result(&format!("{}\n", out.display()));
        Ok(RunExit::Done)
    }
}

/// Writes the signature of an archive beside it. The comment that is signed too says which release it is.
pub(super) fn sign_file(archive: &Path, bytes: &[u8], key: &Path, show: &Console<'_>) -> Result<PathBuf> {
    let name = archive.display().to_string();
    let manifest = ManifestHeader::of(&name, &share::unpack(&name, bytes).map_err(share_failure)?).map_err(share_failure)?;
    let secret = read_text(key, MAX_SIGNATURE)?;
    let password = if signature::is_locked(&secret) { Some(key_password(key, show)?) } else { None };
    let comment = signature::comment(&manifest, bytes);
    let signed = signature::sign(bytes, &secret, password, &comment).map_err(share_failure)?;
    let out = PathBuf::from(format!("{name}{ENDING}"));
    write_file(&out, signed)?;
    Ok(out)
}

/// The password of a secret key.
fn key_password(key: &Path, show: &Console<'_>) -> Result<String> {
    let is_new = !key.exists();
    // an empty one would protect nothing
    if let Some(password) = (show.io.env)(PASSWORD).and_then(|p| p.into_string().ok()).filter(|p| !is_new || !p.is_empty()) {
        return Ok(password);
    }
    let what = if is_new { "needs a password" } else { "has a password, which is not given" };
    let more = if is_new { ", or make a key without one: `--no-password`" } else { "" };
    let help = format!("set it in the environment: `TAPSTER_KEY_PASSWORD`{more}");
    Err(EarlyExit::could_not(Code::ShareSignature, format!("the secret key `{}` {what}", key.display()), help))
}

fn read_text(path: &Path, limit: usize) -> Result<String> {
    String::from_utf8(read_bounded(path, limit)?)
        .map_err(|_| EarlyExit::could_not(Code::FileEncoding, format!("`{}` is not valid UTF-8", path.display()), "name another file"))
}

/// Make a pair of keys to sign with, and keep the public keys of those whose packs are trusted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster keys new ~/tapster                    writes ~/tapster.key (secret) and ~/tapster.pub
  tapster keys trust mara.pub --name Mara
  tapster keys trust RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3 --name Mara
  tapster keys list
  tapster keys distrust Mara

Trusted keys are kept in `tapster/trusted-keys.toml` of the folder of configurations (`XDG_CONFIG_HOME`, `~/.config`), or in
the file that `TAPSTER_TRUSTED_KEYS` names.")]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    what: KeysVerb,
}

#[derive(Debug, Subcommand)]
enum KeysVerb {
    /// Make a pair of keys. The secret key is encrypted with the password in `TAPSTER_KEY_PASSWORD`.
    New {
        /// The files are called so, with `.key` and `.pub`.
        #[arg(default_value = "tapster")]
        name: PathBuf,
        /// Do not encrypt the secret key: whoever reads the file can sign with it.
        #[arg(long)]
        no_password: bool,
    },
    /// Trust packs that are signed with this key.
    Trust {
        /// A public key, or the file that it is in.
        key: String,
        /// Who it is.
        #[arg(long)]
        name: String,
    },
    /// Trust a key no more.
    Distrust {
        /// The name, or the key.
        name: String,
    },
    /// List the trusted keys.
    List,
}

impl KeysArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        match &self.what {
            KeysVerb::New { name, no_password } => make_keys(name, *no_password, show),
            KeysVerb::Trust { key, name } => trust_key(key, name, show),
            KeysVerb::Distrust { name } => distrust_key(name, show),
            KeysVerb::List => list_keys(show),
        }
    }
}

fn make_keys(name: &Path, bare: bool, show: &mut Console<'_>) -> Result<RunExit> {
    let file = |ending: &str| PathBuf::from(format!("{}{ending}", name.display()));
    let (secret, public) = (file(".key"), file(".pub"));
    for path in [&secret, &public] {
        if path.exists() {
            let message = format!("`{}` exists already", path.display());
            return Err(EarlyExit::could_not(Code::ShareTaken, message, "choose another name; a lost key cannot be made again"));
        }
    }
    let password = if bare { None } else { Some(key_password(&secret, show)?) };
    let (public_text, secret_text) = signature::generate(password).map_err(share_failure)?;
    write_secret(&secret, &secret_text)?;
    write_file(&public, &public_text)?;
    let key = signature::public_key(&public_text).map_err(share_failure)?;
    show.result(&format!("{}: keep it secret\n{}: give it to others\n{key}\n", secret.display(), public.display()));
    Ok(RunExit::Done)
}

/// Writes a new file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    create_private(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| unwritable(path, &error))
}

fn trust_key(key: &str, name: &str, show: &mut Console<'_>) -> Result<RunExit> {
    let key = parse_public_key(key)?;
    let file = keyring_file(show)?;
    let mut ring = keyring(show)?;
    if let Some(other) = ring.keys.iter().find(|k| k.key == key || k.name == name) {
        if other.key == key && other.name == name {
            show.result(&format!("{name} is trusted already\n"));
            return Ok(RunExit::Done);
        }
        let message = format!("`{}` is trusted already, with key {}", one_line(&other.name), other.key);
        return Err(EarlyExit::new(
            RunExit::No,
            Diagnostic::new(Code::ShareTaken, message).help("`tapster keys distrust NAME` removes it"),
        ));
    }
    ring.keys.push(TrustedKey { name: name.to_owned(), key: key.clone() });
    write_keyring(&file, &ring)?;
    show.result(&format!("{name}: key {} is trusted now\n", signature::key_id(&key)));
    Ok(RunExit::Done)
}

fn distrust_key(name: &str, show: &mut Console<'_>) -> Result<RunExit> {
    let file = keyring_file(show)?;
    let mut ring = keyring(show)?;
    let before = ring.keys.len();
    ring.keys.retain(|k| k.name != name && k.key != name);
    if ring.keys.len() == before {
        let message = format!("no trusted key is called `{}`", share::shown(name));
        return Err(EarlyExit::could_not(Code::ShareSignature, message, "`tapster keys list` lists them"));
    }
    write_keyring(&file, &ring)?;
    show.result(&format!("{name} is trusted no more\n"));
    Ok(RunExit::Done)
}

fn list_keys(show: &mut Console<'_>) -> Result<RunExit> {
    let ring = keyring(show)?;
    if show.is_json() {
        show.json(&json!(ring.keys));
        return Ok(RunExit::Done);
    }
    let rows: Vec<Vec<String>> = ring.keys.iter().map(|k| vec![one_line(&k.name), signature::key_id(&k.key), k.key.clone()]).collect();
    show.result(&table(&rows));
    Ok(RunExit::Done)
}

/// The public key that a person typed, or that is in the file that they named.
pub(super) fn parse_public_key(text_or_path: &str) -> Result<String> {
    let path = Path::new(text_or_path);
    if path.is_file() || text_or_path.ends_with(".pub") || text_or_path.contains(['/', '\\']) && text_or_path.contains('.') {
        return signature::public_key(&read_text(path, MAX_SIGNATURE)?).map_err(share_failure);
    }
    signature::public_key(text_or_path).map_err(share_failure)
}

/// The trusted keys of the user.
pub(super) fn keyring(show: &Console<'_>) -> Result<Keyring> {
    let Some(file) = keyring_path(show).filter(|file| file.exists()) else { return Ok(Keyring::default()) };
    let wrong = |why: String| {
        let message = format!("the trusted keys in `{}` cannot be read: {why}", file.display());
        share_failure(Diagnostic::new(Code::ShareIndex, message).help("mend the file, or remove it and trust the keys again").into())
    };
    let ring: Keyring = toml::from_str(&read_text(&file, MAX_KEYS)?).map_err(|error| wrong(share::shown(error.message())))?;
    for key in &ring.keys {
        signature::public_key(&key.key).map_err(|_| wrong(format!("`{}` has no usable key", share::shown(&key.name))))?;
    }
    Ok(ring)
}

fn write_keyring(file: &Path, ring: &Keyring) -> Result<()> {
    make_parent(file)?;
    write_file(file, toml::to_string(ring).unwrap_or_default())
}

fn keyring_path(show: &Console<'_>) -> Option<PathBuf> {
    let env = |name: &str| (show.io.env)(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let inside = |folder: PathBuf| folder.join("tapster").join("trusted-keys.toml");
    let home = || env("HOME").map(|home| home.join(".config"));
    env("TAPSTER_TRUSTED_KEYS").or_else(|| env("XDG_CONFIG_HOME").or_else(|| env("APPDATA")).or_else(home).map(inside))
}

fn keyring_file(show: &Console<'_>) -> Result<PathBuf> {
    keyring_path(show).ok_or_else(|| {
        let message = "there is no folder of configurations in which trusted keys could be kept";
        EarlyExit::could_not(Code::FileMissing, message, "set `HOME`, or name a file with `TAPSTER_TRUSTED_KEYS`")
    })
}
