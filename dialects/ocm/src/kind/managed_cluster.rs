//! ManagedCluster v1: a cluster on the hub, its taints, claims and capacity (docs/systems/ocm.md, "API
//! objects").

use std::collections::{BTreeMap, HashMap};

use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Scope, Timestamp, Write, WriteOperation,
    described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Condition, NAMESPACE_NAME, QUALIFIED_NAME};
use crate::names::{DEFAULT_SET, GROUP, SET_LABEL};

/// The desired state and the reported state of one managed cluster. Its namespace on the hub has the same
/// name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ManagedCluster {
    /// Settings of the hub for the cluster.
    pub(crate) spec: ManagedClusterSpec,
    /// Status of the cluster.
    pub(crate) status: ManagedClusterStatus,
}

/// Settings of the hub for the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ManagedClusterSpec {
    /// Whether the hub accepts the agent of the cluster.
    #[schemars(extend("x-default" = false))]
    pub(crate) hub_accepts_client: bool,
    /// Duration of the agent's lease, in seconds.
    #[schemars(extend("default" = 60))]
    pub(crate) lease_duration_seconds: Option<i32>,
    /// Addresses of the API server of the cluster.
    pub(crate) managed_cluster_client_configs: Vec<ClientConfig>,
    /// Taints of the cluster, which placements must tolerate.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub(crate) taints: Vec<Taint>,
}

/// One address of the API server of the cluster, with its certificate authority.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["url"]))]
pub(crate) struct ClientConfig {
    /// The URL of the API server.
    pub(crate) url: String,
    /// The PEM bundle of the certificate authority that signed the server's certificate, in base64.
    #[serde(rename = "caBundle")]
    #[schemars(extend("format" = "byte"))]
    pub(crate) ca_bundle: Option<String>,
}

/// A taint of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["effect", "key"]))]
pub(crate) struct Taint {
    /// The key of the taint.
    #[schemars(length(max = 316), regex(pattern = QUALIFIED_NAME))]
    pub(crate) key: String,
    /// The value of the taint; usually empty.
    #[schemars(length(max = 1024))]
    pub(crate) value: String,
    /// Effect of the taint on placements that do not tolerate it. NoSelect: the cluster is not selected.
    /// PreferNoSelect: no effect. NoSelectIfNew: the cluster is not selected, unless it is selected already.
    #[schemars(extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub(crate) effect: String,
    /// Time at which the taint was added; set by the server.
    #[schemars(with = "String", extend("format" = "date-time", "nullable" = true))]
    pub(crate) time_added: Option<Timestamp>,
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

/// Status of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ManagedClusterStatus {
    /// The state of the cluster, one entry per aspect.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The total resources of the cluster, by resource name.
    #[schemars(with = "BTreeMap<String, Quantity>")]
    pub(crate) capacity: BTreeMap<String, Amount>,
    /// The resources of the cluster that workloads may use, by resource name.
    #[schemars(with = "BTreeMap<String, Quantity>")]
    pub(crate) allocatable: BTreeMap<String, Amount>,
    /// The versions of the software on the cluster.
    pub(crate) version: Version,
    /// Claims of the cluster about itself, such as its id, region and platform.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub(crate) cluster_claims: Vec<ClusterClaim>,
    /// The namespaces that the hub manages on the cluster, with their state.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["clusterSet", "name"]))]
    pub(crate) managed_namespaces: Vec<ManagedNamespaceStatus>,
}

/// A quantity in JSON: a text or a number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Amount {
    /// A text, such as `500m` or `2Gi`.
    Text(String),
    /// A number, such as `4`.
    Number(serde_json::Number),
}

impl Amount {
    /// The exact quantity; `None` if the text is not a quantity.
    pub(crate) fn quantity(&self) -> Option<berth_apimachinery::quantity::Quantity> {
        let parsed = match self {
            Self::Text(text) => berth_apimachinery::quantity::Quantity::parse(text),
            Self::Number(number) => berth_apimachinery::quantity::Quantity::parse(&number.to_string()),
        };
        parsed.ok()
    }
}

