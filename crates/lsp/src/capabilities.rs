//! What the server can do, and what the editor says of itself when it starts the server.

use std::path::PathBuf;

use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, CompletionOptions, ExecuteCommandOptions,
    FoldingRangeProviderCapability, HoverProviderCapability, OneOf, RenameOptions, SaveOptions, SemanticTokensFullOptions,
    SemanticTokensOptions, SemanticTokensServerCapabilities, ServerCapabilities, SignatureHelpOptions, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
};
use serde_json::Value as Json;

use crate::address::path_of;
use crate::cases;
use crate::preview;
use crate::tokens::legend;

/// The commands that an editor can run.
pub(crate) const COMMANDS: [&str; 2] = [preview::COMMAND, cases::COMMAND];

/// What the editor says of itself. Each field is read alone: what cannot be read of one is as if it were not there.
#[derive(Debug, Default)]
pub(crate) struct EditorProfile {
    /// The pack over which overlays lie that do not say it.
    pub(crate) pack: Option<String>,
    pub(crate) workspaces: Vec<PathBuf>,
    /// It can be asked to tell of files that change on disk.
    pub(crate) can_watch: bool,
    /// It can be asked to ask for code lenses again.
    pub(crate) refreshes_lenses: bool,
    /// It takes edits that say to which version of a document they belong.
    pub(crate) takes_versions: bool,
}

impl EditorProfile {
    /// Reads the parameters of `initialize`.
    pub(crate) fn read(params: &Json) -> Self {
        let is_set = |pointer: &str| params.pointer(pointer) == Some(&Json::Bool(true));
        let folders = params.get("workspaceFolders").and_then(Json::as_array);
        let named = folders.into_iter().flatten().filter_map(|folder| folder.get("uri"));
        // older editors name a root alone
        let root = params.get("rootUri").filter(|_| folders.is_none());
        let path = |uri: &Json| path_of(&uri.as_str()?.parse().ok()?);
        Self {
            pack: params.pointer("/initializationOptions/pack").and_then(Json::as_str).map(str::to_owned),
            workspaces: named.chain(root).filter_map(path).collect(),
            can_watch: is_set("/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration"),
            takes_versions: is_set("/capabilities/workspace/workspaceEdit/documentChanges"),
            refreshes_lenses: is_set("/capabilities/workspace/codeLens/refreshSupport"),
        }
    }
}

pub(crate) fn server_capabilities() -> ServerCapabilities {
    let characters = ["\"", "'", "$", "@", "=", ".", "{", "/", "["];
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(characters.map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(["(", ","].map(str::to_owned).to_vec()),
            ..SignatureHelpOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions { prepare_provider: Some(true), work_done_progress_options: Default::default() })),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL]),
            ..CodeActionOptions::default()
        })),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(SemanticTokensOptions {
            legend: legend(),
            full: Some(SemanticTokensFullOptions::Bool(true)),
            ..SemanticTokensOptions::default()
        })),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: COMMANDS.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}
