//! Foreign formats: how a JSON document of another program becomes a part of a scene, or a document of a third
//! program, said in data.
//!
//! A `[[format]]` row names a format and describes how its documents are recognized; `[[map]]` rows (`format/name`)
//! say where each value comes from (`@` is the document below `root`) and which path it is written to. A format with
//! `makes` converts to another format. A row with `item` converts each element of a list by the rows of a further
//! format. Fields that no row reads are not lost in silence: an import returns them beside the scene, and a conversion
//! carries them along, or reports them.

mod compile;
mod reports;

pub(in crate::program) use compile::compile;
pub use reports::{FieldOutcome, FieldReport};

use crate::text::written::ToText as _;
use std::sync::Arc;

use crate::diag::{limits, short};
use crate::model::{Map, Value};
use crate::terms::select::pass_env;
use crate::terms::trees::put;
use crate::terms::{BuildState, Cond, CurrentItem, Env, EvalFault, Expr, PassMemo};
use crate::text::work;

/// The names of a path.
type PathNames = Vec<Arc<str>>;

/// A compiled foreign format.
pub struct ForeignFormat {
    /// Its name.
    pub name: Arc<str>,
    /// What it is for.
    pub about: Arc<str>,
    /// The format that it makes: its documents are converted and do not become parts of a scene.
    pub makes: Option<Arc<str>>,
    detect: Option<Cond>,
    /// The fields whose text `detect` asks for. They say of which kind the document is, which what a conversion makes is not.
    kind: Vec<PathNames>,
    root: Option<Expr>,
    maps: Vec<FieldMapping>,
    rest: RestTarget,
}

/// Where the result of a conversion gets the fields that no row reads.
struct RestTarget {
    /// The table that receives them; if it is empty and they do not stay in place, they are dropped.
    names: PathNames,
    /// They stay where they are in the document.
    in_place: bool,
}

impl RestTarget {
    /// Whether what no row reads has a place.
    fn keeps(&self) -> bool {
        self.in_place || !self.names.is_empty()
    }
}

/// One row of `map`.
struct FieldMapping {
    name: Arc<str>,
    from: Expr,
    reads: Vec<PathNames>,
    to: PathNames,
    /// The value is laid over the whole result.
    whole: bool,
    /// The format that converts each element of the value.
    item: Option<usize>,
    /// The elements become a table: the key of each, on what the element became.
    key: Option<Expr>,
    code: Option<Arc<str>>,
    default: Option<Expr>,
    when: Option<Cond>,
    /// Why the value is only approximated, or dropped.
    approximate: Option<Arc<str>>,
    drop: Option<Arc<str>>,
    /// A message about the value, or about each of its elements, instead of a path to write it to.
    warn: Option<Arc<str>>,
}

/// A document of another program as scene data: the result of [`import_document`](crate::import_document).
#[derive(Debug, Clone, Default)]
pub struct ImportedDocument {
    /// The name of the format that read the document.
    pub format: String,
    /// The part of a scene that the document gives; [`Scene::merge`](crate::Scene::merge) adds it to a scene.
    pub scene: Value,
    /// The fields that no rule of the format reads, unchanged.
    pub rest: Value,
    /// What happened to each field of the document.
    pub fields: Vec<FieldReport>,
    /// One message for each value that is not used as given, for people.
    pub warnings: Vec<String>,
}

impl ForeignFormat {
    /// Whether a document is in this format.
    pub fn fits(&self, document: &Value, st: &BuildState) -> Result<bool, EvalFault> {
        let memo = PassMemo::default();
        match &self.detect {
            Some(detect) => pass_env(st, &memo).inner(CurrentItem::Value(document, 0)).holds(detect),
            None => Ok(false),
        }
    }

    /// Converts the document to scene data, or to a document of the format that this one makes. `all` are the formats
    /// of the pack, by which the elements of lists are converted.
    pub fn bring(&self, document: &Value, st: &BuildState, all: &[ForeignFormat]) -> Result<ImportedDocument, EvalFault> {
        self.bring_at(document, st, all, 0)
    }

