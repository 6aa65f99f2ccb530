//! Checks of a Shoot or Seed against other objects (docs/systems/gardener.md, "Shoot" and "Binding"):
//!
//! - The Shoot has the provider type of its cloud profile, and a new region is in the profile's list, if it
//!   has one.
//! - The Shoot only names zones of the control plane if the profile allows zone pinning.
//! - The profile only changes among a CloudProfile and the NamespacedCloudProfiles derived from it.
//! - The Project of the Shoot or the configuration allows new tolerations.
//! - A new seed selector matches the seed of the Shoot, if there is one.
//! - While its seed is being deleted, the Shoot can only move to another seed.
//! - A Seed keeps the zones and domains that its Shoots need.

use std::collections::HashSet;

use berth_apimachinery::FieldError;
use serde::Deserialize;
use serde_json::Value;

use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::kind::common::SeedSelector;
use crate::kind::shoot::spec::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, Shoot, ShootSpec, Toleration};
use crate::words;

const SELECTOR: &str = "spec.seedSelector";

/// The errors of the raw Shoot `new`, which is created or replaces `old`.
pub(crate) fn shoot_errors(fleet: &Fleet, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    // The kind refuses a Shoot that cannot be parsed, with the exact field.
    let Ok(shoot) = Shoot::deserialize(new) else {
        return Vec::new();
    };
    let text = |path: &str| new.pointer(path).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").unwrap_or_default();
    // A stored Shoot that cannot be parsed is treated as if it did not exist.
    let before = old.and_then(|old| Shoot::deserialize(old).ok());
    let before = before.as_ref().map(|shoot| &shoot.spec);
    let mut errors = profile_errors(fleet, namespace, before, &shoot.spec);
    errors.extend(toleration_errors(fleet, namespace, before, &shoot.spec));
    if let Some(old) = old {
        errors.extend(seed_deletion_error(fleet, old, new));
        errors.extend(seed_selector_errors(fleet, old, new, &shoot.spec));
    }
    errors
}

/// The errors of the raw Shoot `new` from files. If the files do not include the Project of the Shoot, the
/// tolerations of the Shoot are not checked.
pub(crate) fn file_errors(fleet: &Fleet, new: &Value) -> Vec<FieldError> {
    let namespace = new.pointer("/metadata/namespace").and_then(Value::as_str);
    let mut errors = shoot_errors(fleet, None, new);
    if fleet.project_of(namespace.unwrap_or_default()).is_none() {
        errors.retain(|error| !error.path.starts_with("spec.tolerations["));
    }
    errors
}

/// The errors of the raw Seed `new`, which is created or replaces `old`. While Shoots use the Seed, its zones
/// and the default domains in use cannot be removed, and its internal domain cannot change.
pub(crate) fn seed_errors(fleet: &Fleet, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let (Some(old), 1..) = (old, fleet.shoots_on(name)) else {
        return Vec::new();
    };
    let texts = |object: &Value, list: &str, field: &str| -> Vec<String> {
        let items = object
            .pointer(list)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let text = |item: &Value| {
            if field.is_empty() {
                item.as_str().map(str::to_owned)
            } else {
                item[field].as_str().map(str::to_owned)
            }
        };
        items.filter_map(text).collect()
    };
    let removed = |list: &str, field: &str| -> Vec<String> {
        let remaining: HashSet<String> = texts(new, list, field).into_iter().collect();
        let mut before_texts = texts(old, list, field);
        before_texts.retain(|one| !remaining.contains(one));
        before_texts
    };
    let mut errors = Vec::new();
    let zones = removed("/spec/provider/zones", "");
    if !zones.is_empty() {
        let detail = format!(
            "{} may not be removed while Shoots use the Seed",
            zones.join(", ")
        );
        errors.push(FieldError::forbidden("spec.provider.zones", detail));
    }
    let internal = |object: &Value| object.pointer("/spec/dns/internal/domain").cloned();
    if internal(old) != internal(new) {
        let detail =
            "may not change while Shoots use the Seed: the domain names of their control planes end with it";
        errors.push(FieldError::forbidden("spec.dns.internal.domain", detail));
    }
    for domain in removed("/spec/dns/defaults", "domain") {
        let suffix = format!(".{domain}");
        let user = fleet.keys_on(name).find(|key| {
            let own = fleet
                .shoot(key)
                .and_then(|shoot| shoot.requirements.domain.as_deref());
            own.is_some_and(|own| own.ends_with(&suffix))
        });
        if let Some(user) = user {
            let detail = format!(
                "{domain} may not be removed: the domain of Shoot {}/{} ends with it",
                user.namespace, user.name
            );
            errors.push(FieldError::forbidden("spec.dns.defaults", detail));
        }
    }
    errors
}

