//! What a Shoot says in the light of other objects (docs/systems/gardener.md, "Shoot" and "Binding"): its provider type
//! is that of its cloud profile; once it has a seed, its selector changes to nothing that does not match that seed, and
//! while that seed is being deleted, it only leaves.

use meta::FieldError;
use serde::Deserialize;
use serde_json::Value;

use crate::fleet::Fleet;
use crate::fleet::seed::Row;
use crate::kind::common::SeedSelector;
use crate::kind::shoot::spec::{CLOUD_PROFILE, Shoot, ShootSpec};

const SELECTOR: &str = "spec.seedSelector";

/// Judges the raw Shoot `new`, which is made or is to be stored over `old`.
pub(crate) fn of_shoot(fleet: &Fleet, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    // What cannot be read is refused by the kind, with the exact field.
    let Ok(shoot) = Shoot::deserialize(new) else {
        return Vec::new();
    };
    let mut errors: Vec<FieldError> = provider_type(fleet, &shoot.spec).into_iter().collect();
    if let Some(old) = old {
        errors.extend(seed_goes(fleet, old, new));
        errors.extend(seed_selector(fleet, old, new, &shoot.spec));
    }
    errors
}

/// A profile that is not there (yet) has no type to differ from: such a shoot waits for it.
fn provider_type(fleet: &Fleet, spec: &ShootSpec) -> Option<FieldError> {
    let (kind, name) = spec.profile()?;
    let profile = fleet.profiles.get(name).filter(|_| kind == CLOUD_PROFILE)?;
    let own = spec.provider.r#type.as_str();
    (own != profile.provider).then(|| {
        FieldError::invalid(
            "spec.provider.type",
            own,
            format!(
                "must be the type of CloudProfile \"{name}\", which is \"{}\"",
                profile.provider
            ),
        )
    })
}

/// The name of the seed `shoot` is on.
fn held(shoot: &Value) -> Option<&str> {
    let name = shoot.pointer("/spec/seedName").and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
}

/// A shoot moves away from a seed that is being deleted, and changes in nothing else.
fn seed_goes(fleet: &Fleet, old: &Value, new: &Value) -> Option<FieldError> {
    let name = held(old).filter(|name| held(new) == Some(name))?;
    let (_, row) = fleet.seed(name)?;
    row.facts.deleting.then(|| {
        FieldError::forbidden(
            "spec",
            format!("cannot be changed while seed \"{name}\", which the shoot is on, is being deleted"),
        )
    })
}

fn seed_selector(fleet: &Fleet, old: &Value, new: &Value, spec: &ShootSpec) -> Vec<FieldError> {
    let given = |shoot: &Value| {
        let selector = shoot.pointer("/spec/seedSelector");
        selector.filter(|selector| !selector.is_null()).cloned()
    };
    let (before, after) = (given(old), given(new));
    let Some(held) = held(old).filter(|_| before != after) else {
        return Vec::new();
    };
    let forbidden = |detail: String| vec![FieldError::forbidden(SELECTOR, detail)];
    let Some(selector) = &spec.seed_selector else {
        return forbidden("the seed selector cannot be taken away while the shoot has a seed".to_owned());
    };
    match fleet.seed(held) {
        Some((_, row)) => mismatches(selector, row),
        None => forbidden(format!(
            "cannot be changed while the shoot is on seed \"{held}\", which does not exist: whether it matches cannot be \
             told"
        )),
    }
}

/// Why `selector` does not match the seed.
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
