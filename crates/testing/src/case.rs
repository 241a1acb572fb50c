//! Case files: finding them, and reading the pack, the rows that are laid over it, and the cases: what runs, on what, and what is
//! expected.
//!
//! The schema has checked each row, so a value of another type does not occur; what the schema cannot say is checked here.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::diag::{Code, Diagnostic, DocumentNode, Report, Sources, TableField, limits, suggest};
use crate::model::{Scene, Value};
use crate::pack::PackError;
use crate::pack::files::{is_pack, is_rule_file, pack_around, read_file};
use crate::pack::read::RuleDocument;
use crate::pack::rows::is_meta;
use crate::pack::{DEFAULT_PACK, Overlay, PackLibrary, RuleFile, Ruleset, Schemas, Start, load_read};

/// What a case runs.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseAction {
    /// Programs or passes, one after another over one state.
    Run(Vec<String>),
    /// The build of a scene.
    Build,
    /// The build, and its payload in this dialect; `None`: in the dialect that the scene or the pack names.
    Payload(Option<String>),
    /// Texts with macros, each with names that hold for it alone.
    Expand(Vec<(String, Value)>),
    /// A document of another program.
    Import {
        /// The document, as the case holds it.
        document: Option<Json>,
        /// The file that holds it.
        file: Option<String>,
        /// The format; otherwise it is recognised.
        format: Option<String>,
    },
}

/// What one run is given.
#[derive(Debug, Clone, Default)]
pub struct RunInputs {
    /// The scene, laid over that of the scene file.
    pub scene: Json,
    /// A scene file, by its path from the case file.
    pub scene_file: Option<String>,
    /// Items of lists.
    pub lists: Vec<(String, Json)>,
    /// Scripted draws.
    pub draws: Vec<f64>,
    /// The time.
    pub now: Option<String>,
    /// The seed.
    pub seed: Option<String>,
    /// Warnings are errors.
    pub strict: bool,
}

/// One turn of a case. A case without turns has one.
#[derive(Debug, Clone)]
pub struct CaseTurn {
    /// What runs.
    pub action: CaseAction,
    /// What it is given.
    pub given: RunInputs,
    /// What is expected of it, as it is written.
    pub expect: Option<DocumentNode>,
    /// What is expected is what once came out, and `--update` writes it anew.
    pub snapshot: bool,
    /// The turn, or the case, as it is written.
    pub node: DocumentNode,
}

/// A case.
#[derive(Debug, Clone)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// The row as it is written.
    pub node: DocumentNode,
    /// Rule files that are laid over the rules of the case file, by their paths from it.
    pub overlays: Vec<String>,
    /// Sizes of accounts.
    pub budget: Option<Map<String, Json>>,
    /// How the items of lists are shown: the list, and the line of an item.
    pub show: Vec<(String, String)>,
    /// Its turns.
    pub turns: Vec<CaseTurn>,
}

