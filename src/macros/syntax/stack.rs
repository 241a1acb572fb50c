//! Expansion with a stack: one walk over the text from left to right, in which each `{{` opens a frame and each `}}`
//! closes the innermost one.
//!
//! What a frame holds when it is closed, with all macros inside it expanded, is one call: of a macro, or of the beginning
//! or the end of a block. The name of a macro may therefore contain macros. A block may ask for its body as it is written,
//! and may put its result back into the input, where it is read. Frames are a stack of their own, so nesting costs no
//! recursion. Bounded in frames, in calls and in bytes; a text that exceeds a bound is left unchanged.

use std::sync::Arc;

use super::{ExpandedText, MacroResult, TextOffset};
use crate::diag::limits;
use crate::text::work::{self, BYTES_PER_STEP};
use crate::text::{StepCounter, TextLimits};

/// Most frames that are open at one time.
const MOST_FRAMES: usize = 510;

/// A run of braces.
#[derive(Debug, Clone, Copy)]
struct BraceRun {
    from: usize,
    to: usize,
}

/// The braces of a text, in order.
#[derive(Debug, Default)]
pub struct Braces(Vec<BraceRun>);

impl Braces {
    /// Finds them. A single brace does nothing, unless the mark of a block in one tag follows or precedes it.
    #[must_use]
    pub fn of(text: &str, mark: Option<u8>) -> Self {
        let bytes = text.as_bytes();
        let marked = |at: Option<usize>| mark.is_some() && at.and_then(|at| bytes.get(at)).copied() == mark;
        let (mut runs, mut at) = (Vec::new(), 0);
        while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'{', b'}', rest)) {
            let from = at + found;
            let brace = bytes.get(from).copied();
            let to = from + bytes.iter().skip(from).take_while(|byte| Some(**byte) == brace).count();
            let beside = if brace == Some(b'{') { Some(to) } else { from.checked_sub(1) };
            if to - from > 1 || marked(beside) {
                runs.push(BraceRun { from, to });
            }
            at = to;
        }
        Self(runs)
    }

    /// What they take in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.len().saturating_mul(size_of::<BraceRun>())
    }
}

/// The tag with which a block begins.
pub struct OpeningTag<B> {
    /// What the host needs at its end.
    pub block: B,
    /// The body is not expanded.
    pub raw: bool,
}

/// What becomes of a block at its end.
pub enum BlockResult {
    /// This stands in its place.
    Text(Arc<str>),
    /// This is read in its place, as if it had been written there.
    Again(Arc<str>),
    /// It stays as written, and this is the warning.
    Failed(String),
}

impl BlockResult {
    /// The bytes of what the block gives.
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Again(text) => text.len(),
            Self::Failed(_) => 0,
        }
    }
}

/// Declares and evaluates the macros and blocks of a text that is expanded with a stack.
pub trait StackHost {
    /// What it remembers of an open block.
    type Block;

    /// Whether this is the first character of the tag of a block.
    fn opens(&self, first: char) -> bool;

    /// Whether this tag ends a block.
    fn ends(&self, tag: &str) -> bool;

    /// The block that a tag begins; `None` if it is no block, so that the tag stays as written.
    fn begin(&self, tag: &str) -> Option<OpeningTag<Self::Block>>;

    /// The value of a block, from the tag that began it and its body.
    fn end(&self, block: &Self::Block, body: &str) -> BlockResult;

    /// The mark of a block in one tag: `#` for `{#name …#}`.
    fn mark(&self) -> Option<u8>;

    /// What stands where the tag of a block was that is never closed. A tag in a body that is not expanded has been
    /// written already, and is not given.
    fn unclosed(&self, tag: Option<&str>) -> Arc<str>;

    /// The value of a block in one tag, `{#name …#}`; `None` if it is no block.
    fn inline(&self, tag: &str) -> Option<BlockResult>;

    /// The value of a macro, from all that stands between its braces.
    fn call(&self, tag: &str, at: TextOffset) -> MacroResult;

    /// The text that a macro has given as the value of the whole text, which ends there.
    fn ended(&self) -> Option<Arc<str>>;

    /// The steps of functions since the last call, besides the values that they gave.
    fn take_steps(&self) -> usize;
}

/// A text that is read: the given one, or one that a block has put back into the input.
struct StackSource {
    text: Arc<str>,
    braces: Arc<Braces>,
    /// The next run of braces.
    next: usize,
    /// The place up to which it has been read.
    at: usize,
}

