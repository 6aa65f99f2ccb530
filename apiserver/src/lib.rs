//! A library for aggregated (extension) Kubernetes API servers: TLS, authentication, authorization, the request
//! pipeline, every verb, watch and content negotiation.
//!
//! It knows no kind and no scheduling system: a program hands it [`Resource`]s (a [`meta::Kind`] and where its objects
//! come from) and gets a server. Anyone could build another API server on it. Start reading at [`resource`].

pub mod auth;
pub mod call;
pub mod context;
pub mod request_info;
pub mod respond;
pub mod resource;

pub use auth::{Access, Attributes, Authorizer};
pub use call::{Call, ListQuery, Reply, Rows, Warnings};
pub use context::{Api, Authorized, RequestCx};
pub use request_info::{Query, RequestInfo};
pub use resource::{Backing, Computed, Group, Resource, Subresource, SubresourceHandler};
