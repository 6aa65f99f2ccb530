//! The filters in pipeline order, and the reasons each refuses for (docs/systems/fleet.md, "Filters").

use berth_scheduling::Reason;

use crate::eligibility::Ineligible;

berth_scheduling::filters! {
    /// One required term matches.
    ClusterAffinity = "ClusterAffinity" {
        AffinityMismatch = "AffinityMismatch",
    }
    /// Eligibility of the cluster (docs/systems/fleet.md, "Eligibility").
    ClusterEligibility = "ClusterEligibility" {
        /// The detail is the number of an [`Ineligible`], whose name is the token.
        NotEligible = "NotEligible",
    }
    /// The cluster has the namespace of a ResourcePlacement.
    NamespaceAffinity = "NamespaceAffinity" {
        NamespaceMissing = "NamespaceMissing",
        NamespacesUnknown = "NamespacesUnknown",
    }
    /// Every taint is tolerated.
    TaintToleration = "TaintToleration" {
        /// The detail is the place of the first taint that is not tolerated.
        Untolerated = "Untolerated",
    }
    /// Keeps a placement from one cluster twice. It refuses nothing: a cluster with a live binding is
    /// kept, not picked again.
    SamePlacementAntiAffinity = "SamePlacementAntiAffinity" {}
    /// No hard constraint is upset, given all picks.
    TopologySpreadConstraints = "TopologySpreadConstraints" {
        /// The detail is the place of the constraint.
        SkewExceeded = "SkewExceeded",
    }
    /// The check of named clusters, which runs instead of the others.
    PickFixed = "PickFixed" {
        /// For names only, since there is no candidate.
        NotFound = "NotFound",
        NotNamed = "NotEligible",
        /// The detail is the number of an [`Ineligible`].
        NamedIneligible = "NotEligible",
    }
}

/// The token of a reason.
pub(crate) fn token(reason: Reason) -> &'static str {
    let code = Code::of_reason(reason);
    match code {
        Code::NotEligible => ineligible(reason).name(),
        Code::AffinityMismatch
        | Code::NamespaceMissing
        | Code::NamespacesUnknown
        | Code::Untolerated
        | Code::SkewExceeded
        | Code::NotFound
        | Code::NotNamed
        | Code::NamedIneligible => code.name(),
    }
}

impl Ineligible {
    /// The reason of `code` with this as its detail.
    pub(crate) fn with(self, code: Code) -> Reason {
        code.with(self.number().into())
    }
}

/// Reason why a cluster is not eligible, from a code for that.
pub(crate) fn ineligible(reason: Reason) -> Ineligible {
    let [.., high, low] = reason.detail.to_be_bytes();
    Ineligible::of(u16::from_be_bytes([high, low]))
}

/// Whether `reason` is that the cluster is leaving the fleet, which no edit lifts.
pub(crate) fn is_leaving(reason: Reason) -> bool {
    matches!(Code::of_reason(reason), Code::NotEligible | Code::NamedIneligible)
        && ineligible(reason) == Ineligible::Leaving
}

#[cfg(test)]
mod tests {
    use super::{Code, Plugin, ineligible, token};
    use crate::eligibility::Ineligible;

    #[test]
    fn the_pages_name_every_filter_and_reason() {
        berth_dialect_testing::documented(
            "fleet",
            Plugin::ALL.map(|plugin| match plugin {
                Plugin::ClusterEligibility => (plugin.name(), &Ineligible::NAMES[..]),
                Plugin::ClusterAffinity
                | Plugin::NamespaceAffinity
                | Plugin::TaintToleration
                | Plugin::SamePlacementAntiAffinity
                | Plugin::TopologySpreadConstraints
                | Plugin::PickFixed => (plugin.name(), plugin.tokens()),
            }),
        );
    }

    #[test]
    fn a_reason_keeps_why_a_cluster_is_not_eligible() {
        for why in Ineligible::ALL {
            let by_filter = why.with(Code::NotEligible);
            assert_eq!((ineligible(by_filter), token(by_filter)), (why, why.name()));
            let by_name = why.with(Code::NamedIneligible);
            assert_eq!((ineligible(by_name), token(by_name)), (why, "NotEligible"));
        }
    }
}
