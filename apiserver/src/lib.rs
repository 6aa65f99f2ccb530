//! A library for aggregated (extension) Kubernetes API servers: TLS, authentication, authorization, the
//! request pipeline, every verb, watch and content negotiation.
//!
//! It has no kinds and no scheduling systems: a program passes [`Resource`]s (a [`berth_apimachinery::Kind`]
//! and the source of its objects) and gets a server. `examples/flunders.rs` is a complete program. With the
//! crate `berth-aggregation`, a server runs behind a kube-apiserver (`examples/aggregated_flunders.rs`
//! there). Start reading at [`Resource`].
#![doc = include_str!("../README.md")]
#![allow(
    clippy::result_large_err,
    reason = "a Status is the error of nearly every function here, and errors are rare"
)]

mod actor;
mod annotations;
pub mod audit;
mod auth;
pub mod authn;
pub mod authz;
mod call;
mod chain;
mod clock;
mod compress;
mod context;
mod decode;
mod delegation;
pub mod documents;
mod errors;
mod handlers;
pub mod health;
pub mod heavy;
mod limit;
mod list_body;
mod listing;
mod managers;
pub mod memory;
pub mod metrics;
mod names;
mod negotiation;
mod options;
mod paging;
pub mod patch_body;
mod protobuf;
mod registry;
mod render;
mod request_info;
mod resource;
pub mod respond;
mod response_facts;
mod selection;
mod serve;
mod served;
mod signal;
mod table;
pub mod tls;
mod unread;
mod validation;
mod version;
pub mod view;
mod websocket;
mod yaml;

#[cfg(test)]
mod testing;

pub use actor::Actor;
pub use annotations::Annotations;
pub use auth::{Access, Attributes, Authorizer, SelectorScope};
pub use axum::Router;
pub use axum::body::Body;
pub use call::{Call, Document, ListQuery, Reply, Rows, Warnings};
pub use chain::{Chain, ChainBuilder, ChainConfig, Limits, read_body};
pub use clock::SystemClock;
pub use context::{Api, AuthorizedRequest, RequestCx, Route, SubresourceApi};
pub use decode::Codec;
pub use delegation::{DelegationError, ReviewError, Reviewer};
pub use handlers::ApiState;
pub use listing::Listing;
pub use registry::{
    ApplyConfiguration, Author, CONFLICT_ATTEMPTS, CommittedTransaction, CreateHook, CreatedObject,
    Extension, Index, InstallError, OnCommit, Registry, RegistryBuilder, share_guards,
};
pub use request_info::{Query, RequestInfo};
pub use resource::{
    Backing, Change, Computed, Effort, Group, Part, Resource, Subresource, SubresourceHandler, View, stored,
};
pub use rustls;
pub use serve::{BindError, ConnectionLimits, RunningServer, Server, ServerConfig};
pub use served::ServedVersion;
pub use version::VersionInfo;
