//! State of a decision: the recorded parts, read from the Decision.

use std::sync::Arc;

use berth_apimachinery::Object;
use berth_dialect_contract::Phase;
use berth_dialect_contract::amounts::AmountsByCluster;
use berth_scheduling_api::decision::{AGREES, ClusterBinding, Decision, DecisionStatus};
use berth_scheduling_api::record::{self, RecordAgreement, RecordedCluster, RecordedState};
use berth_scheduling_api::shared::SourceRef;
use berth_scheduling_rest::observed::NOT_COMPARED;
use serde::de::Error as _;

use super::reasons::Reasons;

/// Highest number of clusters that a record names in each group: the joined clusters, the left clusters, and
/// on each side the staying and the leaving clusters. Counts are of all clusters.
pub const MAX_CLUSTERS: usize = 50;

/// State of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionState {
    /// The phase of the Decision.
    pub phase: String,
    /// Reason why the decision is not bound; empty where it is bound.
    pub reason: String,
    /// One-line summary of the decision.
    pub message: String,
    /// Number of bound clusters, without the clusters that the decision is leaving.
    pub cluster_count: usize,
    /// The clusters, sorted by name; in a record, the first [`MAX_CLUSTERS`] that stay, and as many that are
    /// leaving.
    pub clusters: Vec<RecordedCluster>,
    /// Numbers of targets that each reason refuses, where they are known. A record has the counts of both
    /// sides in one list.
    pub reasons: Option<Reasons>,
    /// Agreement of Berth with the other scheduler, where Berth observes. In a record, only the state after
    /// the change has an agreement.
    pub agreement: Option<Agreement>,
}

/// Comparison of Berth's decision with the decision of the other scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// `True`, `False` or `Unknown`: whether the decisions agree. A difference from a decision with clusters
    /// is `False` at once, without a grace period.
    pub status: String,
    /// Changes that Berth would make, or the reason why they are unknown.
    pub message: String,
    /// Whether the comparison is still to come.
    pub awaited: bool,
}

impl Agreement {
    /// The agreement as `spec.agreement` of a record.
    #[must_use]
    pub fn to_record(&self) -> RecordAgreement {
        RecordAgreement {
            status: self.status.clone(),
            message: self.message.clone(),
        }
    }
}

impl From<&RecordedState> for DecisionState {
    fn from(side: &RecordedState) -> Self {
        Self {
            phase: side.phase.clone(),
            reason: side.reason.clone(),
            message: side.message.clone(),
            cluster_count: side.cluster_count,
            clusters: side.clusters.clone(),
            reasons: None,
            agreement: None,
        }
    }
}

impl DecisionState {
    /// The names of the clusters, in order, without the clusters that the decision is leaving.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let staying = self.clusters.iter().filter(|place| !place.leaving);
        staying.map(|place| place.cluster_name.as_str())
    }

    /// The clusters with their amounts, in order, without the clusters that the decision is leaving.
    fn places(&self) -> impl Iterator<Item = (&str, Option<i64>)> {
        let staying = self.clusters.iter().filter(|place| !place.leaving);
        staying.map(|place| (place.cluster_name.as_str(), place.amount))
    }

    /// The amounts of the clusters by name, without the clusters that the decision is leaving.
    #[must_use]
    pub fn held(&self) -> AmountsByCluster {
        record::held(&self.clusters)
    }

    /// Whether clusters are missing, since a record does not name them.
    #[must_use]
    pub fn is_shortened(&self) -> bool {
        self.places().count() < self.cluster_count
    }

    /// Whether `other` differs in a way that is worth a record: in the phase, the reason, the clusters or
    /// their amounts. Either state may be shortened to the clusters that a record names; then only these are
    /// compared.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        let compared = if self.is_shortened() || other.is_shortened() {
            MAX_CLUSTERS
        } else {
            usize::MAX
        };
        self.phase != other.phase
            || self.reason != other.reason
            || self.cluster_count != other.cluster_count
            || self.places().take(compared).ne(other.places().take(compared))
    }

    /// Whether the state will probably change soon, since the decision or the comparison is still to come.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        let awaited = self.agreement.as_ref().is_some_and(|agreement| agreement.awaited);
        awaited || self.phase == Phase::Pending.as_str()
    }

    /// The state as one side of a record, with at most [`MAX_CLUSTERS`] staying and leaving clusters each.
    #[must_use]
    pub fn to_side(&self) -> RecordedState {
        let (stay, leave): (Vec<&RecordedCluster>, Vec<&RecordedCluster>) =
            self.clusters.iter().partition(|place| !place.leaving);
        let shown = stay
            .into_iter()
            .take(MAX_CLUSTERS)
            .chain(leave.into_iter().take(MAX_CLUSTERS));
        let mut clusters: Vec<RecordedCluster> = shown.cloned().collect();
        clusters.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
        RecordedState {
            phase: self.phase.clone(),
            reason: self.reason.clone(),
            message: self.message.clone(),
            cluster_count: self.cluster_count,
            clusters,
        }
    }
}

