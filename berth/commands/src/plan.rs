//! Plans on the command line: the changes given to `berth simulate` and `berth plan`, and the printed
//! answer. Both have the form of a SchedulingReview's `spec.changes` and `status.plan`
//! (docs/concepts.md, "Planning").

pub mod changes;
pub mod print;

pub use changes::Entry;
