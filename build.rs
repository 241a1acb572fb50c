//! Packs and schemas are embedded in the library. A debug build of a checkout reads them from its folders instead, so that
//! an edit of a rule does not compile anything.
//!
//! The rule tests of packs are not embedded: what is embedded is a copy of `rules/` without the folders `cases`. Beside it
//! lie the trees of its files, which `src/pack/compact.rs` reads: reading TOML at each start would take longer than a build.
//! Expressions are in them as the tables that they say.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[path = "src/syntax/expression_grammar.rs"]
#[allow(dead_code, unreachable_pub)]
mod expression_grammar;
#[path = "src/syntax/expression_tables.rs"]
#[allow(dead_code, unreachable_pub)]
mod expression_tables;
#[path = "src/pack/word_places.rs"]
#[allow(dead_code, unreachable_pub)]
mod word_places;

use expression_tables::{ExpressionPlace, TableData, TableNode, read_tables};
use word_places::WordPlace;

fn main() -> io::Result<()> {
    println!("cargo:rustc-check-cfg=cfg(rules_on_disk)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=grammar");
    let is_debug = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    // a published package has no `.git`
    if is_debug && Path::new(".git").exists() {
        println!("cargo:rustc-cfg=rules_on_disk");
        return Ok(());
    }
    println!("cargo:rerun-if-changed=rules");
    println!("cargo:rerun-if-changed=schemas");
    println!("cargo:rerun-if-changed=src/syntax/expression_grammar.rs");
    println!("cargo:rerun-if-changed=src/syntax/expression_tables.rs");
    println!("cargo:rerun-if-changed=src/pack/word_places.rs");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(io::ErrorKind::NotFound)?;
    copy_without_cases(Path::new("rules"), &out.join("rules"))?;
    copy_compact(&out.join("rules"), &out.join("compact"))
}

/// Replaces the folder `to` by the trees of the rule files of `from`. A file that is not TOML has none.
fn copy_compact(from: &Path, to: &Path) -> io::Result<()> {
    make_empty(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_compact(&entry.path(), &copy)?;
        } else if entry.path().extension().is_some_and(|ending| ending == "toml") {
            let tree = compact(&fs::read_to_string(entry.path())?);
            tree.map_or(Ok(()), |tree| fs::write(copy, tree))?;
        }
    }
    Ok(())
}

/// The tree of a text of TOML; `None` if it is none, or holds what only its reader can complain about.
pub(crate) fn compact(text: &str) -> Option<Vec<u8>> {
    // its reader ignores a byte order mark and complains
    let root = DeTable::parse(text).ok().filter(|_| !text.starts_with('\u{feff}'))?;
    let mut tree = CompactTree { file: text, ..CompactTree::default() };
    tree.open(b'{', &root.span());
    let version = root.get_ref().get("version").map(Spanned::get_ref);
    tree.has_expressions = matches!(version, Some(DeValue::Integer(number)) if number.as_str() == "2");
    tree.table(root.get_ref(), WordPlace::File, None)?;
    let mut keys = CompactTree::default();
    keys.number(tree.keys.len());
    tree.keys.iter().for_each(|key| keys.text(key));
    Some([keys.bytes, tree.bytes].concat())
}

#[derive(Default)]
struct CompactTree<'f> {
    file: &'f str,
    /// From where the next place is counted.
    at: usize,
    bytes: Vec<u8>,
    keys: Vec<String>,
    /// The file is of the version that has expressions.
    has_expressions: bool,
}

