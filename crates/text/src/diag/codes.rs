//! The registry of stable codes: what each means, and how severe it usually is.
//!
//! A code has the form `area.word`; a few codes of builds are a single word. `docs/reference/codes.md` lists them, and a
//! test keeps it in step with this table.

use std::sync::Arc;

use super::Severity;

macro_rules! codes {
    ($($name:ident = $code:literal, $severity:ident, $raised:ident, $doc:literal;)*) => {
        /// A stable code of a diagnostic. [`Code::as_str`] gives it as users see it, [`Code::doc`] says what it means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = $doc] $name,)* }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code as users see it.
            #[must_use]
            pub fn as_str(self) -> &'static str { match self { $(Code::$name => $code,)* } }

            /// What the code means.
            #[must_use]
            pub fn doc(self) -> &'static str { match self { $(Code::$name => $doc,)* } }

            /// How severe it usually is.
            #[must_use]
            pub fn severity(self) -> Severity { match self { $(Code::$name => Severity::$severity,)* } }

            /// What raises it.
            #[must_use]
            pub fn raised(self) -> CodeOrigin { match self { $(Code::$name => CodeOrigin::$raised,)* } }
        }
    };
}

/// What raises a code. A rule file can accept a warning with `[[allow]]` where rules are loaded or built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeOrigin {
    /// Loading and checking rules.
    Load,
    /// Builds, programs and payloads.
    Build,
    /// Both of them.
    Either,
    /// What knows no rules, or does not ask them: reading files of other programs, stores, laying out files.
    Elsewhere,
}

impl Code {
    /// The code of this text.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

/// The code of a diagnostic: one of the registry, or one that a rule pack defines for its own warnings and errors.
/// It compares equal to a [`Code`] and to the text of a code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DiagnosticCode {
    /// A code of the registry, documented in `docs/reference/codes.md`.
    Known(Code),
    /// A code that a rule pack names, such as `lint.role`.
    Pack(Arc<str>),
}

impl DiagnosticCode {
    /// The code `text`, from the registry if it has one of this text.
    #[must_use]
    pub fn named(text: &str) -> Self {
        Code::of(text).map_or_else(|| Self::Pack(text.into()), Self::Known)
    }

    /// The code as users see it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(code) => code.as_str(),
            Self::Pack(code) => code,
        }
    }

    /// The code of the registry; `None` for a code of a pack.
    #[must_use]
    pub fn known(&self) -> Option<Code> {
        if let Self::Known(code) = self { Some(*code) } else { None }
    }
}

impl From<Code> for DiagnosticCode {
    fn from(code: Code) -> Self {
        Self::Known(code)
    }
}

impl PartialEq<Code> for DiagnosticCode {
    fn eq(&self, other: &Code) -> bool {
        self.known() == Some(*other)
    }
}