/// The errors of a Shoot that contradicts its cloud profile. A missing profile is no error: the Shoot is
/// scheduled once the profile exists.
fn profile_errors(
    fleet: &Fleet,
    namespace: &str,
    before: Option<&ShootSpec>,
    spec: &ShootSpec,
) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = before
        .and_then(|before| profile_change_error(fleet, namespace, before, spec))
        .into_iter()
        .collect();
    let (kind, name) = spec.profile().unwrap_or_default();
    let Some(profile) = fleet.profile(namespace, (kind, name)) else {
        return errors;
    };
    let own = spec.provider.r#type.as_str();
    if own != profile.provider {
        let detail = format!(
            "must be the type of {kind} \"{name}\", which is \"{}\"",
            profile.provider
        );
        errors.push(FieldError::invalid("spec.provider.type", own, detail));
    }
    let has_pinned_zones = |spec: &ShootSpec| !spec.control_plane_zones().is_empty();
    if has_pinned_zones(spec) && !before.is_some_and(has_pinned_zones) && !profile.allows_zone_pinning {
        let detail =
            format!("{kind} \"{name}\" does not allow zone pinning (spec.controlPlane.allowZonePinning)");
        errors.push(FieldError::forbidden("spec.controlPlane.zones", detail));
    }
    let (region, known) = (spec.region.as_str(), &profile.regions);
    let is_new = before.is_none_or(|before| before.region != region);
    if is_new && !known.is_empty() && !known.iter().any(|known| known == region) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        errors.push(FieldError::not_supported("spec.region", region, &known));
    }
    errors
}

/// The error of a changed profile: a profile can only change among a CloudProfile and the
/// NamespacedCloudProfiles derived from it.
fn profile_change_error(
    fleet: &Fleet,
    namespace: &str,
    before: &ShootSpec,
    spec: &ShootSpec,
) -> Option<FieldError> {
    let owned = |spec: &ShootSpec| {
        spec.profile()
            .map(|(kind, name)| (kind.to_owned(), name.to_owned()))
    };
    let (from, to) = (owned(before)?, owned(spec)?);
    if from == to {
        return None;
    }
    let roots = [&from, &to].map(|profile| fleet.root_of(namespace, profile));
    if roots[0].is_some() && roots[0] == roots[1] {
        return None;
    }
    let describe = |profile: &(String, String), root: Option<&str>| {
        let (kind, name) = profile;
        match root {
            Some(root) if kind != CLOUD_PROFILE => {
                format!("{kind} \"{name}\" (derived from {CLOUD_PROFILE} \"{root}\")")
            }
            Some(_) => format!("{kind} \"{name}\""),
            None => {
                let absence = words::absence(fleet.profile_problem(namespace, (kind, name)));
                format!("{kind} \"{name}\", which {absence}")
            }
        }
    };
    let detail = format!(
        "cannot change from {} to {}: the profile can only change among a {CLOUD_PROFILE} and the \
         {NAMESPACED_CLOUD_PROFILE}s derived from it",
        describe(&from, roots[0]),
        describe(&to, roots[1])
    );
    Some(FieldError::invalid(spec.profile_path(), to.1, detail))
}

