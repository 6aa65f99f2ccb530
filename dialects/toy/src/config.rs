//! The toy system's part of a SchedulerConfiguration, `spec.toy`: its schema and its values.

use std::sync::LazyLock;

use berth_apimachinery::Schema;
use serde_json::{Value, json};

/// The schema of `spec.toy` in a SchedulerConfiguration.
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::part_from_value(json!({
        "type": "object",
        "description": "The colors of toys.",
        "x-kubernetes-map-type": "granular",
        "properties": {
            "prefix": {"type": "string", "description": "A prefix of the color of every toy."},
        },
    }))
});

/// The prefix of colors that `spec`, the value of `spec.toy`, sets; empty by default.
pub(crate) fn prefix(spec: Option<&Value>) -> String {
    let prefix = spec.and_then(|spec| spec["prefix"].as_str());
    prefix.unwrap_or_default().to_owned()
}
