//! The kinds of the toy system: Toy and Box.

use std::sync::{Arc, LazyLock};

use berth_apimachinery::{Column, Kind, KindInfo, Schema, Scope, SelectableField};
use serde_json::{Value, json};

use crate::names::{GROUP, VERSION};

const TOY: KindInfo = KindInfo {
    singular: "toy",
    status_subresource: true,
    unconditional_update: true,
    ..KindInfo::new(GROUP, &[VERSION], "Toy", "toys")
};

const BOX: KindInfo = KindInfo {
    singular: "box",
    scope: Scope::Cluster,
    status_subresource: true,
    unconditional_update: true,
    ..KindInfo::new(GROUP, &[VERSION], "Box", "boxes")
};

const TOY_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Box", "The box of the toy").at(".spec.box"),
    Column::AGE,
];

const TOY_FIELDS: &[SelectableField] = &[SelectableField::at("spec.box")];

const BOX_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Capacity", "Maximum number of toys")
        .integer()
        .at(".spec.capacity"),
    Column::AGE,
];

/// The schema of a kind with the fields `spec`. Unknown fields are preserved.
fn schema(spec: &Value) -> Schema {
    Schema::from_value(json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "description": "The desired state.", "properties": spec,
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    }))
}

static TOY_SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    schema(&json!({
        "box": {"type": "string", "description": "The box of the toy. The scheduler writes it."},
        "lookAfter": {
            "type": "integer", "description": "Number of seconds after which the toy is decided again without a change.",
        },
    }))
});

static BOX_SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    schema(&json!({
        "capacity": {"type": "integer", "description": "Maximum number of toys."},
        "lid": {"type": "string", "description": "A lid, which keeps all toys out."},
    }))
});

/// One kind of the system.
struct KindData {
    info: KindInfo,
    schema: &'static LazyLock<Schema>,
    columns: &'static [Column],
    selectable: &'static [SelectableField],
}

impl Kind for KindData {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        self.schema
    }

    fn columns(&self) -> &[Column] {
        self.columns
    }

    fn selectable(&self) -> &'static [SelectableField] {
        self.selectable
    }
}

/// Every kind, in the order of discovery.
pub(crate) fn all() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(KindData {
            info: TOY,
            schema: &TOY_SCHEMA,
            columns: TOY_COLUMNS,
            selectable: TOY_FIELDS,
        }),
        Arc::new(KindData {
            info: BOX,
            schema: &BOX_SCHEMA,
            columns: BOX_COLUMNS,
            selectable: &[],
        }),
    ]
}
