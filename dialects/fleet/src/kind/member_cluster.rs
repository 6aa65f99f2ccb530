//! MemberCluster: a cluster of the fleet, with taints, properties and the reports of the cluster's agents
//! (docs/systems/fleet.md, "MemberCluster").

mod rules;

use std::collections::BTreeMap;

use berth_apimachinery::name::NameError;
use berth_apimachinery::types::{Condition, QuantityText, Time};
use berth_apimachinery::{
    Column, ConditionForm, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation,
    described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::names::{CLUSTER_GROUP, MAX_NAME_LENGTH, MEMBER_AGENT, MEMBER_NAME_LABEL, STORED, VERSIONS};

/// A cluster of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct MemberCluster {
    /// The settings of the cluster on the hub.
    pub(crate) spec: MemberClusterSpec,
    /// The state of the cluster, as its agents report it.
    pub(crate) status: MemberClusterStatus,
}

/// The settings of the cluster on the hub.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["identity"]))]
pub(crate) struct MemberClusterSpec {
    /// The user, group or service account as which the agents of the cluster access the hub.
    pub(crate) identity: Subject,
    /// The interval between two heartbeats of the agents, in seconds.
    #[schemars(range(min = 1, max = 600), extend("default" = 60))]
    pub(crate) heartbeat_period_seconds: Option<i32>,
    /// The taints of the cluster, which placements must tolerate to use the cluster.
    #[schemars(length(max = 100))]
    pub(crate) taints: Vec<Taint>,
    /// Options for the deletion of the MemberCluster.
    pub(crate) delete_options: Option<DeleteOptions>,
}

/// A user, group or service account on the hub.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["kind", "name"], "x-kubernetes-map-type" = "atomic"))]
pub(crate) struct Subject {
    /// The kind of the subject: User, Group or ServiceAccount.
    pub(crate) kind: String,
    /// The API group of the kind of the subject; empty for ServiceAccount.
    pub(crate) api_group: Option<String>,
    /// The name of the user, group or service account.
    pub(crate) name: String,
    /// The namespace of the service account; empty for users and groups.
    pub(crate) namespace: Option<String>,
}

/// A taint of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["effect", "key"]))]
pub(crate) struct Taint {
    /// The key of the taint.
    pub(crate) key: String,
    /// The value of the taint, which may be empty.
    pub(crate) value: String,
    /// The effect of the taint on placements that do not tolerate it: NoSchedule.
    #[schemars(extend("enum" = ["NoSchedule"]))]
    pub(crate) effect: String,
}

impl From<&Taint> for berth_dialect_contract::Taint {
    fn from(taint: &Taint) -> Self {
        Self {
            key: taint.key.clone(),
            value: taint.value.clone(),
            effect: taint.effect.clone(),
        }
    }
}

/// Options for the deletion of the MemberCluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteOptions {
    /// The validation of a deletion: Strict refuses it while the cluster exports services, Skip does not.
    #[schemars(extend("enum" = ["Strict", "Skip"], "default" = "Strict"))]
    pub(crate) validation_mode: String,
}

/// The state of the cluster, as its agents report it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MemberClusterStatus {
    /// The conditions of the cluster as a whole, such as Joined.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The properties of the cluster that its property provider reports, by name.
    pub(crate) properties: BTreeMap<String, PropertyValue>,
    /// The namespaces of the cluster, each with the name of the placement that created it; absent if the
    /// agent reports none.
    pub(crate) namespaces: Option<BTreeMap<String, String>>,
    /// The compute resources of the cluster.
    pub(crate) resource_usage: ResourceUsage,
    /// The reports of the agents of the cluster.
    pub(crate) agent_status: Vec<AgentStatus>,
}

/// The value of a property of the cluster.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["observationTime", "value"]))]
pub(crate) struct PropertyValue {
    /// The value of the property. Only quantities can be compared.
    pub(crate) value: String,
    /// The time at which the value was observed.
    pub(crate) observation_time: Option<Time>,
}

