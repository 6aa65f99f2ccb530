//! The kinds of the toy dialect, taken as they are.

use std::sync::{Arc, LazyLock};

use meta::kind::{ALL_VERBS, KindInfo, name_and_age};
use meta::{Cell, Column, Kind, Object, Schema, Scope};
use serde_json::json;

struct Plain(KindInfo);

const TOY: KindInfo = KindInfo {
    group: "toys.example",
    versions: &["v1"],
    storage_version: "v1",
    kind: "Toy",
    plural: "toys",
    singular: "toy",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: ALL_VERBS,
    status: true,
    unconditional_update: true,
    strategic: false,
};

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_value(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}))
});

impl Kind for Plain {
    fn info(&self) -> &KindInfo {
        &self.0
    }

    fn schema(&self, _version: &str) -> &Schema {
        &SCHEMA
    }

    fn columns(&self) -> &[Column] {
        &[Column::NAME, Column::AGE]
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        name_and_age(object)
    }
}

pub(super) fn all() -> Vec<Arc<dyn Kind>> {
    let boxes = KindInfo {
        kind: "Box",
        plural: "boxes",
        singular: "box",
        scope: Scope::Cluster,
        ..TOY
    };
    vec![Arc::new(Plain(TOY)), Arc::new(Plain(boxes))]
}
