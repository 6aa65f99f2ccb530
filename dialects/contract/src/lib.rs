//! What a dialect is: the one contract every scheduling system implements, and the report everyone reads.
//!
//! A dialect is pure. It says which kinds it serves, folds changes of objects into an [`Inventory`], and decides on a
//! snapshot of it: `(inventory, demand, now, seed) -> Decision`. Text is made only in the view ([`report`]). Nothing
//! here knows storage, HTTP or a clock. Start reading at [`dialect`].

pub mod config;
pub mod control;
pub mod decision;
pub mod dialect;
pub mod difference;
pub mod edit;
pub mod facts;
pub mod follower;
mod form;
pub mod hold;
pub mod hub_rule;
pub mod names;
pub mod remedy;
pub mod report;
pub mod view;

pub use control::{Backoff, Note, NoteType, Pace, Related};
pub use decision::{Action, BindingChange, Current, Decision, Outcome, Refused, Write, WriteVerb};
pub use dialect::{Affected, Ask, Concern, DemandKind, Dialect, Due, Inventory, Protected, Reserved};
pub use difference::{Difference, difference};
pub use edit::Edit;
pub use facts::{Access, Facts, Producer};
pub use follower::{Follower, Objects, Sight, Step};
pub use hold::{Finalizer, Hold};
pub use hub_rule::{Condition, HubRule};
pub use remedy::{Remedy, Whose};
pub use report::Report;
pub use view::{DemandView, Phase, Placed, Quantities, Taint, TargetView, Unusable};
