//! The filters in pipeline order, each with the reasons of its refusals (docs/systems/fleet.md, "Filters").

use berth_scheduling::Reason;

use crate::eligibility::IneligibilityReason;

berth_scheduling::filters! {
    /// At least one required term matches.
    ClusterAffinity = "ClusterAffinity" {
        AffinityMismatch = "AffinityMismatch",
    }
    /// The cluster is eligible (docs/systems/fleet.md, "Eligibility").
    ClusterEligibility = "ClusterEligibility" {
        /// The cluster is not eligible. The detail is the number of an [`IneligibilityReason`], whose name is
        /// the token.
        NotEligible = "NotEligible",
    }
    /// The cluster has the namespace of a ResourcePlacement.
    NamespaceAffinity = "NamespaceAffinity" {
        NamespaceMissing = "NamespaceMissing",
        NamespacesUnknown = "NamespacesUnknown",
    }
    /// Every taint is tolerated.
    TaintToleration = "TaintToleration" {
        /// A taint is not tolerated. The detail is the index of the first such taint.
        Untolerated = "Untolerated",
    }
    /// The placement is not yet on the cluster. This filter refuses no cluster: a cluster with a live binding
    /// by the policy in force is kept or released, and not picked again.
    SamePlacementAntiAffinity = "SamePlacementAntiAffinity" {}
    /// No hard constraint is violated, given all picks.
    TopologySpreadConstraints = "TopologySpreadConstraints" {
        /// A hard constraint is violated. The detail is the index of the constraint.
        SkewExceeded = "SkewExceeded",
    }
    /// The check of named clusters, which runs instead of the others.
    PickFixed = "PickFixed" {
        /// A named cluster does not exist. Such a cluster is no candidate, so a decision reports this reason
        /// with the name of the cluster, and never as the refusal of a candidate.
        NotFound = "NotFound",
        NotNamed = "NotEligible",
        /// A named cluster is not eligible. The detail is the number of an [`IneligibilityReason`].
        NamedIneligible = "NotEligible",
    }
}

/// The token of `reason`.
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

impl IneligibilityReason {
    /// Returns the reason with `code`, and with this [`IneligibilityReason`] as its detail.
    pub(crate) fn with(self, code: Code) -> Reason {
        code.with(self.number().into())
    }
}

/// The [`IneligibilityReason`] in the detail of `reason`.
pub(crate) fn ineligible(reason: Reason) -> IneligibilityReason {
    let [.., high, low] = reason.detail.to_be_bytes();
    IneligibilityReason::of(u16::from_be_bytes([high, low]))
}

/// Whether `reason` means that the cluster is leaving the fleet, which no edit lifts.
pub(crate) fn is_leaving(reason: Reason) -> bool {
    matches!(Code::of_reason(reason), Code::NotEligible | Code::NamedIneligible)
        && ineligible(reason) == IneligibilityReason::Leaving
}

#[cfg(test)]
mod tests {
    use super::{Code, Plugin, ineligible, token};
    use crate::eligibility::IneligibilityReason;

    #[test]
    fn the_pages_name_every_filter_and_reason() {
        berth_dialect_testing::documented(
            "fleet",
            Plugin::ALL.map(|plugin| match plugin {
                Plugin::ClusterEligibility => (plugin.name(), &IneligibilityReason::NAMES[..]),
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
    fn a_reason_has_the_ineligibility_as_its_detail() {
        for why in IneligibilityReason::ALL {
            let by_filter = why.with(Code::NotEligible);
            assert_eq!((ineligible(by_filter), token(by_filter)), (why, why.name()));
            let by_name = why.with(Code::NamedIneligible);
            assert_eq!((ineligible(by_name), token(by_name)), (why, "NotEligible"));
        }
    }
}
