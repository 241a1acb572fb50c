//! The terms of the rule language: the parts that every pass is written in, whatever its verb.
//!
//! A term has one spelling in files, one compiled form and one meaning: values ([`expr`]), conditions ([`cond`]),
//! selections ([`select`]), places ([`place`]). The room `syntax` compiles terms and resolves every name once;
//! evaluation only reads what a build holds ([`state`]). Nothing here knows verbs, stages or products.

mod absent;
pub mod among;
pub mod calc;
pub mod cells;
pub mod cond;
mod data_condition;
pub mod draws;
pub mod eval;
pub mod expr;
mod fault;
pub mod fold;
mod glance;
pub mod keys;
pub mod ledger;
pub mod library;
pub mod lists;
mod lookup;
pub mod memo;
pub mod names;
pub(crate) mod nesting;
pub mod patterns;
pub mod place;
mod prefilter;
mod rendering;
pub mod rewrite;
pub mod rules;
pub mod scripted;
pub mod seen;
pub mod select;
pub mod shared;
pub(crate) mod sizes;
mod spending;
pub mod state;
pub mod steps;
pub mod trail;
pub mod trees;
mod types;
mod unread;
pub mod watch;
pub mod words;

pub use cond::{Cond, CondTest};
pub use eval::{CurrentItem, Env, EvalFault, FaultKind};
pub use expr::Expr;
pub use library::ScriptLibrary;
pub use memo::PassMemo;
pub use place::InsertPosition;
pub use rendering::{RenderFunction, RenderRequest};
pub use rules::CompiledRules;
pub use select::Select;
pub use state::BuildState;
