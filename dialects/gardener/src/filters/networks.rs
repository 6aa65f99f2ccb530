//! Networks of a shoot and of its seed (docs/systems/gardener.md, "Networks").

use berth_dialect_contract::rules::Rules;
use berth_scheduling::Verdict;

use crate::cidr::Range;
use crate::code::Code;
use crate::fleet::seed::{Row, reserved};
use crate::fleet::shoot::{StatusNetworks, Wants};

/// Offset of the bits about ranges in a shoot's status above the bits about ranges in its spec: for single
/// ranges, and for pairs.
pub(crate) const HELD: u32 = 3;
pub(crate) const HELD_PAIRS: u32 = 9;

/// Judges the ranges of a shoot that asks for `wants` on the seed of `row`.
pub(super) fn check(row: &Row, wants: &Wants, rules: Rules) -> Verdict {
    let defaults = defaults(row, wants);
    let ranges = [0, 1, 2].map(|index: usize| wants.networks[index].or(defaults[index]));
    let held = wants.held.as_ref();
    // Addresses of IPv6 come with the nodes.
    let missing = if wants.families.has_four() {
        absent(wants, [ranges[1].is_none(), ranges[2].is_none()])
    } else {
        0
    };
    let missing_of =
        |held: &StatusNetworks| absent(wants, [1, 2].map(|index: usize| held.networks[index].is_empty()));
    match missing | held.map_or(0, missing_of) << HELD {
        0 => {}
        bits => return Verdict::Reject(Code::RangeMissing.with(bits)),
    }
    let given: u32 = (0..3)
        .filter(|&index: &usize| wants.networks[index].is_none() && !defaults[index].is_none())
        .map(|index| 1 << index)
        .sum();
    let of_status = held.map_or(0, |held| any(held, |ranges| reserved(&ranges)));
    match wants.reserved | (given & row.facts.reserved) | of_status << HELD {
        0 => {}
        bits => return Verdict::Reject(Code::RangeReserved.with(bits)),
    }
    let of_status = held.map_or(0, |held| any(held, |ranges| overlaps(row, &ranges, rules)));
    match overlaps(row, &ranges, rules) | of_status << HELD_PAIRS {
        0 => Verdict::Pass,
        pairs => Verdict::Reject(Code::NetworksOverlap.with(pairs)),
    }
}

/// The bits of the ranges that a shoot needs, of those for pods and services that are `absent`.
fn absent(wants: &Wants, [pods, services]: [bool; 2]) -> u32 {
    u32::from(pods && !wants.workerless) << 1 | u32::from(services) << 2
}

/// Union of `of` over the ranges in a status, which may have several of a kind.
fn any(held: &StatusNetworks, of: impl Fn([Range; 3]) -> u32) -> u32 {
    let mut bits = 0;
    for (kind, ranges) in held.networks.iter().enumerate() {
        for range in ranges {
            let mut alone = [Range::NONE; 3];
            alone[kind] = *range;
            bits |= of(alone);
        }
    }
    bits
}

/// The seed's ranges for a shoot that names none: those of its families, and none for pods where it has no
/// machines.
fn defaults(row: &Row, wants: &Wants) -> [Range; 3] {
    [0, 1, 2].map(|index: usize| {
        let default = row.facts.defaults[index];
        let fits = wants.families.admit(default) && !(index == 1 && wants.workerless);
        if fits { default } else { Range::NONE }
    })
}

/// Pairs of ranges that meet and must not, as bits: bit `3 * shoot + seed`, each nodes, pods, services. By
/// the rules of today those of IPv4 may, which are mapped.
pub(crate) fn overlaps(row: &Row, ranges: &[Range; 3], rules: Rules) -> u32 {
    let mut pairs = 0;
    for (shoot, range) in ranges.iter().enumerate() {
        if rules == Rules::Current && range.is_four() {
            continue;
        }
        for (seed, other) in row.facts.networks.iter().enumerate() {
            pairs |= u32::from(range.overlaps(*other)) << (3 * shoot + seed);
        }
    }
    pairs
}
