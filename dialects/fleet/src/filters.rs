//! The filters. Each judges the whole fleet once, column by column; the verdict on one cluster is then a
//! lookup.

pub(crate) mod spread;

use berth_apimachinery::Timestamp;
use berth_dialect_columns::Bits;
use berth_scheduling::{Filter, Ix, Verdict};

use self::spread::Spread;
use crate::code::{Code, Plugin};
use crate::columns::Columns;
use crate::eligibility::{Ineligible, Limits};
use crate::fleet::cluster::Namespaces;
use crate::kind::Toleration;
use crate::policy::{self, Term, Test};

/// Requires that at least one required term matches. Without terms, every cluster passes.
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

    /// Removes the clusters from `pickable` that no term matches.
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
    fn plugin(&self) -> u16 {
        Plugin::ClusterAffinity.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        Code::AffinityMismatch.unless(self.0.as_ref().is_none_or(|matching| matching.has(candidate)))
    }
}

/// Requires eligible clusters (docs/systems/fleet.md, "Eligibility").
pub(crate) struct ClusterEligibility {
    /// The reason why each cluster is not eligible; `None` where it is.
    reasons: Vec<Option<Ineligible>>,
}

impl ClusterEligibility {
    /// Judges `columns` at `now`.
    pub(crate) fn judge(columns: &Columns, now: Timestamp, limits: Limits) -> Self {
        Self {
            reasons: columns
                .standings
                .iter()
                .map(|standing| standing.judge(now, limits))
                .collect(),
        }
    }

    /// Whether the cluster is eligible.
    pub(crate) fn passes(&self, candidate: Ix) -> bool {
        self.reasons[candidate as usize].is_none()
    }

    /// The verdict on `candidate`: a refusal with `code` if the cluster is not eligible.
    fn verdict(&self, candidate: Ix, code: Code) -> Verdict {
        let reason = self.reasons[candidate as usize];
        reason.map_or(Verdict::Pass, |why| Verdict::Reject(why.with(code)))
    }

    /// Removes the ineligible clusters from `pickable`.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        for (candidate, _) in (0..).zip(&self.reasons).filter(|(_, reason)| reason.is_some()) {
            pickable.set(candidate, false);
        }
    }
}

impl Filter<Columns> for ClusterEligibility {
    fn plugin(&self) -> u16 {
        Plugin::ClusterEligibility.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        self.verdict(candidate, Code::NotEligible)
    }
}

/// Requires that the cluster has the namespace of the placement, if its agent collects namespaces.
pub(crate) struct NamespaceAffinity<'a> {
    /// The namespace; empty for a cluster-scoped placement, which requires none.
    pub(crate) namespace: &'a str,
    /// The clusters.
    pub(crate) columns: &'a Columns,
}

impl NamespaceAffinity<'_> {
    fn refusal(&self, candidate: Ix) -> Option<Code> {
        if self.namespace.is_empty() {
            return None;
        }
        match &self.columns.row(candidate).namespaces {
            Namespaces::Uncollected => None,
            Namespaces::Unknown => Some(Code::NamespacesUnknown),
            Namespaces::Known(names) => (!names.contains(self.namespace)).then_some(Code::NamespaceMissing),
        }
    }

    /// Removes the clusters from `pickable` that do not have the namespace.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        if self.namespace.is_empty() {
            return;
        }
        for candidate in 0..self.columns.count() {
            if self.refusal(candidate).is_some() {
                pickable.set(candidate, false);
            }
        }
    }
}

impl Filter<Columns> for NamespaceAffinity<'_> {
    fn plugin(&self) -> u16 {
        Plugin::NamespaceAffinity.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        self.refusal(candidate).map_or(Verdict::Pass, Code::refuse)
    }
}

/// Requires that every taint is tolerated.
pub(crate) struct TaintToleration<'a> {
    /// The first untolerated taint of each distinct list, counted from 1; 0 for none.
    untolerated: Vec<u32>,
    /// The number of each cluster's list.
    lists: &'a [u32],
}

impl<'a> TaintToleration<'a> {
    /// Judges every list of taints in `columns`.
    pub(crate) fn judge(tolerations: &[Toleration], columns: &'a Columns) -> Self {
        let number =
            |place: Option<usize>| place.map_or(0, |place| u32::try_from(place + 1).unwrap_or(u32::MAX));
        let lists = columns.taint_lists.lists.iter();
        Self {
            untolerated: lists
                .map(|taints| number(policy::untolerated(taints, tolerations)))
                .collect(),
            lists: &columns.taints,
        }
    }

    fn first_untolerated(&self, candidate: Ix) -> u32 {
        self.untolerated[self.lists[candidate as usize] as usize]
    }

    /// Removes the clusters from `pickable` that have an untolerated taint.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        for (candidate, list) in (0..).zip(self.lists) {
            if self.untolerated[*list as usize] != 0 {
                pickable.set(candidate, false);
            }
        }
    }
}

impl Filter<Columns> for TaintToleration<'_> {
    fn plugin(&self) -> u16 {
        Plugin::TaintToleration.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        match self.first_untolerated(candidate) {
            0 => Verdict::Pass,
            place => Verdict::Reject(Code::Untolerated.with(place - 1)),
        }
    }
}

/// Excludes clusters with a live binding by the placement's policy in force from being picked again. They are
/// not refused either, since the decision keeps or releases them.
pub(crate) struct SamePlacementAntiAffinity<'a>(pub(crate) &'a Bits);

impl SamePlacementAntiAffinity<'_> {
    /// Removes the clusters from `pickable` that have a live binding by the policy in force.
    pub(crate) fn restrict(&self, pickable: &mut Bits) {
        pickable.subtract(self.0);
    }
}

impl Filter<Columns> for SamePlacementAntiAffinity<'_> {
    fn plugin(&self) -> u16 {
        Plugin::SamePlacementAntiAffinity.number()
    }

    fn check(&self, _columns: &Columns, _candidate: Ix) -> Verdict {
        Verdict::Pass
    }
}

/// Refuses clusters that would violate a hard constraint, given all picks. Chosen clusters are not judged
/// again.
pub(crate) struct TopologySpread<'a> {
    /// The constraints, with all kept and picked clusters counted.
    pub(crate) spread: &'a Spread<'a>,
    /// The kept and the picked clusters.
    pub(crate) chosen: &'a Bits,
}

impl Filter<Columns> for TopologySpread<'_> {
    fn plugin(&self) -> u16 {
        Plugin::TopologySpreadConstraints.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        if self.chosen.has(candidate) {
            return Verdict::Pass;
        }
        match self.spread.violated(candidate) {
            Some(constraint) => Verdict::Reject(Code::SkewExceeded.with(constraint)),
            None => Verdict::Pass,
        }
    }
}

/// Requires that a cluster is named and eligible.
pub(crate) struct PickFixed<'a> {
    /// The named clusters.
    pub(crate) named: &'a Bits,
    /// The eligibility of all clusters.
    pub(crate) eligibility: &'a ClusterEligibility,
}

impl Filter<Columns> for PickFixed<'_> {
    fn plugin(&self) -> u16 {
        Plugin::PickFixed.number()
    }

    fn check(&self, _columns: &Columns, candidate: Ix) -> Verdict {
        if self.named.has(candidate) {
            self.eligibility.verdict(candidate, Code::NamedIneligible)
        } else {
            Code::NotNamed.refuse()
        }
    }
}
