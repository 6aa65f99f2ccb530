//! Admission: what guards writes. One [`Plugin`] trait and one [`Chain`], used in-process for the objects
//! Berth owns and behind the webhook front ([`webhook`]) for objects on a hub. What a hub's own webhooks say
//! about the objects Berth owns is asked by the calling side ([`client`]).
//!
//! Plugins are pure functions of the request: they get what they look up from whoever builds them. What must
//! still be true when the write is stored they say as [`Guard`]s.
//!
//! ```
//! use std::sync::Arc;
//!
//! use berth_admission::{Chain, Denied, Operation, Plugin, Request, UserInfo};
//! use berth_apimachinery::GroupResource;
//! use serde_json::{Value, json};
//!
//! /// Nobody makes what is called `root`.
//! struct NoRoot;
//!
//! impl Plugin for NoRoot {
//!     fn name(&self) -> &'static str {
//!         "NoRoot"
//!     }
//!
//!     fn handles(&self, request: &Request<'_>) -> bool {
//!         request.operation == Operation::Create
//!     }
//!
//!     fn validate(&self, request: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denied> {
//!         match request.name {
//!             "root" => Err(Denied::Forbidden("it is called root".to_owned())),
//!             _ => Ok(()),
//!         }
//!     }
//! }
//!
//! let chain = Chain::new(vec![Arc::new(NoRoot)]);
//! let user = UserInfo::default();
//! let request = Request {
//!     operation: Operation::Create,
//!     resource: GroupResource::new("", "configmaps"),
//!     kind: "ConfigMap",
//!     subresource: "",
//!     namespace: "team",
//!     name: "root",
//!     user: &user,
//!     old: None,
//!     dry_run: false,
//! };
//! let refused = chain.validate(&request, Some(&json!({})), &mut Vec::new()).unwrap_err();
//! assert_eq!(refused.code, 403);
//! ```

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
