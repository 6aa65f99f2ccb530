//! The filter Networks, over the IP ranges of a shoot and a seed (docs/systems/gardener.md, "Networks").
//! Ranges have the order nodes, pods, services.

use berth_dialect_contract::rules::Rules;
use berth_scheduling::Verdict;

use crate::cidr::Range;
use crate::code::Code;
use crate::fleet::seed::{Row, reserved};
use crate::fleet::shoot::{Requirements, StatusNetworks};

/// The shift of the bits for the three ranges in the status of a shoot, above the bits for the three ranges
/// in the spec.
pub(crate) const STATUS_SHIFT: u32 = 3;
/// The shift of the bits for the nine pairs with ranges in the status of a shoot, above the bits for the nine
/// pairs with ranges in the spec.
pub(crate) const STATUS_PAIR_SHIFT: u32 = 9;

/// Judges the ranges of a shoot against the ranges of the seed in `row`.
pub(super) fn check(row: &Row, requirements: &Requirements, rules: Rules) -> Verdict {
    let defaults = defaults(row, requirements);
    let ranges = [0, 1, 2].map(|index: usize| requirements.networks[index].or(defaults[index]));
    let status = requirements.status_networks.as_ref();
    // A shoot with only IPv6 needs no ranges: it gets its addresses with the nodes.
    let missing = if requirements.families.has_ipv4() {
        absent(requirements, [ranges[1].is_none(), ranges[2].is_none()])
    } else {
        0
    };
    let missing_of = |status: &StatusNetworks| {
        absent(
            requirements,
            [1, 2].map(|index: usize| status.networks[index].is_empty()),
        )
    };
    match missing | status.map_or(0, missing_of) << STATUS_SHIFT {
        0 => {}
        bits => return Verdict::Reject(Code::RangeMissing.with(bits)),
    }
    let defaulted: u32 = (0..3)
        .filter(|&index: &usize| requirements.networks[index].is_none() && !defaults[index].is_none())
        .map(|index| 1 << index)
        .sum();
    let of_status = status.map_or(0, |status| bits_in_status(status, |ranges| reserved(&ranges)));
    match requirements.reserved | (defaulted & row.facts.reserved) | of_status << STATUS_SHIFT {
        0 => {}
        bits => return Verdict::Reject(Code::RangeReserved.with(bits)),
    }
    let of_status = status.map_or(0, |status| {
        bits_in_status(status, |ranges| overlaps(row, &ranges, rules))
    });
    match overlaps(row, &ranges, rules) | of_status << STATUS_PAIR_SHIFT {
        0 => Verdict::Pass,
        pairs => Verdict::Reject(Code::NetworksOverlap.with(pairs)),
    }
}

/// The bits of missing ranges. `pods` and `services` are true if there is no range for them. A shoot without
/// machines needs no range for pods.
fn absent(requirements: &Requirements, [pods, services]: [bool; 2]) -> u32 {
    u32::from(pods && !requirements.workerless) << 1 | u32::from(services) << 2
}

/// The union of the bits that `judge` returns for each range in the status by itself. A status may have
/// several ranges for nodes, pods or services.
fn bits_in_status(status: &StatusNetworks, judge: impl Fn([Range; 3]) -> u32) -> u32 {
    let mut bits = 0;
    for (kind, ranges) in status.networks.iter().enumerate() {
        for range in ranges {
            let mut alone = [Range::NONE; 3];
            alone[kind] = *range;
            bits |= judge(alone);
        }
    }
    bits
}

/// The default ranges of the seed in `row` that apply to a shoot: ranges of the shoot's IP families, and no
/// range for the pods of a shoot without machines.
fn defaults(row: &Row, requirements: &Requirements) -> [Range; 3] {
    [0, 1, 2].map(|index: usize| {
        let default = row.facts.defaults[index];
        let fits = requirements.families.admit(default) && !(index == 1 && requirements.workerless);
        if fits { default } else { Range::NONE }
    })
}

/// The pairs of a range in `ranges` and a range of the seed that must not overlap, but do. The pair has the
/// bit `3 * shoot + seed`, where 0 is nodes, 1 is pods and 2 is services. By the current rules, IPv4 ranges
/// may overlap, since Gardener maps them.
pub(crate) fn overlaps(row: &Row, ranges: &[Range; 3], rules: Rules) -> u32 {
    let mut pairs = 0;
    for (shoot, range) in ranges.iter().enumerate() {
        if rules == Rules::Current && range.is_ipv4() {
            continue;
        }
        for (seed, other) in row.facts.networks.iter().enumerate() {
            pairs |= u32::from(range.overlaps(*other)) << (3 * shoot + seed);
        }
    }
    pairs
}
