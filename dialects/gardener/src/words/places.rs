//! Sentences for refusals by the filters Zones, AccessRestrictions and DefaultDomain.

use berth_scheduling::Reason;

use crate::code::Code;
use crate::domain;
use crate::filters::zones::MIN_ZONES;
use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;

/// The sentence of a refusal of the seed in `row`. `reason` is of the filter Zones, AccessRestrictions or
/// DefaultDomain.
pub(super) fn sentence(fleet: &Fleet, row: &Row, requirements: &Requirements, reason: Reason) -> String {
    let zones = join(&row.facts.zones);
    match Code::of_reason(reason) {
        Code::TooFewZones => format!(
            "the seed has {}, and a control plane that tolerates the loss of a zone needs {MIN_ZONES}",
            zone_count(row.facts.zones.len())
        ),
        Code::ZonesMissing => {
            let required = requirements.control_plane_zones.iter();
            let missing: Vec<&str> = required
                .filter(|zone| !row.facts.zones.contains(zone))
                .map(String::as_str)
                .collect();
            format!(
                "the seed has no zone {}, which the shoot sets in spec.controlPlane.zones; the zones of the seed: {zones}",
                missing.join(" and no zone ")
            )
        }
        Code::ZoneMismatch => format!(
            "the seed only accepts shoots with workers in its zones (spec.settings.zoneSelection.mode is Enforce): its zones are \
             {zones}, the zones of the shoot's workers are {}",
            join(&requirements.worker_zones)
        ),
        Code::ZoneNotPreferred => format!(
            "the seed prefers shoots with workers in its zones (spec.settings.zoneSelection.mode is Prefer): its zones are {zones}, \
             the zones of the shoot's workers are {}, and seed \"{}\" suits the shoot better",
            join(&requirements.worker_zones),
            fleet.row(reason.detail).name
        ),
        Code::AccessRestricted => {
            let required = requirements.restrictions.iter();
            let missing: Vec<String> = required
                .filter(|name| !row.facts.restrictions.contains(name))
                .cloned()
                .collect();
            format!(
                "the seed does not offer the access restrictions {}",
                join(&missing)
            )
        }
        _ => domain_unsupported(fleet, row, requirements, reason),
    }
}

/// The number of zones in words, such as `1 zone`.
fn zone_count(count: usize) -> String {
    format!("{count} zone{}", if count == 1 { "" } else { "s" })
}

/// The sentence for the domain of a shoot that does not follow from a default domain of the seed.
fn domain_unsupported(fleet: &Fleet, row: &Row, requirements: &Requirements, reason: Reason) -> String {
    let own_domain = requirements.domain.as_deref().unwrap_or_default();
    let project = fleet.project_name(&requirements.namespace);
    if let Some(default) = domain::default_of(row, requirements) {
        return format!(
            "the shoot's domain is {own_domain}; for the seed's default domain {default}, it must be {}",
            domain::derived(requirements, project, default)
        );
    }
    let other = fleet.row(reason.detail);
    let default = domain::default_of(other, requirements).unwrap_or_default();
    let own_defaults = match &*row.facts.domains {
        [] => "has no default domain".to_owned(),
        domains => format!("has the default domains {}", join(domains)),
    };
    format!(
        "the shoot's domain {own_domain} is below {default}, a default domain of seed \"{}\"; this seed {own_defaults}",
        other.name
    )
}

/// The `names` in a list; `none` if there are no names.
fn join(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
