//! The differences as text for a terminal. What is long is cut; `--all` shows everything.

use serde_json::Value as Json;

use crate::layout::{head, one_line};
use tapster_door::diff::DifferenceKind;
use tapster_door::diff::prompts::{BlockChange, BlockView, Culprit, PromptDiff};
use tapster_door::diff::rules::{DiffStep, FieldChange, RowChange, RuleDiff, SECTION, arrow, change_places, diff_steps};

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    pub(crate) paint: Paint,
    /// Show everything.
    pub(crate) all: bool,
}

/// Rows of a table that are shown.
const ROWS: usize = 20;
/// From how many rows on only their names are shown, and how many of a table.
const MANY: usize = 60;
const FEW: usize = 8;
/// Fields of a row, blocks of a prompt, lines of a text, and characters of a value that are shown.
const FIELDS: usize = 8;
const BLOCKS: usize = 30;
const LINES: usize = 12;
const VALUE: usize = 100;

impl PageLimits {
    fn most(self, most: usize) -> usize {
        if self.all { usize::MAX } else { most }
    }

    /// A line that says how many more there are, if there are.
    fn more(self, indent: &str, all: usize, most: usize, what: &str, out: &mut String) {
        let hidden = all.saturating_sub(self.most(most));
        if hidden > 0 {
            out.push_str(&format!("{indent}{}\n", self.paint.faint(&format!("… {hidden} more {what} (`--all` shows them)"))));
        }
    }

    /// The rules that differ.
    pub(crate) fn rules(self, diff: &RuleDiff) -> String {
        if diff.is_empty() {
            return "rules: no difference\n".to_owned();
        }
        let mut out = format!("{}\n", self.paint.title(&format!("rules: {}", summary(diff))));
        // of two packs that have little in common, names are enough
        let (brief, most) = if diff.rows.len() > MANY && !self.all { (true, FEW) } else { (false, ROWS) };
        let mut tables: Vec<&str> = diff.rows.iter().map(|row| row.table.as_str()).collect();
        tables.dedup();
        for table in tables {
            let rows: Vec<&RowChange> = diff.rows.iter().filter(|row| row.table == table).collect();
            self.listed(&format!("[[{table}]]"), &rows, (brief, most), "rows", &mut out);
        }
        if !diff.values.is_empty() {
            out.push_str(&format!("\n{}\n", self.paint.title("values")));
            for value in diff.values.iter().take(self.most(ROWS)) {
                let what = kind_of(value);
                let place = arrow(value.was_at.as_deref(), value.is_at.as_deref());
                out.push_str(&format!("  {} {}  {}\n", self.paint.sign(what), one_line(&value.path), self.paint.faint(&place)));
                out.push_str("      value");
                self.inline(value, "        ", &mut out);
            }
            self.more("  ", diff.values.len(), ROWS, "values", &mut out);
        }
        if !diff.options.is_empty() {
            self.listed(SECTION, &diff.options.iter().collect::<Vec<_>>(), (brief, most), "options", &mut out);
        }
        if !diff.files.is_empty() {
            out.push_str(&format!("\n{}\n", self.paint.title("scripts and templates")));
            for (what, path) in diff.files.iter().take(self.most(ROWS)) {
                out.push_str(&format!("  {} {}\n", self.paint.sign(*what), one_line(path)));
            }
            self.more("  ", diff.files.len(), ROWS, "files", &mut out);
        }
        out
    }

    /// Rows under a title: their names alone, or at most so many of them with their fields.
    fn listed(self, title: &str, rows: &[&RowChange], (brief, most): (bool, usize), what: &str, out: &mut String) {
        out.push_str(&format!("\n{}\n", self.paint.title(title)));
        rows.iter().take(self.most(most)).for_each(|row| if brief { self.name(row, out) } else { self.row(row, out) });
        self.more("  ", rows.len(), most, what, out);
    }

    /// A row on one line, with the names of the fields that differ.
    fn name(self, row: &RowChange, out: &mut String) {
        let mut fields: Vec<&str> = row.fields.iter().map(|f| f.path.as_str()).collect();
        if row.moved.is_some() {
            fields.push("its place");
        }
        let fields = if row.what == DifferenceKind::Changed { format!("  {}", head(&fields.join(", "), VALUE)) } else { String::new() };
        out.push_str(&format!(
            "  {} {}{fields}  {}\n",
            self.paint.sign(row.what),
            one_line(&row.name),
            self.paint.faint(&change_places(row))
        ));
    }

