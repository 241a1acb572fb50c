//! One row `[[case]]`, read: what runs, on what, and what is expected.
//!
//! The schema has checked the row, so a value of another type does not occur; what the schema cannot say is checked here.

use serde_json::{Map, Value as Json};

use crate::diag::{DocumentNode, TableField};
use crate::model::{Scene, Value};

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
pub fn read(node: &DocumentNode, shared: Option<&DocumentNode>) -> Result<TestCase, UnsoundCase> {
    let nothing = RunInputs { scene: Json::Object(Map::new()), ..RunInputs::default() };
    let base = shared.map_or_else(|| nothing.clone(), |shared| given(shared, &nothing));
    let base = given(node, &base);
    let wrong =
        |node: &DocumentNode, message: String, help: &str| UnsoundCase { node: Box::new(node.clone()), message, help: help.to_owned() };
    let name = text(node, "name").unwrap_or_default();
    if let Some(said) = said_twice(node) {
        return Err(wrong(node, format!("case `{name}` has both {said}"), "a case runs one thing; write a second case"));
    }
    let own = action(node).or_else(|| shared.and_then(action));
    let turns = node.get("turns").and_then(DocumentNode::as_list).unwrap_or_default();
    let expect = expected(node);
    let mut all = Vec::with_capacity(turns.len().max(1));
    for turn in turns {
        if let Some(said) = said_twice(turn) {
            return Err(wrong(turn, format!("a turn of case `{name}` has both {said}"), "a turn runs one thing; write a second turn"));
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
pub(super) fn said_twice(node: &DocumentNode) -> Option<String> {
    let said: Vec<&str> = ACTIONS.into_iter().filter(|key| node.get(key).is_some()).collect();
    (said.len() > 1).then(|| format!("`{}`", said.join("` and `")))
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
