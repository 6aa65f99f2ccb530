//! Sentences about zones, access restrictions and default domains.

use berth_scheduling::Reason;

use crate::code::Code;
use crate::domain;
use crate::filters::zones::ENOUGH;
use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;

/// The sentence of one refusal for zones, access restrictions or a default domain.
pub(super) fn sentence(fleet: &Fleet, row: &Row, wants: &Requirements, reason: Reason) -> String {
    let zones = join(&row.facts.zones);
    match Code::of_reason(reason) {
        Code::TooFewZones => format!(
            "the seed has {} zones, and a control plane with failure tolerance zone takes {ENOUGH}",
            row.facts.zones.len()
        ),
        Code::ZonesMissing => {
            let required = wants.control_plane_zones.iter();
            let missing: Vec<&str> = required
                .filter(|zone| !row.facts.zones.contains(zone))
                .map(String::as_str)
                .collect();
            format!(
                "the seed, whose zones are {zones}, has no zone {} of the shoot's spec.controlPlane.zones",
                missing.join(" and no zone ")
            )
        }
        Code::ZoneMismatch => format!(
            "the seed takes only shoots with workers in its zones ({zones}; zoneSelection Enforce), and the shoot's are in {}",
            join(&wants.worker_zones)
        ),
        Code::ZoneNotPreferred => format!(
            "the seed prefers shoots with workers in its zones ({zones}; zoneSelection Prefer), the shoot's are in {}, and \
             there are seeds for these: \"{}\"",
            join(&wants.worker_zones),
            fleet.row(reason.detail).name
        ),
        Code::AccessRestricted => {
            let required = wants.restrictions.iter();
            let missing: Vec<String> = required
                .filter(|name| !row.facts.restrictions.contains(name))
                .cloned()
                .collect();
            format!(
                "the seed does not offer the access restrictions {}",
                join(&missing)
            )
        }
        _ => domain_unsupported(fleet, row, wants, reason),
    }
}

fn domain_unsupported(fleet: &Fleet, row: &Row, wants: &Requirements, reason: Reason) -> String {
    let own_domain = wants.domain.as_deref().unwrap_or_default();
    let project = fleet.project_name(&wants.namespace);
    if let Some(default) = domain::above(row, wants) {
        return format!(
            "below the default domain {default} the shoot's domain would have to be {}, and is {own_domain}",
            domain::of(wants, project, default)
        );
    }
    let other = fleet.row(reason.detail);
    let default = domain::above(other, wants).unwrap_or_default();
    let own_defaults = match &*row.facts.domains {
        [] => "has none".to_owned(),
        domains => format!("has {}", join(domains)),
    };
    format!(
        "the shoot's domain {own_domain} is below the default domain {default} of seed \"{}\", and this seed {own_defaults}",
        other.name
    )
}

fn join(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