/// A case that is not sound.
#[derive(Debug, Clone)]
pub struct UnsoundCase {
    /// The value that is wrong.
    pub node: Box<DocumentNode>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// The keys that say what a case runs.
const ACTIONS: [&str; 5] = ["run", "build", "dialect", "expand", "import"];

/// Reads a row. `shared` is the table `given` of the file, whose keys count where the row does not have its own.
///
/// # Errors
/// It says not what runs, or says it more than once.
fn read_case(node: &DocumentNode, shared: Option<&DocumentNode>) -> Result<TestCase, UnsoundCase> {
    let nothing = RunInputs { scene: Json::Object(Map::new()), ..RunInputs::default() };
    let base = shared.map_or_else(|| nothing.clone(), |shared| given(shared, &nothing));
    let base = given(node, &base);
    let wrong =
        |node: &DocumentNode, message: String, help: &str| UnsoundCase { node: Box::new(node.clone()), message, help: help.to_owned() };
    let name = text(node, "name").unwrap_or_default();
    if let Some(actions) = duplicate_actions(node) {
        return Err(wrong(node, format!("case `{name}` has both {actions}"), "a case runs one thing; write a second case"));
    }
    let own = action(node).or_else(|| shared.and_then(action));
    let turns = node.get("turns").and_then(DocumentNode::as_list).unwrap_or_default();
    let expect = expected(node);
    let mut all = Vec::with_capacity(turns.len().max(1));
    for turn in turns {
        if let Some(actions) = duplicate_actions(turn) {
            return Err(wrong(turn, format!("a turn of case `{name}` has both {actions}"), "a turn runs one thing; write a second turn"));
        }
        let Some(action) = action(turn).or_else(|| own.clone()) else {
            let message = format!("case `{name}` does not say what this turn runs");
            return Err(wrong(turn, message, "add `run = \"program\"`, `build = true`, `dialect = \"…\"`, `expand` or `import`"));
        };
        all.push(CaseTurn { action, given: given(turn, &base), expect: expected(turn), snapshot: is_snapshot(turn), node: turn.clone() });
    }
    if turns.is_empty() {
        let Some(action) = own else {
            let message = format!("case `{name}` does not say what runs");
            return Err(wrong(node, message, "add `run = \"program\"`, `build = true`, `dialect = \"…\"`, `expand` or `import`"));
        };
        all.push(CaseTurn { action, given: base, expect, snapshot: is_snapshot(node), node: node.clone() });
    } else if let Some(expect) = &expect {
        let message = format!("case `{name}` has turns and an `expect` of its own");
        return Err(wrong(expect, message, "write `expect` into the turns"));
    } else if let Some(snapshot) = node.get("snapshot") {
        let message = format!("case `{name}` has turns and a `snapshot` of its own");
        return Err(wrong(snapshot, message, "write `snapshot` into the turns, beside their `expect`"));
    }
    let own = |key: &str| node.get(key).or_else(|| shared.and_then(|shared| shared.get(key)));
    let show = own("show").map(json_of).unwrap_or_default();
    let show = show.as_object().into_iter().flatten().filter_map(|(list, line)| Some((list.clone(), line.as_str()?.to_owned()))).collect();
    let budget = own("budget").and_then(|budget| json_of(budget).as_object().cloned());
    Ok(TestCase { name, node: node.clone(), overlays: texts(node.get("overlays")), budget, show, turns: all })
}

fn is_snapshot(node: &DocumentNode) -> bool {
    node.get("snapshot").and_then(DocumentNode::as_bool).unwrap_or_default()
}

/// The keys that say what runs, where a table has more than one of them.
fn duplicate_actions(node: &DocumentNode) -> Option<String> {
    let actions: Vec<&str> = ACTIONS.into_iter().filter(|key| node.get(key).is_some()).collect();
    (actions.len() > 1).then(|| format!("`{}`", actions.join("` and `")))
}

/// What is expected. An empty table expects nothing yet, as if it were not written.
fn expected(node: &DocumentNode) -> Option<DocumentNode> {
    node.get("expect").filter(|expect| expect.as_table().is_none_or(|table| !table.is_empty())).cloned()
}

fn action(node: &DocumentNode) -> Option<CaseAction> {
    if let Some(run) = node.get("run") {
        return Some(CaseAction::Run(texts(Some(run))));
    }
    if node.get("build").is_some() {
        return Some(CaseAction::Build);
    }
    if let Some(dialect) = node.get("dialect") {
        return Some(CaseAction::Payload(dialect.as_text().map(str::to_owned)));
    }
    if let Some(expand) = node.get("expand") {
        let one = |node: &DocumentNode| match node.as_text() {
            Some(text) => (text.to_owned(), Value::Null),
            None => (text(node, "text").unwrap_or_default(), node.get("with").map(Value::from).unwrap_or_default()),
        };
        return Some(CaseAction::Expand(match expand.as_list() {
            Some(list) => list.iter().map(one).collect(),
            None => vec![one(expand)],
        }));
    }
    let import = node.get("import")?;
    Some(CaseAction::Import { document: import.get("document").map(json_of), file: text(import, "file"), format: text(import, "format") })
}

/// What a turn is given, over what the case gives to all of them.
fn given(node: &DocumentNode, base: &RunInputs) -> RunInputs {
    let json = json_of(node);
    let mut scene = Value::from(&base.scene);
    if let Some(own) = json.get("scene") {
        scene = Scene::of_written(Value::from(own)).0.over(scene);
    }
    let mut lists = base.lists.clone();
    for (name, rows) in json.get("lists").and_then(Json::as_object).into_iter().flatten() {
        lists.retain(|(known, _)| known != name);
        lists.push((name.clone(), rows.clone()));
    }
    let draws = json.get("draws").and_then(Json::as_array);
    RunInputs {
        scene: scene.to_json(),
        scene_file: text(node, "scene_file").or_else(|| base.scene_file.clone()),
        lists,
        draws: draws.map_or_else(|| base.draws.clone(), |draws| draws.iter().filter_map(Json::as_f64).collect()),
        now: text(node, "now").or_else(|| base.now.clone()),
        seed: json.get("seed").map(|seed| seed.as_str().map_or_else(|| seed.to_string(), str::to_owned)).or_else(|| base.seed.clone()),
        strict: node.get("strict").and_then(DocumentNode::as_bool).unwrap_or(base.strict),
    }
}

fn text(node: &DocumentNode, key: &str) -> Option<String> {
    node.get(key).and_then(DocumentNode::as_text).map(str::to_owned)
}

/// One text or a list of them.
fn texts(node: Option<&DocumentNode>) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    let one = std::slice::from_ref(node);
    node.as_list().unwrap_or(one).iter().filter_map(DocumentNode::as_text).map(str::to_owned).collect()
}

