//! Virtual objects as JSON: Targets and Decisions, from the dialects' views.

use std::sync::Arc;

use berth_apimachinery::{Key, Labels, Meta, Object, Timestamp, time};
use berth_dialect_contract::report::{self, Condition};
use berth_dialect_contract::view::provider;
use berth_dialect_contract::{
    Amount, Decision, DemandView, Outcome, Phase, PlacedCluster, Quantities, Taint, TargetView,
};
use berth_dialect_contract::{amounts, listing};
use berth_engine::Snapshot;
use berth_scheduling_api::decision::{
    self, AGREES, ClusterBinding, DecisionSpec, DecisionStatus, DividedAmount, RejectionCount,
};
use berth_scheduling_api::shared::{Manifest, SourceRef, none_if_empty, none_if_empty_list};
use berth_scheduling_api::target::{Target, TargetCapacity, TargetSpec, TargetStatus, TargetTaint};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::names;
use super::observed::AgreementText;
use super::tallies::Tally;

/// A rendered Target or Decision, and the instant at which time alone may change it.
pub(crate) struct RenderedObject {
    pub(crate) value: Value,
    pub(crate) due_at: Option<Timestamp>,
}

/// The metadata of the virtual object `name` of `kind` about `source`.
pub fn metadata(source: &Meta, kind: &str, namespace: &str, name: &str) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), name.into());
    if !namespace.is_empty() {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    metadata.insert("uid".to_owned(), names::uid(source, kind).into());
    if let Some(created) = source.creation_timestamp() {
        metadata.insert("creationTimestamp".to_owned(), time::rfc3339(created).into());
    }
    metadata
}

/// A reference to `object`, which is of `kind`.
pub(crate) fn source_ref(object: &Object, kind: &str) -> SourceRef {
    let meta = object.meta();
    SourceRef {
        api_version: object.api_version().into(),
        kind: kind.into(),
        namespace: meta.namespace().into(),
        name: meta.name().into(),
        uid: meta.uid().into(),
    }
}

/// `object` as a tree of JSON values, from which a store makes its objects.
pub fn tree<T: Serialize>(object: &Manifest<T>) -> Value {
    serde_json::to_value(object).expect("names, texts and numbers are JSON")
}

/// The kind of `object`. No other field is parsed: the parsed objects of all targets would take more memory
/// than the objects themselves.
fn kind_of(object: &Object) -> String {
    #[derive(serde::Deserialize)]
    struct KindHeader {
        kind: String,
    }
    object
        .view()
        .map_or_else(|_| String::new(), |KindHeader { kind }| kind)
}

/// The Target `name` of `dialect`. `old` is the previous object, whose transition times stay.
pub(crate) fn target(
    dialect: &'static str,
    name: &str,
    view: &TargetView,
    now: Timestamp,
    old: Option<&Object>,
) -> RenderedObject {
    let source = view.object.meta();
    let mut metadata = metadata(source, "Target", "", name);
    labels(&mut metadata, &view.labels);
    let builder = ConditionBuilder::new(old, source, now);
    let ready = builder.condition("Ready", view.ready, view.ready_reason, &view.ready_message);
    let body = Target {
        spec: Some(TargetSpec {
            dialect: dialect.into(),
            cluster_name: Arc::clone(&view.cluster_name),
            source_ref: source_ref(&view.object, &kind_of(&view.object)),
        }),
        status: Some(TargetStatus {
            cordoned: view.cordoned,
            region: none_if_empty(&view.region),
            provider: none_if_empty(&provider(&view.provider)),
            taints: none_if_empty_list(view.taints.iter().map(taint).collect()),
            capacity: none_if_empty_list(view.capacity.iter().map(capacity).collect()),
            warnings: none_if_empty_list(view.warnings.clone()),
            conditions: Some(vec![ready]),
        }),
    };
    RenderedObject {
        value: tree(&Manifest::new("Target", metadata, body)),
        due_at: view.due_at,
    }
}

fn taint(taint: &Taint) -> TargetTaint {
    TargetTaint {
        key: taint.key.clone(),
        value: none_if_empty(&taint.value),
        effect: none_if_empty(&taint.effect),
    }
}

