//! Entries of a plan: the clusters of one demand before and after the change, with the reasons.

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::amounts::{self, AmountChange, AmountsByCluster};
use berth_dialect_contract::difference::{self, CandidateDifference};
use berth_dialect_contract::report::{Candidate, Entry as ReportEntry, Places, View};
use berth_dialect_contract::{Decision, names};
use serde::Serialize;

use crate::snapshot::Snapshot;

/// Highest number of clusters in each list of an entry. Counts are of all clusters.
pub const MAX_CLUSTERS: usize = 50;

/// Verdict on the change of a demand's clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The demand had clusters and loses all.
    Lost,
    /// The demand leaves clusters and gets others.
    Moved,
    /// The demand leaves clusters and gets no others.
    Shrunk,
    /// The demand had no place, and gets one.
    Fits,
    /// The demand gets more clusters.
    Grown,
    /// The demand keeps its clusters, with other amounts.
    Resized,
    /// The demand is new and has a place.
    Bound,
    /// The demand is new and finds no place.
    Unplaced,
    /// The change removes the demand.
    Removed,
    /// The demand has the same clusters, with the same amounts.
    Same,
}

impl Verdict {
    /// The verdict in its JSON form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "Lost",
            Self::Moved => "Moved",
            Self::Shrunk => "Shrunk",
            Self::Fits => "Fits",
            Self::Grown => "Grown",
            Self::Resized => "Resized",
            Self::Bound => "Bound",
            Self::Unplaced => "Unplaced",
            Self::Removed => "Removed",
            Self::Same => "Same",
        }
    }
}

/// Numbers of demands by verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Demands that had clusters and lose all.
    pub lost: usize,
    /// Demands that leave clusters and get others.
    pub moved: usize,
    /// Demands that leave clusters and get no others.
    pub shrunk: usize,
    /// Demands that had no place, and get one.
    pub fits: usize,
    /// Demands that get more clusters.
    pub grown: usize,
    /// Demands that keep their clusters, with other amounts.
    pub resized: usize,
    /// New demands with a place.
    pub bound: usize,
    /// New demands without a place.
    pub unplaced: usize,
    /// Demands that the change removes.
    pub removed: usize,
    /// Demands that were decided again or requested, and keep their clusters and amounts.
    pub same: usize,
}

impl Counts {
    pub(crate) fn count(&mut self, verdict: Verdict) {
        let slot = match verdict {
            Verdict::Lost => &mut self.lost,
            Verdict::Moved => &mut self.moved,
            Verdict::Shrunk => &mut self.shrunk,
            Verdict::Fits => &mut self.fits,
            Verdict::Grown => &mut self.grown,
            Verdict::Resized => &mut self.resized,
            Verdict::Bound => &mut self.bound,
            Verdict::Unplaced => &mut self.unplaced,
            Verdict::Removed => &mut self.removed,
            Verdict::Same => &mut self.same,
        };
        *slot += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.lost += other.lost;
        self.moved += other.moved;
        self.shrunk += other.shrunk;
        self.fits += other.fits;
        self.grown += other.grown;
        self.resized += other.resized;
        self.bound += other.bound;
        self.unplaced += other.unplaced;
        self.removed += other.removed;
        self.same += other.same;
    }

    /// Number of demands that change.
    #[must_use]
    pub fn changed(&self) -> usize {
        self.lost
            + self.moved
            + self.shrunk
            + self.fits
            + self.grown
            + self.resized
            + self.bound
            + self.unplaced
            + self.removed
    }
}

/// Outcome, reason and message of a decision.
#[derive(Clone, Debug)]
pub(super) struct DecisionText {
    outcome: &'static str,
    reason: String,
    message: String,
}

impl DecisionText {
    pub(super) fn of(snapshot: &Snapshot, decision: &Decision) -> Self {
        Self {
            outcome: decision.outcome.as_str(),
            reason: decision.reason.to_owned(),
            message: snapshot.inventory.message(decision),
        }
    }
}

