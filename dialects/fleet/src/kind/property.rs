//! Rules for the names of properties (docs/systems/fleet.md, "MemberCluster").

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::validate_label_key;

use crate::names::RESOURCE_PROPERTY_PREFIX;

/// Adds the error of the property name `name`, which is at `path`, if it is invalid.
pub(super) fn check_name(name: &str, path: &str, errors: &mut Vec<FieldError>) {
    if let Err(problem) = validate(name) {
        errors.push(FieldError::invalid(path, name, problem));
    }
}

/// Validates the name of a property. After [`RESOURCE_PROPERTY_PREFIX`], the name must continue with
/// `total-`, `allocatable-` or `available-` and the name of a resource. Any other name is a label key, or
/// several parts with slashes between them, such as `kubernetes.azure.com/vm-sizes/Standard_D2s/count`. The
/// first of several parts may be a DNS subdomain.
///
/// # Errors
/// A sentence about the valid form of the name.
fn validate(name: &str) -> Result<(), String> {
    if let Some(resource) = name.strip_prefix(RESOURCE_PROPERTY_PREFIX) {
        let usage = resource.split_once('-').map(|(usage, _)| usage);
        if !matches!(usage, Some("total" | "allocatable" | "available")) {
            return Err(format!(
                "must be {RESOURCE_PROPERTY_PREFIX} followed by total-, allocatable- or available-, and the name of a resource"
            ));
        }
        return validate_label_key(name).map_err(|error| error.to_string());
    }
    let mut parts = name.split('/');
    let first = parts.next().unwrap_or_default();
    let problem = match validate_label_key(first) {
        Err(_) if name.len() > first.len() && berth_apimachinery::name::dns_subdomain(first).is_ok() => None,
        result => result.err().map(|error| (first, error)),
    };
    let rest = parts.find_map(|part| validate_label_key(part).err().map(|error| (part, error)));
    match problem.or(rest) {
        None => Ok(()),
        Some((part, error)) if part.len() == name.len() => Err(error.to_string()),
        Some((part, error)) => Err(format!("the part \"{part}\" between slashes: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_properties_may_have_several_slashes() {
        for name in [
            "kubernetes-fleet.io/node-count",
            "node-count",
            "kubernetes.azure.com/vm-sizes/Standard_D2s_v3/count",
            "resources.kubernetes-fleet.io/available-cpu",
            "resources.kubernetes-fleet.io/total-nvidia.com_gpu-shared",
        ] {
            assert_eq!(validate(name), Ok(()), "{name}");
        }
        for name in [
            "",
            "a//b",
            "a/b/",
            "/a",
            "a b/c/d",
            "resources.kubernetes-fleet.io/cpu",
            "resources.kubernetes-fleet.io/free-cpu",
            "resources.kubernetes-fleet.io/total-a/b",
        ] {
            assert!(validate(name).is_err(), "{name}");
        }
    }
}
