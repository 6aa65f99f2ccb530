//! The filters. Each judges the whole fleet once, column by column; asking about one cluster is then a look-up.

pub(crate) mod spread;

use dialect_columns::Bits;
use meta::Timestamp;
use scheduling::{Filter, Ix, Reason, Verdict};

use self::spread::Spread;
use crate::columns::Columns;
use crate::eligibility::{Ineligible, Limits};
use crate::kind::Toleration;
use crate::policy::{self, Term, Test};

/// The filters in pipeline order. PickFixed stands for the check of named clusters, which runs instead of the others.
pub(crate) static FILTERS: [&str; 6] = [
    CLUSTER_AFFINITY,
    "ClusterEligibility",
    "TaintToleration",
    SAME_PLACEMENT_ANTI_AFFINITY,
    TOPOLOGY_SPREAD_CONSTRAINTS,
    "PickFixed",
];

/// The filter of the required terms and the scorer of the preferred ones.
pub(crate) const CLUSTER_AFFINITY: &str = "ClusterAffinity";
/// The filter that keeps a placement from one cluster twice; as a scorer it prefers clusters of the policy before.
pub(crate) const SAME_PLACEMENT_ANTI_AFFINITY: &str = "SamePlacementAntiAffinity";
/// The filter and scorer of topology spread constraints.
pub(crate) const TOPOLOGY_SPREAD_CONSTRAINTS: &str = "TopologySpreadConstraints";

/// The place of ClusterAffinity in [`FILTERS`].
pub(crate) const AFFINITY: u16 = 0;
/// The place of ClusterEligibility.
pub(crate) const ELIGIBILITY: u16 = 1;
/// The place of TaintToleration.
pub(crate) const TAINTS: u16 = 2;
/// The place of TopologySpreadConstraints.
pub(crate) const SPREAD: u16 = 4;
/// The place of PickFixed.
pub(crate) const FIXED: u16 = 5;

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
    /// Judges `terms` over `columns`.
    pub(crate) fn judge(terms: &[Term], columns: &Columns) -> Self {
        if terms.is_empty() {
            return Self(None);
        }
        let mut matching = Bits::none(columns.count());
        for term in terms {
            matching.unite(&matches(term, columns));
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

fn matches(term: &Term, columns: &Columns) -> Bits {
    let mut matching = columns.labels.select(&term.labels, columns.count());
    for test in &term.properties {
        matching.intersect(&passing(test, columns));
    }
    matching
}

/// The clusters whose property passes `test`.
pub(crate) fn passing(test: &Test, columns: &Columns) -> Bits {
    let mut passing = Bits::none(columns.count());
    for (&candidate, value) in columns.property(&test.name).into_iter().flatten() {
        passing.set(candidate, test.passes(Some(value.exact)));
    }
    passing
}

impl Filter<Columns> for ClusterAffinity {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(AFFINITY)]
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
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
    /// Judges `columns` at `now`.
    pub(crate) fn judge(columns: &Columns, now: Timestamp, limits: Limits) -> Self {
        let judge = |reason: Option<Ineligible>| reason.map_or(0, |reason| reason as u16);
        Self {
            reasons: columns
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

impl Filter<Columns> for ClusterEligibility {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(ELIGIBILITY)]
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
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
    /// Judges every list of taints in `columns`.
    pub(crate) fn judge(tolerations: &[Toleration], columns: &'a Columns) -> Self {
        let judge =
            |place: Option<usize>| place.map_or(0, |place| u32::try_from(place + 1).unwrap_or(u32::MAX));
        let lists = columns.taint_lists.lists.iter();
        Self {
            untolerated: lists
                .map(|taints| judge(policy::untolerated(taints, tolerations)))
                .collect(),
            lists: &columns.taints,
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

impl Filter<Columns> for TaintToleration<'_> {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(TAINTS)]
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
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

impl Filter<Columns> for SamePlacementAntiAffinity<'_> {
    fn name(&self) -> &'static str {
        SAME_PLACEMENT_ANTI_AFFINITY
    }

    fn check(&self, _columns: &Columns, _candidate: Ix) -> Verdict {
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

impl Filter<Columns> for TopologySpread<'_> {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(SPREAD)]
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
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

impl Filter<Columns> for PickFixed<'_> {
    fn name(&self) -> &'static str {
        FILTERS[usize::from(FIXED)]
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        if self.named.has(candidate) {
            let reason = self.eligibility.reasons[candidate as usize];
            verdict(reason != 0, FIXED, reason.into())
        } else {
            verdict(true, FIXED, 0)
        }
    }
}