impl PartialEq<str> for DiagnosticCode {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for DiagnosticCode {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl std::fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for DiagnosticCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

codes! {
    // reading files
    FileMissing = "file.missing", Error, Load, "a file or folder that is named does not exist or cannot be read";
    FileTooLarge = "file.too_large", Error, Load, "a file is larger than the limit for its kind";
    FileEncoding = "file.encoding", Error, Load, "a text file is not valid UTF-8";
    FileOutside = "file.outside", Error, Load, "a path leads out of the folder that it must stay in";
    FileTooDeep = "file.too_deep", Error, Load, "values are nested deeper than the limit";
    FileBom = "file.bom", Warning, Load, "a file begins with a byte order mark, which is ignored";
    FileStray = "file.stray", Warning, Load, "nothing reads a file of a pack's folder, because of where it lies or how its name ends";
    SyntaxToml = "syntax.toml", Error, Load, "a file is not valid TOML";
    SyntaxJson = "syntax.json", Error, Load, "a file is not valid JSON";
    SyntaxDuplicate = "syntax.duplicate", Error, Load, "a key is written twice in one table";
    FormatRefused = "format.refused", Error, Elsewhere, "a file cannot be laid out without a change of its meaning or the loss of a comment";
    FormatLong = "format.long_line", Warning, Elsewhere, "a line stays longer than the layout allows";
    FormatSkipped = "format.skipped", Warning, Elsewhere, "a file is not laid out, because it is not TOML";
    CaseNotRun = "case.not_run", Note, Elsewhere, "the rule tests of a file were checked, and not run";
    // packs
    PackMissing = "pack.missing", Error, Load, "a pack that is named is not found";
    PackManifest = "pack.manifest", Error, Load, "a pack has no usable pack.toml or pack.json";
    PackVersion = "pack.version", Error, Load, "a release or engine requirement is not met";
    PackShadow = "pack.shadow", Warning, Elsewhere, "a pack of a folder that nobody named stands in the place of a shipped one";
    PackStale = "pack.stale", Warning, Elsewhere, "a pack has changed and has mistakes now, so the rules from before are used";
    CyclePack = "cycle.pack", Error, Load, "packs extend each other in a circle";
    // schemas
    SchemaKind = "schema.kind", Error, Load, "a file has no known `kind`";
    SchemaVersion = "schema.version", Error, Load, "a file's schema version is not supported";
    SchemaUpgraded = "schema.upgraded", Warning, Load, "a file of an older schema version was upgraded in memory, or has a key that has no effect any more";
    SchemaUnknownKey = "schema.unknown_key", Error, Load, "a key is not one that the schema knows";
    SchemaMissingKey = "schema.missing_key", Error, Load, "a required key is missing";
    SchemaType = "schema.type", Error, Load, "a value has the wrong type";
    SchemaValue = "schema.value", Error, Load, "a value is not one of those allowed";
    // layers
    LayerNoName = "layer.no_name", Error, Load, "a row of a table has no name";
    LayerTwice = "layer.twice", Error, Load, "one file or layer names the same row twice";
    LayerConflict = "layer.conflict", Warning, Load, "two overlays decide the same value; the later one wins";
    LayerStale = "layer.stale", Warning, Load, "a patch was written for another version of the row that it patches";
    LayerNearly = "layer.nearly", Warning, Load, "a new row has nearly the name of a row of a lower layer";
    LayerPatches = "layer.patches", Warning, Load, "a row that looks new patches a row of a lower layer that has its name";
    LayerUnchanged = "layer.unchanged", Warning, Load, "a patch of an overlay changes nothing";
    LayerDrops = "layer.drops", Note, Load, "a condition of an overlay takes the place of the one below, and leaves a part of it out";
    LayerBeaten = "layer.beaten", Warning, Build, "an overlay sets a value that the scene has too; the scene's wins";
    LayerTaken = "layer.taken", Error, Load, "a row that is said to be new has the name of a row of a lower layer";
    PassUnused = "pass.unused", Warning, Load, "an overlay changes a program that builds of the pack do not run";
    PatchesNothing = "pass.patches_nothing", Error, Load, "a patch of a row that no lower layer has";
    ChangesVerb = "pass.changes_verb", Error, Load, "a patch changes the verb of a pass";
    RemoveUnknown = "remove.unknown", Error, Load, "a row is removed that no lower layer has";
    MoveUnknown = "move.unknown", Error, Load, "a row is moved next to one that does not exist";
    OptionUnknown = "option.unknown", Error, Either, "a value is given to an option that the pack does not declare";
    OptionValue = "option.value", Error, Either, "an option has a value that it cannot have";
    OptionRequires = "option.requires", Error, Either, "the values of two options do not fit together";
    OptionUnused = "option.unused", Warning, Load, "no rule reads an option";
    AllowUnused = "allow.unused", Warning, Load, "an `allow` accepts no warning";
    // passes, terms, names
    NoVerb = "pass.no_verb", Error, Load, "a pass has no verb";
    TwoMeanings = "pass.two_meanings", Error, Load, "a term does not belong to the verb of its pass, or a row says two things of which one has no effect";
    TermMissing = "term.missing", Error, Load, "a term that the verb or the row needs is missing";
    TermType = "term.type", Error, Load, "a term has the wrong shape";
    ConditionType = "condition.type", Error, Load, "a test does not fit what it tests";
    NameUnknown = "name.unknown", Error, Load, "a name that is used is defined nowhere";
    NameNearly = "name.nearly", Warning, Load, "a name that means nothing here is nearly one that does";
    NoAnchorRow = "place.no_anchor_row", Error, Load, "a place names a slot that no row defines";
    CycleProgram = "cycle.program", Error, Load, "programs run each other in a circle";
    DirectiveCollision = "directive.name_collision", Error, Load, "two types of directives share a name or an alias";
    DirectivePayload = "directive.payload", Error, Load, "the payload of a type of directives is no usable JSON Schema";
    DirectiveUnused = "directive.unused", Warning, Load, "a type of directives, or an alias of one, has no effect";
    CycleOperation = "cycle.operation", Error, Load, "operations depend on each other in a circle";
    OperationContradiction = "operation.contradiction", Error, Load, "an operation, its conditions and its effects contradict each other";
    OperationUnused = "operation.unused", Warning, Load, "a key of an operation or an effect has no effect";
    CycleText = "cycle.text", Error, Load, "templates or values name each other in a circle";
    RegexBad = "regex.bad", Error, Either, "a regular expression cannot be used";
    RegexUnsafe = "regex.unsafe", Error, Either, "a regular expression could take unbounded time";
    CalcBad = "calc.bad", Error, Load, "an arithmetic expression cannot be read";
    ExpressionBad = "expression.bad", Error, Load, "an expression cannot be read";
    ReferenceBad = "reference.bad", Error, Load, "a reference cannot be read";
    ScriptBad = "script.bad", Error, Load, "a script cannot be compiled";
    // templates
    TemplateSource = "template.source", Error, Load, "a template uses a source that its task does not offer";
    TemplateStructure = "template.structure", Error, Load, "layout, slots and prefixes of a template do not fit together";
    TemplateUnused = "template.unused", Warning, Load, "a part of a template has no effect";
    TemplateBudget = "template.budget", Warning, Load, "a budget of a template can never be met, or never binds";
    TemplateDoubtful = "template.doubtful", Warning, Load, "a part of a template can never give anything";
    TemplateData = "template.data", Warning, Build, "a source of a template cannot be evaluated, and gives nothing";
    // reading replies
    ReplyPath = "reply.path", Error, Load, "a row that says how replies are read has a path that cannot be followed";
    ReplyUnused = "reply.unused", Warning, Load, "a part of a row that says how replies are read has no effect";
    // building
    BoundExceeded = "bound.exceeded", Error, Either, "a limit on work or size was reached";
    MaxTokens = "max_tokens_exceeded", Error, Build, "what must be sent is larger than the budget";
    MemberMissing = "group_member_missing", Error, Build, "the member who should speak again is gone";
    FilterFailed = "filter.failed", Warning, Build, "a filter or script failed";
    ScriptWarned = "script.warned", Warning, Build, "a script or a hook warned";
    ScriptType = "script.type", Warning, Build, "a script or a hook gives a value that is not of the type that the pack declares";
    DecisionMismatch = "group.decision_mismatch", Warning, Build, "the application's decision differs from the computed one";
    UnknownMember = "group.unknown_member", Warning, Build, "the application names somebody who is not in the group";
    PositionUnknown = "injection.unknown_position", Warning, Build, "a position has no meaning in this pack";
    DepthNegative = "injection.negative_depth", Warning, Build, "a negative depth is never reached";
    RequireFailed = "require.failed", Error, Build, "a pack's own requirement is not met";
    StrictMode = "strict_mode", Error, Build, "a build with strict mode on raised a warning";
    Pipeline = "pipeline", Error, Build, "a pass, a script, a hook or a function failed";
    TemplateFailed = "template", Error, Either, "a text of a template language cannot be read or rendered";
    DialectUnknown = "unknown_dialect", Error, Build, "the pack has no dialect of this name";
    CallUnknown = "call", Error, Build, "a program, list, format, task or template is requested that the pack does not have";
    CacheUnchanged = "cache.unchanged", Note, Build, "how much of the request is unchanged since the previous one";
    MacroUnknown = "macro.unknown", Warning, Build, "`check` of a scene, a preset or a card: a macro in a text that no rule knows, and that is sent as it is written";
    CacheUnstable = "cache.unstable", Note, Build, "`check` of a scene, a preset or a card: a macro whose text differs from one request to the next, with more behind it";
    RegexSlow = "regex.slow", Note, Build, "`check` of a scene, a preset or a card: a regular expression that may take long, or that is refused for it";
    MacroFailed = "macro.failed", Warning, Build, "a macro could not be evaluated and was kept";
    SceneField = "scene.field", Warning, Build, "a value of the scene is not used as given";
    SceneType = "scene.type", Warning, Build, "a value of the scene is not of the type that the pack declares";
    SettingUnsent = "dialect.unsent", Warning, Build, "a setting of the scene is not sent by the dialect";
    // artifacts
    ArtifactTagRequired = "artifact.tag_required", Error, Load, "an artifact that outlives the run has no tag";
    ArtifactTag = "artifact.tag_invalid", Error, Load, "a tag cannot be written behind `art.`";
    ArtifactCollision = "artifact.tag_collision", Error, Load, "two artifacts have one tag";
    ArtifactContent = "artifact.state_content_type", Error, Load, "an artifact of kind `state` is not JSON";
    ArtifactRetention = "artifact.retention_access", Error, Load, "the retention and the access of an artifact contradict each other";
    ArtifactForeign = "artifact.foreign_writer", Error, Load, "a writer or operation writes an artifact that belongs to another one";
    ArtifactUndeclared = "artifact.undeclared_tag", Error, Load, "something is written that no row declares as an artifact";
    ArtifactInclusion = "artifact.inclusion", Error, Load, "the parts of an inclusion contradict each other";
    ArtifactUnused = "artifact.unused", Warning, Load, "a declaration of an artifact, or a part of it, has no effect";
    ArtifactRefused = "artifact.refused", Error, Elsewhere, "a write to an artifact is refused";
    OperationFailed = "operation.failed", Warning, Build, "an operation of a turn failed, or what was recorded for it was not used";
    OperationWaiting = "operation.waiting", Warning, Build, "an operation waits for a model, so the prompt is not what a turn would send";
    ArtifactConflict = "artifact_conflict", Error, Elsewhere, "an artifact was written by somebody else since it was read";
    FeatureMissing = "feature.missing", Error, Elsewhere, "what is asked for was left out when the program was compiled";
    // storing templates and sessions
    StoreName = "store.name", Error, Elsewhere, "a name that cannot be used for storing, or that differs from the name of what is stored there";
    StoreTaken = "store.taken", Error, Elsewhere, "something with this name is stored already";
    StoreConfirm = "store.confirm", Error, Elsewhere, "something would be removed for good, and that was not confirmed";
    StoreUrl = "store.url", Error, Elsewhere, "the address of a store cannot be read";
    StoreUnreachable = "store.unreachable", Error, Elsewhere, "a database cannot be reached, or the connection to it was lost";
    StoreBusy = "store.busy", Error, Elsewhere, "a database stays locked by other programs";
    StoreFull = "store.full", Error, Elsewhere, "a database or its disk has no room left";
    StoreReadOnly = "store.read_only", Error, Elsewhere, "a database cannot be written";
    StoreDamaged = "store.damaged", Error, Elsewhere, "a file is not a database, or what is stored in a database is damaged";
    StoreNewer = "store.newer", Error, Elsewhere, "the tables of a database were made by a newer release";
    StoreTooLarge = "store.too_large", Error, Elsewhere, "a value is larger, or nested deeper, than a store accepts";
    StoreFailed = "store.failed", Error, Elsewhere, "a database refused a request for another reason";
    // sharing packs
    ShareArchive = "share.archive", Error, Elsewhere, "an archive of a pack is damaged or hostile, or a pack cannot be put into one";
    ShareDigest = "share.digest", Error, Elsewhere, "a pack is not the one that a lock or an index names";
    ShareSignature = "share.signature", Error, Elsewhere, "a signature or a key is missing, cannot be read, or does not fit";
    ShareTaken = "share.taken", Error, Elsewhere, "a pack of this name is there already, or is still needed by another one";
    ShareOtherIndex = "share.other_index", Warning, Elsewhere, "a newer release is not taken, because the pack belongs to another index";
    ShareBusy = "share.busy", Note, Elsewhere, "another process changes the folder of installed packs, and this one waits";
    ShareUnmet = "share.unmet", Error, Elsewhere, "a pack that is asked for cannot be found";
    ShareUnreachable = "share.unreachable", Error, Elsewhere, "an index, an archive or a signature cannot be fetched";
    ShareIndex = "share.index", Error, Elsewhere, "an index of packs, a lock or a file of trusted keys cannot be used";
    ShareLeftOut = "share.left_out", Note, Elsewhere, "a file of a pack's folder is not part of its archive";
    ShareUnsigned = "share.unsigned", Warning, Elsewhere, "an installed pack is not signed by a trusted key";
    ServeGateway = "serve.gateway", Error, Elsewhere, "the configuration of a gateway cannot be used";
    ServeAddress = "serve.address", Error, Elsewhere, "an address cannot be listened on, or is open to other machines without a token";
    // importing files of other programs
    ImportFormat = "import.format", Error, Elsewhere, "a file is not of a known format";
    ImportContainer = "import.container", Error, Elsewhere, "a container file is damaged or hostile";
    ImportLine = "import.line", Warning, Elsewhere, "a line of a chat cannot be read and is skipped";
    ImportRole = "import.role", Warning, Elsewhere, "a file is given as another part of a scene than it is";
    ImportValue = "import.value", Warning, Elsewhere, "a value of a foreign file is not used as given";
}
