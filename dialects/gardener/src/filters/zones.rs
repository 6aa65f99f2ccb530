//! Availability zones of a seed, of control planes and of workers (docs/systems/gardener.md, "Zones").

use berth_scheduling::Verdict;

use crate::code::Code;
use crate::fleet::seed::{Facts, ZoneMode};
use crate::fleet::shoot::Requirements;

/// Number of zones that a control plane needs to survive the loss of one.
pub(crate) const ENOUGH: usize = 3;

/// Judges the seed by itself. Seeds' preferences are judged among the remaining seeds.
pub(super) fn check(facts: &Facts, wants: &Requirements) -> Verdict {
    if wants.survives_a_zone {
        return Code::TooFewZones.unless(facts.zones.len() >= ENOUGH);
    }
    if !wants.control_plane_zones.is_empty() {
        let has = |zone| facts.zones.contains(zone);
        return Code::ZonesMissing.unless(wants.control_plane_zones.iter().all(has));
    }
    let fits = facts.zone_mode != ZoneMode::Enforce || wants.worker_zones.is_empty() || shares(facts, wants);
    Code::ZoneMismatch.unless(fits)
}

/// Whether workers of the shoot are in a zone of the seed.
pub(crate) fn shares(facts: &Facts, wants: &Requirements) -> bool {
    wants.worker_zones.iter().any(|zone| facts.zones.contains(zone))
}

/// Whether the shoot has zones of workers that matter to a seed with [`ZoneMode::Prefer`].
pub(crate) fn has_a_preference(wants: &Requirements) -> bool {
    !wants.survives_a_zone && wants.control_plane_zones.is_empty() && !wants.worker_zones.is_empty()
}
