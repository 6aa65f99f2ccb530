//! The form of a configuration where a dialect has none of its own.

use std::sync::LazyLock;

use meta::Schema;
use serde::Deserialize;
use serde_json::json;

/// The form of a dialect that has no settings.
pub(crate) static NO_SETTINGS: LazyLock<Schema> = LazyLock::new(|| {
    Schema::part_from_value(json!({
        "type": "object",
        "description": "There are no settings.",
        "x-kubernetes-map-type": "granular",
    }))
});

/// What is read by [`NO_SETTINGS`], and by any form whose values nobody wants.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Anything {}
