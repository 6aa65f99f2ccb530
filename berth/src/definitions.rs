//! CustomResourceDefinitions, standalone only: an empty list.
//!
//! Before `kubectl` sends an object whose kind cannot be patched (a Binding, a review), it looks up whether
//! the kind is a custom resource, and fails without an answer. Helm's charts look definitions up, and
//! operators watch them. In this server every kind is built in.

use std::sync::Arc;

use berth_apimachinery::{Kind, KindInfo, Revision, Schema, Scope};
use berth_apiserver::{Backing, Group, Resource};
use berth_storage::{Limits, MemoryStore};
use serde_json::json;

const GROUP: &str = "apiextensions.k8s.io";

const REFUSAL: &str = "every kind that this server serves is built in (`kubectl api-resources` lists them), and it takes no \
                       CustomResourceDefinition; leave it out, or apply it to a cluster";

struct Definition {
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
        // Clients read this schema before they send a definition; the server then refuses it with the
        // reason.
        "properties": {
            "spec": {"type": "object", "description": "The definition of the kind.", "x-kubernetes-preserve-unknown-fields": true},
            "status": {"type": "object", "description": "The status of the definition.", "x-kubernetes-preserve-unknown-fields": true},
        },
    }));
    let kind = Arc::new(Definition { info, schema });
    let store = MemoryStore::new(Revision(1), Limits::default());
    let resource = Resource::new(kind, Backing::Projected(Arc::new(store))).refusing(REFUSAL);
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
}
