//! The scheduling core: filters, scores and ranking, and the outcome of a run, generic over the fleet.
//!
//! Pure: no JSON, no I/O, no clock, no randomness but a seed. A fleet is the dialect's own data (columns,
//! mostly); a candidate is an index into it. Refusals and scores are stored as numbers, without text; the
//! names of filters and reasons are declared with [`filters!`]. Start reading at [`pipeline`].
//!
//! ```
//! use berth_scheduling::{Filter, Ix, Verdict, filter, rank_by_total};
//!
//! berth_scheduling::filters! {
//!     Capacity = "Capacity" {
//!         Full = "Full",
//!     }
//! }
//!
//! /// A fleet: the free slots of each cluster.
//! impl Filter<[u32]> for Plugin {
//!     fn plugin(&self) -> u16 {
//!         self.number()
//!     }
//!     fn check(&self, free: &[u32], candidate: Ix) -> Verdict {
//!         match self {
//!             Self::Capacity => Code::Full.unless(free[candidate as usize] > 0),
//!         }
//!     }
//! }
//!
//! let free = [0, 3, 7];
//! let (feasible, rejections) = filter(&free[..], 3, &[&Plugin::Capacity]);
//! assert_eq!(feasible, [1, 2]);
//! assert_eq!(rejections[0].candidate, 0);
//! assert_eq!(Code::of_reason(rejections[0].reason).to_string(), "Capacity/Full");
//! assert_eq!(rank_by_total(&feasible, &[3, 7]), [2, 1]);
//! ```

pub mod candidate;
pub mod decision;
pub mod naming;
pub mod pipeline;
pub mod random;
pub mod rejections;

pub use candidate::{Ix, Reason};
pub use decision::{PipelineOutcome, ScoreColumn};
pub use pipeline::{Filter, Scorer, Verdict, filter, rank_by_total, score};
pub use random::Random;
pub use rejections::{Group, Refusals, Rejection, Rejections, ones};
