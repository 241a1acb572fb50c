//! Names as models write them: two of them are one name if they differ in case, or in blanks and hyphens alone.

/// The name trimmed and in lower case, with `_` for every run of white space and hyphens.
pub fn loose_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut gap = false;
    for c in name.trim().chars() {
        if c.is_whitespace() || c == '-' {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    if gap {
        out.push('_');
    }
    out
}
