//! From text to a tree: finds matching braces, names, arguments, and the macros that form a block.
//!
//! Every text has a tree. Braces that do not form a macro are text. A macro without an end is text too, but complete
//! macros inside it count. Parsing is one walk over the text, without recursion; it ends where the text holds too much.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::MacroSyntax;
use crate::diag::limits;
use crate::text::macro_syntax::name_of;
use crate::text::{TextLimits, js};

/// The arguments that a macro takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentShape {
    /// Fewest arguments.
    pub least: usize,
    /// Most arguments.
    pub most: usize,
    /// Its last argument may stand as a body: `{{name}}body{{/name}}`.
    pub block: bool,
    /// The arguments that are passed unevaluated, one bit each from the lowest.
    pub raw: u32,
}

impl ArgumentShape {
    /// Whether this number of arguments is allowed.
    #[must_use]
    pub fn takes(&self, count: usize) -> bool {
        (self.least..=self.most).contains(&count)
    }

    /// Whether argument `n` (from 0) is passed unevaluated.
    #[must_use]
    pub fn is_raw(&self, n: usize) -> bool {
        u32::try_from(n).ok().and_then(|n| self.raw.checked_shr(n)).is_some_and(|bits| bits & 1 == 1)
    }
}

/// A known macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownMacro {
    /// Its number, which its owner assigns.
    pub id: u32,
    /// What it takes.
    pub shape: ArgumentShape,
}

/// The known names. A variable shorthand is known by its mark: `.` or `$`; it is called with the variable's name, the
/// operator (empty for reading) and, where there is one, a value.
pub trait MacroGrammar {
    /// The macro of a name, as written.
    fn find(&self, name: &str) -> Option<KnownMacro>;

    /// How macros are written.
    fn syntax(&self) -> &MacroSyntax;

    /// Whether `{{/name}}` ends a block; if not, ends stay as they are written.
    fn has_blocks(&self) -> bool {
        true
    }
}

/// An argument or a whole text: its range, and the macros in it.
#[derive(Debug, Default)]
pub struct MacroText {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) nodes: Vec<MacroNode>,
}

/// A macro in a text.
#[derive(Debug)]
pub struct MacroNode {
    /// The position of its `{{`.
    pub(super) start: usize,
    /// The position after its `}}`.
    pub(super) end: usize,
    /// Its name, as written; empty for braces that do not form a macro.
    pub(super) name: Arc<str>,
    pub(super) found: Option<KnownMacro>,
    /// It ends a block: `{{/name}}`.
    pub(super) closes: bool,
    /// It keeps white space: `{{#name}}`.
    pub(super) keeps: bool,
    /// For a variable shorthand: the name and the operator.
    pub(super) variable: Option<[Arc<str>; 2]>,
    pub(super) args: Vec<MacroText>,
    /// The index of its end in the same list, if one follows.
    pub(super) closer: Option<usize>,
}

impl MacroNode {
    /// Whether it is something that can be called.
    pub(super) fn is_macro(&self) -> bool {
        !self.name.is_empty()
    }

    /// Whether a body can be its next argument. An unknown macro takes any.
    pub(super) fn takes_body(&self) -> bool {
        self.found.is_none_or(|f| f.shape.block && f.shape.takes(self.args.len() + 1))
    }

    fn opens(&self) -> bool {
        self.is_macro() && !self.closes && self.variable.is_none()
    }
}

/// A text that has been read.
#[derive(Debug, Default)]
pub struct MacroTree {
    pub(super) whole: MacroText,
    /// Some macros were nested too deeply and are text.
    pub too_deep: bool,
    /// What it holds and what it cost.
    pub tally: ArgumentTally,
}

impl MacroTree {
    /// Reads a text. Macros nested deeper than `limits.depth` are text. A text with more than `limits.steps` macros is not
    /// read to its end, and its tree holds no macro.
    #[must_use]
    pub fn parse(text: &str, grammar: &dyn MacroGrammar, limits: &TextLimits) -> Self {
        let splits = grammar.syntax().separators.iter().filter_map(|sep| sep.bytes().next()).collect();
        let (frames, nodes, tally, names) = (Vec::new(), Vec::new(), ArgumentTally::of(limits.steps), NameCache::default());
        MacroReader { text, grammar, depth: limits.depth, splits, names, frames, nodes, ignored: 0, too_deep: false, tally }.run()
    }
}

/// What separates the arguments of a macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeparatorMode {
    /// There are none.
    None,
    /// There may be several, with this separator between them.
    List(usize),
    /// Everything that follows is one argument.
    Rest,
    /// What follows is ignored.
    Skip,
}

