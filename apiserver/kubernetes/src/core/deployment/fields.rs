//! Fields of a Deployment that are validated and that `kubectl explain` shows. Other fields are stored
//! unchanged, for the cluster that runs the Pods.

use std::collections::BTreeMap;

use berth_apimachinery::types::{Condition, IntOrString, QuantityText};
use schemars::JsonSchema;

/// The fields of a Deployment.
#[derive(JsonSchema)]
pub struct DeploymentFields {
    /// The desired Pods of the Deployment.
    pub spec: Option<DeploymentSpec>,
    /// Status of the Pods, as the cluster that runs them reports it.
    pub status: Option<DeploymentStatus>,
}

/// The desired Pods of a Deployment.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentSpec {
    /// Desired number of Pods.
    #[schemars(extend("x-default" = 1))]
    pub replicas: Option<i32>,
    /// Selector of the Pods by their labels; the labels of the template must match. Immutable.
    pub selector: LabelSelector,
    /// Template of the Pods.
    pub template: PodTemplate,
    /// Strategy for replacing Pods when the template changes.
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

/// Selector of objects by their labels.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Labels that an object must have, with the given values.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further requirements on labels, all of which must be met.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Option<Vec<Requirement>>,
}

/// A requirement on one label.
#[derive(JsonSchema)]
pub struct Requirement {
    /// Key of the label.
    pub key: String,
    /// Relation of the key to the values: In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// Values for the operators In and NotIn.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
}

/// Strategy for replacing Pods when the template changes.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Strategy {
    /// Type of the strategy: RollingUpdate replaces a few Pods at a time, Recreate replaces all Pods at once.
    #[schemars(extend("enum" = ["Recreate", "RollingUpdate"]))]
    pub r#type: Option<String>,
    /// Number of Pods to replace at a time, for the type RollingUpdate.
    pub rolling_update: Option<RollingUpdate>,
}

/// Number of Pods to replace at a time.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// Maximum number of Pods that may be unavailable during the update, as a number or as a percentage of
    /// the desired number, such as 25%.
    pub max_unavailable: Option<IntOrString>,
    /// Maximum number of Pods above the desired number during the update, as a number or as a percentage of
    /// the desired number, such as 25%.
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

/// The metadata of the Pods of a template.
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
    /// Containers of the Pod.
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
    /// Policy for restarting containers. In a Deployment or StatefulSet it must be Always; in a Job,
    /// OnFailure or Never.
    pub restart_policy: Option<String>,
    /// Name of the service account of the Pods.
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
    /// Scheduling gates: a Pod is scheduled only after all gates are removed.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub scheduling_gates: Option<Vec<NamedItem>>,
    /// Claims of devices, to which containers can refer.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge,retainKeys",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub resource_claims: Option<Vec<NamedItem>>,
    /// Hostnames that are added to the file /etc/hosts of the Pods, by IP address.
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

/// A reference to a Secret in the namespace of the Pod.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalReference {
    /// Name of the Secret.
    pub name: Option<String>,
}

/// A named item of a Pod or container: a scheduling gate or a claim.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NamedItem {
    /// Name of the item.
    pub name: String,
}

/// Hostnames of an IP address.
#[derive(JsonSchema)]
pub struct HostAlias {
    /// The IP address of the hostnames.
    pub ip: String,
    /// Hostnames of the IP address.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub hostnames: Option<Vec<String>>,
}

/// Rule that spreads Pods over the values of a node label.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct TopologySpread {
    /// Key of the node label.
    pub topology_key: String,
    /// Consequence if the Pods cannot be spread evenly enough: DoNotSchedule or ScheduleAnyway.
    pub when_unsatisfiable: String,
    /// Selector of the Pods that are counted.
    pub label_selector: Option<LabelSelector>,
}

/// A container of a Pod.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Container {
    /// Name of the container: a DNS label that is unique in the Pod.
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
    /// Number of the port.
    pub container_port: i32,
    /// Name of the port, to which Services can refer.
    pub name: Option<String>,
    /// Protocol of the port: TCP, UDP or SCTP.
    #[schemars(extend("x-default" = "TCP", "enum" = ["TCP", "UDP", "SCTP"]))]
    pub protocol: Option<String>,
}

/// An environment variable.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct EnvVar {
    /// Name of the variable.
    pub name: String,
    /// Value of the variable.
    pub value: Option<String>,
    /// Source of the value, instead of `value`.
    pub value_from: Option<EnvSource>,
}

/// Source of the value of an environment variable.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct EnvSource {
    /// Reference to a key of a ConfigMap.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub config_map_key_ref: Option<OpaqueObject>,
    /// Reference to a field of the Pod.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub field_ref: Option<OpaqueObject>,
    /// Reference to a resource of a container.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub resource_field_ref: Option<OpaqueObject>,
    /// Reference to a key of a Secret.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub secret_key_ref: Option<OpaqueObject>,
}

/// An object whose fields are stored unchanged.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct OpaqueObject {}

/// Path of a block device in a container.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VolumeDevice {
    /// Path of the device in the container.
    pub device_path: String,
}

/// Path of a volume in a container.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VolumeMount {
    /// Name of the volume.
    pub name: String,
    /// Path of the volume in the container.
    pub mount_path: String,
}

/// Resources that a container requests, and its limits.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Resources {
    /// Requested amounts, by resource name.
    pub requests: Option<BTreeMap<String, QuantityText>>,
    /// Highest amounts that the container may use, by resource name.
    pub limits: Option<BTreeMap<String, QuantityText>>,
    /// Claims of the Pod that the container uses.
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
    /// Name of the volume, to which volumeMounts refer.
    pub name: String,
}

/// Status of the Pods, as the cluster that runs them reports it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentStatus {
    /// Generation of the Deployment that the status describes.
    pub observed_generation: Option<i64>,
    /// Number of Pods that exist.
    pub replicas: Option<i32>,
    /// Number of Pods of the current template.
    pub updated_replicas: Option<i32>,
    /// Number of ready Pods.
    pub ready_replicas: Option<i32>,
    /// Number of Pods that have been ready for at least minReadySeconds.
    pub available_replicas: Option<i32>,
    /// Number of further Pods that must become available to reach the desired number.
    pub unavailable_replicas: Option<i32>,
    /// Conditions of the Deployment: Available, Progressing and ReplicaFailure.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "type",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    ))]
    pub conditions: Option<Vec<DeploymentCondition>>,
}

/// A condition of a Deployment.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentCondition {
    /// Time of the last update of the condition.
    #[schemars(extend("format" = "date-time"))]
    pub last_update_time: Option<String>,
    /// Common fields of conditions.
    #[serde(flatten)]
    pub condition: Condition,
}
