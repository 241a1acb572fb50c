//! The terms of the rule language: what every pass is written in, whatever its verb.
//!
//! A term has one spelling in files, one compiled form and one meaning: values ([`expr`]), conditions
//! ([`cond`]), selections ([`select`]), places ([`place`]). Compiling ([`cx`]) resolves every name once;
//! running only reads what a build holds ([`state`]). Nothing here knows verbs, stages or products.

mod absent;
pub mod calc;
pub mod cond;
pub mod cond_parse;
pub mod cx;
pub mod draws;
pub mod eval;
pub mod expr;
mod glance;
pub mod keys;
mod languages;
pub mod ledger;
pub mod library;
pub mod lists;
mod looks;
pub mod names;
mod needs;
mod nesting;
pub mod parse;
pub mod patterns;
pub mod place;
mod rendering;
pub mod rules;
pub mod select;
pub mod select_parse;
pub mod state;
mod templates;
pub mod trail;
pub mod trees;
pub mod watch;

pub use cond::{Cond, Test};
pub use cx::Cx;
pub use eval::{Cur, Env, Fault, Memo};
pub use expr::Expr;
pub use library::Library;
pub use place::Place;
pub use rendering::{Renderer, Rendering};
pub use rules::Rules;
pub use select::Select;
pub use state::State;
