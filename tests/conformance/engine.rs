//! The one door to the crate: JSON in, JSON out, packs compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use tapster::Ruleset;

/// The pack that contracts are about.
pub(crate) const CONTRACT: &str = "sillytavern";
/// The pack that follows the real program.
pub(crate) const EXACT: &str = "sillytavern-exact";

/// A function that a scene offers to rules.
pub(crate) type Host = Box<dyn Fn() -> Result<Json, String> + Send + Sync>;

/// What a case gives to the engine.
#[derive(Default)]
pub(crate) struct Scene {
    /// The data, by declared paths.
    pub(crate) data: Json,
    /// Feeds the draw streams.
    pub(crate) seed: String,
    /// A script of draws instead.
    pub(crate) draws: Option<Vec<f64>>,
    /// Warnings are errors.
    pub(crate) strict: bool,
    /// Keep a trace.
    pub(crate) trace: bool,
    /// Functions of the application.
    pub(crate) hosts: Vec<(String, Host)>,
    /// Its hooks.
    pub(crate) hooks: Vec<tapster::Hook>,
}

impl Scene {
    /// A scene of data.
    pub(crate) fn new(data: Json) -> Self {
        Self { data, ..Self::default() }
    }

    fn into_scene(self) -> tapster::Scene {
        let data = tapster::Value::from(&self.data);
        let scene = tapster::Scene {
            data,
            seed: self.seed,
            draws: self.draws,
            strict: self.strict,
            trace: self.trace,
            hooks: self.hooks,
            ..Default::default()
        };
        self.hosts.into_iter().fold(scene, |scene, (name, host)| {
            scene.host(&name, Arc::new(move |_: &tapster::Value| host().map(|v| tapster::Value::from(&v))))
        })
    }
}

/// The compiled pack of a name, with the programs of the harness laid over it.
pub(crate) fn pack(name: &str) -> Result<Ruleset, Json> {
    pack_with(name, "")
}

/// To see which cases notice a broken rule: `TAPSTER_BREAK=rules.toml cargo test --test conformance -- WORDS`.
fn broken() -> Option<String> {
    std::env::var("TAPSTER_BREAK").ok().and_then(|file| std::fs::read_to_string(file).ok())
}

/// A pack's name, or its folder: with `TAPSTER_RULES=rules`, packs are read from there and not as they were compiled.
fn place(name: &str) -> String {
    std::env::var("TAPSTER_RULES").map_or_else(|_| name.to_owned(), |folder| format!("{folder}/{name}"))
}

/// The rules of a pack, for what is called by the crate's own names.
pub(crate) fn rules(name: &str) -> Result<Ruleset, Json> {
    pack(name)
}

/// The same with one more overlay.
fn pack_with(name: &str, overlay: &str) -> Result<Ruleset, Json> {
    static PACKS: Mutex<BTreeMap<(String, String), Result<Ruleset, String>>> = Mutex::new(BTreeMap::new());
    let mut packs = PACKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let entry = packs.entry((name.to_owned(), overlay.to_owned())).or_insert_with(|| {
        // the harness's own programs string together passes of the contract's pack; another pack is built as it is
        let mut overlays = Vec::new();
        if name.starts_with(CONTRACT) {
            overlays.push(("conformance.toml", include_str!("programs.toml")));
        }
        if name == EXACT {
            overlays.push(("conformance_exact.toml", include_str!("programs_exact.toml")));
        }
        if !overlay.is_empty() {
            overlays.push(("case.toml", overlay));
        }
        let broken = broken();
        if let Some(broken) = &broken {
            overlays.push(("broken.toml", broken));
        }
        Ruleset::open_with(&place(name), &overlays).map_err(|rejected| rejected.to_string())
    });
    entry.clone().map_err(|report| json!({ "error": { "kind": "pack", "message": report } }))
}

/// A pack with a JSON overlay that only one case has, so it is not kept; otherwise row and key of each mistake, or no row
/// and the message.
pub(crate) fn open(name: &str, overlay: &str) -> Result<Ruleset, Vec<(String, String)>> {
    let broken = broken();
    let overlays: Vec<_> = std::iter::once(("case.json", overlay)).chain(broken.as_deref().map(|rules| ("broken.toml", rules))).collect();
    Ruleset::open_with(name, &overlays).map_err(|refused| {
        let text = |d: &tapster::diag::Diagnostic, key: &str| d.details.get(key).and_then(Json::as_str).map(str::to_owned);
        let place =
            |d: &tapster::diag::Diagnostic| text(d, "row").zip(text(d, "key")).unwrap_or_else(|| (String::new(), d.message.clone()));
        refused.report.items().iter().filter(|d| d.severity == tapster::diag::Severity::Error).map(place).collect()
    })
}

/// Runs one program of an open pack over lists.
pub(crate) fn run_in(pack: &Ruleset, program: &str, scene: Scene, lists: &[(&str, Json)]) -> Result<Ran, Json> {
    tapster::run(pack, program, &scene.into_scene(), lists).map(Ran).map_err(|e| error(&e))
}

