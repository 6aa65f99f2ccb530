//! The scheduling core: filter, score, rank, pick, and the decision they make, generic over the fleet.
//!
//! Pure: no JSON, no I/O, no clock, no randomness but a seed. A fleet is whatever the dialect keeps (columns, mostly);
//! a candidate is an index into it. Everything refused or scored is kept as codes and indices; text is made by whoever
//! shows it. Start reading at [`pipeline`].

pub mod decision;
pub mod pipeline;
pub mod random;

pub use decision::{Rejection, ScoreColumn, Solved};
pub use pipeline::{Filter, Ix, Reason, Scorer, Verdict, filter, rank_by_total, score};
pub use random::Random;