/// A Kubernetes quantity, such as 500m or 2Gi.
#[derive(JsonSchema)]
#[schemars(extend(
    "x-kubernetes-int-or-string" = true,
    "pattern" = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
))]
struct Quantity(#[expect(dead_code, reason = "the type only carries a schema")] Value);

/// The versions of the software on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Version {
    /// The version of Kubernetes.
    pub(crate) kubernetes: Option<String>,
}

/// A claim of the cluster about itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ClusterClaim {
    /// The name of the claim.
    #[schemars(length(min = 1, max = 253))]
    pub(crate) name: String,
    /// The value of the claim.
    #[schemars(length(min = 1, max = 1024))]
    pub(crate) value: String,
}

/// The state of one namespace that the hub manages on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterSet", "name"]))]
pub(crate) struct ManagedNamespaceStatus {
    /// The name of the namespace.
    #[schemars(length(max = 63), regex(pattern = NAMESPACE_NAME))]
    pub(crate) name: String,
    /// The cluster set that requested the namespace.
    pub(crate) cluster_set: String,
    /// Whether the namespace exists.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}

/// Serves ManagedCluster.
pub(super) struct ManagedClusterKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Hub Accepted", "Whether the hub accepts the agent of the cluster")
            .boolean()
            .at(".spec.hubAcceptsClient"),
        Column::text(
            "Managed Cluster URLs",
            "The first URL of the API server of the cluster",
        )
        .at(".spec.managedClusterClientConfigs[*].url"),
        Column::text("Joined", "Whether the agent of the cluster has joined")
            .at(".status.conditions[?(@.type==\"ManagedClusterJoined\")].status"),
        Column::text("Available", "Whether the cluster is available")
            .at(".status.conditions[?(@.type==\"ManagedClusterConditionAvailable\")].status"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "managedcluster",
            short_names: &["mcl", "mcls"],
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(GROUP, &["v1"], "ManagedCluster", "managedclusters")
        },
        Schema::of::<ManagedCluster>,
    )
};

impl Kind for ManagedClusterKind {
    described_by!(DEFINITION);

    fn prepare(&self, write: &Write<'_>, new: &mut Value) {
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return;
        }
        put_into_default_set(new);
        stamp_taints(write, new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = match write.operation {
            WriteOperation::Subresource(_) => return Vec::new(),
            WriteOperation::Update => taint_errors(write, new),
            WriteOperation::Create => Vec::new(),
        };
        errors.extend(url_errors(new));
        errors
    }

    /// Errors of the name of a new cluster, which is also the name of its namespace on the hub.
    fn own_rules(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if write.operation != WriteOperation::Create {
            return Vec::new();
        }
        let name = new.pointer("/metadata/name").and_then(Value::as_str);
        let label = |name: &str| berth_apimachinery::name::dns_label(name).err();
        // The rule for the names of all kinds refuses a name that is not a subdomain.
        let problem = name
            .filter(|name| berth_apimachinery::name::dns_subdomain(name).is_ok())
            .and_then(|name| Some((name, label(name)?)));
        problem
            .map(|(name, problem)| {
                let detail = format!("{problem}: the namespace of the cluster on the hub has the same name");
                FieldError::invalid("metadata.name", name, detail)
            })
            .into_iter()
            .collect()
    }
}

/// Puts a cluster without a set into the set `default`.
fn put_into_default_set(new: &mut Value) {
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let labels = metadata
        .entry("labels")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if labels.is_null() {
        *labels = Value::Object(serde_json::Map::new());
    }
    let Some(labels) = labels.as_object_mut() else {
        return;
    };
    let set = labels.entry(SET_LABEL).or_insert_with(|| DEFAULT_SET.into());
    if set.as_str() == Some("") {
        *set = DEFAULT_SET.into();
    }
}

