//! Adapters: one recorded form each. They rename fields on the way in and out; what happens between is the rules'.

mod artifacts;
mod cards;
mod chat_completion;
mod command;
pub(crate) mod expression;
mod group;
mod hooks;
mod lore;
mod pipeline;
mod risuai;
mod runner;
mod talespinner;
mod template;
mod text;
mod tool_loop;
mod trim;
mod wire;

pub(crate) use artifacts::POSTGRES;
pub(crate) use wire::parts::put;

use crate::case::{Case, Check};

/// What runs the cases of a kind.
pub(crate) struct Adapter {
    kind: &'static str,
    /// What `input.op` must begin with.
    op: &'static str,
    /// The levels that `run` checks; the first is the suite itself.
    pub(crate) levels: &'static [&'static str],
    /// Runs a case.
    pub(crate) run: fn(&Case) -> Vec<Check>,
}

const ONE: &[&str] = &[""];

const fn adapter(kind: &'static str, op: &'static str, run: fn(&Case) -> Vec<Check>) -> Adapter {
    Adapter { kind, op, levels: ONE, run }
}

const ADAPTERS: &[Adapter] = &[
    adapter("contract-artifact-inclusion", "", artifacts::inclusion::contract),
    Adapter { kind: "contract-artifact-store", op: "", levels: &["", "postgres"], run: artifacts::contract },
    adapter("contract-trim", "", trim::trim),
    adapter("contract-budget", "", trim::budget),
    adapter("contract-cards", "", cards::contract),
    adapter("contract-dialect", "", runner::dialect::contract),
    adapter("contract-group", "", group::contract),
    adapter("contract-injection", "", lore::injection::contract),
    adapter("contract-notes", "", lore::notes::contract),
    adapter("contract-pipeline", "", pipeline::contract),
    adapter("contract-story", "", template::story::contract),
    adapter("contract-capabilities", "", runner::capabilities),
    adapter("contract-request-policy", "", runner::policy),
    adapter("contract-preflight", "", runner::preflight),
    adapter("contract-runner-config", "", runner::config),
    adapter("contract-plan", "", runner::plan),
    adapter("contract-presets", "", runner::presets),
    adapter("contract-prompt-runner", "", runner::prompt),
    adapter("contract-directives", "", runner::directives::contract),
    adapter("contract-language-tag", "", text::language_tag),
    adapter("contract-json-pointer", "", text::json_pointer),
    adapter("contract-verbatim-mask", "", text::verbatim),
    adapter("contract-tool-loop", "", tool_loop::contract),
    adapter("contract-dialect-wire", "contract-openai", wire::contract),
    adapter("dialect", "post-", trim::recorded),
    adapter("contract-dialect-wire", "contract-anthropic", wire::claude::contract),
    adapter("dialect", "claude", wire::claude::converted),
    adapter("dialect", "body-claude", wire::claude::request),
    adapter("dialect", "budget-claude", wire::claude::budget),
    adapter("dialect", "caching-claude-depth", wire::claude::cached),
    adapter("dialect", "assistant-prefix", wire::claude::flagged),
    adapter("dialect", "google", wire::google::recorded),
    adapter("dialect", "body-google", wire::google::recorded),
    adapter("dialect", "budget-google", wire::google::recorded),
    adapter("dialect", "body-openai", |case| wire::request(case, "openai")),
    adapter("dialect", "body-openrouter", |case| wire::request(case, "openrouter")),
    adapter("dialect", "body-deepseek", |case| wire::request(case, "deepseek")),
    adapter("dialect", "deepseek-reasoning", |case| wire::converted(case, "deepseek", "deepseek_reasoning")),
    adapter("dialect", "openrouter-media", |case| wire::converted(case, "openrouter", "sound")),
    adapter("dialect", "openrouter-signatures", |case| wire::converted(case, "openrouter", "openrouter_signatures")),
    adapter("dialect", "caching-openrouter-depth", |case| wire::converted(case, "openrouter", "cache_depth")),
    adapter("dialect", "caching-openrouter-system", |case| wire::converted(case, "openrouter", "cache_system")),
    adapter("dialect", "text-completion", |case| wire::payload(case, "completion")),
    adapter("dialect", "mistral", wire::turns::converted),
    adapter("dialect", "cohere", wire::turns::converted),
    adapter("dialect", "ai21", wire::turns::converted),
    adapter("dialect", "xai", wire::turns::converted),
    adapter("dialect", "body-mistral", wire::turns::body),
    adapter("dialect", "body-cohere", wire::turns::body),
    adapter("dialect", "body-ai21", wire::turns::body),
    adapter("dialect", "body-xai", wire::turns::body),
    Adapter { kind: "sillytavern-chat-completion", op: "", levels: &["", "tokens"], run: chat_completion::recorded },
    adapter("sillytavern-cli-build", "", command::build::recorded),
    adapter("sillytavern-chat-request", "", wire::chat_request::recorded),
    adapter("sillytavern-group-activation", "", group::sillytavern::activation),
    adapter("sillytavern-group-cards", "", group::sillytavern::cards),
    adapter("sillytavern-raw", "", raw),
    adapter("sillytavern-text-completion", "", text::recorded),
    adapter("sillytavern-macro", "", text::macros::recorded),
    adapter("sillytavern-world-info", "", lore::recorded),
    adapter("risuai-import", "", risuai::import::recorded),
    adapter("risuai-cbs", "", risuai::cbs::recorded),
    adapter("risuai-lorebook", "", risuai::lore::recorded),
    adapter("risuai-prompt", "", risuai::prompt::recorded),
    adapter("risuai-regex", "", risuai::regex::recorded),
    adapter("storyforge", "", template::recorded),
    adapter("expression", "", expression::evaluate),
    adapter("front-door", "", command::recorded),
    adapter("check", "", command::recorded),
    adapter("liquid", "", talespinner::liquid::recorded),
    adapter("talespinner", "", talespinner::recorded),
];

/// The adapter of a case, by its kind.
pub(crate) fn find(case: &Case) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|a| a.kind == case.kind && case.op().starts_with(a.op))
}

/// Functions of the program that were called by themselves; the recorded arguments tell which.
fn raw(case: &Case) -> Vec<Check> {
    if case.input["placement"].is_null() { text::raw(case) } else { text::rewrite::recorded(case) }
}
