//! Immutable fields of a Shoot, and the rules for changes of `spec.seedName` (docs/systems/gardener.md,
//! "Shoot" and "Binding").

use berth_apimachinery::{FieldError, WriteOperation};
use serde_json::Value;

use super::BINDING;
use super::binding;
use super::spec::{ControlPlane, Networking, Shoot, ShootSpec, ZONE};
use crate::cidr::FAMILIES;
use crate::kind::common::{LastOperation, check_immutable};

/// A shoot before and after a write, parsed and raw.
#[derive(Clone, Copy)]
pub(super) struct ShootUpdate<'a> {
    /// The stored shoot.
    pub(super) old: &'a Shoot,
    /// The shoot after the write.
    pub(super) new: &'a Shoot,
    /// The raw object of `old`.
    pub(super) old_value: &'a Value,
    /// The raw object of `new`.
    pub(super) new_value: &'a Value,
}

impl ShootUpdate<'_> {
    fn changes_spec(&self) -> bool {
        self.old_value.get("spec") != self.new_value.get("spec")
    }
}

/// All errors of the changes in `update`. Writes through subresources other than the binding are not checked.
pub(super) fn check(operation: WriteOperation, update: &ShootUpdate<'_>) -> Vec<FieldError> {
    if matches!(operation, WriteOperation::Subresource(name) if name != BINDING) {
        return Vec::new();
    }
    let (old, new) = (&update.old.spec, &update.new.spec);
    let mut errors = Vec::new();
    if update.changes_spec() {
        errors.extend(frozen_spec_error(update));
    }
    if operation == WriteOperation::Subresource(BINDING) {
        errors.extend(binding::check_seed_name(update.old_value, update.new_value));
    } else if old.seed_name != new.seed_name {
        errors.push(FieldError::forbidden("spec.seedName", binding::ONLY_BY_BINDING));
    }
    if operation == WriteOperation::Subresource(BINDING) && old.profile() != new.profile() {
        // In other writes, `crate::cross_checks` checks the change against the stored profiles.
        errors.push(FieldError::forbidden(
            new.profile_path(),
            "a binding cannot change the cloud profile",
        ));
    }
    check_immutable(&mut errors, "spec.region", Some(&old.region), Some(&new.region));
    check_immutable(
        &mut errors,
        "spec.provider.type",
        Some(&old.provider.r#type),
        Some(&new.provider.r#type),
    );
    check_immutable(
        &mut errors,
        "spec.schedulerName",
        old.scheduler_name.as_deref(),
        new.scheduler_name.as_deref(),
    );
    check_networking(&mut errors, old.networking.as_ref(), new.networking.as_ref());
    check_zones(
        &mut errors,
        old.control_plane.as_ref(),
        new.control_plane.as_ref(),
    );
    check_failure_tolerance(&mut errors, old, new);
    let domain = |dns: Option<&super::spec::Dns>| dns.and_then(|dns| dns.domain.clone());
    let (old_domain, new_domain) = (domain(old.dns.as_ref()), domain(new.dns.as_ref()));
    check_immutable(
        &mut errors,
        "spec.dns.domain",
        old_domain.as_deref(),
        new_domain.as_deref(),
    );
    errors
}

/// The error of a changed spec while the shoot is being deleted, or while its control plane moves to another
/// seed.
fn frozen_spec_error(update: &ShootUpdate<'_>) -> Option<FieldError> {
    let deleting = update
        .old_value
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|at| !at.is_null());
    if deleting {
        return Some(FieldError::forbidden(
            "spec",
            "cannot be changed while the shoot is being deleted",
        ));
    }
    let operation = update.old.status.last_operation.as_ref();
    let seeds_differ = match (&update.old.spec.seed_name, &update.old.status.seed_name) {
        (Some(wanted), Some(actual)) => wanted != actual,
        _ => false,
    };
    let moving = seeds_differ || operation.is_some_and(LastOperation::is_move);
    moving.then(|| {
        FieldError::forbidden(
            "spec",
            "cannot be changed while the control plane moves to another seed",
        )
    })
}

fn check_networking(errors: &mut Vec<FieldError>, old: Option<&Networking>, new: Option<&Networking>) {
    // A shoot without networks has the default IP family, as in Gardener.
    let none = Networking::default();
    let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
    check_immutable(
        errors,
        "spec.networking.pods",
        old.pods.as_deref(),
        new.pods.as_deref(),
    );
    check_immutable(
        errors,
        "spec.networking.services",
        old.services.as_deref(),
        new.services.as_deref(),
    );
    let families = |networking: &Networking| match networking.ip_families.as_slice() {
        [] => vec![FAMILIES[0].to_owned()],
        given => given.to_vec(),
    };
    let (old_families, new_families) = (families(old), families(new));
    // IPv6 may be added to IPv4, and removed again.
    let adds_ipv6 = |one: &[String], other: &[String]| one == [FAMILIES[0]] && other == FAMILIES;
    if old_families != new_families
        && !adds_ipv6(&old_families, &new_families)
        && !adds_ipv6(&new_families, &old_families)
    {
        let detail = format!(
            "cannot change from {} to {}",
            old_families.join(", "),
            new_families.join(", ")
        );
        errors.push(FieldError::forbidden("spec.networking.ipFamilies", detail));
    }
}

/// Refuses a change of the control plane's failure tolerance if it was set before and the shoot has a seed.
fn check_failure_tolerance(errors: &mut Vec<FieldError>, old: &ShootSpec, new: &ShootSpec) {
    let tolerance_of = |spec: &ShootSpec| spec.failure_tolerance().map(str::to_owned);
    if new.seed_name.is_some() {
        check_immutable(
            errors,
            "spec.controlPlane.highAvailability.failureTolerance.type",
            tolerance_of(old).as_deref(),
            tolerance_of(new).as_deref(),
        );
    }
}

/// Refuses a change of the control plane's zones, unless all zones are removed, or zones are added to the
/// present zones while the failure tolerance becomes `zone`.
fn check_zones(errors: &mut Vec<FieldError>, old: Option<&ControlPlane>, new: Option<&ControlPlane>) {
    const PATH: &str = "spec.controlPlane.zones";
    let zones_of = |plane: Option<&ControlPlane>| plane.map(|plane| plane.zones.clone()).unwrap_or_default();
    let (old_zones, new_zones) = (zones_of(old), zones_of(new));
    if old_zones == new_zones || new_zones.is_empty() {
        return;
    }
    let tolerates_zone_loss = |plane: Option<&ControlPlane>| {
        let availability = plane.and_then(|plane| plane.high_availability.as_ref());
        availability.is_some_and(|availability| availability.failure_tolerance.r#type == ZONE)
    };
    if old_zones.is_empty() || tolerates_zone_loss(old) || !tolerates_zone_loss(new) {
        errors.push(FieldError::forbidden(PATH, "field is immutable"));
    } else if !old_zones.iter().all(|zone| new_zones.contains(zone)) {
        errors.push(FieldError::forbidden(
            PATH,
            "zones can only be added: the present zones must stay in the list",
        ));
    }
}
