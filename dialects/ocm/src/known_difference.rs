//! Known differences between OCM's own placement controller and Berth, by which both may decide differently
//! (docs/systems/ocm.md, "Differences from upstream").

use berth_dialect_contract::{Decision, Outcome};

use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::policy::{Policy, Problem, ScoreSource};
use crate::scores::Absence;

/// The known difference that may affect `decision`, if there is one.
pub(crate) fn find(fleet: &Fleet, decision: &Decision) -> Option<&'static str> {
    let detail = decision.detail::<Detail>()?;
    if decision.outcome == Outcome::Invalid {
        let is_of_set = detail.problem.as_ref().is_some_and(Problem::is_of_set);
        return Some(match is_of_set {
            true => {
                "OCM decides nothing while a set cannot be read, Berth releases what is gone or being deleted"
            }
            false => "OCM empties the decisions of a misconfigured Placement, Berth keeps its clusters",
        });
    }
    let policy = detail.policy.as_deref()?;
    if avoids_selected(policy) {
        return Some("with a negative weight of Steady every decision may select other clusters");
    }
    has_expired(fleet, decision, policy).then_some(
        "OCM notices an expired score at the next event, up to 10 minutes late, Berth at its validUntil",
    )
}

/// Whether the weight of Steady is negative, so that each decision prefers clusters that are not selected
/// yet.
fn avoids_selected(policy: &Policy) -> bool {
    let mut prioritizers = policy.prioritizers.iter().flatten();
    prioritizers
        .any(|prioritizer| matches!(prioritizer.scoring, ScoreSource::Steady) && prioritizer.weight < 0)
}

/// Whether a score of the policy has expired on a feasible cluster.
fn has_expired(fleet: &Fleet, decision: &Decision, policy: &Policy) -> bool {
    let columns = fleet.columns();
    policy.prioritizers.iter().flatten().any(|prioritizer| {
        let ScoreSource::AddOn { resource, score } = &prioritizer.scoring else {
            return false;
        };
        let column = columns.scores(resource, score).map(|column| &**column);
        decision.solved.feasible.iter().any(|&candidate| {
            let absence = Absence::of(fleet, column, resource, candidate, decision.now);
            matches!(absence, Some(Absence::Expired(_)))
        })
    })
}