enum FrameKind<B> {
    /// `{{`
    Macro,
    /// The body of a block; the tag that began it.
    Block(OpeningTag<B>, Box<str>),
    /// The body of a tag inside a body that is not expanded, which needs an end of its own.
    Inner,
}

struct StackFrame<B> {
    kind: FrameKind<B>,
    /// Where its content begins in the output.
    from: usize,
    /// Where it was opened in the given text.
    at: TextOffset,
}

struct MacroStack<'a, H: StackHost> {
    host: &'a H,
    limits: TextLimits,
    sources: Vec<StackSource>,
    frames: Vec<StackFrame<H::Block>>,
    out: String,
    /// Open blocks whose bodies are not expanded.
    raw: usize,
    /// Openings that were too many.
    ignored: usize,
    too_deep: bool,
    steps: StepCounter,
    /// Bytes that may still be put back into the input.
    left: usize,
    most: usize,
    warnings: Vec<String>,
}

/// A bound was reached: the text stays as it was given.
struct StackStop;

/// Expands a text whose braces have been found.
pub fn expand<H: StackHost>(text: &Arc<str>, braces: Arc<Braces>, host: &H, limits: &TextLimits) -> ExpandedText {
    let first = StackSource { text: text.clone(), braces, next: 0, at: 0 };
    let mut stack = MacroStack {
        host,
        limits: *limits,
        sources: vec![first],
        frames: Vec::new(),
        out: String::with_capacity(text.len()),
        raw: 0,
        ignored: 0,
        too_deep: false,
        steps: limits.counter(work::STEPS_PER_OPERATION),
        left: limits.output,
        most: text.len().saturating_add(limits.output),
        warnings: Vec::new(),
    };
    // what was done before belongs to no macro of this text
    host.take_steps();
    let done = stack.walk();
    if stack.too_deep {
        stack.warn(format!("more than {MOST_FRAMES} macros and blocks are open at one place; the inner ones are left as text"));
    }
    let text = match (done, host.ended()) {
        (Err(StackStop), _) => text.clone(),
        (Ok(()), Some(whole)) => whole,
        (Ok(()), None) => {
            stack.close_all();
            if stack.out == **text { text.clone() } else { stack.out.into() }
        }
    };
    ExpandedText { text, warnings: stack.warnings }
}