/// The compute resources of the cluster, such as cpu and memory, by resource name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceUsage {
    /// The total resources of all nodes.
    pub(crate) capacity: BTreeMap<String, QuantityText>,
    /// The resources that workloads can use, of all nodes.
    pub(crate) allocatable: BTreeMap<String, QuantityText>,
    /// The allocatable resources that no workload has requested.
    pub(crate) available: BTreeMap<String, QuantityText>,
    /// The time at which the resources were observed.
    pub(crate) observation_time: Option<Time>,
}

/// The report of one agent of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type"]))]
pub(crate) struct AgentStatus {
    /// The type of the agent: MemberAgent, MultiClusterServiceAgent or ServiceExportImportAgent.
    pub(crate) r#type: String,
    /// The conditions of the agent, such as Joined and Healthy.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The time of the last heartbeat of the agent.
    pub(crate) last_received_heartbeat: Option<Time>,
}

impl MemberClusterStatus {
    /// The report of the member agent, if there is one.
    pub(crate) fn member_agent(&self) -> Option<&AgentStatus> {
        self.agent_status
            .iter()
            .find(|agent| agent.r#type == MEMBER_AGENT)
    }
}

/// The served kind MemberCluster.
pub(super) struct MemberClusterKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Joined", "Whether the cluster has joined the fleet")
            .at(".status.conditions[?(@.type==\"Joined\")].status"),
        Column::AGE,
        Column::text(
            "Member-Agent-Last-Seen",
            "Time of the last heartbeat of the member agent",
        )
        .date()
        .at(".status.agentStatus[?(@.type==\"MemberAgent\")].lastReceivedHeartbeat"),
        Column::text("Node-Count", "Number of nodes")
            .at(".status.properties.kubernetes-fleet\\.io/node-count.value"),
        Column::text("Available-CPU", "The free CPU").at(".status.resourceUsage.available.cpu"),
        Column::text("Available-Memory", "The free memory").at(".status.resourceUsage.available.memory"),
        Column::text("Allocatable-CPU", "The CPU that workloads can use")
            .at(".status.resourceUsage.allocatable.cpu")
            .wide(),
        Column::text("Allocatable-Memory", "The memory that workloads can use")
            .at(".status.resourceUsage.allocatable.memory")
            .wide(),
    ],
    ..Definition::new(
        KindInfo {
            storage_version: STORED,
            singular: "membercluster",
            short_names: &["cluster"],
            categories: &["fleet", "fleet-cluster"],
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(CLUSTER_GROUP, VERSIONS, "MemberCluster", "memberclusters")
        },
        Schema::of::<MemberCluster>,
    )
};

impl Kind for MemberClusterKind {
    described_by!(DEFINITION);

    /// Sets the label with the name of the cluster, as KubeFleet's hub agent does.
    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return;
        }
        let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        let Some(name) = metadata.get("name").cloned() else {
            return;
        };
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if labels.is_null() {
            *labels = json!({});
        }
        if let Some(labels) = labels.as_object_mut() {
            labels.insert(MEMBER_NAME_LABEL.to_owned(), name);
        }
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        match write.operation {
            WriteOperation::Subresource(_) => Vec::new(),
            WriteOperation::Create | WriteOperation::Update => {
                rules::spec_errors(new.get("spec").unwrap_or(&Value::Null))
            }
        }
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        short_subdomain(name, "labels of other objects have it as their value")
    }
}

/// Validates that `name` is an RFC 1123 subdomain of at most [`MAX_NAME_LENGTH`] characters; `reason` is the
/// reason for this limit.
pub(super) fn short_subdomain(name: &str, reason: &str) -> Result<(), NameError> {
    berth_apimachinery::name::dns_subdomain(name)?;
    if name.len() > MAX_NAME_LENGTH {
        let problem = format!("must be no more than {MAX_NAME_LENGTH} characters: {reason}");
        return Err(NameError::Own(problem));
    }
    Ok(())
}
