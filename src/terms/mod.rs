//! The terms of the rule language: the parts that every pass is written in, whatever its verb.
//!
//! A term has one spelling in files, one compiled form and one meaning: values ([`expr`]), conditions ([`cond`]),
//! selections ([`select`]), places ([`place`]). The room `syntax` compiles terms and resolves every name once;
//! evaluation only reads what a build holds ([`state`]). Nothing here knows verbs, stages or products.

pub mod calc;
pub mod cond;
pub mod coverage;
pub mod draws;
pub mod eval;
pub mod expr;
pub mod expression;
mod fault;
pub mod ledger;
pub mod lists;
pub mod memo;
pub mod names;
pub mod patterns;
pub mod place;
pub mod rules;
pub mod scripts;
pub mod select;
pub mod state;
pub mod steps;
pub mod trace;
pub mod trees;
mod types;
pub(crate) mod usage;
pub mod warnings;
pub mod words;

pub use cond::{Cond, CondTest};
pub use eval::{CurrentItem, Env, EvalFault, FaultKind};
pub use eval::{RenderFunction, RenderRequest};
pub use expr::Expr;
pub use memo::{PassContext, PassMemo};
pub use place::InsertPosition;
pub use rules::CompiledRules;
pub use scripts::ScriptLibrary;
pub use select::Select;
pub use state::BuildState;
pub use trace::PassReasons;
