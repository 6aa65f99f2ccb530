//! The scheduling core: filter, score, rank, pick, and the decision they make, generic over the fleet.
//!
//! Pure: no JSON, no I/O, no clock, no randomness but a seed. A fleet is whatever the dialect keeps (columns, mostly);
//! a candidate is an index into it. Everything refused or scored is kept as codes and indices; text is made by whoever
//! shows it. Start reading at [`pipeline`].
//!
//! ```
//! use scheduling::{Filter, Ix, Verdict, filter, rank_by_total};
//!
//! /// A fleet: the free slots of each cluster.
//! struct HasRoom;
//! impl Filter<[u32]> for HasRoom {
//!     fn name(&self) -> &'static str {
//!         "Capacity"
//!     }
//!     fn check(&self, free: &[u32], candidate: Ix) -> Verdict {
//!         if free[candidate as usize] > 0 { Verdict::Pass } else { Verdict::reject(1) }
//!     }
//! }
//!
//! let free = [0, 3, 7];
//! let (feasible, rejections) = filter(&free[..], 3, &[&HasRoom]);
//! assert_eq!(feasible, [1, 2]);
//! assert_eq!(rejections[0].candidate, 0);
//! assert_eq!(rank_by_total(&feasible, &[3, 7]), [2, 1]);
//! ```

pub mod candidate;
pub mod decision;
pub mod pipeline;
pub mod random;

pub use candidate::{Ix, Reason};
pub use decision::{Rejection, ScoreColumn, Solved};
pub use pipeline::{Filter, Refusals, Scorer, Verdict, filter, ones, rank_by_total, score};
pub use random::Random;