fn capacity(counted: &Quantities) -> TargetCapacity {
    TargetCapacity {
        name: counted.name.into(),
        used: counted.used,
        limit: counted.limit,
    }
}

/// A demand, and the facts that its Decision shows.
pub(crate) struct DecisionFacts<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) demand: &'a Key,
    pub(crate) view: DemandView,
    /// Decision that Berth would make; `None` if it was not computed.
    pub(crate) decision: Option<&'a Decision>,
    /// Agreement with the other scheduler; `None` unless Berth observes the demand.
    pub(crate) agreement: Option<AgreementText>,
    /// Message about another writer that contests the decision; `None` without one.
    pub(crate) contest: Option<Arc<str>>,
    pub(crate) now: Timestamp,
}

/// The Decision that shows `facts`, and its properties for counting. A demand that is pending, invalid,
/// ignored or being released is decided, to find its phase and the reasons. `old` is the previous object,
/// whose transition times stay.
pub(crate) fn decision(facts: DecisionFacts<'_>, old: Option<&Object>) -> (RenderedObject, Tally) {
    let state = DemandPhase::of(&facts);
    let DecisionFacts {
        snapshot,
        demand,
        view,
        agreement,
        contest,
        now,
        ..
    } = facts;
    let dialect = &*snapshot.dialect;
    let (namespace, name) = names::place(dialect, demand);
    let kind = if namespace.is_empty() {
        "ClusterDecision"
    } else {
        "Decision"
    };
    let source = view.object.meta();
    let metadata = decision_metadata(&view, kind, &namespace, &name);
    let builder = ConditionBuilder::new(old, source, now);
    let mut conditions = vec![state.bound_condition(&builder)];
    let mut tally = Tally {
        phase: state.phase.as_str(),
        agrees: "",
    };
    let (mut due_at, mut would_change) = (state.due_at, None);
    if let Some(agreement) = agreement {
        conditions.push(builder.condition(AGREES, agreement.status, agreement.reason, &agreement.message));
        would_change = agreement.would_change;
        tally.agrees = agreement.status;
        due_at = due_at.into_iter().chain(agreement.due_at).min();
    }
    if let Some(text) = contest {
        conditions.push(builder.condition("Contested", "True", "OtherWriter", &text));
    }
    let body = decision::Decision {
        spec: Some(DecisionSpec {
            dialect: dialect.name().into(),
            source_ref: source_ref(&view.object, view.kind),
        }),
        status: Some(DecisionStatus {
            phase: state.phase.as_str().into(),
            reason: none_if_empty(&state.reason),
            message: none_if_empty(&state.message),
            wanted: view.wanted,
            amount: view.amount.map(divided_amount),
            decisions: cluster_bindings(&view.placed),
            rejections: none_if_empty_list(state.rejections),
            would_change,
            conditions: Some(conditions),
        }),
    };
    let value = tree(&Manifest::new(kind, metadata, body));
    (RenderedObject { value, due_at }, tally)
}

/// Berth's decision on `demand`; `None` if the demand does not exist, or the dialect breaks its contract. The
/// latter is logged, since the Decision then shows only the present placement.
pub(crate) fn own_decision(snapshot: &Snapshot, demand: &Key, now: Timestamp) -> Option<Decision> {
    snapshot.decide_freely(demand, now, None).unwrap_or_else(|fault| {
        tracing::error!(
            dialect = snapshot.dialect.name(),
            %fault,
            "a demand cannot be decided, so its Decision has neither reasons nor a comparison; report it as a bug, with this line"
        );
        None
    })
}

/// The metadata of the Decision `name` of `kind` about the demand of `view`.
fn decision_metadata(view: &DemandView, kind: &str, namespace: &str, name: &str) -> Map<String, Value> {
    let source = view.object.meta();
    let mut metadata = metadata(source, kind, namespace, name);
    labels(&mut metadata, source.labels());
    if let Some(owner) = view.object.as_owner(view.kind, namespace) {
        metadata.insert("ownerReferences".to_owned(), json!([owner]));
    }
    if source.generation() > 0 {
        metadata.insert("generation".to_owned(), source.generation().into());
    }
    metadata
}

