//! The contract that every dialect implements for its scheduling system, and the report that all readers
//! share.
//!
//! A dialect is pure. It names the kinds that it serves, folds changes of objects into an [`Inventory`], and
//! decides on a snapshot of the inventory: `(inventory, demand, now, seed) -> Decision`. Sentences are
//! created only for the report ([`report`]). This crate uses no storage, HTTP or clock. Start reading at
//! [`dialect`].
//!
//! The difference between two reports, for example, follows from their contents alone:
//!
//! ```
//! use berth_dialect_contract::difference::{ValueChange, Verdict};
//!
//! assert_eq!(ValueChange::of(Verdict::Feasible, Verdict::Feasible), None);
//! let change = ValueChange::of(Verdict::Refused, Verdict::Picked).unwrap();
//! assert_eq!((change.from.as_str(), change.to.as_str()), ("Refused", "Picked"));
//! ```
//!
//! The crate `berth-dialect-toy` is a whole dialect, small enough to be read in one go.

pub mod amounts;
pub mod config;
pub mod configuration;
pub mod control;
pub mod decision;
pub mod dialect;
pub mod difference;
pub mod edit;
pub mod extra_views;
pub mod facts;
pub mod finalizer;
pub mod guarded;
pub mod hub_rule;
pub mod inventory;
pub mod listing;
pub mod names;
pub mod on_hub;
pub mod own_place;
pub mod own_scheduler;
pub mod reach;
pub mod reconciler;
pub mod remedy;
pub mod report;
pub mod rules;
pub mod system_users;
pub mod taints;
pub mod view;
pub mod wording;
pub mod words;

pub use berth_apimachinery::write::{Verb, Write};
pub use configuration::Configuration;
pub use control::{Backoff, Control, Note, NoteType, Pace, RelatedObject};
pub use decision::{Action, BindingChange, ChoiceRefusal, CurrentPlace, Decision, Outcome};
pub use dialect::{DemandKind, Dialect};
pub use difference::{Difference, difference};
pub use edit::Edit;
pub use extra_views::ExtraViews;
pub use facts::{Access, Facts, Producer};
pub use finalizer::{Finalizer, ResourceFinalizer};
pub use guarded::{GuardedResources, ProtectedResource};
pub use hub_rule::{Condition, HubRule};
pub use inventory::{
    Advisor, AffectedDemands, Ask, Consequences, Guards, Inventory, ReservedDecision, Targets,
};
pub use on_hub::{Concern, Concerns, OnHub};
pub use own_place::OwnPlace;
pub use own_scheduler::{LeaseName, OwnScheduler};
pub use reach::Reach;
pub use reconciler::{Context, Controllers, Objects, Reconciler, Step};
pub use remedy::{ChangeOwner, Remedy};
pub use report::Report;
pub use system_users::SystemUsers;
pub use view::{Amount, DemandView, Phase, PlacedCluster, Quantities, Taint, TargetView, UnusableObject};
pub use words::Words;
