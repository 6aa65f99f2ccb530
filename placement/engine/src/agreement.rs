//! Agreement: whether a demand has the clusters that Berth would decide now. Berth's decision starts from the
//! present state, including the present clusters of the demand (docs/beside.md, "What agreement means"). Sets
//! of clusters with their amounts are compared, not the writes or texts of two schedulers.

mod sentence;

use std::time::Duration;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::amounts::{self, AmountChange, AmountsByCluster};
use berth_dialect_contract::report::{Candidate, RejectionEntry};
use berth_dialect_contract::{Action, Decision, DemandView, Outcome, PlacedCluster};
use berth_scheduling_api::decision::{ContestedCluster, SchedulerRecord};
use berth_scheduling_api::shared::none_if_empty;

use crate::plan::Verdict;
use crate::plan::compare::{candidates, verdict};
use crate::snapshot::Snapshot;

/// Default time that another scheduler has to react to a change before a difference counts.
pub const GRACE: Duration = Duration::from_secs(30);

/// Whether Berth would decide the clusters that another scheduler decided for a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The demand has the clusters that Berth would decide.
    Same,
    /// Berth would decide other clusters or amounts; the value is the verdict on the change.
    Different(Verdict),
    /// The agreement is unknown for this reason.
    Unknown(UnknownReason),
}

/// Reason why the agreement of a demand is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownReason {
    /// The demand is invalid.
    Invalid,
    /// The system does not decide the demand, or another scheduler does.
    Ignored,
    /// The demand is being deleted, or is no longer placed.
    Deleting,
    /// The clusters differ, but the other scheduler still has time to react.
    GracePeriod,
}

impl UnknownReason {
    /// Returns the reason if the `outcome` of the decision makes the agreement unknown.
    fn of(outcome: Outcome) -> Option<Self> {
        match outcome {
            Outcome::Invalid => Some(Self::Invalid),
            Outcome::Ignored => Some(Self::Ignored),
            Outcome::Released => Some(Self::Deleting),
            Outcome::Scheduled
            | Outcome::Partial
            | Outcome::Unschedulable
            | Outcome::Provision
            | Outcome::Unchanged => None,
        }
    }

    /// Returns the reason as in the condition.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::Ignored => "Ignored",
            Self::Deleting => "Deleting",
            Self::GracePeriod => "GracePeriod",
        }
    }

    /// Returns the first clause of the sentence about the reason.
    const fn cause(self) -> &'static str {
        match self {
            Self::Invalid => "the request cannot be understood",
            Self::Ignored => "the system does not schedule the request",
            Self::Deleting => "the request is being deleted or no longer placed",
            Self::GracePeriod => "the other scheduler may not have processed the request yet",
        }
    }
}

impl Agreement {
    /// Returns the status of the condition Agrees.
    #[must_use]
    pub const fn status(self) -> &'static str {
        match self {
            Self::Same => "True",
            Self::Different(_) => "False",
            Self::Unknown(_) => "Unknown",
        }
    }

    /// Returns the reason of the condition Agrees.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Same => "Same",
            Self::Different(verdict) => verdict.as_str(),
            Self::Unknown(why) => why.as_str(),
        }
    }
}

/// Comparison of a demand's clusters with the clusters that Berth would decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Agreement of the two sets of clusters.
    pub agreement: Agreement,
    /// Number of clusters of the demand, without clusters that the demand is leaving.
    pub placed: usize,
    /// Number of clusters that Berth would decide.
    pub would_have: usize,
    /// The clusters that the demand would lose, by name. The list may be shorter than
    /// [`Comparison::loss_count`].
    pub losses: Vec<ContestedCluster>,
    /// Number of all losses, including unlisted losses.
    pub loss_count: usize,
    /// The clusters that the demand would get, by name. The list may be shorter than
    /// [`Comparison::gain_count`].
    pub gains: Vec<ContestedCluster>,
    /// Number of all gains, including unlisted gains.
    pub gain_count: usize,
    /// The clusters that the demand would keep with another amount, by name. The list may be shorter than
    /// [`Comparison::resize_count`].
    pub resizes: Vec<AmountChange>,
    /// Number of all resizes, including unlisted resizes.
    pub resize_count: usize,
    /// The message of Berth's decision, in one line.
    pub message: String,
    /// A known difference between the system's own scheduler and Berth that applies here.
    pub known_difference: Option<&'static str>,
}

