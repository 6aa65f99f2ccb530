//! Checks of a Shoot or Seed against other objects (docs/systems/gardener.md, "Shoot" and "Binding"). The
//! Shoot has the provider type of its cloud profile, and a new region is one that the profile lists; zones of
//! the control plane are only named where the profile allows that; the profile only changes among those of
//! one CloudProfile; new tolerations are allowed; a new selector matches the seed, once there is one; and
//! while the seed is being deleted, the Shoot can only move away. A Seed keeps the zones and domains that its
//! Shoots need.

use berth_apimachinery::FieldError;
use serde::Deserialize;
use serde_json::Value;

use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::kind::common::SeedSelector;
use crate::kind::shoot::spec::{CLOUD_PROFILE, NAMESPACED_CLOUD_PROFILE, Shoot, ShootSpec};

const SELECTOR: &str = "spec.seedSelector";

/// Validates the raw Shoot `new`, which is created or replaces `old`.
pub(crate) fn of_shoot(fleet: &Fleet, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    // The kind refuses an object that cannot be parsed, with the exact field.
    let Ok(shoot) = Shoot::deserialize(new) else {
        return Vec::new();
    };
    let text = |path: &str| new.pointer(path).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").unwrap_or_default();
    // The kind has refused an object that cannot be parsed.
    let before = old.and_then(|old| Shoot::deserialize(old).ok());
    let before = before.as_ref().map(|shoot| &shoot.spec);
    let mut errors = by_profile(fleet, namespace, before, &shoot.spec);
    errors.extend(tolerations(fleet, namespace, before, &shoot.spec));
    if let Some(old) = old {
        errors.extend(seed_deletion_error(fleet, old, new));
        errors.extend(seed_selector(fleet, old, new, &shoot.spec));
    }
    errors
}

/// Validates the raw Shoot `new` from files, among which its Project may be missing. Its tolerations are
/// then not checked.
pub(crate) fn of_file(fleet: &Fleet, new: &Value) -> Vec<FieldError> {
    let namespace = new.pointer("/metadata/namespace").and_then(Value::as_str);
    let mut errors = of_shoot(fleet, None, new);
    if fleet.project_of(namespace.unwrap_or_default()).is_none() {
        errors.retain(|error| !error.path.starts_with("spec.tolerations["));
    }
    errors
}

/// Validates the raw Seed `new`, which replaces `old`. While Shoots are on the Seed, none of its zones and
/// none of the default domains in use can be removed, and its internal domain cannot change.
pub(crate) fn of_seed(fleet: &Fleet, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
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
        let remaining = texts(new, list, field);
        let mut before_texts = texts(old, list, field);
        before_texts.retain(|one| !remaining.contains(one));
        before_texts
    };
    let mut errors = Vec::new();
    let zones = removed("/spec/provider/zones", "");
    if !zones.is_empty() {
        let detail = format!(
            "Shoots use the Seed, so that {} may not be removed",
            zones.join(", ")
        );
        errors.push(FieldError::forbidden("spec.provider.zones", detail));
    }
    let internal = |object: &Value| object.pointer("/spec/dns/internal/domain").cloned();
    if internal(old) != internal(new) {
        let detail =
            "may not change while Shoots use the Seed: the names of their control planes are below it";
        errors.push(FieldError::forbidden("spec.dns.internal.domain", detail));
    }
    for domain in removed("/spec/dns/defaults", "domain") {
        let below = format!(".{domain}");
        let user = fleet.keys_on(name).find(|key| {
            let own = fleet.shoot(key).and_then(|shoot| shoot.wants.domain.as_deref());
            own.is_some_and(|own| own.ends_with(&below))
        });
        if let Some(user) = user {
            let detail = format!(
                "{domain} may not be removed: the domain of Shoot {}/{} is below it",
                user.namespace, user.name
            );
            errors.push(FieldError::forbidden("spec.dns.defaults", detail));
        }
    }
    errors
}

/// Errors by the shoot's profile. A missing profile is no error: the shoot waits for the profile.
fn by_profile(
    fleet: &Fleet,
    namespace: &str,
    before: Option<&ShootSpec>,
    spec: &ShootSpec,
) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = before
        .and_then(|before| hierarchy(fleet, namespace, before, spec))
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
    if has_pinned_zones(spec) && !before.is_some_and(has_pinned_zones) && !profile.pins_zones {
        let detail = format!("{kind} \"{name}\" does not allow it (spec.controlPlane.allowZonePinning)");
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

/// The error of a changed profile, which can only change among a CloudProfile and its
/// NamespacedCloudProfiles.
fn hierarchy(fleet: &Fleet, namespace: &str, before: &ShootSpec, spec: &ShootSpec) -> Option<FieldError> {
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
                format!("{kind} \"{name}\" (made of {CLOUD_PROFILE} \"{root}\")")
            }
            Some(_) => format!("{kind} \"{name}\""),
            None => format!("{kind} \"{name}\", which does not exist"),
        }
    };
    let detail = format!(
        "cannot change from {} to {}: the profile stays among a {CLOUD_PROFILE} and the {NAMESPACED_CLOUD_PROFILE}s made \
         of it",
        describe(&from, roots[0]),
        describe(&to, roots[1])
    );
    Some(FieldError::invalid(spec.profile_path(), to.1, detail))
}

/// Errors of new tolerations, each of which must be allowed for the shoot.
fn tolerations(
    fleet: &Fleet,
    namespace: &str,
    before: Option<&ShootSpec>,
    spec: &ShootSpec,
) -> Vec<FieldError> {
    let had = |toleration| before.is_some_and(|before| before.tolerations.contains(toleration));
    let new = spec.tolerations.iter().enumerate();
    let refused = new.filter(|(_, own)| !had(own) && !fleet.may_tolerate(namespace, own));
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

/// The name of the seed of `shoot`.
fn seed_name(shoot: &Value) -> Option<&str> {
    let name = shoot.pointer("/spec/seedName").and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
}

/// The error of a shoot whose seed is being deleted: the shoot can move away, but nothing else can change.
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

fn seed_selector(fleet: &Fleet, old: &Value, new: &Value, spec: &ShootSpec) -> Vec<FieldError> {
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
        return forbidden("the seed selector cannot be taken away while the shoot has a seed".to_owned());
    };
    match fleet.seed(seed_name) {
        Some((_, row)) => mismatches(selector, row),
        None => forbidden(format!(
            "cannot be changed while the shoot is on seed \"{seed_name}\", which does not exist: whether it matches cannot be \
             told"
        )),
    }
}

/// Errors of `selector`, which must match the seed in `row`.
fn mismatches(selector: &SeedSelector, row: &Row) -> Vec<FieldError> {
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
            format!("must let in seed \"{name}\", which the shoot is on: its provider type is \"{own}\"");
        errors.push(FieldError::forbidden(format!("{SELECTOR}.providerTypes"), detail));
    }
    errors
}

#[cfg(test)]
mod tests;
