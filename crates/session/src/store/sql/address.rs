//! Which database is meant: `sqlite:PATH`, a path, or `postgres://…`. An address may contain a password, so messages
//! show it without one.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::refused;
use crate::diag::Code;
use crate::diag::short::head;
use crate::store::StoreRefusal;

/// What is encoded in the path of a file of SQLite.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');
/// The characters of an address that a message shows.
const SHOWN: usize = 200;

/// What the two databases do not have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlDialect {
    Sqlite,
    Postgres,
}

/// A database, and how to name it.
#[derive(Clone)]
pub(super) struct DatabaseAddress {
    pub(super) dialect: SqlDialect,
    /// What the driver opens.
    pub(super) url: String,
    /// The file of SQLite.
    pub(super) path: Option<String>,
    /// The name for messages: a path, or an address without its password and its options.
    pub(super) shown: String,
    /// Whether the driver's own words about the address may be repeated.
    pub(super) secret: bool,
}

impl DatabaseAddress {
    /// Reads `sqlite:PATH`, `postgres://…`, or a path.
    pub(super) fn read(text: &str) -> Result<Self, StoreRefusal> {
        if text.starts_with("postgres:") || text.starts_with("postgresql:") {
            if cfg!(not(feature = "postgres")) {
                let help = "build it with the feature `postgres`, or name a file, which is a database of SQLite";
                return Err(refused(Code::FeatureMissing, "this program was built without PostgreSQL".to_owned(), help));
            }
            return Self::postgres(text);
        }
        let path = match text.strip_prefix("sqlite:") {
            Some(path) => path.strip_prefix("//").unwrap_or(path),
            // `C:\…` is a path
            None => match text.split_once("://") {
                Some((scheme, _)) => return Err(unknown(format!("`{}://` is not a store", head(scheme, SHOWN)))),
                None => text,
            },
        };
        match path {
            "" => Err(unknown("a store needs the path of its file".to_owned())),
            ":memory:" => Err(unknown("a store in memory would be lost".to_owned())),
            path if path.contains('\0') => Err(unknown("the path of a store contains a NUL".to_owned())),
            path => Ok(Self::sqlite(path)),
        }
    }

    fn sqlite(path: &str) -> Self {
        let url = sqlite_url(path, "mode=rwc");
        Self { dialect: SqlDialect::Sqlite, url, path: Some(path.to_owned()), shown: head(path, SHOWN), secret: false }
    }

    /// The same database, which must exist.
    pub(super) fn existing(self) -> Self {
        self.with("mode=rw")
    }

    /// The same file, to be read without any other file beside it.
    pub(super) fn alone(self) -> Self {
        self.with("mode=ro&immutable=true")
    }

    fn with(self, options: &str) -> Self {
        let url = self.path.as_deref().map(|path| sqlite_url(path, options));
        Self { url: url.unwrap_or(self.url), ..self }
    }

    fn postgres(text: &str) -> Result<Self, StoreRefusal> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(unknown("the address of a PostgreSQL database begins with `postgres://`".to_owned()));
        };
        let (base, options) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
        // a password may contain a slash or an `@` by mistake: everything before the last `@` is of the user
        let (user, place) = match base.rsplit_once('@') {
            Some((login, place)) => (Some(login.split(':').next().unwrap_or_default()), place),
            None => (None, base),
        };
        let shown = match user {
            Some(user) => format!("{scheme}://{}@{}", head(user, SHOWN), head(place, SHOWN)),
            None => format!("{scheme}://{}", head(place, SHOWN)),
        };
        let secret = user.is_some() || options.contains("password");
        Ok(Self { dialect: SqlDialect::Postgres, url: text.to_owned(), path: None, shown, secret })
    }
}

/// The address of a file of SQLite for the driver.
fn sqlite_url(path: &str, options: &str) -> String {
    // a path may contain what means something in an address
    let mut url = String::from("sqlite:");
    // `sqlite://x` would be read as `x`
    if path.starts_with("//") {
        url.push_str("/.");
    }
    url.extend(utf8_percent_encode(path, PATH));
    url + "?" + options
}

fn unknown(message: String) -> StoreRefusal {
    refused(Code::StoreUrl, message, "write the path of a file, `sqlite:PATH`, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`")
}
