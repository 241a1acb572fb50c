//! Rule files, locks and indexes that take much more memory than their bytes, or whose checks grow with the square of
//! their size: they are refused before they are read, or read in one go.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use tapster::Ruleset;
use tapster::diag::{Report, SourceId, limits, memory};
use tapster::machinery::pack::library::{shipped, shipped_names};
use tapster::machinery::pack::{PackFiles, PackLibrary, PackShelf, RuleFile, Start};
use tapster_cli::format::{FormatRefusal, format};
use tapster_exchange::share::{PackIndex, PackLock, index, pack};

use crate::support;
use crate::support::{Folder, tapster, tapster_with};

const HEAD: &str = "kind = \"lore\"\nversion = 1\n";

fn pipeline(rows: &str) -> String {
    format!("kind = \"pipeline\"\nversion = 1\n{rows}")
}

/// A value that is a list of so many words.
fn value(count: usize, word: &dyn Fn(usize) -> String) -> String {
    let words: Vec<String> = (0..count).map(|n| format!("\"{}\"", word(n))).collect();
    pipeline(&format!("[[value]]\nname = \"v\"\nis = [{}]\n", words.join(", ")))
}

/// A name of thirty letters that differs in its last ones.
fn name(n: usize) -> String {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap_or(0));
    format!("abcdefghijklmnopqrstuvwxyz{}{}{}", letter(n), letter(n / 26), letter(n / 676))
}

/// So many rows, each with its number for `#`.
fn rows(count: usize, row: &str) -> String {
    (0..count).map(|n| row.replace('#', &n.to_string())).collect()
}

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
    support::pack_over_base("", files).err().map(told).unwrap_or_default()
}

#[test]
fn a_rule_file_of_too_many_values_is_refused_before_it_is_read() {
    for (what, text) in costly() {
        assert!(text.len() < 4 << 20, "{what}");
        let told = refused(&[("a.toml", &text)]);
        assert!(told.contains("a.toml") && told.contains("MiB of memory"), "{what}: {told}");
        let formatted = format(SourceId::default(), &text, tapster_cli::format::TomlLayout::default());
        assert!(matches!(formatted, Err(FormatRefusal::Large(_))), "{what}");
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

/// Files, what is told of them, and how often the same is told at most.
type Case<'a> = (Vec<(&'a str, String)>, &'a [&'a str], &'a [(&'a str, usize)]);

/// Packs with thousands of mistakes.
#[test]
fn thousands_of_mistakes_are_told_within_bounds() {
    const VIOLATIONS: &str = "more than 100 violations in this file; the rest is not shown";
    const SHOWN: &str = "more errors are not shown";
    let lore = |rows: &str| ("a.toml", format!("{HEAD}{rows}"));
    let rules = |text: String| ("pipeline.toml", text);
    let keys = rows(40_000, "k# = 1\n");
    let json = format!("{{\"kind\":\"lore\",\"version\":1{}}}", rows(40_000, ",\"k#\":1"));
    let of_row = format!("kind = \"slots\"\nversion = 1\n[[slot]]\nname = \"x\"\nsource = \"$card.name\"\n{keys}");
    let paths: String = (0..3_000).map(|n| format!("[[path]]\nname = \"{}\"\ntype = \"text\"\n", name(n))).collect();
    let scene = |text: &str| ("scene.toml", format!("kind = \"scene\"\nversion = 1\n{text}"));
    let broken = ("a.toml", format!("x1.y1 = = \"{}\"", "word ".repeat(200_000)));
    let templates = format!("kind = \"overlay\"\nversion = 1\n{}", rows(8_000, "[[template]]\nname = \"t#\"\n"));
    let dialect = pipeline(&rows(15_000, "[[value]]\nname = \"v#\"\nis = \"$dialct\"\n"));
    let syntax = rows(20_000, "[[value]]\nname = \"v#\"\nis = #\n") + "x = = 1\ny = = 2\n";
    let many = format!("[x]\na = [{}0]\n", "0,".repeat(400_000));
    let together = ["a0.toml", "a1.toml", "a2.toml", "a3.toml", "a4.toml", "a5.toml"].map(|name| (name, format!("{HEAD}{many}")));
    let cases: Vec<Case> = vec![
        (vec![lore(&keys)], &[VIOLATIONS], &[("error[schema.unknown_key]", 201)]),
        (vec![("a.json", json)], &[VIOLATIONS], &[("error[schema.unknown_key]", 201)]),
        (vec![("a.toml", of_row)], &[VIOLATIONS], &[("error[schema.unknown_key]", 201)]),
        (vec![scene(&paths), rules(value(1_500, &|n| format!("$x{}", name(n))))], &["did you mean"], &[("there is no scene path", 300)]),
        (vec![rules(value(5_000, &|n| format!("$x{n}.y")))], &[SHOWN], &[("there is no scene path", 300)]),
        // what a file that cannot be read may define is no mistake elsewhere
        (vec![broken, rules(value(1_900, &|n| format!("$x{n}.y{n}")))], &["`x2.y2`"], &[("`x1.y1`", 0)]),
        (vec![("o.toml", templates)], &["`task`", SHOWN], &[("error[", 301)]),
        // suggestions that are not paid any more are not looked for either
        (vec![rules(dialect)], &["did you mean `dialect`"], &[("`dialct`", 300)]),
        (vec![lore(&syntax)], &["of so large a file, only the first mistake is shown"], &[("error[syntax.toml]", 1)]),
        (
            together.to_vec(),
            &["a2.toml", "this file and those after it are not read"],
            &[("the values of all rule files take more than 256 MiB of memory together", 1)],
        ),
    ];
    for (files, told, most) in cases {
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let said = refused(&files);
        let begin = || said.chars().take(2_000).collect::<String>();
        assert!(told.iter().all(|words| said.contains(words)), "{told:?}: {}", begin());
        for (words, most) in most {
            assert!(said.matches(words).count() <= *most, "{words}: {}", begin());
        }
    }
    let told = refused(&[("a.toml", &format!("{HEAD}x = = 1\ny = = 2\n"))]);
    assert!(told.matches("error[syntax.toml]").count() > 1, "{told}");
}

