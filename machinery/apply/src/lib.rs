//! Server-side apply for objects of a structural schema, and the managed fields of every other write, with
//! the rules of kube-apiserver: pure functions on JSON values, without I/O and without a clock. They are for
//! API servers, for tools that predict the result of an apply, and for tests.
//!
//! Start with [`Managers`], which is `metadata.managedFields` decoded:
//! * [`Managers::update`] computes the owners after a create, update or patch;
//! * [`Managers::apply`] merges a configuration into an object, removes fields that its manager no
//!   longer names, and reports [`Conflict`]s;
//! * [`Writer`] has the manager, the subresource and the time; [`Versions`] has the facts about the
//!   kind.
//!
//! `cargo run -p berth-apply --example owners` shows two managers and a conflict.
//!
//! Ownership is a set of *paths* ([`Set`], written as `fieldsV1`), never of values. [`Types`] is the merge
//! information of a schema: which maps and lists are granular, which are one leaf, and the keys of list
//! items. The main methods of [`Types`] are:
//! * [`Types::paths`]: the fields in an applied configuration, which its manager will own;
//! * [`Types::merge`]: the configuration merged into the live object;
//! * [`Types::compare`]: the removed, modified and added paths between two states of an object;
//! * [`Types::prune`]: the merged object without the fields that only the manager's previous configuration
//!   had and no other manager owns;
//! * [`Types::restore_owned`]: an object that other writers changed, with the fields of one owner restored.
//!
//! Differences from kube-apiserver: pruning never leaves `null` in an object, which most schemas refuse. A
//! field whose map or list loses its last entry is removed, or stays empty if it has an owner. Managed fields
//! are compared by owner ([`Managers::same_but_times`]), so that a mere change of their order need not be
//! written.
//!
//! The nesting of objects is limited ([`MAX_DEPTH`]), and so is the size of managed fields ([`MAX_BYTES`]).
//! Lists are indexed by key, so that the work is in `O(n log n)` of their length. An object that exceeds a
//! limit is refused, or its fields are not tracked; it causes no panic.
//!
//! The rules are those of <https://kubernetes.io/docs/reference/using-api/server-side-apply/> and of the
//! enhancement proposal KEP-555. `tests/apply_reference` runs random writes both with this crate and with
//! kube-apiserver's own field manager; `src/reference/rows.json` has short sequences with their outcomes
//! (feature `reference`).
#![doc = include_str!("../README.md")]

mod atomics;
mod compare;
mod element;
mod fields;
mod items;
mod managers;
mod merge;
mod path_text;
mod paths;
mod prune;
#[cfg(feature = "reference")]
pub mod reference;
mod restore;
#[cfg(test)]
mod tests;
mod types;
mod write;

pub use compare::Comparison;
pub use element::{Element, Scalar};
pub use fields::{InvalidFields, Set};
pub use managers::name::{NAME_LIMIT, is_printable, problems as name_problems};
pub use managers::{Entry, Identity, MAX_BYTES, Managers, Operation};
pub use paths::Mismatch;
pub use types::Types;
pub use write::{ApplyError, ApplyOutcome, Conflict, Reset, SingleVersion, Versions, Writer};

/// Deepest nesting of objects and field sets. Deeper objects and sets are refused before any recursion.
pub const MAX_DEPTH: usize = berth_apimachinery::nesting::DEPTH_LIMIT;

/// Whether the nesting of `object` is too deep for recursion.
fn too_deep(object: &serde_json::Value) -> bool {
    !berth_apimachinery::nesting::is_shallow(object)
}
