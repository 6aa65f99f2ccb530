//! The wire vocabulary of Kubernetes as Berth speaks it: object metadata, group-version-kind, selectors,
//! quantities, `Status`, `Table`, patches, field errors, structural schemas and the trait [`Kind`].
//!
//! This crate does no I/O, holds no clock and knows no kind. Start reading at [`object`] (what a stored object is)
//! and [`kind`] (what a kind must say about itself).

pub mod budget;
pub mod change;
pub mod duration;
pub mod field;
pub mod json_path;
pub mod kind;
pub mod name;
pub mod nesting;
pub mod object;
pub mod patch;
pub mod quantity;
pub mod schema;
pub mod selector;
pub mod status;
pub mod strategic;
pub mod table;
pub mod time;

pub use budget::{Budget, Exceeded};
pub use change::{Change, Revision};
pub use field::FieldError;
pub use kind::{Cell, Column, Keeper, Kind, KindInfo, Scope};
pub use name::{GroupResource, Key};
pub use object::{Annotations, Draft, Meta, Object};
pub use schema::Schema;
pub use status::Status;
pub use time::{Clock, Timestamp};
