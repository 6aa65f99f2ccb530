//! Toy kinds that together use every option of the library.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use berth_admission::{Chain, Denial, Operation, Plugin, Request};
use berth_apimachinery::{
    Cell, Column, FieldError, GroupResource, Kind, KindInfo, Object, Revision, Schema, Scope,
    SelectableField, Status, Write, WriteOperation,
};
use berth_storage::{Limits, MemoryStore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::{Call, Document, ListQuery, Reply, Rows};
use crate::decode::Codec;
use crate::listing::Listing;
use crate::registry::Registry;
use crate::request_info::RequestInfo;
use crate::resource::{Backing, Computed, Group, Resource, Subresource, SubresourceHandler};

pub(super) const GROUP: &str = "toys.example.com";

#[derive(Serialize, Deserialize, JsonSchema)]
struct WidgetBody {
    /// Wanted state.
    spec: Option<WidgetSpec>,
    /// Actual state.
    status: Option<WidgetStatus>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct WidgetSpec {
    /// The color.
    color: Option<String>,
    /// The size, 1 to 10.
    #[schemars(range(min = 1, max = 10))]
    size: Option<i64>,
    /// Filled in.
    #[schemars(extend("default" = "round"))]
    shape: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct WidgetStatus {
    /// Phase of the widget.
    phase: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct GadgetBody {
    /// The parts.
    #[schemars(extend("x-kubernetes-patch-strategy" = "merge", "x-kubernetes-patch-merge-key" = "name"))]
    parts: Option<Vec<Part>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Part {
    /// Name of the body.
    name: String,
    /// Number of clusters.
    count: Option<i64>,
}

/// A kind that is built from its parts.
pub(super) struct Toy {
    info: KindInfo,
    schema: fn() -> Schema,
    made: OnceLock<Schema>,
    selectable: &'static [SelectableField],
    columns: Vec<Column>,
}

impl Toy {
    fn new(kind: &'static str, plural: &'static str, scope: Scope, schema: fn() -> Schema) -> Self {
        let info = KindInfo {
            scope,
            ..KindInfo::new(GROUP, &["v1", "v1beta1"], kind, plural)
        };
        let columns = vec![Column::NAME, Column::text("Color", "The color"), Column::AGE];
        Self {
            info,
            schema,
            made: OnceLock::new(),
            selectable: &[],
            columns,
        }
    }
}

fn color(value: &Value) -> String {
    value["spec"]["color"].as_str().unwrap_or_default().to_owned()
}

const COLOR: &[SelectableField] = &[SelectableField::computed("spec.color", color)];

impl Kind for Toy {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _: &str) -> &Schema {
        self.made.get_or_init(self.schema)
    }

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        if write.operation == WriteOperation::Create && self.info.status_subresource {
            new["status"] = json!({"phase": "Pending"});
        }
    }

    fn creates_on_update(&self) -> bool {
        self.info.kind == "Gadget"
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if new["spec"]["color"] == "ultraviolet" {
            errors.push(FieldError::invalid(
                "spec.color",
                "ultraviolet",
                "must be visible",
            ));
        }
        if let WriteOperation::Subresource("paint") = write.operation
            && write
                .old
                .is_some_and(|old| old["spec"]["size"] != new["spec"]["size"])
        {
            errors.push(FieldError::forbidden(
                "spec.size",
                "painting does not change the size",
            ));
        }
        errors
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn row(&self, object: &Object) -> Vec<Cell> {
        let meta = object.meta();
        vec![
            meta.name().into(),
            color(object.value()).into(),
            Cell::Age(meta.creation_timestamp()),
        ]
    }

    fn selectable(&self) -> &'static [SelectableField] {
        self.selectable
    }

    fn hold_deletion(&self, object: &mut Value, _: berth_apimachinery::Timestamp) -> bool {
        let held = object["spec"]["hold"] == true;
        if held {
            object["status"] = json!({"phase": "Terminating"});
        }
        held
    }
}

/// Internals that the tests inspect.
pub(in crate::handlers) struct Toys {
    pub(super) store: Arc<MemoryStore>,
    pub(super) shadows: Arc<MemoryStore>,
}

impl Toys {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            store: Arc::new(MemoryStore::new(Revision(100), limits)),
            shadows: Arc::new(MemoryStore::new(Revision(1000), limits)),
        }
    }

    pub(super) fn chain(&self) -> Chain {
        Chain::new(vec![Arc::new(Police)])
    }

    pub(super) fn groups(&self, registry: &Arc<Registry>) -> Vec<Group> {
        let mut widget = Toy::new("Widget", "widgets", Scope::Namespaced, Schema::of::<WidgetBody>);
        widget.info.status_subresource = true;
        widget.selectable = COLOR;
        let mut gadget = Toy::new("Gadget", "gadgets", Scope::Cluster, Schema::of::<GadgetBody>);
        gadget.info.unconditional_update = true;
        gadget.info.strategic_merge_patch = true;
        let mut shadow = Toy::new("Shadow", "shadows", Scope::Namespaced, Schema::of::<WidgetBody>);
        shadow.info.verbs = &["get", "list", "watch"];
        let mut review = Toy::new("Review", "reviews", Scope::Cluster, Schema::of::<WidgetBody>);
        review.info.verbs = &["create", "get", "list"];
        review.selectable = COLOR;
        let paint = Subresource {
            name: "paint",
            group: "",
            version: "",
            kind: "Widget",
            verbs: &["get", "patch", "update"],
            schema: None,
            handler: Arc::new(Paint(Arc::clone(registry))),
        };
        let report = Subresource {
            name: "report",
            group: GROUP,
            version: "v1",
            kind: "Report",
            verbs: &["get", "create"],
            schema: Some(Arc::new(Schema::of::<WidgetBody>())),
            handler: Arc::new(Report),
        };
        let stored = |kind: Toy, subresources| {
            Resource::new(Arc::new(kind), Backing::Stored(self.store.clone())).with_subresources(subresources)
        };
        let resources = vec![
            stored(widget, vec![paint, report]),
            stored(gadget, vec![super::view::proxy(registry)]),
            Resource::new(Arc::new(shadow), Backing::Projected(self.shadows.clone())),
            Resource::new(Arc::new(review), Backing::Computed(Arc::new(Reviews::default()))),
        ];
        vec![Group {
            name: GROUP,
            resources,
        }]
    }
}

/// Labels new objects with their creator, refuses the name `forbidden`, and protects `guarded` from deletion.
struct Police;

impl Plugin for Police {
    fn name(&self) -> &'static str {
        "Police"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.resource.group == GROUP
    }

    fn mutate(
        &self,
        request: &Request<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Denial> {
        if request.operation == Operation::Create {
            object["metadata"]["annotations"]["creator"] = request.user.name.as_str().into();
        }
        if object["spec"]["color"] == "pink" {
            warnings.push("pink fades".to_owned());
        }
        Ok(())
    }

    fn validate(
        &self,
        request: &Request<'_>,
        object: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Denial> {
        if object.is_some_and(|object| object["metadata"]["name"] == "forbidden") {
            return Err(Denial::Forbidden("that name is taboo".to_owned()));
        }
        if request.operation == Operation::Delete && request.name == "guarded" {
            return Err(Denial::Forbidden("it is guarded".to_owned()));
        }
        Ok(())
    }
}

/// `widgets/paint`: the widget itself, under separate rules.
struct Paint(Arc<Registry>);

fn key(call: &Call) -> berth_apimachinery::Key {
    berth_apimachinery::Key::new(GroupResource::new(GROUP, "widgets"), &call.namespace, &call.name)
}

#[async_trait]
impl SubresourceHandler for Paint {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        self.0.get(&key(call)).await.map(Reply::Object)
    }

    async fn update(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        let guards = Vec::new();
        let object = self
            .0
            .update_subresource(call, &key(call), "paint", body, guards)
            .await?;
        Ok(Reply::Object(object))
    }
}

/// `widgets/report`: computed per request, with its own rows.
struct Report;

#[async_trait]
impl SubresourceHandler for Report {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let metadata = json!({"name": call.name, "namespace": call.namespace});
        Ok(Reply::Document(Arc::new(Parts { metadata })))
    }

    async fn create(&self, _: &Call, body: Value) -> Result<Reply, Status> {
        Ok(Reply::Value(body))
    }
}

