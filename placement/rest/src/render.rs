//! Virtual objects as JSON: Targets and Decisions, from what the dialects say of them.

use std::sync::Arc;

use berth_apimachinery::{Key, Labels, Meta, Object, Timestamp, time};
use berth_dialect_contract::{Amount, Decision, DemandView, Outcome, Phase, Placed, TargetView};
use berth_dialect_contract::{amounts, listing, report};
use berth_engine::Snapshot;
use serde_json::{Map, Value, json};

use super::kinds::API_VERSION;
use super::kinds::decision::AGREES;
use super::names;
use super::observed::Told;
use super::tallies::Tally;

/// An object and the instant at which time alone may change it.
pub(crate) struct Rendered {
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
pub(crate) fn source_ref(object: &Object, kind: &str) -> Value {
    let meta = object.meta();
    let mut reference = json!({"apiVersion": object.api_version(), "kind": kind, "name": meta.name()});
    if !meta.namespace().is_empty() {
        reference["namespace"] = meta.namespace().into();
    }
    if !meta.uid().is_empty() {
        reference["uid"] = meta.uid().into();
    }
    reference
}

/// Nothing but the kind is read: a tree kept for every cluster-like object would take more room than the objects.
fn kind_of(object: &Object) -> String {
    #[derive(serde::Deserialize)]
    struct Kinded {
        kind: String,
    }
    object
        .view()
        .map_or_else(|_| String::new(), |Kinded { kind }| kind)
}

/// The Target `name` of `dialect`. `old` is the object as it was, which keeps its transition times.
pub(crate) fn target(
    dialect: &str,
    name: &str,
    view: &TargetView,
    now: Timestamp,
    old: Option<&Object>,
) -> Rendered {
    let source = view.object.meta();
    let mut metadata = metadata(source, "Target", "", name);
    labels(&mut metadata, &view.labels);
    let condition = Condition {
        r#type: "Ready",
        status: view.ready,
        reason: view.ready_reason,
        message: &view.ready_message,
        generation: source.generation(),
    };
    let mut status = json!({
        "cordoned": view.cordoned,
        "conditions": [condition.render(old, source, now)],
    });
    optional_text(&mut status, "region", &view.region);
    optional_text(&mut status, "provider", &view.provider);
    optional_list(&mut status, "taints", taints(view));
    optional_list(&mut status, "capacity", capacity(view));
    let warnings = view.warnings.iter().map(|warning| warning.as_str().into());
    optional_list(&mut status, "warnings", warnings.collect());
    let value = json!({
        "apiVersion": API_VERSION,
        "kind": "Target",
        "metadata": metadata,
        "spec": {
            "dialect": dialect,
            "clusterName": *view.cluster_name,
            "sourceRef": source_ref(&view.object, &kind_of(&view.object)),
        },
        "status": status,
    });
    Rendered {
        value,
        due_at: view.due_at,
    }
}

fn taints(view: &TargetView) -> Vec<Value> {
    let taints = view.taints.iter();
    taints
        .map(|taint| {
            let mut shown = json!({"key": taint.key});
            optional_text(&mut shown, "value", &taint.value);
            optional_text(&mut shown, "effect", &taint.effect);
            shown
        })
        .collect()
}

fn capacity(view: &TargetView) -> Vec<Value> {
    let capacity = view.capacity.iter();
    capacity
        .map(|counted| {
            let mut shown = json!({"name": counted.name, "used": counted.used});
            if let Some(limit) = counted.limit {
                shown["limit"] = limit.into();
            }
            shown
        })
        .collect()
}

/// A demand as a Decision is about to show it.
pub(crate) struct Shown<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) demand: &'a Key,
    pub(crate) view: DemandView,
    /// Decision that Berth would make, where that is known.
    pub(crate) decided: Option<&'a Decision>,
    /// Words about the other scheduler's choice, where Berth observes.
    pub(crate) observed: Option<Told>,
    /// The sentence about another writer, for whom the decision is left alone.
    pub(crate) contested: Option<Arc<str>>,
    pub(crate) now: Timestamp,
}

