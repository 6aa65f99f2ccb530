//! Admission of writes. One [`Plugin`] trait and one [`Chain`], used in-process for the objects that Berth
//! owns and behind the webhook front ([`webhook`]) for objects on a hub. With the calling side ([`client`]),
//! a program calls a hub's own webhooks about the objects that Berth owns.
//!
//! Plugins are pure functions of the request: their builder passes the data that they look up. As [`Guard`]s,
//! they return the conditions that must still hold when the write is stored.
#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "a Status is the error of nearly every function here, and errors are rare"
)]

mod chain;
pub mod client;
mod collection;
mod plugin;
mod request;
pub mod rights;
pub mod webhook;
mod wire;

pub use chain::{Chain, Observer, Phase, PluginPass};
pub use collection::COLLECTORS;
pub use plugin::{Plugin, Ready};
pub use request::{Denial, NAMESPACES, Operation, Request, UserInfo};
