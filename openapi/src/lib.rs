//! Discovery and OpenAPI documents of an API server, rendered once at start from its kinds.
//!
//! Input: one [`ResourceDoc`] per resource. Output: [`Documents`], every body as bytes with its media type
//! and ETag. This crate does no I/O; the server only routes:
//!
//! | path | document |
//! |---|---|
//! | `/api`, `/apis` | [`Documents::discovery`]; [`Discovery::aggregated`] when the `Accept` clause is [`AGGREGATED_DISCOVERY`], else [`Discovery::plain`] |
//! | `/api/v1`, `/apis/<group>`, `/apis/<group>/<version>` | [`Documents::discovery`] |
//! | `/openapi/v2` | [`Documents::openapi_v2`]: JSON, or protobuf when the clause is one of [`OPENAPI_V2_PROTOBUF`] |
//! | `/openapi/v3` | [`Documents::openapi_v3_index`] |
//! | `/openapi/v3/<path>` | [`Documents::openapi_v3`]; the answer is immutable if `?hash=` equals [`Document::hash`]; with another hash, it is a 301 to [`Documents::openapi_v3_url`] |
//!
//! Groups are in the order of their first resources in the input of [`Documents::new`]: clients resolve a
//! resource name that two groups share to the first group. The versions of a group are in Kubernetes' order
//! of priority (`v2`, `v1`, `v1beta2`, `v1alpha1`).
#![doc = include_str!("../README.md")]

pub mod crd;
mod definitions;
mod discovery;
mod document;
mod names;
mod operation;
mod resource;
#[cfg(test)]
mod tests;
mod v2;
mod v3;

pub use discovery::Discovery;
pub use document::Document;
pub use resource::{ResourceDoc, SubresourceDoc};
pub use v2::OpenApiV2;

use std::collections::BTreeMap;

use resource::Catalog;

/// Media type of aggregated discovery, both in `Accept` and in the answer.
pub const AGGREGATED_DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Media types by which clients request the protobuf form of OpenAPI v2; the answer has the second type.
pub const OPENAPI_V2_PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

/// Every discovery and OpenAPI document of one server.
#[derive(Clone, Debug)]
pub struct Documents {
    discovery: BTreeMap<String, Discovery>,
    v2: OpenApiV2,
    v3_index: Document,
    v3: BTreeMap<String, Document>,
}

impl Documents {
    /// Renders all documents. `title` and `version` (`v1.2.3`) of the server are part of OpenAPI's `info`.
    #[must_use]
    pub fn new(title: &str, version: &str, resources: &[ResourceDoc]) -> Self {
        let catalog = Catalog::new(resources);
        let (v3_index, v3) = v3::documents(title, version, &catalog);
        Self {
            discovery: discovery::documents(&catalog),
            v2: v2::documents(title, version, &catalog),
            v3_index,
            v3,
        }
    }

    /// Returns the discovery document at `path` (without a slash at its end).
    #[must_use]
    pub fn discovery(&self, path: &str) -> Option<&Discovery> {
        self.discovery.get(path)
    }

    /// Returns the paths of all discovery documents.
    pub fn discovery_paths(&self) -> impl Iterator<Item = &str> {
        self.discovery.keys().map(String::as_str)
    }

    /// Returns the document of `/openapi/v2` in both forms.
    #[must_use]
    pub const fn openapi_v2(&self) -> &OpenApiV2 {
        &self.v2
    }

    /// Returns the document of `/openapi/v3`: the paths with their hashes.
    #[must_use]
    pub const fn openapi_v3_index(&self) -> &Document {
        &self.v3_index
    }

    /// Returns the OpenAPI v3 document of `path`, the part after `/openapi/v3/`: `apis/apps/v1`, `api/v1`,
    /// `version`.
    #[must_use]
    pub fn openapi_v3(&self, path: &str) -> Option<&Document> {
        self.v3.get(path)
    }

    /// Returns the URL at which the current document of `path` is immutable:
    /// `/openapi/v3/<path>?hash=<hash>`.
    #[must_use]
    pub fn openapi_v3_url(&self, path: &str) -> Option<String> {
        self.v3.get(path).map(|document| v3::url(path, document))
    }

    /// Returns the paths of all OpenAPI v3 documents.
    pub fn openapi_v3_paths(&self) -> impl Iterator<Item = &str> {
        self.v3.keys().map(String::as_str)
    }
}
