//! MemberCluster: a cluster of the fleet, its taints, properties and agents' reports
//! (docs/systems/fleet.md, "MemberCluster").

mod rules;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use berth_apimachinery::name::NameError;
use berth_apimachinery::types::{Condition, QuantityText, Time};
use berth_apimachinery::{Column, ConditionForm, FieldError, Kind, KindInfo, Schema, Scope, Via, Write};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::names::{CLUSTER_GROUP, LONGEST_NAME, MEMBER_AGENT, MEMBER_NAME_LABEL, STORED, VERSIONS};

/// A cluster of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct MemberCluster {
    /// Treatment of the cluster by the hub.
    pub(crate) spec: MemberClusterSpec,
    /// Status of the cluster.
    pub(crate) status: MemberClusterStatus,
}

/// Treatment of the cluster by the hub.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["identity"]))]
pub(crate) struct MemberClusterSpec {
    /// User of the cluster's agent on the hub.
    pub(crate) identity: Subject,
    /// Interval of the agent's reports, in seconds.
    #[schemars(range(min = 1, max = 600), extend("default" = 60))]
    pub(crate) heartbeat_period_seconds: Option<i32>,
    /// Taints of the cluster, which placements must tolerate.
    #[schemars(length(max = 100))]
    pub(crate) taints: Vec<Taint>,
    /// Checks of the cluster before it leaves.
    pub(crate) delete_options: Option<DeleteOptions>,
}

/// User of the cluster's agent on the hub.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["kind", "name"], "x-kubernetes-map-type" = "atomic"))]
pub(crate) struct Subject {
    /// User, Group or ServiceAccount.
    pub(crate) kind: String,
    /// The API group of the kind; empty for ServiceAccount.
    pub(crate) api_group: Option<String>,
    /// The name.
    pub(crate) name: String,
    /// The namespace of a ServiceAccount.
    pub(crate) namespace: Option<String>,
}

/// A taint of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["effect", "key"]))]
pub(crate) struct Taint {
    /// The key of the taint.
    pub(crate) key: String,
    /// The value of the taint, mostly empty.
    pub(crate) value: String,
    /// Effect of the taint on placements that do not tolerate it: NoSchedule.
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

/// Checks of the cluster before it leaves.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeleteOptions {
    /// Strict refuses the removal of a cluster that still exports services; Skip does not check this.
    #[schemars(extend("enum" = ["Strict", "Skip"], "default" = "Strict"))]
    pub(crate) validation_mode: String,
}

/// Status of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MemberClusterStatus {
    /// The state of the cluster as a whole.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// Values of the cluster's property provider, by property name.
    pub(crate) properties: BTreeMap<String, PropertyValue>,
    /// The namespaces of the cluster, each with the placement that created it; absent if none are reported.
    pub(crate) namespaces: Option<BTreeMap<String, String>>,
    /// The resources of the cluster.
    pub(crate) resource_usage: ResourceUsage,
    /// Report of each agent.
    pub(crate) agent_status: Vec<AgentStatus>,
}

/// The value of a property.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["observationTime", "value"]))]
pub(crate) struct PropertyValue {
    /// The value: a quantity, except for properties that are not compared.
    pub(crate) value: String,
    /// When the value was observed.
    pub(crate) observation_time: Option<Time>,
}

/// The resources of the cluster, by resource name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceUsage {
    /// The total resources.
    pub(crate) capacity: BTreeMap<String, QuantityText>,
    /// Resources for workload.
    pub(crate) allocatable: BTreeMap<String, QuantityText>,
    /// Resources that are still free.
    pub(crate) available: BTreeMap<String, QuantityText>,
    /// When the resources were observed.
    pub(crate) observation_time: Option<Time>,
}

/// Report of one agent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type"]))]
pub(crate) struct AgentStatus {
    /// Agent: MemberAgent, MultiClusterServiceAgent or ServiceExportImportAgent.
    pub(crate) r#type: String,
    /// Whether the agent has joined and is healthy.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// Time of the agent's last report.
    pub(crate) last_received_heartbeat: Option<Time>,
}

impl MemberClusterStatus {
    /// Returns the report of the member agent.
    pub(crate) fn member_agent(&self) -> Option<&AgentStatus> {
        self.agent_status
            .iter()
            .find(|agent| agent.r#type == MEMBER_AGENT)
    }
}

/// Serves MemberCluster.
pub(super) struct MemberClusterKind;

static INFO: KindInfo = KindInfo {
    storage_version: STORED,
    singular: "membercluster",
    short_names: &["cluster"],
    categories: &["fleet", "fleet-cluster"],
    scope: Scope::Cluster,
    status: true,
    ..KindInfo::new(CLUSTER_GROUP, VERSIONS, "MemberCluster", "memberclusters")
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Joined", "Whether the cluster has joined the fleet")
        .at(".status.conditions[?(@.type==\"Joined\")].status"),
    Column::AGE,
    Column::text("Member-Agent-Last-Seen", "Time of the member agent's last report")
        .date()
        .at(".status.agentStatus[?(@.type==\"MemberAgent\")].lastReceivedHeartbeat"),
    Column::text("Node-Count", "Number of nodes")
        .at(".status.properties.kubernetes-fleet\\.io/node-count.value"),
    Column::text("Available-CPU", "The free CPU").at(".status.resourceUsage.available.cpu"),
    Column::text("Available-Memory", "The free memory").at(".status.resourceUsage.available.memory"),
    Column::text("Allocatable-CPU", "The CPU for workload")
        .at(".status.resourceUsage.allocatable.cpu")
        .wide(),
    Column::text("Allocatable-Memory", "The memory for workload")
        .at(".status.resourceUsage.allocatable.memory")
        .wide(),
];

impl Kind for MemberClusterKind {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _version: &str) -> &Schema {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<MemberCluster>);
        &SCHEMA
    }

    /// Sets the label with the cluster's name, as KubeFleet's hub agent does on every cluster.
    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        if matches!(write.via, Via::Subresource(_)) {
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
        match write.via {
            Via::Subresource(_) => Vec::new(),
            Via::Create | Via::Update => rules::spec_errors(new.get("spec").unwrap_or(&Value::Null)),
        }
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        short_subdomain(name, "bindings carry it as a label value")
    }

    fn columns(&self) -> &[Column] {
        COLUMNS
    }
}

/// Validates that `name` is an RFC 1123 subdomain of at most [`LONGEST_NAME`] characters; `because` is the
/// reason for this limit.
pub(super) fn short_subdomain(name: &str, because: &str) -> Result<(), NameError> {
    berth_apimachinery::name::dns_subdomain(name)?;
    if name.len() > LONGEST_NAME {
        let why = format!("must be no more than {LONGEST_NAME} characters: {because}");
        return Err(NameError::Own(why));
    }
    Ok(())
}
