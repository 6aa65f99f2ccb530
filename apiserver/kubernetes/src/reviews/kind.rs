//! What all reviews have in common as kinds: create is their only verb.

use berth_apimachinery::kind::name_and_age;
use berth_apimachinery::{Cell, Column, GroupResource, Kind, KindInfo, Object, Schema, Scope};
use schemars::JsonSchema;

/// A review kind.
pub(crate) struct Review {
    info: KindInfo,
    schema: Schema,
}

impl Review {
    /// The kind `kind` of `group`, with the fields of `T`.
    pub(crate) fn new<T: JsonSchema>(group: &'static str, kind: &'static str, scope: Scope) -> Self {
        let singular = kind.to_lowercase();
        let plural = GroupResource::intern(group, &format!("{singular}s")).resource;
        let info = KindInfo {
            group,
            versions: &["v1"],
            storage_version: "v1",
            kind,
            plural,
            singular: GroupResource::intern(group, &singular).resource,
            short_names: &[],
            categories: &[],
            scope,
            verbs: &["create"],
            status: false,
            unconditional_update: false,
            strategic: false,
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

    fn columns(&self) -> &[Column] {
        &[Column::NAME, Column::AGE]
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        name_and_age(object)
    }
}