/// State of a demand at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Outcome of the decision.
    pub outcome: &'static str,
    /// Reason of the decision, in CamelCase.
    pub reason: String,
    /// One-line summary of the decision.
    pub message: String,
    /// The clusters of the demand, by the system's own names, with their amounts, without the clusters that
    /// the demand is leaving. They are not serialized: an entry lists the changes.
    #[serde(skip)]
    pub clusters: AmountsByCluster,
    /// Number of the demand's clusters.
    pub count: usize,
    /// Total amount of the clusters, where the system divides an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
}

impl Side {
    /// Sets the text of the decision that chose the clusters, since a later decision only says that the
    /// demand is placed already.
    pub(super) fn set_text(&mut self, text: &DecisionText) {
        self.outcome = text.outcome;
        self.reason.clone_from(&text.reason);
        self.message.clone_from(&text.message);
    }
}

/// The state of a demand in one world, with the decision on it.
pub(super) struct DemandState<'a> {
    snapshot: &'a Snapshot,
    decision: &'a Decision,
    clusters: AmountsByCluster,
}

impl<'a> DemandState<'a> {
    /// The state of a demand; `None` where the demand does not exist.
    pub(super) fn of(
        snapshot: &'a Snapshot,
        decision: Option<&'a Decision>,
        clusters: Option<AmountsByCluster>,
    ) -> Option<Self> {
        Some(Self {
            snapshot,
            decision: decision?,
            clusters: clusters?,
        })
    }

    fn side(&self) -> Side {
        let DecisionText {
            outcome,
            reason,
            message,
        } = DecisionText::of(self.snapshot, self.decision);
        Side {
            outcome,
            reason,
            message,
            count: self.clusters.len(),
            amount: self
                .clusters
                .values()
                .copied()
                .flatten()
                .reduce(i64::saturating_add),
            clusters: self.clusters.clone(),
        }
    }
}

/// The clusters of `demand` with their amounts, read from the objects, without the clusters that the demand
/// is leaving; `None` where the demand does not exist.
#[must_use]
pub fn clusters(snapshot: &Snapshot, demand: &Key, now: Timestamp) -> Option<AmountsByCluster> {
    let view = snapshot.inventory.demand(demand, now)?;
    Some(amounts::by_cluster(&view))
}

/// Verdict on a demand with the clusters `before` and `after` a change; `None` where the demand does not
/// exist.
#[must_use]
pub fn verdict(before: Option<&AmountsByCluster>, after: Option<&AmountsByCluster>) -> Verdict {
    match (before, after) {
        (_, None) => Verdict::Removed,
        (None, Some(after)) if after.is_empty() => Verdict::Unplaced,
        (None, Some(_)) => Verdict::Bound,
        (Some(before), Some(after)) if before == after => Verdict::Same,
        (Some(before), Some(_)) if before.is_empty() => Verdict::Fits,
        (Some(_), Some(after)) if after.is_empty() => Verdict::Lost,
        (Some(before), Some(after)) => {
            let (left, joined) = (
                amounts::names_only_in(before, after),
                amounts::names_only_in(after, before),
            );
            match (left.is_empty(), joined.is_empty()) {
                (true, true) => Verdict::Resized,
                (false, true) => Verdict::Shrunk,
                (true, false) => Verdict::Grown,
                (false, false) => Verdict::Moved,
            }
        }
    }
}

/// The difference between two states of one demand.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Name of the system.
    pub dialect: &'static str,
    /// The kind of the object.
    pub kind: &'static str,
    /// Key of the object.
    #[serde(skip)]
    pub demand: Key,
    /// The namespace of the Decision, empty for a ClusterDecision.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of the Decision.
    pub name: String,
    /// Verdict on the change.
    pub verdict: Verdict,
    /// State before the change; absent where the demand is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Side>,
    /// State after the change; absent where the demand is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Side>,
    /// The clusters that the demand leaves, by name; at most [`MAX_CLUSTERS`].
    pub left: Vec<String>,
    /// The clusters that the demand gets, by name; at most [`MAX_CLUSTERS`].
    pub joined: Vec<String>,
    /// The clusters that the demand keeps with another amount, by name; at most [`MAX_CLUSTERS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resized: Vec<AmountChange>,
    /// Number of clusters that the demand leaves.
    pub left_count: usize,
    /// Number of clusters that the demand gets.
    pub joined_count: usize,
    /// Number of clusters that the demand keeps with another amount.
    #[serde(skip_serializing_if = "is_zero")]
    pub resized_count: usize,
    /// Differences in the judgements of the listed clusters: verdicts, scores and reasons.
    pub candidates: Vec<CandidateDifference>,
}

