//! Immutable fields of a Shoot, and the rules for changes of `spec.seedName` (docs/systems/gardener.md,
//! "Shoot" and "Binding").

use berth_apimachinery::{FieldError, Via};
use serde_json::Value;

use super::BINDING;
use super::binding;
use super::spec::{ControlPlane, Networking, Shoot, ShootSpec, ZONE};
use crate::cidr::FAMILIES;
use crate::kind::common::{LastOperation, immutable};

/// A shoot before and after a write, parsed and raw.
#[derive(Clone, Copy)]
pub(super) struct ShootUpdate<'a> {
    pub(super) old: &'a Shoot,
    pub(super) new: &'a Shoot,
    pub(super) old_value: &'a Value,
    pub(super) new_value: &'a Value,
}

impl ShootUpdate<'_> {
    fn changes_spec(&self) -> bool {
        self.old_value.get("spec") != self.new_value.get("spec")
    }
}

/// Checks every rule about the change from old to new. Writes through subresources other than the binding are
/// not checked.
pub(super) fn check(via: Via, update: &ShootUpdate<'_>) -> Vec<FieldError> {
    if matches!(via, Via::Subresource(name) if name != BINDING) {
        return Vec::new();
    }
    let (old, new) = (&update.old.spec, &update.new.spec);
    let mut errors = Vec::new();
    if update.changes_spec() {
        errors.extend(frozen(update));
    }
    if via == Via::Subresource(BINDING) {
        errors.extend(binding::check_seed_name(update.old_value, update.new_value));
    } else if old.seed_name != new.seed_name {
        errors.push(FieldError::forbidden("spec.seedName", binding::ONLY_BY_BINDING));
    }
    if via == Via::Subresource(BINDING) && old.profile() != new.profile() {
        // In other writes, `crate::agreement` checks the change against the stored profiles.
        errors.push(FieldError::forbidden(
            new.profile_path(),
            "a binding cannot change the cloud profile",
        ));
    }
    immutable(&mut errors, "spec.region", Some(&old.region), Some(&new.region));
    immutable(
        &mut errors,
        "spec.provider.type",
        Some(&old.provider.r#type),
        Some(&new.provider.r#type),
    );
    immutable(
        &mut errors,
        "spec.schedulerName",
        old.scheduler_name.as_deref(),
        new.scheduler_name.as_deref(),
    );
    networking(&mut errors, old.networking.as_ref(), new.networking.as_ref());
    zones(
        &mut errors,
        old.control_plane.as_ref(),
        new.control_plane.as_ref(),
    );
    tolerance(&mut errors, old, new);
    let domain = |dns: Option<&super::spec::Dns>| dns.and_then(|dns| dns.domain.clone());
    let (old_domain, new_domain) = (domain(old.dns.as_ref()), domain(new.dns.as_ref()));
    immutable(
        &mut errors,
        "spec.dns.domain",
        old_domain.as_deref(),
        new_domain.as_deref(),
    );
    errors
}

/// The error of a changed spec while the shoot is being deleted, or its control plane moves between seeds.
fn frozen(update: &ShootUpdate<'_>) -> Option<FieldError> {
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

fn networking(errors: &mut Vec<FieldError>, old: Option<&Networking>, new: Option<&Networking>) {
    let Some(old) = old else { return };
    let none = Networking::default();
    let new = new.unwrap_or(&none);
    immutable(
        errors,
        "spec.networking.pods",
        old.pods.as_deref(),
        new.pods.as_deref(),
    );
    immutable(
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
    let grows = |one: &[String], other: &[String]| one == [FAMILIES[0]] && other == FAMILIES;
    if old_families != new_families
        && !grows(&old_families, &new_families)
        && !grows(&new_families, &old_families)
    {
        let detail = format!(
            "cannot change from {} to {}",
            old_families.join(", "),
            new_families.join(", ")
        );
        errors.push(FieldError::forbidden("spec.networking.ipFamilies", detail));
    }
}

/// Refuses a change of the control plane's failure tolerance, once it is set and the shoot has a seed.
fn tolerance(errors: &mut Vec<FieldError>, old: &ShootSpec, new: &ShootSpec) {
    let tolerance_of = |spec: &ShootSpec| spec.failure_tolerance().map(str::to_owned);
    if new.seed_name.is_some() {
        immutable(
            errors,
            "spec.controlPlane.highAvailability.failureTolerance.type",
            tolerance_of(old).as_deref(),
            tolerance_of(new).as_deref(),
        );
    }
}

/// Refuses a change of the control plane's zones, unless all are removed, or zones are added while the
/// failure tolerance becomes `zone`.
fn zones(errors: &mut Vec<FieldError>, old: Option<&ControlPlane>, new: Option<&ControlPlane>) {
    const PATH: &str = "spec.controlPlane.zones";
    let zones_of = |plane: Option<&ControlPlane>| plane.map(|plane| plane.zones.clone()).unwrap_or_default();
    let (old_zones, new_zones) = (zones_of(old), zones_of(new));
    if old_zones == new_zones || new_zones.is_empty() {
        return;
    }
    let survives = |plane: Option<&ControlPlane>| {
        let availability = plane.and_then(|plane| plane.high_availability.as_ref());
        availability.is_some_and(|availability| availability.failure_tolerance.r#type == ZONE)
    };
    if old_zones.is_empty() || survives(old) || !survives(new) {
        errors.push(FieldError::forbidden(PATH, "field is immutable"));
    } else if !old_zones.iter().all(|zone| new_zones.contains(zone)) {
        errors.push(FieldError::forbidden(
            PATH,
            "a zone that is there cannot be taken away when others are added",
        ));
    }
}
