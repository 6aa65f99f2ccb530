//! The filters, in the order of docs/systems/gardener.md, "Filters". Each judges every seed, so that every refusal is
//! known.

use scheduling::{Filter, Ix, Reason, Verdict};

use crate::cidr::Range;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Wants;
use crate::request::{Request, Rule};

/// Why a filter refuses a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub(crate) enum Code {
    Deleting,
    NotReady,
    Invisible,
    ProviderMismatch,
    ProfileMismatch,
    ShootMismatch,
    Untolerated,
    DnsDisabled,
    NetworksOverlap,
    RangeMissing,
    RangeReserved,
    Full,
    NotSameRegion,
    NotSameProvider,
    NotMinimalDistance,
}

impl Code {
    /// Every code, by its number.
    pub(crate) const ALL: [Self; 15] = [
        Self::Deleting,
        Self::NotReady,
        Self::Invisible,
        Self::ProviderMismatch,
        Self::ProfileMismatch,
        Self::ShootMismatch,
        Self::Untolerated,
        Self::DnsDisabled,
        Self::NetworksOverlap,
        Self::RangeMissing,
        Self::RangeReserved,
        Self::Full,
        Self::NotSameRegion,
        Self::NotSameProvider,
        Self::NotMinimalDistance,
    ];

    /// The token.
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Self::Deleting => "Deleting",
            Self::NotReady => "NotReady",
            Self::Invisible => "Invisible",
            Self::ProviderMismatch => "ProviderMismatch",
            Self::ProfileMismatch | Self::ShootMismatch => "SelectorMismatch",
            Self::Untolerated => "Untolerated",
            Self::DnsDisabled => "DNSDisabled",
            Self::NetworksOverlap => "NetworksOverlap",
            Self::RangeMissing => "RangeMissing",
            Self::RangeReserved => "RangeReserved",
            Self::Full => "Full",
            Self::NotSameRegion => "NotSameRegion",
            Self::NotSameProvider => "NotSameProvider",
            Self::NotMinimalDistance => "NotMinimalDistance",
        }
    }

    /// The reason with a detail for its words.
    pub(crate) const fn with(self, detail: u32) -> Reason {
        Reason {
            code: self as u16,
            detail,
        }
    }

    fn refuse(self) -> Verdict {
        Verdict::Reject(self.with(0))
    }
}

/// The filters' names; the last one's place is [`STRATEGY`].
pub(crate) const NAMES: &[&str] = &[
    "Usable",
    "Provider",
    "CloudProfileSelector",
    "ShootSelector",
    "Taints",
    "DNS",
    "Networks",
    "Capacity",
    "Strategy",
];

/// The place of the strategy among the filters.
pub(crate) const STRATEGY: u16 = 8;

/// The filters by place. The strategy refuses nothing here where it must know what the others left.
pub(crate) fn all<'a>() -> [&'a dyn Filter<Request<'a>>; 9] {
    [
        &Usable,
        &Provider,
        &CloudProfileSelector,
        &ShootSelector,
        &Taints,
        &Dns,
        &Networks,
        &Capacity,
        &Strategy,
    ]
}

/// Not being deleted, ready, and visible to the scheduler.
pub(crate) struct Usable;

impl Filter<Request<'_>> for Usable {
    fn name(&self) -> &'static str {
        NAMES[0]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let facts = &request.row(candidate).facts;
        if facts.deleting {
            Code::Deleting.refuse()
        } else if !facts.ready {
            Code::NotReady.refuse()
        } else if !facts.visible {
            Code::Invisible.refuse()
        } else {
            Verdict::Pass
        }
    }
}

/// Of a provider type that both selectors let in; the shoot's own when neither names any.
pub(crate) struct Provider;

impl Filter<Request<'_>> for Provider {
    fn name(&self) -> &'static str {
        NAMES[1]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(
            request.admits_provider(request.row(candidate)),
            Code::ProviderMismatch,
        )
    }
}

/// With the labels the cloud profile asks for.
pub(crate) struct CloudProfileSelector;

impl Filter<Request<'_>> for CloudProfileSelector {
    fn name(&self) -> &'static str {
        NAMES[2]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(
            request
                .profile_labels
                .matches(&request.row(candidate).facts.labels),
            Code::ProfileMismatch,
        )
    }
}

/// With the labels the shoot asks for.
pub(crate) struct ShootSelector;

impl Filter<Request<'_>> for ShootSelector {
    fn name(&self) -> &'static str {
        NAMES[3]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(
            request.shoot_labels.matches(&request.row(candidate).facts.labels),
            Code::ShootMismatch,
        )
    }
}

