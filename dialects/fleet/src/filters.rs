//! The filters of the pipeline. Affinity, eligibility and taints are judged once for the whole fleet, so that
//! the verdict on one cluster is a lookup. The other filters judge each cluster when it is checked.

pub(crate) mod spread;

use berth_apimachinery::Timestamp;
use berth_dialect_columns::Bits;
use berth_scheduling::{Filter, Ix, Verdict};

use self::spread::Spread;
use crate::code::{Code, Plugin};
use crate::columns::Columns;
use crate::eligibility::{IneligibilityReason, Limits};
use crate::fleet::cluster::Namespaces;
use crate::kind::Toleration;
use crate::policy::{self, PropertyTest, Term};

/// Requires that at least one required term of the policy matches. Without required terms, every cluster
/// passes.
pub(crate) struct ClusterAffinity(Option<Bits>);

impl ClusterAffinity {
    /// Finds the clusters in `columns` that match any of the required `terms`.
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

    /// Removes from `pickable` the clusters that no required term matches.
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
pub(crate) fn passing(test: &PropertyTest, columns: &Columns) -> Bits {
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
    /// The reason why each cluster is not eligible, by candidate; `None` for an eligible cluster.
    reasons: Vec<Option<IneligibilityReason>>,
}

impl ClusterEligibility {
    /// Judges the eligibility of all clusters in `columns` at `now`.
    pub(crate) fn judge(columns: &Columns, now: Timestamp, limits: Limits) -> Self {
        Self {
            reasons: columns
                .eligibility_reports
                .iter()
                .map(|reports| reports.judge(now, limits))
                .collect(),
        }
    }

    /// Whether `candidate` is eligible.
    pub(crate) fn passes(&self, candidate: Ix) -> bool {
        self.reasons[candidate as usize].is_none()
    }

    /// The verdict on `candidate`: a refusal with `code` if the cluster is not eligible.
    fn verdict(&self, candidate: Ix, code: Code) -> Verdict {
        let reason = self.reasons[candidate as usize];
        reason.map_or(Verdict::Pass, |why| Verdict::Reject(why.with(code)))
    }

    /// Removes from `pickable` the clusters that are not eligible.
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

/// Requires that a cluster has the namespace of the placement, if the cluster's agent collects namespaces.
pub(crate) struct NamespaceAffinity<'a> {
    /// The namespace of the placement; empty for a cluster-scoped placement, which every cluster passes.
    pub(crate) namespace: &'a str,
    /// The columns of all clusters.
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

    /// Removes from `pickable` the clusters that do not have the namespace.
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

/// Requires that the placement tolerates every taint of a cluster.
pub(crate) struct TaintToleration<'a> {
    /// The position of the first untolerated taint in each distinct list, counted from 1; 0 for none.
    untolerated: Vec<u32>,
    /// The number of the list of taints of each cluster.
    lists: &'a [u32],
}

impl<'a> TaintToleration<'a> {
    /// Judges every list of taints in `columns`.
    pub(crate) fn judge(tolerations: &[Toleration], columns: &'a Columns) -> Self {
        let position =
            |index: Option<usize>| index.map_or(0, |index| u32::try_from(index + 1).unwrap_or(u32::MAX));
        let lists = columns.taint_lists.lists.iter();
        Self {
            untolerated: lists
                .map(|taints| position(policy::first_untolerated(taints, tolerations)))
                .collect(),
            lists: &columns.taints,
        }
    }

    fn first_untolerated(&self, candidate: Ix) -> u32 {
        self.untolerated[self.lists[candidate as usize] as usize]
    }

    /// Removes from `pickable` the clusters with an untolerated taint.
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
            position => Verdict::Reject(Code::Untolerated.with(position - 1)),
        }
    }
}

/// Excludes from new picks the clusters that have a live binding by the current policy snapshot of the
/// placement. The filter refuses none of them, since the decision keeps or releases their bindings.
pub(crate) struct SamePlacementAntiAffinity<'a>(pub(crate) &'a Bits);

impl SamePlacementAntiAffinity<'_> {
    /// Removes from `pickable` the clusters that have a live binding by the current policy snapshot.
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

/// Refuses clusters whose pick would violate a hard topology spread constraint, given all picks so far. Kept
/// and picked clusters pass.
pub(crate) struct TopologySpread<'a> {
    /// The constraints, which count all kept and picked clusters.
    pub(crate) spread: &'a Spread<'a>,
    /// The kept and picked clusters.
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

/// Requires that a PickFixed policy names a cluster, and that the cluster is eligible.
pub(crate) struct PickFixed<'a> {
    /// The clusters that the policy names.
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
