//! From a template to its tree: texts and tags in order, and the blocks that are open. Nesting costs no recursion.

use std::sync::Arc;

use super::DEEPEST;
use super::expr::{Arm, Filtered, Loop, Node, Offset, Operand, Reader, Trouble, What};
use crate::diag::suggest;
use crate::text::js;

/// Tags that open something or stand alone, sorted.
pub(super) const TAGS: &[&str] = &[
    "#",
    "assign",
    "break",
    "capture",
    "case",
    "comment",
    "continue",
    "cycle",
    "decrement",
    "echo",
    "for",
    "if",
    "increment",
    "liquid",
    "raw",
    "tablerow",
    "unless",
];

type Done = Result<(), Trouble>;

pub(super) struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// The text before the next tag loses the blanks at its start.
    trims: bool,
    /// Where the comment began that is open.
    comment: Option<usize>,
    done: Vec<Node>,
    open: Vec<Open>,
    /// Filters that do not exist.
    pub unknown: Vec<String>,
}

/// A block that is not closed yet.
struct Open {
    at: usize,
    word: &'static str,
    kind: Kind,
    /// What follows its latest tag.
    body: Vec<Node>,
    /// That tag is `else`.
    in_else: bool,
}

enum Kind {
    If { when: Filtered, wanted: bool, arms: Vec<Arm>, otherwise: Vec<Node> },
    Case { target: Filtered, values: Option<Vec<Operand>>, arms: Vec<(Vec<Operand>, Vec<Node>)>, otherwise: Vec<Node> },
    Loop(Box<Loop>),
    Capture(Arc<str>),
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, trims: false, comment: None, done: Vec::new(), open: Vec::new(), unknown: Vec::new() }
    }

    pub(super) fn run(&mut self) -> Result<Vec<Node>, Trouble> {
        while let Some((start, output)) = self.opener() {
            self.literal(start);
            let (inside, end, right) = self.inside(start, output)?;
            self.at = end;
            self.trims = right;
            match (output, self.comment) {
                (_, Some(_)) => self.in_comment(inside),
                (true, None) => self.output(start, inside)?,
                (false, None) => self.tag(start, inside)?,
            }
        }
        self.literal(self.text.len());
        if let Some(at) = self.comment {
            return Err(Trouble::new(at, "this `comment` has no `{% endcomment %}`"));
        }
        match self.open.pop() {
            None => Ok(std::mem::take(&mut self.done)),
            Some(open) => Err(Trouble::new(open.at, format!("this `{0}` has no `{{% end{0} %}}`", open.word))),
        }
    }

    /// The next `{{` (true) or `{%`.
    fn opener(&self) -> Option<(usize, bool)> {
        let rest = self.text.get(self.at..)?;
        let found = rest.match_indices('{').find_map(|(n, _)| match rest.as_bytes().get(n + 1) {
            Some(b'{') => Some((n, true)),
            Some(b'%') => Some((n, false)),
            _ => None,
        });
        found.map(|(n, output)| (self.at + n, output))
    }

    /// The text up to a place becomes a node.
    fn literal(&mut self, end: usize) {
        let mut text = self.text.get(self.at..end).unwrap_or_default();
        if self.trims {
            text = js::trim_start(text);
        }
        if self.text.get(end + 2..).is_some_and(|t| t.starts_with('-')) {
            text = js::trim_end(text);
        }
        if !text.is_empty() && self.comment.is_none() {
            self.add(self.at, What::Text(text.into()));
        }
    }

    fn add(&mut self, at: usize, what: What) {
        let nodes = self.open.last_mut().map_or(&mut self.done, |open| &mut open.body);
        nodes.push(Node { at, what });
    }

    /// What stands in the tag that begins at `start`, where the tag ends, and whether it trims what follows.
    fn inside(&self, start: usize, output: bool) -> Result<((usize, usize), usize, bool), Trouble> {
        let from = start + 2 + usize::from(self.text.get(start + 2..).is_some_and(|t| t.starts_with('-')));
        let rest = self.text.get(from..).unwrap_or_default();
        let close = if output { closing_output(rest) } else { rest.find("%}") };
        let Some(length) = close else {
            let (open, close) = if output { ("{{", "}}") } else { ("{%", "%}") };
            return Err(Trouble::new(start, format!("this `{open}` has no `{close}`")));
        };
        let trims = rest.get(..length).is_some_and(|inside| inside.ends_with('-'));
        Ok(((from, from + length - usize::from(trims)), from + length + 2, trims))
    }

    fn reader(&self, (from, to): (usize, usize)) -> Reader<'t> {
        Reader::new(self.text, from, to)
    }

    fn in_comment(&mut self, inside: (usize, usize)) {
        if self.reader(inside).word() == "endcomment" {
            self.comment = None;
        }
    }

    fn output(&mut self, at: usize, inside: (usize, usize)) -> Done {
        let value = self.reader(inside).filtered(&mut self.unknown)?;
        self.add(at, What::Output(value));
        Ok(())
    }

    fn tag(&mut self, at: usize, inside: (usize, usize)) -> Done {
        let mut reader = self.reader(inside);
        reader.skip_blank();
        if reader.take("#") {
            return Ok(());
        }
        let word = reader.word();
        match word {
            "if" | "unless" => {
                let when = reader.filtered(&mut self.unknown)?;
                let (word, wanted) = if word == "if" { ("if", true) } else { ("unless", false) };
                self.begin(at, word, Kind::If { when, wanted, arms: Vec::new(), otherwise: Vec::new() })
            }
            "case" => {
                let target = reader.filtered(&mut self.unknown)?;
                self.begin(at, "case", Kind::Case { target, values: None, arms: Vec::new(), otherwise: Vec::new() })
            }
            "for" => self.for_loop(at, reader, "for"),
            "tablerow" => self.for_loop(at, reader, "tablerow"),
            "capture" => {
                let name = name(&mut reader)?;
                self.begin(at, "capture", Kind::Capture(name))
            }
            "elsif" => self.elsif(at, reader),
            "else" => self.otherwise(at),
            "when" => self.when(at, reader),
            "assign" => {
                let name = name(&mut reader)?;
                if !reader.next("=") {
                    return reader.fail("`=` is missing here: `{% assign name = value %}`");
                }
                let value = reader.filtered(&mut self.unknown)?;
                self.add(at, What::Assign { name, value });
                Ok(())
            }
            "echo" => {
                let value = reader.filtered(&mut self.unknown)?;
                self.add(at, What::Output(value));
                Ok(())
            }
            "increment" | "decrement" => {
                let name = name(&mut reader)?;
                self.add(at, What::Count { name, by: if word == "increment" { 1 } else { -1 } });
                Ok(())
            }
            "cycle" => self.cycle(at, reader),
            "break" => self.alone(at, reader, What::Break),
            "continue" => self.alone(at, reader, What::Continue),
            "comment" => {
                self.comment = Some(at);
                Ok(())
            }
            "raw" => self.raw(at),
            "liquid" => self.lines(reader),
            _ => self.end(at, word),
        }
    }

    fn alone(&mut self, at: usize, mut reader: Reader<'_>, what: What) -> Done {
        if !reader.is_done() {
            return reader.fail("nothing may follow this tag's name");
        }
        self.add(at, what);
        Ok(())
    }

    fn begin(&mut self, at: usize, word: &'static str, kind: Kind) -> Done {
        if self.open.len() >= DEEPEST {
            return Err(Trouble::new(at, format!("blocks are nested deeper than {DEEPEST}")));
        }
        self.open.push(Open { at, word, kind, body: Vec::new(), in_else: false });
        Ok(())
    }

    fn elsif(&mut self, at: usize, mut reader: Reader<'_>) -> Done {
        let when = reader.filtered(&mut self.unknown)?;
        match self.open.last_mut() {
            Some(Open { kind: Kind::If { when: old, wanted, arms, .. }, body, in_else: false, .. }) => {
                let (when, wanted) = (std::mem::replace(old, when), std::mem::replace(wanted, true));
                arms.push(Arm { when, wanted, body: std::mem::take(body) });
                Ok(())
            }
            _ => Err(Trouble::new(at, "`elsif` belongs into an `if` or `unless`, before its `else`")),
        }
    }

    fn when(&mut self, at: usize, mut reader: Reader<'_>) -> Done {
        let mut given = Vec::new();
        while let Some(value) = reader.operand()? {
            given.push(value);
            if !reader.next(",") && reader.word() != "or" {
                break;
            }
        }
        if given.is_empty() || !reader.is_done() {
            return reader.fail("`when` needs values, separated by `,` or `or`");
        }
        match self.open.last_mut() {
            Some(Open { kind: Kind::Case { values, arms, .. }, body, in_else: false, .. }) => {
                // what stands before the first `when` is no arm's
                let body = std::mem::take(body);
                arms.extend(values.replace(given).map(|values| (values, body)));
                Ok(())
            }
            _ => Err(Trouble::new(at, "`when` belongs into a `case`, before its `else`")),
        }
    }

    fn otherwise(&mut self, at: usize) -> Done {
        let Some(open) = self.open.last_mut().filter(|o| !o.in_else && !matches!(o.kind, Kind::Capture(_))) else {
            return Err(Trouble::new(at, "`else` belongs into an `if`, `unless`, `case` or `for`, once"));
        };
        open.in_else = true;
        let body = std::mem::take(&mut open.body);
        match &mut open.kind {
            Kind::Capture(_) => {}
            Kind::Case { values, arms, .. } => arms.extend(values.take().map(|values| (values, body))),
            Kind::Loop(each) => each.body = body,
            Kind::If { when, wanted, arms, .. } => {
                // none follows the arm that was open
                let nothing = Filtered { at, postfix: Vec::new(), filters: Vec::new() };
                arms.push(Arm { when: std::mem::replace(when, nothing), wanted: *wanted, body });
            }
        }
        Ok(())
    }

    fn end(&mut self, at: usize, word: &str) -> Done {
        let Some(ended) = word.strip_prefix("end") else { return Err(unknown_tag(at, word)) };
        let Some(open) = self.open.pop() else {
            return Err(Trouble::new(at, format!("`{word}` closes nothing")));
        };
        if open.word != ended {
            return Err(Trouble::new(at, format!("`{word}` cannot close the `{0}` that is open; write `end{0}`", open.word)));
        }
        let (body, in_else) = (open.body, open.in_else);
        let what = match open.kind {
            Kind::Capture(name) => What::Capture { name, body },
            Kind::If { arms, .. } if in_else => What::If { arms, otherwise: body },
            Kind::If { when, wanted, mut arms, otherwise } => {
                arms.push(Arm { when, wanted, body });
                What::If { arms, otherwise }
            }
            Kind::Case { target, arms, .. } if in_else => What::Case { target, arms, otherwise: body },
            Kind::Case { target, values, mut arms, otherwise } => {
                arms.extend(values.map(|values| (values, body)));
                What::Case { target, arms, otherwise }
            }
            Kind::Loop(mut each) => {
                *(if in_else { &mut each.otherwise } else { &mut each.body }) = body;
                What::Loop(each)
            }
        };
        self.add(open.at, what);
        Ok(())
    }

    fn for_loop(&mut self, at: usize, mut reader: Reader<'_>, word: &'static str) -> Done {
        let name = name(&mut reader)?;
        if reader.word() != "in" {
            return reader.fail(format!("`in` is missing here: `{{% {word} name in list %}}`"));
        }
        reader.skip_blank();
        let from = reader.at;
        let Some(over) = reader.operand()? else { return reader.fail("what to go through is missing behind `in`") };
        let written = self.text.get(from..reader.at).unwrap_or_default().into();
        let table = (word == "tablerow").then_some(None);
        let mut each =
            Loop { name, over, written, limit: None, offset: None, reversed: false, table, body: Vec::new(), otherwise: Vec::new() };
        while !reader.is_done() {
            reader.take(",");
            loop_option(&mut reader, &mut each)?;
        }
        self.begin(at, word, Kind::Loop(Box::new(each)))
    }

    fn cycle(&mut self, at: usize, mut reader: Reader<'_>) -> Done {
        reader.skip_blank();
        let written = reader.rest().trim_end().into();
        let (mut group, mut items) = (None, Vec::new());
        while let Some(value) = reader.operand()? {
            if group.is_none() && items.is_empty() && reader.next(":") {
                group = Some(value);
                continue;
            }
            items.push(value);
            if !reader.next(",") {
                break;
            }
        }
        if items.is_empty() || !reader.is_done() {
            return reader.fail("`cycle` needs values, separated by commas");
        }
        self.add(at, What::Cycle { group, items, written });
        Ok(())
    }

    /// Everything up to `{% endraw %}` is text.
    fn raw(&mut self, at: usize) -> Done {
        let from = self.at;
        let rest = self.text.get(from..).unwrap_or_default();
        for (n, _) in rest.match_indices("{%") {
            let mut reader = Reader::new(self.text, from + n + 2, self.text.len());
            reader.take("-");
            if reader.word() == "endraw" {
                let trims = reader.next("-");
                if reader.take("%}") {
                    self.literal(from + n);
                    (self.at, self.trims) = (reader.at, trims);
                    return Ok(());
                }
            }
        }
        Err(Trouble::new(at, "this `raw` has no `{% endraw %}`"))
    }

    /// `{% liquid %}`: each line is a tag.
    fn lines(&mut self, reader: Reader<'_>) -> Done {
        let mut from = reader.at;
        for line in reader.rest().split('\n') {
            let end = from + line.len();
            if !js::trim(line).is_empty() {
                let start = from + line.len() - js::trim_start(line).len();
                let word = Reader::new(self.text, start, end).word();
                match (self.comment, word) {
                    (Some(_), _) => self.in_comment((start, end)),
                    (None, "raw" | "liquid") => return Err(Trouble::new(start, format!("`{word}` cannot stand inside `liquid`"))),
                    (None, _) => self.tag(start, (start, end))?,
                }
            }
            from = end + 1;
        }
        Ok(())
    }
}

