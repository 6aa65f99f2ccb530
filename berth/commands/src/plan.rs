//! Plans on the command line: what changes, as `berth simulate` and `berth plan` are given it, and how the
//! answer is printed. Both have the form of a SchedulingReview's: `spec.changes` and `status.plan`
//! (docs/concepts.md, "Planning").

pub mod changes;
pub mod print;

pub use changes::Entry;