/// A macro whose end has not been reached.
struct OpenMacro {
    node: MacroNode,
    mode: SeparatorMode,
    /// The argument that is being read.
    part: MacroText,
}

/// Names that a text repeats, as they are written, with what the grammar knows of them; the first few of a text are
/// remembered.
#[derive(Default)]
struct NameCache(Vec<(Arc<str>, Option<KnownMacro>)>);

impl NameCache {
    fn of(&mut self, name: &str, grammar: &dyn MacroGrammar) -> (Arc<str>, Option<KnownMacro>) {
        if let Some(known) = self.0.iter().find(|(known, _)| **known == *name) {
            return known.clone();
        }
        let made = (Arc::from(name), grammar.find(name));
        if self.0.len() < limits::CACHE_ENTRIES {
            self.0.push(made.clone());
        }
        made
    }
}

struct MacroReader<'a> {
    text: &'a str,
    grammar: &'a dyn MacroGrammar,
    depth: usize,
    /// The first bytes of separators.
    splits: Vec<u8>,
    names: NameCache,
    frames: Vec<OpenMacro>,
    /// Macros of the text itself.
    nodes: Vec<MacroNode>,
    /// Macros that are open but too deep.
    ignored: usize,
    too_deep: bool,
    tally: ArgumentTally,
}

impl MacroReader<'_> {
    fn run(mut self) -> MacroTree {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while !self.tally.is_refused() {
            if self.frames.is_empty() {
                // outside of macros only an opening counts
                match opening(bytes, at) {
                    Some(found) => at = found,
                    None => break,
                }
            }
            let next = bytes.get(at + 1);
            at = match bytes.get(at) {
                None => break,
                Some(b'{') if next == Some(&b'{') => self.open(at),
                Some(b'}') if next == Some(&b'}') => self.close(at),
                Some(byte) if self.splits.contains(byte) => self.separate(at),
                Some(_) => at + 1,
            };
        }
        let mut nodes = self.nodes;
        if self.tally.is_refused() {
            nodes = Vec::new();
            self.frames = Vec::new();
        }
        for mut frame in self.frames {
            frame.node.args.push(frame.part);
            nodes.extend(frame.node.args.into_iter().flat_map(|part| part.nodes));
        }
        if self.grammar.has_blocks() {
            pair(&mut nodes);
        }
        MacroTree { whole: MacroText { from: 0, to: self.text.len(), nodes }, too_deep: self.too_deep, tally: self.tally }
    }

    /// Opens a macro. The last two of a run of braces open it.
    fn open(&mut self, at: usize) -> usize {
        let run = self.text.as_bytes().iter().skip(at).take_while(|b| **b == b'{').count();
        let start = at + run - 2;
        if self.frames.len() >= self.depth {
            self.too_deep = true;
            self.ignored += 1;
            return start + 2;
        }
        let (node, mode, at) = header(self.text, start, self.grammar, &mut self.names);
        self.frames.push(OpenMacro { node, mode, part: MacroText { from: at, to: at, nodes: Vec::new() } });
        at
    }

    fn close(&mut self, at: usize) -> usize {
        if self.ignored > 0 {
            self.ignored -= 1;
            return at + 2;
        }
        let Some(mut frame) = self.frames.pop() else { return at + 1 };
        frame.part.to = at;
        match frame.mode {
            SeparatorMode::List(_) | SeparatorMode::Rest => {
                self.tally.count_part();
                frame.end_part(at, 0, self.grammar);
            }
            SeparatorMode::None | SeparatorMode::Skip => {}
        }
        frame.node.end = at + 2;
        self.tally.end(frame.node.closes);
        let nodes = self.frames.last_mut().map_or(&mut self.nodes, |parent| &mut parent.part.nodes);
        nodes.push(frame.node);
        at + 2
    }

    fn separate(&mut self, at: usize) -> usize {
        let Some(frame) = self.frames.last_mut().filter(|_| self.ignored == 0) else { return at + 1 };
        let SeparatorMode::List(n) = frame.mode else { return at + 1 };
        match self.grammar.syntax().separators.get(n) {
            Some(sep) if self.text.get(at..).is_some_and(|rest| rest.starts_with(sep.as_ref())) => {
                self.tally.count_part();
                frame.end_part(at, sep.len(), self.grammar);
                at + sep.len()
            }
            _ => at + 1,
        }
    }
}

impl OpenMacro {
    fn end_part(&mut self, at: usize, separator: usize, grammar: &dyn MacroGrammar) {
        let from = at + separator;
        let next = MacroText { from, to: from, nodes: Vec::new() };
        let mut part = std::mem::replace(&mut self.part, next);
        part.to = at;
        if grammar.has_blocks() {
            pair(&mut part.nodes);
        }
        self.node.args.push(part);
    }
}

