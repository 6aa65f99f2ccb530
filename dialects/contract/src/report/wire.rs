//! The report's wire format: the one declaration for writing it and for the published schema. `kubectl
//! explain` shows the doc comments of these types.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A word that is mostly one of a fixed list, such as an outcome or the name of a plugin.
pub type Token = Cow<'static, str>;

/// A decision with everything that led to it.
// The `status` of a Scheduling. Its long lists may be of other types: candidates are mostly written as
// `StreamedCandidates`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report<Candidates = Vec<Candidate>, Writes = Vec<WriteEntry>, Advice = Value> {
    /// Scheduled, Partial, Unschedulable, Provision, Unchanged, Invalid, Ignored or Released.
    pub outcome: Token,
    /// Why, as one word.
    pub reason: Token,
    /// The summary for a person.
    pub message: String,
    /// Number of clusters that the request asks for, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub wanted: Option<i64>,
    /// Warnings for the reader: fields without effect, scores that do not count, expressions that fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<String>>")]
    pub warnings: Vec<String>,
    /// The rules that decided, and why these, where the system of today has others than its documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RulesInForce>,
    /// The instant the decision is for.
    #[schemars(extend("format" = "date-time"))]
    pub evaluated_at: String,
    /// The resourceVersion of the system's objects up to which everything was taken into account.
    pub inventory_revision: String,
    /// The amount that is divided among the picked clusters, where the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<AmountEntry>,
    /// The resulting clusters, those kept included, best first.
    pub picked: Vec<Pick>,
    /// Clusters to which the object is bound now.
    pub current: Vec<CurrentEntry>,
    /// Changes that binding would make to each cluster.
    pub changes: Vec<ChangeEntry>,
    /// Every target considered, best first; the infeasible ones at the end, the nearest to fitting first, and
    /// at last those that are out of scope.
    pub candidates: Candidates,
    /// Number of further candidates, where `?limit=` asked for the first ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub remaining_candidates: Option<usize>,
    /// Numbers of targets that each reason refuses, where `?reasons=counts` asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_counts: Option<Vec<ReasonCount>>,
    /// Filters in their order, each with how many targets are left before and after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<FunnelStep>>")]
    pub funnel: Vec<FunnelStep>,
    /// The conditions the system itself would report.
    #[schemars(with = "Vec<SystemCondition>")]
    pub conditions: Vec<Value>,
    /// Exactly what binding would write, in order.
    pub writes: Writes,
    /// Changes that would let targets fit, where `?advice=true` asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// An amount that is divided among clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmountEntry {
    /// The thing divided: replicas.
    pub name: Token,
    /// Wanted amount.
    pub wanted: i64,
    /// Amount that the picked clusters get together.
    pub placed: i64,
}

/// Rules that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RulesInForce {
    /// Documented or Current.
    pub name: Token,
    /// Why these.
    pub message: String,
    /// Whether they were chosen although the objects say that they are of a release with the other ones.
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
    /// Why, as one CamelCase word.
    pub reason: String,
    /// Why, as a sentence.
    pub message: String,
    /// When the status last changed.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// The generation of the source object this was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A condition as a system itself writes it. Not every system gives a reason and a message.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is read")]
struct SystemCondition {
    /// The type of the condition.
    r#type: String,
    /// True, False or Unknown.
    status: String,
    /// Why, as one CamelCase word.
    reason: Option<String>,
    /// Why, as a sentence.
    message: Option<String>,
    /// When the status last changed.
    #[schemars(extend("format" = "date-time"))]
    last_transition_time: String,
    /// The generation of the source object this was computed for.
    observed_generation: Option<i64>,
}

/// Number of targets that one reason refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonCount {
    /// The plugin that refuses.
    pub plugin: Token,
    /// Why, as one word.
    pub reason: Token,
    /// Number of targets.
    pub targets: i64,
    /// Why, as a sentence about the first of them.
    pub message: String,
}

/// A filter, and how many targets it leaves of those that all filters before it left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunnelStep {
    /// The filter.
    pub plugin: Token,
    /// Number of targets that every filter before it lets pass.
    pub before: i64,
    /// Number of those that it lets pass, too.
    pub after: i64,
    /// The commonest reason among those that it refuses, as one word; absent where it refuses none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub reason: Token,
    /// The commonest reason as a sentence, in the words of the first target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// A cluster of the resulting set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pick {
    /// The name the system itself gives the cluster.
    pub cluster_name: Arc<str>,
    /// The name of the Target object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub target: String,
    /// The place in the ranking, from 1.
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
    /// The amount it gets, where the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// Picked, Kept or Created.
    pub reason: Token,
}

/// Points of one scorer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// The scorer, as the system names it.
    pub plugin: Arc<str>,
    /// The value; absent where the scorer has none for this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    /// The weight.
    pub weight: i64,
    /// Value times weight.
    pub weighted: i64,
    /// Reason why the value is not a measured one; absent where it is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// A cluster the object is bound to now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentEntry {
    /// The name the system itself gives the cluster.
    pub cluster_name: Arc<str>,
    /// The name of the Target object, while there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub target: String,
    /// The state of the binding, as the system names it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub state: Token,
    /// The amount it has, where the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
}

/// Change that binding would make to one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeEntry {
    /// Bind, Keep, Unbind, Create, Restore or Resize (it stays, with another amount).
    pub action: Token,
    /// The name the system itself gives the cluster.
    pub cluster_name: Arc<str>,
    /// The state before, as the system names it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub from: Token,
    /// The state after, as the system names it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub to: Token,
    /// The amount before, where the system divides one and it was bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount_from: Option<i64>,
    /// The amount after, where the system divides one and it stays bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount_to: Option<i64>,
}

/// One target as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// The name the system itself gives the cluster.
    pub cluster_name: Arc<str>,
    /// Whether no plugin refuses it.
    pub feasible: bool,
    /// Whether it is out of scope; absent where it is in scope.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    pub out_of_scope: bool,
    /// Whether it is in the resulting set.
    pub picked: bool,
    /// The amount it gets, where it is picked and the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// The place in the ranking, from 1; absent for the infeasible.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub rank: Option<usize>,
    /// Every plugin that refuses it; or why it is feasible and still not picked.
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

/// Why a target is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectionEntry {
    /// The plugin that refuses; empty where the target is feasible and others were better.
    pub plugin: Token,
    /// Why, as one word.
    pub reason: Token,
    /// Why, as a sentence.
    pub message: String,
}

/// One write a binding would make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteEntry {
    /// create, update or delete.
    pub verb: Token,
    /// The subresource it goes through, where it does.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub subresource: Token,
    /// The object as it would be; of one that the reader may not get, kind, namespace and name.
    #[schemars(with = "Map<String, Value>", extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub object: Value,
    /// Paths of the changes in such an object, as JSON pointers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_paths: Option<Vec<String>>,
}