fn loop_option(reader: &mut Reader<'_>, each: &mut Loop) -> Done {
    reader.skip_blank();
    let start = reader.at;
    let word = reader.word();
    if word == "reversed" && each.table.is_none() {
        each.reversed = true;
        return Ok(());
    }
    let known = matches!(word, "limit" | "offset") || word == "cols" && each.table.is_some();
    if !known || !reader.next(":") {
        let words = if each.table.is_some() { "`limit:`, `offset:` or `cols:`" } else { "`limit:`, `offset:` or `reversed`" };
        return Err(Trouble::new(start, format!("{words} may follow here")));
    }
    let Some(value) = reader.operand()? else { return reader.fail(format!("a value is missing behind `{word}:`")) };
    match word {
        "limit" => each.limit = Some(value),
        "cols" => each.table = Some(Some(value)),
        _ => each.offset = Some(if is_continue(&value) { Offset::Continue } else { Offset::Given(value) }),
    }
    Ok(())
}

fn is_continue(value: &Operand) -> bool {
    matches!(value, Operand::Path { root: super::expr::Root::Name(name), keys, .. } if &**name == "continue" && keys.is_empty())
}

/// A name that is given a value; quotes round it are allowed.
fn name(reader: &mut Reader<'_>) -> Result<Arc<str>, Trouble> {
    reader.skip_blank();
    let name: Arc<str> = match reader.rest().bytes().next() {
        Some(b'"' | b'\'') => reader.quoted()?.into(),
        _ => reader.word().into(),
    };
    if name.is_empty() { reader.fail("a name is missing here") } else { Ok(name) }
}

/// Where the `}}` of an output stands; one in quotes is text.
fn closing_output(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut quote = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'}') if bytes.get(at + 1) == Some(&b'}') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn unknown_tag(at: usize, word: &str) -> Trouble {
    let said = match word {
        "render" | "include" | "layout" | "block" => "; there are no other templates to call from here".to_owned(),
        _ => suggest::help(word, TAGS.iter().copied()).map(|help| format!("; {help}")).unwrap_or_default(),
    };
    Trouble::new(at, format!("there is no tag `{word}`{said}"))
}