/// The next `{{` from `at` on.
fn opening(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'{', bytes.get(at..)?)?;
        if bytes.get(at + 1) == Some(&b'{') {
            return Some(at);
        }
        at += 1;
    }
}

/// Reads what follows the braces at `start`: the macro so far, the separator of its arguments, and where they begin.
fn header(text: &str, start: usize, grammar: &dyn MacroGrammar, names: &mut NameCache) -> (MacroNode, SeparatorMode, usize) {
    let mut node = MacroNode {
        start,
        end: start,
        name: Arc::default(),
        found: None,
        closes: false,
        keeps: false,
        variable: None,
        args: Vec::new(),
        closer: None,
    };
    let from = |at: usize| text.get(at..).unwrap_or_default();
    let skip = |at: usize| text.len() - js::trim_start(from(at)).len();
    let mut at = skip(start + 2);
    let syntax = grammar.syntax();
    while let Some(flag) = from(at).chars().next().filter(|c| syntax.flags.contains(*c)) {
        if from(at).starts_with("//") && !from(at).starts_with("///") {
            break;
        }
        node.closes |= flag == syntax.closer;
        node.keeps |= Some(flag) == syntax.keeps;
        at = skip(at + flag.len_utf8());
    }
    let mark = from(at).chars().next().filter(|mark| syntax.marks.contains(*mark)).and_then(|mark| from(at).get(..mark.len_utf8()));
    if let Some((mark, found)) = mark.and_then(|mark| Some((mark, grammar.find(mark)?))) {
        if let Some((variable, mode, at)) = variable(text, skip(at + mark.len()), syntax) {
            node.name = mark.into();
            node.found = Some(found);
            node.variable = Some(variable);
            return (node, mode, at);
        }
        return (node, SeparatorMode::Rest, start + 2);
    }
    let name = name_of(from(at));
    if name.is_empty() {
        // not a macro, but it has its own end
        return (node, SeparatorMode::Rest, start + 2);
    }
    (node.name, node.found) = names.of(name, grammar);
    let mut after = at + name.len();
    if name != "//" {
        // text directly after a name, without white space or a colon, is ignored
        after += from(after).find(|c: char| js::is_space(c) || matches!(c, ':' | '|' | '}')).unwrap_or(from(after).len());
    }
    let next = skip(after);
    let separator = syntax.separators.iter().enumerate().filter(|(_, sep)| from(next).starts_with(sep.as_ref()));
    if let Some((n, sep)) = separator.max_by_key(|(_, sep)| sep.len()) {
        (node, SeparatorMode::List(n), next + sep.len())
    } else if let Some(mark) = syntax.rest_at(from(next)) {
        (node, SeparatorMode::Rest, next + mark)
    } else if from(next).starts_with("}}") || from(next).is_empty() {
        (node, SeparatorMode::None, next)
    } else {
        (node, if syntax.parts_at_space() { SeparatorMode::Rest } else { SeparatorMode::Skip }, after)
    }
}

/// The name and the operator of a variable shorthand whose name begins at `at`; `None` if it is not one.
fn variable(text: &str, at: usize, syntax: &MacroSyntax) -> Option<([Arc<str>; 2], SeparatorMode, usize)> {
    let rest = text.get(at..)?;
    // a dash at the end belongs to an operator
    let name = match name_of(rest) {
        "//" => "",
        name => name.trim_end_matches('-'),
    };
    let after = rest.get(name.len()..)?;
    let behind = js::trim_start(after);
    let place = text.len() - behind.len();
    if behind.starts_with("}}") || behind.is_empty() {
        return Some(([name.into(), Arc::default()], SeparatorMode::None, place));
    }
    if name.is_empty() {
        return nameless(text, place, syntax);
    }
    if let Some(operator) = syntax.operators.iter().find(|o| behind.starts_with(o.as_ref())) {
        let mode = if syntax.steps.contains(operator) { SeparatorMode::Skip } else { SeparatorMode::Rest };
        return Some(([name.into(), operator.as_ref().into()], mode, place + operator.len()));
    }
    // a second word is ignored
    let word = behind.len() < after.len() && behind.starts_with(|c: char| c.is_ascii_alphabetic());
    word.then(|| ([name.into(), Arc::default()], SeparatorMode::Skip, place))
}

