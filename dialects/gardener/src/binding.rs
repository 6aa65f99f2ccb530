//! The checks of a manual binding of a shoot to a seed through `shoots/binding`.

mod live;

use std::sync::Arc;

use berth_admission::Denial;
use berth_apimachinery::FieldError;
use berth_scheduling::{Filter, Ix, Verdict};
use serde::Deserialize;
use serde_json::Value;

use crate::code::{Code, Plugin};
use crate::decide::fence;
use crate::domain;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Requirements;
use crate::fleet::{Fleet, OccupiedSeeds};
use crate::kind::shoot::binding::bind;
use crate::kind::shoot::spec::Shoot;
use crate::request::Request;
use crate::words;
use crate::writes::seed_defaults;

/// Validates the shoot `new`, which replaces `old` through `shoots/binding`, by Gardener's own rules
/// (docs/systems/gardener.md, "Binding"). If `old` has no seed, sets the fields that a first binding sets
/// ([`bind`]). Returns the fences that the write must pass.
///
/// The checks of the seed: it exists and is not being deleted, the shoot tolerates its taints, it has room,
/// it has the labels and the provider type that the cloud profile requires, its networks do not overlap with
/// those of the shoot, it has zones for the control plane, and it offers the access restrictions of the
/// shoot. The checks of a move from another seed: both seeds have a backup and the domains of the shoot, and
/// a live migration is possible if the shoot requests one.
///
/// Not checked are visibility, readiness, region, distance, DNS, zones of workers, an emergency stop, the
/// default domain of a first binding, labels and provider types that the shoot itself requires, and whether
/// its tolerations are allowed: an operator may bind a shoot in spite of them. The kind decides whether the
/// name of the seed may change at all.
///
/// # Errors
/// [`Denial::Invalid`] with all errors of the binding at `spec.seedName`, or with the single error of an
/// unknown seed, an invalid seed selector or a missing cloud profile.
pub fn check_binding(fleet: &Fleet, old: &Value, new: &mut Value) -> Result<Vec<Arc<str>>, Denial> {
    // The kind refuses a Shoot that cannot be parsed or names no seed, with the exact field.
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
        return Err(missing("spec.seedName", name, fleet.seed_problem(name)));
    };
    let text = |path: &str| new.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let requirements = Requirements::read((text("/metadata/namespace"), text("/metadata/name")), &shoot)
        .map_err(|problem| refused("spec.seedSelector", name, problem))?;
    let Some(profile) = fleet.profile_of(&requirements) else {
        let (kind, name) = &requirements.profile;
        let problem = fleet.profile_problem(&requirements.namespace, (kind, name));
        return Err(missing(shoot.spec.profile_path(), name, problem));
    };
    let occupied = OccupiedSeeds::of(
        current_seed,
        old.pointer("/status/seedName").and_then(Value::as_str),
    );
    let request = Request::new(fleet, &requirements, profile, &occupied.0).for_manual_binding();
    let mut problems = seed_problems(fleet, &request, candidate, row);
    if let Some(current_seed) = current_seed {
        problems.extend(backup_problems(fleet, current_seed, row));
        problems.extend(domain_problems(fleet, current_seed, row, &requirements));
        if let Some((_, from)) = fleet.seed(current_seed) {
            problems.extend(live::problems(fleet, [from, row], new, &shoot, &requirements));
        }
    }
    if !problems.is_empty() {
        let errors = problems
            .into_iter()
            .map(|problem| FieldError::invalid("spec.seedName", name, problem));
        return Err(Denial::Invalid(errors.collect()));
    }
    if current_seed.is_none() {
        bind(new, name, &seed_defaults(fleet, row, &requirements));
    }
    Ok(vec![fence(name)])
}

/// The sentences against the seed `candidate` in `row`, by the filters that apply to a manual binding.
fn seed_problems(fleet: &Fleet, request: &Request<'_>, candidate: Ix, row: &Row) -> Vec<String> {
    let sentence = |reason| words::refusal(fleet, row, request.requirements, None, reason);
    let mut problems = Vec::new();
    if row.facts.deleting {
        problems.push(sentence(Code::Deleting.with(0)));
    }
    if !request.profile_admits_provider(row) {
        problems.push(sentence(Code::ProviderMismatch.with(0)));
    }
    let filters = Plugin::ALL.into_iter();
    for filter in filters.filter(|filter| applies_to_bindings(*filter)) {
        if let Verdict::Reject(reason) = filter.check(request, candidate)
            && Code::of_reason(reason) != Code::ZoneMismatch
        {
            problems.push(sentence(reason));
        }
    }
    problems
}

/// Whether `filter` applies to a manual binding.
const fn applies_to_bindings(filter: Plugin) -> bool {
    match filter {
        Plugin::CloudProfileSelector
        | Plugin::Zones
        | Plugin::AccessRestrictions
        | Plugin::Taints
        | Plugin::Networks
        | Plugin::Capacity => true,
        // `seed_problems` checks deletion and the provider types of the profile without a filter; an operator
        // may overrule the other filters.
        Plugin::Usable
        | Plugin::Provider
        | Plugin::ShootSelector
        | Plugin::DefaultDomain
        | Plugin::EmergencyStop
        | Plugin::Dns
        | Plugin::Strategy => false,
    }
}

/// The refusal of a binding for the `problem` of the field at `path`.
fn refused(path: &str, value: &str, problem: String) -> Denial {
    Denial::Invalid(vec![FieldError::invalid(path, value, problem)])
}

/// The refusal of a binding for the object `name` in the field at `path`, which cannot be parsed because of
/// `problem`, or does not exist.
fn missing(path: &str, name: &str, problem: Option<String>) -> Denial {
    match problem {
        Some(_) => refused(path, name, words::absence(problem)),
        None => Denial::Invalid(vec![FieldError::not_found(path, name)]),
    }
}

/// The problems of a move from `current_seed` to the seed in `row` without backups: a control plane moves
/// through its backup.
fn backup_problems(fleet: &Fleet, current_seed: &str, row: &Row) -> Vec<String> {
    let without = |row: &Row| row.record.seed.spec.backup.is_none();
    let mut problems = Vec::new();
    let cannot_leave =
        |reason: &str| format!("the shoot cannot leave seed \"{current_seed}\", which {reason}");
    match fleet.seed(current_seed) {
        None => problems.push(cannot_leave(&words::absence(fleet.seed_problem(current_seed)))),
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

/// The problems of a move from `current_seed` to the seed in `row` with other domains: a control plane keeps
/// its domain names.
fn domain_problems(fleet: &Fleet, current_seed: &str, row: &Row, requirements: &Requirements) -> Vec<String> {
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
    let default = domain::default_of(from, requirements)
        .filter(|default| !row.facts.domains.iter().any(|own| own == default));
    if let Some(default) = default {
        problems.push(format!(
            "the shoot cannot move to seed \"{}\", which does not have the default domain \"{default}\" of the shoot's \
             domain (spec.dns.defaults)",
            row.name
        ));
    }
    problems
}

#[cfg(test)]
mod tests;