/// A value of a file as JSON.
pub fn json_of(node: &DocumentNode) -> Json {
    use crate::diag::NodeValue;
    match &node.data {
        NodeValue::Null => Json::Null,
        NodeValue::Bool(b) => Json::Bool(*b),
        NodeValue::Int(n) => Json::from(*n),
        NodeValue::Float(n) => Json::from(*n),
        NodeValue::Text(text) => Json::from(text.as_ref()),
        NodeValue::List(list) => Json::Array(list.iter().map(json_of).collect()),
        NodeValue::Table(table) => {
            Json::Object(table.iter().map(|(key, TableField { node, .. })| (key.to_string(), json_of(node))).collect())
        }
    }
}

/// The name of the overlay that a case makes of its sizes of accounts.
pub(super) const SIZES: &str = "budget";
/// The folder of a pack that holds its cases.
pub const FOLDER: &str = "cases";
/// The kind of a case file.
const KIND: &str = "case";

/// A case file, read.
#[derive(Debug)]
pub struct CaseFile {
    /// The path, as messages show it.
    pub shown: String,
    /// The folder that its paths begin in.
    pub base: PathBuf,
    /// The pack.
    pub pack: Start,
    /// Rule files that are laid over the pack, the last on top; the rows of the file itself are among them.
    pub overlays: Vec<Overlay>,
    /// The cases, in order.
    pub cases: Vec<TestCase>,
    /// The whole file as it is written.
    pub root: DocumentNode,
    /// The text of the file.
    pub sources: Sources,
}

impl CaseFile {
    /// What the file gives to all of its cases.
    #[must_use]
    pub fn given(&self) -> Option<&DocumentNode> {
        self.root.get("given")
    }

    /// The line of a case.
    #[must_use]
    pub fn line(&self, case: &TestCase) -> usize {
        self.sources.place(case.node.span).map_or(0, |at| at.line)
    }

    /// The rules of the file: its pack, with its overlays and its rows over it. That the pack or an overlay is not there is
    /// told where the file names the pack.
    ///
    /// # Errors
    /// As for [`Ruleset::load`].
    pub fn rules(&self, library: &dyn PackLibrary) -> Result<Ruleset, PackError> {
        Ruleset::load(&self.pack, &self.overlays, library).map_err(|rejected| {
            let Some(pack) = self.root.get("pack") else { return rejected };
            if rejected.report.items().iter().any(|d| d.span.is_some()) {
                return rejected;
            }
            let report = rejected.report.items().iter().cloned().map(|d| d.at(pack.span)).collect();
            PackError { report, sources: self.sources.clone() }
        })
    }

    /// Whether it is written in TOML, which `--update` can change.
    #[must_use]
    pub fn is_toml(&self) -> bool {
        self.shown.ends_with(".toml")
    }

    /// What a case lays over the rules of the file: its overlays, and the sizes of accounts.
    #[must_use]
    pub fn overlays_of(&self, case: &TestCase) -> Vec<Overlay> {
        let files = case.overlays.iter().map(|path| Overlay::Path(beside_case(&self.base, path)));
        let sizes = case.budget.as_ref().map(|budget| {
            let accounts: Vec<Json> = budget.iter().map(|(name, size)| json!({ "name": name, "size": size })).collect();
            let bytes = json!({ "kind": "overlay", "version": 2, "budget": accounts }).to_string().into_bytes();
            Overlay::File(RuleFile { name: SIZES.to_owned(), path_in_pack: "budget.json".to_owned(), bytes })
        });
        files.chain(sizes).collect()
    }
}

/// The path of case files that are no files: no system has it.
pub const NOWHERE: &str = "\0/case";

/// The path of a file that a case file names: from its folder, or, for a case file at [`NOWHERE`], one that no system has.
pub(super) fn beside_case(base: &Path, file: &str) -> PathBuf {
    // an absolute path would replace the folder
    if Path::new(NOWHERE).parent() == Some(base) { base.join(format!("\0{file}")) } else { base.join(file) }
}

