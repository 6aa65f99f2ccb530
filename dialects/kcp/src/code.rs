//! The filters in pipeline order, each with the reasons of its refusals (docs/systems/kcp.md, "Filters").

berth_scheduling::filters! {
    /// The cluster is in a location, and in one of the locations in scope.
    Location = "Location" {
        NotInLocation = "NotInLocation",
        OtherLocation = "OtherLocation",
    }
    /// The cluster is ready, and its heartbeat is not stale.
    Ready = "Ready" {
        NotReady = "NotReady",
    }
    /// The cluster is not cordoned.
    Unschedulable = "Unschedulable" {
        Cordoned = "Cordoned",
    }
    /// The cluster does not evict namespaces.
    Eviction = "Eviction" {
        Evicting = "Evicting",
    }
    /// The namespace is not leaving the cluster. A cluster on which the namespace stays is not refused.
    Placed = "Placed" {
        AlreadyPlaced = "AlreadyPlaced",
    }
}

/// The detail of every refusal of a cluster that is being deleted: a deletion cannot be undone.
pub(crate) const DELETING: u32 = 1;

#[cfg(test)]
mod tests {
    use super::Plugin;

    #[test]
    fn the_pages_name_every_filter_and_reason() {
        berth_dialect_testing::documented("kcp", Plugin::ALL.map(|plugin| (plugin.name(), plugin.tokens())));
    }
}