#[test]
fn packs_that_people_write_are_far_below() {
    let of_pack = |name: &str| shipped(name).into_iter().flat_map(|pack| pack.files).map(|file| memory::of(&file.bytes)).sum::<usize>();
    let all: usize = shipped_names().iter().map(|name| of_pack(name)).sum();
    assert!(all < limits::INPUT_MEMORY * 2 / 3, "all shipped packs: {all}");
    // as many rows as a layer may have
    let row = |n: usize| {
        format!(
            "[[value]]\nname = \"v{n}\"\nkeys = [\"one\", \"two\"]\ntext = \"Some text.\"\norder = {n}\ndepth = 4\nwhere = \"before\"\non = true\n\n"
        )
    };
    let rows: String = (0..20_000).map(row).collect();
    let rows = memory::of(rows.as_bytes());
    assert!(rows < limits::INPUT_MEMORY * 4 / 5, "{rows}");
    assert!(rows > 20_000 * 2_000, "{rows}");
}

#[test]
fn thousands_of_values_beside_described_ones_are_compared_within_bounds() {
    let values: String = (0..40_000).map(|n| format!("key{n} = 1\n")).collect();
    let free = format!("kind = \"lore\"\nversion = 1\n[lore]\n{values}");
    if let Err(error) = support::pack_over_base("", &[("a.toml", &free)]) {
        panic!("{error}");
    }
    let letters = |n: usize| n.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect::<String>();
    let paths: String =
        (0..8_000).map(|n| format!("[[path]]\nname = \"lore.some_word_{}\"\ntype = \"any\"\ndoc = \"x\"\n", letters(n))).collect();
    let values: String = (0..8_000).map(|n| format!("some_wrod_{} = 1\n", letters(n))).collect();
    let scene = format!("kind = \"scene\"\nversion = 1\n{paths}");
    let rules =
        support::pack_over_base("", &[("scene.toml", &scene), ("v.toml", &format!("kind = \"lore\"\nversion = 1\n[lore]\n{values}"))]);
    let near = rules.map(|rules| rules.warnings().items().iter().filter(|d| d.code.as_str() == "name.nearly").count());
    let near = near.unwrap_or_else(|e| panic!("{e}"));
    assert!((1..8_000).contains(&near), "{near}: comparisons end");
}

