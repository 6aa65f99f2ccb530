//! The filters in pipeline order, and the reasons each refuses for (docs/systems/gardener.md, "Filters").

berth_scheduling::filters! {
    /// Seeds that are ready and visible to the scheduler, and not being deleted.
    Usable = "Usable" {
        Deleting = "Deleting",
        NotReady = "NotReady",
        NeverReconciled = "NeverReconciled",
        Invisible = "Invisible",
    }
    /// Of a provider type that both selectors admit; the shoot's own when neither names any.
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
    /// Zones for the control plane, and for the workers. The seeds' preferences are judged afterwards,
    /// among the remaining ones.
    Zones = "Zones" {
        TooFewZones = "TooFewZones",
        ZonesMissing = "ZonesMissing",
        ZoneMismatch = "ZoneMismatch",
        ZoneNotPreferred = "ZoneNotPreferred",
    }
    /// With all that keeps the shoot within borders.
    AccessRestrictions = "AccessRestrictions" {
        AccessRestricted = "AccessRestricted",
    }
    /// Support of the default domain of the shoot's own domain. Judged afterwards, among the remaining
    /// seeds.
    DefaultDomain = "DefaultDomain" {
        DomainUnsupported = "DomainUnsupported",
    }
    /// Reconciling its shoots.
    EmergencyStop = "EmergencyStop" {
        ReconciliationsStopped = "ReconciliationsStopped",
    }
    /// All of its taints tolerated (docs/systems/gardener.md, "Taints").
    Taints = "Taints" {
        Untolerated = "Untolerated",
    }
    /// With DNS, where the shoot needs it. Not among the rules of today.
    Dns = "DNS" {
        DnsDisabled = "DNSDisabled",
    }
    /// With networks that are disjoint from the shoot's: all nine pairs, or by the rules of today those of
    /// IPv6.
    Networks = "Networks" {
        NetworksOverlap = "NetworksOverlap",
        RangeMissing = "RangeMissing",
        RangeReserved = "RangeReserved",
    }
    /// With room for one more control plane.
    Capacity = "Capacity" {
        Full = "Full",
    }
    /// Region and provider that the strategy or the purpose wants. The smallest distance is judged
    /// afterwards, among the remaining seeds.
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
        berth_dialect_testing::documented(
            "gardener",
            Plugin::ALL.map(|plugin| (plugin.name(), plugin.tokens())),
        );
    }
}
