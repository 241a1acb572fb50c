//! What callers ask, as JSON. `schemas/door.v1.json` is made from these types.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

/// One request: `call` says what is asked, the other keys are its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Request {
    /// Load and compile a pack with overlays; the result has `rules`, a handle that other calls name.
    Open(OpenRequest),
    /// Keep a file (a card, a book, a preset, a chat) for later scenes; the result has `part`, a handle.
    Put(FileContent),
    /// Forget what handles name. An unknown handle is no error.
    Close(CloseRequest),
    /// Build a prompt: the payload, where to send it, and what changed in the state of the chat.
    Build(BuildRequest),
    /// Build a prompt once and write it in several dialects.
    Emit(EmitRequest),
    /// Say why a prompt is as it is.
    Explain(ExplainRequest),
    /// Report every mistake of a pack with its overlays, and of a scene.
    Check(CheckRequest),
    /// Run rule tests.
    Test(TestRequest),
    /// Compare two packs, and the prompts that they build.
    Diff(DiffRequest),
    /// Read a file of another program.
    Import(ImportRequest),
    /// Turn a file of one program into one of another.
    Convert(ConvertRequest),
    /// Examine a preset, a card or a lorebook before it is used: one report with a grade.
    Doctor(DoctorRequest),
    /// List the options of a pack with their values.
    Options(OptionsRequest),
    /// Print a JSON Schema; without a kind, list the kinds.
    Schema(SchemaRequest),
    /// List the packs that can be named.
    Packs(EmptyRequest),
    /// Count the tokens of texts.
    Tokens(TokensRequest),
}

/// Rules: a handle of `open`, the name of a pack, or a pack with overlays.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum RulesReference {
    /// A handle of `open` (`rules-…`), or the name of a pack.
    Name(String),
    /// What `open` takes.
    Pack(OpenRequest),
}

impl<'de> Deserialize<'de> for RulesReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text_or(deserializer, Self::Name, Self::Pack)
    }
}

/// A pack with overlays.
#[derive(Debug, Clone, Deserialize, JsonSchema, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    /// The name of a pack: of `packs`, of a shipped one, or of one in the folders of the door.
    pub pack: String,
    /// Packs that are given as files. They count before all others, and can extend each other.
    #[serde(default)]
    pub packs: Vec<PackContent>,
    /// Rule files that are merged over the pack, in order.
    #[serde(default)]
    pub overlays: Vec<OverlayText>,
}

/// A pack as files.
#[derive(Debug, Clone, Deserialize, JsonSchema, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct PackContent {
    /// Its name.
    pub name: String,
    /// Texts by path inside of the pack, with `/`: `pack.toml`, `dialect/openai.toml`.
    pub files: IndexMap<String, String>,
}

/// A rule file that is laid over a pack.
#[derive(Debug, Clone, Deserialize, JsonSchema, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct OverlayText {
    /// The name that diagnostics show; its ending says whether the text is TOML or JSON.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// A file with its content. One of `text`, `base64` and `json` is given.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileContent {
    /// Its name, which messages show. A lorebook without a name is called by it.
    pub name: String,
    /// A text.
    #[serde(default)]
    pub text: Option<String>,
    /// Bytes, such as those of a PNG card.
    #[serde(default)]
    pub base64: Option<String>,
    /// A JSON document.
    #[serde(default)]
    pub json: Option<Json>,
}

/// A file of a scene: a handle of `put`, or the file itself.
#[derive(Debug, Clone, JsonSchema)]
#[serde(untagged)]
pub enum PartReference {
    /// A handle of `put` (`part-…`).
    Handle(String),
    /// The file.
    File(FileContent),
}

impl<'de> Deserialize<'de> for PartReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text_or(deserializer, Self::Handle, Self::File)
    }
}

/// What a prompt is made of. The keys are those of a scene file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SceneRequest {
    /// The card of the character who writes.
    pub character: Option<PartReference>,
    /// Presets, in order.
    pub preset: Vec<PartReference>,
    /// The chat so far.
    pub chat: Option<PartReference>,
    /// Lorebooks beside the card's own.
    pub lorebooks: Vec<PartReference>,
    /// The user's name.
    pub persona: Option<String>,
    /// The user's description of themselves: a text, or JSON of a known format.
    pub persona_file: Option<PartReference>,
    /// The user's new message, which becomes the last of the chat.
    pub message: Option<String>,
    /// The provider's dialect. Default: that of the pack.
    pub dialect: Option<String>,
    /// The generation type: `normal`, `continue`, `impersonate`, `swipe`, `regenerate`, `quiet`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The seed of random draws. Default: `0`.
    pub seed: Option<String>,
    /// Scripted draws from 0 up to, but not including, 1, which are used up before the seed is.
    pub draws: Option<Vec<f64>>,
    /// The time of the build, such as `2026-01-31T20:15:00Z`. A door without a clock has no other.
    pub now: Option<String>,
    /// Whether warnings are errors.
    pub strict: bool,
    /// Values of the pack's options.
    pub option: Map<String, Json>,
    /// Values of the scene by path; they override those of all files.
    pub scene: Map<String, Json>,
}

/// Handles to forget.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseRequest {
    /// Handles of `open` and `put`.
    pub handles: Vec<String>,
}

