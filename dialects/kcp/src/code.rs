//! The filters in pipeline order, and the reasons each refuses for (docs/systems/kcp.md, "Filters").

berth_scheduling::filters! {
    /// In a location, and in one of the scope.
    Location = "Location" {
        NotInLocation = "NotInLocation",
        OtherLocation = "OtherLocation",
    }
    /// Ready, with a heartbeat that is not stale.
    Ready = "Ready" {
        NotReady = "NotReady",
    }
    /// Not cordoned.
    Unschedulable = "Unschedulable" {
        Cordoned = "Cordoned",
    }
    /// Not evicting.
    Eviction = "Eviction" {
        Evicting = "Evicting",
    }
    /// Not one the namespace is leaving. A cluster that it is on is kept, which is not a refusal.
    Placed = "Placed" {
        AlreadyPlaced = "AlreadyPlaced",
    }
}

/// Detail of a refusal of a cluster that is being deleted, which nobody takes back.
pub(crate) const DELETING: u32 = 1;

#[cfg(test)]
mod tests {
    use super::Plugin;

    #[test]
    fn the_pages_name_every_filter_and_reason() {
        berth_dialect_testing::documented("kcp", Plugin::ALL.map(|plugin| (plugin.name(), plugin.tokens())));
    }
}
