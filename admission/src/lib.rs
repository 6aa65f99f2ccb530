//! Admission: what guards writes. One [`Plugin`] trait and one [`Chain`], used in-process for the objects
//! Berth owns and behind the webhook front ([`webhook`]) for objects on a hub. What a hub's own webhooks say
//! about the objects Berth owns is asked by the calling side ([`client`]).
//!
//! Plugins are pure functions of the request: they get what they look up from whoever builds them. What must
//! still be true when the write is stored they say as [`Guard`]s.
#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "a Status is the error of nearly every function here, and errors are rare"
)]

pub mod chain;
pub mod client;
mod collection;
pub mod plugin;
pub mod request;
pub mod rights;
pub mod webhook;
mod wire;

pub use berth_apimachinery::Guard;
pub use chain::{Chain, Observed, Observer, Phase};
pub use collection::COLLECTORS;
pub use plugin::{Plugin, Ready};
pub use request::{Denied, Operation, Request, UserInfo};
pub use rights::{Authority, Needed, Right};
