//! `tapster ops`: the vocabulary of rule files, printed from the tables that the engine itself uses.

use clap::Args;
use serde_json::{Map as JsonMap, Value as Json, json};
use tapster::machinery::verbs::{SHARED, VERBS};

use crate::exit::{Result, RunExit};
use crate::inputs::library::open_pack;
use crate::layout::table;
use crate::model::Term;
use crate::model::pack::PackRow;
use crate::model::term::names;
use crate::output::Console;
use crate::pack::{DEFAULT_PACK, KINDS, Ruleset, Schemas, Start};
use crate::syntax::{conditions, selections, steps, values};
use crate::terms::calc;
use crate::terms::names::DeclaredName;
use crate::text::functions::FUNCTIONS;

/// List the vocabulary of rule files; without a flag, all of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster ops --verbs                     what a pass can do
  tapster ops --values                    what a value can be
  tapster ops --scene --pack base         what a scene may hold
  tapster ops --tables --pack my-pack     the tables and columns of a pack's own
  tapster ops --rows --format json        the fields of items, for tools")]
pub(crate) struct OpsArgs {
    /// The verbs, with their own terms and their cost.
    #[arg(long)]
    verbs: bool,
    /// The terms of a pass.
    #[arg(long)]
    terms: bool,
    /// The forms of values.
    #[arg(long)]
    values: bool,
    /// The functions of values, and those of `calc`.
    #[arg(long)]
    functions: bool,
    /// The row types of a pack and their fields.
    #[arg(long)]
    rows: bool,
    /// The paths, lists, draw streams, budget groups and regions of a pack.
    #[arg(long)]
    scene: bool,
    /// The steps of `shape`.
    #[arg(long)]
    steps: bool,
    /// The tests of conditions.
    #[arg(long)]
    tests: bool,
    /// The kinds of files, and the programs, dialects and foreign formats of a pack.
    #[arg(long)]
    kinds: bool,
    /// The tables and columns that a pack declares beside those of the language.
    #[arg(long)]
    tables: bool,
    /// The pack whose rows and paths are listed [default: base].
    #[arg(long)]
    pack: Option<String>,
}

/// A part of the vocabulary: a title, and rows of a name with its description.
struct VocabularySection {
    title: String,
    rows: Vec<Json>,
}

/// Makes sections that do not need a pack.
type SectionMaker = fn() -> Vec<VocabularySection>;

impl OpsArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let flags =
            [self.verbs, self.terms, self.values, self.functions, self.rows, self.scene, self.steps, self.tests, self.kinds, self.tables];
        let all = !flags.contains(&true);
        let mut sections = Vec::new();
        let fixed: [(bool, SectionMaker); 6] = [
            (self.verbs, verbs),
            (self.terms, terms),
            (self.tests, tests),
            (self.values, forms),
            (self.functions, functions),
            (self.steps, shape_steps),
        ];
        for (wanted, make) in fixed {
            if wanted || all {
                sections.extend(make());
            }
        }
        if all || self.rows || self.scene || self.kinds || self.tables {
            let rules = open_pack(&Start::typed(self.pack.as_deref().unwrap_or(DEFAULT_PACK)), &[], show)?;
            if all || self.rows {
                sections.extend(rows(&rules));
            }
            if all || self.scene {
                sections.extend(scene(&rules));
            }
            if all || self.tables {
                sections.extend(tables(&rules));
            }
            if all || self.kinds {
                sections.extend(kinds(&rules));
            }
        }
        print(&sections, show);
        Ok(RunExit::Done)
    }
}

fn print(sections: &[VocabularySection], show: &mut Console<'_>) {
    if show.is_json() {
        let all: JsonMap<String, Json> = sections.iter().map(|s| (s.title.clone(), Json::Array(s.rows.clone()))).collect();
        show.json(&Json::Object(all));
        return;
    }
    for (n, section) in sections.iter().enumerate() {
        let gap = if n == 0 { "" } else { "\n" };
        let rows: Vec<Vec<String>> = section.rows.iter().map(cells).collect();
        show.result(&format!("{gap}{}\n{}", section.title, table(&rows)));
    }
}

/// The cells of a row in the order of its keys.
fn cells(row: &Json) -> Vec<String> {
    let cell = |v: &Json| match v {
        Json::String(s) => s.clone(),
        Json::Array(a) => a.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect::<Vec<_>>().join(", "),
        Json::Null => String::new(),
        other => other.to_string(),
    };
    row.as_object().into_iter().flatten().map(|(_, v)| cell(v)).collect()
}

fn section(title: impl Into<String>, rows: impl IntoIterator<Item = Json>) -> VocabularySection {
    VocabularySection { title: title.into(), rows: rows.into_iter().collect() }
}

fn verbs() -> Vec<VocabularySection> {
    vec![section(
        "verbs",
        VERBS.iter().map(|v| json!({ "name": v.name, "doc": v.doc, "terms": names(v.terms).collect::<Vec<_>>(), "cost": v.cost })),
    )]
}

fn terms() -> Vec<VocabularySection> {
    let row = |term: &Term| json!({ "name": term.name, "doc": term.description() });
    vec![section("terms of every pass", SHARED.iter().map(row)), section("terms of a selection", selections::TERMS.iter().map(row))]
}

