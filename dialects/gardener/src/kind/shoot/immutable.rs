//! What may not change in a Shoot, and through which door `spec.seedName` changes (docs/systems/gardener.md, "Shoot"
//! and "Binding").

use meta::FieldError;
use meta::kind::Via;
use serde_json::Value;

use super::BINDING;
use super::binding;
use super::spec::{Networking, Shoot};
use crate::kind::common::immutable;

/// A shoot before and after a write, read and raw.
#[derive(Clone, Copy)]
pub(super) struct Changed<'a> {
    pub(super) old: &'a Shoot,
    pub(super) new: &'a Shoot,
    pub(super) old_value: &'a Value,
    pub(super) new_value: &'a Value,
}

impl Changed<'_> {
    fn spec(&self) -> bool {
        self.old_value.get("spec") != self.new_value.get("spec")
    }
}

/// Every rule about the change from old to new.
pub(super) fn check(via: Via, changed: &Changed<'_>) -> Vec<FieldError> {
    if matches!(via, Via::Subresource(name) if name != BINDING) {
        return Vec::new();
    }
    let (old, new) = (&changed.old.spec, &changed.new.spec);
    let mut errors = Vec::new();
    if changed.spec() {
        errors.extend(frozen(changed));
    }
    if via == Via::Subresource(BINDING) {
        errors.extend(binding::check_seed_name(changed.old_value, changed.new_value));
    } else if old.seed_name != new.seed_name {
        errors.push(FieldError::forbidden("spec.seedName", binding::ONLY_BY_BINDING));
    }
    if old.profile().is_some() && old.profile() != new.profile() {
        let path = if new.cloud_profile.is_some() {
            "spec.cloudProfile"
        } else {
            "spec.cloudProfileName"
        };
        let name = new.profile().map(|(_, name)| name).unwrap_or_default();
        errors.push(FieldError::invalid(path, name, "field is immutable"));
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

/// The spec stands still while the shoot is deleted and while its control plane moves between seeds.
fn frozen(changed: &Changed<'_>) -> Option<FieldError> {
    let deleting = changed
        .old_value
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|at| !at.is_null());
    if deleting {
        return Some(FieldError::forbidden(
            "spec",
            "cannot be changed while the shoot is being deleted",
        ));
    }
    let operation = changed.old.status.last_operation.as_ref();
    let (kind, state) = operation.map_or(("", ""), |operation| (&operation.r#type, &operation.state));
    let apart = match (&changed.old.spec.seed_name, &changed.old.status.seed_name) {
        (Some(wanted), Some(actual)) => wanted != actual,
        _ => false,
    };
    let moving = apart || kind == "Migrate" || (kind == "Restore" && state != "Succeeded");
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
        "spec.networking.nodes",
        old.nodes.as_deref(),
        new.nodes.as_deref(),
    );
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
}
