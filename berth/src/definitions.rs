//! The resource CustomResourceDefinition of a standalone server, with an empty list.
//!
//! Clients need the resource: `kubectl` lists definitions before it sends an object whose kind cannot be
//! patched (a Binding, a review), Helm's charts look them up, and operators watch them. The list is empty,
//! since every kind of this server is built in.

use std::sync::Arc;

use berth_apimachinery::{Kind, KindInfo, Revision, Schema, Scope};
use berth_apiserver::{Backing, Group, Resource};
use berth_storage::{Limits, MemoryStore};
use serde_json::json;

const GROUP: &str = "apiextensions.k8s.io";

/// Message for a user who creates a CustomResourceDefinition.
const REFUSAL: &str = "every kind that this server serves is built in (`kubectl api-resources` lists them), so it accepts no \
                       CustomResourceDefinition; leave the definition out, or apply it to a cluster";

/// The kind CustomResourceDefinition.
struct DefinitionKind {
    info: KindInfo,
    schema: Schema,
}

/// The API group `apiextensions.k8s.io`, with CustomResourceDefinitions only.
#[must_use]
pub fn group() -> Group {
    let info = KindInfo {
        singular: "customresourcedefinition",
        short_names: &["crd", "crds"],
        scope: Scope::Cluster,
        verbs: &["get", "list", "watch"],
        ..KindInfo::new(
            GROUP,
            &["v1"],
            "CustomResourceDefinition",
            "customresourcedefinitions",
        )
    };
    let schema = Schema::from_value(json!({
        "type": "object",
        "description": "A custom kind. This server has none: all of its kinds are built in.",
        // Clients validate a definition by this schema. It accepts all definitions, so that clients show the
        // server's refusal.
        "properties": {
            "spec": {"type": "object", "description": "The definition of the kind.", "x-kubernetes-preserve-unknown-fields": true},
            "status": {"type": "object", "description": "The status of the definition.", "x-kubernetes-preserve-unknown-fields": true},
        },
    }));
    let kind = Arc::new(DefinitionKind { info, schema });
    let store = MemoryStore::new(Revision(1), Limits::default());
    let resource = Resource::new(kind, Backing::Projected(Arc::new(store))).with_refusal(REFUSAL);
    Group {
        name: GROUP,
        resources: vec![resource],
    }
}

impl Kind for DefinitionKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }
}
