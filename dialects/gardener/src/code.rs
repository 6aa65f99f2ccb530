//! The filters in pipeline order, each with the reasons of its refusals (docs/systems/gardener.md,
//! "Filters").

berth_scheduling::filters! {
    /// The seed is ready, visible to the scheduler, and not being deleted. By the current rules, the seed has
    /// also been reconciled at least once.
    Usable = "Usable" {
        Deleting = "Deleting",
        NotReady = "NotReady",
        NeverReconciled = "NeverReconciled",
        Invisible = "Invisible",
    }
    /// The seed has a provider type that the selectors of the shoot and of its profile admit, or the provider
    /// type of the shoot if neither selector names any. By the current rules, the selector of the shoot does
    /// not count.
    Provider = "Provider" {
        ProviderMismatch = "ProviderMismatch",
    }
    /// The seed has the labels that the cloud profile requires.
    CloudProfileSelector = "CloudProfileSelector" {
        ProfileMismatch = "SelectorMismatch",
    }
    /// The seed has the labels that the shoot requires.
    ShootSelector = "ShootSelector" {
        ShootMismatch = "SelectorMismatch",
    }
    /// The seed has the zones that the control plane and the workers require. Seeds that prefer shoots in
    /// their zones are judged after this filter, among the remaining seeds.
    Zones = "Zones" {
        TooFewZones = "TooFewZones",
        ZonesMissing = "ZonesMissing",
        ZoneMismatch = "ZoneMismatch",
        ZoneNotPreferred = "ZoneNotPreferred",
    }
    /// The seed offers all access restrictions of the shoot.
    AccessRestrictions = "AccessRestrictions" {
        AccessRestricted = "AccessRestricted",
    }
    /// The shoot's own domain is derived from a default domain of the seed (docs/systems/gardener.md,
    /// "Default domains"). The filter only judges seeds that all filters before it admit, and only if the
    /// shoot's domain is below a default domain of one of them.
    DefaultDomain = "DefaultDomain" {
        DomainUnsupported = "DomainUnsupported",
    }
    /// The seed reconciles its shoots.
    EmergencyStop = "EmergencyStop" {
        ReconciliationsStopped = "ReconciliationsStopped",
    }
    /// The shoot tolerates all taints of the seed (docs/systems/gardener.md, "Taints").
    Taints = "Taints" {
        Untolerated = "Untolerated",
    }
    /// The seed has DNS, if the shoot needs DNS. The current rules do not include this filter.
    Dns = "DNS" {
        DnsDisabled = "DNSDisabled",
    }
    /// The ranges of nodes, pods and services of the seed do not overlap with those of the shoot: all nine
    /// pairs, or only the pairs of IPv6 ranges by the current rules.
    Networks = "Networks" {
        NetworksOverlap = "NetworksOverlap",
        RangeMissing = "RangeMissing",
        RangeReserved = "RangeReserved",
    }
    /// The seed has room for one more control plane.
    Capacity = "Capacity" {
        Full = "Full",
    }
    /// The seed has the region and the provider type that the strategy or the purpose of the shoot requires.
    /// The smallest distance is judged after all filters, among the remaining seeds.
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
