//! OCM's own placement controller where it is known to choose otherwise (docs/systems/ocm.md, "Differences
//! from upstream").

use berth_dialect_contract::{Decision, Outcome};

use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::policy::{Policy, ScoreSource};
use crate::scores::Absence;

/// The difference that may show in `decision`, if one may.
pub(crate) fn known(fleet: &Fleet, decision: &Decision) -> Option<&'static str> {
    let detail = decision.detail::<Detail>()?;
    if decision.outcome == Outcome::Invalid {
        return Some("OCM empties the decisions of a misconfigured Placement, Berth keeps its clusters");
    }
    let policy = detail.policy.as_deref()?;
    if steps_aside(policy) {
        return Some("with a negative weight of Steady every decision may select other clusters");
    }
    has_expired(fleet, decision, policy).then_some(
        "OCM looks at scores that have expired at the next event, up to 10 minutes late, Berth at their validUntil",
    )
}

/// Whether clusters are worse for being selected already.
fn steps_aside(policy: &Policy) -> bool {
    let mut prioritizers = policy.prioritizers.iter().flatten();
    prioritizers
        .any(|prioritizer| matches!(prioritizer.scoring, ScoreSource::Steady) && prioritizer.weight < 0)
}

/// Whether a score that is asked for has expired on a cluster that is feasible.
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
