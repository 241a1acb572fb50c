//! Advice for template authors: parts of a template that have no effect, or that can only give nothing.
//!
//! All of them compile and render as written, but are probably not what the author intended.

use std::collections::HashSet;
use std::sync::Arc;

use super::revision::{Revision, Revisions};
use super::walk::{PartKind, PartPlace, SourceUse, in_order, walk};
use super::{contradictions, parts, revision, shape};
use crate::diag::{Code, Diagnostic, DocumentNode, FieldMap, Help, NodeValue, Report, Severity, Span, limits, short, suggest};
use crate::text::leaf::LeafSyntax;

/// The description of one source of a task.
#[derive(Debug, Clone)]
pub struct SourceOffer<'a> {
    /// Its name in templates.
    pub name: &'a str,
    /// The arguments that it takes.
    pub args: Vec<&'a str>,
    /// Whether it returns a list; `None` if the pack does not say.
    pub is_list: Option<bool>,
}

impl<'a> SourceOffer<'a> {
    /// Reads the description from the fields of the source's row: `args`, `gives`, `list`.
    #[must_use]
    pub fn of(name: &'a str, fields: &'a FieldMap) -> Self {
        let field = |key: &str| fields.get(key).map(|field| &field.node);
        let args = field("args").and_then(DocumentNode::as_table).into_iter().flatten().map(|(name, _)| &**name);
        let is_list = match field("gives").map(|gives| &gives.data) {
            _ if field("list").is_some() => Some(true),
            Some(NodeValue::List(_)) => Some(true),
            Some(NodeValue::Table(_)) => Some(false),
            Some(NodeValue::Text(word)) if &**word != "any" => Some(&**word == "list"),
            _ => None,
        };
        Self { name, args: args.collect(), is_list }
    }
}

/// Warnings about a file of a revision that has passed its schema. `offers` are the sources of its task; `None` if they
/// are not known. `revisions` are those that the file could be written in.
#[must_use]
pub fn advice(root: &DocumentNode, revision: &Revision, revisions: &Revisions, offers: Option<&[SourceOffer<'_>]>) -> Report {
    let mut advice = TemplateAdvice { revision, revisions, offers, asked: HashSet::new(), said: Vec::new() };
    advice.unknown_keys(root, "", &shape::file_keys(revision), &|other| shape::file_keys(other));
    walk(root, revision, &mut |sort, node, at| advice.part(sort, node, at));
    advice.unplaced(root);
    advice.unused(root);
    check_ceilings(root, revision, &mut advice.said);
    let mut report = Report::default();
    advice.said.into_iter().take(limits::REPORTED).for_each(|remark| report.push(remark));
    report
}

struct TemplateAdvice<'a> {
    revision: &'a Revision,
    revisions: &'a Revisions,
    offers: Option<&'a [SourceOffer<'a>]>,
    /// The sources that the template asks for.
    asked: HashSet<Arc<str>>,
    said: Vec<Diagnostic>,
}