    fn row(self, row: &RowChange, out: &mut String) {
        out.push_str(&format!("  {} {}  {}\n", self.paint.sign(row.what), one_line(&row.name), self.paint.faint(&change_places(row))));
        if let Some((was, is)) = &row.moved {
            let behind = |name: &Option<String>| name.as_ref().map_or("first".to_owned(), |name| format!("behind `{}`", one_line(name)));
            out.push_str(&format!("      moved: {} → {}\n", behind(was), behind(is)));
        }
        if row.what == DifferenceKind::Gone {
            return;
        }
        for field in row.fields.iter().take(self.most(FIELDS)) {
            if row.what == DifferenceKind::New {
                let value = field.is.as_ref().map(|v| head(&v.to_string(), VALUE)).unwrap_or_default();
                out.push_str(&format!("      {} = {value}\n", one_line(&field.path)));
            } else {
                out.push_str(&format!("      {}", one_line(&field.path)));
                self.inline(field, "        ", out);
            }
        }
        self.more("      ", row.fields.len(), FIELDS, "fields", out);
    }

    /// Both values behind the name on one line if they are short, otherwise below it.
    fn inline(self, field: &FieldChange, indent: &str, out: &mut String) {
        let short = |v: &Option<Json>| v.as_ref().map_or(String::from("(not set)"), Json::to_string);
        let (was, is) = (short(&field.was), short(&field.is));
        if was.chars().count() + is.chars().count() <= VALUE {
            out.push_str(&format!(": {} → {}\n", self.paint.gone(&one_line(&was)), self.paint.come(&one_line(&is))));
        } else {
            out.push('\n');
            self.value(field, indent, out);
        }
    }

    /// Both values below each other.
    fn value(self, field: &FieldChange, indent: &str, out: &mut String) {
        let text = |v: &Json| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        match (&field.was, &field.is) {
            (Some(was), Some(is)) => out.push_str(&changed_lines(&text(was), &text(is), indent, self.most(LINES), self.paint)),
            (Some(was), None) => out.push_str(&format!("{indent}{}\n", self.paint.gone(&format!("- {}", head(&was.to_string(), VALUE))))),
            (None, Some(is)) => out.push_str(&format!("{indent}{}\n", self.paint.come(&format!("+ {}", head(&is.to_string(), VALUE))))),
            (None, None) => {}
        }
    }

    /// The differences of one prompt.
    pub(crate) fn prompt(self, title: &str, diff: &PromptDiff) -> String {
        let tokens = diff.tokens.map(|(was, is)| format!(", {was} → {is} tokens")).unwrap_or_default();
        let (was, is) = diff.sent;
        let sent = if was == is { format!("{is} blocks") } else { format!("{was} → {is} blocks") };
        let found = match (diff.blocks.len(), diff.payload_differs) {
            (0, false) => "the same prompt".to_owned(),
            (0, true) => "the same blocks, another payload".to_owned(),
            (1, _) => "1 block differs".to_owned(),
            (n, _) => format!("{n} blocks differ"),
        };
        let mut out = format!("{}\n", self.paint.title(&format!("{title}: {found} ({sent}{tokens})")));
        diff.blocks.iter().take(self.most(BLOCKS)).for_each(|block| self.block(block, &mut out));
        self.more("  ", diff.blocks.len(), BLOCKS, "blocks", &mut out);
        if !diff.payload.is_empty() {
            out.push_str("\n  payload\n");
            self.values(&diff.payload, &mut out);
        }
        if !diff.warnings.is_empty() {
            out.push_str("\n  warnings\n");
            for (what, text) in diff.warnings.iter().take(self.most(ROWS)) {
                out.push_str(&format!("  {} {}\n", self.paint.sign(*what), one_line(text)));
            }
            self.more("  ", diff.warnings.len(), ROWS, "warnings", &mut out);
        }
        out
    }

    /// Values by JSON pointer.
    fn values(self, found: &[(String, Option<Json>, Option<Json>)], out: &mut String) {
        for (at, was, is) in found.iter().take(self.most(ROWS)) {
            let field = FieldChange { path: at.clone(), was: was.clone(), is: is.clone(), was_at: None, is_at: None };
            out.push_str(&format!("  {} {}", self.paint.sign(kind_of(&field)), one_line(at)));
            self.inline(&field, "      ", out);
        }
        self.more("  ", found.len(), ROWS, "values", out);
    }