impl CompactTree<'_> {
    fn number(&mut self, number: usize) {
        let [low, ..] = number.to_le_bytes();
        if number < 0x80 {
            self.bytes.push(low);
        } else {
            self.bytes.push(low | 0x80);
            self.number(number >> 7);
        }
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes.extend(text.as_bytes());
    }

    fn span(&mut self, span: &Range<usize>) {
        let (back, distance) = (span.start < self.at, span.start.abs_diff(self.at));
        self.number(distance << 1 | usize::from(back));
        self.number(span.len());
        self.at = span.end;
    }

    fn open(&mut self, kind: u8, span: &Range<usize>) {
        self.bytes.push(kind);
        self.span(span);
        if matches!(kind, b'[' | b'{') {
            self.at = span.start;
        }
    }

    fn key(&mut self, name: &str, span: &Range<usize>) {
        let known = self.keys.iter().position(|known| known == name);
        self.number(known.unwrap_or(self.keys.len()));
        if known.is_none() {
            self.keys.push(name.to_owned());
        }
        self.span(span);
    }

    fn table(&mut self, table: &DeTable<'_>, place: WordPlace, bare: Option<char>) -> Option<()> {
        self.number(table.len());
        let has_over = table.contains_key("over");
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            self.key(name, &key.span());
            let has = |sought: &str| matches!(value.get_ref(), DeValue::Table(table) if table.contains_key(sought));
            // the text of an expression that is written as a table is one already
            let inside = if name == "=" { WordPlace::Literal } else { place.place_under(name, &has) };
            self.node(value, inside, place.bare_mark(name, has_over, bare))?;
        }
        Some(())
    }

    /// A text that begins with `=`: an expression, or with `==` a text.
    fn expression_or_text(&mut self, text: &str, span: &Range<usize>, place: WordPlace, bare: Option<char>) {
        let rest = text.strip_prefix('=').unwrap_or(text);
        if rest.starts_with('=') {
            self.open(b's', span);
            self.text(rest);
        } else if self.expression(rest, span, place, bare).is_none() {
            self.open(b'{', span);
            self.number(1);
            self.key("=", span);
            self.open(b's', span);
            self.text(text);
        }
    }

    /// The table that an expression says; `None` if no table says it.
    fn expression(&mut self, text: &str, literal: &Range<usize>, place: WordPlace, bare: Option<char>) -> Option<()> {
        let place = if place == WordPlace::Condition { ExpressionPlace::Condition(bare) } else { ExpressionPlace::Value };
        let node = read_tables(text, place, &[])?;
        // where escapes are, nodes have the place of the whole
        let begin = self.file.get(literal.clone()).and_then(|raw| raw.find(text)).map(|begin| literal.start + begin);
        let at = |at: usize| match begin {
            Some(begin) => begin + at..begin + at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8),
            None => literal.clone(),
        };
        self.tree_node(&node, literal.clone(), &at);
        Some(())
    }

    fn tree_node(&mut self, node: &TableNode, span: Range<usize>, place: &dyn Fn(usize) -> Range<usize>) {
        match &node.data {
            TableData::Bool(holds) => self.open(if *holds { b't' } else { b'f' }, &span),
            TableData::Int(number) => {
                self.open(b'i', &span);
                self.bytes.extend(number.to_le_bytes());
            }
            TableData::Float(number) => {
                self.open(b'n', &span);
                self.bytes.extend(number.to_le_bytes());
            }
            TableData::Text(text) => {
                self.open(b's', &span);
                self.text(text);
            }
            TableData::List(list) => {
                self.open(b'[', &span);
                self.number(list.len());
                list.iter().for_each(|node| self.tree_node(node, place(node.at), place));
            }
            TableData::Table(fields) => {
                self.open(b'{', &span);
                self.number(fields.len());
                for (key, node) in fields {
                    self.key(key, &place(node.at));
                    self.tree_node(node, place(node.at), place);
                }
            }
        }
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, place: WordPlace, bare: Option<char>) -> Option<()> {
        let span = value.span();
        match value.get_ref() {
            DeValue::String(text) if self.has_expressions && place != WordPlace::Literal && text.starts_with('=') => {
                self.expression_or_text(text, &span, place, bare);
            }
            DeValue::Boolean(holds) => self.open(if *holds { b't' } else { b'f' }, &span),
            DeValue::Integer(number) => {
                self.open(b'i', &span);
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
                self.bytes.extend(number.to_le_bytes());
            }
            DeValue::Float(number) => {
                self.open(b'n', &span);
                let number = number.as_str().parse().ok().filter(|number: &f64| number.is_finite())?;
                self.bytes.extend(number.to_le_bytes());
            }
            DeValue::String(text) => match self.file.get(span.clone()).and_then(|literal| literal.find(&**text)) {
                Some(start) => {
                    self.open(b'r', &span);
                    self.number(start);
                    self.number(text.len());
                }
                None => {
                    self.open(b's', &span);
                    self.text(text);
                }
            },
            DeValue::Datetime(date) => {
                self.open(b's', &span);
                self.text(&date.to_string());
            }
            DeValue::Array(list) => {
                self.open(b'[', &span);
                self.number(list.len());
                for element in list.iter() {
                    let has = |sought: &str| match element.get_ref() {
                        DeValue::Table(table) => table.contains_key(sought),
                        // as if it were read already
                        DeValue::String(text) => sought == "=" && text.starts_with('='),
                        _ => false,
                    };
                    self.node(element, place.place_of_element(&has), bare)?;
                }
            }
            DeValue::Table(table) => {
                self.open(b'{', &span);
                self.table(table, place, bare)?;
            }
        }
        Some(())
    }
}

fn make_empty(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// Replaces the folder `to` by a copy of `from` without the folders named `cases`.
pub(crate) fn copy_without_cases(from: &Path, to: &Path) -> io::Result<()> {
    make_empty(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            fs::copy(entry.path(), copy)?;
        } else if entry.file_name() != "cases" {
            copy_without_cases(&entry.path(), &copy)?;
        }
    }
    Ok(())
}
