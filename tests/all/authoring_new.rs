//! What `tapster new` writes is checked without a remark, over every shipped pack.

use std::path::PathBuf;

use tapster::machinery::pack::library::shipped_names;

fn tapster(args: &[&str]) -> (u8, String) {
    let (exit, out, err) = crate::program::tapster(args);
    (exit, out + err.as_str())
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
        let (exit, told) = tapster(&["test", &pack]);
        assert_eq!((exit, told.as_str()), (0, "1 passed, 0 failed\n"), "{base}");
        let (exit, told) = tapster(&["fmt", "--check", &pack, &format!("{pack}.toml")]);
        assert_eq!(exit, 0, "{base}: {told}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A template shows every source of its task, and a rule test in the folder of a pack is one of that pack.
#[test]
fn a_new_template_and_a_new_case_have_no_mistakes() {
    let folder: PathBuf = std::env::temp_dir().join(format!("tapster-new-template-{}", std::process::id()));
    let to = folder.display().to_string();
    let done = |args: &[&str], says: &str| {
        let (exit, told) = tapster(args);
        assert_eq!(exit, 0, "{told}");
        assert!(told.contains(says), "{told}");
    };
    done(&["new", "template", "greeting", "--to", &to], "greeting.json");
    done(&["check", &format!("{to}/greeting.json")], "0 errors, 0 warnings");
    done(&["new", "pack", "mine", "--to", &to], "mine/cases/first.toml");
    let pack = format!("{to}/mine");
    done(&["new", "case", "second", "--to", &pack], "cases/second.toml");
    done(&["test", &pack], "2 passed, 0 failed");
    let case = std::fs::read_to_string(format!("{pack}/cases/second.toml")).unwrap();
    assert!(!case.contains("pack ="), "{case}");
    std::fs::remove_dir_all(&folder).unwrap();
}
