//! Packs that are costly to load: what the work of loading grows with is bounded.

use std::cell::Cell;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use tapster::Ruleset;
use tapster::diag::Report;
use tapster::pack::{Library, PackFiles, RuleFile, Shelf, Start};

use crate::own;

fn pipeline(rows: &str) -> String {
    format!("kind = \"pipeline\"\nversion = 1\n{rows}")
}

fn told(files: &[(&str, &str)]) -> String {
    own::pack("", files).err().map(|e| e.to_string()).unwrap_or_default()
}

/// A name of thirty letters that differs in its last ones.
fn name(n: usize) -> String {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap_or(0));
    format!("{}{}{}{}", "abcdefghijklmnopqrstuvwxyz", letter(n), letter(n / 26), letter(n / 676))
}

#[test]
fn suggestions_for_thousands_of_unknown_names_end() {
    let paths: String = (0..3_000).fold(String::new(), |mut out, n| {
        let _ = write!(out, "[[path]]\nname = \"{}\"\ntype = \"text\"\n", name(n));
        out
    });
    let unknown: Vec<String> = (0..1_500).map(|n| format!("\"$x{}\"", name(n))).collect();
    let rules = pipeline(&format!("[[value]]\nname = \"v\"\nis = [{}]\n", unknown.join(", ")));
    let scene = format!("kind = \"scene\"\nversion = 1\n{paths}");
    let error = own::pack("", &[("scene.toml", &scene), ("pipeline.toml", &rules)]).err().unwrap();
    let unknown = error.report.items().iter().filter(|d| d.message.contains("there is no scene path")).count();
    let near = error.report.items().iter().filter(|d| d.help.as_ref().is_some_and(|help| help.contains("did you mean"))).count();
    assert_eq!(unknown, 300, "the others are counted");
    assert!((1..200).contains(&near), "{near} suggestions");
}

#[test]
fn more_mistakes_than_anyone_reads_are_counted_as_one() {
    let unknown: Vec<String> = (0..5_000).map(|n| format!("\"$x{n}.y\"")).collect();
    let told = told(&[("pipeline.toml", &pipeline(&format!("[[value]]\nname = \"v\"\nis = [{}]\n", unknown.join(", "))))]);
    assert!(told.matches("there is no scene path").count() <= 300);
    assert!(told.contains("more errors are not shown"), "the rest is told");
}

#[test]
fn a_text_of_very_many_references_is_walked_once() {
    let rules = pipeline(&format!("[[value]]\nname = \"v\"\nis = \"{}\"\n", "é\\n{{$dialect}}".repeat(60_000)));
    assert!(own::pack("", &[("pipeline.toml", &rules)]).is_ok());
    // the place of a reference far behind is exact nevertheless
    let rules = pipeline(&format!("[[value]]\nname = \"v\"\nis = \"{}{{{{$nowhere}}}}\"\n", "é\\n{{$dialect}}".repeat(100)));
    let error = own::pack("", &[("pipeline.toml", &rules)]).err().unwrap();
    let [mistake] = error.report.items() else { panic!("{error}") };
    assert_eq!(error.sources.snippet(mistake.span.unwrap()), "$nowhere");
}

#[test]
fn names_that_an_unreadable_file_may_define_are_looked_up_within_bounds() {
    let unknown: Vec<String> = (0..1_900).map(|n| format!("\"$x{n}.y{n}\"")).collect();
    let rules = pipeline(&format!("[[value]]\nname = \"v\"\nis = [{}]\n", unknown.join(", ")));
    let broken = format!("x1.y1 = = \"{}\"", "word ".repeat(200_000));
    let told = told(&[("a.toml", &broken), ("pipeline.toml", &rules)]);
    assert!(told.contains("`x2.y2`") && !told.contains("`x1.y1`"), "{}", told.lines().take(20).collect::<Vec<_>>().join("\n"));
}

/// The shipped packs, counting how often each is asked for.
struct Counted(AtomicUsize);

impl Library for Counted {
    fn find(&self, name: &str, report: &mut Report) -> Option<PackFiles> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Shelf::default().find(name, report)
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
    let _ = Ruleset::load(&Start::Name("sillytavern".into()), &[tapster::pack::Overlay::File(file)], &counted);
    assert!(counted.0.load(Ordering::Relaxed) < 10, "{} packs were read", counted.0.load(Ordering::Relaxed));
}

/// Packs of so many levels, two on each: both extend both packs of the level below.
struct Diamonds(usize);

impl Library for Diamonds {
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
    let rows = |table: &str, from: usize, to: usize, more: &str| -> String {
        (from..to).fold(String::new(), |mut out, n| {
            let _ = write!(out, "[[{table}]]\nname = \"{}\"\n{more}", if table == "field" { format!("big/f{n}") } else { format!("r{n}") });
            out
        })
    };
    let scene = |fields: usize| {
        let big = rows("big", 0, 6_000, "");
        format!("kind = \"scene\"\nversion = 1\n[[table]]\nname = \"big\"\n{big}{}", rows("field", 0, fields, "values = \"$table.big\"\n"))
    };
    assert!(own::pack("", &[("scene.toml", &scene(80))]).is_ok());
    // 54 million words took 20 seconds and 3 GB
    let told = |scene: &str| own::pack("", &[("scene.toml", scene)]).err().map(|e| e.to_string()).unwrap_or_default();
    let many = told(&scene(9_000));
    assert!(many.contains("come to more than 500000 words"), "{many}");
    let required = format!("{}{}", scene(0), rows("field", 0, 101, "required = true\n"));
    let required = told(&required);
    assert!(required.contains("need more than 100 fields"), "{required}");
}

#[test]
fn rows_without_a_needed_key_are_counted() {
    let rows: String = (0..8_000).map(|n| format!("[[template]]\nname = \"t{n}\"\n")).collect();
    let told = told(&[("o.toml", &format!("kind = \"overlay\"\nversion = 1\n{rows}"))]);
    assert!(told.contains("has no `task`") || told.contains("`task` is missing"), "{told}");
    assert!(told.contains("more errors are not shown"), "{told}");
    assert!(told.matches("error[").count() <= 301);
}
