//! An empty list of CustomResourceDefinitions, standalone only.
//!
//! Before it sends an object whose kind cannot be patched (a Binding, a review), `kubectl` asks whether the kind is a
//! custom resource, and gives up when nobody answers. Here nothing is: every kind is built in.

use std::sync::Arc;

use apiserver::{Backing, Call, Computed, Group, ListQuery, Listing, RequestInfo, Resource};
use async_trait::async_trait;
use meta::kind::KindInfo;
use meta::{Cell, Column, Kind, Object, Schema, Scope, Status};
use serde_json::json;

const GROUP: &str = "apiextensions.k8s.io";

struct Definition {
    info: KindInfo,
    schema: Schema,
    columns: [Column; 2],
}

/// The group to serve.
#[must_use]
pub fn group() -> Group {
    let info = KindInfo {
        group: GROUP,
        versions: &["v1"],
        storage_version: "v1",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        singular: "customresourcedefinition",
        short_names: &["crd", "crds"],
        categories: &[],
        scope: Scope::Cluster,
        verbs: &["list"],
        status: false,
        unconditional_update: false,
        strategic: false,
    };
    let schema = Schema::from_value(json!({
        "type": "object",
        "description": "A kind that is defined by an object. This server has none: every kind it serves is built in.",
        "properties": {},
    }));
    let kind = Arc::new(Definition {
        info,
        schema,
        columns: [Column::NAME, Column::AGE],
    });
    let resource = Resource::new(kind, Backing::Computed(Arc::new(Nothing)));
    Group {
        name: GROUP,
        resources: vec![resource],
    }
}

impl Kind for Definition {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        meta::kind::name_and_age(object)
    }
}

/// Lists nothing.
struct Nothing;

#[async_trait]
impl Computed for Nothing {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn list(&self, _call: &Call, _query: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        Ok(Arc::new(Vec::new()))
    }
}
