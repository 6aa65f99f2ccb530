//! Server-side apply for objects of a structural schema, as pure functions: no I/O and no clock.
//!
//! Ownership is a set of *paths* ([`Set`], written as `fieldsV1`), never of values. [`Types`] is what a schema says about
//! merging: which maps and lists are granular, which are one leaf, and what tells list items apart. On these stand
//! * [`Types::paths`]: the fields an applied configuration names, which its manager will own;
//! * [`Types::merge`]: the configuration merged into the live object;
//! * [`Types::compare`]: what was removed, modified and added between two states of an object;
//! * [`Types::prune`]: the merge without what the manager named before, names no more, and nobody else owns.
//!
//! All of it is about one version of a kind. Depth is limited ([`MAX_DEPTH`]); lists are indexed by key, so that the work
//! grows with `n log n` of their length.
//!
//! The rules are those of <https://kubernetes.io/docs/reference/using-api/server-side-apply/> and of the enhancement
//! proposal KEP-555.

mod compare;
mod element;
mod fields;
mod items;
mod managers;
mod merge;
mod paths;
mod prune;
#[cfg(test)]
mod tests;
mod types;
mod write;

pub use compare::Comparison;
pub use element::{Element, Scalar};
pub use fields::{Invalid, Set};
pub use managers::name::{NAME_LIMIT, is_printable, problems as name_problems};
pub use managers::{Entry, Identity, MAX_BYTES, Managers, Operation};
pub use paths::Mismatch;
pub use types::Types;
pub use write::{Applied, Conflict, Only, Refused, Reset, Versions, Writer};

/// How deep objects and field sets may nest. Deeper ones are refused before anything walks them.
pub const MAX_DEPTH: usize = meta::nesting::DEPTH_LIMIT;

/// Whether `object` is nested too deep to walk.
fn too_deep(object: &serde_json::Value) -> bool {
    !meta::nesting::is_shallow(object)
}
