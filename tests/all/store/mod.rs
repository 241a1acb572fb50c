//! Stores: a folder of templates, and sessions and templates in SQLite and PostgreSQL, which run the same tests.

mod bad_input;
pub(crate) mod bed;
mod failures;
mod folder;
mod model;
mod postgres;

mod suite;
