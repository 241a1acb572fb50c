//! Paths of files as addresses (`file:///home/…`), and back.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use lsp_types::Uri;

/// The address of a file with an absolute path; `None` for any other path.
pub(crate) fn address_of(path: &Path) -> Option<Uri> {
    if !path.is_absolute() {
        return None;
    }
    let shown = path.to_str()?.replace('\\', "/");
    let mut address = String::from(if shown.starts_with('/') { "file://" } else { "file:///" });
    for byte in shown.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => address.push(char::from(byte)),
            // the drive of a path of Windows
            b':' if cfg!(windows) => address.push(':'),
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    Uri::from_str(&address).ok()
}

/// The path of the file at an address; `None` for an address of something else.
pub(crate) fn path_of(address: &Uri) -> Option<PathBuf> {
    let rest = address.as_str().strip_prefix("file://")?;
    // a machine before the path is not this one
    let path = rest.get(rest.find('/')?..)?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(if byte == b'%' { digit()? * 16 + digit()? } else { byte });
    }
    let path = String::from_utf8(bytes).ok()?;
    let is_drive = cfg!(windows) && path.get(2..3) == Some(":");
    Some(PathBuf::from(if is_drive { path.get(1..)? } else { &path }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn paths_become_addresses_and_back() {
        for path in ["/a/b c/ä😀#?%.toml", "/plain.toml"] {
            let address = address_of(Path::new(path)).unwrap();
            assert_eq!(path_of(&address), Some(PathBuf::from(path)), "{}", address.as_str());
        }
        assert_eq!(address_of(Path::new("relative")), None);
        assert_eq!(path_of(&Uri::from_str("untitled:Untitled-1").unwrap()), None);
    }
}