/// The path of a file that a case writes and reads, which lies in the folder of the case file or below it.
///
/// # Errors
/// The path leads elsewhere, or through a link.
pub fn beside(base: &Path, file: &str) -> Result<PathBuf, String> {
    let path = Path::new(file);
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_))) && path.file_name().is_some();
    let whole = base.join(path);
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|kind| kind.is_symlink());
    let through_link = whole.ancestors().take(path.components().count()).any(is_link);
    if is_below && !through_link {
        return Ok(whole);
    }
    Err(format!("`{file}` does not lie beside the case file; name a file in its folder or below it"))
}

/// The JSON of such a file.
///
/// # Errors
/// It is not a file, too large, or not JSON.
pub fn payload(path: &Path, file: &str) -> Result<Json, String> {
    let read = read_file(path, &mut Report::default());
    read.and_then(|read| serde_json::from_slice(&read.bytes).ok()).ok_or_else(|| format!("`{file}` is no file of JSON beside the case"))
}

/// A case file that cannot be used.
#[derive(Debug)]
pub struct UnreadableFile {
    /// The path, as messages show it.
    pub shown: String,
    /// What is wrong.
    pub report: Box<Report>,
    /// The text of the file.
    pub sources: Box<Sources>,
    /// The names of its cases, and their lines: none of them runs.
    pub cases: Box<[(String, usize)]>,
}

/// The rule files in a folder and its subfolders, sorted. Links are not followed.
#[must_use]
pub fn in_folder(folder: &Path) -> Vec<PathBuf> {
    files_in(folder, |path, is_folder| is_folder || is_rule_file(path)).0
}

/// The files in a folder and its subfolders, sorted, and whether these are all: only so many are looked at. Links and what is
/// hidden are left out, and each file and folder that `wants` refuses, which is told which of them it is.
pub fn files_in(folder: &Path, wants: impl Fn(&Path, bool) -> bool) -> (Vec<PathBuf>, bool) {
    let (mut open, mut found, mut entries, mut is_whole) = (vec![(folder.to_owned(), 0)], Vec::new(), 0, true);
    'all: while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > limits::ENTRIES {
                is_whole = false;
                break 'all;
            }
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            match entry.file_type() {
                Ok(kind) if is_hidden || !wants(&path, kind.is_dir()) => {}
                Ok(kind) if kind.is_dir() && depth < limits::CHAIN => open.push((path, depth + 1)),
                Ok(kind) if kind.is_dir() => is_whole = false,
                Ok(kind) if kind.is_file() => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    (found, is_whole)
}

/// The packs right in a folder, in its `rules`, or the folder itself.
#[must_use]
pub fn packs_from(folder: &Path) -> Vec<PathBuf> {
    if is_pack(folder) {
        return vec![folder.to_owned()];
    }
    let inside =
        |folder: &Path| -> Vec<PathBuf> { crate::pack::files::packs_in(folder).into_iter().map(|name| folder.join(name)).collect() };
    let here: Vec<PathBuf> = inside(folder);
    here.into_iter().chain(inside(&folder.join("rules"))).collect()
}

/// Whether a rule file says that it holds cases. Another file of a folder of cases, such as an overlay, does not count.
#[must_use]
pub fn is_case_file(path: &Path) -> bool {
    let mut report = Report::default();
    let Some(file) = read_file(path, &mut report) else { return true };
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    load_read(&file, Schemas::shipped()).0.is_none_or(|doc| holds_cases(&doc) || nearly_holds_cases(&doc, is_toml))
}

/// Whether what is read of a file says that it holds cases.
#[must_use]
pub fn holds_cases(doc: &RuleDocument) -> bool {
    &*doc.kind == KIND || doc.root.get(FOLDER).is_some() || doc.root.get(KIND).is_some()
}

/// Whether a file of no known kind was certainly meant to hold cases: its kind, or in TOML the name of its rows, is that of
/// cases with a slip. It is told as a case file that cannot be used; in JSON, the document of a case has such names too.
#[must_use]
pub fn nearly_holds_cases(doc: &RuleDocument, is_toml: bool) -> bool {
    let near = |word: &str| suggest::nearest(word, [KIND, FOLDER]).is_some();
    let are_rows = |node: &DocumentNode| node.as_list().is_some_and(|rows| rows.iter().any(|row| row.as_table().is_some()));
    let rows = || doc.root.as_table().into_iter().flatten().any(|(name, field)| near(name) && are_rows(&field.node));
    doc.kind.is_empty() && (doc.root.get("kind").and_then(DocumentNode::as_text).is_some_and(near) || is_toml && rows())
}