/// All of its taints tolerated (docs/systems/gardener.md, "Taints").
pub(crate) struct Taints;

/// The detail of [`Code::Untolerated`] when there are more taints than tolerations.
pub(crate) const TOO_FEW_TOLERATIONS: u32 = u32::MAX;

impl Filter<Request<'_>> for Taints {
    fn name(&self) -> &'static str {
        NAMES[4]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        match untolerated(request, request.row(candidate)) {
            Some(detail) => Verdict::Reject(Code::Untolerated.with(detail)),
            None => Verdict::Pass,
        }
    }
}

/// The index of the first taint that is not tolerated.
fn untolerated(request: &Request<'_>, row: &Row) -> Option<u32> {
    let taints = &row.facts.taints;
    let first = (0u32..).zip(taints.iter()).find(|(_, taint)| {
        let tolerated = request
            .tolerations
            .get(taint.key.as_str())
            .is_some_and(|value| taint.value.as_deref().is_none_or(|wanted| wanted == *value));
        !tolerated
    });
    match first {
        Some((index, _)) => Some(index),
        None => (taints.len() > request.toleration_count).then_some(TOO_FEW_TOLERATIONS),
    }
}

/// With DNS, where the shoot needs it.
pub(crate) struct Dns;

impl Filter<Request<'_>> for Dns {
    fn name(&self) -> &'static str {
        NAMES[5]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(
            request.row(candidate).facts.dns || !request.wants.dns,
            Code::DnsDisabled,
        )
    }
}

/// With networks that are disjoint from the shoot's, all nine pairs.
pub(crate) struct Networks;

impl Filter<Request<'_>> for Networks {
    fn name(&self) -> &'static str {
        NAMES[6]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let (row, wants) = (request.row(candidate), request.wants);
        let defaults = defaults(row, wants);
        let ranges = [0, 1, 2].map(|index: usize| wants.networks[index].or(defaults[index]));
        // Addresses of IPv6 come with the nodes.
        let pods = ranges[1].is_none() && !wants.workerless;
        let missing = u32::from(pods) << 1 | u32::from(ranges[2].is_none()) << 2;
        if missing != 0 && wants.families.has_four() {
            return Verdict::Reject(Code::RangeMissing.with(missing));
        }
        let given: u32 = (0..3)
            .filter(|&index: &usize| wants.networks[index].is_none() && !defaults[index].is_none())
            .map(|index| 1 << index)
            .sum();
        match wants.reserved | (given & row.facts.reserved) {
            0 => {}
            bits => return Verdict::Reject(Code::RangeReserved.with(bits)),
        }
        match overlaps(row, &ranges) {
            0 => Verdict::Pass,
            pairs => Verdict::Reject(Code::NetworksOverlap.with(pairs)),
        }
    }
}

/// The seed's ranges for a shoot that names none: those of its families, and none for pods where it has no machines.
fn defaults(row: &Row, wants: &Wants) -> [Range; 3] {
    [0, 1, 2].map(|index: usize| {
        let default = row.facts.defaults[index];
        let fits = wants.families.admit(default) && !(index == 1 && wants.workerless);
        if fits { default } else { Range::NONE }
    })
}

/// The pairs that meet, as bits: bit `3 * shoot + seed`, each nodes, pods, services.
fn overlaps(row: &Row, ranges: &[Range; 3]) -> u32 {
    let mut pairs = 0;
    for (shoot, range) in ranges.iter().enumerate() {
        for (seed, other) in row.facts.networks.iter().enumerate() {
            pairs |= u32::from(range.overlaps(*other)) << (3 * shoot + seed);
        }
    }
    pairs
}

/// With room for one more control plane.
pub(crate) struct Capacity;

impl Filter<Request<'_>> for Capacity {
    fn name(&self) -> &'static str {
        NAMES[7]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        pass(
            request.row(candidate).has_room(request.own_seats(candidate)),
            Code::Full,
        )
    }
}

/// Where the strategy or the purpose wants it. The smallest distance is judged afterwards, on what is left.
pub(crate) struct Strategy;

impl Filter<Request<'_>> for Strategy {
    fn name(&self) -> &'static str {
        NAMES[8]
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        if request.rule == Rule::MinimalDistance {
            return Verdict::Pass;
        }
        let row = request.row(candidate);
        if !request.same_provider(row) {
            Code::NotSameProvider.refuse()
        } else if request.rule == Rule::SameRegion && !request.same_region(row) {
            Code::NotSameRegion.refuse()
        } else {
            Verdict::Pass
        }
    }
}

fn pass(passes: bool, code: Code) -> Verdict {
    if passes { Verdict::Pass } else { code.refuse() }
}

#[cfg(test)]
mod tests;