impl TemplateAdvice<'_> {
    fn say(&mut self, code: Code, span: Span, message: String, help: impl Into<Help>) {
        if self.said.len() <= limits::REPORTED {
            let mut remark = Diagnostic::new(code, message).at(span).help(help);
            remark.severity = Severity::Warning;
            self.said.push(remark);
        }
    }

    fn part(&mut self, sort: PartKind, node: &DocumentNode, at: &PartPlace) {
        if self.said.len() > limits::REPORTED {
            return;
        }
        if sort == PartKind::Rule {
            // the pack checks these with its rules
            let offered = |name: &Arc<str>| self.offers.unwrap_or(&[]).iter().any(|offer| offer.name == &**name);
            let names: Vec<Arc<str>> = parts::condition_names(node).into_iter().filter(offered).collect();
            self.asked.extend(names);
            return;
        }
        let revision = self.revision;
        self.unknown_keys(node, &at.path, &shape::part_keys(sort, node, revision), &|other| shape::part_keys(sort, node, other));
        for (key, known) in revision::INNER {
            if let Some(inner) = node.get(key).filter(|_| shape::part_keys(sort, node, revision).contains(&key)) {
                self.unknown_keys(inner, &at.key(key), known, &|_| known.to_vec());
            }
        }
        match sort {
            PartKind::LayoutMessage | PartKind::Frame | PartKind::Message => self.block(node, at),
            PartKind::Each => self.each(node, at),
            PartKind::Condition => self.condition(node, at),
            PartKind::Ref(used) => self.reference(node, used, at),
            _ => {}
        }
    }

    /// Keys that are ignored. `known_in` gives the keys of the same part in another revision.
    fn unknown_keys(&mut self, node: &DocumentNode, path: &str, known: &[&str], known_in: &dyn Fn(&Revision) -> Vec<&'static str>) {
        let unknown = node.as_table().into_iter().flatten().filter(|(key, _)| !known.contains(&&***key));
        for (key, field) in unknown.take(limits::REPORTED) {
            let place = if path.is_empty() { String::new() } else { format!(" in `{path}`") };
            let other = self.revisions.all().find(|other| known_in(other).contains(&&**key));
            let help = match other {
                Some(other) => {
                    format!("only revision `{}` knows it, and this template is of revision `{}`", other.name, self.revision.name).into()
                }
                None => suggest::help(key, known.iter().copied()).unwrap_or_else(|| "take it away".into()),
            };
            let message = format!("unknown key `{}`{place}, which is dropped", short::word(key));
            self.say(Code::SchemaUnknownKey, field.key, message, help);
        }
    }

    /// Keys of a message block that have no effect.
    fn block(&mut self, node: &DocumentNode, at: &PartPlace) {
        let unused = |advice: &mut Self, key: &str, why: &str, help: &str| {
            if let Some(field) = node.as_table().and_then(|table| table.get(key)) {
                advice.say(Code::TemplateUnused, field.key, format!("`{}` has no effect: {why}", at.key(key)), help.to_owned());
            }
        };
        let content = node.get("content").and_then(DocumentNode::as_text);
        let from = node.get("from").is_some();
        if from {
            unused(self, "content", "the text comes from `from`, also where that gives nothing", "keep one of the two");
        } else if content.is_none_or(str::is_empty) {
            let message = format!("`{}` gives no message: it has neither text nor `from`", at.path);
            self.say(Code::TemplateUnused, node.span, message, "write `content` or `from`, or take it away".to_owned());
        }
        if let Some(content) = node.get("content").filter(|_| !from) {
            self.literal(content, &at.key("content"));
        }
        if !self.revision.knows_flags {
            return;
        }
        let is = |key: &str, value: bool| node.get(key).and_then(DocumentNode::as_bool) == Some(value);
        if is("prefix", false) {
            unused(self, "prefix", "no message has a prefix unless it says so", "take it away");
        }
        if is("skipIfEmptyInterpolation", true) {
            let has_tags = content.is_some_and(|text| parts::leaf(text, self.revision).has_tags());
            if from || !has_tags {
                let why = if from { "a text of `from` has no tags" } else { "the text has no tags" };
                unused(self, "skipIfEmptyInterpolation", why, "take it away");
            }
        }
    }

    /// A text that seems to have tags but is sent with its braces, or one with block tags where there are none.
    fn literal(&mut self, content: &DocumentNode, path: &str) {
        let text = content.as_text().filter(|text| text.contains("{{")).unwrap_or("");
        if text.contains("{{#") && self.revision.leaf == LeafSyntax::Paths {
            let message = format!("`{path}` has a block, `{{{{#…}}}}`, which revision `{}` reads as a path", self.revision.name);
            let other = self.revisions.all().find(|other| other.leaf == LeafSyntax::Expressions);
            let help = other.map(|other| format!("say `revision = \"{}\"`, or use a node of kind `if`", other.name));
            self.say(Code::TemplateDoubtful, content.span, message, help.unwrap_or_else(|| "use a node of kind `if`".to_owned()));
        } else if let Some(place) = parts::leaf(text, self.revision).broken() {
            let rest = text.get(place..).unwrap_or_default();
            let tag = short::word(rest.split_inclusive('}').next().unwrap_or(rest).trim_end_matches('}').trim_end());
            let (sent, help) = match self.revision.leaf {
                LeafSyntax::Paths => ("is sent with its braces: it is no tag", "write `{{path}}`"),
                LeafSyntax::Expressions => {
                    ("cannot be read, and the whole text is sent with its braces", "write `{{ expression }}`, or close its block")
                }
            };
            self.say(Code::TemplateDoubtful, content.span, format!("`{tag}` in `{path}` {sent}"), help.to_owned());
        }
    }

    fn each(&mut self, node: &DocumentNode, at: &PartPlace) {
        if let Some(text) = node.get("interleave").and_then(|between| between.get("text")) {
            self.literal(text, &at.key("interleave.text"));
        }
        if self.revision.knows_flags
            && let Some(between) = node.get("interleave")
            && between.get("text").and_then(DocumentNode::as_text).is_none_or(str::is_empty)
        {
            let message = format!("`{}` has no effect: it has no text", at.key("interleave"));
            self.say(Code::TemplateUnused, between.span, message, "write its `text`, or take it away".to_owned());
        }
    }

    /// Conditions that can never hold.
    fn condition(&mut self, node: &DocumentNode, at: &PartPlace) {
        let test = node.get("type").and_then(DocumentNode::as_text).unwrap_or("");
        let value = node.get("value");
        let span = value.map_or(node.span, |value| value.span);
        match (test, value.map(|value| &value.data)) {
            ("gt" | "lt", Some(NodeValue::Int(_) | NodeValue::Float(_))) | ("eq" | "neq", Some(_)) | ("exists" | "nonEmpty", _) => {}
            ("gt" | "lt", found) => {
                let what = if found.is_some() { "what is no number" } else { "nothing" };
                let message = format!("`{}` never holds: `{test}` compares with {what}", at.path);
                self.say(Code::TemplateDoubtful, span, message, "write a number as `value`".to_owned());
            }
            (_, None) => {
                let always = if test == "neq" { "wherever there is a value" } else { "only where there is none" };
                let message = format!("`{}` compares with nothing, so it holds {always}", at.path);
                self.say(Code::TemplateDoubtful, span, message, "write the `value`, or use `exists`".to_owned());
            }
            _ => {}
        }
    }

    fn reference(&mut self, node: &DocumentNode, used: SourceUse, at: &PartPlace) {
        let Some((name, span)) = node.get("source").and_then(|source| Some((source.as_text()?, source.span))) else { return };
        self.asked.insert(Arc::from(name));
        self.in_loops(name, node, span, at);
        let offers = self.offers.unwrap_or(&[]);
        let offer = reserved(name, node).or_else(|| offers.iter().find(|offer| offer.name == name).cloned());
        let Some(offer) = offer else {
            // in other places the source lint has reported it as an error
            if used == SourceUse::WhenList && self.offers.is_some() {
                let names: Vec<&str> = offers.iter().map(|offer| offer.name).collect();
                let message = format!("`{}` asks for `{}`, a source that the task does not offer", at.path, short::word(name));
                self.say(Code::TemplateDoubtful, span, message, contradictions::remedy(&[name], &names));
            }
            return;
        };
        if used == SourceUse::Items && offer.is_list == Some(false) {
            let message = format!("the loop at `{}` gives nothing: `{name}` is no list", at.path);
            self.say(Code::TemplateDoubtful, span, message, "loop over a source that gives a list".to_owned());
        }
        self.args(&offer, node, at);
    }

    /// Arguments that the source does not take.
    fn args(&mut self, offer: &SourceOffer<'_>, node: &DocumentNode, at: &PartPlace) {
        let Some(args) = node.get("args").filter(|args| args.data != NodeValue::Null) else { return };
        let Some(table) = args.as_table() else {
            let message = format!("`{}` has no effect: `{}` is asked with a table of arguments", at.key("args"), offer.name);
            self.say(Code::TemplateUnused, args.span, message, "write a table, or take it away".to_owned());
            return;
        };
        for (key, field) in table.iter().filter(|(key, _)| !offer.args.contains(&&***key)) {
            let message =
                format!("`{}` has no effect: `{}` takes no such argument", at.key(&format!("args.{}", short::word(key))), offer.name);
            let help = suggest::help(key, offer.args.iter().copied()).unwrap_or_else(|| "take it away".into());
            self.say(Code::TemplateUnused, field.key, message, help);
        }
    }

    /// Reserved names outside of a loop, or of an outer loop that does not exist.
    fn in_loops(&mut self, name: &str, node: &DocumentNode, span: Span, at: &PartPlace) {
        let level = node.get("args").and_then(|args| parts::whole(args, "level").ok().flatten()).unwrap_or(1).max(1);
        let needed = match name {
            "$item" | "$index" => 1,
            "$parent" => level.saturating_add(1),
            _ => return,
        };
        if needed <= at.loops as u64 {
            return;
        }
        let message = match at.loops {
            0 => format!("`{}` asks for `{name}` outside of any loop, where it is never there", at.path),
            loops => format!("`{}` asks for the item {level} loops further out, but stands in {loops} in all", at.path),
        };
        self.say(Code::TemplateDoubtful, span, message, "use it in the `map` of a loop".to_owned());
    }

    /// Slots that no node of the layout places.
    fn unplaced(&mut self, root: &DocumentNode) {
        // a layout that is no list is a mistake of its own
        let Some(layout) = root.get("layout").and_then(DocumentNode::as_list) else { return };
        let slot = |node: &&DocumentNode| node.get("kind").and_then(DocumentNode::as_text) == Some("slot");
        let placed: HashSet<&str> = layout.iter().filter(slot).filter_map(|node| node.get("name")?.as_text()).collect();
        for (name, field) in root.get("slots").and_then(DocumentNode::as_table).into_iter().flatten() {
            if !placed.contains(&**name) {
                let name = short::word(name);
                let message = format!("slot `{name}` is placed nowhere: it runs and spends its budget, but is not sent");
                self.say(
                    Code::TemplateUnused,
                    field.key,
                    message,
                    format!("add a node of `kind` `slot` and `name` `{name}` to the layout"),
                );
            }
        }
    }

    /// Sources of the task that the template never asks for.
    fn unused(&mut self, root: &DocumentNode) {
        let offers = self.offers.unwrap_or(&[]);
        let names: Vec<&str> = offers.iter().map(|offer| offer.name).collect();
        if self.asked.iter().any(|name| !contradictions::is_known(name, &names)) {
            // the missing source may be the misspelt one
            return;
        }
        let unused: Vec<String> =
            offers.iter().filter(|offer| !self.asked.contains(offer.name)).map(|offer| format!("`{}`", offer.name)).collect();
        if let (Some(task), false) = (root.get("task"), unused.is_empty()) {
            let message = format!("sources of the task are never asked for: {}", unused.join(", "));
            self.say(Code::TemplateUnused, task.span, message, "is one of them missing from the prompt?".to_owned());
        }
    }
}

