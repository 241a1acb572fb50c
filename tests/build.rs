//! Tells the tests where the checkout is: they read its packs, examples and pages.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let package = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo:rustc-env=CHECKOUT={}", package.parent().unwrap_or(&package).display());
}
