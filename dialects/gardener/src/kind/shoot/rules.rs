//! Rules of a Shoot, except those for immutable fields (docs/systems/gardener.md, "Shoot").

use std::collections::BTreeSet;

use berth_apimachinery::FieldError;
use berth_apimachinery::name::{dns_label, dns_subdomain};

use super::spec::{
    CLOUD_PROFILE, ControlPlane, Dns, INFRASTRUCTURE, NAMESPACED_CLOUD_PROFILE, Networking, Shoot,
    Toleration, ZONE,
};
use crate::kind::common::{
    AccessRestriction, check_cidr, check_disjoint, check_families, check_ip_families, check_label_key,
    check_label_value, check_required,
};
use crate::names::GARDEN_NAMESPACE;

/// All errors of a shoot in `namespace` by the rules that apply at every write.
pub(super) fn check(shoot: &Shoot, namespace: &str) -> Vec<FieldError> {
    let spec = &shoot.spec;
    let mut errors = Vec::new();
    check_profile(&mut errors, shoot);
    check_required(
        &mut errors,
        "spec.region",
        &spec.region,
        "must be the region of the cluster",
    );
    check_required(
        &mut errors,
        "spec.provider.type",
        &spec.provider.r#type,
        "must be the provider type, such as \"aws\"",
    );
    if spec.purpose.as_deref() == Some(INFRASTRUCTURE) && namespace != GARDEN_NAMESPACE {
        let supported = ["evaluation", "testing", "development", "production"];
        errors.push(FieldError::not_supported(
            "spec.purpose",
            "infrastructure",
            &supported,
        ));
    }
    if let Some(networking) = &spec.networking {
        check_cidr(&mut errors, "spec.networking.nodes", networking.nodes.as_deref());
        check_cidr(&mut errors, "spec.networking.pods", networking.pods.as_deref());
        check_cidr(
            &mut errors,
            "spec.networking.services",
            networking.services.as_deref(),
        );
        check_ip_families(&mut errors, "spec.networking.ipFamilies", &networking.ip_families);
    }
    if let Some(control_plane) = &spec.control_plane {
        check_zones(&mut errors, control_plane);
    }
    check_access_restrictions(&mut errors, &spec.access_restrictions);
    if let Some(dns) = &spec.dns {
        check_dns(&mut errors, dns);
    }
    check_names(&mut errors, shoot);
    if let Some(selector) = &spec.seed_selector {
        errors.extend(selector.compile("spec.seedSelector").err().into_iter().flatten());
    }
    check_tolerations(&mut errors, "spec.tolerations", &spec.tolerations);
    errors
}

/// Checks that access restrictions have names, and that no name is repeated.
fn check_access_restrictions(errors: &mut Vec<FieldError>, restrictions: &[AccessRestriction]) {
    let mut seen = BTreeSet::new();
    for (index, restriction) in restrictions.iter().enumerate() {
        let path = format!("spec.accessRestrictions[{index}]");
        check_required(
            errors,
            &format!("{path}.name"),
            &restriction.name,
            "must be the name of an access restriction that seeds offer",
        );
        if !seen.insert(restriction.name.as_str()) {
            errors.push(FieldError::duplicate(path, restriction.name.as_str()));
        }
    }
}

/// Checks the zones of the control plane, if any are set: one zone, or three different zones if the control
/// plane tolerates the loss of a zone.
fn check_zones(errors: &mut Vec<FieldError>, control_plane: &ControlPlane) {
    const PATH: &str = "spec.controlPlane.zones";
    let zones = &control_plane.zones;
    let availability = control_plane.high_availability.as_ref();
    let expected = match availability {
        Some(availability) if availability.failure_tolerance.r#type == ZONE => 3,
        _ => 1,
    };
    if !zones.is_empty() && zones.len() != expected {
        let detail = match expected {
            3 => "must be exactly 3 zones, since failureTolerance.type is zone",
            _ => "must be exactly 1 zone, unless failureTolerance.type is zone",
        };
        errors.push(FieldError::invalid(PATH, zones.clone(), detail));
    }
    let mut seen = BTreeSet::new();
    for (index, zone) in zones.iter().enumerate() {
        if !seen.insert(zone) {
            errors.push(FieldError::duplicate(format!("{PATH}[{index}]"), zone.as_str()));
        }
    }
}

/// Errors of the shoot's own ranges: the ranges must not overlap with one another, and each must be of an IP
/// family of the shoot. Callers only check this when the networking changes, so that a stored shoot can still
/// be updated.
pub(super) fn range_errors(networking: &Networking) -> Vec<FieldError> {
    let own_ranges = [
        ("spec.networking.nodes", networking.nodes.as_deref()),
        ("spec.networking.pods", networking.pods.as_deref()),
        ("spec.networking.services", networking.services.as_deref()),
    ];
    let mut errors = Vec::new();
    check_families(&mut errors, &networking.ip_families, &own_ranges);
    check_disjoint(&mut errors, &own_ranges);
    errors
}