    /// A rule test that gives something else, with the rules of what it runs that differ.
    pub(super) fn case(self, title: &str, found: &[(String, Option<Json>, Option<Json>)], rules: &[String]) -> String {
        let mut out = format!("\n{}\n", self.paint.title(&format!("{title}: {} values differ", found.len())));
        self.values(found, &mut out);
        for rule in rules.iter().take(self.most(FIELDS)) {
            out.push_str(&format!("      {} {}\n", self.paint.faint("by"), one_line(rule)));
        }
        self.more("      ", rules.len(), FIELDS, "rules", &mut out);
        out
    }

    fn block(self, block: &BlockChange, out: &mut String) {
        let Some(own) = block.is.as_ref().or(block.was.as_ref()) else { return };
        let name = if own.slot.is_empty() || own.slot == own.id { own.id.clone() } else { format!("{} {}", own.slot, own.id) };
        let number = match (&block.was, &block.is) {
            (Some(was), Some(is)) if was.index != is.index => format!("#{} → #{}", was.index, is.index),
            _ => format!("#{}", own.index),
        };
        let mut words = vec![number, one_line(&own.role), one_line(name.trim())];
        words.retain(|word| !word.is_empty());
        let what = match block.what {
            DifferenceKind::Changed if block.moved => "moved and changed",
            what => what.word(),
        };
        out.push_str(&format!("\n  {} {}  {what}\n", self.paint.sign(block.what), words.join(" ")));
        let empty = BlockView { index: 0, id: String::new(), slot: String::new(), role: String::new(), text: String::new(), tokens: 0 };
        match (&block.was, &block.is) {
            (Some(was), Some(is)) => {
                for (field, a, b) in [("role", &was.role, &is.role), ("slot", &was.slot, &is.slot), ("id", &was.id, &is.id)] {
                    if a != b {
                        out.push_str(&format!("      {field}: {} → {}\n", self.paint.gone(&one_line(a)), self.paint.come(&one_line(b))));
                    }
                }
                if was.text == is.text {
                    out.push_str(&format!("      {}\n", self.paint.faint(&head(&is.text, VALUE))));
                } else {
                    out.push_str(&changed_lines(&was.text, &is.text, "      ", self.most(LINES), self.paint));
                }
            }
            (was, is) => {
                let (was, is) = (was.as_ref().unwrap_or(&empty), is.as_ref().unwrap_or(&empty));
                out.push_str(&one_sided_lines(&was.text, &is.text, "      ", self.most(LINES), self.paint));
            }
        }
        for culprit in &block.rules {
            out.push_str(&format!("      {} {}\n", self.paint.faint("by"), self.culprit(culprit)));
        }
    }

    fn culprit(self, culprit: &Culprit) -> String {
        let place = if culprit.place.is_empty() { String::new() } else { format!(" ({})", culprit.place) };
        match culprit.what {
            Some(what) => format!("{}, which is {}{place}", one_line(&culprit.rule), what.word()),
            None => format!("{}, which {}{place}", one_line(&culprit.rule), culprit.did),
        }
    }
}

fn kind_of(field: &FieldChange) -> DifferenceKind {
    match (&field.was, &field.is) {
        (None, _) => DifferenceKind::New,
        (_, None) => DifferenceKind::Gone,
        _ => DifferenceKind::Changed,
    }
}

/// How many rows, values, options and files differ, in words.
pub(crate) fn summary(diff: &RuleDiff) -> String {
    let rows = |what: DifferenceKind| diff.rows.iter().filter(|row| row.what == what).count();
    let values = |what: DifferenceKind| diff.values.iter().filter(|value| kind_of(value) == what).count();
    let options = |what: DifferenceKind| diff.options.iter().filter(|option| option.what == what).count();
    let files = |what: DifferenceKind| diff.files.iter().filter(|(is, _)| *is == what).count();
    let kinds: [(&str, &dyn Fn(DifferenceKind) -> usize); 4] = [("row", &rows), ("value", &values), ("option", &options), ("file", &files)];
    let mut parts = Vec::new();
    for (name, count) in kinds {
        let told: Vec<String> =
            DifferenceKind::ALL.iter().filter(|what| count(**what) > 0).map(|what| format!("{} {}", count(*what), what.word())).collect();
        let sum: usize = DifferenceKind::ALL.iter().map(|what| count(*what)).sum();
        if sum > 0 {
            parts.push(format!("{name}{} {}", if sum == 1 { "" } else { "s" }, told.join(", ")));
        }
    }
    parts.join("; ")
}

