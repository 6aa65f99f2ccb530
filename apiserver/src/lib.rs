//! A library for aggregated (extension) Kubernetes API servers: TLS, authentication, authorization, the
//! request pipeline, every verb, watch and content negotiation.
//!
//! It has no kinds and no scheduling systems: a program passes [`Resource`]s (a
//! [`berth_apimachinery::Kind`] and the source of its objects) and gets a server.
//! `examples/flunders.rs` is a complete one. With the crate `berth-aggregation`, a server runs behind a
//! kube-apiserver (`examples/aggregated_flunders.rs` there). Start reading at [`resource`].
#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "a Status is the error of nearly every function here, and errors are rare"
)]

mod actor;
mod annotations;
pub mod audit;
pub mod auth;
pub mod authn;
pub mod authz;
pub mod call;
pub mod chain;
mod clock;
mod compress;
pub mod context;
pub mod decode;
pub mod delegation;
pub mod documents;
mod errors;
pub mod handlers;
pub mod health;
pub mod heavy;
mod limit;
mod list_body;
pub mod listing;
mod managers;
pub mod memory;
pub mod metrics;
mod names;
mod negotiation;
mod options;
mod paging;
pub mod patch_body;
mod protobuf;
pub mod registry;
mod render;
pub mod request_info;
pub mod resource;
pub mod respond;
mod selection;
pub mod serve;
mod served;
mod signal;
mod table;
pub mod tls;
mod unread;
mod validation;
pub mod version;
pub mod view;
mod websocket;
mod yaml;

#[cfg(test)]
mod testing;

pub use actor::Actor;
pub use annotations::Annotations;
pub use auth::{Access, Attributes, Authorizer, Selected};
pub use axum::Router;
pub use axum::body::Body;
pub use call::{Call, Document, ListQuery, Reply, Rows, Warnings};
pub use chain::{ChainBuilder, ChainConfig, Limits};
pub use clock::SystemClock;
pub use context::{Api, Authorized, Inner, RequestCx};
pub use decode::Codec;
pub use delegation::Unanswered;
pub use handlers::ApiState;
pub use listing::Listing;
pub use memory::{ByteLimiter, Charge, Share};
pub use registry::{Committed, CreateHook, Created, Extension, OnCommit, Registry};
pub use request_info::{Query, RequestInfo};
pub use resource::{
    Backing, Change, Computed, Group, Part, Resource, Subresource, SubresourceHandler, View, stored,
};
pub use serve::{BindError, ConnectionLimits, Running, Server, ServerConfig};
pub use served::Served;
pub use view::{ViewApi, ViewRules};