#[test]
fn a_costly_index_is_refused_before_it_is_checked() {
    let of = |packs: &str| format!("{{\"format\":\"tapster-index\",\"version\":1,\"packs\":[{packs}]}}");
    let told = |packs: &str| PackIndex::read("i.json", of(packs).as_bytes()).err().map(|e| e.message).unwrap_or_default();
    assert_eq!(told(&format!("{}0", "{},".repeat(1_000_000))), "`i.json` has values that take more than 384 MiB of memory");
    assert_eq!(told(&format!("{}0", "0,".repeat(5_500_000))), "`i.json` has values that take more than 384 MiB of memory");
    assert_eq!(told(&format!("{}{{}}", "{},".repeat(60_000))), "`i.json` has more than 50000 releases");
    // what is wrong is told without the whole list
    let wrong = told(&format!("{}{{}}", "{},".repeat(40_000)));
    assert!(wrong.contains("at `packs.0`: ") && wrong.len() < 200, "{wrong}");
    let wrong = PackIndex::read("i.json", format!("[{}0]", "0,".repeat(100_000)).as_bytes()).err().unwrap().message;
    assert!(wrong.contains("is no index of packs: value is not of type") && wrong.len() < 200, "{wrong}");
    // as many releases as fit into one
    let entry = format!(
        "{{\n\"name\": \"a-pack\",\n\"release\": \"1.0.0\",\n\"file\": \"a-pack-1.0.0.tapster\",\n\"digest\": \"blake3:{}\",\n\"size\": 20000,\n\
         \"signed\": true,\n\"engine\": \">=0.1\",\n\"extends\": [{{\"name\": \"base\"}}],\n\"licence\": \"MIT\",\n\"about\": \"A pack.\"}},",
        "0".repeat(64)
    );
    assert!(memory::of(of(&entry.repeat(50_000)).as_bytes()) < index::MAX_INDEX_MEMORY);
}

