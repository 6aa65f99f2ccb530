//! The resources `schedulingreviews` and `localschedulingreviews`: decisions in a world that the request
//! describes. [`review`](super::review) computes the answer.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{FieldError, Key, Object, Status, Timestamp, time};
use berth_apiserver::{Attributes, Call, Computed, Reply, RequestInfo, heavy};
use berth_dialect_contract::{DemandKind, Dialect};
use berth_engine::{Catalog, Engine, World};
use berth_scheduling_api::{GROUP, VERSION};
use serde_json::Value;

use super::hidden;
use super::live::live_world;
use super::review::{self, Question};

/// Answers reviews.
pub(super) struct Reviews {
    /// The engine.
    pub(super) engine: Arc<Engine>,
    /// The kinds of objects that a review may contain.
    pub(super) catalog: Arc<Catalog>,
    /// The kind of the reviews.
    pub(super) kind: &'static str,
}

/// The demand of a review.
struct Demand {
    dialect: Arc<dyn Dialect>,
    key: Key,
    object: Option<Arc<Object>>,
}

#[async_trait]
impl Computed for Reviews {
    /// A review of few bytes may describe large worlds and many decisions.
    fn effort(&self, _: &RequestInfo) -> usize {
        heavy::UNKNOWN
    }

    async fn create(&self, call: &Call, mut body: Value) -> Result<Reply, Status> {
        let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let invalid = |errors: Vec<FieldError>| Status::invalid(GROUP, self.kind, &name, &errors);
        self.set_namespaces(&call.namespace, &mut body["spec"]);
        let now = body["spec"]["at"]
            .as_str()
            .and_then(time::parse)
            .unwrap_or(call.now);
        if !body["spec"]["changes"].is_null() {
            return self.plan(call, body, now).await;
        }
        let demand = self.demand(&body["spec"], now).map_err(invalid)?;
        check_namespace(&call.namespace, &demand).map_err(|error| invalid(vec![error]))?;
        let mode = body["spec"]["inventory"].as_str().unwrap_or("Live");
        authorize(call, &demand, mode).await?;
        let world = self.world(&demand.dialect, mode).await?;
        if demand.object.is_some() && world.get(&demand.key).is_some() {
            // The report also shows the state of the stored object of that name.
            check_readable(call, &demand).await?;
        }
        let question = Question {
            world,
            config: body["spec"]
                .get("config")
                .filter(|config| !config.is_null())
                .cloned(),
            objects: body["spec"]["objects"].as_array().cloned().unwrap_or_default(),
            demand: demand.key,
            object: demand.object,
            now,
        };
        let (report, world) = review::answer(&self.catalog, question).map_err(invalid)?;
        body["status"] = report;
        if let Some(writes) = body["status"]["writes"].as_array_mut() {
            let before = |key: &Key| world.get(key).cloned();
            hidden::hide(call, &self.catalog, &before, writes).await?;
        }
        Ok(Reply::Value(body))
    }
}

impl Reviews {
    /// Moves objects without a namespace to the namespace of a namespaced review.
    fn set_namespaces(&self, namespace: &str, spec: &mut Value) {
        if namespace.is_empty() {
            return;
        }
        let is_namespaced = |object: &Value| {
            let text = |field: &str| object[field].as_str().unwrap_or_default();
            let found = self.catalog.find(text("apiVersion"), text("kind"));
            found.is_some_and(|(kind, _)| kind.info().namespaced())
        };
        let fill = |fields: &mut Value| {
            if fields
                .get("namespace")
                .is_none_or(|given| given.is_null() || given == "")
            {
                fields["namespace"] = namespace.into();
            }
        };
        let objects = spec.get_mut("objects").and_then(Value::as_array_mut);
        for object in objects.into_iter().flatten() {
            if is_namespaced(object) && object["metadata"].is_object() {
                fill(&mut object["metadata"]);
            }
        }
        if let Some(object) = spec.get_mut("object")
            && is_namespaced(object)
            && object["metadata"].is_object()
        {
            fill(&mut object["metadata"]);
        }
        if let Some(reference) = spec.get_mut("reference")
            && is_namespaced(reference)
        {
            fill(reference);
        }
    }

