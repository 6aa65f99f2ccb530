//! A record of one change of a decision, as a pure function of the states before and after it.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Timestamp, time};
use berth_engine::plan::compare::verdict;
use berth_scheduling_api::record::{
    CauseType, DecisionRecord, Move, MovedCluster, ReasonChange, RecordActor, RecordCause, RecordSpec,
};
use berth_scheduling_api::shared::Manifest;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::reasons::Reasons;
use super::state::{Agreement, DecisionState, DecisionSubject, MAX_CLUSTERS};
use super::written_decision::WrittenDecision;

/// The label with the decision's name, where the name is a valid label value.
pub const DECISION_LABEL: &str = "decision";
/// The label with the system's name.
pub const SYSTEM_LABEL: &str = "system";

/// One change of a decision, with all known facts.
pub(crate) struct Change<'a> {
    /// The name of the decision.
    pub(crate) decision: &'a str,
    /// Subject of the decision.
    pub(crate) subject: &'a DecisionSubject,
    /// Time of the last merged observation.
    pub(crate) at: Timestamp,
    /// State before the change; `None` where the decision did not exist.
    pub(crate) from: Option<&'a DecisionState>,
    /// State after the change; `None` where the decision does not exist any more.
    pub(crate) to: Option<&'a DecisionState>,
    /// The decision that made the change, where this server decided.
    pub(crate) written: Option<&'a WrittenDecision>,
    /// Cause of the change where this server did not decide: a change of an object that made the decision
    /// due, or that came shortly before.
    pub(crate) observed_cause: Option<RecordCause>,
    /// Whether the change is only known from the difference of two states, so that its cause is unknown.
    pub(crate) unseen: bool,
}

/// The names of the clusters that are added between `from` and `to`, and of the removed ones, both sorted.
pub(crate) fn joined_and_left<'a>(
    from: Option<&'a DecisionState>,
    to: Option<&'a DecisionState>,
) -> [Vec<&'a str>; 2] {
    let names = |side: Option<&'a DecisionState>| -> BTreeSet<&'a str> {
        side.map_or_else(BTreeSet::new, |state| state.names().collect())
    };
    let (former, present) = (names(from), names(to));
    [
        present.difference(&former).copied().collect(),
        former.difference(&present).copied().collect(),
    ]
}

/// The record of `change`.
pub(crate) fn record(change: &Change<'_>) -> RecordSpec {
    let [joined, left] = joined_and_left(change.from, change.to);
    let amounts_of = |side: Option<&DecisionState>| side.map(DecisionState::held);
    let written = change.written;
    let mut to = change.to.map(DecisionState::to_side);
    if let (Some(to), Some(written)) = (&mut to, written) {
        to.message.clone_from(&written.message);
    }
    let after = written
        .map(|written| &written.reasons)
        .or(change.to.and_then(|to| to.reasons.as_ref()));
    let before = change.from.and_then(|from| from.reasons.as_ref());
    RecordSpec {
        decision: change.decision.to_owned(),
        dialect: Arc::clone(&change.subject.dialect),
        source_ref: Arc::clone(&change.subject.source_ref),
        at: time::rfc3339_micro(change.at),
        change: verdict(amounts_of(change.from).as_ref(), amounts_of(change.to).as_ref())
            .as_str()
            .into(),
        from: change.from.map(DecisionState::to_side),
        clusters: clusters(&joined, &left, written),
        joined_count: joined.len(),
        left_count: left.len(),
        // A missing decision has no refusals.
        reasons: to.as_ref().map_or_else(Vec::new, |_| reasons(before, after)),
        counted: to.is_some() && after.is_some(),
        cause: cause(change),
        actor: actor(change),
        agreement: change
            .to
            .and_then(|to| to.agreement.as_ref())
            .map(Agreement::to_record),
        to,
    }
}

