//! The filters in pipeline order, and the reasons each refuses for.

berth_scheduling::filters! {
    /// The cluster is not being deleted. Karmada skips such a cluster without a reason.
    ClusterDeletion = "ClusterDeletion" {
        Deleting = "Deleting",
    }
    /// The cluster serves the template's API.
    ApiEnablement = "APIEnablement" {
        NotServed = "ApiNotServed",
        /// It has not reported any.
        NoApis = "NoApisReported",
    }
    /// Every taint is tolerated.
    TaintToleration = "TaintToleration" {
        Untolerated = "Untolerated",
    }
    /// The cluster is in the group that is tried.
    ClusterAffinity = "ClusterAffinity" {
        Excluded = "Excluded",
        Labels = "LabelMismatch",
        Field = "FieldMismatch",
        Names = "NotNamed",
    }
    /// The cluster has the field that a constraint spreads by.
    SpreadConstraint = "SpreadConstraint" {
        NoProvider = "NoProvider",
        NoRegion = "NoRegion",
        NoZone = "NoZone",
    }
    /// The template is not on its way out of the cluster.
    ClusterEviction = "ClusterEviction" {
        Evicting = "Evicting",
    }
    /// Workloads of the same group are on the cluster.
    WorkloadAffinity = "WorkloadAffinity" {
        Apart = "GroupElsewhere",
    }
    /// No other workload of the group is on the cluster.
    WorkloadAntiAffinity = "WorkloadAntiAffinity" {
        Together = "GroupHere",
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
