//! The fields of a Deployment that its rules and `kubectl explain` use. Other fields are stored unchanged,
//! for the cluster that runs the Pods.

use std::collections::BTreeMap;

use berth_apimachinery::types::{Condition, IntOrString, QuantityText};
use schemars::JsonSchema;

/// The fields of a Deployment.
#[derive(JsonSchema)]
pub struct DeploymentFields {
    /// The desired Pods.
    pub spec: Option<DeploymentSpec>,
    /// Status of the Pods, as the cluster that runs them reports it.
    pub status: Option<DeploymentStatus>,
}

/// The desired Pods.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentSpec {
    /// Number of Pods.
    #[schemars(extend("x-default" = 1))]
    pub replicas: Option<i32>,
    /// Labels that select the Pods; the template must carry them. Immutable.
    pub selector: LabelSelector,
    /// Template of the Pods.
    pub template: PodTemplate,
    /// Strategy by which newer Pods replace older ones.
    #[schemars(extend("x-kubernetes-patch-strategy" = "retainKeys"))]
    pub strategy: Option<Strategy>,
    /// Number of seconds for which a new Pod must be ready before it counts as available.
    pub min_ready_seconds: Option<i32>,
    /// Number of old ReplicaSets that are kept for rollbacks.
    #[schemars(extend("x-default" = 10))]
    pub revision_history_limit: Option<i32>,
    /// Whether the rollout is paused.
    pub paused: Option<bool>,
    /// Number of seconds without progress after which the deployment is reported as failed.
    #[schemars(extend("x-default" = 600))]
    pub progress_deadline_seconds: Option<i32>,
}

/// Labels that an object must have.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Labels that the object must have, with these values.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements on labels; all of them must be met.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Option<Vec<Requirement>>,
}

/// A requirement on one label.
#[derive(JsonSchema)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// The values of In and NotIn.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
}

/// Strategy by which newer Pods replace older ones.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Strategy {
    /// RollingUpdate, which replaces a few Pods at a time, or Recreate, which replaces all at once.
    #[schemars(extend("enum" = ["Recreate", "RollingUpdate"]))]
    pub r#type: Option<String>,
    /// Numbers of Pods at a time, for RollingUpdate.
    pub rolling_update: Option<RollingUpdate>,
}

/// Numbers of Pods that are replaced at a time.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// Maximum number of Pods that may be unavailable during the update: a number, or a percentage such as
    /// 25%.
    pub max_unavailable: Option<IntOrString>,
    /// Maximum number of Pods above the desired number during the update: a number, or a percentage such as
    /// 25%.
    pub max_surge: Option<IntOrString>,
}

/// Template of Pods.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PodTemplate {
    /// The labels and annotations of the Pods.
    pub metadata: Option<TemplateMetadata>,
    /// The containers of the Pods and their environment.
    pub spec: Option<PodSpec>,
}

/// The metadata of Pods.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct TemplateMetadata {
    /// The labels of the Pods.
    pub labels: Option<BTreeMap<String, String>>,
    /// The annotations of the Pods.
    pub annotations: Option<BTreeMap<String, String>>,
}

/// The containers of a Pod and their environment.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PodSpec {
    /// The containers.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    ))]
    pub containers: Option<Vec<Container>>,
    /// Containers that run to completion, one after the other, before the other containers start.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    ))]
    pub init_containers: Option<Vec<Container>>,
    /// Volumes of the Pod, which containers can mount.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge,retainKeys",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    ))]
    pub volumes: Option<Vec<Volume>>,
    /// Always, for the Pods of a Deployment.
    pub restart_policy: Option<String>,
    /// The name of the service account of the Pods.
    pub service_account_name: Option<String>,
    /// Labels that a node must have to run the Pods.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Containers that were started in a running Pod, for debugging.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub ephemeral_containers: Option<Vec<Container>>,
    /// Secrets with the credentials for pulling images.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub image_pull_secrets: Option<Vec<LocalReference>>,
    /// Gates that must be removed before a Pod is scheduled.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub scheduling_gates: Option<Vec<NamedItem>>,
    /// Claims of devices, which containers refer to.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge,retainKeys",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub resource_claims: Option<Vec<NamedItem>>,
    /// Hostnames that are added to the Pods' /etc/hosts, by address.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "ip",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["ip"],
        "uniqueItems" = false,
    ))]
    pub host_aliases: Option<Vec<HostAlias>>,
    /// Rules that spread the Pods over zones and nodes.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "topologyKey",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["topologyKey", "whenUnsatisfiable"],
        "uniqueItems" = false,
    ))]
    pub topology_spread_constraints: Option<Vec<TopologySpread>>,
}