/// The object that `widgets/report` returns.
struct Parts {
    metadata: Value,
}

impl Document for Parts {
    fn metadata(&self) -> Value {
        self.metadata.clone()
    }

    fn json(&self) -> Result<Vec<u8>, Status> {
        let value = json!({"apiVersion": "toys.example.com/v1", "kind": "Report", "metadata": self.metadata});
        Ok(value.to_string().into_bytes())
    }

    fn rows(&self) -> Rows {
        Rows {
            columns: vec![Column::text("Part", "The part")],
            rows: vec![vec!["a".into()], vec!["b".into()]],
        }
    }
}

/// Ten computed reviews. They contain the number of earlier lists.
#[derive(Default)]
struct Reviews(AtomicUsize);

fn review(index: i64, lists: usize) -> Arc<Object> {
    let value = json!({
        "apiVersion": "toys.example.com/v1", "kind": "Review",
        "metadata": {"name": format!("r{index}"), "labels": {"even": (index % 2 == 0).to_string()}},
        "spec": {"size": index, "lists": lists},
    });
    Arc::new(Object::new(&value, Revision(7)).unwrap())
}

#[async_trait]
impl Computed for Reviews {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    async fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        let index = call
            .name
            .strip_prefix('r')
            .and_then(|text| text.parse().ok())
            .filter(|index| *index < 10);
        let missing = || Status::not_found(GroupResource::new(GROUP, "reviews"), &call.name);
        index.map(|index| review(index, 0)).ok_or_else(missing)
    }

    async fn list(&self, _: &Call, _: &ListQuery) -> Result<Arc<dyn Listing>, Status> {
        let lists = self.0.fetch_add(1, Ordering::SeqCst);
        let all: Vec<_> = (0..10).map(|index| review(index, lists)).collect();
        Ok(Arc::new(all))
    }

    async fn create(&self, call: &Call, mut object: Value) -> Result<Reply, Status> {
        object["status"] = json!({"phase": call.user.name});
        Ok(Reply::Value(object))
    }
}