impl Comparison {
    /// Compares the present clusters of a demand, in `view`, with Berth's `decision` on the demand, both from
    /// `snapshot`. Lists at most `shown` losses, gains and resizes each.
    #[must_use]
    pub fn of(snapshot: &Snapshot, decision: &Decision, view: &DemandView, shown: usize) -> Self {
        let current = amounts::by_cluster(view);
        let mut decided = current.clone();
        for change in &decision.changes {
            match change.action {
                Action::Unbind => decided.remove(&*change.cluster_name),
                Action::Bind | Action::Keep | Action::Create | Action::Restore | Action::Resize => {
                    decided.insert(change.cluster_name.to_string(), change.amount_to)
                }
            };
        }
        let mut comparison = Self {
            agreement: Agreement::Same,
            placed: current.len(),
            would_have: decided.len(),
            losses: Vec::new(),
            loss_count: 0,
            gains: Vec::new(),
            gain_count: 0,
            resizes: Vec::new(),
            resize_count: 0,
            message: snapshot.inventory.message(decision),
            known_difference: None,
        };
        if let Some(why) = UnknownReason::of(decision.outcome) {
            comparison.agreement = Agreement::Unknown(why);
            comparison.would_have = current.len();
            comparison.known_difference = snapshot.inventory.known_difference(decision);
        } else if current != decided {
            comparison.agreement = Agreement::Different(verdict(Some(&current), Some(&decided)));
            comparison.known_difference = snapshot.inventory.known_difference(decision);
            comparison.list_differences(snapshot, decision, &view.placed, &current, &decided, shown);
        }
        comparison
    }

    /// Sets losses, gains and resizes.
    fn list_differences(
        &mut self,
        snapshot: &Snapshot,
        decision: &Decision,
        placed: &[PlacedCluster],
        current: &AmountsByCluster,
        decided: &AmountsByCluster,
        shown: usize,
    ) {
        let (left, joined) = (
            amounts::names_only_in(current, decided),
            amounts::names_only_in(decided, current),
        );
        let resizes = amounts::changes(current, decided);
        let first = |names: &[&str]| names.iter().take(shown).map(|&name| name.to_owned()).collect();
        let (lost, gained): (Vec<String>, Vec<String>) = (first(&left), first(&joined));
        let differing: Vec<&str> = lost.iter().chain(&gained).map(String::as_str).collect();
        let candidates = candidates(snapshot, decision, &differing);
        let side = |name: &String| contested_cluster(name, decision, &candidates, placed);
        self.losses = lost.iter().map(side).collect();
        self.gains = gained.iter().map(side).collect();
        (self.loss_count, self.gain_count) = (left.len(), joined.len());
        self.resize_count = resizes.len();
        self.resizes = resizes.into_iter().take(shown).collect();
    }

    /// Whether the clusters or amounts differ, even within the grace period.
    #[must_use]
    pub const fn differs(&self) -> bool {
        self.loss_count + self.gain_count + self.resize_count > 0
    }

    /// Returns the comparison at `now`. A difference that began at `since` counts only after the grace period
    /// `grace`, in which the other scheduler may react; without `since`, it counts at once.
    #[must_use]
    pub fn within(mut self, since: Option<Timestamp>, grace: Duration, now: Timestamp) -> Self {
        let is_over = since.is_none_or(|since| grace_end(since, grace).is_none_or(|end| end <= now));
        if let (Agreement::Different(_), false) = (self.agreement, is_over) {
            self.agreement = Agreement::Unknown(UnknownReason::GracePeriod);
        }
        self
    }
}

/// Returns the end of the grace period that began at `since`; `None` beyond the range of timestamps.
#[must_use]
pub fn grace_end(since: Timestamp, grace: Duration) -> Option<Timestamp> {
    since.checked_add(grace).ok()
}

/// Returns the reasons of both schedulers about the cluster `name`, which only one of them chooses.
fn contested_cluster(
    name: &str,
    decision: &Decision,
    candidates: &[Candidate],
    placed: &[PlacedCluster],
) -> ContestedCluster {
    let mut all = candidates.iter();
    let candidate = all.find(|candidate| *candidate.cluster_name == *name);
    let recorded = placed
        .iter()
        .find(|placed| *placed.cluster_name == *name)
        .filter(|placed| !placed.reason.is_empty() || placed.score.is_some())
        .map(|placed| SchedulerRecord {
            reason: none_if_empty(&placed.reason),
            score: placed.score,
        });
    let mut reasons: Vec<String> = match candidate {
        _ if is_created(name, decision) => vec!["Berth would create this cluster".to_owned()],
        Some(candidate) => candidate.rejections.iter().map(rejection_text).collect(),
        None => vec!["Berth does not consider a cluster with this name".to_owned()],
    };
    let rank = candidate.and_then(|candidate| candidate.rank);
    if let (true, Some(rank)) = (reasons.is_empty(), rank) {
        reasons.push(format!("rank {rank}"));
    }
    ContestedCluster {
        cluster_name: name.to_owned(),
        reasons,
        rank,
        score: candidate.and_then(|candidate| candidate.score),
        recorded,
    }
}

/// Whether `decision` creates the cluster `name`.
fn is_created(name: &str, decision: &Decision) -> bool {
    let mut created = decision
        .changes
        .iter()
        .filter(|change| change.action == Action::Create);
    created.any(|change| *change.cluster_name == *name)
}

/// Returns `Plugin/Reason: sentence`; `Reason: sentence` if no plugin refuses the cluster, but other clusters
/// are better.
fn rejection_text(rejection: &RejectionEntry) -> String {
    let (plugin, reason, message) = (&rejection.plugin, &rejection.reason, &rejection.message);
    match plugin.is_empty() {
        true => format!("{reason}: {message}"),
        false => format!("{plugin}/{reason}: {message}"),
    }
}

#[cfg(test)]
mod tests;
