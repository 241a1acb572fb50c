//! A script as the interpreter is given it: every value that the script copies or gets from a call goes through a
//! function that pays for it.
//!
//! Rhai copies a value wherever it is read, and checks sizes at some of the places only, so one cheap step may copy
//! megabytes. Therefore the text of a script is changed before it is compiled: a chain such as `a`, `a.b[i]` or
//! `f(x).y` is wrapped in what weighs its value (`payments.rs`). What is assigned to is left alone, and so is the first
//! argument of a native function, which may change it in place. No line moves; the columns of errors are moved back
//! (`moved.rs`).

use super::moved::Moved;
use super::tokens::{Kind, Lexer, Token, Unreadable};

/// A script with its payments, and where these stand.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The text to compile.
    pub(super) text: String,
    /// The number of its tokens.
    pub(super) tokens: usize,
    moved: Moved,
}

/// Words after which a name is declared or is no value.
const BEFORE_NAMES: &[&str] = &["let", "const", "as", "export", "import"];
/// Words that are no variable.
const KEYWORDS: &[&str] = &[
    "true", "false", "let", "const", "if", "else", "switch", "do", "while", "until", "loop", "for", "in", "continue", "break", "return",
    "throw", "try", "catch", "import", "export", "as", "fn", "private", "global", "_",
];
/// Functions of the language itself that copy their arguments.
const COPYING: &[&str] = &["is_def_var", "is_def_fn", "Fn", "call"];
/// The bytes of a text of the script that are paid with an operation.
const LONG: usize = 64;
/// Functions of the language itself that make a text of their argument.
const PRINTING: &[&str] = &["print", "debug"];

impl Written {
    /// Changes a script.
    ///
    /// # Errors
    /// Why it cannot be changed, and the script as it is.
    pub(super) fn new(source: &str) -> Result<Self, (Unreadable, Self)> {
        let mut lexer = Lexer::new(source);
        let read = lexer.all();
        let reader = Reader { source, tokens: &lexer.tokens, functions: Vec::new() };
        match read.and_then(|()| reader.insertions()) {
            Ok(insertions) => Ok(Self::with(source, insertions, &lexer)),
            Err(why) => Err((why, Self::with(source, Vec::new(), &lexer))),
        }
    }

    fn with(source: &str, mut insertions: Vec<(usize, usize, &str)>, lexer: &Lexer<'_>) -> Self {
        // at one place, what closes comes before what opens, and inner calls close first
        insertions.sort_by_key(|(at, order, _)| (*at, *order));
        let (text, moved) = Moved::new(source, insertions.into_iter().map(|(at, _, what)| (at, what)), &lexer.breaks);
        Self { text, tokens: lexer.tokens.len(), moved }
    }

    /// The line and column of the script as it was written.
    pub(super) fn place(&self, line: usize, column: usize) -> (usize, usize) {
        self.moved.place(line, column)
    }
}