/// Reads a case file from a disk.
///
/// # Errors
/// It cannot be read, or does not fit its schema.
pub fn read_path(path: &Path) -> Result<CaseFile, UnreadableFile> {
    let shown = path.display().to_string().replace('\\', "/");
    let mut report = Report::default();
    match read_file(path, &mut report) {
        Some(file) => read(&file, path),
        None => Err(UnreadableFile { shown, report: Box::new(report), sources: Box::default(), cases: Box::default() }),
    }
}

/// Reads a case file from its bytes; paths in it begin at the folder of `path`.
///
/// # Errors
/// As for [`read_path`].
pub fn read(file: &RuleFile, path: &Path) -> Result<CaseFile, UnreadableFile> {
    let (doc, mut report, sources) = load_read(file, Schemas::shipped());
    let shown = file.name.clone();
    let names = doc.as_ref().map(|doc| named_cases(&doc.root, &sources)).unwrap_or_default();
    let refuse = |report: Report, sources: Sources| {
        Err(UnreadableFile { shown: shown.clone(), report: Box::new(report), sources: Box::new(sources), cases: names.clone().into() })
    };
    let Some(doc) = doc.filter(|_| !report.has_errors()) else { return refuse(report, sources) };
    if &*doc.kind != KIND {
        let complaint = Diagnostic::new(Code::SchemaValue, format!("`{shown}` is not a case file")).at(doc.root.span);
        report.push(complaint.help("a case file begins with `kind = \"case\"` and `version = 2`"));
        return refuse(report, sources);
    }
    let base = path.parent().unwrap_or(Path::new("")).to_owned();
    let shared = doc.root.get("given");
    if let Some((shared, actions)) = shared.and_then(|shared| Some((shared, duplicate_actions(shared)?))) {
        report.push(Diagnostic::new(Code::SchemaValue, format!("`given` has both {actions}")).at(shared.span).help("keep one of them"));
    }
    let mut cases = Vec::new();
    for node in doc.root.get("case").and_then(DocumentNode::as_list).unwrap_or_default() {
        match read_case(node, shared) {
            Ok(case) => cases.push(case),
            Err(wrong) => report.push(Diagnostic::new(Code::SchemaValue, wrong.message).at(wrong.node.span).help(wrong.help)),
        }
    }
    for (n, case) in cases.iter().enumerate() {
        if cases.iter().take(n).any(|other| other.name == case.name) {
            let name = case.node.get("name").map_or(case.node.span, |name| name.span);
            report.push(Diagnostic::new(Code::SchemaValue, format!("two cases are named `{}`", case.name)).at(name).help("rename one"));
        }
    }
    let files = doc.root.get("overlays").and_then(DocumentNode::as_list).unwrap_or_default();
    report.extend(missing_overlays(files, &base));
    if report.has_errors() {
        return refuse(report, sources);
    }
    let pack = match doc.root.get("pack").and_then(DocumentNode::as_text) {
        Some(pack) => Start::named(pack, beside_case(&base, pack)),
        None => unnamed_pack(path),
    };
    let mut overlays: Vec<Overlay> =
        files.iter().filter_map(DocumentNode::as_text).map(|file| Overlay::Path(beside_case(&base, file))).collect();
    // the rows of the file itself come over them
    if doc.root.as_table().is_some_and(|table| table.keys().any(|key| !is_meta(key, KIND) || &**key == "arrange")) {
        overlays.push(Overlay::Rows(file.clone()));
    }
    Ok(CaseFile { shown, base, pack, overlays, cases, root: doc.root, sources })
}

/// The names of the cases in a file, with their lines.
fn named_cases(root: &DocumentNode, sources: &Sources) -> Vec<(String, usize)> {
    let rows = root.get(KIND).and_then(DocumentNode::as_list).unwrap_or_default();
    let line = |node: &DocumentNode| sources.place(node.span).map_or(0, |at| at.line);
    rows.iter().map(|row| (row.get("name").and_then(DocumentNode::as_text).unwrap_or_default().to_owned(), line(row))).collect()
}

/// The overlays among these that are not there.
pub(super) fn missing_overlays(named: &[DocumentNode], base: &Path) -> Report {
    let missing = |node: &DocumentNode| {
        let path = node.as_text().filter(|path| !beside_case(base, path).exists())?;
        let complaint = Diagnostic::new(Code::FileMissing, format!("there is no overlay `{path}`")).at(node.span);
        Some(complaint.help("name it by its path from the case file"))
    };
    named.iter().filter_map(missing).collect()
}

/// The pack of a case file that names none.
fn unnamed_pack(path: &Path) -> Start {
    let around = if path == Path::new(NOWHERE) { None } else { pack_around(path) };
    around.map_or_else(|| Start::Name(DEFAULT_PACK.to_owned()), Start::Folder)
}
