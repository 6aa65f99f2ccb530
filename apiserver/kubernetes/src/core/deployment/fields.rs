//! The fields of a Deployment that its rules and `kubectl explain` use. Other fields are stored unchanged,
//! for the cluster that runs the Pods.

use std::collections::BTreeMap;

use berth_apimachinery::types::{Condition, IntOrString, QuantityText};
use schemars::JsonSchema;

/// The fields of a Deployment.
#[derive(JsonSchema)]
pub struct DeploymentFields {
    /// Wanted Pods.
    pub spec: Option<DeploymentSpec>,
    /// Status of the Pods, as the cluster that runs them reports it.
    pub status: Option<DeploymentStatus>,
}

/// Wanted Pods.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentSpec {
    /// Number of Pods.
    #[schemars(extend("x-default" = 1))]
    pub replicas: Option<i32>,
    /// The labels by which the Pods are found; the template must carry them. Cannot change.
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
    /// Whether a new template waits.
    pub paused: Option<bool>,
    /// After how many seconds without progress the deployment is reported as failed.
    #[schemars(extend("x-default" = 600))]
    pub progress_deadline_seconds: Option<i32>,
}

/// Labels that an object must have.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Labels with these values.
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Further conditions on labels; all of them must hold.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Option<Vec<Requirement>>,
}

/// One condition on a label.
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
    /// RollingUpdate, a few at a time, or Recreate, all at once.
    #[schemars(extend("enum" = ["Recreate", "RollingUpdate"]))]
    pub r#type: Option<String>,
    /// Numbers of Pods at a time, for RollingUpdate.
    pub rolling_update: Option<RollingUpdate>,
}

/// Numbers of Pods that are replaced at a time.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// Most Pods that may be missing meanwhile: a number, or a share such as 25%.
    pub max_unavailable: Option<IntOrString>,
    /// Most Pods beyond the wanted number meanwhile: a number, or a share such as 25%.
    pub max_surge: Option<IntOrString>,
}

/// Template of Pods.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct PodTemplate {
    /// The labels and annotations of the Pods.
    pub metadata: Option<TemplateMetadata>,
    /// The containers and what they need.
    pub spec: Option<PodSpec>,
}

/// The metadata of Pods.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct TemplateMetadata {
    /// Their labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// Their annotations.
    pub annotations: Option<BTreeMap<String, String>>,
}

/// The containers of a Pod and what they need.
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
    /// Containers that run to their end, one after the other, before the others begin.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    ))]
    pub init_containers: Option<Vec<Container>>,
    /// Sources of files of the containers.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge,retainKeys",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
    ))]
    pub volumes: Option<Vec<Volume>>,
    /// Always, for the Pods of a Deployment.
    pub restart_policy: Option<String>,
    /// The service account the Pods run as.
    pub service_account_name: Option<String>,
    /// The labels of the nodes the Pods may run on.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Containers that were started in a running Pod, to look at it.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub ephemeral_containers: Option<Vec<Container>>,
    /// The Secrets for pulling images.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub image_pull_secrets: Option<Vec<LocalReference>>,
    /// Gates that must be taken off before a Pod is scheduled.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub scheduling_gates: Option<Vec<NamedItem>>,
    /// The claims to devices that containers refer to.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge,retainKeys",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub resource_claims: Option<Vec<NamedItem>>,
    /// Names that the Pods' own /etc/hosts has, by address.
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

/// Something that a Pod or a container has by name.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct NamedItem {
    /// The name.
    pub name: String,
}

/// Names of an address.
#[derive(JsonSchema)]
pub struct HostAlias {
    /// The address.
    pub ip: String,
    /// Its names.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub hostnames: Option<Vec<String>>,
}

/// Rule that spreads Pods over the values of a node label.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct TopologySpread {
    /// The label.
    pub topology_key: String,
    /// Consequence where it cannot be: DoNotSchedule or ScheduleAnyway.
    pub when_unsatisfiable: String,
    /// Pods that are counted.
    pub label_selector: Option<LabelSelector>,
}

/// One container.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Container {
    /// The name, a DNS label, unique in the Pod.
    pub name: String,
    /// The image it is made of.
    pub image: Option<String>,
    /// Command to run instead of the image's own entry point.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub command: Option<Vec<String>>,
    /// Its arguments.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub args: Option<Vec<String>>,
    /// The ports it listens on.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "containerPort",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["containerPort", "protocol"],
        "uniqueItems" = false,
    ))]
    pub ports: Option<Vec<ContainerPort>>,
    /// Its environment.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "name",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub env: Option<Vec<EnvVar>>,
    /// Mounts of its files.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "mountPath",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["mountPath"],
        "uniqueItems" = false,
    ))]
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// Its block devices.
    #[schemars(extend(
        "x-kubernetes-patch-strategy" = "merge",
        "x-kubernetes-patch-merge-key" = "devicePath",
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["devicePath"],
        "uniqueItems" = false,
    ))]
    pub volume_devices: Option<Vec<VolumeDevice>>,
    /// Resources that it needs, and limits.
    pub resources: Option<Resources>,
}

/// A port a container listens on.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ContainerPort {
    /// The number.
    pub container_port: i32,
    /// The name, for services to refer to.
    pub name: Option<String>,
    /// TCP, UDP or SCTP.
    #[schemars(extend("x-default" = "TCP", "enum" = ["TCP", "UDP", "SCTP"]))]
    pub protocol: Option<String>,
}

/// One variable of the environment.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct EnvVar {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Option<String>,
    /// Source of the value instead.
    pub value_from: Option<EnvSource>,
}

/// Source of the value of a variable.
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

/// An object that is kept as it is.
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

/// Resources that a container needs, and limits.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Resources {
    /// Requests, by resource name.
    pub requests: Option<BTreeMap<String, QuantityText>>,
    /// Limits, by resource name.
    pub limits: Option<BTreeMap<String, QuantityText>>,
    /// The claims of the Pod that it uses.
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"],
        "uniqueItems" = false,
    ))]
    pub claims: Option<Vec<NamedItem>>,
}

/// Source of files of containers.
#[derive(JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Volume {
    /// The name, for volumeMounts to refer to.
    pub name: String,
}

/// Status of the Pods, as the cluster that runs them reports it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentStatus {
    /// The generation this is about.
    pub observed_generation: Option<i64>,
    /// Number of Pods that exist.
    pub replicas: Option<i32>,
    /// Number of them that are made of the current template.
    pub updated_replicas: Option<i32>,
    /// Number of them that are ready.
    pub ready_replicas: Option<i32>,
    /// Number of them that have been ready for long enough.
    pub available_replicas: Option<i32>,
    /// Number of them that are missing.
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

/// One thing that is or is not so.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct DeploymentCondition {
    /// When it was last looked at.
    #[schemars(extend("format" = "date-time"))]
    pub last_update_time: Option<String>,
    /// The observation.
    #[serde(flatten)]
    pub condition: Condition,
}
