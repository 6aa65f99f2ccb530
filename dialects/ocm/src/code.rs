//! The filters in pipeline order, each with the reasons of its refusals (docs/systems/ocm.md, "Filters").

berth_scheduling::filters! {
    /// The cluster is in one of the placement's sets.
    ClusterSet = "ClusterSet" {
        NotInSet = "NotInSet",
    }
    /// The cluster is not being deleted, and can be read.
    Lifecycle = "Lifecycle" {
        Terminating = "Terminating",
        /// The ManagedCluster cannot be parsed. Placements that have selected the cluster keep it.
        Unreadable = "Unreadable",
    }
    /// One of `spec.predicates` matches.
    Predicate = "Predicate" {
        PredicateMismatch = "PredicateMismatch",
        /// An expression exceeds its cost limit on the cluster, so it is unknown whether the predicate
        /// matches.
        ExpressionTooCostly = "ExpressionTooCostly",
    }
    /// `spec.tolerations` tolerates every taint whose effect refuses the cluster.
    TaintToleration = "TaintToleration" {
        /// A taint is not tolerated. The detail is the index of the first such taint.
        Untolerated = "Untolerated",
    }
}

#[cfg(test)]
mod tests {
    use super::Plugin;

    #[test]
    fn the_pages_name_every_filter_and_reason() {
        berth_dialect_testing::documented("ocm", Plugin::ALL.map(|plugin| (plugin.name(), plugin.tokens())));
    }
}