struct Reader<'a> {
    source: &'a str,
    tokens: &'a [Token],
    /// Names of functions that the script defines, which copy their arguments, sorted.
    functions: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn word(&self, n: usize) -> &'a str {
        self.tokens.get(n).and_then(|token| self.source.get(token.at.clone())).unwrap_or_default()
    }

    fn before(&self, n: usize) -> &'a str {
        n.checked_sub(1).map_or("", |n| self.word(n))
    }

    fn is_name(&self, n: usize) -> bool {
        self.tokens.get(n).is_some_and(|token| token.kind == Kind::Word) && !KEYWORDS.contains(&self.word(n))
    }

    /// Whether the script defines a function with this name.
    fn defines(&self, name: &str) -> bool {
        self.functions.binary_search(&name).is_ok()
    }

    /// The token behind the bracket that begins at `n`.
    fn behind(&self, n: usize) -> Option<usize> {
        match self.tokens.get(n)?.kind {
            Kind::Mark(Some(close)) => Some(close + 1),
            _ => None,
        }
    }

    fn insertions(mut self) -> Result<Vec<(usize, usize, &'a str)>, Unreadable> {
        // `fn name(…)`, or `fn type.name(…)`
        let name = |n: usize| self.word(if self.word(n + 2) == "." { n + 3 } else { n + 1 });
        self.functions = (0..self.tokens.len()).filter(|n| self.word(*n) == "fn").map(name).collect();
        self.functions.sort_unstable();
        let mut out = Vec::new();
        let mut n = 0;
        // where the brackets end that are open, and whether they are those of a list or table
        let mut open: Vec<(usize, bool)> = Vec::new();
        while let Some(token) = self.tokens.get(n) {
            let word = self.word(n);
            while open.last().is_some_and(|(close, _)| *close <= n) {
                open.pop();
            }
            if word == "fn" {
                // the parameters
                n = self.skip_to_bracket(n);
                continue;
            }
            if word == "catch" {
                // what is caught is looked at first
                let body = if self.word(n + 1) == "(" { self.behind(n + 1).ok_or(Unreadable::Syntax(token.at.start))? } else { n + 1 };
                if let Some(brace) = self.tokens.get(body).filter(|_| self.word(body) == "{") {
                    let named = body > n + 1;
                    out.push((if named { brace.at.end } else { brace.at.start }, 0, if named { LOOK } else { LOOK_NAMED }));
                    if !named {
                        out.push((brace.at.end, 0, LOOK_UNNAMED));
                    }
                    if named {
                        out.push((brace.at.end, 1, self.word(n + 2)));
                        out.push((brace.at.end, 2, LOOKED));
                    }
                }
                n = body;
                continue;
            }
            if word == "for" {
                n += 1;
                while n < self.tokens.len() && self.word(n) != "in" {
                    n += 1;
                }
                continue;
            }
            if word == "|" && self.begins_value(n) {
                // the parameters of a closure
                n += 1;
                while n < self.tokens.len() && self.word(n) != "|" {
                    n += 1;
                }
                n += 1;
                continue;
            }
            if token.kind == Kind::Word && self.begins_chain(n) {
                self.chain(n, &mut out);
            } else {
                self.long(n, &open, &mut out);
            }
            if let Kind::Mark(Some(close)) = token.kind {
                open.push((close, self.begins_list(n)));
            }
            n += 1;
        }
        Ok(out)
    }

    /// The token behind the parameters of the function whose `fn` is at `n`.
    fn skip_to_bracket(&self, n: usize) -> usize {
        let open = (n..self.tokens.len()).find(|n| self.word(*n) == "(");
        open.and_then(|open| self.behind(open)).unwrap_or(self.tokens.len())
    }

    fn is_number(&self, n: usize) -> bool {
        self.word(n).starts_with(|c: char| c.is_ascii_digit())
    }

    /// Whether a bracket begins a list or table, and no place of one.
    fn begins_list(&self, n: usize) -> bool {
        self.word(n) == "#{" || (self.word(n) == "[" && self.begins_value(n))
    }

    /// Wraps a long text, list or table that stands in the script, which the interpreter may copy each time. A short one is paid
    /// with the operation, and a part of a list or table with the whole.
    fn long(&self, n: usize, open: &[(usize, bool)], out: &mut Vec<(usize, usize, &'a str)>) {
        let is_list = self.begins_list(n);
        // a text with expressions is in brackets of no width
        let last = match self.tokens.get(n) {
            Some(token) if token.kind == Kind::Literal => n,
            Some(Token { kind: Kind::Mark(Some(close)), at }) if at.is_empty() || is_list => *close,
            _ => return,
        };
        let (Some(first), Some(end)) = (self.tokens.get(n), self.tokens.get(last)) else { return };
        let is_long = end.at.end.saturating_sub(first.at.start) > LONG;
        let is_part = is_list && open.last().is_some_and(|(_, is_list)| *is_list);
        // the key of a table, and a case
        let stands = !matches!(self.word(last + 1), ":" | "=>" | "|" | "if") && !matches!(self.before(n), "import" | "|");
        // a text of a constant is not copied, and a constant outside of all functions is made once in a call
        let is_constant = self.before(n) == "="
            && self.word(last + 1) == ";"
            && n.checked_sub(3).is_some_and(|n| self.word(n) == "const")
            && (!is_list || open.is_empty());
        if is_long && !is_part && stands && !is_constant {
            out.push((first.at.start, usize::MAX, WRITTEN_OPEN));
            out.push((end.at.end, usize::MAX / 2 - n, ")"));
        }
    }

    /// Pays for what is put in the place of a letter, or taken out of a text, by the operator at `n` behind the chain at `start`,
    /// and notes what is added to a text.
    fn assigned(&self, start: usize, brackets: &[(usize, usize)], n: usize, out: &mut Vec<(usize, usize, &'a str)>) {
        let ends = |n: usize| matches!(self.word(n), ";" | "}" | ")" | "]" | "," | "");
        let (opening, variable) = match self.word(n) {
            // a number is taken out of numbers only
            "-=" if !(self.is_number(n + 1) && ends(n + 2)) => (LESSENED_OPEN, n == start + 1),
            // a number that is added to a text is paid by a function, and so is the length of a variable where it is used
            "+=" if !(self.is_number(n + 1) && ends(n + 2)) && (n > start + 1 || self.word(start) == "this") => {
                let Some(operator) = self.tokens.get(n) else { return };
                let opened = match self.place(start, n) {
                    Some(place) => [GROWN_OPEN, place, ") "],
                    None if matches!(self.word(start + 1), "." | "?." | "[" | "?[") => [GROWN_INSIDE, self.word(start), "]) "],
                    None => [GROWN_OPEN, NO_VARIABLE, ") "],
                };
                out.extend((0..).zip(opened).map(|(order, what)| (operator.at.end, order, what)));
                return;
            }
            "=" if brackets.last().is_some_and(|(_, close)| close + 1 == n) => {
                (LETTER_OPEN, brackets.first().is_some_and(|(open, close)| *open == start + 1 && close + 1 == n))
            }
            _ => return,
        };
        let Some(operator) = self.tokens.get(n) else { return };
        let variable = if variable { self.word(start) } else { NO_VARIABLE };
        // before what opens the value
        out.extend([(0, opening), (1, variable), (2, ") ")].map(|(order, what)| (operator.at.end, order, what)));
    }

    /// A chain of names and simple places up to the token `end`, as it is written; `None`: to find what it means takes more
    /// than a look.
    fn place(&self, start: usize, end: usize) -> Option<&'a str> {
        let mut n = start + 1;
        while n < end {
            match self.word(n) {
                "." => n += 2,
                "[" if self.behind(n) == Some(n + 3) => n += 3,
                _ => return None,
            }
        }
        let (first, last) = (self.tokens.get(start)?, self.tokens.get(end.checked_sub(1)?)?);
        let place = self.source.get(first.at.start..last.at.end)?;
        // no line and no column moves
        let is_short = place.len() <= LONG && place.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        (n == end && is_short).then_some(place)
    }

    /// Whether a value begins at a token, and no operator stands there.
    fn begins_value(&self, n: usize) -> bool {
        let Some(before) = n.checked_sub(1).and_then(|n| self.tokens.get(n)) else { return true };
        match before.kind {
            Kind::Literal => false,
            Kind::Word => KEYWORDS.contains(&self.before(n)) && !matches!(self.before(n), "true" | "false"),
            // an interpolated text ends with a bracket of no width
            Kind::Mark(_) => !matches!(self.before(n), ")" | "]" | "}" | ""),
        }
    }

    fn begins_chain(&self, n: usize) -> bool {
        let (before, next) = (self.before(n), self.word(n + 1));
        (self.is_name(n) || self.word(n) == "global" && next == "::")
            && !matches!(before, "." | "?." | "::")
            && !BEFORE_NAMES.contains(&before)
            // the key of a table
            && next != ":"
    }

    /// Wraps the chain that begins at a name.
    fn chain(&self, start: usize, out: &mut Vec<(usize, usize, &'a str)>) {
        let mut n = start + 1;
        let mut places = Vec::new();
        loop {
            match self.word(n) {
                "::" | "." | "?." => n += 2,
                "!" if self.word(n + 1) == "(" => n += 1,
                open @ ("(" | "[" | "?[") => match self.behind(n) {
                    Some(behind) => {
                        if open != "(" {
                            places.push((n, behind - 1));
                        }
                        n = behind;
                    }
                    None => return,
                },
                _ => break,
            }
        }
        self.places(start, &places, out);
        let next = self.word(n);
        self.assigned(start, &places, n, out);
        let assigned = matches!(next, "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "**=" | "<<=" | ">>=" | "&=" | "|=" | "^=");
        if assigned || (n == start + 1 && self.is_receiver(start)) {
            return;
        }
        let (Some(first), Some(last)) = (self.tokens.get(start), n.checked_sub(1).and_then(|n| self.tokens.get(n))) else { return };
        let opening = match n - start {
            1 => COPY_OPEN,
            7 if self.is_length(start) => LENGTH_OPEN,
            _ => MADE_OPEN,
        };
        // of two calls that begin at one place there are none; of those that end at one place, the later one is inside
        out.push((first.at.start, usize::MAX, opening));
        out.push((last.at.end, usize::MAX / 2 - start, ")"));
    }

    /// Wraps what stands in the brackets of a chain, and names the variable in front of it.
    fn places(&self, start: usize, brackets: &[(usize, usize)], out: &mut Vec<(usize, usize, &'a str)>) {
        for (open, close) in brackets {
            let variable = if *open == start + 1 { self.word(start) } else { NO_VARIABLE };
            let (Some(open), Some(close)) = (self.tokens.get(*open), self.tokens.get(*close)) else { continue };
            out.push((open.at.end, usize::MAX - 1, PLACE_OPEN));
            // behind what closes inside of the brackets
            out.extend([", ", variable, ")"].map(|what| (close.at.start, usize::MAX / 2 - start, what)));
        }
    }

    /// Whether a chain of seven tokens is `a.b.len()`, and `len` not a function of the script.
    fn is_length(&self, start: usize) -> bool {
        let words = [".", "len", "(", ")"];
        let is_called = words.iter().zip(start + 3..).all(|(word, n)| self.word(n) == *word);
        self.word(start + 1) == "." && is_called && !self.defines("len")
    }

    /// Whether a name is the first argument of a native function, which may change the variable in place.
    fn is_receiver(&self, n: usize) -> bool {
        if self.before(n) != "(" || !matches!(self.word(n + 1), "," | ")") {
            return false;
        }
        let Some(called) = n.checked_sub(2).filter(|called| self.tokens.get(*called).is_some_and(|token| token.kind == Kind::Word)) else {
            return false;
        };
        let (name, before) = (self.word(called), self.before(called));
        let is_call = self.is_name(called) && !matches!(before, "." | "?." | "::");
        is_call && !self.defines(name) && !PRINTING.contains(&name) && !COPYING.contains(&name)
    }
}

const LOOK_NAMED: &str = "(__error) ";
const LOOK_UNNAMED: &str = " __caught(__error); ";
const LOOK: &str = " __caught(";
const LOOKED: &str = "); ";
const COPY_OPEN: &str = "__copied(";
const MADE_OPEN: &str = "__made(";
const LENGTH_OPEN: &str = "__length(";
const PLACE_OPEN: &str = "__place(";
const LETTER_OPEN: &str = " __letter(";
const LESSENED_OPEN: &str = " __lessened(";
const WRITTEN_OPEN: &str = "__written(";
const GROWN_OPEN: &str = " __grown(";
/// Stands in front of the variable in which the text is somewhere.
const GROWN_INSIDE: &str = " __grown([";
/// Stands for a variable where there is none.
const NO_VARIABLE: &str = "()";

#[cfg(test)]
mod tests {
    use super::Written;

    fn changed(source: &str) -> String {
        Written::new(source)
            .map(|written| written.text.replace("__copied", "C").replace("__made", "M").replace("__length", "L").replace("__place", "P"))
            .unwrap_or_default()
    }

    #[test]
    fn values_are_wrapped_and_places_are_not() {
        for (source, expected) in [
            ("let a = b;", "let a = C(b);"),
            ("a = b; a.x[i] += c.d;", "a = C(b); a.x[P(C(i), ())] += __grown(a.x[i])  M(c.d);"),
            ("a += b; this += b; a.b+=c; a.b += 1", "a += C(b); this += __grown(this)  C(b); a.b+= __grown(a.b) C(c); a.b += 1"),
            (
                "a[0].b[c] += d; a[b + 1].c += d; a?.b += 'c'; f(a).b += 1 + c",
                "a[P(0, a)].b[P(C(c), ())] += __grown(a[0].b[c])  C(d); a[P(C(b) + 1, a)].c += __grown([a])  C(d); \
                 a?.b += __grown([a])  'c'; f(a).b += __grown(())  1 + C(c)",
            ),
            ("a.push(b); push(a, b); mine(a); fn mine(a) { a }", "M(a.push(C(b))); M(push(a, C(b))); M(mine(C(a))); fn mine(a) { C(a) }"),
            ("a.map(|x, y| x + y) || b", "M(a.map(|x, y| C(x) + C(y))) || C(b)"),
            ("for (x, i) in a { i }", "for (x, i) in C(a) { C(i) }"),
            ("#{ a: b, \"c\": d }", "#{ a: C(b), \"c\": C(d) }"),
            ("`x ${a + `y ${b}`} z` + c", "`x ${C(a) + `y ${C(b)}`} z` + C(c)"),
            ("try { a } catch (e) { throw e; }", "try { C(a) } catch (e) { __caught(e);  throw C(e); }"),
            ("switch a { 1 => b, 2 | 3 => d, _ if e > f => () }", "switch C(a) { 1 => C(b), 2 | 3 => C(d), _ if C(e) > C(f) => () }"),
            ("import \"m\" as m; m::f(a).b ?? this.c", "import \"m\" as m; M(m::f(C(a)).b) ?? M(this.c)"),
            ("1..n; 1.5 + 2.len(); x?.y?[z]", "1..C(n); 1.5 + 2.len(); M(x?.y?[P(C(z), ())])"),
            ("/* a /* b */ */ \"a \\\" b\" // c\n#\"r\"#", "/* a /* b */ */ \"a \\\" b\" // c\n#\"r\"#"),
            ("if !a && -b < c { return d; }", "if !C(a) && -C(b) < C(c) { return C(d); }"),
            ("f = f.own(f)", "f = M(f.own(C(f)))"),
            ("a.b().c.d(e)", "M(a.b().c.d(C(e)))"),
            ("a.b.len() + a.len + a.len().b + a.b.len()[c]", "L(a.b.len()) + M(a.len) + M(a.len().b) + M(a.b.len()[P(C(c), ())])"),
            ("a.b.len(c) + a::b.len() + a.b.c.len() + a.b().len()", "M(a.b.len(C(c))) + M(a::b.len()) + M(a.b.c.len()) + M(a.b().len())"),
            ("fn string.len() { 1 } a.b.len()", "fn string.len() { 1 } M(a.b.len())"),
            // a backslash of a text in back-ticks stands for itself, but in front of an expression
            ("`\\` + a + `\\\\` + `\\${a}` + `\\\\${a}`", "`\\` + C(a) + `\\\\` + `\\${a}` + `\\\\${a}`"),
            ("`\\$${a}`", "`\\$${C(a)}`"),
            ("// b\r a", "// b\r C(a)"),
            ("is_empty(a) + Fn(a) + is_def_var(a) + type_of(a)", "M(is_empty(a)) + M(Fn(C(a))) + M(is_def_var(C(a))) + M(type_of(a))"),
            (
                "a[b[c]][0] = d[1..e]; this[f]",
                "a[P(M(b[P(C(c), b)]), a)][P(0, ())] = __letter(())  M(d[P(1..C(e), d)]); M(this[P(C(f), this)])",
            ),
            ("a[0] = b; a.c[0]='d'; a[0].b = c", "a[P(0, a)] = __letter(a)  C(b); a.c[P(0, ())]= __letter(()) 'd'; a[P(0, a)].b = C(c)"),
            (
                "a -= b; a.b-='c'; a -= 1; a -= 1 + b",
                "a -= __lessened(a)  C(b); a.b-= __lessened(()) 'c'; a -= 1; a -= __lessened(a)  1 + C(b)",
            ),
            // a native function takes its first argument as it stands; one of the script is given a copy
            ("f(a)[b]", "M(f(a)[P(C(b), ())])"),
            ("fn f(a) { } f(a)[b]", "fn f(a) { } M(f(C(a))[P(C(b), ())])"),
            ("fn len() { this } a.b.len()", "fn len() { C(this) } M(a.b.len())"),
        ] {
            assert_eq!(changed(source), expected, "{source}");
        }
    }

    #[test]
    fn long_values_are_wrapped_where_they_stand() {
        let long = "x".repeat(70);
        for (source, expected) in [
            ("a([\"L\"]); [[1, `L`], b][0]", "M(a(W([W(\"L\")]))); W([[1, W(`L`)], C(b)])[0]"),
            ("const A = [\"L\"]; { const A = #{ a: \"L\" }; }", "const A = [W(\"L\")]; { const A = W(#{ a: W(\"L\") }); }"),
            ("let a = \"L\" + `L`;", "let a = W(\"L\") + W(`L`);"),
            ("f(`L${a}`, \"short\")", "M(f(W(`L${C(a)}`), \"short\"))"),
            ("const A = \"L\"; #{ \"L\": 1 }", "const A = \"L\"; W(#{ \"L\": 1 })"),
            ("switch a { \"L\" | \"L\" => \"L\", \"L\" if b => 1 }", "switch C(a) { \"L\" | \"L\" => W(\"L\"), \"L\" if C(b) => 1 }"),
            ("\"L\".len(); a[\"L\"]+=`L`;", "W(\"L\").len(); a[P(W(\"L\"), a)]+= __grown([a]) W(`L`);"),
        ] {
            let text = changed(&source.replace('L', &long)).replace("__written", "W");
            assert_eq!(text.replace(&long, "L"), expected, "{source}");
        }
    }

    #[test]
    fn columns_are_those_of_the_script() {
        let source = "let a = 1;\nlet b = a + oops;";
        let written = Written::new(source).unwrap_or_default();
        let line = written.text.lines().nth(1).unwrap_or_default();
        let column = line.find("oops").map_or(0, |at| at + 1);
        assert!(column > 13, "{line}");
        assert_eq!(written.place(2, column), (2, 13));
        assert_eq!(written.place(2, 5), (2, 5));
    }
}
