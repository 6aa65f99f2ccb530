//! Admission: what guards writes. One [`Plugin`] trait and one [`Chain`], used in-process for the objects Berth owns and
//! (later) behind the webhook front for objects on a hub.
//!
//! Plugins are pure functions of the request: they get what they look up from whoever builds them.

pub mod chain;
pub mod request;

pub use chain::{Chain, Plugin};
pub use request::{Denied, Operation, Request, UserInfo};
