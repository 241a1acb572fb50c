//! Stores: a folder of templates, and sessions and templates in SQLite and PostgreSQL, which run the same tests.

mod bed;
mod folder;
mod kill;
mod postgres;
mod race;
mod suite;
