//! The filters in pipeline order, and the reasons each refuses for (docs/systems/ocm.md, "Filters").

berth_scheduling::filters! {
    /// Membership in one of the sets chosen from.
    ClusterSet = "ClusterSet" {
        NotInSet = "NotInSet",
    }
    /// Leaves clusters alone that are being deleted.
    Lifecycle = "Lifecycle" {
        Terminating = "Terminating",
    }
    /// One of `spec.predicates` matches.
    Predicate = "Predicate" {
        PredicateMismatch = "PredicateMismatch",
        /// An expression costs more on the cluster than allowed, and it is unknown whether it matches.
        ExpressionTooCostly = "ExpressionTooCostly",
    }
    /// Every taint is tolerated by `spec.tolerations`.
    TaintToleration = "TaintToleration" {
        /// The detail is the place of the first taint that is not tolerated.
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
