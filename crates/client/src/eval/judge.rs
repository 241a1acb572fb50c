//! What a reply must be like, and whether it is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::EvalMode;

/// One check of a reply. It says one thing: one of the keys from `contains` to `max_chars` stands in it.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyCheck {
    /// The text contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The text matches this regular expression. One with look-arounds or back references matches no text of more than
    /// 10,000 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The text is JSON, and this JSON Pointer leads to something in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// With `json`: what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Json>,
    /// A call of this tool was carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// With `tool`: it had these arguments, and perhaps others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Json>>,
    /// A directive of this type was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<String>,
    /// With `directive`: its payload had these fields, and perhaps others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Json>>,
    /// The replies have at most so many tokens, as the provider counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The text has at most so many characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// The opposite must hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not: bool,
    /// The modes that it is made in; without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<Vec<EvalMode>>,
}

/// A call that was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The name of the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Json,
    /// Whether it was carried out and gave a result.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A directive that was given.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectiveRecord {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its payload.
    pub payload: Json,
}

/// What is judged.
pub(super) struct ReplyFacts<'a> {
    pub(super) text: &'a str,
    pub(super) calls: &'a [CallRecord],
    pub(super) directives: &'a [DirectiveRecord],
    pub(super) output_tokens: Option<u64>,
}

/// The longest reply that a pattern with look-arounds or back references is looked for in, in bytes: the engine bounds its
/// attempts, and not what each of them reads.
const LONGEST_BACKTRACKED: usize = 10_000;

/// A pattern, by the engine that reads a text once where that can match it.
enum CheckPattern {
    Linear(regex::Regex),
    Backtracking(fancy_regex::Regex),
}

impl CheckPattern {
    fn of(source: &str) -> Result<Self, String> {
        let backtracking = || fancy_regex::RegexBuilder::new(source).backtrack_limit(10_000).build().map(Self::Backtracking);
        let made = regex::Regex::new(source).map(Self::Linear).or_else(|_| backtracking());
        made.map_err(|e| format!("`matches` is no regular expression: {e}"))
    }

    /// Whether it matches; `None` if the engine gives up.
    fn is_match(&self, text: &str) -> Option<bool> {
        match self {
            Self::Linear(regex) => Some(regex.is_match(text)),
            Self::Backtracking(regex) if text.len() <= LONGEST_BACKTRACKED => regex.is_match(text).ok(),
            Self::Backtracking(_) => None,
        }
    }
}

/// A check that can be made.
pub(super) struct CompiledCheck {
    check: ReplyCheck,
    pattern: Option<CheckPattern>,
}

impl CompiledCheck {
    /// # Errors
    /// The check says nothing, several things, or something that cannot be checked.
    pub(super) fn of(check: &ReplyCheck) -> Result<Self, String> {
        let ReplyCheck { contains, matches, json, equals, tool, arguments, directive, payload, max_tokens, max_chars, .. } = check;
        let said = [
            contains.is_some(),
            matches.is_some(),
            json.is_some(),
            tool.is_some(),
            directive.is_some(),
            max_tokens.is_some(),
            max_chars.is_some(),
        ];
        match said.iter().filter(|said| **said).count() {
            0 => return Err("a check says nothing about the reply".to_owned()),
            1 => {}
            _ => return Err("a check says several things: write a check for each".to_owned()),
        }
        for (key, given, beside, has) in [
            ("equals", equals.is_some(), "json", json.is_some()),
            ("arguments", arguments.is_some(), "tool", tool.is_some()),
            ("payload", payload.is_some(), "directive", directive.is_some()),
        ] {
            if given && !has {
                return Err(format!("`{key}` stands beside `{beside}`"));
            }
        }
        if json.as_ref().is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
            return Err("`json` is a JSON Pointer, which begins with `/`".to_owned());
        }
        let pattern = matches.as_deref().map(CheckPattern::of).transpose()?;
        Ok(Self { check: check.clone(), pattern })
    }

    /// Whether it is made in a mode.
    pub(super) fn is_for(&self, mode: EvalMode) -> bool {
        self.check.modes.as_ref().is_none_or(|modes| modes.contains(&mode))
    }

    /// The check in a few words.
    pub(super) fn words(&self) -> String {
        let check = &self.check;
        let not = if check.not { "not " } else { "" };
        let fields = |map: &Option<Map<String, Json>>| map.as_ref().map(|m| format!(" {}", Json::Object(m.clone()))).unwrap_or_default();
        let said = match check {
            ReplyCheck { contains: Some(text), .. } => format!("contains {text:?}"),
            ReplyCheck { matches: Some(pattern), .. } => format!("matches /{pattern}/"),
            ReplyCheck { json: Some(pointer), equals, .. } => {
                format!("json {pointer:?}{}", equals.as_ref().map(|v| format!(" = {v}")).unwrap_or_default())
            }
            ReplyCheck { tool: Some(tool), arguments, .. } => format!("tool {tool}{}", fields(arguments)),
            ReplyCheck { directive: Some(kind), payload, .. } => format!("directive {kind}{}", fields(payload)),
            ReplyCheck { max_tokens: Some(most), .. } => format!("max_tokens {most}"),
            ReplyCheck { max_chars, .. } => format!("max_chars {}", max_chars.unwrap_or_default()),
        };
        format!("{not}{said}")
    }

    /// Whether a reply is as it must be. What cannot be known, such as a number of tokens that the provider does not
    /// tell, is not as it must be.
    pub(super) fn holds(&self, reply: &ReplyFacts<'_>) -> bool {
        let check = &self.check;
        let holds = match check {
            ReplyCheck { contains: Some(text), .. } => reply.text.contains(text.as_str()),
            ReplyCheck { matches: Some(_), .. } => match self.pattern.as_ref().and_then(|pattern| pattern.is_match(reply.text)) {
                Some(matches) => matches,
                None => return false,
            },
            ReplyCheck { json: Some(pointer), equals, .. } => {
                let json: Option<Json> = serde_json::from_str(unfenced(reply.text)).ok();
                let found = json.as_ref().and_then(|json| json.pointer(pointer));
                found.is_some_and(|found| equals.as_ref().is_none_or(|wanted| same(wanted, found)))
            }
            ReplyCheck { tool: Some(tool), arguments, .. } => {
                let fits = |call: &CallRecord| {
                    call.ok && call.tool == *tool && arguments.as_ref().is_none_or(|wanted| holds_in(wanted, &call.arguments))
                };
                reply.calls.iter().any(fits)
            }
            ReplyCheck { directive: Some(kind), payload, .. } => {
                let fits =
                    |one: &DirectiveRecord| one.kind == *kind && payload.as_ref().is_none_or(|wanted| holds_in(wanted, &one.payload));
                reply.directives.iter().any(fits)
            }
            ReplyCheck { max_tokens: Some(most), .. } => return reply.output_tokens.is_some_and(|n| (n <= *most) != check.not),
            ReplyCheck { max_chars, .. } => reply.text.chars().count() <= max_chars.unwrap_or_default(),
        };
        holds != check.not
    }
}

/// The text without the fence that some models put around JSON.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).and_then(|t| t.strip_suffix("```"));
    inside.unwrap_or(text)
}

/// Whether a table has these fields.
fn holds_in(wanted: &Map<String, Json>, found: &Json) -> bool {
    wanted.iter().all(|(key, value)| found.get(key).is_some_and(|found| same(value, found)))
}

/// Equality in which 3 is 3.0.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b))),
        _ => a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq()),
    }
}