#[test]
fn a_costly_lock_is_refused_before_it_is_read() {
    let told = |text: &str| PackLock::read("tapster.lock", text).err().map(|e| e.message).unwrap_or_default();
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
    let lock = PackLock::read("tapster.lock", &format!("version = 1\n{rows}"));
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

#[test]
fn long_packs_are_compared_row_by_row() {
    let folder = Folder::new("large");
    let manifest = "kind = \"pack\"\nversion = 1\nname = \"p\"\nrelease = \"1.0.0\"\nextends = [\"base\"]\n";
    let list = |by: usize| (0..100_000).map(|n| format!("{},", n * 7919 % (99_991 - by))).collect::<String>();
    for (side, by) in [("a", 1), ("b", 7919)] {
        let rows: String = (0..18_000).map(|n| format!("[[value]]\nname = \"v{}\"\nis = {n}\n", n * by % 18_000)).collect();
        let long = format!("[[value]]\nname = \"long\"\nis = [{}]\n", list(by % 2 + by % 3));
        folder.write(&format!("{side}/pack.toml"), manifest);
        folder.write(&format!("{side}/v.toml"), format!("kind = \"pipeline\"\nversion = 1\n{rows}{long}"));
    }
    let (_, told, err) = tapster(&["diff", &folder.at("a"), &folder.at("b")]);
    assert!(told.contains("17999 changed, 1 moved"), "{}{err}", told.chars().take(2_000).collect::<String>());
}

#[test]
fn files_that_flags_name_are_refused_before_they_are_read() {
    let zeros = format!("{{\"x\":[{}0]}}", "0,".repeat(4_000_000));
    let readers: &[&[&str]] = &[
        &["build", "examples/hello", "--previous", "-"],
        &["build", "--pack", "base", "--turns", "-"],
        &["build", "examples/hello", "--draws", "-"],
        &["run", "lint", "--pack", "base", "--list", "messages=-"],
        &["artifact", "import", "-", "--store", "never-made.db"],
    ];
    for args in readers {
        let (exit, _, told) = tapster_with(args, zeros.as_bytes(), &|_| None);
        assert!(exit == 2 && told.contains("the values of `standard input` take more than 256 MiB of memory"), "{args:?}: {told}");
    }
}

#[test]
fn a_text_of_very_many_references_is_walked_once() {
    let rules = pipeline(&format!("[[value]]\nname = \"v\"\nis = \"{}\"\n", "é\\n{{$dialect}}".repeat(60_000)));
    assert!(support::pack_over_base("", &[("pipeline.toml", &rules)]).is_ok());
    // the place of a reference far behind is exact nevertheless
    let rules = pipeline(&format!("[[value]]\nname = \"v\"\nis = \"{}{{{{$nowhere}}}}\"\n", "é\\n{{$dialect}}".repeat(100)));
    let error = support::pack_over_base("", &[("pipeline.toml", &rules)]).err().unwrap();
    let [mistake] = error.report.items() else { panic!("{error}") };
    assert_eq!(error.sources.snippet(mistake.span.unwrap()), "$nowhere");
}

/// The shipped packs, counting how often each is asked for.
struct Counted(AtomicUsize);

impl PackLibrary for Counted {
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles> {
        self.0.fetch_add(1, Ordering::Relaxed);
        PackShelf::default().find(name, report)
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn an_overlay_over_many_programs_loads_the_pack_below_once() {
    let base = Ruleset::open("base", &[]).unwrap();
    let made = Cell::new(0);
    let programs = base.programs().list.iter().map(|program| {
        made.set(made.get() + 1);
        format!("[[pass]]\nname = \"{}/own\"\ndo = \"set\"\nset = {{ enabled = true }}\n", program.name)
    });
    let rules = programs.collect::<String>();
    assert!(made.get() > 50, "{} programs", made.get());
    let file = RuleFile {
        name: "own.toml".into(),
        path_in_pack: "own.toml".into(),
        bytes: format!("kind = \"overlay\"\nversion = 1\nname = \"own\"\n{rules}").into_bytes(),
    };
    let counted = Counted(AtomicUsize::new(0));
    let _ = Ruleset::load(&Start::Name("sillytavern".into()), &[tapster::machinery::pack::Overlay::File(file)], &counted);
    assert!(counted.0.load(Ordering::Relaxed) < 10, "{} packs were read", counted.0.load(Ordering::Relaxed));
}

/// Packs of so many levels, two on each: both extend both packs of the level below.
struct Diamonds(usize);

impl PackLibrary for Diamonds {
    fn find(&self, name: &str, _: &mut Report) -> Option<PackFiles> {
        let level: usize = name.get(1..)?.parse().ok().filter(|level| *level < self.0)?;
        let below = if level + 1 < self.0 { format!("\"a{0}\", \"b{0}\"", level + 1) } else { String::new() };
        let manifest = format!("kind = \"pack\"\nversion = 1\nname = \"{name}\"\nrelease = \"1.0.0\"\nextends = [{below}]\n");
        Some(PackFiles::of(name, [("pack.toml".to_owned(), manifest.into_bytes())]))
    }

    fn names(&self) -> Vec<String> {
        (0..self.0).flat_map(|level| [format!("a{level}"), format!("b{level}")]).collect()
    }
}

/// 2²⁴ ways lead down, and each pack is read once.
#[test]
fn packs_that_extend_the_same_packs_are_read_once() {
    let opened = Ruleset::load(&Start::Name("a0".into()), &[], &Diamonds(25)).map(|rules| rules.pack().layers.len());
    assert_eq!(opened.map_err(|e| e.to_string()), Ok(49));
    let told = Ruleset::load(&Start::Name("a0".into()), &[], &Diamonds(60)).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(told.contains("more than 64 packs stand on each other"), "{told}");
}

#[test]
fn words_that_many_rows_take_from_one_table_are_bounded() {
    let big = rows(6_000, "[[big]]\nname = \"r#\"\n");
    let scene = |fields: usize, more: &str| {
        let fields = rows(fields, &format!("[[field]]\nname = \"big/f#\"\n{more} = "));
        format!("kind = \"scene\"\nversion = 1\n[[table]]\nname = \"big\"\n{big}{fields}")
    };
    let values = |fields: usize| scene(fields, "values").replace("values = ", "values = \"$table.big\"\n");
    assert!(support::pack_over_base("", &[("scene.toml", &values(80))]).is_ok());
    // 54 million words took 20 seconds and 3 GB
    let many = refused(&[("scene.toml", &values(9_000))]);
    assert!(many.contains("come to more than 500000 words"), "{many}");
    let required = refused(&[("scene.toml", &scene(101, "required").replace("required = ", "required = true\n"))]);
    assert!(required.contains("need more than 100 fields"), "{required}");
}