/// ANSI colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) on: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn come(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn gone(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn changed(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn title(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// The sign of a change, in its colour.
    pub(crate) fn sign(self, what: DifferenceKind) -> String {
        match what {
            DifferenceKind::New => self.come("+"),
            DifferenceKind::Gone => self.gone("-"),
            DifferenceKind::Changed => self.changed("~"),
            DifferenceKind::Moved => self.changed(">"),
        }
    }
}

/// Characters of a line that are shown.
const WIDTH: usize = 110;
/// Characters in front of the first difference of a long line.
const LEAD: usize = 40;

/// The lines that differ, each with `indent` in front of its sign; at most `most` of them.
pub(crate) fn changed_lines(was: &str, is: &str, indent: &str, most: usize, paint: Paint) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (was.split('\n').collect(), is.split('\n').collect());
    let steps: Vec<DiffStep> = diff_steps(&old, &new).into_iter().collect();
    let at = |lines: &[&str], n: usize| lines.get(n).map(|line| (*line).to_owned()).unwrap_or_default();
    let mut shown: Vec<String> = Vec::new();
    let mut rest = steps.as_slice();
    let mut same = 0usize;
    while let Some(first) = rest.first() {
        if matches!(first, DiffStep::Same(..)) {
            same += 1;
            rest = rest.get(1..).unwrap_or(&[]);
            continue;
        }
        if same > 0 && !shown.is_empty() {
            let lines = if same == 1 { "line is" } else { "lines are" };
            shown.push(format!("{indent}  {}", paint.faint(&format!("… {same} {lines} the same"))));
        }
        same = 0;
        let block = rest.iter().take_while(|step| !matches!(step, DiffStep::Same(..))).count();
        let gone: Vec<String> =
            rest.iter().take(block).filter_map(|s| if let DiffStep::Gone(n) = s { Some(at(&old, *n)) } else { None }).collect();
        let come: Vec<String> =
            rest.iter().take(block).filter_map(|s| if let DiffStep::New(n) = s { Some(at(&new, *n)) } else { None }).collect();
        let skip = |n: usize, own: &str, other: &[String]| other.get(n).map_or(0, |other| difference_start(own, other));
        shown.extend(
            gone.iter()
                .enumerate()
                .map(|(n, line)| format!("{indent}{}", paint.gone(&format!("- {}", cut_line(line, skip(n, line, &come)))))),
        );
        shown.extend(
            come.iter()
                .enumerate()
                .map(|(n, line)| format!("{indent}{}", paint.come(&format!("+ {}", cut_line(line, skip(n, line, &gone)))))),
        );
        rest = rest.get(block..).unwrap_or(&[]);
    }
    let more = shown.len().saturating_sub(most);
    if more > 1 {
        shown.truncate(most);
        shown.push(format!("{indent}  {}", paint.faint(&format!("… {more} more lines (`--all` shows them)"))));
    }
    shown.into_iter().map(|line| line + "\n").collect()
}

/// Where two lines begin to differ, if it lies so far behind that their beginnings are left out.
fn difference_start(own: &str, other: &str) -> usize {
    let alike = own.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let long = own.chars().nth(WIDTH).is_some() || other.chars().nth(WIDTH).is_some();
    if long { alike.saturating_sub(LEAD) } else { 0 }
}

/// A line from a character on, as wide as it is shown.
fn cut_line(line: &str, skip: usize) -> String {
    let text = one_line(&line.chars().skip(skip).take(WIDTH).collect::<String>());
    let begin = if skip > 0 { "…" } else { "" };
    let end = if line.chars().nth(skip + WIDTH).is_some() { "…" } else { "" };
    format!("{begin}{text}{end}")
}

/// A text that only one side has: its first lines.
pub(super) fn one_sided_lines(was: &str, is: &str, indent: &str, most: usize, paint: Paint) -> String {
    let (text, sign, color): (&str, &str, fn(Paint, &str) -> String) =
        if is.is_empty() { (was, "-", Paint::gone) } else { (is, "+", Paint::come) };
    let all = text.split('\n').count();
    let mut out: String =
        text.split('\n').take(most).map(|line| format!("{indent}{}\n", color(paint, &format!("{sign} {}", cut_line(line, 0))))).collect();
    if all > most {
        out.push_str(&format!("{indent}  {}\n", paint.faint(&format!("… {} more lines (`--all` shows them)", all - most))));
    }
    out
}
