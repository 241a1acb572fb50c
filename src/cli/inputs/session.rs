//! The flags that say which session of which store is meant, and when it is now.

use clap::Args;

use crate::diag::Code;
use crate::store::{Home, Moment, SqlStore};

use crate::cli::inputs::scene::clock;
use crate::cli::inputs::store::StoreArgs;
use crate::cli::output::Show;
use crate::cli::stop::Stop;

/// Which session of which store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Session")]
pub(in crate::cli) struct Place {
    #[command(flatten)]
    store: StoreArgs,
    /// Whose session.
    #[arg(long, value_name = "NAME", default_value = "local")]
    owner: String,
    /// The session: a chat, or a branch of it.
    #[arg(long, value_name = "NAME", default_value = "default")]
    session: String,
}

impl Place {
    /// Opens the store, and creates it if it does not exist.
    pub(in crate::cli) fn open(&self, show: &Show<'_, '_>) -> Result<SqlStore, Stop> {
        self.store.open(show)
    }

    /// Opens a store that exists.
    pub(in crate::cli) fn open_existing(&self, show: &Show<'_, '_>) -> Result<SqlStore, Stop> {
        self.store.open_existing(show)
    }

    /// The session.
    pub(in crate::cli) fn home(&self) -> Home {
        Home { owner: self.owner.clone(), session: self.session.clone() }
    }
}

/// When it is now, for retention.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Session")]
pub(in crate::cli) struct Time {
    /// The time, such as 2026-01-31T20:15:00Z [default: the clock].
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// The number of the turn: one more for each message of the user [default: the turn of the last write].
    #[arg(long, value_name = "N")]
    turn: Option<i64>,
}

impl Time {
    /// The moment; `last` is when the session was last written.
    pub(in crate::cli) fn moment(&self, last: Option<Moment>) -> Result<Moment, Stop> {
        let now = milliseconds(&self.now.clone().unwrap_or_else(clock))?;
        Ok(Moment { now, turn: self.turn.or(last.map(|at| at.turn)).unwrap_or_default() })
    }
}

/// A time in milliseconds since 1970.
pub(in crate::cli) fn milliseconds(text: &str) -> Result<i64, Stop> {
    let time = text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_millisecond);
    time.map_err(|_| {
        let message = format!("`{}` is not a time", crate::cli::layout::head(text, 60));
        Stop::could_not(Code::SceneField, message, "write it with its distance from UTC: 2026-01-31T20:15:00Z")
    })
}