/// The errors of new tolerations that neither the Project of the Shoot nor the configuration allows.
fn toleration_errors(
    fleet: &Fleet,
    namespace: &str,
    before: Option<&ShootSpec>,
    spec: &ShootSpec,
) -> Vec<FieldError> {
    let known: HashSet<&Toleration> = before
        .into_iter()
        .flat_map(|before| &before.tolerations)
        .collect();
    let new = spec.tolerations.iter().enumerate();
    let refused = new.filter(|(_, own)| !known.contains(own) && !fleet.may_tolerate(namespace, own));
    refused
        .map(|(index, own)| {
            let detail = match fleet.project_of(namespace) {
                Some(project) => {
                    let allowed = &project.tolerations.whitelist;
                    let of_configuration = fleet.config.tolerations.whitelist.iter();
                    let allowed: Vec<String> = of_configuration.chain(allowed).map(ToString::to_string).collect();
                    format!(
                        "{own} is not allowed: Project \"{}\" (spec.tolerations.whitelist) and the configuration allow \
                         only: {}",
                        project.name,
                        if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") }
                    )
                }
                None => format!(
                    "{own} is not allowed: namespace \"{namespace}\" has no Project, whose spec.tolerations.whitelist \
                     could allow it"
                ),
            };
            FieldError::forbidden(format!("spec.tolerations[{index}]"), detail)
        })
        .collect()
}

/// The name of the seed of the raw Shoot `shoot`.
fn seed_name(shoot: &Value) -> Option<&str> {
    let name = shoot.pointer("/spec/seedName").and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
}

/// The error of a Shoot whose seed is being deleted: only the move to another seed can change its spec.
fn seed_deletion_error(fleet: &Fleet, old: &Value, new: &Value) -> Option<FieldError> {
    let name = seed_name(old).filter(|name| seed_name(new) == Some(name))?;
    let (_, row) = fleet.seed(name)?;
    row.facts.deleting.then(|| {
        FieldError::forbidden(
            "spec",
            format!("cannot be changed while seed \"{name}\", which the shoot is on, is being deleted"),
        )
    })
}

/// The errors of a changed seed selector, which must match the seed of the Shoot.
fn seed_selector_errors(fleet: &Fleet, old: &Value, new: &Value, spec: &ShootSpec) -> Vec<FieldError> {
    let selector_of = |shoot: &Value| {
        let selector = shoot.pointer("/spec/seedSelector");
        selector.filter(|selector| !selector.is_null()).cloned()
    };
    let (before, after) = (selector_of(old), selector_of(new));
    let Some(seed_name) = seed_name(old).filter(|_| before != after) else {
        return Vec::new();
    };
    let forbidden = |detail: String| vec![FieldError::forbidden(SELECTOR, detail)];
    let Some(selector) = &spec.seed_selector else {
        return forbidden("cannot be removed while the shoot has a seed".to_owned());
    };
    match fleet.seed(seed_name) {
        Some((_, row)) => mismatch_errors(selector, row),
        None => forbidden(format!(
            "cannot be changed while the shoot is on seed \"{seed_name}\", which {}, so that the selector cannot be checked",
            words::absence(fleet.seed_problem(seed_name))
        )),
    }
}

/// The errors of `selector`, which must match the seed in `row`.
fn mismatch_errors(selector: &SeedSelector, row: &Row) -> Vec<FieldError> {
    let compiled = match selector.compile(SELECTOR) {
        Ok(compiled) => compiled,
        Err(errors) => return errors,
    };
    let name = &row.name;
    let mut errors = Vec::new();
    if !compiled.matches(&row.record.labels) {
        let detail =
            format!("must match seed \"{name}\", which the shoot is on: its labels do not match {compiled}");
        errors.push(FieldError::forbidden(SELECTOR, detail));
    }
    let (types, own) = (&selector.provider_types, &row.record.seed.spec.provider.r#type);
    if !types.is_empty() && !types.iter().any(|name| name == "*" || name == own) {
        let detail =
            format!("must admit seed \"{name}\", which the shoot is on: its provider type is \"{own}\"");
        errors.push(FieldError::forbidden(format!("{SELECTOR}.providerTypes"), detail));
    }
    errors
}

#[cfg(test)]
mod tests;
