//! The subresource `scale` of Deployments (`autoscaling/v1` Scale): the number of Pods, for `kubectl scale`
//! and autoscalers.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use berth_apimachinery::write::{CommitError, WriteRefusal};
use berth_apimachinery::{FieldError, Key, Object, Schema, Status};
use berth_apiserver::{
    CONFLICT_ATTEMPTS, Call, Part, Registry, Reply, RequestInfo, Subresource, SubresourceHandler,
};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{RESOURCE, number};
use crate::core::value;

/// The fields of a Scale.
#[derive(JsonSchema)]
pub struct ScaleFields {
    /// Desired number of Pods.
    pub spec: Option<ScaleSpec>,
    /// Number of existing Pods, and their labels.
    pub status: Option<ScaleStatus>,
}

/// Desired number of Pods of a Scale.
#[derive(JsonSchema)]
pub struct ScaleSpec {
    /// Desired number of Pods.
    pub replicas: Option<i32>,
}

/// Number of existing Pods of a Scale, and their labels.
#[derive(JsonSchema)]
pub struct ScaleStatus {
    /// Number of existing Pods.
    pub replicas: Option<i32>,
    /// Label selector of the Pods, as text.
    pub selector: Option<String>,
}

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::of::<ScaleFields>()));

/// Returns the subresource `scale`, which writes through `registry`.
#[must_use]
pub fn subresource(registry: &Arc<Registry>) -> Subresource {
    Subresource {
        name: "scale",
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        verbs: &["get", "update", "patch"],
        schema: Some(Arc::clone(&SCHEMA)),
        handler: Arc::new(Scale(Arc::clone(registry))),
    }
}

struct Scale(Arc<Registry>);

impl Part for Scale {
    /// Converts the Scale of a server-side apply to a Deployment with only the number of Pods. The labels of
    /// the Scale do not apply to the Deployment, and the status is read-only.
    fn to_object_configuration(&self, config: &Value) -> Value {
        let mut deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}});
        for field in ["name", "namespace", "uid", "resourceVersion"] {
            if let Some(field_value) = config["metadata"].get(field) {
                deployment["metadata"][field] = field_value.clone();
            }
        }
        if let Some(replicas) = config["spec"].get("replicas") {
            deployment["spec"]["replicas"] = replicas.clone();
        }
        deployment
    }

    fn part_of(&self, object: &Object) -> Value {
        scale_of(object)
    }
}

#[async_trait]
impl SubresourceHandler for Scale {
    fn effort(&self, _: &RequestInfo) -> usize {
        0
    }

    fn part(&self) -> Option<&dyn Part> {
        Some(self)
    }

    async fn get(&self, call: &Call) -> Result<Reply, Status> {
        let key = Key::new(RESOURCE, &call.namespace, &call.name);
        Ok(Reply::Value(scale_of(&*self.0.get(&key).await?)))
    }

    async fn update(&self, call: &Call, body: Value) -> Result<Reply, Status> {
        // An empty body does not mean 0 Pods: a client that sends 0 sends the object's name as well.
        if value::text(&body, &["metadata", "name"]).is_empty() {
            return Err(Status::bad_request("name must be provided"));
        }
        let replicas = number(&body, &["spec", "replicas"]);
        if replicas < 0 {
            let detail = "must be greater than or equal to 0";
            let error = FieldError::invalid("spec.replicas", replicas, detail);
            return Err(Status::invalid("autoscaling", "Scale", &call.name, &[error]));
        }
        let mut attempt = 1;
        loop {
            match self.attempt(call, &body, replicas).await {
                Ok(written) => return Ok(Reply::Value(scale_of(&written))),
                // Without a resourceVersion, the number applies to every version of the Deployment.
                Err(error)
                    if error.reason == WriteRefusal::Changed
                        && value::text(&body, &["metadata", "resourceVersion"]).is_empty()
                        && attempt < CONFLICT_ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Scale {
    /// Sets the number of Pods in the current Deployment. The write requires the version that was read, since
    /// it contains all other fields of the Deployment.
    async fn attempt(&self, call: &Call, body: &Value, replicas: i64) -> Result<Arc<Object>, CommitError> {
        let key = Key::new(RESOURCE, &call.namespace, &call.name);
        let current = self.0.get(&key).await?;
        let (uid, current_uid) = (value::text(body, &["metadata", "uid"]), current.meta().uid());
        if !uid.is_empty() && uid != current_uid {
            let text =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {current_uid}");
            return Err(Status::conflict(RESOURCE, &call.name, &text).into());
        }
        let mut deployment = current.parse();
        deployment["spec"]["replicas"] = replicas.into();
        let revision = value::text(body, &["metadata", "resourceVersion"]);
        if !revision.is_empty() {
            deployment["metadata"]["resourceVersion"] = revision.into();
        }
        self.0
            .update_subresource(call, &key, "scale", deployment, Vec::new())
            .await
    }
}

fn scale_of(deployment: &Object) -> Value {
    let meta = deployment.meta();
    let object = deployment.value();
    let mut spec = json!({});
    // kube-apiserver omits a zero.
    if let replicas @ 1.. = number(object, &["spec", "replicas"]) {
        spec["replicas"] = replicas.into();
    }
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {
            "name": meta.name(),
            "namespace": meta.namespace(),
            "uid": meta.uid(),
            "resourceVersion": deployment.revision().to_string(),
            "creationTimestamp": object["metadata"]["creationTimestamp"],
        },
        "spec": spec,
        "status": {"replicas": number(object, &["status", "replicas"]), "selector": selector_text(object)},
    })
}

/// Returns the selector of a Deployment in the form of `kubectl get -l`.
pub(super) fn selector_text(deployment: &Value) -> String {
    let path = ["spec", "selector", "matchLabels"];
    let labels = value::object(deployment, &path).into_iter().flatten();
    let mut terms: Vec<String> = labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let expressions = value::list(deployment, &["spec", "selector", "matchExpressions"]);
    terms.extend(expressions.iter().map(|expression| {
        let (key, values) = (
            value::text(expression, &["key"]),
            value::texts(expression, &["values"]).join(","),
        );
        match value::text(expression, &["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        }
    }));
    terms.join(",")
}

#[cfg(test)]
mod tests;
