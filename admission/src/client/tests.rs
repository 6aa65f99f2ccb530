//! The calling side: the selection of webhooks, the requests, and the answers.

mod answers;
mod consulting;
mod matching;
mod reviews;

use berth_apimachinery::{Cell, Column, GroupResource, Kind, KindInfo, Object, Schema};
use serde_json::Value;

use super::*;
use crate::request::{NAMESPACES, Operation, Request, UserInfo};

/// Foos in two versions; the older one has another name for one field.
struct Foo {
    info: KindInfo,
    schema: Schema,
}

impl Foo {
    fn new() -> Self {
        Self {
            info: KindInfo {
                singular: "foo",
                status_subresource: true,
                ..KindInfo::new("g.example", &["v1", "v1beta1"], "Foo", "foos")
            },
            schema: Schema::from_value(serde_json::json!({"type": "object"})),
        }
    }
}

impl Kind for Foo {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _: &str) -> &Schema {
        &self.schema
    }

    fn columns(&self) -> &[Column] {
        &[Column::NAME]
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        vec![object.meta().name().into()]
    }

    fn to_stored(&self, version: &str, value: &mut Value) {
        if version == "v1beta1"
            && let Some(fields) = value.as_object_mut()
            && let Some(spec) = fields.remove("oldSpec")
        {
            fields.insert("spec".to_owned(), spec);
        }
    }

    fn to_served(&self, version: &str, object: &Object) -> Option<Value> {
        let mut value = object.parse();
        let fields = value.as_object_mut().filter(|_| version == "v1beta1")?;
        if let Some(spec) = fields.remove("spec") {
            fields.insert("oldSpec".to_owned(), spec);
        }
        Some(value)
    }
}

/// A create of a foo in a namespace.
fn create(user: &UserInfo) -> Request<'_> {
    Request {
        operation: Operation::Create,
        resource: GroupResource::new("g.example", "foos"),
        kind: "Foo",
        subresource: "",
        namespace: "team",
        name: "x",
        user,
        old: None,
        dry_run: false,
    }
}

/// The write of a Foo that `request` asks for in `version`.
fn about<'a>(request: &'a Request<'a>, kind: &'a Foo, version: &'a str) -> VersionedWrite<'a> {
    VersionedWrite {
        request,
        version,
        versions: kind.info.versions,
        object_kind: ObjectKind::Own {
            kind,
            object_version: "v1",
        },
    }
}
