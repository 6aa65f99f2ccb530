//! `apps/v1` StatefulSet. A standalone server runs no Pods: it stores the StatefulSet for programs that
//! create the Pods on a cluster.

use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, StatusMetadata, Write, described_by,
};
use k8s_openapi::api::apps::v1;
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::deployment::{LabelSelector, PodTemplate, container_texts, ratio, workload_errors};
use crate::core::typed;

/// The fields of a StatefulSet that this server uses and `kubectl explain` shows. Other fields are stored
/// too.
#[derive(JsonSchema)]
pub struct StatefulSetFields {
    /// The desired Pods.
    pub spec: Option<StatefulSetSpec>,
    /// Status of the Pods, as the cluster that runs them reports it.
    pub status: Option<StatefulSetStatus>,
}

/// The desired Pods.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct StatefulSetSpec {
    /// Number of Pods.
    #[schemars(extend("x-default" = 1))]
    pub replicas: Option<i32>,
    /// Labels that select the Pods; the template must carry them. Immutable.
    pub selector: LabelSelector,
    /// Template of the Pods.
    pub template: PodTemplate,
    /// The Service that provides the Pods' DNS names.
    pub service_name: Option<String>,
    /// Number of old revisions that are kept for rollbacks.
    #[schemars(extend("x-default" = 10))]
    pub revision_history_limit: Option<i32>,
}

/// Status of the Pods, as the cluster that runs them reports it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct StatefulSetStatus {
    /// Number of existing Pods.
    pub replicas: Option<i32>,
    /// Number of ready Pods.
    pub ready_replicas: Option<i32>,
}

/// The kind StatefulSet: copies of a Pod, each with a name and storage of its own.
#[derive(Clone, Copy, Debug)]
pub struct StatefulSet;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Ready", "Number of ready Pods, of the desired number")
            .computed(|set| ratio(set, &["status", "readyReplicas"], &["spec", "replicas"])),
        Column::AGE,
        Column::text("Containers", "The names of the containers")
            .computed(|set| container_texts(set, "name"))
            .wide(),
        Column::text("Images", "The images of the containers")
            .computed(|set| container_texts(set, "image"))
            .wide(),
    ],
    ..Definition::new(
        KindInfo {
            singular: "statefulset",
            short_names: &["sts"],
            categories: &["all"],
            status_subresource: true,
            unconditional_update: true,
            strategic_merge_patch: true,
            ..KindInfo::new("apps", &["v1"], "StatefulSet", "statefulsets")
        },
        Schema::of::<StatefulSetFields>,
    )
};

impl Kind for StatefulSet {
    described_by!(DEFINITION);

    fn status_metadata(&self) -> StatusMetadata {
        StatusMetadata::Written
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = workload_errors(
            write.old,
            new,
            "statefulset",
            &["replicas", "revisionHistoryLimit"],
        );
        errors.extend(typed::errors::<v1::StatefulSet>(self.schema("v1"), new));
        errors
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};
    use serde_json::json;

    use super::*;

    fn errors(spec: Value) -> Vec<String> {
        let mut object =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec});
        StatefulSet.schema("v1").default(&mut object);
        let write = Write {
            operation: WriteOperation::Create,
            old: None,
            now: Timestamp::UNIX_EPOCH,
        };
        let mut errors = StatefulSet.schema("v1").validate(&object);
        errors.extend(StatefulSet.validate(&write, &object));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn its_pods_are_those_of_the_selector_and_have_containers() {
        let good = json!({
            "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "db:1"}]}},
        });
        assert_eq!(errors(good.clone()), [""; 0]);
        let mut bad = good;
        bad["template"] = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}});
        bad["replicas"] = (-1).into();
        let messages = errors(bad).join("\n");
        for part in [
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "`selector` does not match template `labels`",
            "spec.template.spec.containers: Required value",
        ] {
            assert!(messages.contains(part), "{part}:\n{messages}");
        }
    }
}
