//! The verbs. Each file declares the flags of one verb and runs it.

#[cfg(feature = "full")]
mod artifact;
mod audit;
mod build;
#[cfg(feature = "full")]
mod chat;
mod check;
mod completions;
mod convert;
mod dataset;
mod diff;
mod doctor;
#[cfg(feature = "full")]
mod eval;
mod explain;
mod fmt;
mod import;
mod lost_fields;
#[cfg(feature = "lsp")]
mod lsp;
#[cfg(feature = "full")]
mod mcp;
mod new;
mod ops;
mod options;
mod packs;
mod report;
mod run;
mod schema;
pub(crate) mod serve;
mod share;
mod template;
mod test;
#[cfg(feature = "full")]
mod turn;
mod watch;

use clap::{Command, Subcommand};

use crate::exit::{Result, RunExit};
use crate::output::Console;

#[cfg(feature = "full")]
use {artifact::ArtifactArgs, chat::ChatArgs, eval::EvalArgs, mcp::McpArgs, turn::TurnArgs};

#[cfg(feature = "lsp")]
use lsp::LspArgs;

#[cfg(not(feature = "lsp"))]
use crate::missing::MissingArgs as LspArgs;
#[cfg(not(feature = "full"))]
use crate::missing::{
    MissingArgs as ArtifactArgs, MissingArgs as ChatArgs, MissingArgs as EvalArgs, MissingArgs as McpArgs, MissingArgs as TurnArgs,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Build a prompt: the payload, or another link of the chain.
    Build(build::BuildArgs),
    /// Run programs of a pack, and show the lists and values that they leave behind.
    Run(run::RunArgs),
    /// Show where each block of a prompt came from, or which rules are in force.
    Explain(explain::ExplainArgs),
    /// Build a prompt again whenever a file is saved, and show what has changed.
    Watch(watch::WatchArgs),
    /// Check a pack, an overlay or single rule files.
    Check(check::CheckArgs),
    /// Examine a preset, a card or a lorebook before you use it: one report with a grade.
    Doctor(doctor::DoctorArgs),
    /// Show what differs between two packs, overlays or scenes, and between their prompts.
    Diff(diff::DiffArgs),
    /// Write the first files of a pack, an overlay, a rule file, a template, a rule test or a hook.
    New(new::NewArgs),
    /// Run rule tests, write snapshots, and measure what they cover.
    Test(test::TestArgs),
    /// Lay out TOML rule files.
    Fmt(fmt::FmtArgs),
    /// Convert a card, preset, lorebook or chat of another program to JSON of this one.
    Import(import::ImportArgs),
    /// Convert a card, preset, lorebook or script file of one program to the format of another.
    #[command(visible_alias = "export")]
    Convert(convert::ConvertArgs),
    /// Print the JSON Schema of a kind of rule file.
    Schema(schema::SchemaArgs),
    /// List the vocabulary: verbs, terms, functions, fields, paths.
    Ops(ops::OpsArgs),
    /// List the options of a pack, and the values that they have.
    Options(options::OptionsVerb),
    /// Store templates, check them, and render them.
    Template(template::TemplateArgs),
    /// Show, compare, write and move the artifacts of a session.
    Artifact(ArtifactArgs),
    /// Talk to a model in the terminal, with any pack.
    Chat(Box<ChatArgs>),
    /// Play turns of a chat over a store, with recorded replies.
    Turn(TurnArgs),
    /// Ask models what scenario files say, judge the replies, and count.
    Eval(EvalArgs),
    /// Answer other programs: over HTTP, line by line, or as a gateway in front of a provider.
    Serve(serve::ServeArgs),
    /// Offer everything to an agent, as tools of MCP.
    Mcp(McpArgs),
    /// Help an editor with rule files, over the Language Server Protocol: mistakes, completion, a preview of the prompt.
    Lsp(LspArgs),
    /// Write everything that a prompt is made of into one line, for a report of a problem.
    Report(report::ReportArgs),
    /// List the packs that can be named.
    Packs(packs::PacksArgs),
    /// Show what a pack brings along: capabilities, scripts, regular expressions, limits, files.
    Audit(audit::AuditArgs),
    /// Make the archive of a pack, for others to install.
    Pack(share::archive::PackArgs),
    /// Install packs: from an archive, a folder, an address, or by name from an index.
    Install(share::install::InstallArgs),
    /// Take newer releases of installed packs.
    Update(share::install::UpdateArgs),
    /// Remove installed packs.
    Remove(share::RemoveArgs),
    /// List installed packs, and whether they are as they were installed.
    List(share::ListArgs),
    /// Find packs in an index.
    Search(share::archive::SearchArgs),
    /// Write the index of a folder of archives.
    Index(share::archive::MakeIndexArgs),
    /// Sign the archive of a pack.
    Sign(share::keys::SignArgs),
    /// Make keys, and say whose signatures are trusted.
    Keys(share::keys::KeysArgs),
    /// Print completions for a shell.
    Completions(completions::CompletionsArgs),
    /// Write the pages of the manual.
    Man(completions::ManualArgs),
}

impl Verb {
    /// Whether the verb runs for as long as somebody asks, so that its processor time has no limit.
    pub(crate) fn runs_on(&self) -> bool {
        matches!(self, Verb::Chat(_) | Verb::Eval(_) | Verb::Serve(_) | Verb::Mcp(_) | Verb::Lsp(_) | Verb::Test(_) | Verb::Watch(_))
    }

    /// Runs the verb. `command` is the declaration of the whole program.
    pub(crate) fn run(self, command: Command, show: &mut Console<'_>) -> Result<RunExit> {
        match self {
            Verb::Build(verb) => verb.run(show),
            Verb::Run(verb) => verb.run(show),
            Verb::Explain(verb) => verb.run(show),
            Verb::Watch(verb) => verb.run(show),
            Verb::Check(verb) => verb.run(show),
            Verb::Doctor(verb) => verb.run(show),
            Verb::Diff(verb) => verb.run(show),
            Verb::New(verb) => verb.run(show),
            Verb::Test(verb) => verb.run(show),
            Verb::Fmt(verb) => verb.run(show),
            Verb::Import(verb) => verb.run(show),
            Verb::Convert(verb) => verb.run(show),
            Verb::Schema(verb) => verb.run(show),
            Verb::Ops(verb) => verb.run(show),
            Verb::Options(verb) => verb.run(show),
            Verb::Template(verb) => verb.run(show),
            Verb::Artifact(verb) => verb.run(show),
            Verb::Chat(verb) => verb.run(show),
            Verb::Turn(verb) => verb.run(show),
            Verb::Eval(verb) => verb.run(show),
            Verb::Serve(verb) => verb.run(show),
            Verb::Mcp(verb) => verb.run(show),
            Verb::Lsp(verb) => verb.run(show),
            Verb::Report(verb) => verb.run(show),
            Verb::Packs(verb) => verb.run(show),
            Verb::Audit(verb) => verb.run(show),
            Verb::Pack(verb) => verb.run(show),
            Verb::Install(verb) => verb.run(show),
            Verb::Update(verb) => verb.run(show),
            Verb::Remove(verb) => verb.run(show),
            Verb::List(verb) => verb.run(show),
            Verb::Search(verb) => verb.run(show),
            Verb::Index(verb) => verb.run(show),
            Verb::Sign(verb) => verb.run(show),
            Verb::Keys(verb) => verb.run(show),
            Verb::Completions(verb) => verb.run(command, show),
            Verb::Man(verb) => verb.run(command, show),
        }
    }
}
