//! What `tapster serve` is told of its server over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A server over HTTP.
#[cfg_attr(not(feature = "full"), expect(dead_code, reason = "such a program has no server"))]
pub(crate) struct ServerOptions {
    pub(crate) listen: SocketAddr,
    /// What callers must send.
    pub(crate) token: Option<String>,
    /// Pages of other machines that may call.
    pub(crate) origins: Vec<String>,
    pub(crate) deadline: Duration,
    /// The configuration of the gateway.
    pub(crate) gateway: Option<PathBuf>,
    pub(crate) cache_log: Option<PathBuf>,
    /// The database of sessions.
    pub(crate) store: Option<String>,
}
