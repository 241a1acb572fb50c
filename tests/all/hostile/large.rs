//! Rule files, locks and indexes that take much more memory than their bytes, or whose checks grow with the square of
//! their size: they are refused before they are read, or read in one go.

use tapster::diag::{SourceId, memory};
use tapster::format::{Refusal, format};
use tapster::pack::files::MAX_MEMORY;
use tapster::pack::library::{shipped, shipped_names};
use tapster::share::{Index, Lock, index, pack};

use crate::own;

const HEAD: &str = "kind = \"lore\"\nversion = 1\n";

/// Texts of less than 4 MiB, each of another sort of mark.
fn costly() -> Vec<(&'static str, String)> {
    vec![
        ("elements", format!("{HEAD}[x]\na = [{}0]\n", "0,".repeat(1_900_000))),
        ("tables in a list", format!("{HEAD}[x]\na = [{}0]\n", "{a=0},".repeat(500_000))),
        ("headers", format!("{HEAD}{}", "[[x]]\na=0\n".repeat(300_000))),
        ("dotted keys", format!("{HEAD}[x]\n{}", (0..60_000).map(|n| format!("a{n}.b.c.d=0\n")).collect::<String>())),
        ("commas", format!("{HEAD}[x]\na = {}\n", ",".repeat(4_000_000))),
        ("words", format!("{HEAD}{}", "a\n".repeat(2_000_000))),
        ("words of one line", format!("{HEAD}{}", "a ".repeat(2_000_000))),
        ("signs without a key", format!("{HEAD}{}", "=\n".repeat(2_000_000))),
        ("empty lines", format!("{HEAD}{}", "\n".repeat(4_000_000))),
        ("comments", format!("{HEAD}{}", "#\n".repeat(2_000_000))),
    ]
}

/// What is told of files, each message with its remedy.
fn refused(files: &[(&str, &str)]) -> String {
    let told = |error: tapster::PackError| {
        let helps: Vec<String> = error.report.items().iter().filter_map(|d| d.help.clone()).collect();
        format!("{error}\n{}", helps.join("\n"))
    };
    own::pack("", files).err().map(told).unwrap_or_default()
}

#[test]
fn a_rule_file_of_too_many_values_is_refused_before_it_is_read() {
    for (what, text) in costly() {
        assert!(text.len() < 4 << 20, "{what}");
        let told = refused(&[("a.toml", &text)]);
        assert!(told.contains("a.toml") && told.contains("MiB of memory"), "{what}: {told}");
        let formatted = format(SourceId::default(), &text, tapster::format::Layout::default());
        assert!(matches!(formatted, Err(Refusal::Large(_))), "{what}");
    }
    let json = [("elements", "0,", 1_900_000), ("tables", "{\"a\":0},", 400_000), ("lists", "[],", 1_000_000)];
    for (what, element, times) in json {
        let text = format!("{{\"kind\":\"lore\",\"version\":1,\"x\":[{}0]}}", element.repeat(times));
        let told = refused(&[("a.json", &text)]);
        assert!(told.contains("MiB of memory"), "{what}: {told}");
    }
    let schema = format!("{{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"x\":[{}0]}}", "{\"a\":{}},".repeat(400_000));
    assert!(refused(&[("a.json", &schema)]).contains("MiB of memory"), "a schema is read too");
}

#[test]
fn rule_files_are_counted_together() {
    let values = format!("{HEAD}[x]\na = [{}0]\n", "0,".repeat(400_000));
    let names: Vec<String> = (0..6).map(|n| format!("a{n}.toml")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), values.as_str())).collect();
    let told = refused(&files);
    assert_eq!(told.matches("the values of all rule files take more than 256 MiB of memory together").count(), 1, "{told}");
    assert!(told.contains("a2.toml") && told.contains("this file and those after it are not read"), "{told}");
}

#[test]
fn packs_that_people_write_are_far_below() {
    let of_pack = |name: &str| shipped(name).into_iter().flat_map(|pack| pack.files).map(|file| memory::of(&file.bytes)).sum::<usize>();
    let all: usize = shipped_names().iter().map(|name| of_pack(name)).sum();
    assert!(all < MAX_MEMORY * 2 / 3, "all shipped packs: {all}");
    // as many rows as a layer may have
    let row = |n: usize| {
        format!(
            "[[value]]\nname = \"v{n}\"\nkeys = [\"one\", \"two\"]\ntext = \"Some text.\"\norder = {n}\ndepth = 4\nwhere = \"before\"\non = true\n\n"
        )
    };
    let rows: String = (0..20_000).map(row).collect();
    let rows = memory::of(rows.as_bytes());
    assert!(rows < MAX_MEMORY * 4 / 5, "{rows}");
    assert!(rows > 20_000 * 2_000, "{rows}");
}

