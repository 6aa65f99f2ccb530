//! The wire format of the report. The types are serialized, and the published schema is derived from them:
//! `kubectl explain` shows the doc comments.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A word, mostly from a fixed list, such as an outcome or the name of a plugin.
pub type Token = Cow<'static, str>;

/// A decision with everything that led to it.
// The `status` of a Scheduling. The types of the long lists are parameters, since candidates are mostly
// written as `StreamedCandidates`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report<Candidates = Vec<Candidate>, Writes = Vec<WriteEntry>, Advice = Value> {
    /// Scheduled, Partial, Unschedulable, Provision, Unchanged, Invalid, Ignored or Released.
    pub outcome: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// The summary for a person.
    pub message: String,
    /// The requested number of clusters, where the request states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub wanted: Option<i64>,
    /// Warnings for the reader: fields without effect, scores that do not count, expressions that fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub warnings: Vec<String>,
    /// The rules in force and the reason for them, where the current system differs from its documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RulesInForce>,
    /// The instant for which the decision was computed.
    #[schemars(extend("format" = "date-time"))]
    pub evaluated_at: String,
    /// The resourceVersion up to which changes of the system's objects were taken into account.
    pub inventory_revision: String,
    /// The amount that is divided among the picked clusters, if the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<AmountEntry>,
    /// The resulting clusters, best first; kept clusters are included.
    pub picked: Vec<Pick>,
    /// Clusters to which the object is bound now.
    pub current: Vec<CurrentEntry>,
    /// The changes that binding would make, one for each cluster.
    pub changes: Vec<ChangeEntry>,
    /// The considered targets: feasible targets, best first; then infeasible targets, the nearest to fitting
    /// first; then targets that are out of scope; at last the names of missing clusters.
    pub candidates: Candidates,
    /// Number of further candidates, if `?limit=` requested only the first ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub remaining_candidates: Option<usize>,
    /// Number of targets that are refused for each reason, if `?reasons=counts` requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_counts: Option<Vec<ReasonCount>>,
    /// The filters in order, each with the number of targets before and after the filter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<FunnelStep>>")]
    pub funnel: Vec<FunnelStep>,
    /// The conditions that the system itself would report.
    #[schemars(with = "Vec<SystemCondition>")]
    pub conditions: Vec<Value>,
    /// The exact writes that bind the decision, in order.
    pub writes: Writes,
    /// Changes after which targets would fit, if `?advice=true` requested them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// An amount that is divided among clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmountEntry {
    /// The name of the divided resource, such as replicas.
    pub name: Token,
    /// The requested amount.
    pub wanted: i64,
    /// The sum of the amounts of the picked clusters.
    pub placed: i64,
}

/// The rules in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulesInForce {
    /// Documented or Current.
    pub name: Token,
    /// The reason for these rules.
    pub message: String,
    /// Whether these rules were chosen although the objects are of a release with the other rules.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    pub at_odds: bool,
}

/// A standard Kubernetes condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of the condition.
    pub r#type: String,
    /// True, False or Unknown.
    pub status: String,
    /// The reason, as one CamelCase word.
    pub reason: String,
    /// The reason, as a sentence.
    pub message: String,
    /// Time of the last change of the status.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// The generation of the source object for which the condition was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A condition as the system itself writes it. Not every system sets reason and message.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is read")]
struct SystemCondition {
    /// The type of the condition.
    r#type: String,
    /// True, False or Unknown.
    status: String,
    /// The reason, as one CamelCase word.
    reason: Option<String>,
    /// The reason, as a sentence.
    message: Option<String>,
    /// Time of the last change of the status.
    #[schemars(extend("format" = "date-time"))]
    last_transition_time: String,
    /// The generation of the source object for which the condition was computed.
    observed_generation: Option<i64>,
}

/// Number of targets that are refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonCount {
    /// The plugin that refuses.
    pub plugin: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// Number of refused targets.
    pub targets: i64,
    /// The reason, as a sentence about the first refused target.
    pub message: String,
}

/// A filter, with the numbers of targets before and after the filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunnelStep {
    /// The name of the filter.
    pub plugin: Token,
    /// Number of targets that pass all earlier filters.
    pub before: i64,
    /// Number of targets that pass all earlier filters and this filter.
    pub after: i64,
    /// The most frequent reason for which this filter refuses targets, as one word; absent if it refuses no
    /// target.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub reason: Token,
    /// The most frequent reason, as a sentence about the first target that is refused for it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// A cluster of the resulting set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pick {
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The name of the Target object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub target: String,
    /// The rank, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub rank: Option<usize>,
    /// The weighted total, where the system adds scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// Points of each scorer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Score>>")]
    pub scores: Vec<Score>,
    /// The amount of the cluster, if the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// Picked, Kept or Created.
    pub reason: Token,
}

/// Points of one scorer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// The name of the scorer in the system.
    pub plugin: Arc<str>,
    /// The value; absent if the scorer has no value for this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    /// The weight of the scorer.
    pub weight: i64,
    /// Value times weight.
    pub weighted: i64,
    /// The reason why the value is not measured; absent if it is measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// A cluster to which the object is bound now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentEntry {
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The name of the Target object, while it exists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub target: String,
    /// The state of the binding, by the system's name.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub state: Token,
    /// The amount of the cluster, if the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
}

/// The change that binding would make to one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeEntry {
    /// Bind, Keep, Unbind, Create, Restore or Resize (the cluster stays, with another amount).
    pub action: Token,
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The state before, by the system's name.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub from: Token,
    /// The state after, by the system's name.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub to: Token,
    /// The amount before, if the cluster was bound and the system divides an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount_from: Option<i64>,
    /// The amount after, if the cluster stays bound and the system divides an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount_to: Option<i64>,
}

/// One target, with the scheduler's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// Whether no plugin refuses the target.
    pub feasible: bool,
    /// Whether the target is out of scope; absent if it is in scope.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    pub out_of_scope: bool,
    /// Whether the target is in the resulting set.
    pub picked: bool,
    /// The amount of the target, if it is picked and the system divides an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// The rank, from 1; absent for infeasible targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub rank: Option<usize>,
    /// The refusals of the target, one for each plugin that refuses it; or the reason why a feasible target
    /// is not picked.
    pub rejections: Vec<RejectionEntry>,
    /// The weighted total, where the system adds scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// Points of each scorer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Score>>")]
    pub scores: Vec<Score>,
    /// The name of the Target object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub target: String,
}

/// The reason why a target is refused, or feasible and not picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectionEntry {
    /// The plugin that refuses the target; empty if the target is feasible.
    pub plugin: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// The reason, as a sentence.
    pub message: String,
}

/// One write of a binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteEntry {
    /// create, update or delete.
    pub verb: Token,
    /// The subresource of the write, if it has one.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub subresource: Token,
    /// The object after the write; only apiVersion, kind, namespace and name if the reader may not get the
    /// object.
    #[schemars(with = "Map<String, Value>", extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub object: Value,
    /// JSON pointers to the changed fields, if `object` is not complete because the reader may not get the
    /// object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_paths: Option<Vec<String>>,
}
