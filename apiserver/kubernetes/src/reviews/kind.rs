//! Common parts of the kinds of reviews: create is their only verb.

use berth_apimachinery::{Kind, KindInfo, Schema, Scope, symbol};
use schemars::JsonSchema;

/// A review kind.
pub(crate) struct Review {
    info: KindInfo,
    schema: Schema,
}

impl Review {
    /// Creates the kind `kind` of `group`, with the fields of `T`.
    pub(crate) fn new<T: JsonSchema>(group: &'static str, kind: &'static str, scope: Scope) -> Self {
        let singular = kind.to_lowercase();
        let plural = symbol::of(&format!("{singular}s"));
        let info = KindInfo {
            singular: symbol::of(&singular),
            scope,
            verbs: &["create"],
            ..KindInfo::new(group, &["v1"], kind, plural)
        };
        Self {
            info,
            schema: Schema::of::<T>(),
        }
    }
}

impl Kind for Review {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _: &str) -> &Schema {
        &self.schema
    }

    fn has_rows(&self) -> bool {
        false
    }
}
