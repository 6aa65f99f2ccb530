//! The filters. Each judges the whole fleet once, column by column; asking about one cluster is then a look-up.

use dialect_columns::Bits;
use meta::Timestamp;
use scheduling::{Filter, Ix, Reason, Verdict};

use super::spread::Spread;
use super::{AFFINITY, ELIGIBILITY, FILTERS, FIXED, SAME_PLACEMENT_ANTI_AFFINITY, SPREAD, TAINTS};
use crate::eligibility::{Ineligible, Limits};
use crate::fleet::Fleet;
use crate::kind::Toleration;
use crate::policy::{self, Term, Test};

fn verdict(refused: bool, code: u16, detail: u32) -> Verdict {
    if refused {
        Verdict::Reject(Reason { code, detail })
    } else {
        Verdict::Pass
    }
}

/// Asks for one matching required term; without terms everything passes.
pub(crate) struct ClusterAffinity(Option<Bits>);

impl ClusterAffinity {
    /// Judges `terms` over `fleet`.
    pub(crate) fn judge(terms: &[Term], fleet: &Fleet) -> Self {
        if terms.is_empty() {
            return Self(None);
        }
        let mut matching = Bits::none(fleet.count());
        for term in terms {
            matching.unite(&matches(term, fleet));
        }
        Self(Some(matching))
    }

    /// Takes those out of `pickable` that no term matches.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        if let Some(matching) = &self.0 {
            pickable.intersect(matching);
        }
    }
}

fn matches(term: &Term, fleet: &Fleet) -> Bits {
    let mut matching = fleet.labels.select(&term.labels, fleet.count());
    for test in &term.properties {
        matching.intersect(&passing(test, fleet));
    }
    matching
}

/// The clusters whose property passes `test`.
pub(crate) fn passing(test: &Test, fleet: &Fleet) -> Bits {
    let mut passing = Bits::none(fleet.count());
    for (&candidate, &value) in fleet.property(&test.name).into_iter().flatten() {
        passing.set(candidate, test.passes(Some(value.exact)));
    }
    passing
}

impl Filter<Fleet> for ClusterAffinity {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(AFFINITY)]
    }

    fn check(&self, _fleet: &Fleet, candidate: Ix) -> Verdict {
        verdict(
            self.0.as_ref().is_some_and(|matching| !matching.has(candidate)),
            AFFINITY,
            0,
        )
    }
}

/// Asks that the cluster may take anything at all (docs/systems/fleet.md, "Eligibility").
pub(crate) struct ClusterEligibility {
    /// The reason of each cluster, 0 for none.
    reasons: Vec<u16>,
}

impl ClusterEligibility {
    /// Judges `fleet` at `now`.
    pub(crate) fn judge(fleet: &Fleet, now: Timestamp, limits: Limits) -> Self {
        let judge = |reason: Option<Ineligible>| reason.map_or(0, |reason| reason as u16);
        Self {
            reasons: fleet
                .standings
                .iter()
                .map(|standing| judge(standing.judge(now, limits)))
                .collect(),
        }
    }

    /// Whether the cluster is eligible.
    pub(crate) fn passes(&self, candidate: Ix) -> bool {
        self.reasons[candidate as usize] == 0
    }

    /// Takes the ineligible out of `pickable`.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        for (candidate, _) in (0..).zip(&self.reasons).filter(|(_, reason)| **reason != 0) {
            pickable.set(candidate, false);
        }
    }
}

impl Filter<Fleet> for ClusterEligibility {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(ELIGIBILITY)]
    }

    fn check(&self, _fleet: &Fleet, candidate: Ix) -> Verdict {
        let reason = self.reasons[candidate as usize];
        verdict(reason != 0, ELIGIBILITY, reason.into())
    }
}

/// Asks that every taint is tolerated.
pub(crate) struct TaintToleration<'a> {
    /// For each distinct list of taints, the first one not tolerated, counted from 1; 0 for none.
    untolerated: Vec<u32>,
    /// The list of each cluster.
    lists: &'a [u32],
}

impl<'a> TaintToleration<'a> {
    /// Judges every list of taints in `fleet`.
    pub(crate) fn judge(tolerations: &[Toleration], fleet: &'a Fleet) -> Self {
        let judge =
            |place: Option<usize>| place.map_or(0, |place| u32::try_from(place + 1).unwrap_or(u32::MAX));
        let lists = fleet.taint_lists.lists.iter();
        Self {
            untolerated: lists
                .map(|taints| judge(policy::untolerated(taints, tolerations)))
                .collect(),
            lists: &fleet.taints,
        }
    }

    fn of(&self, candidate: Ix) -> u32 {
        self.untolerated[self.lists[candidate as usize] as usize]
    }

    /// Takes those out of `pickable` that have an untolerated taint.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        for (candidate, list) in (0..).zip(self.lists) {
            if self.untolerated[*list as usize] != 0 {
                pickable.set(candidate, false);
            }
        }
    }
}

impl Filter<Fleet> for TaintToleration<'_> {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(TAINTS)]
    }

    fn check(&self, _fleet: &Fleet, candidate: Ix) -> Verdict {
        let place = self.of(candidate);
        verdict(place != 0, TAINTS, place.saturating_sub(1))
    }
}

/// Keeps a placement from one cluster twice: clusters with a live binding are not picked. They are not refused either,
/// since the decision that asks keeps them or lets them go.
pub(crate) struct SamePlacementAntiAffinity<'a>(pub(crate) &'a Bits);

impl SamePlacementAntiAffinity<'_> {
    /// Takes those out of `pickable` that have a live binding.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        pickable.subtract(self.0);
    }
}

impl Filter<Fleet> for SamePlacementAntiAffinity<'_> {
    fn name(&self) -> &'static str {
        SAME_PLACEMENT_ANTI_AFFINITY
    }

    fn check(&self, _fleet: &Fleet, _candidate: Ix) -> Verdict {
        Verdict::Pass
    }
}

/// Refuses clusters that would upset a hard constraint, given all picks. Those chosen are not asked again.
pub(crate) struct TopologySpread<'a> {
    /// The constraints with everything counted.
    pub(crate) spread: &'a Spread<'a>,
    /// The clusters kept and picked.
    pub(crate) chosen: &'a Bits,
}

impl Filter<Fleet> for TopologySpread<'_> {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(SPREAD)]
    }

    fn check(&self, _fleet: &Fleet, candidate: Ix) -> Verdict {
        if self.chosen.has(candidate) {
            return Verdict::Pass;
        }
        match self.spread.violated(candidate) {
            Some(constraint) => verdict(true, SPREAD, constraint),
            None => Verdict::Pass,
        }
    }
}

/// Asks that a cluster is named and eligible.
pub(crate) struct PickFixed<'a> {
    /// The clusters named.
    pub(crate) named: &'a Bits,
    /// Which clusters are eligible.
    pub(crate) eligibility: &'a ClusterEligibility,
}

impl Filter<Fleet> for PickFixed<'_> {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(FIXED)]
    }

    fn check(&self, _fleet: &Fleet, candidate: Ix) -> Verdict {
        if self.named.has(candidate) {
            let reason = self.eligibility.reasons[candidate as usize];
            verdict(reason != 0, FIXED, reason.into())
        } else {
            verdict(true, FIXED, 0)
        }
    }
}
