//! The pages of the documentation, for the tests of both packages.

use std::path::{Path, PathBuf};

/// The checkout.
pub(crate) fn root() -> &'static Path {
    // two packages of the checkout hold tests
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("rules").is_dir()).expect("the checkout has rules")
}

/// A file of the checkout.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// All pages below `docs/`.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut open = vec![root().join("docs")];
    let mut pages = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).expect("docs/ can be read").map(|e| e.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// Whether the pages are being written: then only one test runs, since the others read them.
pub(crate) fn updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}
