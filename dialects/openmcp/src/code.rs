//! The filters in pipeline order, each with the reasons of its refusals (docs/systems/openmcp.md,
//! "Filters").

berth_scheduling::filters! {
    /// The Cluster is for the purpose of the request.
    Purpose = "Purpose" {
        /// The purpose of the request is not configured.
        PurposeNotConfigured = "PurposeMismatch",
        PurposeMismatch = "PurposeMismatch",
    }
    /// The labels match the selectors of the configuration and of the purpose.
    Selector = "Selector" {
        SelectorMismatch = "SelectorMismatch",
    }
    /// The Cluster is in the only allowed namespace, if there is one.
    Namespace = "Namespace" {
        OutOfScope = "OutOfScope",
    }
    /// There is room for the request beside the other requests on the Cluster.
    Tenancy = "Tenancy" {
        /// The request needs an exclusive Cluster.
        NeedsExclusive = "Exclusive",
        /// The Cluster is exclusive, and the request is not its only user.
        Exclusive = "Exclusive",
        Full = "Full",
    }
    /// The Cluster is not being deleted.
    Lifecycle = "Lifecycle" {
        Terminating = "Terminating",
    }
}

impl Plugin {
    /// Whether the filter selects the Clusters in scope, which the other filters judge.
    pub(crate) const fn selects_scope(self) -> bool {
        match self {
            Self::Purpose | Self::Selector | Self::Namespace => true,
            Self::Tenancy | Self::Lifecycle => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Plugin;

    #[test]
    fn the_pages_name_every_filter_and_reason() {
        berth_dialect_testing::documented(
            "openmcp",
            Plugin::ALL.map(|plugin| (plugin.name(), plugin.tokens())),
        );
    }
}
