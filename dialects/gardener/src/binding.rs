//! Checks of a manual binding of a shoot to a seed.

mod live;

use std::sync::Arc;

use berth_admission::Denial;
use berth_apimachinery::FieldError;
use berth_scheduling::{Filter, Verdict};
use serde::Deserialize;
use serde_json::Value;

use crate::code::{Code, Plugin};
use crate::decide::fence;
use crate::domain;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;
use crate::fleet::{Fleet, Seats};
use crate::kind::shoot::binding::bind;
use crate::kind::shoot::spec::Shoot;
use crate::request::Request;
use crate::words;
use crate::writes::given;

/// Validates the shoot `new`, which replaces `old` through `shoots/binding`, by Gardener's own rules. If
/// `old` has no seed, sets the fields that a first binding sets ([`bind`]). Returns the fences that the write
/// must pass.
///
/// Checked (docs/systems/gardener.md, "Binding"): the seed exists and is not being deleted, its taints are
/// tolerated, it has room, its labels and provider type are those that the cloud profile requires, its
/// networks and the shoot's are disjoint, it has zones for the control plane, and it offers the access
/// restrictions. When a bound shoot moves, both seeds must have a backup and the domains of the shoot, and
/// must be similar if the shoot moves while it runs. Not checked, so that an operator can bind on purpose:
/// visibility, readiness, region, distance, DNS, zones of workers, the shoot's own labels and provider
/// types, and whether its tolerations are allowed. Whether the name of the seed may change at all is a rule
/// of the kind.
///
/// # Errors
/// [`Denial::Invalid`] with all errors of the binding, at `spec.seedName`; or with the error of a seed
/// selector that cannot be parsed or of a missing cloud profile alone, at that field.
pub fn check_binding(fleet: &Fleet, old: &Value, new: &mut Value) -> Result<Vec<Arc<str>>, Denial> {
    // The kind refuses a body that cannot be parsed or names no seed, with the exact field.
    let Ok(shoot) = Shoot::deserialize(&*new) else {
        return Ok(Vec::new());
    };
    let Some(name) = shoot.spec.seed_name.as_deref().filter(|name| !name.is_empty()) else {
        return Ok(Vec::new());
    };
    let current_seed = old
        .pointer("/spec/seedName")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    if current_seed == Some(name) {
        return Ok(Vec::new());
    }
    let Some((candidate, row)) = fleet.seed(name) else {
        return Err(Denial::Invalid(vec![FieldError::not_found(
            "spec.seedName",
            name,
        )]));
    };
    let text = |path: &str| new.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let wants = Requirements::read((text("/metadata/namespace"), text("/metadata/name")), &shoot)
        .map_err(|problem| refused("spec.seedSelector", name, problem))?;
    let Some(profile) = fleet.profile_of(&wants) else {
        return Err(Denial::Invalid(vec![FieldError::not_found(
            shoot.spec.profile_path(),
            wants.profile.1,
        )]));
    };
    let seats = Seats::of(
        current_seed,
        old.pointer("/status/seedName").and_then(Value::as_str),
    );
    let request = Request::new(fleet, &wants, profile, &seats.0).for_manual_binding();
    let mut errors = Vec::new();
    let mut refuse = |sentence: String| errors.push(FieldError::invalid("spec.seedName", name, sentence));
    if row.facts.deleting {
        refuse(words::refusal(fleet, row, &wants, None, Code::Deleting.with(0)));
    }
    if !request.profile_admits_provider(row) {
        refuse(words::refusal(
            fleet,
            row,
            &wants,
            None,
            Code::ProviderMismatch.with(0),
        ));
    }
    for filter in Plugin::ALL
        .into_iter()
        .filter(|filter| applies_to_bindings(*filter))
    {
        if let Verdict::Reject(reason) = filter.check(&request, candidate)
            && Code::of_reason(reason) != Code::ZoneMismatch
        {
            refuse(words::refusal(fleet, row, &wants, None, reason));
        }
    }
    if let Some(current_seed) = current_seed {
        backups(fleet, current_seed, row)
            .into_iter()
            .for_each(&mut refuse);
        domains(fleet, current_seed, row, &wants)
            .into_iter()
            .for_each(&mut refuse);
        if let Some((_, from)) = fleet.seed(current_seed) {
            let problems = live::problems(fleet, [from, row], new, &shoot, &wants);
            problems.into_iter().for_each(refuse);
        }
    }
    if !errors.is_empty() {
        return Err(Denial::Invalid(errors));
    }
    if current_seed.is_none() {
        bind(new, name, &given(fleet, row, &wants));
    }
    Ok(vec![fence(name)])
}

/// Whether a filter applies to a manual binding.
const fn applies_to_bindings(filter: Plugin) -> bool {
    match filter {
        Plugin::CloudProfileSelector
        | Plugin::Zones
        | Plugin::AccessRestrictions
        | Plugin::Taints
        | Plugin::Networks
        | Plugin::Capacity => true,
        // Deletion and the profile's provider types are checked separately; an operator may overrule the
        // other filters.
        Plugin::Usable
        | Plugin::Provider
        | Plugin::ShootSelector
        | Plugin::DefaultDomain
        | Plugin::EmergencyStop
        | Plugin::Dns
        | Plugin::Strategy => false,
    }
}

fn refused(path: &str, value: &str, problem: String) -> Denial {
    Denial::Invalid(vec![FieldError::invalid(path, value, problem)])
}

/// Problems of a move without backups: a control plane moves through its backup.
fn backups(fleet: &Fleet, current_seed: &str, row: &Row) -> Vec<String> {
    let without = |row: &Row| row.record.seed.spec.backup.is_none();
    let mut problems = Vec::new();
    let cannot_leave =
        |reason: &str| format!("the shoot cannot leave seed \"{current_seed}\", which {reason}");
    match fleet.seed(current_seed) {
        None => problems.push(cannot_leave("does not exist")),
        Some((_, from)) if without(from) => problems.push(cannot_leave("has no backup (spec.backup)")),
        Some(_) => {}
    }
    if without(row) {
        problems.push(format!(
            "the shoot cannot move to seed \"{}\", which has no backup (spec.backup)",
            row.name
        ));
    }
    problems
}

/// Problems of a move between seeds with different domains: a control plane keeps its domain names.
fn domains(fleet: &Fleet, current_seed: &str, row: &Row, wants: &Requirements) -> Vec<String> {
    let Some((_, from)) = fleet.seed(current_seed) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let [old_domain, new_domain] = [from, row].map(|row| row.record.seed.spec.internal_domain());
    if old_domain != new_domain {
        problems.push(format!(
            "the shoot cannot move from seed \"{current_seed}\" with the internal domain \"{old_domain}\" to seed \"{}\" with \"{new_domain}\" \
             (spec.dns.internal.domain)",
            row.name
        ));
    }
    let default =
        domain::above(from, wants).filter(|default| !row.facts.domains.iter().any(|own| own == default));
    if let Some(default) = default {
        problems.push(format!(
            "the shoot cannot move to seed \"{}\", which does not have the default domain \"{default}\" that the shoot's \
             own is below (spec.dns.defaults)",
            row.name
        ));
    }
    problems
}

#[cfg(test)]
mod tests;