/// What is known of a reserved source in the form in which it is requested.
fn reserved(name: &str, node: &DocumentNode) -> Option<SourceOffer<'static>> {
    let path = node.get("args").and_then(|args| args.get("path")).and_then(DocumentNode::as_text);
    // without a path these return the whole table
    let whole = path.is_none().then_some(false);
    let (name, args, is_list) = match name {
        "$item" => ("$item", vec!["path"], None),
        "$index" => ("$index", vec![], Some(false)),
        "$parent" => ("$parent", vec!["level", "path"], None),
        "$globals" => ("$globals", vec!["path"], whole),
        "$ctx" => ("$ctx", vec!["path"], whole),
        _ => return None,
    };
    Some(SourceOffer { name, args, is_list })
}

/// A ceiling that applies at the current part, and the place where it is written.
type InheritedCeiling = Option<(u64, String)>;

/// Reports ceilings that nothing fits under, and ceilings that never limit anything.
fn check_ceilings(root: &DocumentNode, revision: &Revision, said: &mut Vec<Diagnostic>) {
    let mut ceilings = CeilingCheck { revision, said };
    let slots = root.get("slots").and_then(DocumentNode::as_table).map(in_order).unwrap_or_default();
    for (name, slot) in slots {
        ceilings.part(slot, &format!("slots.{name}"), &None, 0);
    }
}

