//! Keys of providers: from an environment variable or a file, and from nowhere else.
//!
//! A key can be put into the header of a request, and nowhere else: it has no text, is not serialised, and its `Debug`
//! shows nothing of it. What a provider sends back is scrubbed of it, so that it cannot come out by an echo.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;

use crate::diag::file;
use crate::text::percent::{UNRESERVED, decode, encode};

/// The secret of an account at a provider.
#[derive(Clone)]
pub struct Key(Arc<KeySecret>);

struct KeySecret {
    #[cfg_attr(not(feature = "run"), expect(dead_code, reason = "sent by the client for HTTP alone"))]
    text: String,
    /// The forms in which a provider may echo it, the longest first.
    forms: Vec<Vec<u8>>,
}

/// Why there is no key. The message names the place where it was expected, and nothing of what stood there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

/// A shorter text is no secret, and would occur in replies by chance.
const SHORTEST: usize = 8;

/// Longer keys do not exist; a file that is larger is not a key.
const LONGEST: usize = 8192;

/// What stands in place of a key.
const INSTEAD: &[u8] = b"[key]";

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key([key])")
    }
}

impl Key {
    /// The key in an environment variable.
    ///
    /// # Errors
    /// The variable is not set, or what it holds can be no key.
    pub fn from_env(name: &str) -> Result<Self, KeyError> {
        Self::from_variable(name, |name| std::env::var_os(name))
    }

    /// The key in a variable of an environment.
    pub fn from_variable(name: &str, env: impl Fn(&str) -> Option<OsString>) -> Result<Self, KeyError> {
        // what cannot be a name may be the key itself, so it is not shown
        if !is_variable(name) {
            return Err(KeyError("the name of the environment variable that holds the key is not a name".to_owned()));
        }
        let Some(text) = env(name) else {
            return Err(KeyError(format!("the environment variable `{name}` is not set")));
        };
        Self::parse(&text.to_string_lossy()).map_err(|why| KeyError(format!("the environment variable `{name}` {why}")))
    }