impl Entry {
    pub(super) fn of(
        demand: &Key,
        verdict: Verdict,
        before: Option<DemandState<'_>>,
        after: Option<DemandState<'_>>,
    ) -> Self {
        let none = AmountsByCluster::new();
        let clusters_of = |side: Option<&DemandState<'_>>| side.map_or(&none, |side| &side.clusters).clone();
        let (old, new) = (clusters_of(before.as_ref()), clusters_of(after.as_ref()));
        let (left, joined) = (
            amounts::names_only_in(&old, &new),
            amounts::names_only_in(&new, &old),
        );
        let resized = amounts::changes(&old, &new);
        let resized_names = resized.iter().map(|entry| entry.cluster_name.as_str());
        let first = |names: &[&'_ str]| -> Vec<String> {
            let names = names.iter().take(MAX_CLUSTERS);
            names.map(|&name| name.to_owned()).collect()
        };
        let concerned: Vec<&str> = left
            .iter()
            .take(MAX_CLUSTERS)
            .chain(joined.iter().take(MAX_CLUSTERS))
            .copied()
            .collect();
        let concerned: Vec<&str> = concerned
            .into_iter()
            .chain(resized_names.take(MAX_CLUSTERS))
            .collect();
        let report = |side: Option<&DemandState<'_>>| {
            side.map_or(Vec::new(), |side| {
                candidates(side.snapshot, side.decision, &concerned)
            })
        };
        let candidates = difference::candidate_differences(&report(before.as_ref()), &report(after.as_ref()));
        let snapshot = after.as_ref().or(before.as_ref()).map(|side| side.snapshot);
        Self {
            verdict,
            left: first(&left),
            joined: first(&joined),
            resized: resized.iter().take(MAX_CLUSTERS).cloned().collect(),
            left_count: left.len(),
            joined_count: joined.len(),
            resized_count: resized.len(),
            candidates,
            ..Self::about(
                snapshot,
                demand,
                before.as_ref().map(DemandState::side),
                after.as_ref().map(DemandState::side),
            )
        }
    }

    /// An entry without differences.
    fn about(snapshot: Option<&Snapshot>, demand: &Key, before: Option<Side>, after: Option<Side>) -> Self {
        let dialect = snapshot.map(|snapshot| &*snapshot.dialect);
        let (namespace, name) = dialect
            .map(|dialect| names::place(dialect, demand))
            .unwrap_or_default();
        let kinds = dialect.map_or(&[][..], |dialect| dialect.demands());
        let kind = kinds.iter().find(|kind| kind.resource == demand.resource);
        Self {
            dialect: dialect.map_or("", |dialect| dialect.name()),
            kind: kind.map_or("", |kind| kind.kind),
            demand: demand.clone(),
            namespace,
            name,
            verdict: Verdict::Same,
            before,
            after,
            left: Vec::new(),
            joined: Vec::new(),
            resized: Vec::new(),
            left_count: 0,
            joined_count: 0,
            resized_count: 0,
            candidates: Vec::new(),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde gives fields by reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The candidates with the cluster names `names` from the report on `decision`; none if the decision
/// considered no candidates.
#[must_use]
pub fn candidates(snapshot: &Snapshot, decision: &Decision, names: &[&str]) -> Vec<Candidate> {
    if names.is_empty() {
        return Vec::new();
    }
    let inventory = &*snapshot.inventory;
    let places = Places::of(inventory, decision);
    let view = View {
        dialect: snapshot.dialect.name(),
        inventory,
        decision,
        places: &places,
    };
    let solved = &decision.solved;
    if solved.feasible.is_empty() && solved.rejections.is_empty() {
        return Vec::new();
    }
    names
        .iter()
        .filter_map(|name| inventory.candidate(name))
        .map(|candidate| view.candidate(ReportEntry::Target(candidate), true))
        .collect()
}
