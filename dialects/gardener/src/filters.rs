//! The filters, in the order of docs/systems/gardener.md, "Filters". Each judges every seed, so that every refusal is
//! known.

use scheduling::{Filter, Ix, Verdict};

use crate::cidr::Range;
use crate::code::{Code, Plugin};
use crate::fleet::seed::Row;
use crate::fleet::shoot::Wants;
use crate::request::{Request, Rule};

/// The detail of [`Code::Untolerated`] when there are more taints than tolerations.
pub(crate) const TOO_FEW_TOLERATIONS: u32 = u32::MAX;

impl Filter<Request<'_>> for Plugin {
    fn plugin(&self) -> u16 {
        self.number()
    }

    fn check(&self, request: &Request<'_>, candidate: Ix) -> Verdict {
        let row = request.row(candidate);
        let (facts, wants) = (&row.facts, request.wants);
        match self {
            Self::Usable => usable(row),
            Self::Provider => Code::ProviderMismatch.unless(request.admits_provider(row)),
            Self::CloudProfileSelector => {
                Code::ProfileMismatch.unless(request.profile_labels.matches(&facts.labels))
            }
            Self::ShootSelector => Code::ShootMismatch.unless(request.shoot_labels.matches(&facts.labels)),
            Self::Taints => match untolerated(request, row) {
                Some(detail) => Verdict::Reject(Code::Untolerated.with(detail)),
                None => Verdict::Pass,
            },
            Self::Dns => Code::DnsDisabled.unless(facts.dns || !wants.dns),
            Self::Networks => networks(row, wants),
            Self::Capacity => Code::Full.unless(row.has_room(request.own_seats(candidate))),
            Self::Strategy => strategy(request, row),
        }
    }
}

fn usable(row: &Row) -> Verdict {
    let facts = &row.facts;
    if facts.deleting {
        Code::Deleting.refuse()
    } else if !facts.ready {
        Code::NotReady.refuse()
    } else {
        Code::Invisible.unless(facts.visible)
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

fn networks(row: &Row, wants: &Wants) -> Verdict {
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

fn strategy(request: &Request<'_>, row: &Row) -> Verdict {
    if request.rule == Rule::MinimalDistance {
        Verdict::Pass
    } else if !request.same_provider(row) {
        Code::NotSameProvider.refuse()
    } else {
        Code::NotSameRegion.unless(request.rule != Rule::SameRegion || request.same_region(row))
    }
}

#[cfg(test)]
mod tests;