#[test]
fn of_a_large_file_the_first_mistake_of_its_syntax_is_told() {
    let rows: String = (0..20_000).map(|n| format!("[[value]]\nname = \"v{n}\"\nis = {n}\n")).collect();
    let told = refused(&[("a.toml", &format!("{HEAD}{rows}x = = 1\ny = = 2\n"))]);
    assert_eq!(told.matches("error[syntax.toml]").count(), 1, "{told}");
    assert!(told.contains("of so large a file, only the first mistake is shown"), "{told}");
    let told = refused(&[("a.toml", &format!("{HEAD}x = = 1\ny = = 2\n"))]);
    assert!(told.matches("error[syntax.toml]").count() > 1, "{told}");
}

#[test]
fn thousands_of_unknown_keys_are_looked_up_once() {
    let keys: String = (0..40_000).map(|n| format!("k{n} = 1\n")).collect();
    let json: String = (0..40_000).map(|n| format!(",\"k{n}\":1")).collect();
    let json = format!("{{\"kind\":\"lore\",\"version\":1{json}}}");
    let of_row = format!("kind = \"slots\"\nversion = 1\n[[slot]]\nname = \"x\"\nsource = \"$card.name\"\n{keys}");
    for (file, text) in [("a.toml", format!("{HEAD}{keys}")), ("a.json", json), ("a.toml", of_row)] {
        let error = own::pack("", &[(file, &text)]).err().unwrap();
        let unknown = error.report.items().iter().filter(|d| d.code.as_str() == "schema.unknown_key").count();
        assert!((100..=201).contains(&unknown), "{unknown} unknown keys");
        assert!(error.to_string().contains("more than 100 violations in this file; the rest is not shown"), "{error}");
    }
}

#[test]
fn thousands_of_values_beside_described_ones_are_compared_within_bounds() {
    let values: String = (0..40_000).map(|n| format!("key{n} = 1\n")).collect();
    let free = format!("kind = \"lore\"\nversion = 1\n[lore]\n{values}");
    if let Err(error) = own::pack("", &[("a.toml", &free)]) {
        panic!("{error}");
    }
    let letters = |n: usize| n.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect::<String>();
    let paths: String =
        (0..8_000).map(|n| format!("[[path]]\nname = \"lore.some_word_{}\"\ntype = \"any\"\ndoc = \"x\"\n", letters(n))).collect();
    let values: String = (0..8_000).map(|n| format!("some_wrod_{} = 1\n", letters(n))).collect();
    let scene = format!("kind = \"scene\"\nversion = 1\n{paths}");
    let rules = own::pack("", &[("scene.toml", &scene), ("v.toml", &format!("kind = \"lore\"\nversion = 1\n[lore]\n{values}"))]);
    let near = rules.map(|rules| rules.warnings().items().iter().filter(|d| d.code.as_str() == "name.nearly").count());
    let near = near.unwrap_or_else(|e| panic!("{e}"));
    assert!((1..8_000).contains(&near), "{near}: comparisons end");
}

#[test]
fn a_costly_index_is_refused_before_it_is_checked() {
    let of = |packs: &str| format!("{{\"format\":\"tapster-index\",\"version\":1,\"packs\":[{packs}]}}");
    let told = |packs: &str| Index::read("i.json", of(packs).as_bytes()).err().map(|e| e.message).unwrap_or_default();
    assert_eq!(told(&format!("{}0", "{},".repeat(1_000_000))), "`i.json` has values that take more than 384 MiB of memory");
    assert_eq!(told(&format!("{}0", "0,".repeat(5_500_000))), "`i.json` has values that take more than 384 MiB of memory");
    assert_eq!(told(&format!("{}{{}}", "{},".repeat(60_000))), "`i.json` has more than 50000 releases");
    // what is wrong is told without the whole list
    let wrong = told(&format!("{}{{}}", "{},".repeat(40_000)));
    assert!(wrong.contains("at `packs.0`: ") && wrong.len() < 200, "{wrong}");
    let wrong = Index::read("i.json", format!("[{}0]", "0,".repeat(100_000)).as_bytes()).err().unwrap().message;
    assert!(wrong.contains("is no index of packs: value is not of type") && wrong.len() < 200, "{wrong}");
    // as many releases as fit into one
    let entry = format!(
        "{{\n\"name\": \"a-pack\",\n\"release\": \"1.0.0\",\n\"file\": \"a-pack-1.0.0.tapster\",\n\"digest\": \"blake3:{}\",\n\"size\": 20000,\n\
         \"signed\": true,\n\"engine\": \">=0.1\",\n\"extends\": [{{\"name\": \"base\"}}],\n\"licence\": \"MIT\",\n\"about\": \"A pack.\"}},",
        "0".repeat(64)
    );
    assert!(memory::of(of(&entry.repeat(50_000)).as_bytes()) < index::MAX_MEMORY);
}

#[test]
fn a_costly_lock_is_refused_before_it_is_read() {
    let told = |text: &str| Lock::read("tapster.lock", text).err().map(|e| e.message).unwrap_or_default();
    let much = "`tapster.lock` has values that take more than 64 MiB of memory";
    assert_eq!(told(&format!("version = 1\npack = [{}0]\n", "0,".repeat(2_000_000))), much);
    assert_eq!(told(&format!("version = 1\n{}", "[[pack]]\n".repeat(170_000))), much);
    let row = |n: usize| {
        let digest = "0".repeat(64);
        format!(
            "[[pack]]\nname = \"p{n}\"\nrelease = \"1.0.0\"\ndigest = \"blake3:{digest}\"\nsource = \"x\"\nindex = \"y\"\nsigned_by = \"z\"\n\n"
        )
    };
    let rows: String = (0..15_000).map(row).collect();
    let lock = Lock::read("tapster.lock", &format!("version = 1\n{rows}"));
    assert_eq!(lock.map(|lock| lock.packs.len()).map_err(|e| e.message), Ok(15_000));
}