/// `amount` in the form of `status.amount`.
fn divided_amount(amount: Amount) -> DividedAmount {
    let Amount { name, wanted, placed } = amount;
    DividedAmount {
        name: name.into(),
        wanted,
        placed,
    }
}

/// The clusters in the form of `status.decisions`.
pub(crate) fn cluster_bindings(placed: &[PlacedCluster]) -> Vec<ClusterBinding> {
    let placed = placed.iter();
    placed
        .map(|place| ClusterBinding {
            cluster_name: Arc::clone(&place.cluster_name),
            reason: place.reason.clone().into(),
            score: place.score,
            amount: place.amount,
            state: none_if_empty(&place.state),
            leaving: place.leaving.then_some(true),
        })
        .collect()
}

/// Phase of a demand, with the reason and the message of a Decision.
struct DemandPhase {
    phase: Phase,
    /// Reason of the decision why the demand is not bound; else empty.
    reason: String,
    message: String,
    rejections: Vec<RejectionCount>,
    due_at: Option<Timestamp>,
}

impl DemandPhase {
    fn of(facts: &DecisionFacts<'_>) -> Self {
        let DecisionFacts { snapshot, view, .. } = facts;
        let phase = match view.phase {
            Phase::Pending | Phase::Invalid => {
                let computed = match facts.decision {
                    Some(_) => None,
                    None => own_decision(snapshot, facts.demand, facts.now),
                };
                let is_conclusive = |decision: &&Decision| {
                    view.phase == Phase::Pending || decision.outcome == Outcome::Invalid
                };
                if let Some(decision) = facts.decision.or(computed.as_ref()).filter(is_conclusive) {
                    return Self::from_decision(snapshot, decision);
                }
                view.phase_by_count()
            }
            // A user who waits for the deletion of the demand needs to see the reason of the delay.
            Phase::Releasing => {
                if let Some(decision) = own_decision(snapshot, facts.demand, facts.now) {
                    return Self {
                        phase: Phase::Releasing,
                        ..Self::from_decision(snapshot, &decision)
                    };
                }
                Phase::Releasing
            }
            // A user whose request is left alone needs to see the reason.
            Phase::Ignored => {
                let computed = match facts.decision {
                    Some(_) => None,
                    None => own_decision(snapshot, facts.demand, facts.now),
                };
                let decision = facts.decision.or(computed.as_ref());
                if let Some(decision) = decision.filter(|decision| decision.outcome == Outcome::Ignored) {
                    return Self::from_decision(snapshot, decision);
                }
                Phase::Ignored
            }
            phase => phase,
        };
        let staying: Vec<&PlacedCluster> = view.placed.iter().filter(|place| !place.leaving).collect();
        let message = match (phase, staying.len(), view.wanted) {
            (Phase::Partial, count, Some(wanted)) => format!("bound to {count} of {wanted} clusters"),
            (Phase::Bound | Phase::Partial, 1.., _) if let Some(amount) = view.amount => {
                let places = staying.iter();
                let cells: Vec<String> = places
                    .map(|place| amounts::cell(&place.cluster_name, place.amount))
                    .collect();
                let list = listing::clusters(cells.iter().map(String::as_str));
                format!("{} of {} {}: {list}", amount.placed, amount.wanted, amount.name)
            }
            (Phase::Bound | Phase::Partial | Phase::Releasing, 1, _) => {
                format!("bound to {}", staying[0].cluster_name)
            }
            (Phase::Bound | Phase::Partial | Phase::Releasing, count, _) => {
                format!("bound to {count} clusters")
            }
            _ => String::new(),
        };
        Self {
            phase,
            reason: String::new(),
            message,
            rejections: Vec::new(),
            due_at: None,
        }
    }

    /// The condition `Bound`.
    fn bound_condition(&self, builder: &ConditionBuilder<'_>) -> Condition {
        let status = match self.phase {
            Phase::Bound => "True",
            _ => "False",
        };
        let reason = match self.reason.as_str() {
            "" => self.phase.as_str(),
            reason => reason,
        };
        builder.condition("Bound", status, reason, &self.message)
    }

