//! Sending a prompt: one request and one reply, and the loops over them.
//!
//! A plan says what a model is to read. [`PromptRunner`] makes one request of it, sends it through a [`Transport`] and
//! reads one [`Reply`]; it knows no provider, because how a request is written and how a reply is read are rows of the
//! pack's dialects. Tools and directives are two separate protocols over that one boundary, and share no names.
//! What must hold of a request is said by the pack (programs over the rows of `capability`, `policy`, `preflight`);
//! what keeps the two protocols apart is also checked here, so that no pack can lose it. Source: the contract of the
//! runner, sections 0 to 5.
//!
//! Nothing here needs a runtime or a socket: whoever brings a [`Transport`] of its own does without the feature `run`.

#[cfg(feature = "run")]
mod clock;
mod config;
mod error;
#[cfg(feature = "run")]
pub mod http;
pub mod keys;
mod receive;
pub mod record;
mod request;
pub mod retry;
mod runner;
pub mod sse;
mod transport;

pub mod directives;
#[cfg(feature = "run")]
pub mod eval;
pub mod tools;

use std::future::Future;
use std::pin::Pin;

use tapster::machinery::{build, pack, reading, text};
use tapster::{diag, model};

#[cfg(feature = "run")]
pub use clock::RealPace;
pub use config::{Capabilities, DirectiveLimits, LanguagePolicy, PromptBudget, RunnerConfig, ToolLimits, capabilities, presets};
pub use error::{Problem, ProviderError, RunError};
#[cfg(feature = "run")]
pub use http::{Http, HttpOptions, Timeouts};
pub use keys::{Key, KeyError, is_variable};
pub use record::{Recorder, Replay};
pub use request::{OptionChange, PreparedRequest};
pub use runner::{Delta, PromptRunner, Reply, in_language, reply};
pub use transport::{AuthHeader, Body, IncomingAnswer, OutgoingRequest, Transport, TransportError};

/// Something that is being done; it needs no particular runtime.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