#[test]
fn names_that_fold_to_one_file_on_some_systems_are_refused() {
    let twins = [
        ("σ.md", "ς.md"),
        ("ß.md", "ss.md"),
        ("ﬀ.md", "ff.md"),
        ("ẞ.md", "ß.md"),
        ("K.md", "\u{212A}.md"),
        ("é.md", "E\u{301}.md"),
        ("\u{390}.md", "\u{3B9}\u{308}\u{301}.md"),
        ("Straße/a.md", "STRASSE/b.md"),
    ];
    for (one, other) in twins {
        let files = [one, other].map(|name| (name.to_owned(), b"x".to_vec()));
        let told = pack(files.to_vec()).err().map(|e| e.message).unwrap_or_default();
        assert!(told.contains("are one file on some systems"), "{one} and {other}: {told}");
    }
    let apart = ["a.md", "ä.md", "s.md", "ss.md", "σα.md"].map(|name| (name.to_owned(), b"x".to_vec()));
    assert!(pack(apart.to_vec()).is_ok());
}

/// Suggestions that are not paid any more are not looked for either.
#[test]
fn unknown_names_beyond_the_bound_of_suggestions_are_told_without_one() {
    let rows: String = (0..15_000).map(|n| format!("[[value]]\nname = \"v{n}\"\nis = \"$dialct\"\n")).collect();
    let error = own::pack("", &[("pipeline.toml", &format!("kind = \"pipeline\"\nversion = 1\n{rows}"))]).err().unwrap();
    let told: Vec<_> = error.report.items().iter().filter(|d| d.message.contains("`dialct`")).collect();
    assert!(told.len() <= 300, "{}", told.len());
    assert!(told.iter().any(|d| d.help.as_deref().is_some_and(|help| help.contains("did you mean `dialect`"))));
}

#[test]
fn long_packs_are_compared_row_by_row() {
    let folder = std::env::temp_dir().join(format!("tapster-large-{}", std::process::id()));
    let manifest = "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n";
    let list = |by: usize| (0..100_000).map(|n| format!("{},", n * 7919 % (99_991 - by))).collect::<String>();
    for (side, by) in [("a", 1), ("b", 7919)] {
        let rows: String = (0..18_000).map(|n| format!("[[value]]\nname = \"v{}\"\nis = {n}\n", n * by % 18_000)).collect();
        let long = format!("[[value]]\nname = \"long\"\nis = [{}]\n", list(by % 2 + by % 3));
        std::fs::create_dir_all(folder.join(side)).unwrap();
        std::fs::write(folder.join(side).join("pack.toml"), manifest).unwrap();
        std::fs::write(folder.join(side).join("v.toml"), format!("kind = \"pipeline\"\nversion = 1\n{rows}{long}")).unwrap();
    }
    let args = ["tapster", "diff", "a", "b"].map(|arg| if arg.len() == 1 { folder.join(arg).into_os_string() } else { arg.into() });
    let (mut input, mut out, mut err): (&[u8], Vec<u8>, Vec<u8>) = (&[], Vec::new(), Vec::new());
    let mut io = tapster::cli::Io { input: &mut input, out: &mut out, err: &mut err, terminal: false, env: &|_| None };
    let _ = tapster::cli::run(args, &mut io);
    let told = String::from_utf8_lossy(&out);
    let _ = std::fs::remove_dir_all(&folder);
    assert!(told.contains("17999 changed, 1 moved"), "{}{}", told.chars().take(2_000).collect::<String>(), String::from_utf8_lossy(&err));
}

#[test]
fn files_that_flags_name_are_refused_before_they_are_read() {
    let zeros = format!("{{\"x\":[{}0]}}", "0,".repeat(2_000_000));
    let readers: &[&[&str]] = &[
        &["build", "examples/hello", "--previous", "-"],
        &["build", "--pack", "base", "--turns", "-"],
        &["build", "examples/hello", "--draws", "-"],
        &["run", "lint", "--pack", "base", "--list", "messages=-"],
        &["artifact", "import", "-", "--store", "never-made.db"],
    ];
    for args in readers {
        let (mut input, mut err) = (zeros.as_bytes(), Vec::new());
        let mut io = tapster::cli::Io { input: &mut input, out: &mut Vec::new(), err: &mut err, terminal: false, env: &|_| None };
        let exit = tapster::cli::run(["tapster"].iter().chain(*args).map(std::ffi::OsString::from), &mut io).code();
        let told = String::from_utf8_lossy(&err);
        assert!(exit == 2 && told.contains("the values of `standard input` take more than 128 MiB of memory"), "{args:?}: {told}");
    }
}