/// Returns `known` if it equals `state`, and else `state`. Observed and recorded states are mostly equal, and
/// then share memory.
///
/// A `state` without an agreement also counts as equal to a `known` state with any agreement.
#[must_use]
pub(crate) fn shared(mut state: DecisionState, known: Option<&Arc<DecisionState>>) -> Arc<DecisionState> {
    let Some(known) = known else {
        return state.into();
    };
    let lacks_agreement = state.agreement.is_none();
    if lacks_agreement {
        state.agreement.clone_from(&known.agreement);
    }
    if **known == state {
        return Arc::clone(known);
    }
    if lacks_agreement {
        state.agreement = None;
    }
    state.into()
}

/// Whether a change of a decision from `from` to `to` (`None`: absent) is worth a record.
#[must_use]
pub fn differ(from: Option<&DecisionState>, to: Option<&DecisionState>) -> bool {
    match (from, to) {
        (None, None) => false,
        (Some(from), Some(to)) => from.differs(to),
        (Some(_), None) | (None, Some(_)) => true,
    }
}

/// Subject of a Decision. It is stored for every decision, and therefore shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionSubject {
    /// Name of the system.
    pub dialect: Arc<str>,
    /// Reference to the decided object.
    pub source_ref: Arc<SourceRef>,
}

impl DecisionSubject {
    /// Whether `other` refers to another object, possibly of the same name. False where a uid is unknown.
    #[must_use]
    pub fn is_other_object(&self, other: &Self) -> bool {
        let (uid, other_uid) = (&self.source_ref.uid, &other.source_ref.uid);
        !uid.is_empty() && !other_uid.is_empty() && uid != other_uid
    }
}

