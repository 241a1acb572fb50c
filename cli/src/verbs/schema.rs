//! `tapster schema`: the JSON Schemas, for editors and other tools.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use crate::diag::{Code, suggest};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::files::{make_folder, write_file};
use crate::inputs::library::open_pack;
use crate::layout::table;
use crate::output::Console;
use crate::pack::{KINDS, Ruleset, Schemas, Start};
use crate::share::index as share;

/// Print the JSON Schema of a kind of rule file; without a kind, list the kinds. Each schema is one file that refers to
/// no other.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tapster schema                          the kinds and what their files decide
  tapster schema lore > lore.v2.json      one schema
  tapster schema overlay --pack my-pack   with the pack's options, its own tables and its columns
  tapster schema lock                     that of tapster.lock; `index` is that of an index of packs
  tapster schema door                     that of requests as JSON (docs/reference/door.md)
  tapster schema --all schemas            all of them, for an editor")]
pub(crate) struct SchemaArgs {
    /// A kind; `terms`: the terms that all kinds share; `lock` or `index`: the files of sharing packs; `door`: requests as JSON.
    kind: Option<String>,
    /// A version of the schema; the newest by default.
    #[arg(long, value_name = "N", requires = "kind")]
    version: Option<i64>,
    /// Add what this pack declares: options, tables of its own, columns.
    #[arg(long)]
    pack: Option<String>,
    /// Write every schema into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "kind")]
    all: Option<PathBuf>,
}

/// The schema that the others refer to; it is not a kind of file.
const TERMS: &str = "terms";
/// The schema of requests to the door.
const DOOR: &str = "door";

impl SchemaArgs {
    pub(crate) fn run(&self, show: &mut Console<'_>) -> Result<RunExit> {
        let schemas = Schemas::shipped();
        if let Some(folder) = &self.all {
            let rules = self.rules(show)?;
            return write_all(folder, schemas, rules.as_ref(), show);
        }
        let Some(kind) = &self.kind else {
            if self.pack.is_some() {
                let help = "name a kind, such as `tapster schema overlay --pack NAME`, or write all with `--all DIR`";
                return Err(EarlyExit::could_not(Code::SchemaKind, "a schema of no kind is asked for", help));
            }
            list(schemas, show);
            return Ok(RunExit::Done);
        };
        let version = self.version.or_else(|| schemas.newest(kind));
        let rules = self.rules(show)?;
        let shared = share::schema(&format!("{kind}.v{}.json", self.version.unwrap_or(1)));
        let found = version.and_then(|v| schema_of(schemas, &format!("{kind}.v{v}.json"), rules.as_ref())).or(shared);
        let found = found.or_else(|| (kind == DOOR && self.version.is_none_or(|version| version == 1)).then(tapster_door::schema));
        match found {
            Some(schema) => show.json(&schema),
            None => return Err(unknown(kind, schemas)),
        }
        Ok(RunExit::Done)
    }

    /// The pack whose declarations are added.
    fn rules(&self, show: &mut Console<'_>) -> Result<Option<Ruleset>> {
        self.pack.as_deref().map(|pack| open_pack(&Start::typed(pack), &[], show)).transpose()
    }
}

fn schema_of(schemas: &Schemas, file: &str, rules: Option<&Ruleset>) -> Option<Json> {
    rules.map_or_else(|| schemas.bundled(file), |rules| schemas.bundled_for(file, rules.pack()))
}

fn list(schemas: &Schemas, show: &mut Console<'_>) {
    let kinds = KINDS.iter().copied().chain([(TERMS, "what all kinds share: values, conditions, selections, places, passes")]);
    let rows: Vec<(&str, i64, &str)> = kinds.filter_map(|(name, about)| Some((name, schemas.newest(name)?, about))).collect();
    if show.is_json() {
        let all: Vec<Json> = rows.iter().map(|(n, v, a)| json!({ "kind": n, "version": v, "about": a })).collect();
        show.json(&Json::Array(all));
    } else {
        let rows: Vec<Vec<String>> = rows.iter().map(|(n, v, a)| vec![(*n).to_owned(), format!("v{v}"), (*a).to_owned()]).collect();
        show.result(&table(&rows));
    }
}

fn write_all(folder: &std::path::Path, schemas: &Schemas, rules: Option<&Ruleset>, show: &mut Console<'_>) -> Result<RunExit> {
    make_folder(folder)?;
    for name in schemas.names() {
        let text = schema_of(schemas, name, rules).map(|s| serde_json::to_string_pretty(&s).unwrap_or_default()).unwrap_or_default();
        let path = folder.join(name);
        write_file(&path, format!("{text}\n"))?;
        show.result(&format!("{}\n", path.display()));
    }
    let path = folder.join(format!("{DOOR}.v1.json"));
    write_file(&path, format!("{}\n", serde_json::to_string_pretty(&tapster_door::schema()).unwrap_or_default()))?;
    show.result(&format!("{}\n", path.display()));
    let folder = folder.join("share");
    make_folder(&folder)?;
    for (name, text) in share::SCHEMAS {
        let path = folder.join(name);
        write_file(&path, text)?;
        show.result(&format!("{}\n", path.display()));
    }
    Ok(RunExit::Done)
}

fn unknown(kind: &str, schemas: &Schemas) -> EarlyExit {
    let help = match schemas.newest(kind) {
        Some(newest) => format!("the newest version of `{kind}` is {newest}").into(),
        None => suggest::help(kind, KINDS.iter().map(|(n, _)| *n)).unwrap_or_else(|| "`tapster schema` lists the kinds".into()),
    };
    EarlyExit::could_not(Code::SchemaKind, format!("there is no such schema of `{kind}`"), help)
}