    /// State of a demand that is not bound or is being released, from Berth's decision.
    fn from_decision(snapshot: &Snapshot, decision: &Decision) -> Self {
        let phase = match decision.outcome {
            Outcome::Unschedulable => Phase::Unschedulable,
            Outcome::Invalid => Phase::Invalid,
            Outcome::Ignored => Phase::Ignored,
            _ => Phase::Pending,
        };
        let shows_reason = matches!(
            decision.outcome,
            Outcome::Unschedulable | Outcome::Ignored | Outcome::Invalid
        );
        Self {
            phase,
            reason: if shows_reason {
                decision.reason.to_owned()
            } else {
                String::new()
            },
            message: snapshot.inventory.message(decision),
            rejections: if phase == Phase::Unschedulable {
                rejections(snapshot, decision)
            } else {
                Vec::new()
            },
            due_at: decision.due_at,
        }
    }
}

/// Numbers of targets that each reason refuses.
fn rejections(snapshot: &Snapshot, decision: &Decision) -> Vec<RejectionCount> {
    let counts = report::reason_counts(&*snapshot.inventory, decision).into_iter();
    counts.map(RejectionCount::from).collect()
}

/// Builder of the conditions of one object. It keeps transition times from the previous object.
struct ConditionBuilder<'a> {
    /// The previous conditions; `None` for a new object.
    before: Option<Vec<Condition>>,
    source: &'a Meta,
    now: Timestamp,
}

impl<'a> ConditionBuilder<'a> {
    fn new(old: Option<&Object>, source: &'a Meta, now: Timestamp) -> Self {
        #[derive(Deserialize)]
        struct ConditionList {
            status: Conditions,
        }
        #[derive(Deserialize)]
        struct Conditions {
            conditions: Vec<Condition>,
        }
        let before = old.and_then(|old| old.view::<ConditionList>().ok());
        Self {
            before: before.map(|object| object.status.conditions),
            source,
            now,
        }
    }

    /// The condition of `type`. The transition time changes only with the status. For a new object, it is the
    /// source's creation, which is equal on every replica and after every restart.
    fn condition(&self, r#type: &str, status: &str, reason: &str, message: &str) -> Condition {
        let last_transition_time = match &self.before {
            Some(before) => {
                let mut before = before.iter();
                let unchanged = before.find(|before| before.r#type == r#type && before.status == status);
                unchanged.map_or_else(
                    || time::rfc3339(self.now),
                    |before| before.last_transition_time.clone(),
                )
            }
            None => time::rfc3339(self.source.creation_timestamp().unwrap_or(self.now)),
        };
        let generation = self.source.generation();
        Condition {
            r#type: r#type.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time,
            observed_generation: (generation > 0).then_some(generation),
        }
    }
}

fn labels(metadata: &mut Map<String, Value>, labels: &Labels) {
    let labels: Map<String, Value> = labels
        .inherited()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect();
    if !labels.is_empty() {
        metadata.insert("labels".to_owned(), labels.into());
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Revision;

    use super::*;

    #[test]
    fn a_condition_that_appears_later_has_the_time_at_which_it_appears() {
        let source = json!({"name": "x", "creationTimestamp": "2021-10-28T08:00:00Z"});
        let source: Meta = serde_json::from_value(source).unwrap();
        let now: Timestamp = "2021-10-28T09:00:00Z".parse().unwrap();
        let times = |old: Option<&Object>| {
            let builder = ConditionBuilder::new(old, &source, now);
            ["Bound", "Contested"].map(|r#type| builder.condition(r#type, "True", "R", ""))
        };
        let first = times(None);
        assert!(
            first
                .iter()
                .all(|condition| condition.last_transition_time == "2021-10-28T08:00:00Z")
        );
        let old = json!({
            "apiVersion": "g/v1", "kind": "Decision", "metadata": {"name": "x"},
            "status": {"conditions": [first[0]]},
        });
        let old = Object::new(&old, Revision(1)).unwrap();
        let [bound, contested] = times(Some(&old)).map(|condition| condition.last_transition_time);
        assert_eq!(bound, "2021-10-28T08:00:00Z");
        assert_eq!(contested, "2021-10-28T09:00:00Z");
    }
}