/// What a program left behind.
pub(crate) struct Ran(tapster::Outcome);

/// Runs one program of a pack over lists.
pub(crate) fn run(name: &str, program: &str, scene: Scene, lists: &[(&str, Json)]) -> Result<Ran, Json> {
    run_with(name, "", program, scene, lists)
}

/// Runs the build of a pack up to one of its stages; the pack says what comes before.
pub(crate) fn run_before(name: &str, stage: &str, scene: Scene) -> Result<Ran, Json> {
    let stop = format!(
        "kind = \"overlay\"\nversion = 1\n[[pass]]\nname = \"build/conformance\"\ndo = \"require\"\nthat = {{ any = [] }}\nlevel = \"stop\"\n\
         before = \"{stage}\"\n"
    );
    run_with(name, &stop, "build", scene, &[])
}

/// The same with an overlay over the pack.
pub(crate) fn run_with(name: &str, overlay: &str, program: &str, scene: Scene, lists: &[(&str, Json)]) -> Result<Ran, Json> {
    run_in(&pack_with(name, overlay)?, program, scene, lists)
}

impl Ran {
    /// All items of a list, those that are switched off too.
    pub(crate) fn list(&self, name: &str) -> Vec<Json> {
        self.0.list(name).iter().map(tapster::Value::to_json).collect()
    }

    /// One field of all items of a list.
    pub(crate) fn column(&self, name: &str, field: &str) -> Json {
        self.list(name).iter().map(|item| item[field].clone()).collect()
    }

    /// What the run gives back to be stored with the chat.
    pub(crate) fn patch(&self) -> Json {
        self.0.patch().to_json()
    }

    /// A value of the scene after the run.
    pub(crate) fn get(&self, path: &str) -> Json {
        self.0.get(path).to_json()
    }

    /// The texts of the warnings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.0.warnings().iter().map(|w| w.message.clone()).collect()
    }

    /// The lore entries of which a reason of this code was given, in order; only with a trace.
    pub(crate) fn reasons(&self, because: &str) -> Json {
        self.0.reasons().iter().filter(|why| why.because == because).map(|why| json!(format!("{}.{}", why.book, why.id))).collect()
    }

    /// What trimming did; null where nothing trimmed.
    pub(crate) fn trim_report(&self) -> Json {
        self.0.trim_report("blocks").map_or_else(|e| error(&e), |report| json!(report))
    }

    /// Scripted draws that nobody took.
    pub(crate) fn draws_left(&self) -> usize {
        self.0.draws_left()
    }
}

/// Expands texts, each with the same names for it alone.
pub(crate) fn expand(name: &str, scene: Scene, texts: &[&str], names: &Json) -> Result<Json, Json> {
    let texts: Vec<_> = texts.iter().map(|text| (*text, tapster::Value::from(names))).collect();
    let done = tapster::expand_texts(&pack(name)?, &scene.into_scene(), &texts).map_err(|e| error(&e))?;
    let warnings: Vec<_> = done.warnings.iter().map(|w| &w.message).collect();
    Ok(json!({ "texts": done.texts, "patch": done.patch.to_json(), "draws": done.draws, "warnings": warnings }))
}

/// A finished plan.
pub(crate) struct Built {
    pack: Ruleset,
    plan: tapster::Plan,
}

/// Runs a whole build.
pub(crate) fn build(name: &str, scene: Scene) -> Result<Built, Json> {
    build_with(name, "", scene)
}

/// The same with an overlay over the pack.
pub(crate) fn build_with(name: &str, overlay: &str, scene: Scene) -> Result<Built, Json> {
    let pack = pack_with(name, overlay)?;
    let plan = tapster::build(&pack, &scene.into_scene()).map_err(|e| error(&e))?;
    Ok(Built { pack, plan })
}

impl Built {
    /// The messages of the plan.
    pub(crate) fn messages(&self) -> Json {
        self.plan.messages().iter().map(tapster::Value::to_json).collect()
    }

    /// The messages that would be sent, as a dialect of the pack writes them.
    pub(crate) fn sent(&self, dialect: &str) -> Json {
        self.emit(dialect).map_or_else(|error| error, |payload| payload["messages"].clone())
    }

    /// A value that passes have set.
    pub(crate) fn get(&self, path: &str) -> Json {
        self.plan.set.at(path).map(tapster::Value::to_json).unwrap_or_default()
    }

    /// All blocks, those that are switched off too.
    pub(crate) fn blocks(&self) -> Vec<Json> {
        let block = |b: &tapster::model::PlanBlock| {
            let mut block = b.fields.to_json();
            block["tokens"] = json!(b.tokens);
            block["enabled"] = json!(b.enabled());
            block
        };
        self.plan.blocks.iter().map(block).collect()
    }

    /// Scripted draws that nobody took.
    pub(crate) fn draws_left(&self) -> usize {
        self.plan.given.draws.as_ref().map_or(0, Vec::len)
    }

