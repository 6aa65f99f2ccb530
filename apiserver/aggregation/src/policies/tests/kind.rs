//! The kind of the tests, in two versions.

use std::sync::LazyLock;

use berth_apimachinery::{Kind, KindInfo, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const GROUP: &str = "toys.example.com";

static INFO: KindInfo = KindInfo::new(GROUP, &["v1beta1", "v1alpha1"], "Toy", "toys");

#[derive(Serialize, Deserialize, JsonSchema)]
struct Body {
    /// Anything.
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    spec: serde_json::Map<String, serde_json::Value>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Body>);

/// The kind.
pub(super) struct Toy;

impl Kind for Toy {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _version: &str) -> &Schema {
        &SCHEMA
    }
}
