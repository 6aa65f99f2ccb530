//! The filters in pipeline order, each with the reasons of its refusals.

berth_scheduling::filters! {
    /// The cluster is not being deleted. Karmada skips a cluster in deletion, and reports no reason.
    ClusterDeletion = "ClusterDeletion" {
        Deleting = "Deleting",
    }
    /// The cluster serves the API of the template, or the binding lists the cluster already.
    ApiEnablement = "APIEnablement" {
        NotServed = "ApiNotServed",
        /// The cluster has not reported any API.
        NoApis = "NoApisReported",
    }
    /// Every taint with the effect NoSchedule or NoExecute is tolerated, or the binding lists the cluster
    /// already.
    TaintToleration = "TaintToleration" {
        Untolerated = "Untolerated",
    }
    /// The cluster is in the group of clusters that is tried, or matches the affinity of a placement without
    /// groups.
    ClusterAffinity = "ClusterAffinity" {
        Excluded = "Excluded",
        Labels = "LabelMismatch",
        Field = "FieldMismatch",
        Names = "NotNamed",
    }
    /// The cluster has the provider, region or zone by which a constraint spreads.
    SpreadConstraint = "SpreadConstraint" {
        NoProvider = "NoProvider",
        NoRegion = "NoRegion",
        NoZone = "NoZone",
    }
    /// The template is not being evicted from the cluster.
    ClusterEviction = "ClusterEviction" {
        Evicting = "Evicting",
    }
    /// Every other placed workload in the affinity group of the template is on the cluster, or the binding
    /// lists the cluster already.
    WorkloadAffinity = "WorkloadAffinity" {
        GroupElsewhere = "GroupElsewhere",
    }
    /// No other workload in the anti-affinity group of the template is on the cluster, or the binding lists
    /// the cluster already.
    WorkloadAntiAffinity = "WorkloadAntiAffinity" {
        GroupHere = "GroupHere",
    }
}

#[cfg(test)]
mod tests {
    use super::Plugin;

    #[test]
    fn every_filter_and_token_is_documented() {
        berth_dialect_testing::documented(
            "karmada",
            Plugin::ALL.map(|plugin| (plugin.name(), plugin.tokens())),
        );
    }
}