fn tests() -> Vec<VocabularySection> {
    vec![section("tests", conditions::TESTS.iter().map(|name| json!({ "name": name, "doc": test_doc(name) })))]
}

fn forms() -> Vec<VocabularySection> {
    let by_themselves: [(&str, &[&str]); 3] = [("of", &[]), ("fn", &[]), ("form", &[])];
    let row = |(word, others): &(&str, &[&str])| json!({ "name": word, "with": others, "doc": form_doc(word) });
    vec![section("forms of values", by_themselves.iter().chain(values::FORMS).map(row))]
}

fn functions() -> Vec<VocabularySection> {
    let args =
        |args: &[(&str, bool)]| -> Vec<String> { args.iter().map(|(n, must)| format!("{n}{}", if *must { "" } else { "?" })).collect() };
    vec![
        section("functions", FUNCTIONS.iter().map(|f| json!({ "name": f.name, "args": args(f.args), "doc": f.doc }))),
        section("functions of calc", calc::NAMES.iter().map(|(name, _)| json!({ "name": name }))),
    ]
}

fn shape_steps() -> Vec<VocabularySection> {
    vec![section("steps of shape", steps::STEPS.iter().map(|(name, doc)| json!({ "name": name, "doc": doc })))]
}

fn rows(rules: &Ruleset) -> Vec<VocabularySection> {
    let types = &rules.programs().rules.names.fields;
    types.iter().map(|(row, fields)| section(format!("fields of {row}"), fields.iter().map(declared))).collect()
}

fn declared((name, what): (&std::sync::Arc<str>, &DeclaredName)) -> Json {
    json!({ "name": &**name, "type": what.kind.word(), "doc": &*what.doc })
}

fn scene(rules: &Ruleset) -> Vec<VocabularySection> {
    let own = &rules.programs().rules;
    let plain = |(name, doc): (&std::sync::Arc<str>, &std::sync::Arc<str>)| json!({ "name": &**name, "doc": &**doc });
    let lists = own.lists.iter().map(|l| {
        let rows: Vec<&str> = l.rows.iter().map(AsRef::as_ref).collect();
        json!({ "name": &*l.name, "rows": rows, "from": l.from.as_deref(), "doc": &*l.doc })
    });
    vec![
        section("paths", own.names.paths.iter().map(declared)),
        section("lists", lists),
        section("draw streams", own.names.streams.iter().map(plain)),
        section("budget groups", own.names.groups.iter().map(plain)),
        section("regions", own.names.regions.iter().map(plain)),
    ]
}

/// The tables that the pack declares, and the columns of those and of the language's tables.
fn tables(rules: &Ruleset) -> Vec<VocabularySection> {
    let pack = rules.pack();
    let json_of = |row: &PackRow, key: &str| row.fields.get(key).map(|field| field.node.to_json()).unwrap_or_default();
    let table = |row: &PackRow| {
        let held = pack.tables.get(&row.name).map_or(0, indexmap::IndexMap::len);
        json!({ "name": &*row.name, "rows": held, "doc": json_of(row, "doc") })
    };
    let column = |row: &PackRow| {
        let kind = row.text("type").unwrap_or("any");
        let needed = if json_of(row, "required") == Json::Bool(true) { "required" } else { "" };
        json!({
            "name": &*row.name, "type": kind, "required": needed, "default": json_of(row, "default"),
            "values": json_of(row, "values"), "doc": json_of(row, "doc"),
        })
    };
    vec![section("tables of the pack", pack.rows("table").map(table)), section("columns of the pack", pack.rows("column").map(column))]
}

fn kinds(rules: &Ruleset) -> Vec<VocabularySection> {
    let programs = rules.programs();
    let lists = &programs.rules.lists;
    let program = |p: &crate::program::Program| {
        let list = lists.get(p.list).map(|l| &*l.name);
        json!({ "name": &*p.name, "list": list, "passes": p.passes().len() })
    };
    vec![
        section("kinds of files", KINDS.iter().map(|(name, doc)| json!({ "name": name, "doc": doc }))),
        section("programs", programs.list.iter().map(program)),
        section("dialects", crate::build::dialects(rules).into_iter().map(|name| json!({ "name": name }))),
        section("foreign formats", programs.formats.iter().map(|f| json!({ "name": &*f.name, "doc": &*f.about }))),
    ]
}

/// The description of a form of values in the schema, by the word that names the form.
fn form_doc(word: &str) -> String {
    let definition = match word {
        "of" => "query",
        "form" => "as_form",
        "table" => "as_table",
        "value" => "as_value",
        own => own,
    };
    let schema = Schemas::shipped().get("terms.v2.json");
    schema.and_then(|s| s.pointer(&format!("/definitions/{definition}/description"))).and_then(Json::as_str).unwrap_or("").to_owned()
}

/// The description of a test in the schema of tests.
fn test_doc(name: &str) -> String {
    let mut open: Vec<&Json> = Schemas::shipped().get("terms.v2.json").and_then(|s| s.pointer("/definitions/test")).into_iter().collect();
    while let Some(node) = open.pop() {
        if let Some(doc) = node.pointer(&format!("/properties/{name}/description")).and_then(Json::as_str) {
            return doc.to_owned();
        }
        open.extend(node.as_object().into_iter().flatten().map(|(_, v)| v));
        open.extend(node.as_array().into_iter().flatten());
    }
    String::new()
}