/// The Decision about `shown`. An unbound demand is decided, to tell a Pending one from an Unschedulable one, and so is one
/// that may be Invalid.
pub(crate) fn decision(shown: Shown<'_>, old: Option<&Object>) -> (Rendered, Tally) {
    let standing = Standing::of(&shown);
    let Shown {
        snapshot,
        demand,
        view,
        observed,
        contested,
        now,
        ..
    } = shown;
    let dialect = &*snapshot.dialect;
    let (namespace, name) = names::place(dialect, demand);
    let kind = if namespace.is_empty() {
        "ClusterDecision"
    } else {
        "Decision"
    };
    let source = view.object.meta();
    let mut metadata = metadata(source, kind, &namespace, &name);
    labels(&mut metadata, source.labels());
    if let Some(owner) = view.object.as_owner(view.kind, &namespace) {
        metadata.insert("ownerReferences".to_owned(), json!([owner]));
    }
    if source.generation() > 0 {
        metadata.insert("generation".to_owned(), source.generation().into());
    }
    let bound = standing.bound(source.generation());
    let mut status = json!({
        "phase": standing.phase.as_str(),
        "decisions": placed(&view.placed),
        "conditions": [bound.render(old, source, now)],
    });
    optional_text(&mut status, "reason", &standing.reason);
    optional_text(&mut status, "message", &standing.message);
    optional_list(&mut status, "rejections", standing.rejections);
    if let Some(wanted) = view.wanted {
        status["wanted"] = wanted.into();
    }
    if let Some(Amount { name, wanted, placed }) = view.amount {
        status["amount"] = json!({"name": name, "wanted": wanted, "placed": placed});
    }
    let mut tally = Tally {
        phase: standing.phase.as_str(),
        agrees: "",
    };
    let mut due_at = standing.due_at;
    if let Some(told) = observed {
        let agrees = Condition {
            r#type: AGREES,
            status: told.status,
            reason: told.reason,
            message: &told.message,
            generation: source.generation(),
        };
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.push(agrees.render(old, source, now));
        }
        if let Some(change) = told.would_change {
            status["wouldChange"] = change;
        }
        tally.agrees = told.status;
        due_at = due_at.into_iter().chain(told.due_at).min();
    }
    if let Some(text) = contested {
        let contested = Condition {
            r#type: "Contested",
            status: "True",
            reason: "OtherWriter",
            message: &text,
            generation: source.generation(),
        };
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.push(contested.render(old, source, now));
        }
    }
    let value = json!({
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": metadata,
        "spec": {"dialect": dialect.name(), "sourceRef": source_ref(&view.object, view.kind)},
        "status": status,
    });
    (Rendered { value, due_at }, tally)
}

/// `status.decisions[]`.
pub(crate) fn placed(placed: &[Placed]) -> Vec<Value> {
    let placed = placed.iter();
    placed
        .map(|at| {
            let mut shown = json!({"clusterName": *at.cluster_name, "reason": at.reason});
            if let Some(score) = at.score {
                shown["score"] = score.into();
            }
            if let Some(amount) = at.amount {
                shown["amount"] = amount.into();
            }
            optional_text(&mut shown, "state", &at.state);
            if at.leaving {
                shown["leaving"] = true.into();
            }
            shown
        })
        .collect()
}

/// Where a demand stands, in words.
struct Standing {
    phase: Phase,
    /// Why it is not bound; empty once it is.
    reason: String,
    message: String,
    rejections: Vec<Value>,
    due_at: Option<Timestamp>,
}

