//! Common parts of the dialects' own tests: the runner of their scenario folders, the properties of
//! every decision, and common parts of their benchmarks.
//!
//! Only tests use this crate, so that it may be in a layer above the dialects, which have it as a
//! dev-dependency.
//!
//! A test of scenario folders is one line, `berth_dialect_testing::scenarios(dialect(), folder)`. The
//! expected values are matched as a subset:
//!
//! ```
//! use berth_dialect_testing::matching::differences;
//! use serde_json::json;
//!
//! let found = json!({"outcome": "Scheduled", "message": "1 of 2 clusters"});
//! assert!(differences(&json!({"outcome": "Scheduled"}), &found).is_empty());
//! assert_eq!(differences(&json!({"outcome": "Ignored"}), &found).len(), 1);
//! ```

pub mod bench;
mod documented;
mod foreign;
pub mod matching;
pub mod properties;
pub mod scenario;

pub use documented::documented;
pub use properties::{Case, Generator, Later, Property};
pub use scenario::scenarios;