    /// The texts of the warnings.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.plan.warnings.iter().map(|w| w.message.clone()).collect()
    }

    /// A value that the build has set.
    pub(crate) fn set(&self, path: &str) -> Json {
        path.split('.').try_fold(self.plan.set.clone(), |value, key| value.get(key).cloned()).unwrap_or_default().to_json()
    }

    /// The named outlets.
    pub(crate) fn outlets(&self) -> Json {
        json!(self.plan.outlets)
    }

    /// What trimming did; null where nothing trimmed.
    pub(crate) fn trim_report(&self) -> Json {
        json!(self.plan.trim_report)
    }

    /// The trace, if one was kept.
    pub(crate) fn trace(&self) -> Json {
        json!(self.plan.trace)
    }

    /// What the plan tells beside its blocks.
    pub(crate) fn told(&self) -> Json {
        json!({
            "continue_postfix": self.plan.continue_postfix(), "assistant_prefill": self.plan.assistant_prefill(),
            "greeting": self.plan.greeting(),
        })
    }

    /// The live blocks after each stage, if a trace was kept.
    pub(crate) fn stages(&self) -> Vec<(String, Vec<Json>)> {
        let stages = self.plan.trace.iter().flat_map(|t| &t.stages);
        stages.map(|(name, blocks)| (name.clone(), blocks.iter().map(tapster::Value::to_json).collect())).collect()
    }

    /// The payload for a provider.
    pub(crate) fn emit(&self, dialect: &str) -> Result<Json, Json> {
        tapster::emit(&self.pack, &self.plan, dialect).map(|e| e.payload).map_err(|e| error(&e))
    }

    /// The payload for a provider, and where it goes.
    pub(crate) fn request(&self, dialect: &str) -> Result<Json, Json> {
        tapster::emit(&self.pack, &self.plan, dialect).map(|e| json!({ "payload": e.payload, "request": e.request })).map_err(|e| error(&e))
    }

    /// What the build gives back to be stored with the chat.
    pub(crate) fn patch(&self) -> Json {
        self.plan.patch.to_json()
    }

    /// The same with other values in the scene.
    pub(crate) fn emit_in(&self, dialect: &str, values: &[(&str, Json)]) -> Result<Json, Json> {
        let mut scene = self.plan.scene.to_json();
        values.iter().for_each(|(path, value)| crate::adapters::put(&mut scene, path, value.clone()));
        let plan = tapster::Plan { scene: tapster::Value::from(&scene), ..self.plan.clone() };
        tapster::emit(&self.pack, &plan, dialect).map(|e| e.payload).map_err(|e| error(&e))
    }
}

/// Finished messages in a dialect of a pack.
pub(crate) fn emit_messages(name: &str, overlay: &str, messages: Json, dialect: &str) -> Result<Json, Json> {
    let block = |m: &Json| tapster::model::PlanBlock { fields: tapster::Value::from(m), tokens: 0, history: Vec::new() };
    let blocks = messages.as_array().into_iter().flatten().map(block).collect();
    let plan = tapster::Plan { blocks, ..Default::default() };
    tapster::emit(&pack_with(name, overlay)?, &plan, dialect).map(|e| e.payload).map_err(|e| error(&e))
}

/// Finished messages in a dialect of a pack, in a scene: `payload`, and `request` where the dialect has one.
pub(crate) fn emit_request(name: &str, scene: Json, messages: Json, dialect: &str) -> Result<Json, Json> {
    let block = |m: &Json| tapster::model::PlanBlock { fields: tapster::Value::from(m), tokens: 0, history: Vec::new() };
    let blocks = messages.as_array().into_iter().flatten().map(block).collect();
    let plan = tapster::Plan { blocks, scene: tapster::Value::from(&scene), ..Default::default() };
    tapster::emit(&pack(name)?, &plan, dialect).map(|e| json!({ "payload": e.payload, "request": e.request })).map_err(|e| error(&e))
}

/// The names of the rows of a table, as the rules see it (`$table.NAME`).
pub(crate) fn rows(name: &str, table: &str) -> Result<Vec<String>, Json> {
    let rows = pack(name)?.programs().rules.table(table).to_json();
    Ok(rows.as_array().into_iter().flatten().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect())
}

/// Maps a foreign file onto a part of a scene.
pub(crate) fn import(name: &str, format: &str, file: &Json) -> Result<Json, Json> {
    let brought = tapster::import_document(&pack(name)?, Some(format), file);
    brought.map(|b| b.scene.to_json()).map_err(|e| error(&e))
}

/// A document of one program as one of another: by the format that is made, or by the row that makes it.
pub(crate) fn convert(name: &str, to: &str, file: &Json) -> Result<Json, Json> {
    let made = tapster::convert_document(&pack(name)?, Some(to), file);
    made.map(|b| b.scene.to_json()).map_err(|e| error(&e))
}

fn error(e: &tapster::BuildError) -> Json {
    json!({ "error": {
        "kind": e.kind(),
        "stage": e.stage,
        "message": e.message,
        "max_tokens": e.max_tokens,
        "reserve_tokens": e.reserve_tokens,
        "estimated_tokens": e.estimated_tokens,
    } })
}
