//! A program without the feature `full`: what needs a model, a database or an address says how to get it.

use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tapster_door::Door;

use crate::diag::Code;
use crate::exit::{EarlyExit, Result, RunExit};
use crate::inputs::server::ServerOptions;
use crate::missing::HELP;
use crate::output::Console;
use crate::share::shown;
use crate::store::TemplateStore;

/// Runs a future to its end. Without databases nothing waits for a clock or a socket, so no runtime is needed.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
    }
}

/// The file of a `file:` address.
pub(crate) fn file_of_address(address: &str) -> Option<PathBuf> {
    address.strip_prefix("file://").map(PathBuf::from)
}

pub(crate) fn fetch(url: &str, _: usize) -> Result<Option<Vec<u8>>> {
    let message = format!("`{}` cannot be fetched: this program was built without a client for HTTP", shown(url));
    Err(EarlyExit::could_not(Code::FeatureMissing, message, format!("get the file, and name it; or {HELP}")))
}

/// A database, which there is none of.
pub(crate) type OpenStore = std::convert::Infallible;

pub(crate) fn open_template_database(_: &str) -> Result<(Box<dyn TemplateStore>, String, OpenStore)> {
    let message = "this program was built without databases, and `--store` names one";
    Err(EarlyExit::could_not(Code::FeatureMissing, message, format!("name a folder, or {HELP}")))
}

pub(crate) fn serve_http(_: ServerOptions, _: Door, _: &mut Console<'_>) -> Result<RunExit> {
    let message = "this program was built without a server for HTTP";
    Err(EarlyExit::could_not(Code::FeatureMissing, message, format!("use `tapster serve --stdio`, or {HELP}")))
}