/// A test format: reversed JSON.
pub(super) struct Reversed;

impl Codec for Reversed {
    fn decode(&self, bytes: &[u8]) -> Option<Result<Value, String>> {
        let text: Vec<u8> = bytes.iter().rev().copied().collect();
        text.starts_with(b"{")
            .then(|| serde_json::from_slice(&text).map_err(|problem| problem.to_string()))
    }

    fn tree_size(&self, bytes: &[u8]) -> usize {
        crate::memory::tree_size(bytes) * 2
    }

    fn has_message(&self, _: &str, kind: &str) -> bool {
        ["Gadget", "ListMeta", "Status", "PartialObjectMetadata"].contains(&kind)
    }

    /// The JSON of the metadata as the first field, and the JSON of the whole object as the second.
    fn message(&self, _: &str, kind: &str, object: &Value) -> Option<Vec<u8>> {
        self.has_message("", kind).then(|| {
            let parts = [&object["metadata"], object].map(Value::to_string);
            let fields = [0x0a, 0x12].into_iter().zip(parts);
            let field = |(key, text): (u8, String)| {
                let length = [0x80 | (text.len() & 0x7f), text.len() >> 7];
                let length = length.map(|digit| u8::try_from(digit).unwrap());
                [&[key], length.as_slice(), text.as_bytes()].concat()
            };
            fields.flat_map(field).collect()
        })
    }
}