impl<H: StackHost> MacroStack<'_, H> {
    fn walk(&mut self) -> Result<(), StackStop> {
        while let Some(source) = self.sources.last_mut() {
            let run = source.braces.0.get(source.next).copied();
            let until = run.map_or(source.text.len(), |run| run.from).max(source.at);
            self.out.push_str(source.text.get(source.at..until).unwrap_or_default());
            source.at = until;
            let Some(run) = run else {
                self.sources.pop();
                continue;
            };
            if source.at >= run.to {
                source.next += 1;
                continue;
            }
            let byte = |at: usize| source.text.as_bytes().get(at).copied();
            let (at, opens) = (source.at, byte(run.from) == Some(b'{'));
            let beside = if opens { byte(run.to) } else { run.from.checked_sub(1).filter(|_| at == run.from).and_then(byte) };
            let marked = beside.is_some() && beside == self.host.mark();
            if opens {
                self.open(at, run, marked)
            } else {
                self.close(at, run, marked)?
            }
            if self.host.ended().is_some() {
                return Ok(());
            }
            if self.out.len() > self.most {
                return Err(self.stop(format!("macros would add more than {} bytes; the text is left as it was", self.limits.output)));
            }
        }
        Ok(())
    }

    fn warn(&mut self, why: String) {
        if self.warnings.len() < limits::WARNED {
            self.warnings.push(why);
        }
    }

    fn stop(&mut self, why: String) -> StackStop {
        self.warn(why);
        StackStop
    }

    /// Everything up to this place of the current source has been read.
    fn read_to(&mut self, at: usize) {
        if let Some(source) = self.sources.last_mut() {
            source.at = at;
        }
    }

    /// The next brace of a run that opens: two open a frame, and the last one with the mark behind the run.
    fn open(&mut self, at: usize, run: BraceRun, marked: bool) {
        if run.to - at == 1 && !marked {
            self.out.push('{');
            return self.read_to(at + 1);
        }
        self.read_to(at + 2);
        self.out.push_str("{{");
        if self.frames.len() >= MOST_FRAMES {
            self.too_deep = true;
            self.ignored += 1;
            return;
        }
        let at = self.place(at);
        self.frames.push(StackFrame { kind: FrameKind::Macro, from: self.out.len(), at });
    }

    /// A place of the current source in the given text: for a text that was put back, that of the frame around it.
    fn place(&self, at: usize) -> TextOffset {
        if self.sources.len() > 1 { self.frames.last().map_or(0, |frame| frame.at) } else { at }
    }

    /// The next brace of a run that closes: two close a frame, and the first one with the mark before the run.
    fn close(&mut self, at: usize, run: BraceRun, marked: bool) -> Result<(), StackStop> {
        let in_macro = self.ignored == 0 && self.frames.last().is_some_and(|frame| matches!(frame.kind, FrameKind::Macro));
        if in_macro && marked && self.out.as_bytes().last().copied() == self.host.mark() {
            self.read_to(at + 1);
            self.out.pop();
            return self.end_inline();
        }
        if run.to - at > 1 && in_macro {
            self.read_to(at + 2);
            return self.end_tag();
        }
        let ignored = run.to - at > 1 && self.ignored > 0;
        self.ignored -= usize::from(ignored);
        self.out.push_str(if ignored { "}}" } else { "}" });
        self.read_to(at + if ignored { 2 } else { 1 });
        Ok(())
    }

    /// Counts a macro, and what it gave: so many bytes, and the work of its functions.
    fn step(&mut self, gave: usize) -> Result<(), StackStop> {
        let steps = self.host.take_steps().saturating_add(gave / BYTES_PER_STEP).saturating_add(1);
        self.count(steps)
    }

    /// Counts the bytes of a tag before it is read. A macro that is unknown stays, and each frame around it reads it again.
    fn read(&mut self, from: usize) -> Result<(), StackStop> {
        let steps = self.out.len().saturating_sub(from) / BYTES_PER_STEP;
        if steps > 0 { self.count(steps) } else { Ok(()) }
    }

    fn count(&mut self, steps: usize) -> Result<(), StackStop> {
        self.steps.count(steps as u64).map_err(|bound| {
            let most = self.limits.steps;
            self.stop(bound.message(|| {
                format!(
                    "the macros of the text take more than {most} steps (a step is a macro, or {BYTES_PER_STEP} bytes that one holds or \
                     gives); the text is left as it was"
                )
            }))
        })
    }

    /// `#}`: a block in one tag.
    fn end_inline(&mut self) -> Result<(), StackStop> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        self.read(frame.from)?;
        let closed = self.host.inline(self.out.get(frame.from..).unwrap_or_default());
        let from = frame.from.saturating_sub(2);
        self.step(closed.as_ref().map_or(0, BlockResult::bytes))?;
        match closed {
            Some(BlockResult::Text(value)) => {
                self.out.truncate(from);
                self.out.push_str(&value);
            }
            Some(BlockResult::Again(value)) => {
                self.out.truncate(from);
                self.again(value)?;
            }
            failed => {
                let mark = self.host.mark().map_or('#', char::from);
                // as many bytes as the braces that stand there, so nothing behind them moves
                self.out.replace_range(from..frame.from, &format!("{{{mark}"));
                self.out.push(mark);
                self.out.push('}');
                if let Some(BlockResult::Failed(why)) = failed {
                    self.warn(why);
                }
            }
        }
        Ok(())
    }

    /// `}}`: a macro, or the beginning or the end of a block.
    fn end_tag(&mut self) -> Result<(), StackStop> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        self.read(frame.from)?;
        let (from, tag) = (frame.from.saturating_sub(2), self.out.get(frame.from..).unwrap_or_default());
        if tag.chars().next().is_some_and(|first| self.host.opens(first)) {
            self.begin_block(frame.from, from);
            return self.step(0);
        }
        if self.host.ends(tag) {
            match self.frames.pop() {
                Some(StackFrame { kind: FrameKind::Inner, .. }) => {
                    self.out.push_str("}}");
                    return self.step(0);
                }
                Some(StackFrame { kind: FrameKind::Block(opened, begun), from: body, .. }) => {
                    return self.end_block(&opened, &begun, body, from);
                }
                Some(outer) => self.frames.push(outer),
                None => {}
            }
        }
        if self.raw > 0 {
            self.out.push_str("}}");
            return self.step(0);
        }
        let result = self.host.call(self.out.get(frame.from..).unwrap_or_default(), frame.at);
        self.step(if let MacroResult::Text(value) = &result { value.len() } else { 0 })?;
        match result {
            MacroResult::Text(value) => {
                self.out.truncate(from);
                self.out.push_str(&value);
            }
            failed => {
                self.out.push_str("}}");
                if let MacroResult::Failed(why) = failed {
                    self.warn(why);
                }
            }
        }
        Ok(())
    }

    fn begin_block(&mut self, tag_from: usize, from: usize) {
        let at = self.place(self.sources.last().map_or(0, |source| source.at));
        if self.raw > 0 {
            self.out.push_str("}}");
            self.frames.push(StackFrame { kind: FrameKind::Inner, from: self.out.len(), at });
            return;
        }
        let tag: Box<str> = self.out.get(tag_from..).unwrap_or_default().into();
        let Some(opened) = self.host.begin(&tag) else { return self.out.push_str("}}") };
        self.out.truncate(from);
        self.raw += usize::from(opened.raw);
        self.frames.push(StackFrame { kind: FrameKind::Block(opened, tag), from, at });
    }

    /// The end of a block whose body begins at `body`; the tag that ends it begins at `tag`.
    fn end_block(&mut self, opened: &OpeningTag<H::Block>, begun: &str, body: usize, tag: usize) -> Result<(), StackStop> {
        self.raw -= usize::from(opened.raw);
        let closed = self.host.end(&opened.block, self.out.get(body..tag).unwrap_or_default());
        self.step(closed.bytes())?;
        match closed {
            BlockResult::Text(value) => {
                self.out.truncate(body);
                self.out.push_str(&value);
            }
            BlockResult::Again(value) => {
                self.out.truncate(body);
                self.again(value)?;
            }
            BlockResult::Failed(why) => {
                // the body moves
                self.step(self.out.len().saturating_sub(body))?;
                self.out.push_str("}}");
                self.out.insert_str(body, &format!("{{{{{begun}}}}}"));
                self.warn(why);
            }
        }
        Ok(())
    }

    /// Puts a text back into the input.
    fn again(&mut self, value: Arc<str>) -> Result<(), StackStop> {
        let behind = |text: &str, from: usize| text.as_bytes().get(from).copied();
        let mark = self.host.mark();
        let is_part = |byte: Option<u8>| byte.is_some() && (matches!(byte, Some(b'{' | b'}')) || byte == mark);
        let mut value = value;
        while let Some(source) = self.sources.last() {
            match behind(&source.text, source.at) {
                // its last braces and the first ones behind it may be one mark
                Some(next) if is_part(Some(next)) && is_part(value.bytes().last()) => {
                    let joined: Arc<str> = format!("{value}{}", source.text.get(source.at..).unwrap_or_default()).into();
                    self.spend(joined.len() - value.len())?;
                    value = joined;
                    self.sources.pop();
                }
                None if self.sources.len() > 1 => drop(self.sources.pop()),
                _ => break,
            }
        }
        self.spend(value.len())?;
        if !value.is_empty() {
            let braces = Arc::new(Braces::of(&value, mark));
            self.sources.push(StackSource { text: value, braces, next: 0, at: 0 });
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), StackStop> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                let most = self.limits.output;
                return Err(self.stop(format!("blocks would repeat more than {most} bytes; the text is left as it was")));
            }
        }
        Ok(())
    }

    /// At the end of the text, what is open stays as text: a block with what the host says where its tag was.
    fn close_all(&mut self) {
        let mut whole = String::with_capacity(self.out.len());
        let mut from = 0;
        // a frame begins where the one around it begins, or behind
        for frame in self.frames.drain(..) {
            whole.push_str(self.out.get(from..frame.from).unwrap_or_default());
            from = frame.from;
            let mark = match &frame.kind {
                FrameKind::Macro => None,
                FrameKind::Block(_, begun) => Some(self.host.unclosed(Some(begun))),
                FrameKind::Inner => Some(self.host.unclosed(None)),
            };
            whole.push_str(&mark.unwrap_or_default());
        }
        whole.push_str(self.out.get(from..).unwrap_or_default());
        self.out = whole;
    }
}