    fn demand(&self, spec: &Value, now: Timestamp) -> Result<Demand, Vec<FieldError>> {
        match spec.get("object").filter(|object| !object.is_null()) {
            Some(object) => {
                let (_, dialect) = self.kind(object, "spec.object")?;
                let (key, object) = self.catalog.read(object.clone(), "spec.object", now)?;
                Ok(Demand {
                    dialect,
                    key,
                    object: Some(object),
                })
            }
            None => {
                let reference = &spec["reference"];
                let (kind, dialect) = self.kind(reference, "spec.reference")?;
                let text = |field: &str| reference[field].as_str().unwrap_or_default();
                let (mut namespace, name) = (text("namespace"), text("name"));
                let found = self.catalog.find(text("apiVersion"), text("kind"));
                if found.is_some_and(|(kind, _)| !kind.info().namespaced()) {
                    // The decision may be namespaced (kcp's are) although the object is cluster-scoped.
                    namespace = "";
                } else if kind.namespaced && namespace.is_empty() {
                    let detail = format!("a {} is namespaced", kind.kind);
                    return Err(vec![FieldError::required("spec.reference.namespace", detail)]);
                }
                Ok(Demand {
                    dialect,
                    key: Key::new(kind.resource, namespace, name),
                    object: None,
                })
            }
        }
    }

    /// The placeable kind and the dialect that `apiVersion` and `kind` of `value` name.
    fn kind(&self, value: &Value, path: &str) -> Result<(DemandKind, Arc<dyn Dialect>), Vec<FieldError>> {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let resource = self
            .catalog
            .find(api_version, kind)
            .map(|(kind, _)| kind.info().resource());
        let all = self.engine.dialects().flat_map(|dialect| {
            dialect
                .demands()
                .iter()
                .map(move |demand| (*demand, Arc::clone(dialect)))
        });
        let mut known = Vec::new();
        for (demand, dialect) in all {
            if Some(demand.resource) == resource {
                return Ok((demand, dialect));
            }
            known.push(format!(
                "{}/{} {}",
                demand.resource.group, demand.version, demand.kind
            ));
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let shown = format!("{api_version} {kind}");
        Err(vec![FieldError::not_supported(
            format!("{path}.kind"),
            shown,
            &known,
        )])
    }

    /// The initial world of a review whose `spec.inventory` is `mode`.
    pub(super) async fn world(&self, dialect: &Arc<dyn Dialect>, mode: &str) -> Result<World, Status> {
        if mode == "Provided" {
            return Ok(World::empty(Arc::clone(dialect)));
        }
        live_world(&self.engine, dialect).await
    }
}

/// Checks that a review in `namespace` is about an object in it, or about the namespace itself. A review
/// without a namespace may be about any object.
fn check_namespace(namespace: &str, demand: &Demand) -> Result<(), FieldError> {
    let key = &demand.key;
    let itself = key.resource == hidden::NAMESPACES && *key.name == *namespace;
    if namespace.is_empty() || itself || *key.namespace == *namespace {
        return Ok(());
    }
    let path = match demand.object {
        Some(_) => "spec.object.metadata.namespace",
        None => "spec.reference.namespace",
    };
    let detail = format!(
        "must be {namespace}, the namespace of the review; use a SchedulingReview for other namespaces"
    );
    Err(FieldError::invalid(path, key.namespace.to_string(), detail))
}

/// Checks the rights of the caller. A review by reference needs `get` on the source. A review of the
/// live world needs `list targets`, except a review of one namespace: users who may create reviews
/// there see the targets in reports about that namespace.
async fn authorize(call: &Call, demand: &Demand, mode: &str) -> Result<(), Status> {
    if demand.object.is_none() {
        check_readable(call, demand).await?;
    }
    if mode == "Provided" || !call.namespace.is_empty() {
        return Ok(());
    }
    call.require(Attributes {
        verb: "list".to_owned(),
        is_resource: true,
        group: GROUP.to_owned(),
        version: VERSION.to_owned(),
        resource: "targets".to_owned(),
        ..Attributes::default()
    })
    .await
}

/// Checks that the caller may read the stored object.
async fn check_readable(call: &Call, demand: &Demand) -> Result<(), Status> {
    let mut kinds = demand.dialect.demands().iter();
    let version = kinds
        .find(|kind| kind.resource == demand.key.resource)
        .map(|kind| kind.version);
    call.require(hidden::right_to_read(&demand.key, version.unwrap_or_default()))
        .await
}