    fn bring_at(&self, document: &Value, st: &BuildState, all: &[ForeignFormat], depth: usize) -> Result<ImportedDocument, EvalFault> {
        let _paying = work::rule(&self.name);
        let memo = PassMemo::default();
        let env = pass_env(st, &memo);
        let root = match &self.root {
            Some(root) => env.inner(CurrentItem::Value(document, 0)).eval(root)?,
            None => document.clone(),
        };
        let env = env.inner(CurrentItem::Value(&root, 0));
        let mut out = ImportedDocument { format: self.name.to_string(), scene: Value::map(Map::default()), ..ImportedDocument::default() };
        let mut read: Vec<&PathNames> = Vec::new();
        for map in &self.maps {
            if let Some(when) = &map.when
                && !env.holds(when)?
            {
                // an import has looked at the field and found that it means nothing
                if self.makes.is_none() {
                    read.extend(&map.reads);
                }
                continue;
            }
            read.extend(&map.reads);
            let raw = env.eval(&map.from)?;
            if let Some(what) = &map.warn {
                out.warnings.extend(told(what, &raw));
                continue;
            }
            if let Some(item) = map.item.and_then(|n| all.get(n)) {
                let values = map.each(item, &raw, &env, all, depth, &mut out)?;
                if map.whole {
                    out.scene = values.over(std::mem::take(&mut out.scene));
                } else if !map.to.is_empty() {
                    put(&mut out.scene, &map.to, values);
                }
                continue;
            }
            let value = self.coded(map, &raw, st, &mut out);
            let value = match (&value, &map.default) {
                (Value::Null, Some(default)) => env.eval(default)?,
                _ => value,
            };
            // a field that the document does not have is not reported, nor what a conversion always writes
            let made = self.makes.is_some() && map.reads.is_empty();
            if !made && (!raw.is_null() || !value.is_null()) {
                out.fields.push(map.report(&raw, &value));
            }
            if map.drop.is_some() || value.is_null() {
                continue;
            }
            if map.whole {
                out.scene = value.over(std::mem::take(&mut out.scene));
            } else if !map.to.is_empty() {
                put(&mut out.scene, &map.to, value);
            }
        }
        if self.makes.is_some() && !self.rest.keeps() {
            read.extend(&self.kind);
        }
        let rest = reports::rest(&root, &read, self, &mut out.fields);
        if self.rest.in_place {
            out.scene = std::mem::take(&mut out.scene).over(rest);
        } else if !self.rest.names.is_empty() && !rest.is_empty() {
            let below = self.rest.names.iter().try_fold(&out.scene, |value, name| value.get(name)).cloned();
            put(&mut out.scene, &self.rest.names, below.unwrap_or_default().over(rest));
        } else {
            out.rest = rest;
        }
        // there may be a hundred thousand of them
        if let Value::Map(map) = &mut out.scene
            && let Some(map) = Arc::get_mut(map)
        {
            map.shrink_to_fit();
        }
        Ok(out)
    }

    fn coded(&self, map: &FieldMapping, raw: &Value, st: &BuildState, out: &mut ImportedDocument) -> Value {
        let Some(code) = &map.code else { return raw.clone() };
        if raw.is_null() {
            return Value::Null;
        }
        let values = st.rules.row("code", code).and_then(|row| row.get("values").cloned()).unwrap_or_default();
        let found = values.get(&raw.shown()).cloned();
        if found.is_none() {
            let word = short::word(&raw.shown());
            out.warnings.push(format!("`{}`: `{word}` is no value that `{code}` knows; the default is used", map.name));
        }
        found.unwrap_or_default()
    }
}

/// A warning about what is wrong with a document; `None` if there is nothing to report.
fn told(what: &str, wrong: &Value) -> Option<String> {
    let words: Vec<Arc<str>> = match wrong {
        Value::List(list) => list.iter().map(Value::shown).collect(),
        _ if wrong.is_empty() => Vec::new(),
        one => vec![one.shown()],
    };
    (!words.is_empty()).then(|| format!("{what}: {}", short::listed(words.iter().map(AsRef::as_ref))))
}

impl FieldMapping {
    /// Each element of a list, or of the values of a table, converted by the rows of another format.
    fn each(
        &self,
        by: &ForeignFormat,
        list: &Value,
        env: &Env<'_>,
        all: &[ForeignFormat],
        depth: usize,
        out: &mut ImportedDocument,
    ) -> Result<Value, EvalFault> {
        if depth >= limits::CHAIN {
            let message =
                format!("rows with `item` are nested deeper than {}: `{}` converts itself again and again", limits::CHAIN, by.name);
            return Err(EvalFault::bound(message));
        }
        let elements = match list {
            Value::List(list) => list.to_vec(),
            Value::Map(map) => map.values().cloned().collect(),
            Value::Null => Vec::new(),
            one => vec![one.clone()],
        };
        let mut made = Vec::with_capacity(elements.len());
        let mut fields = reports::ReportTally::default();
        for element in elements {
            // rows are about the fields of tables
            if element.as_map().is_none() {
                made.push(element);
                continue;
            }
            let one = by.bring_at(&element, env.st, all, depth + 1)?;
            fields.add(one.fields);
            out.warnings.extend(one.warnings);
            made.push(one.scene);
        }
        let named = self.reads.first().map_or_else(|| self.name.to_string(), |names| names.join("."));
        out.fields.extend(fields.under(&named, &self.to.join(".")));
        let Some(key) = &self.key else { return Ok(Value::list(made)) };
        let (mut table, mut free) = (Map::default(), 0_usize);
        for (n, element) in made.into_iter().enumerate() {
            let mut key = env.inner(CurrentItem::Value(&element, n)).eval(key)?.shown();
            // of two elements with one key, the second gets a number that is free
            while table.contains_key(&key) {
                key = Arc::from(free.to_string());
                free += 1;
            }
            table.insert(key, element);
        }
        Ok(Value::map(table))
    }
}
