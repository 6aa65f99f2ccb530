//! Admission of writes. A [`Chain`] of [`Plugin`]s runs in-process for the objects that Berth owns, and
//! behind admission webhooks ([`webhook`]) for objects on a hub. The module [`client`] is the calling side of
//! webhooks: with it, a program calls the webhooks of a hub about the objects that Berth owns.
//!
//! Plugins do no I/O: they are built with the data that they look up. They return the conditions that must
//! still hold when the write is stored as [`Guard`](berth_apimachinery::write::Guard)s.
#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "a Status is the error of nearly every function here, and errors are rare"
)]

mod chain;
pub mod client;
mod garbage_collection;
mod plugin;
mod request;
pub mod rights;
pub mod webhook;
mod wire;

pub use chain::{Chain, Observer, Phase, PluginPass, SelectedPlugins};
pub use garbage_collection::GARBAGE_COLLECTORS;
pub use plugin::{Plugin, Ready, Requirements};
pub use request::{Denial, NAMESPACES, Operation, Request, UserInfo};
