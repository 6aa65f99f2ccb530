//! Connection of an aggregated API server, which is based on `apiserver`, to the kube-apiserver in front of
//! it (the hub).
//!
//! - [`Delegation`]: the hub authenticates users (client CAs and front proxy from the ConfigMap
//!   kube-system/extension-apiserver-authentication, TokenReviews) and authorizes them
//!   (SubjectAccessReviews).
//! - [`Registration`](registration::Registration): the caBundles of APIServices and webhook configurations
//!   follow the serving certificate's CA, which replicas may share.
//! - `HubWebhooks` and `HubPolicies` (feature `policies`): the hub's admission webhooks and policies are
//!   consulted about the kinds that this server stores, because kube-apiserver proxies requests for these
//!   kinds before its own admission.
//!
//! The crate has no kinds, so any server based on `apiserver` can use it. The module `options` (feature
//! `options`) has the flags of an aggregated server and runs the server: see
//! `examples/aggregated_flunders.rs`. Without that module, a server lets the hub authenticate and authorize
//! as in the following example.
#![doc = include_str!("../README.md")]

mod client;
mod delegation;
mod error;
#[cfg(feature = "options")]
pub mod options;
#[cfg(feature = "policies")]
pub mod policies;
mod published;
pub mod registration;
pub mod reviewer;

pub use client::{Clients, Kubeconfigs};
pub use delegation::{CacheTimes, Delegation, Lookup};
pub use error::{HubError, RegistrationError};
pub use published::StaticTrust;
