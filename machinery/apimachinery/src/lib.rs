//! The wire types of Kubernetes: object metadata, group-version-kind, selectors, quantities, `Status`,
//! `Table`, patches, field errors, structural schemas and the trait [`Kind`].
//!
//! This crate does no I/O, reads no system clock, and has no kinds. Start reading at [`Object`] (stored
//! objects) and [`Kind`] (properties of a kind).
#![doc = include_str!("../README.md")]

mod age;
pub mod budget;
mod cell;
mod change;
mod clock;
mod column;
mod custom;
mod definition;
pub mod duration;
pub mod field;
mod field_error;
mod field_path;
pub mod json;
pub mod json_path;
mod key;
mod kind;
mod labels;
pub mod name;
pub mod nesting;
mod object;
pub mod overruled;
pub mod patch;
pub mod quantity;
mod revision;
mod row;
mod schema;
mod selectable;
pub mod selector;
mod status;
pub mod strategic;
pub mod symbol;
pub mod table;
pub mod time;
pub mod write;

pub use cell::{Cell, Cells};
pub use change::Change;
pub use clock::{Clock, FixedClock};
pub use column::Column;
pub use custom::CustomKind;
pub use definition::{DefinedKind, Definition};
pub use field_error::{FieldError, FieldErrorKind};
pub use field_path::FieldPath;
pub use jiff::{SignedDuration, Timestamp};
pub use key::{GroupResource, Key};
pub use kind::{ALL_VERBS, Keeper, Kind, KindInfo, Scope, StatusMetadata, Write, WriteOperation};
pub use labels::{LabelSet, Labels};
pub use object::{Annotations, Draft, DraftError, Meta, Object, ObjectTemplate, OwnerReference};
pub use revision::Revision;
pub use schema::{ConditionForm, Path, ReadValue, Schema, TypeMismatch, UnknownFields, object_meta, types};
pub use selectable::SelectableField;
pub use status::{Cause, Details, Status, StatusReason};
