//! Stores: a folder of templates, and sessions and templates in SQLite and PostgreSQL, which run the same tests.

mod bad_input;
pub(crate) mod bed;
mod disk;
mod existing;
mod folder;
mod kill;
mod model;
mod postgres;
mod race;
mod suite;
