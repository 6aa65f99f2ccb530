//! `batch/v1` Job. A standalone server runs no Pods: it stores the Job for programs that create the Pods on a
//! cluster.

use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, StatusMetadata, Write, described_by,
};
use k8s_openapi::api::batch::v1;
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::deployment::{
    LabelSelector, PodTemplate, container_errors, container_texts, negative_errors, ratio,
};
use crate::core::{typed, value};

/// The fields of a Job that this server uses and `kubectl explain` shows. Other fields are stored too.
#[derive(JsonSchema)]
pub struct JobFields {
    /// The desired Pods, and the number of them that must succeed.
    pub spec: Option<JobSpec>,
    /// Status of the Pods, as the cluster that runs them reports it.
    pub status: Option<JobStatus>,
}

/// The desired Pods, and the number of them that must succeed.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct JobSpec {
    /// Maximum number of Pods that run at the same time.
    pub parallelism: Option<i32>,
    /// Number of Pods that must succeed.
    pub completions: Option<i32>,
    /// Number of retries of failed Pods.
    pub backoff_limit: Option<i32>,
    /// Labels that select the Pods; if omitted, the cluster that runs the Job generates them.
    pub selector: Option<LabelSelector>,
    /// Template of the Pods. Immutable.
    pub template: PodTemplate,
}

/// Status of the Pods, as the cluster that runs them reports it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct JobStatus {
    /// Number of pending and running Pods.
    pub active: Option<i32>,
    /// Number of succeeded Pods.
    pub succeeded: Option<i32>,
    /// Number of failed Pods.
    pub failed: Option<i32>,
}

/// The kind Job: Pods that run to completion.
#[derive(Clone, Copy, Debug)]
pub struct Job;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Completions", "Number of succeeded Pods, of the required number")
            .computed(|job| ratio(job, &["status", "succeeded"], &["spec", "completions"])),
        Column::AGE,
        Column::text("Containers", "The names of the containers")
            .computed(|job| container_texts(job, "name"))
            .wide(),
        Column::text("Images", "The images of the containers")
            .computed(|job| container_texts(job, "image"))
            .wide(),
    ],
    ..Definition::new(
        KindInfo {
            singular: "job",
            categories: &["all"],
            status_subresource: true,
            unconditional_update: true,
            strategic_merge_patch: true,
            ..KindInfo::new("batch", &["v1"], "Job", "jobs")
        },
        Schema::of::<JobFields>,
    )
};

/// Sets the defaults. A Job without parallelism and completions runs one Pod, which has to succeed; with
/// parallelism alone, one successful Pod is enough.
fn prepare(new: &mut Value) {
    let Some(spec) = new.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    if spec["parallelism"].is_null() && spec["completions"].is_null() {
        spec["completions"] = 1.into();
    }
    if spec["parallelism"].is_null() {
        spec["parallelism"] = 1.into();
    }
    if spec["backoffLimit"].is_null() {
        spec["backoffLimit"] = 6.into();
    }
    if spec["completions"].is_null()
        && let Some(spec) = spec.as_object_mut()
    {
        spec.remove("completions");
    }
}

impl Kind for Job {
    described_by!(DEFINITION);

    fn status_metadata(&self) -> StatusMetadata {
        StatusMetadata::Written
    }

    fn prepare(&self, _: &Write<'_>, new: &mut Value) {
        prepare(new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        const POLICY: &str = "spec.template.spec.restartPolicy";
        let Some(spec) = new.get("spec").filter(|spec| spec.is_object()) else {
            return vec![FieldError::required("spec", "")];
        };
        let mut errors = negative_errors(spec, &["parallelism", "completions", "backoffLimit"]);
        errors.extend(container_errors(&spec["template"]));
        let policy = value::text(&spec["template"], &["spec", "restartPolicy"]);
        if !matches!(policy, "OnFailure" | "Never") {
            errors.push(FieldError::not_supported(POLICY, policy, &["OnFailure", "Never"]));
        }
        if let Some(old) = write.old
            && old["spec"]["template"] != spec["template"]
        {
            let detail = "field is immutable";
            errors.push(FieldError::invalid(
                "spec.template",
                spec["template"].clone(),
                detail,
            ));
        }
        errors.extend(typed::errors::<v1::Job>(self.schema("v1"), new));
        errors
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Timestamp, WriteOperation};
    use serde_json::json;

    use super::*;

    fn job(spec: Value) -> Value {
        let mut object =
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"}, "spec": spec});
        prepare(&mut object);
        object
    }

    fn errors(object: &Value) -> Vec<String> {
        let write = Write {
            operation: WriteOperation::Create,
            old: None,
            now: Timestamp::UNIX_EPOCH,
        };
        let errors = Job.validate(&write, object);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_pod_must_succeed_by_default() {
        let template =
            json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "sum", "image": "sum:1"}]}});
        let one = job(json!({"template": template}));
        assert_eq!(
            (&one["spec"]["parallelism"], &one["spec"]["completions"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(errors(&one), [""; 0]);
        let queue = job(json!({"template": template, "parallelism": 3}));
        assert_eq!(queue["spec"].get("completions"), None);
        let bad = errors(&job(
            json!({"template": {"spec": {"containers": []}}, "completions": -1}),
        ));
        assert!(
            bad.join("\n").contains("spec.completions: Invalid value: -1"),
            "{bad:?}"
        );
        assert!(
            bad.join("\n").contains("restartPolicy: Unsupported value"),
            "{bad:?}"
        );
    }
}
