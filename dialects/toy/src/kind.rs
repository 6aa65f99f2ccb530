//! The kinds of the toy system: Toy and Box.

use std::sync::Arc;

use berth_apimachinery::{Column, Definition, Kind, KindInfo, Schema, Scope, SelectableField};
use serde_json::{Value, json};

use crate::names::{GROUP, VERSION};

static TOY: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Box", "The box of the toy").at(".spec.box"),
        Column::AGE,
    ],
    selectable: &[SelectableField::at("spec.box")],
    ..Definition::new(
        KindInfo {
            singular: "toy",
            status_subresource: true,
            unconditional_update: true,
            ..KindInfo::new(GROUP, &[VERSION], "Toy", "toys")
        },
        toy_schema,
    )
};

static BOX: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Capacity", "Maximum number of toys")
            .integer()
            .at(".spec.capacity"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "box",
            scope: Scope::Cluster,
            status_subresource: true,
            unconditional_update: true,
            ..KindInfo::new(GROUP, &[VERSION], "Box", "boxes")
        },
        box_schema,
    )
};

fn toy_schema() -> Schema {
    schema(&json!({
        "box": {"type": "string", "description": "The box of the toy. The scheduler writes it."},
        "lookAfter": {
            "type": "integer", "description": "Number of seconds after which the toy is decided again without a change.",
        },
    }))
}

fn box_schema() -> Schema {
    schema(&json!({
        "capacity": {"type": "integer", "description": "Maximum number of toys."},
        "lid": {"type": "string", "description": "A lid, which keeps all toys out."},
    }))
}

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

/// Every kind, in the order of discovery.
pub(crate) fn all() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(TOY.kind()), Arc::new(BOX.kind())]
}
