//! What the feature `full` adds for the rest of the program. Without it, `lean.rs` is compiled in its place.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tapster_door::Door;
use tapster_serve::{AccessRules, RequestLog, ServeLimits};

use crate::diag::{Code, Diagnostic};
use crate::exit::{EarlyExit, Result, RunExit};
use crate::output::Console;
use crate::share::shown;
use crate::store::{SqlStore, StoreRefusal, TemplateStore};

pub(crate) use tapster_client::http::file_of as file_of_address;

pub(crate) use crate::store::block_on as wait;

/// The bytes at an address, at most `limit`.
pub(crate) fn fetch(url: &str, limit: usize) -> Result<Option<Vec<u8>>> {
    use tapster_client::http::{fetch, timeouts};
    wait(fetch(url, limit, timeouts())).map_err(|error| {
        let message = format!("`{}` cannot be fetched: {}", shown(url), shown(&error.message));
        let help = "check the address and the connection; nothing was changed";
        EarlyExit::new(RunExit::CouldNot, Diagnostic::new(Code::ShareUnreachable, message).help(help))
    })
}

/// A store that is closed when it is dropped, however its verb ends: what was written then stands in the file itself,
/// and a copy of it is whole.
pub(crate) struct OpenStore(SqlStore);

impl std::ops::Deref for OpenStore {
    type Target = SqlStore;

    fn deref(&self) -> &SqlStore {
        &self.0
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        wait(self.0.close());
    }
}

/// Opens a database; a file that does not exist is created.
pub(crate) fn open_database(address: &str) -> Result<OpenStore> {
    opened(wait(SqlStore::open(address)))
}

/// Opens a database that exists.
pub(crate) fn open_existing_database(address: &str) -> Result<OpenStore> {
    opened(wait(SqlStore::open_existing(address)))
}

fn opened(database: Result<SqlStore, StoreRefusal>) -> Result<OpenStore> {
    database.map(OpenStore).map_err(|complaint| EarlyExit::new(RunExit::CouldNot, *complaint))
}

/// The templates of a database, its name, and what closes it.
pub(crate) fn open_template_database(address: &str) -> Result<(Box<dyn TemplateStore>, String, OpenStore)> {
    let store = open_database(address)?;
    Ok((Box::new(SqlStore::clone(&store)), store.name().to_owned(), store))
}

/// Who may call over HTTP.
pub(crate) struct AccessOptions {
    pub(crate) token: Option<String>,
    pub(crate) origins: Vec<String>,
}

/// Answers HTTP until the process is asked to stop; open requests are finished. Each request is told in a line of JSON.
pub(crate) fn serve_http(address: SocketAddr, access: AccessOptions, deadline: f64, door: Door, show: &mut Console<'_>) -> Result<RunExit> {
    if access.token.is_none() && !tapster_serve::is_local(&address) {
        let message = format!("other machines reach `{address}`, and no token is demanded of them");
        let help = "set `TAPSTER_TOKEN` to a long random text, or listen on `127.0.0.1`";
        return Err(EarlyExit::could_not(Code::ServeAddress, message, help));
    }
    let failed = |error: std::io::Error| {
        let message = format!("`{address}` cannot be listened on: {error}");
        EarlyExit::could_not(Code::ServeAddress, message, "choose another address with `--listen`")
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let limits = ServeLimits { time: Duration::from_secs_f64(deadline), ..ServeLimits::default() };
    let (sender, mut logs) = tokio::sync::mpsc::unbounded_channel();
    let write = move |log: RequestLog| _ = sender.send(log);
    let access = AccessRules::new(access.token.as_deref(), access.origins);
    let router = tapster_serve::router(Arc::new(door), limits, access, Arc::new(write));
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        show.answer(&json!({ "listening": url }), || format!("listening on {url}\n"));
        show.flush();
        let mut served = std::pin::pin!(tapster_serve::serve(listener, router, limits, stop_signal()));
        loop {
            tokio::select! {
                done = &mut served => break done.map_err(failed),
                Some(RequestLog { method, path, status, time }) = logs.recv() => {
                    let line = json!({ "method": method, "path": path, "status": status, "milliseconds": time.as_millis() });
                    // nobody can read an error about a closed stream
                    let _ = writeln!(show.io.err, "{line}");
                }
            }
        }
    })?;
    Ok(RunExit::Done)
}

/// Ends when the process is asked to stop.
async fn stop_signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}
