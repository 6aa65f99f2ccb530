//! Rules of a Seed (docs/systems/gardener.md, "Seed").

use std::collections::BTreeSet;

use berth_apimachinery::FieldError;
use berth_apimachinery::quantity::Quantity;

use super::spec::{Seed, SeedBackup, SeedNetworks};
use crate::cidr::{FAMILIES, Families, Range};
use crate::kind::common::{
    check_cidr, check_disjoint, check_families, check_immutable, check_ip_families, check_required,
    check_unreserved,
};

/// All errors of `seed`, and of its changes if there is a stored seed `old`.
pub(super) fn check(seed: &Seed, old: Option<&Seed>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let provider = &seed.spec.provider;
    check_required(
        &mut errors,
        "spec.provider.type",
        &provider.r#type,
        "must be the provider type, such as \"aws\"",
    );
    check_required(
        &mut errors,
        "spec.provider.region",
        &provider.region,
        "must be the region of the seed",
    );
    check_zones(&mut errors, &provider.zones);
    let settings = seed.spec.settings.as_ref();
    if settings.is_some_and(|settings| settings.zone_selection.is_some()) && provider.zones.is_empty() {
        let detail = "may only be set for a seed with spec.provider.zones";
        errors.push(FieldError::forbidden("spec.settings.zoneSelection", detail));
    }
    check_networks(&mut errors, &seed.spec.networks);
    check_taints(&mut errors, seed);
    if let Some(backup) = &seed.spec.backup {
        check_required(
            &mut errors,
            "spec.backup.provider",
            &backup.provider,
            "must be the provider type of the backup bucket",
        );
    }
    check_amounts(&mut errors, seed);
    if let Some(old) = old {
        check_network_changes(&mut errors, &seed.spec.networks, &old.spec.networks);
        check_backup_changes(&mut errors, seed.spec.backup.as_ref(), old.spec.backup.as_ref());
    }
    errors
}

fn check_zones(errors: &mut Vec<FieldError>, zones: &[String]) {
    let mut seen = BTreeSet::new();
    for (index, zone) in zones.iter().enumerate() {
        if !seen.insert(zone) {
            errors.push(FieldError::duplicate(
                format!("spec.provider.zones[{index}]"),
                zone.as_str(),
            ));
        }
    }
}

/// Checks the ranges of a seed and its default ranges for shoots. Each must be a CIDR of an IP family of the
/// seed, and must not overlap with a range that Gardener reserves. The ranges of the seed must not overlap
/// with one another, nor the default ranges with one another. A default range of IPv4 may overlap with a
/// range of the seed, since Gardener maps IPv4 addresses.
fn check_networks(errors: &mut Vec<FieldError>, networks: &SeedNetworks) {
    check_required(
        errors,
        "spec.networks.pods",
        &networks.pods,
        "must be the CIDR of the seed's pods",
    );
    check_required(
        errors,
        "spec.networks.services",
        &networks.services,
        "must be the CIDR of the seed's services",
    );
    let defaults = networks.shoot_defaults.as_ref();
    let own_ranges = [
        ("spec.networks.nodes", networks.nodes.as_deref()),
        (
            "spec.networks.pods",
            Some(networks.pods.as_str()).filter(|text| !text.is_empty()),
        ),
        (
            "spec.networks.services",
            Some(networks.services.as_str()).filter(|text| !text.is_empty()),
        ),
    ];
    let default_ranges = [
        (
            "spec.networks.shootDefaults.pods",
            defaults.and_then(|defaults| defaults.pods.as_deref()),
        ),
        (
            "spec.networks.shootDefaults.services",
            defaults.and_then(|defaults| defaults.services.as_deref()),
        ),
    ];
    check_ip_families(errors, "spec.networks.ipFamilies", &networks.ip_families);
    for (path, text) in own_ranges.iter().chain(&default_ranges) {
        check_cidr(errors, path, *text);
    }
    for ranges in [&own_ranges[..], &default_ranges[..]] {
        check_families(errors, &networks.ip_families, ranges);
        check_unreserved(errors, ranges);
        check_disjoint(errors, ranges);
    }
    check_ipv6_defaults(errors, &own_ranges, &default_ranges);
}

/// Refuses default ranges of IPv6 that overlap with ranges of the seed.
fn check_ipv6_defaults(
    errors: &mut Vec<FieldError>,
    own_ranges: &[(&'static str, Option<&str>)],
    default_ranges: &[(&'static str, Option<&str>)],
) {
    let ipv6 = Families::of([FAMILIES[1]]);
    for default in default_ranges {
        let is_ipv6 = |text: &str| Range::parse(text).is_ok_and(|range| ipv6.admit(range));
        if default.1.is_some_and(is_ipv6) {
            for own_range in own_ranges {
                check_disjoint(errors, &[*own_range, *default]);
            }
        }
    }
}

fn check_taints(errors: &mut Vec<FieldError>, seed: &Seed) {
    let mut seen = BTreeSet::new();
    for (index, taint) in seed.spec.taints.iter().enumerate() {
        let path = format!("spec.taints[{index}]");
        check_required(
            errors,
            &format!("{path}.key"),
            &taint.key,
            "must be the key of the taint",
        );
        let value = taint.value.as_deref().unwrap_or_default();
        if !seen.insert((&taint.key, value)) {
            errors.push(FieldError::duplicate(path, format!("{}={value}", taint.key)));
        }
    }
}

fn check_amounts(errors: &mut Vec<FieldError>, seed: &Seed) {
    for (field, amounts) in [
        ("allocatable", &seed.status.allocatable),
        ("capacity", &seed.status.capacity),
    ] {
        for (name, amount) in amounts {
            if let Err(problem) = Quantity::parse(&amount.0) {
                let path = format!("status.{field}[{name}]");
                errors.push(FieldError::invalid(path, amount.0.as_str(), problem));
            }
        }
    }
}

fn check_network_changes(errors: &mut Vec<FieldError>, new: &SeedNetworks, old: &SeedNetworks) {
    check_immutable(
        errors,
        "spec.networks.nodes",
        old.nodes.as_deref(),
        new.nodes.as_deref(),
    );
    if !old.ip_families.is_empty() && old.ip_families != new.ip_families {
        let families = new.ip_families.clone();
        errors.push(FieldError::invalid(
            "spec.networks.ipFamilies",
            families,
            "field is immutable",
        ));
    }
    check_immutable(errors, "spec.networks.pods", Some(&old.pods), Some(&new.pods));
    check_immutable(
        errors,
        "spec.networks.services",
        Some(&old.services),
        Some(&new.services),
    );
}

fn check_backup_changes(errors: &mut Vec<FieldError>, new: Option<&SeedBackup>, old: Option<&SeedBackup>) {
    let Some(old) = old else { return };
    let Some(new) = new else {
        errors.push(FieldError::forbidden(
            "spec.backup",
            "the backup of a seed cannot be removed",
        ));
        return;
    };
    check_immutable(
        errors,
        "spec.backup.provider",
        Some(&old.provider),
        Some(&new.provider),
    );
    check_immutable(
        errors,
        "spec.backup.region",
        old.region.as_deref(),
        new.region.as_deref(),
    );
}