    /// The key in a file, with or without a line end behind it.
    ///
    /// # Errors
    /// The file cannot be read, or what it holds can be no key.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        let shown = path.display();
        let text = file::read(path, LONGEST as u64 + 2)
            .map_err(|error| KeyError(format!("the file `{shown}` cannot be read: {}", file::reason(&error))))?;
        Self::from_bytes(&text, path)
    }

    /// The key that was read from a file.
    pub fn from_bytes(text: &[u8], path: &Path) -> Result<Self, KeyError> {
        Self::parse(&String::from_utf8_lossy(text)).map_err(|why| KeyError(format!("the file `{}` {why}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.len() {
            0 => return Err("is empty".to_owned()),
            1..SHORTEST => return Err(format!("holds fewer than {SHORTEST} characters, which is no key")),
            SHORTEST..=LONGEST => {}
            _ => return Err(format!("holds more than {LONGEST} characters, which is no key")),
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("holds white space or other characters that no key has".to_owned());
        }
        let json = serde_json::Value::from(text).to_string();
        let json = json.trim_matches('"');
        let percent = encode(text, UNRESERVED).to_string();
        // some write everything but letters and digits by its number
        let numbered = |upper: bool| -> String {
            let number = |c: char| if upper { format!("\\u{:04X}", u32::from(c)) } else { format!("\\u{:04x}", u32::from(c)) };
            text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c.to_string() } else { number(c) }).collect()
        };
        let lower = encode(text, UNRESERVED).map(|part| if part.starts_with('%') { part.to_ascii_lowercase() } else { part.to_owned() });
        let mut forms =
            vec![text.to_owned(), json.to_owned(), json.replace('/', "\\/"), lower.collect(), percent, numbered(true), numbered(false)];
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        Ok(Self(Arc::new(KeySecret { text: text.to_owned(), forms: forms.into_iter().map(String::into_bytes).collect() })))
    }

    /// What is taken out of texts: a key, and the user and password in the address of a proxy. It can be sent nowhere.
    #[must_use]
    pub fn hidden(key: Option<&Self>, proxy: Option<&str>) -> Option<Self> {
        let mut forms = key.map(|key| key.0.forms.clone()).unwrap_or_default();
        let inside = proxy.and_then(|proxy| proxy.split_once("://")).map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest));
        if let Some((account, _)) = inside.and_then(|inside| inside.rsplit_once('@')) {
            for account in [account.as_bytes().to_vec(), decode(account).collect()] {
                forms.push(base64::engine::general_purpose::STANDARD.encode(&account).into_bytes());
                let Some(at) = account.iter().position(|byte| *byte == b':') else { continue };
                // a short password would occur in replies by chance
                forms.extend(account.get(at + 1..).filter(|password| password.len() >= SHORTEST).map(<[u8]>::to_vec));
                forms.push(account);
            }
        }
        // what is not ASCII could be cut in the middle of a letter
        forms.retain(|form| form.len() > 3 && form.is_ascii());
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        (!forms.is_empty()).then(|| Self(Arc::new(KeySecret { text: String::new(), forms })))
    }

    /// The value of a header: the only way out.
    #[cfg(feature = "run")]
    pub(super) fn header(&self, prefix: &str) -> Option<reqwest::header::HeaderValue> {
        let mut value = reqwest::header::HeaderValue::try_from(format!("{prefix}{}", self.0.text)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the key.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.scrub_bytes(&mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Takes the key out of bytes.
    pub(super) fn scrub_bytes(&self, bytes: &mut Vec<u8>) {
        for form in &self.0.forms {
            if memchr::memmem::find(bytes, form).is_none() {
                continue;
            }
            let mut out = Vec::with_capacity(bytes.len());
            let mut from = 0;
            for at in memchr::memmem::find_iter(bytes, form) {
                out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
                out.extend_from_slice(INSTEAD);
                from = at + form.len();
            }
            out.extend_from_slice(bytes.get(from..).unwrap_or_default());
            *bytes = out;
        }
    }

    /// How many bytes at the end of `bytes` may be the beginning of the key.
    fn begun(&self, bytes: &[u8]) -> usize {
        let longest =
            |form: &Vec<u8>| (1..form.len().min(bytes.len() + 1)).rev().find(|n| bytes.ends_with(form.get(..*n).unwrap_or_default()));
        self.0.forms.iter().filter_map(longest).max().unwrap_or(0)
    }
}

/// Whether a text can be the name of an environment variable: letters, digits and `_`, not a digit first.
#[must_use]
pub fn is_variable(name: &str) -> bool {
    let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    begins && name.len() <= 200 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Takes a key out of a text that arrives in parts, wherever they are cut.
#[derive(Debug)]
pub struct KeyScrubber {
    key: Option<Key>,
    held: Vec<u8>,
}

impl KeyScrubber {
    /// A scrubber for a key; without one it changes nothing.
    #[must_use]
    pub fn new(key: Option<Key>) -> Self {
        Self { key, held: Vec::new() }
    }

    /// The next part. What may be the beginning of the key is held back until more is known.
    #[must_use]
    pub fn push(&mut self, part: Vec<u8>) -> Vec<u8> {
        let Some(key) = &self.key else { return part };
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend(part);
        key.scrub_bytes(&mut bytes);
        self.held = bytes.split_off(bytes.len() - key.begun(&bytes));
        bytes
    }

    /// The same for a text.
    #[must_use]
    pub fn push_text(&mut self, part: String) -> String {
        // keys are ASCII, so no letter is cut where something is held back
        String::from_utf8(self.push(part.into_bytes())).unwrap_or_default()
    }

    /// What is still held of a text at the end.
    #[must_use]
    pub fn end_text(&mut self) -> String {
        String::from_utf8(self.end()).unwrap_or_default()
    }

    /// What is still held at the end.
    #[must_use]
    pub fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}
