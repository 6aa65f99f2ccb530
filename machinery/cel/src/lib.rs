//! The Common Expression Language, in Kubernetes' dialect.
//!
//! An [`Environment`] declares variables and functions. [`Environment::compile`] parses and type-checks an
//! expression, with errors in cel-go's format; [`Program::evaluate`] computes its value. Both limit their
//! recursion, and an evaluation ends when it exceeds its cost limit, in the units of cel-go and Kubernetes.
//!
//! JSON values are read in place: the cost of an evaluation depends on the values that it reads, not on the
//! size of its input.
#![doc = include_str!("../README.md")]

mod admission;
mod ast;
mod check;
mod compile;
mod environment;
mod error;
mod escape;
mod evaluate;
mod lexer;
mod library;
mod meter;
mod parser;
mod pattern;
mod program;
mod review;
mod run;
mod signature;
mod text;
mod types;
mod unify;
mod value;

#[cfg(test)]
mod tests;

pub use admission::AdmissionVariable;
pub use compile::MAX_SOURCE_BYTES;
pub use environment::Environment;
pub use error::Error;
pub use escape::escaped;
pub use evaluate::{LazyVariables, Variable};
pub use library::{Function, Library, Outcome, OverloadFunction};
pub use meter::Meter;
pub use parser::is_identifier;
pub use program::Program;
pub use review::{Decision, Decisions, Review, ReviewSubject};
pub use run::Evaluation;
pub use text::CompileError;
pub use types::{Object, Type};
pub use value::{Access, Key, List, Map, Message, Moment, Quantity, Semver, Text, Url, Value};

/// Cost limit of one expression in Kubernetes.
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// Cost limit of all expressions of one policy together, for one binding and parameter, in Kubernetes.
pub const POLICY_LIMIT: u64 = 10_000_000;
/// Cost limit of all match conditions of one webhook together, in Kubernetes.
pub const MATCH_CONDITIONS_LIMIT: u64 = 2_500_000;
