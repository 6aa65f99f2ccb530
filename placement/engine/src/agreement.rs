//! Agreement: whether a demand has the clusters that a decision now would give it. The decision starts
//! from the present state, including the demand's present place (docs/beside.md, "What agreement
//! means"). Sets of clusters with their amounts are compared, not the writes or texts of two schedulers.

mod sentence;

use std::time::Duration;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::amounts::{self, AmountChange, AmountsByCluster};
use berth_dialect_contract::report::{Candidate, RejectionEntry};
use berth_dialect_contract::{Action, Decision, DemandView, Outcome, PlacedCluster};
use berth_scheduling_api::decision::{ContestedCluster, SchedulerRecord};
use berth_scheduling_api::shared::present;

use crate::plan::Verdict;
use crate::plan::compare::{candidates, verdict};
use crate::snapshot::Snapshot;

/// Time that another scheduler has to react to a change, unless the configuration sets another time.
pub const GRACE: Duration = Duration::from_secs(30);

/// Whether two schedulers agree on a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The demand has the clusters that would be decided.
    Same,
    /// The demand has other clusters or amounts; the value is the verdict on the change.
    Different(Verdict),
    /// The agreement is unknown.
    Unknown(Unknown),
}

/// Reason why the agreement of a demand is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The demand is malformed.
    Invalid,
    /// The system does not decide the demand, or another scheduler does.
    Ignored,
    /// The demand is being deleted.
    Deleting,
    /// The clusters differ, but only since recently: the other scheduler may not have reacted yet.
    GracePeriod,
}

impl Unknown {
    /// The cause, where the decision's `outcome` is the cause.
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

    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::Ignored => "Ignored",
            Self::Deleting => "Deleting",
            Self::GracePeriod => "GracePeriod",
        }
    }

    /// The beginning of a sentence about the cause.
    const fn cause(self) -> &'static str {
        match self {
            Self::Invalid => "it cannot be understood",
            Self::Ignored => "its system leaves it alone",
            Self::Deleting => "it is being deleted",
            Self::GracePeriod => "the other scheduler may not have processed it yet",
        }
    }
}

impl Agreement {
    /// The status of the condition.
    #[must_use]
    pub const fn status(self) -> &'static str {
        match self {
            Self::Same => "True",
            Self::Different(_) => "False",
            Self::Unknown(_) => "Unknown",
        }
    }

    /// The reason of the condition.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Same => "Same",
            Self::Different(verdict) => verdict.as_str(),
            Self::Unknown(why) => why.as_str(),
        }
    }
}

/// Comparison of a demand's clusters with the clusters that would be decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Agreement of the two sets of clusters.
    pub agreement: Agreement,
    /// Number of the demand's clusters, without clusters that it is leaving.
    pub placed: usize,
    /// Number of clusters that the demand would have.
    pub would_have: usize,
    /// The clusters that the demand has and would not keep, by name: the first of
    /// [`Comparison::loss_count`].
    pub losses: Vec<ContestedCluster>,
    /// Number of all losses, with the unlisted losses.
    pub loss_count: usize,
    /// The clusters that the demand would get, by name: the first of [`Comparison::gain_count`].
    pub gains: Vec<ContestedCluster>,
    /// Number of all gains, with the unlisted gains.
    pub gain_count: usize,
    /// The clusters that the demand has and would keep with another amount, by name: the first of
    /// [`Comparison::resize_count`].
    pub resizes: Vec<AmountChange>,
    /// Number of all resizes, with the unlisted resizes.
    pub resize_count: usize,
    /// Message of the decision, in one line.
    pub message: String,
    /// Behaviour of the system's own scheduler that is known to differ here.
    pub known_difference: Option<&'static str>,
}

impl Comparison {
    /// Comparison of a demand's present clusters, in `view`, with `decision` about it, both of
    /// `snapshot`. At most `shown` clusters of each side are listed.
    #[must_use]
    pub fn of(snapshot: &Snapshot, decision: &Decision, view: &DemandView, shown: usize) -> Self {
        let current = amounts::held(view);
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
        if let Some(why) = Unknown::of(decision.outcome) {
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

    fn list_differences(
        &mut self,
        snapshot: &Snapshot,
        decision: &Decision,
        placed: &[PlacedCluster],
        current: &AmountsByCluster,
        decided: &AmountsByCluster,
        shown: usize,
    ) {
        let (left, joined) = (amounts::only(current, decided), amounts::only(decided, current));
        let resizes = amounts::resized(current, decided);
        let first = |names: &[&str]| names.iter().take(shown).map(|&name| name.to_owned()).collect();
        let (lost, gained): (Vec<String>, Vec<String>) = (first(&left), first(&joined));
        let differing: Vec<&str> = lost.iter().chain(&gained).map(String::as_str).collect();
        let candidates = candidates(snapshot, decision, &differing);
        let side = |name: &String| contested(name, &candidates, placed);
        self.losses = lost.iter().map(side).collect();
        self.gains = gained.iter().map(side).collect();
        (self.loss_count, self.gain_count) = (left.len(), joined.len());
        self.resize_count = resizes.len();
        self.resizes = resizes.into_iter().take(shown).collect();
    }

    /// Whether the two sets of clusters differ, even within the grace period.
    #[must_use]
    pub const fn differs(&self) -> bool {
        self.loss_count + self.gain_count + self.resize_count > 0
    }

    /// Returns the comparison at `now`, where the other scheduler has `grace` to react to a difference
    /// that began at `since` (`None`: long ago).
    #[must_use]
    pub fn within(mut self, since: Option<Timestamp>, grace: Duration, now: Timestamp) -> Self {
        let is_over = since.is_none_or(|since| ends(since, grace).is_none_or(|end| end <= now));
        if let (Agreement::Different(_), false) = (self.agreement, is_over) {
            self.agreement = Agreement::Unknown(Unknown::GracePeriod);
        }
        self
    }
}

/// The end of the grace period that began at `since`; `None` beyond the range of timestamps.
#[must_use]
pub fn ends(since: Timestamp, grace: Duration) -> Option<Timestamp> {
    since.checked_add(grace).ok()
}

/// The reasons of both sides about the cluster `name`, which only one side chooses.
fn contested(name: &str, candidates: &[Candidate], placed: &[PlacedCluster]) -> ContestedCluster {
    let mut all = candidates.iter();
    let candidate = all.find(|candidate| *candidate.cluster_name == *name);
    let recorded = placed
        .iter()
        .find(|placed| *placed.cluster_name == *name)
        .filter(|placed| !placed.reason.is_empty() || placed.score.is_some())
        .map(|placed| SchedulerRecord {
            reason: present(&placed.reason),
            score: placed.score,
        });
    let mut reasons: Vec<String> = candidate.map_or_else(
        || vec!["there is no such cluster among those that are considered".to_owned()],
        |candidate| candidate.rejections.iter().map(rejection_text).collect(),
    );
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

/// `Plugin/Reason: sentence`, or `Reason: sentence` where other clusters are better, since no plugin
/// refuses the cluster then.
fn rejection_text(rejection: &RejectionEntry) -> String {
    let (plugin, reason, message) = (&rejection.plugin, &rejection.reason, &rejection.message);
    match plugin.is_empty() {
        true => format!("{reason}: {message}"),
        false => format!("{plugin}/{reason}: {message}"),
    }
}

#[cfg(test)]
mod tests;
