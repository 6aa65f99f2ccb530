//! The filter Zones, over the availability zones of a seed, a control plane and workers
//! (docs/systems/gardener.md, "Zones").

use berth_scheduling::Verdict;

use crate::code::Code;
use crate::fleet::seed::{SeedFacts, ZoneMode};
use crate::fleet::shoot::Requirements;

/// The number of zones of a seed that a control plane requires to survive the loss of a zone.
pub(crate) const MIN_ZONES: usize = 3;

/// Judges a seed by itself. The preferences of seeds are judged later, among the remaining seeds
/// (`crate::comparison`).
pub(super) fn check(facts: &SeedFacts, requirements: &Requirements) -> Verdict {
    if requirements.survives_zone_loss {
        return Code::TooFewZones.unless(facts.zones.len() >= MIN_ZONES);
    }
    if !requirements.control_plane_zones.is_empty() {
        let has = |zone| facts.zones.contains(zone);
        return Code::ZonesMissing.unless(requirements.control_plane_zones.iter().all(has));
    }
    let fits = facts.zone_mode != ZoneMode::Enforce
        || requirements.worker_zones.is_empty()
        || has_worker_zone(facts, requirements);
    Code::ZoneMismatch.unless(fits)
}

/// Whether a zone of the shoot's workers is a zone of the seed.
pub(crate) fn has_worker_zone(facts: &SeedFacts, requirements: &Requirements) -> bool {
    requirements
        .worker_zones
        .iter()
        .any(|zone| facts.zones.contains(zone))
}

/// Whether seeds with [`ZoneMode::Prefer`] prefer the shoot by the zones of its workers: the shoot names such
/// zones, and its control plane requires no zones.
pub(crate) fn prefers_worker_zones(requirements: &Requirements) -> bool {
    !requirements.survives_zone_loss
        && requirements.control_plane_zones.is_empty()
        && !requirements.worker_zones.is_empty()
}
