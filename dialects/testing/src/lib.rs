//! What the dialects' own tests share: the runner of their scenario folders, the properties every decision has, and
//! what their benchmarks have in common.
//!
//! Only tests use this crate, so it may stand above the dialects it serves: they name it as a dev-dependency.

pub mod bench;
mod foreign;
pub mod matching;
pub mod properties;
pub mod scenario;

pub use properties::{Case, Generator, Later, Property};
pub use scenario::scenarios;