/// A variable shorthand whose mark no name follows but other marks and flags, like `{{...}}`: one mark too many is passed
/// over, and otherwise all up to the end is a variable without a name. With anything else behind the mark it is none.
fn nameless(text: &str, at: usize, syntax: &MacroSyntax) -> Option<([Arc<str>; 2], SeparatorMode, usize)> {
    let behind = text.get(at..)?;
    let is_mark = |c: char| syntax.marks.contains(c);
    let is_noise = |c: char| is_mark(c) || syntax.flags.contains(c) || js::is_space(c);
    let named = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    let second = behind.strip_prefix(is_mark).map(js::trim_start).filter(|rest| named(rest));
    if let Some(rest) = second {
        return variable(text, text.len() - rest.len(), syntax);
    }
    let rest = behind.trim_start_matches(is_noise);
    let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let ends = after.is_empty() || after.starts_with("}}") || named(rest) && after.starts_with(is_noise);
    let found = rest.len() < behind.len() && (rest.len() == after.len() || named(rest)) && ends;
    found.then(|| (<[Arc<str>; 2]>::default(), SeparatorMode::Skip, text.len() - rest.len()))
}

/// For each name: the blocks that are open, and beside each the macros that could not take a body.
#[derive(Default)]
struct OpenBlock {
    /// Macros outside of any open block of that name.
    loose: Vec<usize>,
    blocks: Vec<(usize, Vec<usize>)>,
}

/// Finds the end that would close each macro: the next one of its name that no block in between needs.
fn pair(nodes: &mut [MacroNode]) {
    if !nodes.iter().any(|n| n.closes && n.is_macro()) {
        return;
    }
    nodes.iter_mut().for_each(|n| n.closer = None);
    let mut open: FxHashMap<String, OpenBlock> = FxHashMap::default();
    let mut closers = Vec::new();
    for (n, node) in nodes.iter().enumerate() {
        if !node.is_macro() || node.variable.is_some() {
            continue;
        }
        let of = open.entry(node.name.to_ascii_lowercase()).or_default();
        if node.closes {
            let (block, beside) = match of.blocks.pop() {
                Some((block, beside)) => (Some(block), beside),
                None => (None, std::mem::take(&mut of.loose)),
            };
            closers.extend(beside.into_iter().chain(block).map(|opener| (opener, n)));
        } else if node.opens() && node.takes_body() {
            of.blocks.push((n, Vec::new()));
        } else {
            of.blocks.last_mut().map_or(&mut of.loose, |(_, beside)| beside).push(n);
        }
    }
    for (opener, closer) in closers {
        if let Some(node) = nodes.get_mut(opener) {
            node.closer = Some(closer);
        }
    }
}

// What the tree of a text may hold. A tree takes far more memory than its text, so macros are counted as they are read, and
// reading ends at the first one that is too much.

/// So many arguments and ends of blocks a text may have for each macro that it may have.
const PARTS_PER_MACRO: usize = 10;

/// Why a text is not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TallyRefusal {
    /// It holds too many macros.
    Macros,
    /// It holds too many arguments and ends of blocks.
    Parts,
}

/// The count of one text.
#[derive(Debug, Default)]
pub struct ArgumentTally {
    /// The most macros.
    most: usize,
    /// Macros, without those that end blocks.
    macros: usize,
    /// Arguments and ends of blocks.
    parts: usize,
    refused: Option<TallyRefusal>,
}

impl ArgumentTally {
    /// A count of at most this many macros.
    pub(super) fn of(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Counts a macro whose end has been read. It may be the end of a block.
    pub(super) fn end(&mut self, closes: bool) {
        if closes {
            return self.count_part();
        }
        self.macros += 1;
        if self.macros > self.most {
            self.refuse(TallyRefusal::Macros);
        }
    }

    /// Counts an argument or the end of a block.
    pub(super) fn count_part(&mut self) {
        self.parts += 1;
        if self.parts > self.most.saturating_mul(PARTS_PER_MACRO) {
            self.refuse(TallyRefusal::Parts);
        }
    }

    /// The first reason is told.
    fn refuse(&mut self, why: TallyRefusal) {
        self.refused = self.refused.or(Some(why));
    }

    /// Whether the text is not read to its end, so that it is left as it was.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// The warning about a text that is not read to its end.
    pub(super) fn told(&self, limits: &TextLimits) -> Option<String> {
        Some(match self.refused? {
            TallyRefusal::Macros => format!("the text holds more than {} macros and is left as it was", limits.steps),
            TallyRefusal::Parts => format!(
                "the macros of the text have more than {} arguments and ends of blocks, and it is left as it was",
                limits.steps.saturating_mul(PARTS_PER_MACRO)
            ),
        })
    }

    /// How many macros, arguments and ends of blocks there are.
    pub fn count(&self) -> usize {
        self.macros + self.parts
    }
}