/// A reference to a Secret in the same namespace.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalReference {
    /// The name.
    pub name: Option<String>,
}

/// An item of a Pod or a container, by name.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NamedItem {
    /// The name.
    pub name: String,
}

/// Hostnames of an address.
#[derive(JsonSchema)]
pub struct HostAlias {
    /// The IP address.
    pub ip: String,
    /// The hostnames of the address.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub hostnames: Option<Vec<String>>,
}

/// Rule that spreads Pods over the values of a node label.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct TopologySpread {
    /// The key of the node label.
    pub topology_key: String,
    /// Consequence if the rule cannot be met: DoNotSchedule or ScheduleAnyway.
    pub when_unsatisfiable: String,
    /// The labels of the Pods that are counted.
    pub label_selector: Option<LabelSelector>,
}

/// One container.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Container {
    /// The name, a DNS label, unique in the Pod.
    pub name: String,
    /// Image of the container.
    pub image: Option<String>,
    /// Command that replaces the entry point of the image.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub command: Option<Vec<String>>,
    /// Arguments of the command.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub args: Option<Vec<String>>,
    /// The ports of the container.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "containerPort",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["containerPort", "protocol"],
        "uniqueItems" = false,
    ))]
    pub ports: Option<Vec<ContainerPort>>,
    /// Environment variables of the container.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub env: Option<Vec<EnvVar>>,
    /// Volumes that are mounted in the container.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "mountPath",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["mountPath"],
        "uniqueItems" = false,
    ))]
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// Block devices of the container.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "devicePath",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["devicePath"],
        "uniqueItems" = false,
    ))]
    pub volume_devices: Option<Vec<VolumeDevice>>,
    /// Resources that the container requests, and its limits.
    pub resources: Option<Resources>,
}

/// A port of a container.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ContainerPort {
    /// The number.
    pub container_port: i32,
    /// The name of the port, which services can refer to.
    pub name: Option<String>,
    /// TCP, UDP or SCTP.
    #[schemars(extend("x-default" = "TCP", "enum" = ["TCP", "UDP", "SCTP"]))]
    pub protocol: Option<String>,
}

/// An environment variable.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct EnvVar {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Option<String>,
    /// Source of the value, in place of `value`.
    pub value_from: Option<EnvSource>,
}

/// Source of the value of an environment variable.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct EnvSource {
    /// A key of a ConfigMap.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub config_map_key_ref: Option<Open>,
    /// A field of the Pod.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub field_ref: Option<Open>,
    /// A resource of the container.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub resource_field_ref: Option<Open>,
    /// A key of a Secret.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub secret_key_ref: Option<Open>,
}

/// An object that is stored unchanged.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Open {}

/// Path of a block device in a container.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VolumeDevice {
    /// The path in the container.
    pub device_path: String,
}

/// Path of a volume in a container.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VolumeMount {
    /// The volume's name.
    pub name: String,
    /// The path in the container.
    pub mount_path: String,
}

/// Resources that a container requests, and its limits.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Resources {
    /// Requests, by resource name.
    pub requests: Option<BTreeMap<String, QuantityText>>,
    /// Limits, by resource name.
    pub limits: Option<BTreeMap<String, QuantityText>>,
    /// The claims of the Pod that the container uses.
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub claims: Option<Vec<NamedItem>>,
}

/// A volume of a Pod.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Volume {
    /// The name of the volume, which volumeMounts refer to.
    pub name: String,
}

/// Status of the Pods, as the cluster that runs them reports it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentStatus {
    /// The generation that the status describes.
    pub observed_generation: Option<i64>,
    /// Number of Pods that exist.
    pub replicas: Option<i32>,
    /// Number of Pods of the current template.
    pub updated_replicas: Option<i32>,
    /// Number of ready Pods.
    pub ready_replicas: Option<i32>,
    /// Number of Pods that have been ready for at least minReadySeconds.
    pub available_replicas: Option<i32>,
    /// Number of Pods that are still missing.
    pub unavailable_replicas: Option<i32>,
    /// Available, Progressing and ReplicaFailure.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "type",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    ))]
    pub conditions: Option<Vec<DeploymentCondition>>,
}

/// A condition of the object.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentCondition {
    /// Time of the last update of the condition.
    #[schemars(extend("format" = "date-time"))]
    pub last_update_time: Option<String>,
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
}
