//! The form of the scheduler's part of openMCP's configuration file, for parsing and for the schema. An empty
//! string counts as absent.

use std::collections::BTreeMap;

use berth_apimachinery::selector::LabelSelector;
use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{Scope, Strategy};
use crate::kind::cluster::ClusterSpec;

/// The configuration file of openmcp-operator, of which only the scheduler's part is read.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["scheduler"]))]
pub(super) struct Form {
    /// Settings of the scheduler, by which requests get clusters.
    pub(super) scheduler: Scheduler,
}

/// Settings of the scheduler, by which requests get clusters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Scheduler {
    /// Clusters that are considered for a request. Namespaced: the clusters in the namespace of the template,
    /// or in the namespace of the request if the template has none. Cluster: the clusters of all namespaces.
    /// The default depends on `spec.rules`: Cluster by the current rules, else Namespaced.
    #[serde(deserialize_with = "scope", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("enum" = ["Cluster", "Namespaced", ""]))]
    pub(super) scope: Option<Scope>,
    /// Choice among several clusters that fit. Balanced: the cluster with the fewest requests. Random: a
    /// random cluster. Simple: the first cluster by namespace and name.
    #[schemars(extend("enum" = ["Balanced", "Random", "Simple", ""]))]
    pub(super) strategy: Strategy,
    /// Selectors of the objects that are considered; an empty selector selects all objects.
    pub(super) selectors: Selectors,
    /// Rules and templates for clusters, by purpose.
    pub(super) purpose_mappings: BTreeMap<String, Option<PurposeMapping>>,
}

/// Selectors of the objects that are considered.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Selectors {
    /// Selector of the clusters that are considered.
    pub(super) clusters: LabelSelector,
    /// Selector of the ClusterRequests that are considered.
    pub(super) requests: LabelSelector,
}

/// Rules and template for the clusters of one purpose. The template is required.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("nullable" = true))]
pub(super) struct PurposeMapping {
    /// Selector of clusters for the purpose, in addition to selectors.clusters.
    pub(super) selector: LabelSelector,
    /// Template of new clusters. The labels of the template must match both selectors.
    pub(super) template: ClusterTemplate,
    /// Number of requests that may share a cluster; 0 means any number. Must be 0 if the template is
    /// Exclusive.
    #[schemars(range(min = 0), extend("x-default" = 0))]
    pub(super) tenancy_count: i64,
}

/// Template of new clusters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ClusterTemplate {
    /// The metadata of new clusters.
    pub(super) metadata: Metadata,
    /// The spec of new clusters. The purpose of the mapping is added to spec.purposes.
    #[schemars(schema_with = "cluster_spec")]
    pub(super) spec: Map<String, Value>,
}

/// The metadata of new clusters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    /// The name of new clusters, if generateName is not set and any number of requests may share a cluster.
    pub(super) name: String,
    /// The prefix of the names of new clusters; takes precedence over name.
    pub(super) generate_name: String,
    /// The namespace of new clusters; by default the namespace of the request.
    pub(super) namespace: String,
    /// The labels of new clusters. clusters.openmcp.cloud/delete-without-requests is "true" unless it is set
    /// here.
    pub(super) labels: BTreeMap<String, String>,
    /// The annotations of new clusters.
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(flatten)]
    ignored: IgnoredMetadata,
}

/// Further fields of ObjectMeta, which are not copied to new clusters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct IgnoredMetadata {
    /// Ignored.
    creation_timestamp: Value,
    /// Ignored.
    deletion_grace_period_seconds: Value,
    /// Ignored.
    deletion_timestamp: Value,
    /// Ignored.
    finalizers: Value,
    /// Ignored.
    generation: Value,
    /// Ignored.
    managed_fields: Value,
    /// Ignored.
    owner_references: Value,
    /// Ignored.
    resource_version: Value,
    /// Ignored.
    self_link: Value,
    /// Ignored.
    uid: Value,
}

/// Parses the scope, if it is set.
fn scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Scope>, D::Error> {
    Ok(match Option::<String>::deserialize(deserializer)?.as_deref() {
        Some("Cluster") => Some(Scope::Cluster),
        Some("Namespaced") => Some(Scope::Namespaced),
        // The schema allows no other values.
        _ => None,
    })
}

/// The schema of a Cluster's spec in a template: the purpose is added later, defaults apply when the Cluster
/// is created, and fields of newer releases are copied unchanged.
fn cluster_spec(generator: &mut SchemaGenerator) -> schemars::Schema {
    let mut schema = ClusterSpec::json_schema(generator);
    let spec = schema.ensure_object();
    if let Some(purposes) = spec
        .get_mut("properties")
        .and_then(|fields| fields.get_mut("purposes"))
        && let Some(purposes) = purposes.as_object_mut()
    {
        purposes.remove("minItems");
    }
    relax(spec);
    schema
}

/// Removes the defaults from `schema` and from its parts, and allows unknown fields in objects.
fn relax(schema: &mut Map<String, Value>) {
    schema.remove("default");
    schema.remove("x-default");
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields
            .values_mut()
            .filter_map(Value::as_object_mut)
            .for_each(relax);
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
    }
    if let Some(items) = schema.get_mut("items").and_then(Value::as_object_mut) {
        relax(items);
    }
}
