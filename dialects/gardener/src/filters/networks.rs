//! Networks of a shoot and of its seed (docs/systems/gardener.md, "Networks").

use berth_dialect_contract::rules::Rules;
use berth_scheduling::Verdict;

use crate::cidr::Range;
use crate::code::Code;
use crate::fleet::seed::{Row, reserved};
use crate::fleet::shoot::{Requirements, StatusNetworks};

/// Offset of the bits about ranges in a shoot's status above the bits about ranges in its spec.
pub(crate) const HELD: u32 = 3;
/// Offset of the bits about pairs with ranges in a shoot's status above the bits about pairs with ranges in
/// its spec.
pub(crate) const HELD_PAIRS: u32 = 9;

/// Judges the ranges of a shoot with the requirements `wants` on the seed of `row`.
pub(super) fn check(row: &Row, wants: &Requirements, rules: Rules) -> Verdict {
    let defaults = defaults(row, wants);
    let ranges = [0, 1, 2].map(|index: usize| wants.networks[index].or(defaults[index]));
    let held = wants.held.as_ref();
    // A shoot of IPv6 gets its addresses with the nodes.
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
    let defaulted: u32 = (0..3)
        .filter(|&index: &usize| wants.networks[index].is_none() && !defaults[index].is_none())
        .map(|index| 1 << index)
        .sum();
    let of_status = held.map_or(0, |held| any(held, |ranges| reserved(&ranges)));
    match wants.reserved | (defaulted & row.facts.reserved) | of_status << HELD {
        0 => {}
        bits => return Verdict::Reject(Code::RangeReserved.with(bits)),
    }
    let of_status = held.map_or(0, |held| any(held, |ranges| overlaps(row, &ranges, rules)));
    match overlaps(row, &ranges, rules) | of_status << HELD_PAIRS {
        0 => Verdict::Pass,
        pairs => Verdict::Reject(Code::NetworksOverlap.with(pairs)),
    }
}

/// The bits of missing ranges: `pods` and `services` tell whether the range is absent, and a shoot without
/// machines needs none for pods.
fn absent(wants: &Requirements, [pods, services]: [bool; 2]) -> u32 {
    u32::from(pods && !wants.workerless) << 1 | u32::from(services) << 2
}

/// The union of `of` over the ranges in a status, which may have several ranges of a kind.
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

/// The seed's default ranges for a shoot: the ranges of the shoot's families, and none for the pods of a
/// shoot without machines.
fn defaults(row: &Row, wants: &Requirements) -> [Range; 3] {
    [0, 1, 2].map(|index: usize| {
        let default = row.facts.defaults[index];
        let fits = wants.families.admit(default) && !(index == 1 && wants.workerless);
        if fits { default } else { Range::NONE }
    })
}

/// Pairs of ranges that overlap but must not, as bits: bit `3 * shoot + seed`, where 0 is nodes, 1 is pods
/// and 2 is services. By the current rules, ranges of IPv4 may overlap, since they are mapped.
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