/// The error of a shoot of Kubernetes 1.34 or newer that sets `spec.cloudProfileName`, the older field for
/// the profile. A stored shoot may keep the field.
pub(super) fn old_profile_field_error(shoot: &Shoot, old: Option<&Shoot>) -> Option<FieldError> {
    let name_and_form = |shoot: &Shoot| {
        let name = shoot.spec.cloud_profile_name.clone();
        (
            name.filter(|name| !name.is_empty()),
            shoot.spec.has_only_profile_reference(),
        )
    };
    let is_refused = matches!(name_and_form(shoot), (Some(_), true))
        && old.map(name_and_form) != Some(name_and_form(shoot));
    is_refused.then(|| {
        let detail =
            "cannot be set for Kubernetes 1.34 and newer: name the profile in spec.cloudProfile.name";
        FieldError::forbidden("spec.cloudProfileName", detail)
    })
}

fn check_profile(errors: &mut Vec<FieldError>, shoot: &Shoot) {
    const PATH: &str = "spec.cloudProfile.name";
    const HINT: &str = "must name the shoot's cloud profile";
    match &shoot.spec.cloud_profile {
        Some(reference) => {
            check_required(errors, PATH, &reference.name, HINT);
            if !["", CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE].contains(&reference.kind.as_str()) {
                let supported = [CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE];
                let kind = reference.kind.as_str();
                errors.push(FieldError::not_supported(
                    "spec.cloudProfile.kind",
                    kind,
                    &supported,
                ));
            }
        }
        None => {
            let name = shoot.spec.cloud_profile_name.as_deref().unwrap_or_default();
            match shoot.spec.has_only_profile_reference() {
                true => check_required(errors, PATH, name, HINT),
                false => check_required(
                    errors,
                    "spec.cloudProfileName",
                    name,
                    &format!("{HINT}, here or in {PATH}"),
                ),
            }
        }
    }
}

/// Checks the domain, and that at most one of the providers is primary.
fn check_dns(errors: &mut Vec<FieldError>, dns: &Dns) {
    if let Some(domain) = &dns.domain
        && let Err(problem) = dns_subdomain(domain)
    {
        errors.push(FieldError::invalid("spec.dns.domain", domain.as_str(), problem));
    }
    let mut has_primary = false;
    for (index, provider) in dns.providers.iter().enumerate() {
        let path = format!("spec.dns.providers[{index}]");
        let unmanaged = provider.r#type.as_deref() == Some("unmanaged");
        let credentials = [
            ("secretName", provider.secret_name.is_some()),
            ("credentialsRef", provider.credentials_ref.is_some()),
        ];
        for (field, _) in credentials.iter().filter(|(_, given)| unmanaged && *given) {
            let detail = "an unmanaged provider has no credentials";
            errors.push(FieldError::forbidden(format!("{path}.{field}"), detail));
        }
        if provider.primary == Some(true) {
            if has_primary {
                let detail = "another provider is primary already; at most one is allowed";
                errors.push(FieldError::forbidden(format!("{path}.primary"), detail));
            }
            has_primary = true;
            if !unmanaged && dns.domain.is_none() {
                errors.push(FieldError::required(
                    "spec.dns.domain",
                    "a primary provider needs the domain it manages",
                ));
            }
        }
    }
}

/// Checks the form of the names of the seed and the scheduler.
fn check_names(errors: &mut Vec<FieldError>, shoot: &Shoot) {
    if let Some(name) = &shoot.spec.seed_name
        && let Err(problem) = dns_subdomain(name)
    {
        errors.push(FieldError::invalid("spec.seedName", name.as_str(), problem));
    }
    if let Some(name) = &shoot.spec.scheduler_name
        && let Err(problem) = dns_label(name)
    {
        errors.push(FieldError::invalid("spec.schedulerName", name.as_str(), problem));
    }
}

/// Checks the keys and values of `tolerations`, which are at `list_path`, and refuses repeated tolerations.
pub(crate) fn check_tolerations(errors: &mut Vec<FieldError>, list_path: &str, tolerations: &[Toleration]) {
    let mut seen = BTreeSet::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = format!("{list_path}[{index}]");
        let key = toleration.key.as_str();
        if key.is_empty() {
            errors.push(FieldError::required(
                format!("{path}.key"),
                "must be the key of a taint",
            ));
            continue;
        }
        if let Err(problem) = check_label_key(key) {
            errors.push(FieldError::invalid(format!("{path}.key"), key, problem));
        }
        let value = toleration.value.as_deref().unwrap_or_default();
        if let Err(problem) = check_label_value(value) {
            errors.push(FieldError::invalid(format!("{path}.value"), value, problem));
        }
        // As in Gardener, a toleration without a value makes every later toleration of its key a duplicate.
        if seen.contains(&(key, "")) || !seen.insert((key, value)) {
            errors.push(FieldError::duplicate(path, format!("{key}={value}")));
        }
    }
}
