//! One door to tapster: JSON requests in, JSON responses out.
//!
//! A [`Door`] keeps what is opened: a pack is compiled once and named by a handle, and so are cards, books and chats. It reads
//! no file but those of packs in its own folders, no clock but the one that it is given, and no network.
//!
//! ```
//! use serde_json::json;
//!
//! let door = tapster_door::Door::default();
//! let opened = door.call(&json!({ "call": "open", "pack": "base" }));
//! let scene = json!({ "message": "Hello." });
//! let built = door.call(&json!({ "call": "build", "rules": opened["result"]["rules"], "scene": scene }));
//! assert_eq!(built["result"]["payload"]["messages"][0]["content"], "Hello.");
//! ```
//!
//! The requests are the variants of [`Request`]; `schemas/door.v1.json` has their keys. A response has
//!
//! - `id`: that of the request, if it has one;
//! - `ok`: whether there is a result;
//! - `result`: what was asked for;
//! - `diagnostics`: errors and warnings with their codes, places and remedies, as `--error-format json` writes them.

mod calls;
pub mod check;
#[cfg(feature = "clock")]
pub mod clock;
pub mod diff;
pub mod doctor;
pub mod examine;
pub mod explain;
pub mod layout;
mod memory;
pub mod preset_pack;
pub mod request;
pub mod scene;
mod stamp;

use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};
use tapster::machinery::{build, pack, program, terms, text, verbs};
use tapster::{diag, model};
use tapster_exchange::import;
use tapster_testing as testing;

use crate::build::BuildError;
use crate::diag::{Code, Diagnostic, Report, Sources, render};
use crate::memory::DoorMemory;
use crate::model::Scene;
use crate::pack::{PackError, Ruleset};
use crate::request::{Request, RulesReference, SceneRequest};

pub use calls::usage_warnings;
pub use pack::library::shipped_readers;
pub use stamp::{FileStamps, ReadStart};

/// The most bytes of a request that [`Door::call_text`] reads: 64 MiB.
pub const MAX_REQUEST: usize = 64 << 20;

/// Who is told how far a long call is, and says whether it goes on.
pub type CallEvents<'e> = &'e mut dyn FnMut(Json) -> bool;

/// Answers requests, from several threads if need be.
#[derive(Default)]
pub struct Door {
    folders: Vec<PathBuf>,
    clock: Option<fn() -> String>,
    memory: DoorMemory,
}

