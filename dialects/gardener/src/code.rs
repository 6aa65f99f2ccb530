//! The filters in pipeline order, and the reasons each refuses for (docs/systems/gardener.md, "Filters").

scheduling::filters! {
    /// Not being deleted, ready, and visible to the scheduler.
    Usable = "Usable" {
        Deleting = "Deleting",
        NotReady = "NotReady",
        Invisible = "Invisible",
    }
    /// Of a provider type that both selectors let in; the shoot's own when neither names any.
    Provider = "Provider" {
        ProviderMismatch = "ProviderMismatch",
    }
    /// With the labels the cloud profile asks for.
    CloudProfileSelector = "CloudProfileSelector" {
        ProfileMismatch = "SelectorMismatch",
    }
    /// With the labels the shoot asks for.
    ShootSelector = "ShootSelector" {
        ShootMismatch = "SelectorMismatch",
    }
    /// All of its taints tolerated (docs/systems/gardener.md, "Taints").
    Taints = "Taints" {
        Untolerated = "Untolerated",
    }
    /// With DNS, where the shoot needs it.
    Dns = "DNS" {
        DnsDisabled = "DNSDisabled",
    }
    /// With networks that are disjoint from the shoot's, all nine pairs.
    Networks = "Networks" {
        NetworksOverlap = "NetworksOverlap",
        RangeMissing = "RangeMissing",
        RangeReserved = "RangeReserved",
    }
    /// With room for one more control plane.
    Capacity = "Capacity" {
        Full = "Full",
    }
    /// Where the strategy or the purpose wants it. The smallest distance is judged afterwards, on what is left.
    Strategy = "Strategy" {
        NotSameRegion = "NotSameRegion",
        NotSameProvider = "NotSameProvider",
        NotMinimalDistance = "NotMinimalDistance",
    }
}

#[cfg(test)]
mod tests {
    use super::Plugin;

    #[test]
    fn the_pages_name_every_filter_and_reason() {
        dialect_testing::documented(
            "gardener",
            Plugin::ALL.map(|plugin| (plugin.name(), plugin.tokens())),
        );
    }
}