/// Sets `timeAdded`: in a creation, of every taint; in an update, of the taints that are sent without it. In
/// an update, an unchanged taint gets its stored time, any other taint the current time.
fn stamp_taints(write: &Write<'_>, new: &mut Value) {
    let now = berth_apimachinery::time::rfc3339(write.now);
    let Some(taints) = new.pointer_mut("/spec/taints").and_then(Value::as_array_mut) else {
        return;
    };
    let stored = stored_taints(write.old);
    for taint in taints.iter_mut().filter_map(Value::as_object_mut) {
        let has_time = taint.get("timeAdded").is_some_and(|time| !time.is_null());
        let stamp = match write.operation {
            WriteOperation::Create => Value::String(now.clone()),
            _ if has_time => continue,
            // A taint that is stored without a time, because it came from a hub or a file, stays without a
            // time.
            _ => match stored.get(&taint_identity(|name| taint.get(name))) {
                Some(known) => match known.get("timeAdded") {
                    Some(time) => time.clone(),
                    None => continue,
                },
                None => Value::String(now.clone()),
            },
        };
        taint.insert("timeAdded".to_owned(), stamp);
    }
}

/// The stored taints by key, value and effect; the first of several equal ones.
fn stored_taints(old: Option<&Value>) -> HashMap<[&str; 3], &Value> {
    let known = old.and_then(|old| old.pointer("/spec/taints")?.as_array());
    let known = known.into_iter().flatten().rev();
    known
        .map(|taint| (taint_identity(|name| taint.get(name)), taint))
        .collect()
}

/// The key, the value and the effect of a taint, whose fields `field` returns.
fn taint_identity<'a>(field: impl Fn(&str) -> Option<&'a Value>) -> [&'a str; 3] {
    ["key", "value", "effect"].map(|name| field(name).and_then(Value::as_str).unwrap_or_default())
}

/// Errors of URLs of API servers, which must be HTTPS.
fn url_errors(new: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.managedClusterClientConfigs";
    let configs = new.pointer("/spec/managedClusterClientConfigs");
    let configs = configs.and_then(Value::as_array).into_iter().flatten();
    let urls = configs.enumerate().filter_map(|(index, config)| {
        let url = config.get("url")?.as_str()?;
        (!is_https(url)).then(|| {
            let detail = "must be an absolute https URL, such as https://cluster1.example.com:6443";
            FieldError::invalid(format!("{PATH}[{index}].url"), url, detail)
        })
    });
    urls.collect()
}

/// Whether `url` is `https://` with a host, optionally followed by a port, a path, a query and a fragment.
fn is_https(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // An IPv6 address, which contains colons, is in brackets.
    let host_and_port = match authority.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(parts) => parts,
        None => Some(authority.split_at(authority.find(':').unwrap_or(authority.len()))),
    };
    let Some((host, port)) = host_and_port else {
        return false;
    };
    let is_port = port
        .strip_prefix(':')
        .map_or(port.is_empty(), |port| port.parse::<u16>().is_ok());
    let is_printable = !url.contains(|character: char| character.is_whitespace() || character.is_control());
    is_printable && is_port && !host.is_empty() && !host.contains('@')
}

/// Errors of `timeAdded`, which a client may not choose: it must be the stored time of an unchanged taint,
/// or the time that `prepare` has set. An unchanged taint that is stored without a time may get any time.
fn taint_errors(write: &Write<'_>, new: &Value) -> Vec<FieldError> {
    let Some(taints) = new.pointer("/spec/taints").and_then(Value::as_array) else {
        return Vec::new();
    };
    let instant = |value: &Value| value.as_str().and_then(berth_apimachinery::time::parse);
    let now = berth_apimachinery::time::parse(&berth_apimachinery::time::rfc3339(write.now));
    let stored = stored_taints(write.old);
    let mut errors = Vec::new();
    for (index, taint) in taints.iter().enumerate() {
        let Some(time) = taint.get("timeAdded").filter(|time| !time.is_null()) else {
            continue;
        };
        let known = stored.get(&taint_identity(|name| taint.get(name)));
        let allowed = match known.map(|known| &known["timeAdded"]) {
            Some(known) => known.is_null() || instant(known) == instant(time),
            None => instant(time) == now,
        };
        if !allowed {
            errors.push(FieldError::invalid(
                format!("spec.taints[{index}].timeAdded"),
                time.clone(),
                "is set by the server: leave it out, or send the stored value of an unchanged taint",
            ));
        }
    }
    errors
}
