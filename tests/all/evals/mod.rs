//! `tapster eval`: files, checks, numbers, and evaluations over a scripted transport and a recorded session.

mod files;
mod numbers;
mod whole;
