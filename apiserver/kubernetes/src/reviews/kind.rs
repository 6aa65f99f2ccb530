//! Common implementation of the kinds of reviews, whose only verb is create.

use berth_apimachinery::{Kind, KindInfo, Schema, Scope, symbol};
use schemars::JsonSchema;

/// A kind of reviews, with the schema of its fields.
pub(crate) struct ReviewKind {
    info: KindInfo,
    schema: Schema,
}

impl ReviewKind {
    /// Creates the kind `kind` of `group`, with the fields of `T`.
    pub(crate) fn new<T: JsonSchema>(group: &'static str, kind: &'static str, scope: Scope) -> Self {
        let singular = kind.to_lowercase();
        let plural = symbol::intern(&format!("{singular}s"));
        let info = KindInfo {
            singular: symbol::intern(&singular),
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

impl Kind for ReviewKind {
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
