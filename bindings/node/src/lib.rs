//! The door for Node: texts of JSON in and out. `index.js` makes objects of them.

use std::path::PathBuf;
use std::sync::Arc;

use napi::Env;
use napi::Result;
use napi::bindgen_prelude::{AsyncTask, Buffer, Task};
use napi_derive::napi;
use tapster_door::{Door, clock};

/// Answers requests.
#[napi(js_name = "Door")]
pub struct NodeDoor(Arc<Door>);

#[napi]
impl NodeDoor {
    #[napi(constructor)]
    pub fn new(folders: Vec<String>) -> Self {
        let folders = folders.into_iter().map(PathBuf::from).collect();
        Self(Arc::new(Door::new(folders, Some(clock::now))))
    }

    #[napi(catch_unwind)]
    pub fn call_text(&self, request: Buffer) -> String {
        self.0.call_text(&request)
    }

    /// Answers on a thread of Node's pool.
    #[napi]
    pub fn call_text_async(&self, request: Buffer) -> AsyncTask<DoorCall> {
        AsyncTask::new(DoorCall { door: Arc::clone(&self.0), request })
    }
}

/// A call that another thread answers.
pub struct DoorCall {
    door: Arc<Door>,
    request: Buffer,
}

impl Task for DoorCall {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        Ok(self.door.call_text(&self.request))
    }

    fn resolve(&mut self, _: Env, response: String) -> Result<String> {
        Ok(response)
    }
}

/// The version of the library.
#[napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