impl Standing {
    fn of(shown: &Shown<'_>) -> Self {
        let Shown { snapshot, view, .. } = shown;
        let phase = match view.phase {
            Phase::Pending | Phase::Invalid => {
                let made = match shown.decided {
                    Some(_) => None,
                    None => snapshot
                        .decide(shown.demand, None, shown.now)
                        .and_then(Result::ok),
                };
                let told = |decision: &&Decision| {
                    view.phase == Phase::Pending || decision.outcome == Outcome::Invalid
                };
                if let Some(decision) = shown.decided.or(made.as_ref()).filter(told) {
                    return Self::decided(snapshot, decision);
                }
                view.by_number()
            }
            // Whoever waits for it to go wants to know for what it waits.
            Phase::Releasing => {
                let made = snapshot
                    .decide(shown.demand, None, shown.now)
                    .and_then(Result::ok);
                if let Some(decision) = made {
                    return Self {
                        phase: Phase::Releasing,
                        ..Self::decided(snapshot, &decision)
                    };
                }
                Phase::Releasing
            }
            phase => phase,
        };
        let stays: Vec<&Placed> = view.placed.iter().filter(|place| !place.leaving).collect();
        let message = match (phase, stays.len(), view.wanted) {
            (Phase::Partial, count, Some(wanted)) => format!("bound to {count} of {wanted} clusters"),
            (Phase::Bound | Phase::Partial, 1.., _) if let Some(amount) = view.amount => {
                let places = stays.iter();
                let cells: Vec<String> = places
                    .map(|place| amounts::cell(&place.cluster_name, place.amount))
                    .collect();
                let list = listing::clusters(cells.iter().map(String::as_str));
                format!("{} of {} {}: {list}", amount.placed, amount.wanted, amount.name)
            }
            (Phase::Bound | Phase::Partial | Phase::Releasing, 1, _) => {
                format!("bound to {}", stays[0].cluster_name)
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

    /// Condition `Bound` of an object of this generation.
    fn bound(&self, generation: i64) -> Condition<'_> {
        Condition {
            r#type: "Bound",
            status: if self.phase == Phase::Bound {
                "True"
            } else {
                "False"
            },
            reason: match self.reason.as_str() {
                "" => self.phase.as_str(),
                reason => reason,
            },
            message: &self.message,
            generation,
        }
    }

    /// What the scheduler makes of an unbound demand.
    fn decided(snapshot: &Snapshot, decision: &Decision) -> Self {
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

/// How many targets each reason refuses, as JSON.
fn rejections(snapshot: &Snapshot, decision: &Decision) -> Vec<Value> {
    let counts = report::reason_counts(&*snapshot.inventory, decision).into_iter();
    counts.map(|count| json!(count)).collect()
}

struct Condition<'a> {
    r#type: &'static str,
    status: &'static str,
    reason: &'a str,
    message: &'a str,
    generation: i64,
}

impl Condition<'_> {
    /// The condition. Its transition time moves only when its status does; at first sight it is the source's creation,
    /// which is the same on every replica and after every restart.
    fn render(&self, old: Option<&Object>, source: &Meta, now: Timestamp) -> Value {
        let since = match old.and_then(|old| self.before(old)) {
            Some((status, since)) if status == self.status => since,
            Some(_) => time::rfc3339(now),
            None => time::rfc3339(source.creation_timestamp().unwrap_or(now)),
        };
        let mut condition = json!({
            "type": self.r#type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": since,
        });
        if self.generation > 0 {
            condition["observedGeneration"] = self.generation.into();
        }
        condition
    }

    fn before(&self, old: &Object) -> Option<(String, String)> {
        let old = old.parse();
        let conditions = old.pointer("/status/conditions")?.as_array()?;
        let condition = conditions
            .iter()
            .find(|condition| condition["type"] == self.r#type)?;
        let text = |field: &str| condition[field].as_str().map(str::to_owned);
        Some((text("status")?, text("lastTransitionTime")?))
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

fn optional_text(value: &mut Value, field: &str, text: &str) {
    if !text.is_empty() {
        value[field] = text.into();
    }
}

fn optional_list(value: &mut Value, field: &str, list: Vec<Value>) {
    if !list.is_empty() {
        value[field] = list.into();
    }
}