struct CeilingCheck<'a> {
    revision: &'a Revision,
    said: &'a mut Vec<Diagnostic>,
}

impl CeilingCheck<'_> {
    /// The least cost of the smallest message of a part by the default estimate; `None` if it has no message.
    fn part(&mut self, node: &DocumentNode, path: &str, above: &InheritedCeiling, depth: usize) -> Option<u64> {
        if depth > limits::NESTING {
            return Some(0);
        }
        let kind = node.get("kind").and_then(DocumentNode::as_text);
        // a branch has no ceiling of its own
        let own = if kind == Some("if") { None } else { parts::budget(node).ok().flatten() };
        let here = match (own, above) {
            (Some(own), Some((most, place))) if own > *most => {
                self.useless(node, own, *most, path, place);
                above.clone()
            }
            (Some(own), _) => Some((own, path.to_owned())),
            (None, _) => above.clone(),
        };
        let least = self.least(node, kind, path, &here, depth);
        if let (Some(own), Some(least)) = (own, least)
            && least > own
        {
            self.never(node, own, least, path);
        }
        least
    }

    fn least(&mut self, node: &DocumentNode, kind: Option<&str>, path: &str, here: &InheritedCeiling, depth: usize) -> Option<u64> {
        let mut lists = |keys: &[&str]| {
            let mut least = None;
            for key in keys {
                for (n, inner) in node.get(key).and_then(DocumentNode::as_list).unwrap_or(&[]).iter().enumerate() {
                    least = smaller(least, self.part(inner, &format!("{path}.{key}.{n}"), here, depth + 1));
                }
            }
            least
        };
        match kind {
            None => lists(&["plan"]),
            Some("if") => lists(&["then", "else"]),
            Some("forEach") => {
                let least = lists(&["map"]);
                smaller(least, node.get("interleave").and_then(|between| self.text(between, "text")))
            }
            Some("message") if node.get("from").is_some() => Some(0),
            Some("message") => self.text(node, "content"),
            _ => None,
        }
    }

    /// The least cost of a text that is not left out: the cost of the text outside of its tags.
    fn text(&self, node: &DocumentNode, key: &str) -> Option<u64> {
        let text = node.get(key).and_then(DocumentNode::as_text).filter(|text| !text.is_empty())?;
        let units = parts::leaf(text, self.revision).parts().map_or(0, |(units, _)| units);
        Some((units as u64).div_ceil(4))
    }

    fn never(&mut self, node: &DocumentNode, own: u64, least: u64, path: &str) {
        let span = node.get("budget").map_or(node.span, |budget| budget.span);
        let message = format!("no message fits under the budget of `{path}`: it is {own}, and the smallest costs {least} or more");
        let remark = Diagnostic::new(Code::TemplateBudget, message).at(span);
        self.said.push(remark.help(format!("raise `maxTokens` to {least} at least, or shorten the text")));
    }

    fn useless(&mut self, node: &DocumentNode, own: u64, most: u64, path: &str, place: &str) {
        let span = node.get("budget").map_or(node.span, |budget| budget.span);
        let message = format!("the budget of `{path}`, {own}, never binds: that of `{place}` is {most}");
        self.said.push(Diagnostic::new(Code::TemplateBudget, message).at(span).help("make it smaller, or take it away"));
    }
}

fn smaller(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