impl Door {
    /// A door that finds packs by name in these folders too, before the shipped ones, and takes the time of builds whose scene
    /// says none from this clock. The default door has neither.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>, clock: Option<fn() -> String>) -> Self {
        Self { folders, clock, memory: DoorMemory::default() }
    }

    /// Answers a request.
    pub fn call(&self, request: &Json) -> Json {
        self.call_with_events(request.clone(), &mut |_| true)
    }

    /// Answers a request. Long calls tell how far they are: `{ event = "progress", done, of }`, and end if the answer is `false`.
    pub fn call_with_events(&self, mut request: Json, events: CallEvents<'_>) -> Json {
        let id = request.as_object_mut().and_then(|request| request.shift_remove("id"));
        let mut out = Map::new();
        out.extend(id.map(|id| ("id".to_owned(), id)));
        let mut answer = Answer::default();
        let result = match serde_json::from_value::<Request>(request) {
            Ok(request) => self.answer(request, &mut answer, events),
            Err(error) => Err(wrong_request(&error)),
        };
        out.insert("ok".to_owned(), result.is_ok().into());
        match result {
            Ok(result) => _ = out.insert("result".to_owned(), result),
            Err(failure) => answer.add(failure.report, &failure.sources),
        }
        out.insert("diagnostics".to_owned(), Json::Array(answer.diagnostics));
        Json::Object(out)
    }

    /// The rules and the scene of a request, for an application that builds with them itself, and what is doubtful about them as
    /// diagnostics.
    ///
    /// # Errors
    /// Diagnostics.
    pub fn open_scene(&self, rules: &RulesReference, scene: &SceneRequest) -> Result<(Ruleset, Scene, Vec<Json>), Vec<Json>> {
        let mut answer = Answer::default();
        let opened = self.rules(rules, &mut answer).and_then(|rules| {
            let (scene, _) = self.read_scene(scene, &rules, &mut answer)?;
            Ok((rules, scene))
        });
        match opened {
            Ok((rules, scene)) => Ok((rules, scene, answer.diagnostics)),
            Err(failure) => {
                answer.add(failure.report, &failure.sources);
                Err(answer.diagnostics)
            }
        }
    }

    /// The scene of a request for rules that the application holds itself, and what is doubtful about it as diagnostics.
    ///
    /// # Errors
    /// Diagnostics.
    pub fn read_scene_for(&self, rules: &Ruleset, scene: &SceneRequest) -> Result<(Scene, Vec<Json>), Vec<Json>> {
        let mut answer = Answer::default();
        match self.read_scene(scene, rules, &mut answer) {
            Ok((scene, _)) => Ok((scene, answer.diagnostics)),
            Err(failure) => {
                answer.add(failure.report, &failure.sources);
                Err(answer.diagnostics)
            }
        }
    }

    /// Answers a request that is a text of JSON of at most [`MAX_REQUEST`] bytes with such a text on one line.
    pub fn call_text(&self, request: &[u8]) -> String {
        self.call_text_with_events(request, &mut |_| true)
    }

    /// Answers such a text. Long calls tell how far they are, as [`Door::call_with_events`] says.
    pub fn call_text_with_events(&self, request: &[u8], events: CallEvents<'_>) -> String {
        if request.len() > MAX_REQUEST {
            let complaint = Diagnostic::error(Code::FileTooLarge, format!("the request is longer than {} MiB", MAX_REQUEST >> 20));
            return refusal(complaint.help("send large files once, with `put`"));
        }
        match serde_json::from_slice::<Json>(request) {
            Ok(request) => self.call_with_events(request, events).to_string(),
            Err(error) => {
                let complaint = Diagnostic::new(Code::SyntaxJson, format!("the request is not valid JSON: {error}"));
                refusal(complaint.help("send one JSON object"))
            }
        }
    }
}

/// The JSON Schema of requests.
#[must_use]
pub fn schema() -> Json {
    let mut schema = serde_json::to_value(schemars::schema_for!(Request)).unwrap_or_default();
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("title".to_owned(), "A request to tapster's door, version 1".into());
    }
    schema
}

/// The response to a request that could not be read.
fn refusal(complaint: Diagnostic) -> String {
    json!({ "ok": false, "diagnostics": render::json(&complaint.into(), &Sources::default()) }).to_string()
}

fn wrong_request(error: &serde_json::Error) -> RequestFailure {
    let help = "`{ \"call\": \"schema\", \"kind\": \"door\" }` gives the schema of requests";
    Diagnostic::new(Code::SchemaValue, format!("the request is wrong: {error}")).help(help).into()
}

/// What is told beside a result.
#[derive(Default)]
struct Answer {
    diagnostics: Vec<Json>,
}

impl Answer {
    fn add(&mut self, mut report: Report, sources: &Sources) {
        report.shorten();
        self.diagnostics.extend(render::json(&report, sources).as_array().into_iter().flatten().cloned());
    }
}

/// Why there is no result.
struct RequestFailure {
    report: Report,
    sources: Sources,
}

impl RequestFailure {
    fn of_build(error: &BuildError, rules: &Ruleset) -> Self {
        Self { report: error.diagnostic(rules).into(), sources: rules.sources().clone() }
    }
}

impl From<PackError> for RequestFailure {
    fn from(PackError { report, sources }: PackError) -> Self {
        Self { report, sources }
    }
}

impl From<Report> for RequestFailure {
    fn from(report: Report) -> Self {
        Self { report, sources: Sources::default() }
    }
}

impl From<Diagnostic> for RequestFailure {
    fn from(diagnostic: Diagnostic) -> Self {
        Report::from(diagnostic).into()
    }
}
