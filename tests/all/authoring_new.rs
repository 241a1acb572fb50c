//! What `tapster new` writes is checked without a remark, over every shipped pack.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::ffi::OsString;
use std::path::PathBuf;

use tapster::cli::{Io, run};
use tapster::pack::library::shipped_names;

fn tapster(args: &[&str]) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut io = Io { input: &mut &b""[..], out: &mut out, err: &mut err, terminal: false, env: &|_| None };
    let exit = run(["tapster"].iter().chain(args).map(OsString::from), &mut io).code();
    out.extend(err);
    (exit, String::from_utf8(out).unwrap())
}

#[test]
fn what_is_new_has_no_mistakes_over_any_shipped_pack() {
    let folder: PathBuf = std::env::temp_dir().join(format!("tapster-new-{}", std::process::id()));
    let to = folder.display().to_string();
    for base in shipped_names() {
        let name = format!("my-{base}");
        for args in [["new", "pack", &name, "--extends", &base, "--to", &to], ["new", "overlay", &name, "--extends", &base, "--to", &to]] {
            let (exit, told) = tapster(&args);
            assert_eq!(exit, 0, "{told}");
        }
        let pack = format!("{to}/{name}");
        for args in [["new", "rule", "tone", "--to", &pack], ["new", "hook", "shorten-it", "--to", &pack]] {
            assert_eq!(tapster(&args).0, 0);
        }
        let (exit, told) = tapster(&["check", &pack, &format!("{pack}.toml"), "--error-format", "plain"]);
        // remarks about the shipped pack itself are not about what is new
        let own: Vec<&str> = told.lines().filter(|line| line.starts_with(&to)).collect();
        assert_eq!((exit, own), (0, Vec::new()), "{base}: {told}");
        let (exit, told) = tapster(&["fmt", "--check", &pack, &format!("{pack}.toml")]);
        assert_eq!(exit, 0, "{base}: {told}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