impl Agreement {
    /// Reads the agreement from the condition Agrees of `status`. A difference from a decision with clusters
    /// counts at once, although the condition gives the other scheduler a grace period.
    fn of(status: &DecisionStatus) -> Option<Self> {
        let mut conditions = status.conditions.iter().flatten();
        let condition = conditions.find(|condition| condition.r#type == AGREES)?;
        // Without clusters, there is no decision yet with which Berth could disagree.
        let is_settled = condition.status == "False" || !status.decisions.is_empty();
        Some(match status.would_change.as_ref().filter(|_| is_settled) {
            Some(change) => Self {
                status: "False".to_owned(),
                message: change.message.clone(),
                awaited: false,
            },
            None => Self {
                message: match condition.status.as_str() {
                    "True" => String::new(),
                    _ => condition.message.clone(),
                },
                awaited: condition.reason == NOT_COMPARED,
                status: condition.status.clone(),
            },
        })
    }
}

/// Subject and state of the Decision `object`.
///
/// # Errors
/// When `object` is not a Decision with a status.
pub fn read(object: &Object) -> Result<(DecisionSubject, DecisionState), serde_json::Error> {
    let Decision { spec, status } = object.view()?;
    let status = status.ok_or_else(|| serde_json::Error::missing_field("status"))?;
    let subject = spec.map_or_else(DecisionSubject::default, |spec| DecisionSubject {
        dialect: spec.dialect.into(),
        source_ref: Arc::new(spec.source_ref),
    });
    let agreement = Agreement::of(&status);
    let mut clusters: Vec<RecordedCluster> = status.decisions.into_iter().map(recorded_cluster).collect();
    clusters.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    let counts = status.rejections.into_iter().flatten();
    let reasons: Reasons = counts
        .map(|counted| ((counted.plugin, counted.reason), counted.targets))
        .collect();
    let state = DecisionState {
        phase: status.phase.into_owned(),
        reason: status.reason.unwrap_or_default(),
        message: status.message.unwrap_or_default(),
        cluster_count: clusters.iter().filter(|place| !place.leaving).count(),
        clusters,
        reasons: Some(reasons).filter(|reasons| !reasons.is_empty()),
        agreement,
    };
    Ok((subject, state))
}

fn recorded_cluster(bound: ClusterBinding) -> RecordedCluster {
    RecordedCluster {
        cluster_name: (*bound.cluster_name).to_owned(),
        score: bound.score,
        amount: bound.amount,
        state: bound.state.unwrap_or_default(),
        leaving: bound.leaving.unwrap_or_default(),
    }
}

#[cfg(test)]
pub(super) fn state(phase: &str, clusters: &[&str]) -> DecisionState {
    let place = |name: &&str| RecordedCluster {
        cluster_name: (*name).to_owned(),
        ..RecordedCluster::default()
    };
    DecisionState {
        phase: phase.to_owned(),
        cluster_count: clusters.len(),
        clusters: clusters.iter().map(place).collect(),
        ..DecisionState::default()
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Draft;
    use serde_json::json;

    use super::*;

    fn amounts(state: &DecisionState, amount: i64) -> DecisionState {
        let mut sized = state.clone();
        for place in &mut sized.clusters {
            place.amount = Some(amount);
        }
        sized
    }

    #[test]
    fn what_is_worth_a_record_is_the_phase_the_reason_the_clusters_and_their_amounts() {
        let bound = state("Bound", &["a", "b"]);
        for (what, other, worth) in [
            ("the same", bound.clone(), false),
            ("another cluster", state("Bound", &["a", "c"]), true),
            ("fewer", state("Bound", &["a"]), true),
            ("another phase", state("Releasing", &["a", "b"]), true),
            (
                "another reason",
                DecisionState {
                    reason: "R".to_owned(),
                    ..bound.clone()
                },
                true,
            ),
            ("another amount", amounts(&bound, 3), true),
            (
                "another message",
                DecisionState {
                    message: "m".to_owned(),
                    ..bound.clone()
                },
                false,
            ),
        ] {
            assert_eq!(bound.differs(&other), worth, "{what}");
        }
        assert!(differ(None, Some(&bound)) && differ(Some(&bound), None) && !differ(None, None));
    }

    #[test]
    fn a_cluster_on_its_way_out_is_no_place_any_more() {
        let mut leaving = state("Bound", &["a", "b"]);
        leaving.clusters[0].leaving = true;
        leaving.cluster_count = 1;
        assert!(!leaving.differs(&state("Bound", &["b"])));
    }

    #[test]
    fn of_many_clusters_a_record_names_the_first_and_is_still_known_again() {
        let names: Vec<String> = (0..80).map(|number| format!("c{number:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let whole = state("Bound", &names);
        let cut = whole.to_side();
        assert_eq!((cut.clusters.len(), cut.cluster_count), (MAX_CLUSTERS, 80));
        let again = DecisionState::from(&cut);
        assert!(!again.differs(&whole));
        assert!(again.differs(&state("Bound", &names[1..])));
    }

    #[test]
    fn a_change_beyond_the_clusters_that_a_record_names_is_a_change() {
        let mut names: Vec<String> = (0..80).map(|number| format!("c{number:02}")).collect();
        let of = |names: &[String]| state("Bound", &names.iter().map(String::as_str).collect::<Vec<_>>());
        let before = of(&names);
        names[79] = "c99".to_owned();
        let after = of(&names);
        assert!(before.differs(&after));
        // A record does not tell the two apart.
        assert!(!DecisionState::from(&before.to_side()).differs(&after));
    }

    #[test]
    fn a_decision_is_read_as_it_is_shown() {
        let value = json!({
            "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Decision", "metadata": {"name": "p.ocm"},
            "spec": {"dialect": "ocm", "sourceRef": {"apiVersion": "v1", "kind": "Placement", "name": "p"}},
            "status": {
                "phase": "Partial", "message": "m",
                "decisions": [{"clusterName": "b", "reason": "", "score": 7}, {"clusterName": "a", "reason": ""}],
                "rejections": [{"plugin": "P", "reason": "R", "targets": 3}],
            },
        });
        let object = Draft::new(&value).unwrap().unstored();
        let (subject, state) = read(&object).unwrap();
        assert_eq!(state.agreement, None, "it is decided here");
        assert_eq!(&*subject.dialect, "ocm");
        assert_eq!(state.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(state.clusters[1].score, Some(7));
        assert_eq!(state.reasons.unwrap().get(("P", "R")), Some(3));
    }

    #[test]
    fn what_berth_would_change_is_disagreement_at_once_and_what_is_not_compared_is_awaited() {
        let change = json!({
            "verdict": "Moved", "message": "Berth would take b",
            "losses": [], "lossCount": 0, "gains": [], "gainCount": 1,
        });
        let (none, a) = (json!([]), json!([{"clusterName": "a", "reason": ""}]));
        let early = "not yet: Berth would take b";
        for (status, reason, message, places, change, expected) in [
            ("True", "Same", "m", &a, json!(null), ("True", "", false)),
            (
                "Unknown",
                "GracePeriod",
                early,
                &a,
                change.clone(),
                ("False", "Berth would take b", false),
            ),
            (
                "Unknown",
                "GracePeriod",
                early,
                &none,
                change.clone(),
                ("Unknown", early, false),
            ),
            (
                "False",
                "Fits",
                "m",
                &none,
                change,
                ("False", "Berth would take b", false),
            ),
            (
                "Unknown",
                "Deleting",
                "m",
                &a,
                json!(null),
                ("Unknown", "m", false),
            ),
            (
                "Unknown",
                "NotCompared",
                "m",
                &a,
                json!(null),
                ("Unknown", "m", true),
            ),
        ] {
            let condition = json!({
                "type": "Agrees", "status": status, "reason": reason, "message": message,
                "lastTransitionTime": "2026-11-23T10:14:03Z",
            });
            let value = json!({
                "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Decision", "metadata": {"name": "p.ocm"},
                "status": {"phase": "Bound", "decisions": places, "conditions": [condition], "wouldChange": change},
            });
            let (_, state) = read(&Draft::new(&value).unwrap().unstored()).unwrap();
            let agreement = state.agreement.clone().unwrap();
            let found = (
                agreement.status.as_str(),
                agreement.message.as_str(),
                state.is_transient(),
            );
            assert_eq!(found, expected);
        }
    }
}