/// A build.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildRequest {
    /// The rules.
    pub rules: RulesReference,
    /// The scene.
    #[serde(default)]
    pub scene: SceneRequest,
    /// Whether the result has the plan: blocks, trim report, warnings.
    #[serde(default)]
    pub plan: bool,
    /// Whether the result has the trace of the build.
    #[serde(default)]
    pub trace: bool,
}

/// A build in several dialects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmitRequest {
    /// The rules.
    pub rules: RulesReference,
    /// The scene.
    #[serde(default)]
    pub scene: SceneRequest,
    /// The dialects. Default: all of the pack.
    #[serde(default)]
    pub dialects: Vec<String>,
}

/// A question about a prompt or about rules.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// The rules.
    pub rules: RulesReference,
    /// The scene. Questions about rules need none.
    #[serde(default)]
    pub scene: SceneRequest,
    /// What is asked. Default: where each block came from.
    #[serde(default)]
    pub about: Question,
}

/// What can be asked.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Where each block came from, what was trimmed or lost, and the warnings.
    #[default]
    Blocks,
    /// What happened to every lore entry, and why.
    Lore,
    /// What each macro, regex script and hook did.
    Changes,
    /// Everything, as the page of `tapster explain --html` has it.
    Report,
    /// Why a block is in the prompt: its number, id or slot, or a part of its text.
    Why(String),
    /// Why something is not in the prompt, and which changes of the scene would let it pass.
    WhyNot(String),
    /// Which part of the inputs decided a value of the scene.
    Value(String),
    /// What a provider's cache can serve after the request whose plan (`build` with `plan`) this is.
    Cache(Json),
    /// A program, table, row or section of the merged rules; all programs for `""`.
    Rules(String),
}

/// A check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The rules; those of a handle have no errors.
    pub rules: RulesReference,
    /// A scene, which is built; what the build warns of is reported too.
    #[serde(default)]
    pub scene: Option<SceneRequest>,
}

/// Rule tests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestRequest {
    /// Packs that are given as files; the cases in their folder `cases` are run.
    #[serde(default)]
    pub packs: Vec<PackContent>,
    /// Case files beside those.
    #[serde(default)]
    pub cases: Vec<OverlayText>,
    /// Only cases whose title `file#name` contains this.
    #[serde(default)]
    pub filter: String,
}

/// A comparison.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffRequest {
    /// The rules before.
    pub a: RulesReference,
    /// The rules after.
    pub b: RulesReference,
    /// A scene that is built with both.
    #[serde(default)]
    pub scene: Option<Box<SceneRequest>>,
    /// The scene of the second side, if it is another one.
    #[serde(default)]
    pub scene_b: Option<Box<SceneRequest>>,
}

/// A file of another program.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The rules that read it.
    pub rules: RulesReference,
    /// The file.
    pub file: PartReference,
    /// The format, by name. Default: it is recognised by content.
    #[serde(default)]
    pub format: Option<String>,
}

/// A conversion.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvertRequest {
    /// The rules that convert. For `pack`, those that read the preset; default: those of the pack that is recommended for it.
    #[serde(default)]
    pub rules: Option<RulesReference>,
    /// The file.
    pub file: PartReference,
    /// The format that is made, if the rules make several of such a file; or `pack`: a pack with the preset and its options.
    #[serde(default)]
    pub to: Option<String>,
    /// The name of the pack that is made. Default: that of the file.
    #[serde(default)]
    pub name: Option<String>,
}

/// An examination of a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoctorRequest {
    /// The rules that read it. Default: those of the pack that is recommended for such files.
    #[serde(default)]
    pub rules: Option<RulesReference>,
    /// The file.
    pub file: PartReference,
    /// What else the prompt is made of in which the file is tried: another card, a window, a dialect.
    #[serde(default)]
    pub scene: SceneRequest,
}

/// The options of rules.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionsRequest {
    /// The rules.
    pub rules: RulesReference,
    /// Values that are set.
    #[serde(default)]
    pub option: Map<String, Json>,
}

/// A schema.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaRequest {
    /// A kind of rule file; `door` is the schema of this door.
    #[serde(default)]
    pub kind: Option<String>,
    /// A version. Default: the newest.
    #[serde(default)]
    pub version: Option<i64>,
    /// Rules whose declarations are added.
    #[serde(default)]
    pub rules: Option<RulesReference>,
}

/// A call without arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmptyRequest {}

/// Texts to count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokensRequest {
    /// The texts.
    pub texts: Vec<String>,
    /// How they are counted: `cl100k`, `o200k`, `claude`, `words`, `chars/4` … Default: `cl100k`.
    #[serde(default)]
    pub tokenizer: Option<String>,
}

/// Reads a text, or else a table, whose mistakes are told as such (an untagged enum tells none).
fn read_text_or<'de, D: Deserializer<'de>, R, T: DeserializeOwned>(
    deserializer: D,
    of_text: impl FnOnce(String) -> R,
    of_table: impl FnOnce(T) -> R,
) -> Result<R, D::Error> {
    match Json::deserialize(deserializer)? {
        Json::String(text) => Ok(of_text(text)),
        other => serde_json::from_value(other).map(of_table).map_err(D::Error::custom),
    }
}
