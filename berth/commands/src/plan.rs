//! Plans on the command line (docs/concepts.md, "Planning"): the changes that `berth simulate` and `berth
//! plan` receive, as `spec.changes` of a SchedulingReview, and the output of `status.plan`.

pub mod changes;
pub mod print;

pub use changes::Entry;
