//! The wire types of Kubernetes: object metadata, group-version-kind, selectors, quantities, `Status`,
//! `Table`, patches, field errors, structural schemas and the trait [`Kind`].
//!
//! This crate does no I/O, and has no clock and no kinds. Start reading at [`object`] (stored objects)
//! and [`kind`] (properties of a kind).
#![doc = include_str!("../README.md")]

mod age;
pub mod budget;
mod cell;
pub mod change;
mod custom;
mod definition;
pub mod duration;
pub mod field;
mod field_path;
pub mod json;
pub mod json_path;
pub mod kind;
mod labels;
pub mod name;
pub mod nesting;
pub mod object;
pub mod overruled;
pub mod patch;
pub mod quantity;
pub mod revision;
pub mod schema;
mod selectable;
pub mod selector;
pub mod status;
pub mod strategic;
pub mod symbol;
pub mod table;
pub mod time;
pub mod write;

pub use budget::{Budget, Exceeded};
pub use change::Change;
pub use custom::CustomKind;
pub use definition::Definition;
pub use field::FieldError;
pub use field_path::FieldPath;
pub use kind::{Cell, Cells, Column, Keeper, Kind, KindInfo, Scope};
pub use labels::{LabelSet, Labels};
pub use name::{GroupResource, Key, NameError};
pub use object::{Annotations, Draft, Meta, Mold, Object};
pub use revision::Revision;
pub use schema::Schema;
pub use status::{Status, StatusReason};
pub use time::{Clock, Timestamp};
pub use write::{CommitError, Guard, Verb, Why, Write};