fn clusters(joined: &[&str], left: &[&str], written: Option<&WrittenDecision>) -> Vec<MovedCluster> {
    let entry = |name: &str, movement: Move| {
        let mut all = written.iter().flat_map(|written| &written.clusters);
        let known = all.find(|cluster| cluster.cluster_name == name && cluster.change == movement);
        known
            .cloned()
            .unwrap_or_else(|| MovedCluster::named(name, movement))
    };
    let joined = joined
        .iter()
        .take(MAX_CLUSTERS)
        .map(|name| entry(name, Move::Joined));
    let left = left.iter().take(MAX_CLUSTERS).map(|name| entry(name, Move::Left));
    joined.chain(left).collect()
}

fn reasons(before: Option<&Reasons>, after: Option<&Reasons>) -> Vec<ReasonChange> {
    let keys: BTreeSet<(&str, &str)> = before.into_iter().chain(after).flat_map(Reasons::keys).collect();
    let count = |side: Option<&Reasons>, key| side.map(|counts| counts.get(key).unwrap_or(0));
    keys.into_iter()
        .map(|key| ReasonChange {
            plugin: key.0.to_owned(),
            reason: key.1.to_owned(),
            from: count(before, key),
            to: count(after, key),
        })
        .collect()
}

fn cause(change: &Change<'_>) -> RecordCause {
    match (change.written, &change.observed_cause) {
        _ if change.unseen => RecordCause::of(CauseType::Unseen),
        (Some(written), _) if written.by.is_some() => RecordCause::of(CauseType::Request),
        (Some(written), _) => written
            .cause
            .clone()
            .unwrap_or_else(|| RecordCause::of(CauseType::Time)),
        (None, Some(observed_cause)) => observed_cause.clone(),
        (None, None) => RecordCause::of(CauseType::Time),
    }
}

fn actor(change: &Change<'_>) -> RecordActor {
    match (change.written, &change.observed_cause) {
        _ if change.unseen => RecordActor::default(),
        (Some(written), _) => RecordActor {
            user: written.by.clone().unwrap_or_else(|| written.actor.to_owned()),
            field_manager: String::new(),
        },
        (None, Some(observed_cause)) => RecordActor {
            user: String::new(),
            field_manager: observed_cause.field_manager.clone(),
        },
        (None, None) => RecordActor::default(),
    }
}

/// Numbers of targets that each reason refuses after the change in `spec`; `None` where they were not
/// counted.
pub(crate) fn counts_after(spec: &RecordSpec) -> Option<Reasons> {
    let counts = spec.reasons.iter();
    let counts = counts
        .filter_map(|change| Some(((&change.plugin, &change.reason), change.to?)))
        .filter(|(_, count)| *count > 0);
    spec.counted.then(|| counts.collect())
}

/// The name of a record of `decision`. Names of records of one decision sort by `number`, which is the time
/// in microseconds since 1970, or higher where an earlier record already has this number or a higher one.
pub(crate) fn name(decision: &str, number: i64) -> String {
    format!("{decision}.{number:014x}")
}

/// The number in the name of a record.
pub(crate) fn number(name: &str) -> Option<i64> {
    let (_, number) = name.rsplit_once('.')?;
    i64::from_str_radix(number, 16).ok()
}

/// The object of a record: a DecisionRecord, or a ClusterDecisionRecord where there is no namespace.
pub(crate) fn object(
    namespace: &str,
    name: &str,
    spec: &RecordSpec,
    now: Timestamp,
) -> serde_json::Result<Value> {
    let kind = match namespace {
        "" => "ClusterDecisionRecord",
        _ => "DecisionRecord",
    };
    let mut labels = json!({SYSTEM_LABEL: spec.dialect});
    if berth_apimachinery::selector::validate_label_value(&spec.decision).is_ok() {
        labels[DECISION_LABEL] = spec.decision.as_str().into();
    }
    let uid = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{namespace}/{name}").as_bytes());
    let mut metadata = Map::from_iter([
        ("name".to_owned(), name.into()),
        ("uid".to_owned(), uid.to_string().into()),
        ("creationTimestamp".to_owned(), time::rfc3339(now).into()),
        ("labels".to_owned(), labels),
    ]);
    if !namespace.is_empty() {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    let body = DecisionRecord { spec: Some(spec) };
    serde_json::to_value(Manifest::new(kind, metadata, body))
}

#[cfg(test)]
mod tests;
